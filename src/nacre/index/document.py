"""A Markdown file as the index stores it: chunks with their lines, stamps, tokens, passages, and who may read each."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

from nacre.disk import COMPRESSED
from nacre.guard.secrets import redact
from nacre.model.workspace import DAY_NAME
from nacre.text.blocks import FRONT, HEADING, blocks, unclosed_fences
from nacre.text.chunk import Chunk, chunks, passages
from nacre.text.stamps import (
    Stamp,
    date_in,
    is_structural,
    label_of,
    project_in_head,
    project_named,
    real_day,
    stamp_of,
    tags_in,
    without_message_marks,
)
from nacre.vault.entries import source_day
from nacre.vault.storage import TIERS

PUBLIC = "*"
_OWNERS = frozenset({"MEMORY.MD", "USER.MD", "SESSION-STATE.MD", "IDENTITY.MD", "SOUL.MD", "AGENTS.MD", "TOOLS.MD"})
_PROJECT = re.compile(r"projects/([^/]+)/")
_PIECE = 8000  # characters of a section from which it is cut at its items
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_INDENTED = re.compile(r" {1,3}#")
_LONGEST_TAG = 100
_LONGEST_FRONT = 20_000  # characters of frontmatter that are parsed


class Part(NamedTuple):
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
    found_by: str  # words beside its text by which it is found
    tags: tuple[str, ...] = ()
    context: str = ""  # the words of the headings, which belong to the meaning


class Piece(NamedTuple):
    """Lines of a file, from `first` to before `end`, that can be parsed without the others; `above` are the headings over them."""

    first: int
    end: int
    above: list[str]
    digest: int


class Document:
    """A Markdown file in pieces. Bytes that are not UTF-8 are replaced for search; the file itself is never touched. A `private`
    one is for the owner alone, whatever it says of itself."""

    def __init__(self, path: str, layer: str, data: bytes, *, private: bool = False) -> None:
        self.path, self.layer, self._private = path, layer, private
        text = data.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
        self.lines = (without_message_marks(text) if layer in TIERS else text).split("\n")
        self._front, begin = _frontmatter(self.lines)
        self._begin = begin
        self._every_item = layer in ("longterm", "daily", "weekly", "archive")
        cuts = _cuts(self.lines, begin) if self._every_item else [(0, [])]
        ends = [*(first for first, _ in cuts[1:]), len(self.lines)]
        about = repr((layer, private, self.lines[:begin]))
        self.pieces = [
            Piece(first, end, above, _digest(about, *above, "", *self.lines[first:end]))
            for (first, above), end in zip(cuts, ends, strict=True)
        ]

    def parts(self, pieces: Iterable[Piece], size: int, overlap: int, used: set[str]) -> Iterator[Part]:
        """The chunks of some pieces, one after the other: of a large log they would fill the memory together. `used` are
        keys of other chunks of the file; those of the new ones are added."""
        path, layer, front = self.path, self.layer, self._front
        name = path.rpartition("/")[2].removesuffix(COMPRESSED)
        day = DAY_NAME.fullmatch(name)
        is_log = day is not None and not day[2]
        written = front.get("date") or front.get("created")
        file_date = real_day(day[1]) if day else None
        if file_date is None and isinstance(written, str | dt.date):
            file_date = date_in(str(written))
        if layer == "longterm" or (layer == "extra" and not day):
            file_date = None
        owner = _PROJECT.match(path)
        file_project = owner[1] if owner else project_in_head(self.lines[self._begin :]) if layer in TIERS else None
        words_of_name = (day[2] or "") if day else name.removesuffix(".md")
        words_of_name = "" if words_of_name.isdigit() else words_of_name.replace("-", " ").replace("_", " ")
        title = front.get("title")
        named = title if isinstance(title, str) else "" if layer == "longterm" else words_of_name
        file_tags = _front_tags(front)
        # What a person wrote as a note can be opened to everybody. Long-term memory, logs, digests and checkpoints hold what was
        # said in private, and more of it is added to them.
        is_note = layer in ("note", "extra", "daily") and not is_log and name.upper() not in _OWNERS
        public = PUBLIC if front.get("public") is True and is_note else None
        for chunk, is_closed in self._chunks(pieces, size, overlap):
            if layer == "longterm" and all(line.startswith(">") for line in chunk.text.split("\n")):
                continue  # the rules at the head of the file are not memories
            stamp = Stamp()  # the innermost heading that names a field has the last word on it
            for heading in chunk.headings:
                project = project_named(heading) if layer == "weekly" else None
                stamp = (Stamp(project=project) if project else stamp_of(heading)).within(stamp)
            # Only the log of a day has sections of groups. A note that is named for a day may be a whole session, in which
            # anything can be said. The innermost stamp decides, and what stands above a group's is not the group's.
            group, own = None, chunk.headings
            if layer in ("daily", "archive") and is_log:
                stamped = [at for at, heading in enumerate(chunk.headings) if stamp_of(heading).time]
                if stamped and (group := stamp_of(chunk.headings[stamped[-1]]).group):
                    own = chunk.headings[stamped[-1] :]
            telling = [heading for heading in own if not is_structural(heading)]
            # A secret that somebody wrote by hand stays in the file, which is theirs; it is not indexed and never handed out.
            text = redact(chunk.text).text
            heading = redact(" > ".join(chunk.headings)).text
            tags = tuple(dict.fromkeys((*file_tags, *tags_in(chunk.text))))
            day_of = source_day(chunk.text) if layer == "weekly" else None
            if not day_of and layer in ("weekly", "note"):
                day_of = next((date for heading in reversed(chunk.headings) if (date := date_in(heading))), None)
            above = [named, *telling] if named and (named is title or not telling) else telling
            context = redact(" > ".join(above)).text
            basis = f"{path}\n{heading}\n{text}".encode("utf-8", "surrogatepass")
            keys = (hashlib.blake2b(basis + f"\n{repeat}".encode(), digest_size=5).hexdigest() for repeat in count(1))
            used.add(key := next(key for key in keys if key not in used))
            yield Part(
                key=key,
                first=chunk.start,
                last=chunk.end,
                heading=heading,
                text=text,
                date=day_of or file_date,
                stamp=stamp,
                project=stamp.project or file_project,
                audience=None if self._private or is_closed else group or public,
                label=label_of(chunk.text),
                found_by=f"{context} {words_of_name} {' '.join(tags)}",
                tags=tags,
                context=context,
            )

    def _chunks(self, pieces: Iterable[Piece], size: int, overlap: int) -> Iterator[tuple[Chunk, bool]]:
        """Each chunk, and whether it stands in a section that is nobody's because a fence before it was left open."""
        for piece in pieces:
            lines = [*piece.above, *self.lines[piece.first : piece.end]]
            moved = piece.first - len(piece.above)
            closed = _open_fence_spans(lines) if self.layer in ("daily", "archive") else []
            for chunk in chunks(lines, size=size, overlap=overlap, every_item=self._every_item):
                before = bisect_right(closed, (chunk.end, len(lines)))
                is_closed = bool(before) and closed[before - 1][1] >= chunk.start
                if chunk.start > len(piece.above):
                    yield chunk._replace(start=chunk.start + moved, end=chunk.end + moved), is_closed


