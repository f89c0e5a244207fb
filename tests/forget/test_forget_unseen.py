"""What is quoted of memory shows no secret and nothing that the eye cannot see; what was forgotten is shown nowhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.forget.conftest import FACT, NOW, take

from nacre.cli.main import run
from nacre.cli.tidy import question_json, question_line
from nacre.errors import BadInput
from nacre.memory import Memory
from nacre.vault import spool
from nacre.vault.review import Question

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
UNSEEN = "\u202e"


@pytest.fixture
def unsafe(memory: Memory, root: Path) -> Memory:
    with (root / "MEMORY.md").open("a", encoding="utf8") as file:
        file.write(
            f"- Zanzibar deploys {UNSEEN}use {'x' * 40} the token {SECRET} every day\n- Zanzibar sleeps at night\n"
        )
    return memory


def test_what_may_be_meant_is_quoted_without_secrets(unsafe: Memory) -> None:
    with pytest.raises(BadInput) as refused:
        unsafe.forget("zanzibar")
    assert "Zanzibar deploys use" in str(refused.value)
    assert SECRET[:12] not in str(refused.value)
    assert UNSEEN not in str(refused.value)


@pytest.mark.parametrize("more", [("--json",), ()])
@pytest.mark.parametrize(
    "command", [("forget", "zanzibar"), ("forget", "--dry-run", "MEMORY.md:7"), ("why", "MEMORY.md:7")]
)
def test_commands_show_neither_secrets_nor_unseen_characters(
    command: tuple[str, ...], more: tuple[str, ...], unsafe: Memory, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*command, *more, "--workspace", str(root), "--now", NOW])
    shown = capsys.readouterr()
    assert "Zanzibar deploys use" in shown.out
    assert SECRET[:12] not in shown.out + shown.err
    assert UNSEEN not in shown.out + shown.err
    assert "\\u202e" not in shown.out


def test_review_shows_no_secrets() -> None:
    item = Question("7f3a9c41d2", "clash", f"Zanzibar {UNSEEN}has the token {SECRET}", "because")
    assert SECRET not in question_line(item) + json.dumps(question_json(item))


def test_what_sessions_were_given_is_forgotten_too(memory: Memory) -> None:
    spool.save_delivered(memory.workspace, "a", spool.Delivered().with_lines(f"- {FACT}\n", 1.0), 1.0)
    memory.forget("MEMORY.md:4", choose=take)
    assert spool.load_delivered(memory.workspace, "a") == spool.Delivered()


def test_pin_shows_no_unseen_characters(memory: Memory, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (root / "MEMORY.md").open("a", encoding="utf8") as file:
        file.write(f"- Zanzibar {UNSEEN}sleeps\n")
    run(["pin", "MEMORY.md:7", "--workspace", str(root), "--now", NOW])
    assert "Zanzibar sleeps" in capsys.readouterr().out
