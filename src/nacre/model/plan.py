"""A change as a value: the steps that would be taken and the reason for each, to be shown or carried out."""

from __future__ import annotations

from dataclasses import dataclass


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
