"""What an operation would do or has done: steps with reasons, problems, counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nacre.i18n import say


def fields(value: object, names: str, **computed: Any) -> dict[str, Any]:
    """The named attributes of a value by their names in JSON (start_line is startLine), in this order; what is computed takes the
    place of the attribute of that name, or comes last."""

    def camel(name: str) -> str:
        first, *rest = name.split("_")
        return first + "".join(map(str.capitalize, rest))

    keys = {camel(name): name for name in names.split()}
    return {key: computed[key] if key in computed else getattr(value, keys[key]) for key in [*keys, *computed]}


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, and what to do about it."""

    kind: str
    message: str
    path: str = ""
    line: int | None = None
    remedy: str = ""
    severity: str = "warning"  # "error" when Nacre cannot do its work because of it
    id: str = ""  # of the entry that it is about

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path

    def as_plain(self) -> dict[str, object]:
        """As status and doctor give it to programs."""
        return fields(self, "kind message path line remedy severity")


def problem(
    kind: str,
    english: str,
    chinese: str,
    path: str = "",
    line: int | None = None,
    *,
    remedy: str | tuple[str, str] = "",
    severity: str = "warning",
) -> Problem:
    """A problem in the user's language; a remedy that is a command is the same in both."""
    return Problem(
        kind, say(english, chinese), path, line, remedy if isinstance(remedy, str) else say(*remedy), severity
    )


@dataclass(frozen=True)
class Step:
    action: str
    path: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Plan:
    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)


class Note(str):
    """A line among those of a report that is not the result: it goes to stderr."""

    __slots__ = ()


@dataclass(frozen=True)
class Report:
    """What a command did or would do: for programs the facts, for people everything else, in this order."""

    facts: Any = ...  # none where only people are told something
    problems: Sequence[Problem] = ()
    heading: Sequence[str] = ()  # sentences before the result
    columns: Sequence[str] = ()  # headings of its table, for terminals
    lines: Sequence[str | Sequence[str]] = ()  # the result: lines, and rows of a table
    notes: Sequence[str] = ()  # sentences after it
    left: Sequence[Problem] = ()  # what was not done: the command ends with exit code 3
    code: int = 0  # of the exit
