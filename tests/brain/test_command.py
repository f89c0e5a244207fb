"""Any program answers orders; one that fails, hangs or prints half of it is an error with its reason, and never more."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.brain.conftest import ANSWER, Program

from nacre.brain.command import PRESETS, ask_command, installed
from nacre.brain.orders import BrainFailed, Order, items_of, load_prompt, parse_answer
from nacre.model.session import ORDER_MARK, Speaker

ORDER = Order("extract", "en", items_of([("We use pnpm, never npm", Speaker.OWNER, "")]), load_prompt("extract", "en"))


def test_a_program_is_given_the_order_on_stdin_in_an_empty_folder_with_our_hooks_off(program: Program) -> None:
    reply = ask_command(None, program.argv, ORDER, 60)
    assert reply.text == ANSWER
    (given,) = program.given
    assert given["order"] == ORDER.text
    assert given["hooks"] == "false"
    assert sorted(given["files"]) == ["schema_file", "system_file"]
    assert not os.path.exists(given["cwd"])


def test_placeholders_give_the_schema_and_the_order_as_arguments(program: Program) -> None:
    ask_command(None, [*program.argv, "{schema}", "{order}", "{unknown}"], ORDER, 60)
    (given,) = program.given
    assert given["argv"] == [json.dumps(ORDER.schema), ORDER.text, "{unknown}"]
    assert given["order"] == ""


def test_a_program_that_fails_is_told_with_its_words_but_no_secret(program: Program) -> None:
    program.will("exit", ANSWER)
    with pytest.raises(BrainFailed, match="exit code 1: no credits left") as failed:
        ask_command(None, program.argv, ORDER, 60)
    assert "sk-proj" not in str(failed.value)


def test_a_program_that_hangs_is_ended(program: Program) -> None:
    program.will("hang")
    with pytest.raises(BrainFailed, match=r"did not answer within 0\.2 seconds"):
        ask_command(None, program.argv, ORDER, 0.2)


def test_a_program_that_hangs_is_ended_where_there_are_no_groups_of_processes(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.will("hang")
    monkeypatch.delattr(os, "killpg")
    with pytest.raises(BrainFailed, match="did not answer"):
        ask_command(None, program.argv, ORDER, 0.2)


def test_half_an_answer_is_none(program: Program) -> None:
    program.will("half", ANSWER)
    reply = ask_command(None, program.argv, ORDER, 60)
    with pytest.raises(BrainFailed):
        parse_answer("extract", reply.text)


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(BrainFailed, match="cannot be started"):
        ask_command(None, ["/nowhere/at/all"], ORDER, 60)
    with pytest.raises(BrainFailed, match=r"brain\.command\.preset"):
        ask_command(None, [], ORDER, 60)


PRINTED = {
    "claude-code": json.dumps({"type": "result", "result": "", "structured_output": json.loads(ANSWER), "usage": {"input_tokens": 900, "output_tokens": 50, "cache_creation_input_tokens": 4000, "cache_read_input_tokens": 7000}}),
    "gemini": json.dumps({"session_id": "s", "response": ANSWER, "stats": {}}, indent=2),
    "opencode": "\n".join(json.dumps(event) for event in ({"type": "step_start", "part": {}}, {"type": "text", "part": {"type": "text", "text": ANSWER}}, {"type": "step_finish", "part": {"reason": "stop"}})),
    "openclaw": json.dumps({"ok": True, "outputs": [{"text": ANSWER}]}),
}  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_the_answer_is_found_in_what_each_agent_prints(
    name: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.will("answer", PRINTED[name])
    agent = tmp_path / "bin" / PRESETS[name].argv[0]
    agent.parent.mkdir()
    agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program.argv[1]}" "$@"\n', "utf8")
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{agent.parent}{os.pathsep}{os.environ['PATH']}")
    assert installed(str(agent.parent)) == [name]
    reply = ask_command(name, [], ORDER, 60)
    assert json.loads(reply.text) == json.loads(ANSWER)
    assert reply.tokens == (11_950 if name == "claude-code" else None)
    (given,) = program.given
    assert ORDER_MARK in given["order"] + "".join(given["argv"])


def test_an_error_that_claude_tells_is_no_answer(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"type": "result", "is_error": True, "result": f"Credit balance is too low {ANSWER}"}
    program.will("answer", json.dumps(told))
    agent = tmp_path / "claude"
    agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program.argv[1]}" "$@"\n', "utf8")
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(BrainFailed, match="claude tells of an error: Credit balance"):
        ask_command("claude-code", [], ORDER, 60)


def test_codex_writes_its_answer_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = tmp_path / "codex"
    agent.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncat > /dev/null\necho \'{"entries": []}\' > "$2"\necho chatter\n', "utf8")  # fmt: skip
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert ask_command("codex", [], ORDER, 60).text == '{"entries": []}\n'


ENDLESS = "import itertools, os, sys\nfor _ in itertools.count():\n    os.write({stream}, b'x' * 65536)\n"


def test_a_program_that_prints_without_end_is_ended() -> None:
    with pytest.raises(BrainFailed, match="more than any answer needs"):
        ask_command(None, [sys.executable, "-c", ENDLESS.format(stream=1)], ORDER, 60)


def test_a_program_that_complains_at_length_is_heard() -> None:
    talks = f"import os\nfor _ in range(40):\n    os.write(2, b'x' * 65536)\nprint({ANSWER!r})"
    assert ask_command(None, [sys.executable, "-c", talks], ORDER, 60).text.strip() == ANSWER


def test_a_program_that_leaves_another_with_its_output_is_not_waited_for() -> None:
    leaves = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    with pytest.raises(BrainFailed, match="did not answer"):
        ask_command(None, [sys.executable, "-c", leaves], ORDER, 0.5)


def test_a_file_with_too_long_an_answer_is_none(tmp_path: Path) -> None:
    writes = "import sys; open(sys.argv[1], 'w').write('x' * 500_000)"
    with pytest.raises(BrainFailed, match="more than any answer needs"):
        ask_command(None, [sys.executable, "-c", writes, "{answer_file}"], ORDER, 60)
