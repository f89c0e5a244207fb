"""A Markdown file as the index stores it: chunks with their lines, stamps, tokens, passages, and who may read each.

One chunk for each list item that says something, otherwise passages of about 400 tokens that overlap. A chunk never crosses a heading,
knows its exact lines and its heading path, and carries the smaller passages that are embedded: one vector for 400 tokens blurs what
each sentence says.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import count, pairwise
from typing import Any, NamedTuple

from nacre.disk import COMPRESSED
from nacre.guard.secrets import redact
from nacre.model import DAY_NAME
from nacre.text.blocks import (
    FRONT,
    HEADING,
    ITEM,
    TEXT,
    Block,
    Stamp,
    blocks,
    date_in,
    frontmatter_end,
    is_structural,
    label_of,
    labelled_spans,
    project_in_head,
    project_named,
    real_day,
    stamp_of,
    tags_in,
    unclosed_fences,
    without_message_marks,
)
from nacre.text.tokens import tokens_estimate
from nacre.vault.entries import source_day
from nacre.vault.storage import TIERS

PASSAGE_TOKENS = 160
_SMALL_ITEM = 8  # an item of fewer tokens ("- milk") is found with its neighbours
_SMALL_GROUP = 60
_SENTENCE_END = re.compile(r"(?<=[.!?;][ \t])|(?<=[。\uff01\uff1f\uff1b])")  # nothing is lost at the cut
_SMALLEST = 16  # tokens; below that a chunk is not a passage any more
_LONGEST_TITLE = 200  # characters of a title that stand above each of its chunks


class Chunk(NamedTuple):
    """Lines `start` to `end`, both counted from 1, both included."""

    start: int
    end: int
    text: str
    headings: tuple[str, ...]


class _Piece(NamedTuple):
    start: int
    end: int
    text: str
    size: int
    part: bool = False  # of a line


def chunks(lines: list[str], *, size: int = 400, overlap: int = 80, every_item: bool = False) -> list[Chunk]:
    """The chunks of a file. In logs and MEMORY.md (`every_item`) even the shortest item is an entry of its own."""
    size = max(size, _SMALLEST)
    result: list[Chunk] = []
    path: list[tuple[int, str]] = []
    held: list[_Piece] = []  # paragraphs, or short items that wait for neighbours
    small = False  # which of the two
    lone_heading: Block | None = None

    def titles() -> tuple[str, ...]:
        return tuple(title for _, title in path if title)

    def add_title(heading: Block, above: tuple[str, ...]) -> None:
        result.extend(Chunk(heading.start, heading.end, text, above) for text in passages(heading.text, size))

    def flush() -> None:
        parts = _pack(held, lines, size, overlap)
        if held and small:
            parts = iter([(held[0].start, held[-1].end, "\n".join(piece.text for piece in held))])
        result.extend(Chunk(*part, titles()) for part in parts)
        held.clear()

    for block in (*blocks(lines), Block(HEADING, len(lines), len(lines))):  # the end closes every section
        if block.kind == HEADING:
            flush()
            # In a log or MEMORY.md a section without entries says nothing; elsewhere a bare title may be the whole note.
            if lone_heading and lone_heading.text and block.level <= lone_heading.level and not every_item:
                add_title(lone_heading, titles()[:-1])
            while path and path[-1][0] >= block.level:
                path.pop()
            lone_heading = block
            if len(block.text) > _LONGEST_TITLE:  # not all of it stands above its chunks
                add_title(block, titles())
                lone_heading = None
            path.append((block.level, block.text[:_LONGEST_TITLE]))
            continue
        if block.kind == FRONT:
            continue
        lone_heading = None
        text = "\n".join(lines[block.start - 1 : block.end])
        piece = _Piece(block.start, block.end, text, tokens_estimate(text))
        is_small = block.kind == ITEM and not every_item and piece.size < _SMALL_ITEM
        labelled = _labelled(block, lines) if every_item and block.kind == TEXT else []
        if small != is_small or block.kind == ITEM or labelled:
            near = is_small and small and held and held[-1].end + 1 >= piece.start
            if not (near and sum(p.size for p in held) + piece.size <= _SMALL_GROUP):
                flush()
        small = is_small
        if is_small or (block.kind != ITEM and not labelled):
            held.append(piece)
        else:
            for part in labelled or [piece]:
                result.extend(Chunk(*unit, titles()) for unit in _pack([part], lines, size, overlap))
    return result


def stretches(lines: list[str], *, size: int = 400, overlap: int = 80) -> list[Chunk]:
    """A text cut by its length alone, whatever its lines look like: one chunk when it is short enough."""
    text = "\n".join(lines)
    whole = _Piece(1, len(lines), text, tokens_estimate(text))
    return [Chunk(*part, ()) for part in _pack([whole], lines, max(size, _SMALLEST), overlap)]


def _labelled(block: Block, lines: list[str]) -> list[_Piece]:
    """The lines of a paragraph in which each carries a label of its own, as in weekly digests: `[Decision] …`."""
    start, own = block.start, lines[block.start - 1 : block.end]
    texts = [(first, last, "\n".join(own[first:last])) for first, last in labelled_spans(own)]
    return [_Piece(start + first, start + last - 1, text, tokens_estimate(text)) for first, last, text in texts]


def passages(chunk: str, limit: int = PASSAGE_TOKENS) -> list[str]:
    """The parts of a chunk that are embedded one by one, cut between sentences."""
    if tokens_estimate(chunk) <= limit:
        return [chunk]
    parts, held = [""], 0
    for sentence in _sentences(chunk, limit):
        held += (cost := tokens_estimate(sentence))
        if parts[-1] and held > limit:
            parts.append("")
            held = cost
        parts[-1] += sentence
    return [part.strip() for part in parts if part.strip()]


def _sentences(text: str, limit: int) -> Iterator[str]:
    """Lines and sentences with their ends, each at most `limit` tokens long."""
    for line in text.splitlines(keepends=True):
        for sentence in [line] if tokens_estimate(line) <= limit else _SENTENCE_END.split(line):
            if tokens_estimate(sentence) <= limit:
                yield sentence
                continue
            # Cut between words where there are any. A slice of `limit` characters is at most `limit` tokens; ASCII text can
            # take four times as many.
            width, at = 4 * limit if sentence.isascii() else limit, 0
            while at < len(sentence):
                end = at + width
                if end < len(sentence) and (space := sentence.rfind(" ", at + width // 2, end)) > 0:
                    end = space + 1
                yield sentence[at:end]
                at = end


def _pack(pieces: list[_Piece], lines: list[str], size: int, overlap: int) -> Iterator[tuple[int, int, str]]:
    """Pieces packed into chunks of at most `size` tokens; a piece too large is cut into lines, a line into sentences."""
    held: list[_Piece] = []
    total = last = 0
    for unit in (unit for piece in pieces for unit in _units(piece, size)):
        # What stands before it in no block counts too: rules, and blank lines where there are many.
        gap = lines[last : unit.start - 1] if last else []
        if len(gap) > 1 or (gap and gap[0]):
            unit = unit._replace(size=unit.size + (sum(map(len, gap)) + len(gap)) // 4)  # noqa: PLW2901
        last = unit.end
        if held and total + unit.size > size:
            yield held[0].start, held[-1].end, _joined(held, lines)
            while held and total > min(overlap, size - unit.size):
                total -= held.pop(0).size
        held.append(unit)
        total += unit.size
    if held:
        yield held[0].start, held[-1].end, _joined(held, lines)


def _joined(units: list[_Piece], lines: list[str]) -> str:
    """Units as they stand in the file with what lies between them; of a line that was cut only the parts that belong here."""
    if not any(unit.part for unit in units):
        return "\n".join(lines[units[0].start - 1 : units[-1].end])
    text = units[0].text
    for before, unit in pairwise(units):
        between = lines[before.end : unit.start - 1]  # blank lines and rules, which belong to no block
        text += ("\n".join(["", *between, ""]) if unit.start > before.end else "") + unit.text
    return text


def _units(piece: _Piece, size: int) -> Iterator[_Piece]:
    if piece.size <= size:
        yield piece
        return
    for number, line in enumerate(piece.text.split("\n"), piece.start):
        is_long = tokens_estimate(line) > size
        for part in _sentences(line, size) if is_long else filter(str.strip, [line]):
            yield _Piece(number, number, part, tokens_estimate(part), part=is_long)


# A file with its stamps, in pieces that can be parsed one by one.

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
        redacted = cache(lambda text: redact(text).text)  # one heading stands over many chunks
        repeats: dict[bytes, Iterator[int]] = {}  # how often each text came, which in a log can be thousands of times
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
            heading = redacted(" > ".join(chunk.headings))
            tags = tuple(dict.fromkeys((*file_tags, *tags_in(chunk.text))))
            day_of = source_day(chunk.text) if layer == "weekly" else None
            if not day_of and layer in ("weekly", "note"):
                day_of = next((date for heading in reversed(chunk.headings) if (date := date_in(heading))), None)
            above = [named, *telling] if named and (named is title or not telling) else telling
            context = redacted(" > ".join(above))
            basis = f"{path}\n{heading}\n{text}".encode("utf-8", "surrogatepass")
            numbers = repeats.setdefault(hashlib.blake2b(basis, digest_size=8).digest(), count(1))
            keys = (hashlib.blake2b(basis + f"\n{number}".encode(), digest_size=5).hexdigest() for number in numbers)
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
    end = frontmatter_end(lines)
    text = "\n".join(lines[:end][1:-1])
    if not end or len(text) > _LONGEST_FRONT:
        return {}, end
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        front = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, TypeError, AttributeError, KeyError, RecursionError, OverflowError):
        front = None  # doctor shows it; the parser lets more than its own errors through
    return front if isinstance(front, dict) else {}, end


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
    return tuple(filter(None, (str(tag).strip().lstrip("#")[:_LONGEST_TAG] for tag in plain)))
