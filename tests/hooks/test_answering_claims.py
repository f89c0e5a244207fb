"""A hook that is registered twice answers once."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.conftest import Session

from nacre.context import answering
from nacre.context.answering import HELD
from nacre.hooks.events import answer
from nacre.memory import Memory

PROMPT = "Where does the Braldor project keep its backup key?"


def event(name: str, **more: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": "61871d67-1111", **more}


def claims(root: Path) -> list[Path]:
    return sorted((root / ".nacre" / "hooks").glob(".claim-*"))


@pytest.mark.parametrize(
    "fired", [event("SessionStart", source="resume"), event("UserPromptSubmit", prompt=PROMPT)], ids=["start", "prompt"]
)
def test_of_two_hooks_at_the_same_moment_one_answers(session: Session, fired: dict[str, Any]) -> None:
    ready = threading.Barrier(4)

    def fire() -> bool:
        with Memory.open(session.root) as memory:
            memory.search("Braldor")
            ready.wait(300)
            return answer(memory, "claude-code", fired) is not None

    with ThreadPoolExecutor(4) as pool:
        assert sum(one.result() for one in [pool.submit(fire) for _ in range(4)]) == 1


def test_another_event_session_or_agent_is_another_and_an_old_claim_holds_nothing(session: Session) -> None:
    root, start = session.root, event("SessionStart", source="compact")
    with Memory.open(root) as memory:
        assert answer(memory, "claude-code", start)
        assert answer(memory, "claude-code", start) is None
        assert answer(memory, "codex", start)
        assert answer(memory, "claude-code", start | {"session_id": "another"})
        for path in claims(root):
            old = path.stat().st_mtime - HELD - 1
            os.utime(path, (old, old))
        assert answer(memory, "claude-code", start)


def test_claims_do_not_pile_up(root: Path) -> None:
    with Memory.open(root) as memory:
        for number in range(3):
            for path in claims(root):
                os.utime(path, (1, 1))
            answer(memory, "claude-code", event("UserPromptSubmit", prompt=f"{PROMPT} {number}"))
    assert len(claims(root)) == 1


def test_who_fails_leaves_the_answer_to_the_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fired = event("UserPromptSubmit", prompt=PROMPT)

    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    with Memory.open(root) as memory:
        with monkeypatch.context() as broken:
            broken.setattr(answering, "prompt_context", fail)
            with pytest.raises(OSError, match="disk"):
                answer(memory, "claude-code", fired)
        assert answer(memory, "claude-code", fired)


@pytest.mark.parametrize(
    "fired",
    [event("SessionStart", source="startup"), event("UserPromptSubmit", prompt=PROMPT)],
    ids=["start", "prompt"],
)
def test_a_workspace_that_keeps_nothing_still_gives(session: Session, fired: dict[str, Any]) -> None:
    with Memory.open(session.root) as memory:
        (session.root / ".nacre").mkdir(exist_ok=True)
        (session.root / ".nacre" / "hooks").write_bytes(b"in the place of the folder")
        assert answer(memory, "claude-code", fired)
        assert answer(memory, "claude-code", fired)
