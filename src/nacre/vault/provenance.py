"""Provenance of every entry of a log: the messages it was captured from, whether it was offered to long-term memory, and its weekly digest.

Kept in `memory/trail.jsonl`, one object a line, append-only: days, ids and hashes, never a word that was said. Losing it loses
no memory: entries are then known by their words alone, and `nacre why` ends at the session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nacre.errors import NacreError
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.vault import disk, jsonl
from nacre.vault.history import Operation
from nacre.vault.writing import REDACT, append


@dataclass(frozen=True)
class Captured:
    """A section of a day's log: its session, and for each bullet the entries of the transcript that it rests on."""

    day: str
    session: str  # as its heading names it
    agent: str
    bullets: Mapping[str, tuple[str, ...]]  # by `mark_of`
    transcript: str = ""  # the whole id of the session
    place: str = ""  # the folder it was held in, where its section is stamped with a project
    agents: tuple[str, ...] = ()  # the bullets that are the agent's word alone


@dataclass(frozen=True)
class Digested:
    """Bullets of a day that stand in a week's digest, and how long the day's log was when they entered."""

    day: str
    week: str  # the file, relative to the workspace
    bullets: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Offered:
    """Bullets of a day that were put to the tests of long-term memory; the ledger tells what became of them."""

    day: str
    bullets: tuple[str, ...]


@dataclass(frozen=True)
class Provenance:
    """Every good line of the file."""

    captured: tuple[Captured, ...] = ()
    pressed: tuple[Digested, ...] = ()
    offered: tuple[Offered, ...] = ()

    def entered(self) -> dict[str, set[str]]:
        """By day: the marks of the bullets that are in a week's digest."""
        found: dict[str, set[str]] = {}
        for one in self.pressed:
            found.setdefault(one.day, set()).update(one.bullets)
        return found

    def sizes(self) -> dict[str, int]:
        """By day: how long its log was when it was last pressed."""
        return {one.day: one.size for one in self.pressed}


def write_provenance(op: Operation, lines: Iterable[Captured | Digested | Offered]) -> None:
    """Append to the trail; part of the operation, so that undoing it takes the lines back as well."""
    text = "".join(map(provenance_line, lines))
    if text:
        _refuse_traps(op.workspace)
        append(op, op.workspace.trail, text, on_secret=REDACT)


def write_provenance_once(op: Operation, told: Captured) -> None:
    """Append a line unless it stands there already."""
    if provenance_line(told).encode() not in (disk.read_bytes(op.workspace.trail) or b""):
        write_provenance(op, [told])


def undone_mark(known: str) -> str:
    """The mark of an entry that an undo took out of long-term memory: it is not added again unasked."""
    return f"undone:{known}"


def provenance_line(one: Captured | Digested | Offered) -> str:
    """How the file tells it."""
    return jsonl.dump_row(_as_json(one))


def _refuse_traps(workspace: Workspace) -> None:
    """A pipe in the place of the file would keep us waiting for ever."""
    path = workspace.trail
    if path.exists() and not path.is_file():
        raise NacreError(say(f"{path} is not an ordinary file; move it away.", f"{path} 不是普通文件；请将其移走。"))


def _as_json(one: Captured | Digested | Offered) -> dict[str, Any]:
    if isinstance(one, Offered):
        return {"day": one.day, "offered": list(one.bullets)}
    if isinstance(one, Digested):
        return {"day": one.day, "week": one.week, "pressed": list(one.bullets), "size": one.size}
    told: dict[str, Any] = {"day": one.day, "session": one.session, "agent": one.agent}
    told |= {name: value for name in ("transcript", "place") if (value := getattr(one, name))}
    told |= {"agents": list(one.agents)} if one.agents else {}
    return told | {"captured": {mark: list(messages) for mark, messages in one.bullets.items()}}


def read_provenance(workspace: Workspace) -> Provenance:
    """The trail as far as it can be read; a torn or foreign line is passed over."""
    captured: list[Captured] = []
    pressed: list[Digested] = []
    offered: list[Offered] = []
    for _, value in jsonl.read_rows(workspace.trail, workspace.relative(workspace.trail)).rows:
        if not isinstance(day := value.get("day"), str):
            continue
        bullets = value.get("captured")
        if isinstance(bullets, dict):
            told = {str(mark): tuple(map(str, ids)) for mark, ids in bullets.items() if isinstance(ids, list)}
            session, agent, whole, place = (
                str(value.get(name, "")) for name in ("session", "agent", "transcript", "place")
            )
            agents = value.get("agents")
            own = tuple(map(str, agents)) if isinstance(agents, list) else ()
            captured.append(Captured(day, session, agent, told, whole, place, own))
        elif isinstance(marks := value.get("pressed"), list):
            size = value.get("size")
            week = str(value.get("week", ""))
            pressed.append(Digested(day, week, tuple(map(str, marks)), size if isinstance(size, int) else -1))
        elif isinstance(marks := value.get("offered"), list):
            offered.append(Offered(day, tuple(map(str, marks))))
    return Provenance(tuple(captured), tuple(pressed), tuple(offered))
