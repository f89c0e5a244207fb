"""A Markdown file as the index stores it: chunks with their lines, stamps, tokens, passages, and who may read each."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from nacre.guard.secrets import redact
from nacre.model.workspace import DAY_NAME
from nacre.text.blocks import FRONT, HEADING, blocks
from nacre.text.chunk import chunks, passages
from nacre.text.stamps import Stamp, date_in, is_structural, label_of, project_named, real_day, stamp_of, tags_in
from nacre.text.tokens import tokens
from nacre.vault.disk import COMPRESSED
from nacre.vault.entries import source_day

PUBLIC = "*"
_LOGS = ("daily", "archive")  # where sections are stamped with the group they belong to
_OWNERS = frozenset({"MEMORY.MD", "USER.MD", "SESSION-STATE.MD", "IDENTITY.MD", "SOUL.MD", "AGENTS.MD", "TOOLS.MD"})


def lies_where_named(path: str, full: str) -> bool:
    """Whether a file lies where its path says. Through a link in a folder of logs or notes a private file would look like one
    of these, and what it says of itself would be believed."""
    real = os.path.realpath(full)
    if os.path.isabs(path):  # of the user's library, wherever that lies
        return os.path.basename(real) == os.path.basename(full)
    return full.endswith(path) and real == os.path.join(os.path.realpath(full[: -len(path)]), path)


def content_digest(data: bytes, *, private: bool = False) -> bytes:
    """By what the index knows whether a file changed: its bytes, and whether it may be shown to others at all."""
    return hashlib.blake2b(data, digest_size=16, key=b"private" if private else b"").digest()


def own_headings(path: str, layer: str, headings: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The group that a section is stamped for, and the headings from its stamp inwards: what stands above is not the group's.

    Only the log of a day has such sections. A note that is named for a day may be a whole talk, in which anything can be said.
    The innermost stamp decides: a private section stays private whatever it was put below.
    """
    if layer in _LOGS and _is_log(path):
        for at in range(len(headings) - 1, -1, -1):
            if (stamp := stamp_of(headings[at])).time:
                return stamp.group, headings[at:] if stamp.group else headings
    return None, headings


def open_fence_spans(lines: list[str]) -> list[tuple[int, int]]:
    """Where the heading of a section stands in a fence or comment that somebody left open: what follows was written for whoever
    that section is for. Up to the next real heading nothing of it is a group's. The spans do not overlap and are in order."""
    real = sorted(block.start for block in blocks(lines, strict=True) if block.kind == HEADING)
    known = set(real)
    found: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        inside = found and number <= found[-1][1]
        if not inside and line.startswith("#") and number not in known and stamp_of(line.lstrip("#").strip()).time:
            after = bisect_right(real, number)
            found.append((number, (real[after] if after < len(real) else len(lines) + 1) - 1))
    return found


def may_be_public(path: str, layer: str) -> bool:
    """Whether a file can be opened to everybody by `public: true`: one that a person wrote as a note. Long-term memory,
    logs, digests and checkpoints hold what was said in private, and more of it is added to them."""
    name = path.rpartition("/")[2]
    return layer in ("note", "extra", "daily") and not _is_log(path) and name.upper() not in _OWNERS


def _is_log(path: str) -> bool:
    day = DAY_NAME.fullmatch(path.rpartition("/")[2].removesuffix(COMPRESSED))
    return day is not None and not day[2]


# A Markdown file as the index keeps it: chunks with their lines, stamps, tokens and passages.

_PROJECT = re.compile(r"projects/([^/]+)/")
_LONGEST_TAG = 100
_LONGEST_FRONT = 20_000  # characters of frontmatter that are parsed


class Part(NamedTuple):
    """One chunk, ready to be stored."""

    key: str
    first: int
    last: int
    heading: str
    text: str
    date: str | None
    stamp: Stamp
    project: str | None
    audience: str | None
    label: str | None
    tags: tuple[str, ...]
    context: str  # the words of the headings, which belong to the meaning


