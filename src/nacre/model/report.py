"""What an operation would do or has done: steps with reasons, problems, counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, and what to do about it."""

    kind: str
    message: str
    path: str = ""
    line: int | None = None
    remedy: str = ""
    severity: str = "warning"  # "error" when Nacre cannot do its work because of it


# A change as a value: the steps that would be taken and the reason for each, to be shown or carried out.


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
