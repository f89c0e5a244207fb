"""The bootstrap context of a session, put together: whose it is, what answers the question, what is noted of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.context import gather
from nacre.context.gather import Gathered, SessionProject
from nacre.context.pack import ContextPack, Omitted, Piece
from nacre.context.readable import project_of_checkpoint
from nacre.errors import BadInput, CannotWrite, IndexUnusable, ModelUnusable
from nacre.i18n import say
from nacre.model.workspace import slug_of
from nacre.vault import ledger
from nacre.vault.discover import project_at, project_of
from nacre.vault.ledger import NONE_CLOSED, ClosedEntries

if TYPE_CHECKING:
    from nacre.context.gather import Superseded
    from nacre.memory import Memory
    from nacre.model.hit import Hit


_HITS = 32  # that are looked at for what a session is given of them


def give(
    memory: Memory,
    budget: int | None,
    *,
    query: str | None,
    project: str | None,
    all_files: bool,
    mode: str,
    noted: bool,
    here: str | None = None,
) -> ContextPack:
    """The pack, noted for `nacre context --last` where the user wants that; an empty one where context is switched off."""
    wanted = memory.config.context.budget if budget is None else budget
    if wanted < 1:
        raise BadInput(say("The budget must be at least one token.", "预算至少为一个 token。"))
    scope = "main" if memory.scope.group is None else f"group:{memory.scope.group}"
    if not memory.config.context.enabled:
        return ContextPack("", wanted, scope, disabled=True)
    place = place_of(memory, project, here) if memory.scope.group is None else SessionProject()
    answers: list[Piece] = []
    missed: tuple[Omitted, ...] = ()
    try:
        answers = _answers(memory, query, place, mode) if query and query.strip() else []
    except (IndexUnusable, CannotWrite, ModelUnusable) as trouble:  # a session without answers is better than none
        missed = (Omitted(".nacre/index", 0, 0, 0, str(trouble).rstrip(".。")),)
    gathered = _gathered(memory, place, answers, all_files=all_files)
    pack = gather.pack_context(gathered._replace(left=(*missed, *gathered.left)), wanted, scope, place.project)
    if memory.config.context.log and noted:
        _note(memory, pack, query)
    return pack


def _gathered(memory: Memory, place: SessionProject, answers: list[Piece], *, all_files: bool) -> Gathered:
    if memory.scope.group is None:
        closed = closed_for(memory)
        return gather.gather_private(
            memory.workspace, memory.config, memory.clock, place, answers, all_files=all_files, overtaken=closed
        )
    keeper = memory.keeper
    return keeper.store.safely(
        lambda: gather.gather_shared(keeper.store, keeper.current(), memory.scope, memory.clock, answers)
    )


def place_of(memory: Memory, project: str | None, here: str | None) -> SessionProject:
    """The project that is named, or that of the folder the session works in; one that nobody set up is known by its stamps alone."""
    if project:
        return SessionProject(slug_of(project), is_known=True)
    try:
        here = here or os.getcwd()
    except OSError:  # a folder that was deleted
        return SessionProject()
    if known := project_of(memory.workspace, Path(here)):
        return SessionProject(known, is_known=True)
    name = project_at(memory.workspace, here)
    return SessionProject(slug_of(name) if name else None)


def _answers(memory: Memory, query: str, place: SessionProject, mode: str) -> list[Piece]:
    return pieces_of(memory, hits_for(memory, query, place, mode))


def hits_for(memory: Memory, query: str, place: SessionProject, mode: str, most: int = _HITS) -> tuple[Hit, ...]:
    """What answers the question, for this project and of none; a group's own has no project."""
    found = memory.ask(query, most, mode=mode, filters=memory.filters(project=place.project)).hits
    if memory.scope.group is None:
        found = tuple(hit for hit in found if _project_of(memory, hit) in (None, place.project))
    return found


def pieces_of(memory: Memory, found: tuple[Hit, ...], told: Superseded | None = None) -> list[Piece]:
    """Hits as passages under their citations, ready to be packed; what was overtaken is left out, or given as `told` says."""
    from nacre.context import gather

    keeper = memory.keeper
    whole = keeper.store.safely(
        lambda: gather.passage_texts(keeper.store, keeper.store.live() or keeper.current(), found)
    )
    return gather.cited_passages(found, whole, closed_for(memory), told or gather.leave_out)


def closed_for(memory: Memory) -> ClosedEntries:
    """What no longer holds. The ledger is the owner's: a group is given its own as it stands."""
    return (
        ledger.load_closed(memory.workspace, memory.clock.today().isoformat())
        if memory.scope.group is None
        else NONE_CLOSED
    )


def _project_of(memory: Memory, hit: Hit) -> str | None:
    """The project of a hit: by its stamp or folder, or by what the checkpoint that it stands in says of itself."""
    from nacre.vault.files import TIERS

    if hit.project or hit.layer not in TIERS:
        return slug_of(hit.project) if hit.project else None
    return project_of_checkpoint(memory.workspace.root / hit.path, memory.workspace)


def _note(memory: Memory, pack: ContextPack, query: str | None) -> None:
    import hashlib

    from nacre.vault import injected

    told: dict[str, object] = {
        "at": memory.clock.now().isoformat(timespec="seconds"),
        "scope": pack.scope,
        "budget": pack.budget,
        "tokens": pack.tokens,
        "parts": [{"path": one.path, "lines": [one.first, one.last], "tokens": one.tokens} for one in pack.parts],
    }
    if pack.project:
        told["project"] = pack.project
    if query and query.strip():
        told["query_hash"] = hashlib.blake2b(query.encode("utf-8", "replace"), digest_size=8).hexdigest()
    injected.write_pack(memory.workspace, told, pack.text)
