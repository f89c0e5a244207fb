"""The passages that answer a question, as a session is given them: few of one file, each under the lines that are shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from nacre.guard.showing import seen
from nacre.recall.legible import name_shown
from nacre.recall.pack import Line, Piece, has_content
from nacre.vault.overtaken import NOTHING, Closed, Overtaken
from nacre.words import say

if TYPE_CHECKING:
    from nacre.index.store import Generation, Store
    from nacre.model.hit import Hit

MOST = 8  # passages
OF_ONE = 2  # passages of one file; a talk and its summary are one
_TAGS = re.compile(r"(?:标签|Tags)[:：]")
_TALK = re.compile(r"(?:hot|warm|gist|forgotten)/([^/]+?)(?:\.gist)?\.md\Z")


def texts(store: Store, generation: Generation, hits: Sequence[Hit]) -> dict[str, str]:
    """The whole passages that hits are snippets of, by the id of the hit."""
    marks = ", ".join("?" * len(hits))
    rows = store.db.execute(
        f"select c.key, c.text from chunks c join files f on f.id = c.file where f.generation = ? and c.key in ({marks})",
        (generation.id, *(hit.id for hit in hits)),
    )
    return dict(rows.fetchall())


Told = Callable[[str, Closed], str | None]  # how a line that no longer holds is given; None where it is left out


def left_out(_line: str, _closed: Closed) -> None:
    return None


def passages(
    hits: Iterable[Hit], whole: Mapping[str, str], overtaken: Overtaken = NOTHING, told: Told = left_out
) -> list[Piece]:
    """The best hits, each under its citation, with a word about the layer where it is not the whole story."""
    made: list[Piece] = []
    of_one: Counter[str] = Counter()
    for hit in hits:
        talk = _TALK.search(hit.path)
        family = talk[1] if talk else hit.path
        lines = tuple(line for line in _numbered(hit, whole.get(hit.id)) if not _TAGS.match(line.text))
        if hit.layer != "longterm":  # what stands there holds, whatever became of the same words before
            lines = tuple(_holding(lines, hit.date, overtaken, told))
        if of_one[family] == OF_ONE or not has_content(lines):
            continue
        of_one[family] += 1
        made.append(Piece(hit.path, name_shown(hit.path), lines, cited=True, note=_layer(hit)))
        if len(made) == MOST:
            break
    return made


def _holding(lines: Iterable[Line], said: str | None, overtaken: Overtaken, told: Told) -> Iterator[Line]:
    """The lines that hold, and of the others what is to be told."""
    for line in lines:
        closed = overtaken.of(line.text, said)
        text = told(line.text, closed) if closed else line.text
        if text is not None:
            yield line._replace(text=text)


def _numbered(hit: Hit, whole: str | None) -> Iterator[Line]:
    """The lines of a snippet with their numbers in the file; 0 where that cannot be told."""
    shown = hit.snippet.split("\n")
    rows = (whole if whole is not None else hit.snippet).split("\n")
    start = _place(shown, rows) if len(rows) == hit.end_line - hit.start_line + 1 else None
    for at, text in enumerate(shown):
        yield Line(0 if start is None else hit.start_line + start + at, seen(text))


def _place(shown: Sequence[str], rows: Sequence[str]) -> int | None:
    """Which of the rows the shown lines begin with; of a long line a stretch may be shown."""
    wanted = [one.strip() for one in shown]
    bare = [row.strip() for row in rows]
    for at in range(len(bare) - len(wanted) + 1):
        if bare[at : at + len(wanted)] == wanted:
            return at
    stretch = wanted[0].strip("…")
    return next((at for at, row in enumerate(bare) if stretch in row), None) if len(wanted) == 1 else None


def _layer(hit: Hit) -> str:
    if hit.layer == "gist" or (hit.path.endswith(".gist.md") and hit.layer != "forgotten"):
        return say(" (gist: a summary)", "（gist：摘要）")
    if hit.layer == "forgotten":
        return say(" (forgotten: to be deleted some day)", "（forgotten：到期会被删除）")
    return ""