def _digest(*lines: str) -> int:
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest())


def _cuts(lines: list[str], begin: int) -> list[tuple[int, list[str]]]:
    """Where a log can be cut so that each piece can be parsed alone, with the headings above: at headings, and at list items of
    long sections. Nowhere in a file with headings of another form, or with a fence or comment that reaches over a cut."""
    cuts: list[tuple[int, list[str]]] = [(0, [])]
    path: list[str] = []
    marked = False  # whether the piece has a fence or a comment
    size = 0
    for at in range(begin, len(lines)):
        line = lines[at]
        level = _level(line)
        is_heading = 0 < level < 7 and line[level : level + 1] in ("", " ", "\t")
        underlines = (
            _UNDERLINE.match(line) and at and lines[at - 1].strip() and not lines[at - 1].startswith(("- ", "#"))
        )
        if (level and not is_heading) or underlines or _INDENTED.match(line):
            return cuts[:1]
        if is_heading or (size >= _PIECE and line.startswith("- ") and line[2:].strip()):
            if marked and not _stands_alone(lines[cuts[-1][0] : at]):
                return cuts[:1]
            path = [above for above in path if not is_heading or _level(above) < level]
            cuts.append((at, path))
            path = [*path, line] if is_heading else path
            marked, size = False, 0
        size += len(line)
        marked = marked or "```" in line or "~~~" in line or "<!--" in line
    return cuts if not marked or _stands_alone(lines[cuts[-1][0] :]) else cuts[:1]


def _level(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#"))


def _stands_alone(lines: list[str]) -> bool:
    last = max((at for at, line in enumerate(lines) if "<!--" in line), default=-1)
    return not unclosed_fences(lines) and (last < 0 or any("-->" in line for line in lines[last:]))


def _open_fence_spans(lines: list[str]) -> list[tuple[int, int]]:
    """Where the heading of a section stands in a fence or comment that somebody left open: what follows was written for whoever
    that section is for. Up to the next real heading nothing of it is a group's. The spans do not overlap and are in order."""
    real = sorted(block.start for block in blocks(lines, strict=True) if block.kind == HEADING)
    headings = set(real)
    spans: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        inside = spans and number <= spans[-1][1]
        if not inside and line.startswith("#") and number not in headings and stamp_of(line.lstrip("#").strip()).time:
            after = bisect_right(real, number)
            spans.append((number, (real[after] if after < len(real) else len(lines) + 1) - 1))
    return spans


def passage_texts(context: str, text: str) -> list[str]:
    """What is embedded for a chunk: its passages, each with the headings it stands under."""
    lead = f"{context}\n" if context else ""
    return [lead + passage for passage in passages(text)]


def passage_hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _frontmatter(lines: list[str]) -> tuple[dict[str, Any], int]:
    """The fields at the top of a file, and how many lines they take."""
    if lines[0].rstrip() != "---":
        return {}, 0
    first = next(iter(blocks(lines[:210])), None)
    if first is None or first.kind != FRONT:
        return {}, 0
    text = "\n".join(lines[1 : first.end - 1])
    if len(text) > _LONGEST_FRONT:
        return {}, first.end
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        front = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, TypeError, AttributeError, KeyError, RecursionError, OverflowError):
        front = None  # doctor shows it; the parser lets more than its own errors through
    return front if isinstance(front, dict) else {}, first.end


def _front_tags(front: dict[str, Any]) -> tuple[str, ...]:
    tags = front.get("tags") or front.get("tag") or ()
    if isinstance(tags, str):
        tags = re.split(r"[,\uff0c、\s]+", tags)
    if not isinstance(tags, list | tuple):
        return ()
    # Only plain values: an alias can make a small list unfold into a huge one.
    plain = (
        tag for tag in tags if isinstance(tag, str | float | dt.date) or (isinstance(tag, int) and abs(tag) < 1 << 63)
    )
    cut = (str(tag).strip().lstrip("#")[:_LONGEST_TAG] for tag in plain)
    return tuple(tag for tag in cut if tag)