def read_parts(path: str, layer: str, data: bytes, *, size: int, overlap: int, private: bool = False) -> Iterator[Part]:
    """The chunks of a file, one after the other: of a large log they would fill the memory together.

    Bytes that are not UTF-8 are replaced for search; the file itself is never touched. A `private` one is for the owner alone,
    whatever it says of itself.
    """
    lines = data.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    front = _frontmatter(lines)
    day = DAY_NAME.fullmatch(path.rpartition("/")[2].removesuffix(COMPRESSED))
    file_date = (real_day(day[1]) if day else None) or _front_date(front)
    if layer == "longterm" or (layer == "extra" and not day):
        file_date = None
    owner = _PROJECT.match(path)
    every_item = layer in ("longterm", "daily", "weekly", "archive")
    file_tags = _front_tags(front)
    public = PUBLIC if front.get("public") is True and may_be_public(path, layer) else None
    title = front.get("title")
    named = title if isinstance(title, str) else "" if layer == "longterm" else _words_of_name(path)
    seen: dict[bytes, int] = {}
    closed = open_fence_spans(lines) if layer in ("daily", "archive") else []
    for chunk in chunks(lines, size=size, overlap=overlap, every_item=every_item):
        if layer == "longterm" and all(line.startswith(">") for line in chunk.text.split("\n")):
            continue  # the rules at the head of the file are not memories
        stamp = _stamp(chunk.headings, layer)
        group, own = own_headings(path, layer, chunk.headings)
        telling = [heading for heading in own if not is_structural(heading)]
        heading = " > ".join(chunk.headings)
        # A secret that somebody wrote by hand stays in the file, which is theirs; it is not indexed and never handed out.
        text = redact(chunk.text).text
        heading = redact(heading).text
        basis = f"{path}\n{heading}\n{text}".encode("utf-8", "surrogatepass")
        known = hashlib.blake2b(basis, digest_size=16).digest()
        repeat = seen[known] = seen.get(known, 0) + 1
        key = hashlib.blake2b(basis + f"\n{repeat}".encode(), digest_size=5).hexdigest()
        before = bisect_right(closed, (chunk.end, len(lines)))
        last_closed = closed[before - 1][1] if before else 0
        day_of = source_day(chunk.text) if layer == "weekly" else None
        within = _date_of(chunk.headings) if layer in ("weekly", "note") else None
        yield Part(
            key=key,
            first=chunk.start,
            last=chunk.end,
            heading=heading,
            text=text,
            date=day_of or within or file_date,
            stamp=stamp,
            project=stamp.project or (owner[1] if owner else None),
            audience=None if private or last_closed >= chunk.start else group or public,
            label=label_of(chunk.text),
            tags=tuple(dict.fromkeys((*file_tags, *tags_in(chunk.text)))),
            context=redact(
                " > ".join((named, *telling) if named and (named is title or not telling) else telling)
            ).text,
        )


def body_tokens(part: Part) -> str:
    return " ".join(tokens(part.text))


def heading_tokens(part: Part, path: str) -> str:
    return " ".join(tokens(f"{part.context} {_words_of_name(path)} {' '.join(part.tags)}"))


def passage_texts(context: str, text: str) -> list[str]:
    """What is embedded for a chunk: its passages, each with the headings it stands under."""
    lead = f"{context}\n" if context else ""
    return [lead + passage for passage in passages(text)]


def passage_hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _stamp(headings: tuple[str, ...], layer: str) -> Stamp:
    """What the headings say together; the innermost that names a field has the last word on it."""
    found = Stamp()
    for heading in headings:
        inner = stamp_of(heading)
        if layer == "weekly" and (project := project_named(heading)):
            inner = Stamp(project=project)
        found = inner.within(found)
    return found


def _date_of(headings: tuple[str, ...]) -> str | None:
    return next((found for heading in reversed(headings) if (found := date_in(heading))), None)


def _words_of_name(path: str) -> str:
    """The words of a file's name that tell something: "2026-03-28-rename-assistant.md" → "rename assistant"."""
    name = path.rpartition("/")[2].removesuffix(COMPRESSED).removesuffix(".md")
    day = DAY_NAME.fullmatch(name + ".md")
    if day:
        name = day[2] or ""
    return "" if name.isdigit() else name.replace("-", " ").replace("_", " ")


def _frontmatter(lines: list[str]) -> dict[str, Any]:
    if not lines or lines[0].rstrip() != "---":
        return {}
    first = next(iter(blocks(lines[:210])), None)
    if first is None or first.kind != FRONT or first.end < 3:
        return {}
    text = "\n".join(lines[1 : first.end - 1])
    if len(text) > _LONGEST_FRONT:
        return {}
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, TypeError, AttributeError, KeyError, RecursionError, OverflowError):
        return {}  # doctor shows it; the parser lets more than its own errors through
    return found if isinstance(found, dict) else {}


def _front_date(front: dict[str, Any]) -> str | None:
    given = front.get("date") or front.get("created")
    return date_in(str(given)) if isinstance(given, str | dt.date) else None


def _front_tags(front: dict[str, Any]) -> tuple[str, ...]:
    given = front.get("tags") or front.get("tag") or ()
    if isinstance(given, str):
        given = re.split(r"[,\uff0c、\s]+", given)
    if not isinstance(given, list | tuple):
        return ()
    # Only plain values: an alias can make a small list unfold into a huge one.
    plain = (
        tag for tag in given if isinstance(tag, str | float | dt.date) or (isinstance(tag, int) and abs(tag) < 1 << 63)
    )
    named = (str(tag).strip().lstrip("#")[:_LONGEST_TAG] for tag in plain)
    return tuple(tag for tag in named if tag)
