"""What stands in a day's log already is not written again: lines noted in the moment, and what a talk said before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.brain.local.judge import Judge
from nacre.brain.local.pieces import pieces
from nacre.model.bullet import Bullet
from nacre.text.stamps import Stamp, bare_words, stamp_of
from nacre.vault.markdown import Item, document, words_of
from nacre.vault.tombstones import normal

if TYPE_CHECKING:
    from nacre.brain.local.likeness import Statement

_NO = re.compile(
    r"\b(?:never|not|no|none|cannot|without|stop|stopped|rather than|instead of)\b|n['’]t\b|不|别|没|勿|禁止",
    re.IGNORECASE,
)
Alike = Callable[[Sequence[str], Sequence[str]], Sequence[bool]]


class Lines:
    """The lines of one day's log."""

    def __init__(self, path: Path, log: bytes | None) -> None:
        self._path, self._log = path, log or b""

    @cached_property
    def _items(self) -> list[tuple[Stamp, Item]]:
        text = self._log.decode("utf-8", "replace")  # what is no text is passed over, the rest counts
        return [(stamp_of(item.section), item) for item in document(self._path, text.encode()).items]

    def noted(self, *, by_agent: bool) -> list[str]:
        """What an agent or the owner wrote down, under no talk's heading."""
        notes = ((stamp, item.words) for stamp, item in self._items if item.words and not stamp.session)
        return [words for stamp, words in notes if stamp.by_agent == by_agent]

    def of_session(self, name: str) -> list[str]:
        return [item.words for stamp, item in self._items if item.words and stamp.session == name]


def untold(
    bullets: Sequence[Bullet], heading: str, lines: Lines, alike: Alike, given: Sequence[str] = ()
) -> list[Bullet]:
    """The bullets that the log does not tell yet, word for word, or as one who noted them in the moment put it; nor was the session
    given them from memory.

    What another talk said that day is told again: what comes up in several talks counts more. Nor does a private note stand for
    what was said in a group, which does not see it, or an agent's note for the owner's word.
    """
    stamp = stamp_of(heading)
    notes = [] if stamp.group else [*lines.noted(by_agent=False), *given]
    of_agents = [] if stamp.group else lines.noted(by_agent=True)
    said = lines.of_session(stamp.session or "")
    new = _new([one for one in bullets if not one.by_agent], notes, said, alike)
    new += _new([one for one in bullets if one.by_agent], [*notes, *of_agents], said, alike)
    return [one for one in bullets if one in new]


def _new(bullets: Sequence[Bullet], noted: Sequence[str], said: Sequence[str], alike: Alike) -> list[Bullet]:
    before = [*noted, *said]
    if not before or not bullets:
        return list(bullets)
    known = {normal(part) for line in before for part in (line, *_parts(line))}
    parts = [[] if normal(one.text) in known else _parts(one.text) for one in bullets]
    new = list(dict.fromkeys(part for mine in parts for part in mine if normal(part) not in known))
    open_ones = {part for part, told in zip(new, alike(new, noted), strict=True) if not told} if new else set()
    return [bullet for bullet, mine in zip(bullets, parts, strict=True) if open_ones.intersection(mine)]


def by_meaning(judge: Callable[[], Judge]) -> Alike:
    """Whether each text says what one of the others says, as the night tells it. Without the models' say nothing is alike."""

    def alike(texts: Sequence[str], others: Sequence[str]) -> list[bool]:
        from nacre.brain.local.relation import as_statement, relations, says_the_same

        reader = judge()
        if not others or not reader.with_vectors:
            return [False] * len(texts)
        known = [as_statement(one) for one in reader.meant([part for line in others for part in _parts(line)])]
        known = [one for one in known if one.vector is not None]
        new = [as_statement(one) for one in reader.meant(texts)]
        return [
            one.vector is not None
            and any(
                says_the_same(known[near.place], one, near) and _denied(known[near.place]) == _denied(one)
                for near in relations(known, one)
            )
            for one in new
        ]

    return alike


def _denied(one: Statement) -> frozenset[str] | None:
    """The words after a "never" or a 不; None where nothing is denied. The night may ask once more about what it takes for the
    same; a line that is not written is gone, and "never npm" must not go for "never pnpm"."""
    from nacre.brain.local.likeness import statement

    denied = _NO.split(one.text, maxsplit=1)[1:]
    return statement(denied[0], one.language).word_set if denied else None


def _parts(line: str) -> list[str]:
    """The statements of a line, of a question that of its answer; the line itself where it is made of none."""
    bare = bare_words(words_of(line)).rpartition(" → ")[2]
    return [one.text for one in pieces(bare)] or [bare]
