"""One edit of a settings file, as a value, and what of it is remembered so that it can be taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

JSON, TOML, MARKDOWN = "json", "toml", "markdown"


@dataclass(frozen=True)
class Put:
    """A member of an object or a table of TOML: ours by its name. A default is put only where there is none."""

    path: tuple[str, ...]
    value: Any
    default: bool = False


@dataclass(frozen=True)
class Add:
    """An item of an array. The mark is what every command in an item of ours holds, also one that an older version wrote."""

    path: tuple[str, ...]
    value: Any
    mark: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rules:
    """Our block of rules in a Markdown file of the agent's."""

    language: str


Edit = Put | Add | Rules


@dataclass(frozen=True)
class Done:
    """An edit as it was carried out: what is needed to take it back, also when the file has changed since."""

    kind: str  # "put", "default", "add" or "rules"
    path: tuple[str, ...] = ()
    value: Any = None
    mark: tuple[str, ...] = ()
    depth: int = 0  # how much of the path was there before
    inside: str | None = None  # what stood between the brackets of what was empty
    previous: str | None = None  # what stood in the place of the value
    added: str = ""  # the very characters, where they stand in one piece

    @property
    def name(self) -> str:
        return ".".join(self.path)


class CannotEdit(ValueError):
    """The file says something in the place of ours that is none of the kind; the sentence names it."""


def holds(now: Any, wanted: Any) -> bool:
    """Whether a value is what was written; the agent or the user may have added settings to it."""
    if isinstance(wanted, dict) and isinstance(now, dict):
        return all(name in now and now[name] == one for name, one in wanted.items())
    return bool(now == wanted) and type(now) is type(wanted)
