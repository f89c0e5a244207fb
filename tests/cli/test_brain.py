"""nacre brain: what is there, choosing a model, trying it, and reading every order afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests import forked
from tests.brain.conftest import Program

from nacre.config.settings import user_config_file

GOOD = {"text": "Use pnpm in every repository, never npm", "speaker": "owner", "cites": ["m1"], "type": "PREF"}
BAD = {"text": "Staging uses port 5434", "speaker": "owner", "cites": ["m3"], "type": "TECH"}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "program").mkdir()
    made = Program(tmp_path / "program")
    made.will("answer", json.dumps({"entries": [GOOD, BAD]}))
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    run(tmp_path / "ws", "init")
    return tmp_path / "ws"


def run(workspace: Path, *arguments: str, code: Any = 0, **env: str) -> str:
    done = forked.run(["--workspace", str(workspace), *arguments], env={**os.environ, **env})
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def as_json(workspace: Path, *arguments: str, **env: str) -> Any:
    return json.loads(run(workspace, *arguments, "--json", **env).splitlines()[0])


def own(program: Program) -> dict[str, str]:
    return {"NACRE_BRAIN_EXTRACT": "command", "NACRE_BRAIN_COMMAND_ARGV": json.dumps(program.argv)}


def test_without_a_choice_this_machine_writes_and_status_says_nothing_of_it(workspace: Path) -> None:
    assert "this machine" in run(workspace, "brain")
    facts = as_json(workspace, "brain")
    assert (facts["extract"], facts["model"], facts["calls"]) == ("local", None, 0)
    assert as_json(workspace, "status")["brain"] is None


def test_a_choice_is_asked_about_and_stands_in_the_users_settings(workspace: Path) -> None:
    assert "confirmation needs a terminal" in run(workspace, "brain", "use", "claude-code", code=2)
    assert "brain.extract = command" in run(workspace, "brain", "use", "claude-code", "--dry-run")
    assert not user_config_file().exists()
    run(workspace, "brain", "use", "claude-code", "--yes", "--hybrid")
    facts = as_json(workspace, "brain")
    assert (facts["extract"], facts["model"]) == ("hybrid", "claude-code")
    run(workspace, "brain", "use", "local")
    assert as_json(workspace, "brain")["extract"] == "local"
    assert "not one of claude-code" in run(workspace, "brain", "use", "nobody", code=2)


def test_a_trial_is_sent_each_time_and_shows_what_passed_the_gates(workspace: Path, program: Program) -> None:
    for calls in (1, 2):
        tried = as_json(workspace, "brain", "test", **own(program))
        assert tried["kept"] == [GOOD["text"]]
        assert tried["dropped"] == [{"text": BAD["text"], "reason": "number"}]
        assert len(program.given) == calls
    assert as_json(workspace, "status", **own(program))["brain"]["calls"] == 2
    assert "today 2 of 40 requests" in run(workspace, "status", "--all", **own(program))


def test_a_trial_of_a_failing_program_says_why(workspace: Path, program: Program) -> None:
    program.will("exit")
    for _ in range(2):
        assert "no credits left" in run(workspace, "brain", "test", code=1, **own(program))
    assert "No model is configured" in run(workspace, "brain", "test", code=1)


def test_every_order_can_be_read_with_its_answer(workspace: Path, program: Program) -> None:
    assert "No requests have been sent yet" in run(workspace, "brain", "orders")
    run(workspace, "brain", "test", **own(program))
    (row,) = as_json(workspace, "brain", "orders")
    assert (row["work"], row["kept"], row["dropped"]) == ("extract", 1, {"number": 1})
    assert "1 kept; dropped: number (1)" in run(workspace, "brain", "orders")
    assert "数字无出处" in run(workspace, "brain", "orders", NACRE_LANGUAGE="zh")
    shown = run(workspace, "brain", "orders", row["id"])
    assert "nacre-order v1 extract" in shown
    assert str(BAD["text"]) in shown
    assert "No request id starts with" in run(workspace, "brain", "orders", "zzzz", code=2)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_an_agent_that_is_logged_in_is_offered_once(workspace: Path, tmp_path: Path, answer: str) -> None:
    home, programs = tmp_path / "home", tmp_path / "bin"
    for folder in (home / ".codex", programs):
        folder.mkdir(parents=True)
    (home / ".codex" / "auth.json").write_text("{}", "utf8")
    (programs / "codex").write_text("#!/bin/sh\n", "utf8")
    (programs / "codex").chmod(0o755)
    env = {
        **os.environ,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PATH": f"{programs}:/usr/bin:/bin",
    }
    env |= {"NACRE_MODELS_PATH": str(tmp_path / "none")}
    first, second = (at_terminal(workspace, env, answer) for _ in range(2))
    assert "Codex is installed and logged in. Let it write your memory?" in first
    assert "Let it write your memory?" not in second
    facts = json.loads(run(workspace, "brain", "--json", **env).splitlines()[0])
    assert {facts[work] for work in ("extract", "digest", "distil", "summarise")} == {
        "command" if answer == "y" else "local"
    }


def at_terminal(workspace: Path, env: dict[str, str], answer: str) -> str:
    """What `nacre brain` prints on a terminal where somebody has typed an answer ahead."""
    master, slave = pty.openpty()
    os.write(master, f"{answer}\n".encode())
    command = [sys.executable, "-m", "nacre", "--workspace", str(workspace), "brain"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    printed = b""
    with contextlib.suppress(OSError):  # the terminal is gone with the program
        while piece := os.read(master, 65_536):
            printed += piece
    assert process.wait() == 0
    os.close(master)
    return " ".join(printed.decode().split())
