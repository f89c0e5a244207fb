"""What the user means by an id, a place or a query: lines of memory, or an entry that only the ledger knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput, ChangedOutside, NotFound
from nacre.guard.showing import quoted
from nacre.index.keeper import Keeper
from nacre.lifecycle.lines import Line, files
from nacre.model.hit import Hit
from nacre.recall.read import place
from nacre.text.tokens import query_tokens, tokens
from nacre.vault import ledger
from nacre.vault.tombstones import normal
from nacre.vault.workspace import Workspace
from nacre.words import say

_ID = re.compile(r"[0-9a-f]{10}")
_MARK = re.compile(r"[0-9a-f]{8}")
_PLACE = re.compile(r"(.+?\.md(?:\.gz)?(?::\d{1,9}(?::\d{1,9})?|#L\d{1,9}(?:-L?\d{1,9})?))(?:\s+(\S.*))?", re.DOTALL)
MOST = 10  # candidates of a query
QUOTED = 100  # characters of what may be meant


@dataclass(frozen=True)
class Room:
    """What forgetting, pinning and asking why work with."""

    workspace: Workspace
    clock: Clock
    config: Config
    keeper: Callable[[], Keeper]  # the index, opened when first asked for
    search: Callable[[str, int], Sequence[Hit]]


@dataclass(frozen=True)
class Target:
    """One thing that may be meant. Without a line it is known to the ledger alone; without words it was forgotten before."""

    id: str
    words: str
    line: Line | None = None


@dataclass(frozen=True)
class Found:
    """What a wish names. `certain` when it names it by id or by its words: a search may find something else next time, and
    another line may stand at the same number."""

    targets: tuple[Target, ...]
    certain: bool = True


def find(room: Room, wanted: str, lines: Sequence[Line]) -> Found:
    """What is meant; `NotFound` when that is nothing. `lines` are all lines of memory."""
    wanted = wanted.strip()
    if not wanted:
        raise BadInput(
            say("Say what you mean: an id, FILE:LINE, or some words.", "请说明所指：id、文件:行号，或几个词。")
        )
    if _ID.fullmatch(wanted) or _MARK.fullmatch(wanted):
        return Found(_by_id(room, wanted, lines))
    if at := _by_place(room, wanted, lines):
        return at
    asked = normal(wanted)
    if same := [line for line in lines if line.words and line.normal == asked]:
        return Found(_distinct(same))
    return Found(_by_query(room, wanted, lines), certain=False)


def _by_id(room: Room, wanted: str, lines: Sequence[Line]) -> tuple[Target, ...]:
    """By the id of a search hit, of a ledger entry, or the mark of a bullet in the trail."""
    if hit := _hit(room, wanted):
        path, first, last = hit
        if inside := lines_at(lines, path, first, last):
            return _distinct(inside)
        _must_be_ours(room, path)
        raise _no_line(f"{path}:{first}")
    if standing := [line for line in lines if wanted in line.ids or wanted in line.marks]:
        return _distinct(standing if all(line.normal == standing[0].normal for line in standing) else standing[:1])
    known = ledger.standing(ledger.read(room.workspace).records).get(wanted)
    if known:
        return (Target(known.id, known.text or ""),)
    raise NotFound(
        say(
            f'Nothing in memory has the id {wanted}. Ids change when lines do: "nacre search" shows the ones of today.',
            f"记忆中没有 id 为 {wanted} 的内容。行变动后 id 也会变：可用“nacre search”查看当前的 id。",
        )
    )


def _hit(room: Room, wanted: str) -> tuple[str, int, int] | None:
    keeper = room.keeper()

    def look() -> tuple[str, int, int] | None:
        query = (
            "select f.path, c.first, c.last from chunks c join files f on f.id = c.file"
            " where c.key = ? and c.generation = ?"
        )
        row = keeper.store.db.execute(query, (wanted, keeper.current().id)).fetchone()
        return (str(row[0]), int(row[1]), int(row[2])) if row else None

    return keeper.store.safely(look)


def _by_place(room: Room, wanted: str, lines: Sequence[Line]) -> Found | None:
    """By FILE:LINE. A number alone is not certain: with the words of the line behind it, it is."""
    named = _PLACE.fullmatch(wanted)
    if named is None:
        return None
    words = named[2]
    path, first, count = place(named[1])
    shown = room.workspace.relative(Path(path).expanduser()) if Path(path).expanduser().is_absolute() else path
    if words and not any(shown == known for known, _, _ in files(room.workspace, room.config)):
        return None  # words that only mention a file
    _must_be_ours(room, shown)
    first = first or 0
    inside = lines_at(lines, shown, first, first + (count or 1) - 1)
    if words is None:
        if not inside:
            raise _no_line(wanted)
        return Found(_distinct(inside), certain=False)
    said = [line for line in inside if normal(words) in (line.normal, line.own)]
    if not said:
        raise _says_otherwise(named[1], words, inside, lines)
    return Found(_distinct(said))


def _says_otherwise(where: str, words: str, inside: Sequence[Line], lines: Sequence[Line]) -> ChangedOutside:
    """The line at a place is not, or no longer, the one that is meant."""
    now = f"“{quoted(inside[0].whole, QUOTED)}”" if inside else say("nothing", "空")
    elsewhere = next((line.place for line in lines if normal(words) in (line.normal, line.own)), None)
    english = f"They stand in {elsewhere}." if elsewhere else "They stand in no line of memory."
    chinese = f"该文字位于 {elsewhere}。" if elsewhere else "记忆中没有任何一行是该文字。"
    return ChangedOutside(
        say(
            f"{where} does not say these words but {now}, so nothing was changed. {english}",
            f"{where} 处并非所引文字，而是{now}，因此未作任何改动。{chinese}",
        )
    )


def _no_line(place: str) -> NotFound:
    return NotFound(
        say(f"No memory stands at {place}: it is empty, or a heading.", f"{place} 处没有记忆：为空行或标题。")
    )


def lines_at(lines: Sequence[Line], path: str, first: int, last: int) -> list[Line]:
    """The lines that a span of a file means: those that lie in it, outermost ones; else the innermost around it; else its title."""
    every = [line for line in lines if line.path == path and line.words]
    here = [line for line in every if line.title is None]
    inside = [line for line in here if first <= line.start and line.end <= last]
    outer = [line for line in inside if not any(_holds(other, line) for other in inside)]
    if outer:
        return outer
    around = [line for line in here if line.start <= first and last <= line.end]
    titles = [line for line in every if line.title is not None and first <= line.start <= last]
    return sorted(around, key=lambda line: line.end - line.start)[:1] or titles[:1]


def _holds(outer: Line, inner: Line) -> bool:
    return outer is not inner and outer.start <= inner.start and inner.end <= outer.end


def _by_query(room: Room, wanted: str, lines: Sequence[Line]) -> tuple[Target, ...]:
    found: list[Line] = []
    asked = set(tokens(wanted))
    for hit in room.search(wanted, MOST):
        if hit.layer not in ("session", "extra"):
            here = lines_at(lines, hit.path, hit.start_line, hit.end_line)
            found += [line for line in here if asked & set(tokens(line.whole))] or here
    if not found:
        raise NotFound(
            say(
                f'Nothing in memory seems to be about "{wanted}". Name a line by its id, as "nacre search" shows it.',
                f"记忆中似乎没有关于“{wanted}”的内容。请用“nacre search”显示的 id 指定某一行。",
            )
        )
    return _distinct(found)


def holding(targets: Iterable[Target], wanted: str) -> list[Target]:
    """The targets that hold every word of a query. Taking these twice takes nothing else the second time."""
    asked = set(query_tokens(wanted))
    return [target for target in targets if asked and asked <= set(tokens(target.words))]


def _distinct(lines: Iterable[Line]) -> tuple[Target, ...]:
    """The lines as targets, each wording once; one of few words is meant in each place by itself."""
    found: dict[str, Target] = {}
    for line in lines:
        found.setdefault(line.normal if line.is_telling else line.place, Target(line.id, line.whole, line))
    return tuple(found.values())


def _must_be_ours(room: Room, path: str) -> None:
    """What stands in a transcript or in the user's own library is searched, but not ours to change."""
    if any(path == known for known, _, _ in files(room.workspace, room.config)):
        return
    if path.startswith("sessions/"):
        raise BadInput(
            say(
                f"{path} is a transcript of your agent, which Nacre only reads. Delete it there; memory is named by its own id.",
                f"{path} 是代理的对话记录，Nacre 只读取它。请在代理处删除；记忆请用其自身的 id 指定。",
            )
        )
    raise BadInput(
        say(
            f"{path} is no memory that Nacre keeps, so it changes nothing there. Edit the file yourself.",
            f"{path} 不是 Nacre 保管的记忆，因此不会改动。请自行编辑该文件。",
        )
    )
