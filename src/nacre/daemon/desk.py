"""Answers questions: one open memory for each listener, kept warm between them."""

from __future__ import annotations

import copy
import dataclasses
import threading
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from nacre.daemon import answers
from nacre.daemon.answers import ContextAsked, GetAsked, Printed, SearchAsked
from nacre.errors import BadInput
from nacre.memory import Memory
from nacre.words import say

_MOST_LISTENERS = 16
Asked = TypeVar("Asked", SearchAsked, ContextAsked, GetAsked)


class NotHere(Exception):
    """A question that the client can answer itself, and we cannot."""


class Desk:
    """Holds a memory for each listener. Safe to ask from many threads."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._memories = {"main": memory}
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Load what the first question would otherwise wait for."""
        self.memory.ask("warm", 1)
        self.memory.ask("热", 1)

    def check(self, scope: str) -> None:
        """An error when there is no such listener."""
        self._memory(scope)

    def answer(self, scope: str, kind: str, given: dict[str, Any]) -> dict[str, Any]:
        """What is to be printed, for search, context and get."""
        # A copy of its own for each question: trouble that is noted in one must not be told in the next.
        memory = copy.copy(self._memory(scope))
        agent = given.get("agent")
        memory.agent = agent if isinstance(agent, str) else None
        asked = given.get("asked")
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

    def _memory(self, scope: str) -> Memory:
        with self._opening:
            found = self._memories.get(scope)
            if found is None:
                if len(self._memories) >= _MOST_LISTENERS:
                    raise NotHere("too many listeners")
                main = self.memory
                embedder, reason = main.embedder()
                # One set of models for all, unless there is something to tell about them, which each has to tell itself.
                shared = embedder if reason is None else None
                found = Memory(
                    main.workspace, main.config, main.clock, scope=scope, problems=main.problems, embedder=shared
                )
                self._memories[scope] = found
            return found

    def close(self) -> None:
        for memory in self._memories.values():
            memory.close()


def read(form: Callable[..., Asked], given: Any) -> Asked:
    """What came over the socket as a question of ours; every field is of its kind or the whole is refused."""
    kinds = typing.get_type_hints(form)
    if isinstance(given, dict) and all(_fits(kinds.get(name), value) for name, value in given.items()):
        required = {part.name for part in dataclasses.fields(form) if _is_required(part)}  # type: ignore[arg-type]
        if required <= given.keys():
            return form(**given)
    raise BadInput(say("The question is not one that a daemon understands.", "守护进程无法理解该请求。"))


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
