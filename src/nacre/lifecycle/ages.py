"""When a checkpoint's content is from: what it says itself, what its name says, what was noted once; its file time last."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from nacre.clock import Clock
from nacre.errors import BadInput
from nacre.text.blocks import FRONT, blocks
from nacre.vault.refcount import moment

_HEAD = 16_384  # bytes of a file in which its time is looked for
_FRONT_LINES = 210
_FIELD = re.compile(r"(?:date|created|updated)\s*:\s*(.+)", re.IGNORECASE)
_WRITTEN = re.compile(
    r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?"
    r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?(?![\d:])"
)
_TIME = r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}"
_SESSION = re.compile(rf"session:\S+ \| [^|]+ \| ({_TIME})(?: – ({_TIME}))?(?: \| |$)")
_NAMED = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?:-(\d{2})(\d{2})(?!\d))?(?!\d)")


class Dated(NamedTuple):
    """Times in seconds since 1970. `noted` is what to write down as `created`; `by_file` says that it must be: nothing but
    the file time told it."""

    own: float
    first: float  # no recall of it can be older
    noted: int
    by_file: bool = False


class _Known(NamedTuple):
    """What is known of a file besides its text."""

    created: float | None
    modified: float
    now: float
    clock: Clock


def head_of(path: Path) -> str:
    """The beginning of a file, in which its time is looked for."""
    with open(path, "rb", buffering=0) as file:
        return file.read(_HEAD).decode("utf-8", errors="replace")


def dated(head: str, name: str, created: object, modified: float, clock: Clock) -> Dated:
    """The time of a checkpoint, by the beginning of its text, its name, the `created` of its counts, and its file time.

    A time that has not come yet is not believed.
    """
    now = clock.now().timestamp()
    known = _Known(moment(created, clock), modified, now, clock)
    lines = head.removeprefix("\ufeff").replace("\r\n", "\n").split("\n", _FRONT_LINES)
    for told in (list(_in_front(lines, known)), list(_in_session(lines, known)), list(_in_name(name, known))):
        if told:
            latest = max(told)
            return latest._replace(own=min(latest.own, now), first=min(one.first for one in told))
    if known.created is not None and known.created <= now:
        return Dated(known.created, known.created, int(known.created))
    seen = int(max(0, min(modified, now)))  # whole seconds, as they are noted: the same the next time
    return Dated(seen, seen, seen, by_file=True)


def _in_front(lines: list[str], known: _Known) -> Iterator[Dated]:
    """The dates that the frontmatter gives; read line by line, so that no other field can spoil them."""
    if lines[0].rstrip() != "---":
        return
    front = next(iter(blocks(lines[:_FRONT_LINES])), None)
    if front is None or front.kind != FRONT:
        return
    for line in lines[1 : front.end - 1]:
        if field := _FIELD.fullmatch(line.rstrip()):
            yield from _written(field[1].strip("\"' "), known)


def _written(value: str, known: _Known) -> Iterator[Dated]:
    if value.isdigit() and (at := moment(int(value), known.clock)):
        yield from _exact(at, known)
    elif found := _WRITTEN.match(value):
        year, month, day, hour, minute, second, zone = found.groups()
        date = f"{year}-{int(month):02}-{int(day):02}"
        if hour is None:
            yield from _day(date, known)
        else:
            yield from _parsed(f"{date}T{int(hour):02}:{minute}:{second or '00'}{zone or ''}", known)


def _in_session(lines: list[str], known: _Known) -> Iterator[Dated]:
    """The line that stands under the title of the checkpoints which Nacre writes: when the talk began, and when it ended."""
    found = next((match for line in lines[:6] if (match := _SESSION.match(line))), None)
    for written in found.groups() if found else ():
        if written:
            yield from _parsed(written, known)


def _in_name(name: str, known: _Known) -> Iterator[Dated]:
    found = _NAMED.search(name.rpartition("/")[2])
    if not found:
        return
    exact = list(_parsed(f"{found[1]}T{found[2]}:{found[3]}", known)) if found[2] else []
    yield from exact or _day(found[1], known)


def _parsed(text: str, known: _Known) -> Iterator[Dated]:
    try:
        at = known.clock.parse(text).timestamp()
    except (BadInput, ValueError, OverflowError):
        return
    yield from _exact(at, known)


def _exact(at: float, known: _Known) -> Iterator[Dated]:
    if 0 <= at <= known.now:
        yield Dated(at, at, int(at))


def _day(date: str, known: _Known) -> Iterator[Dated]:
    """A day without a time: what is known of the file may say when on that day it was; else the whole day counts."""
    try:
        end = known.clock.parse(date).timestamp()
        start = known.clock.parse(f"{date}T00:00").timestamp()
    except (BadInput, ValueError, OverflowError):
        return
    if not 0 <= start <= known.now:
        return
    if known.created is not None and _is_on(known.created, date, known.clock):
        yield Dated(known.created, start, int(known.created))
    elif _is_on(known.modified, date, known.clock):
        seen = int(known.modified)
        yield Dated(seen, start, seen, by_file=True)
    else:
        yield Dated(end, start, int(end))


def _is_on(at: float, date: str, clock: Clock) -> bool:
    try:
        return clock.local(dt.datetime.fromtimestamp(at, dt.UTC)).date().isoformat() == date
    except (ValueError, OverflowError, OSError):
        return False
