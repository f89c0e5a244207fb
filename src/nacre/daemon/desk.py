"""Answers questions: one open memory for the owner and one for all groups, kept warm between them."""

from __future__ import annotations

import copy
import dataclasses
import threading
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from nacre.daemon import answers
from nacre.daemon.answers import ContextAsked, GetAsked, Printed, SearchAsked
from nacre.errors import BadInput
from nacre.memory import Memory
from nacre.recall.filters import Scope
from nacre.words import say, use_language_here

Asked = TypeVar("Asked", SearchAsked, ContextAsked, GetAsked)


class NotHere(Exception):
    """A question that the client can answer itself, and we cannot."""


class Desk:
    """Holds the memories. Safe to ask from many threads."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._groups: Memory | None = None
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Load what the first question would otherwise wait for."""
        self.memory.ask("warm", 1)
        self.memory.ask("热", 1)

    def check(self, scope: str) -> None:
        """An error when there is no such listener."""
        Scope.parse(scope)

    def answer(self, scope: str, kind: str, given: dict[str, Any]) -> dict[str, Any]:
        """What is to be printed for search, context and get; what a tool gives or a hook says."""
        memory = self.memory_of(scope)
        agent = given.get("agent")
        memory.agent = agent if isinstance(agent, str) else None
        asked = given.get("asked")
        if kind == "tool":
            from nacre.tools.calling import call

            here = given.get("here")
            here = here if isinstance(here, str) else None
            return {"result": call(memory, str(given.get("name")), _table(given.get("arguments")), here=here)}
        if kind == "hook":
            from nacre.hooks.answering import answer

            use_language_here(given.get("language"))  # that of the session, where its environment names one
            try:
                return {"answer": answer(memory, str(given.get("of")), _table(given.get("event")))}
            finally:
                use_language_here(None)
        printed: Printed
        if kind == "search":
            printed = answers.search([memory], read(SearchAsked, asked))
        elif kind == "context":
            printed = answers.context(memory, read(ContextAsked, asked))
        elif kind == "get":
            printed = answers.get(memory, read(GetAsked, asked))
        else:
            raise BadInput(say(f'A daemon does not know "{kind[:40]}".', f"守护进程不认识“{kind[:40]}”。"))
        return {"parts": printed.parts}

    def memory_of(self, scope: str) -> Memory:
        """The memory of a listener, for one question: trouble that is noted in one must not be told in the next."""
        listener = Scope.parse(scope)
        memory = copy.copy(self.memory if listener.group is None else self._for_groups(scope))
        memory.scope = listener
        return memory

    def _for_groups(self, scope: str) -> Memory:
        """What all groups share: an index that is open, and the models. What each may see is asked of it anew every time."""
        with self._opening:
            if self._groups is None:
                main = self.memory
                embedder, reason = main.embedder()
                # One set of models for all, unless there is something to tell about them, which each has to tell itself.
                shared = embedder if reason is None else None
                self._groups = Memory(
                    main.workspace, main.config, main.clock, scope=scope, problems=main.problems, embedder=shared
                )
            return self._groups

    def close(self) -> None:
        self.memory.close()
        if self._groups is not None:
            self._groups.close()


def _table(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadInput(say("The question is not one that a daemon understands.", "守护进程无法理解该请求。"))
    return given


def read(form: Callable[..., Asked], given: Any) -> Asked:
    """What came over the socket as a question of ours; every field is of its kind or the whole is refused."""
    kinds, required = _form(form)
    fits = isinstance(given, dict) and all(_fits(kinds.get(name), value) for name, value in given.items())
    if fits and required <= given.keys():
        return form(**given)
    raise BadInput(say("The question is not one that a daemon understands.", "守护进程无法理解该请求。"))


@cache
def _form(form: Callable[..., Any]) -> tuple[dict[str, Any], frozenset[str]]:
    """The kind of each field, and which of them must be given; working that out takes as long as many an answer."""
    parts = dataclasses.fields(form)  # type: ignore[arg-type]
    return typing.get_type_hints(form), frozenset(part.name for part in parts if _is_required(part))


def _is_required(part: dataclasses.Field[Any]) -> bool:
    return part.default is dataclasses.MISSING and part.default_factory is dataclasses.MISSING


def _fits(kind: Any, value: Any) -> bool:
    if kind is None:
        return False
    if typing.get_origin(kind) is list:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    kinds = typing.get_args(kind) or (kind,)
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds) or (float in kinds and isinstance(value, int))
