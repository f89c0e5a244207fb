"""Packs pieces into a token budget: the most important first, cut at whole lines, with a reason for what is left out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from nacre.guard.values import pattern
from nacre.i18n import say
from nacre.text.blocks import CODE, HEADING, blocks
from nacre.text.tokens import CJK
from nacre.vault.entries import AROUND, SAYING_NOTHING, comparable_words

_STARTS, _ENDS = CJK[::3], CJK[2::3]  # of the ranges, which are in order
_TELLING = 3  # words below which a line says too little to be a repetition
QUARTERS = 4  # of a token: what is neither Han, kana nor hangul weighs one a character


class PieceLine(NamedTuple):
    """A line with its number in the file; 0 for one that stands in no file."""

    number: int
    text: str


class Piece(NamedTuple):
    """The lines of one source: `cited` is shown with its line numbers, `once` without lines that are in the pack already."""

    path: str
    title: str
    lines: tuple[PieceLine, ...]
    cited: bool = False
    note: str = ""  # behind the title
    once: bool = False


class Part(NamedTuple):
    """What a pack holds of one source, or leaves out and why: first and last line, about how many tokens."""

    path: str
    first: int
    last: int
    tokens: int
    reason: str = ""
    needless: bool = False  # left out because it stands in the pack anyway, or no longer holds

    def as_plain(self) -> dict[str, Any]:
        plain = {"path": self.path, "lines": [self.first, self.last], "tokens": self.tokens}
        return plain | ({"reason": self.reason} if self.reason else {})


class ContextPack(NamedTuple):
    """Markdown to put in front of an agent, what it is made of, and what was left out."""

    text: str
    budget: int
    scope: str = "main"
    parts: tuple[Part, ...] = ()
    left: tuple[Part, ...] = ()
    project: str | None = None
    disabled: bool = False

    @property
    def tokens(self) -> int:
        return tokens(weight(self.text))

    def as_plain(self) -> dict[str, Any]:
        """The pack as it is printed as JSON."""
        facts = {"text": self.text, "tokens": self.tokens, "budget": self.budget, "scope": self.scope}
        facts |= {"project": self.project, "disabled": self.disabled}
        return facts | {name: [part.as_plain() for part in getattr(self, name)] for name in ("parts", "left")}


def weight(text: str) -> int:
    """The weight of a text in quarters of a token: unlike whole tokens these add up exactly."""
    return len(text) if text.isascii() else len(text) + (QUARTERS - 1) * sum(map(is_wide, text))


@lru_cache(maxsize=16384)
def is_wide(character: str) -> bool:
    """Whether a character counts as a token. The expression for it takes longer to compile than most packs to weigh."""
    at = bisect_right(_STARTS, character) - 1
    return at >= 0 and character <= _ENDS[at]


def tokens(quarters: int) -> int:
    return -(-quarters // QUARTERS)


class Packed(NamedTuple):
    """The text, the parts given and left out, the lines of files in it, and the pieces that were cut."""

    text: str
    parts: tuple[Part, ...]
    left: tuple[Part, ...]
    known: frozenset[tuple[str, int]]
    cut: frozenset[Piece] = frozenset()


def pack(pieces: Sequence[Piece], budget: int, *, lead: str) -> Packed:
    """The pieces in order within the budget: each may take half of what remains, cited ones share three quarters."""
    room = budget * QUARTERS - weight(lead)
    needs = [weight(_head(piece, piece.lines)) + _weight_of(piece.lines) for piece in pieces]
    later = sum(needs)
    cited = sum(need for piece, need in zip(pieces, needs, strict=True) if piece.cited)
    shared: int | None = None  # what is left of the part of what was looked for
    texts: list[str] = []
    parts: list[Part] = []
    left: list[Part] = []
    known: set[tuple[str, int]] = set()
    cut: set[Piece] = set()
    for piece, need in zip(pieces, needs, strict=True):
        later -= need
        cited -= need if piece.cited else 0
        lines = [line for line in piece.lines if not line.number or (piece.path, line.number) not in known]
        if piece.cited and len(lines) == len(piece.lines):
            lines = not_said(lines, "".join(texts))
        if piece.once and (again := frozenset(_again(lines, texts))):
            left.append(left_out(piece.path, again, say("already included", "上文已包含"), needless=True))
            lines = [line for line in lines if line not in again]
        if not has_content(lines):
            continue
        if len(lines) < len(piece.lines):
            lines = list(without_empty_sections(lines))
        head = _head(piece, lines)
        may_take = max(room // 2, room - later)
        if piece.cited:
            is_best = shared is None
            shared = max(room * 3 // 4, room - later + cited) if shared is None else shared
            may_take = room if is_best and need > shared else shared
        kept, closing = _fitting(lines, may_take - weight(head))
        if kept:
            body = "".join(f"{line.text}\n" for line in kept)
            texts.append(_head(piece, kept) + body + closing)
            room -= weight(texts[-1])
            shared = max(0, shared - weight(texts[-1])) if shared is not None and piece.cited else shared
            known |= {(piece.path, line.number) for line in kept}
            parts.append(Part(piece.path, *_span(kept), tokens(weight(texts[-1]))))
        if has_content(rest := lines[len(kept) :]):
            cut.add(piece)
            left.append(left_out(piece.path, rest, no_room(budget)))
    return Packed(lead + "".join(texts) if texts else "", tuple(parts), tuple(left), frozenset(known), frozenset(cut))


def not_said(lines: Sequence[PieceLine], text: str) -> list[PieceLine]:
    """The lines whose words are not all in one line of the text already, in whatever order."""
    from nacre.text.tokens import tokens as words_of

    said = [words for line in text.split("\n") if (words := frozenset(words_of(line)))]
    rows = ((line, frozenset(words_of(pattern(AROUND).sub("", line.text)))) for line in lines)
    return [line for line, words in rows if len(words) < _TELLING or not any(words <= other for other in said)]


def _again(lines: Sequence[PieceLine], texts: Sequence[str]) -> list[PieceLine]:
    """The lines that were given already, except those with nested lines below them."""
    parts = (part for text in texts for line in text.split("\n") for part in (line, *pattern("[;；。]").split(line)))
    said = {words for part in parts if (words := comparable_words(part))}
    below = (*(line.text for line in lines[1:]), "")
    pairs = ((line, next_) for line, next_ in zip(lines, below, strict=True) if comparable_words(line.text) in said)
    return [line for line, next_ in pairs if not (next_.strip() and next_[0] in " \t")]


def has_content(lines: Iterable[PieceLine]) -> bool:
    """Whether there is more than headings, comments and quoted rules."""
    return any(text and not text.startswith(SAYING_NOTHING) for line in lines if (text := line.text.strip()))


def without_empty_sections(lines: Sequence[PieceLine]) -> Iterator[PieceLine]:
    """The lines without empty sections and repeated blank lines."""
    empty: set[int] = set()  # the lines of headings below which nothing stands
    full = 0  # the highest level whose headings above this block have something below them; deeper ones have too
    for block in reversed(blocks([line.text for line in lines])):
        if block.kind != HEADING:
            full = 7
        elif block.level < full:
            full = block.level
        else:
            empty.update(range(block.start, block.end + 1))
    blank = True
    for place, line in enumerate(lines, 1):
        if place in empty or (blank and not line.text.strip()):
            continue
        blank = not line.text.strip()
        yield line


def _fitting(lines: Sequence[PieceLine], room: int) -> tuple[list[PieceLine], str]:
    """As many whole lines as fit, and the line that closes a code fence left open."""
    count = used = 0
    while count < len(lines) and (used := used + weight(lines[count].text) + 1) <= room:
        count += 1
    kept, closing, fence = list(lines[:count]), "", 0
    if any("```" in line.text or "~~~" in line.text for line in kept):
        last = blocks([*(line.text for line in kept), "# probe"], strict=True)[-1]
        if last.kind == CODE:
            fence, opening = last.start, kept[last.start - 1].text.strip()
            closing = opening[: len(opening) - len(opening.lstrip(opening[0]))] + "\n"
    used = _weight_of(kept) + weight(closing)
    while closing and used > room:
        used -= weight(kept.pop().text) + 1
        if len(kept) < fence:
            closing = ""
    if not closing and len(kept) < len(lines):  # headings and blank lines at the cut: what stood below was left out
        heads = [block for block in blocks([line.text for line in kept]) if block.kind == HEADING]
        headings = {number for block in heads for number in range(block.start, block.end + 1)}
        while kept and (len(kept) in headings or not kept[-1].text.strip()):
            kept.pop()
    return (kept, closing) if has_content(kept) else ([], "")


def _head(piece: Piece, lines: Sequence[PieceLine]) -> str:
    first, last = _span(lines)
    place = f"#L{first}-L{last}" if piece.cited and first else ""
    return f"\n# {piece.title}{place}{piece.note}\n\n"


def _weight_of(lines: Iterable[PieceLine]) -> int:
    return sum(weight(line.text) + 1 for line in lines)


def _span(lines: Iterable[PieceLine]) -> tuple[int, int]:
    numbers = [line.number for line in lines if line.number] or [0]
    return min(numbers), max(numbers)


def left_out(path: str, lines: Collection[PieceLine], reason: str, *, needless: bool = False) -> Part:
    return Part(path, *_span(lines), tokens(_weight_of(lines)), reason, needless)


def no_room(budget: int) -> str:
    return say(f"over the {budget}-token budget", f"超出 {budget} 个 token 的预算")
