"""Any program answers orders; one that fails, hangs or prints half of it is an error with its reason, and never more."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from tests.brain.conftest import ANSWER, Program

from nacre.brain.command import ask_command, installed
from nacre.brain.orders import Order, items_of, parse_answer
from nacre.brain.presets import PRESETS
from nacre.errors import BrainFailed
from nacre.model import ORDER_MARK, Speaker

ORDER = Order("extract", "en", items_of([("We use pnpm, never npm", Speaker.OWNER, "")]))


def test_a_program_is_given_the_order_on_stdin_in_an_empty_folder_with_our_hooks_off(program: Program) -> None:
    reply = ask_command(None, program.argv, ORDER, 60)
    assert reply.text == ANSWER
    (given,) = program.given
    assert given["order"] == ORDER.text
    assert given["hooks"] == "false"
    assert given["files"] == []
    assert not os.path.exists(given["cwd"])


def test_placeholders_give_the_schema_and_the_order_as_arguments(program: Program) -> None:
    ask_command(None, [*program.argv, "{schema}", "{order}", "{unknown}"], ORDER, 60)
    (given,) = program.given
    assert given["argv"] == [json.dumps(ORDER.schema), ORDER.text, "{unknown}"]
    assert given["order"] == ""


def test_a_program_that_fails_is_told_with_its_words_but_no_secret(program: Program) -> None:
    program.will("exit", ANSWER)
    with pytest.raises(BrainFailed, match="exited with code 1: no credits left") as failed:
        ask_command(None, program.argv, ORDER, 60)
    assert "sk-proj" not in str(failed.value)


def test_a_program_that_hangs_is_ended(program: Program) -> None:
    program.will("hang")
    with pytest.raises(BrainFailed, match=r"did not answer within 0\.2 s\."):
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
    with pytest.raises(BrainFailed, match="could not be started"):
        ask_command(None, ["/nowhere/at/all"], ORDER, 60)
    with pytest.raises(BrainFailed, match=r"brain\.command\.preset"):
        ask_command(None, [], ORDER, 60)


PRINTED = {
    "claude-code": json.dumps({"type": "result", "result": "", "structured_output": json.loads(ANSWER), "usage": {"input_tokens": 900, "output_tokens": 50, "cache_creation_input_tokens": 4000, "cache_read_input_tokens": 7000}}),
    "gemini": json.dumps({"session_id": "s", "response": ANSWER, "stats": {}}, indent=2),
    "opencode": "\n".join(json.dumps(event) for event in ({"type": "step_start", "part": {}}, {"type": "text", "part": {"type": "text", "text": ANSWER}}, {"type": "step_finish", "part": {"reason": "stop"}})),
    "openclaw": json.dumps({"ok": True, "outputs": [{"text": ANSWER}]}),
}  # fmt: skip


def _agent(name: str, script: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A program of a preset's name, and a home without settings; returns where it lies."""
    agent = tmp_path / "bin" / PRESETS[name].argv[0]
    agent.parent.mkdir()
    agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', "utf8")
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{agent.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    return str(agent.parent)


@pytest.mark.parametrize("name", PRINTED)
def test_the_answer_is_found_in_what_each_agent_prints(
    name: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program.will("answer", PRINTED[name])
    assert installed(_agent(name, program.argv[1], tmp_path, monkeypatch)) == [name]
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
    _agent("claude-code", program.argv[1], tmp_path, monkeypatch)
    with pytest.raises(BrainFailed, match="claude reported an error: Credit balance"):
        ask_command("claude-code", [], ORDER, 60)


OWN = {
    "codex": {
        ".codex/AGENTS.md": "A RULE",
        ".codex/config.toml": 'model = "mine"\nnotify = ["RULE"]\n[mcp_servers.RULE]\ncommand = "x"\n',
        ".codex/auth.json": '{"key": "login"}',
    },
    "gemini": {
        ".gemini/GEMINI.md": "A RULE",
        ".gemini/settings.json": '{"model": {"name": "mine"}, /* kept */ "mcpServers": {"RULE": {}}, "hooks": {"RULE": []}}',
        ".gemini/oauth_creds.json": '{"key": "login"}',
    },
    "opencode": {
        ".config/opencode/AGENTS.md": "A RULE",
        ".config/opencode/opencode.jsonc": '{"model": "mine", "mcp": {"RULE": {}}, "provider": {"x": {"key": "{file:./login}"}},}',
    },
}
SHOWS = """\
import os, pathlib
home = next(os.environ[name] for name in ("CODEX_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME") if name in os.environ)
files = [path.read_text("utf8") for path in pathlib.Path(home).rglob("*") if path.is_file()]
pathlib.Path(__file__).with_name("seen").write_text("\\n".join(files), "utf8")
"""


@pytest.mark.parametrize("name", OWN)
def test_an_agent_is_given_its_login_and_model_and_nothing_else_of_the_users(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shows.py").write_text(SHOWS, "utf8")
    _agent(name, tmp_path / "shows.py", tmp_path, monkeypatch)
    for path, text in OWN[name].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf8")
    ask_command(name, [], ORDER, 60)
    seen = (tmp_path / "seen").read_text("utf8")
    assert '"mine"' in seen
    assert "login" in seen
    assert "RULE" not in seen
    assert "{file:" not in seen or str(tmp_path) in seen
    assert {path: (tmp_path / path).read_text("utf8") for path in OWN[name]} == OWN[name]


OLD, NEW, OTHER = '{"token": 1}', '{"token": 2}', '{"token": 3}'
RENEWS = f"""\
import os, pathlib, sys
login, users, new = pathlib.Path(os.environ["CODEX_HOME"], "auth.json"), pathlib.Path.home() / ".codex" / "auth.json", {NEW!r}
{{how}}
sys.exit("failed after all")
"""


def _refuse(*_: object, **__: object) -> None:
    raise OSError("a required privilege is not held")  # as on Windows


@pytest.mark.parametrize(
    ("how", "links", "kept"),
    [
        ("login.write_text(new)", True, NEW),
        ("login.with_name('x').write_text(new); login.with_name('x').replace(login)", True, NEW),
        ("login.unlink()", True, OLD),
        ("login.write_text(new)", False, NEW),
        ("login.write_text(new[:5])", False, OLD),
        (f"users.write_text({OTHER!r}); login.write_text(new)", False, OTHER),
    ],
)
def test_a_login_that_an_agent_renews_is_kept_also_where_there_are_no_links(
    how: str, links: bool, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "renews.py").write_text(RENEWS.replace("{how}", how), "utf8")
    _agent("codex", tmp_path / "renews.py", tmp_path, monkeypatch)
    login = tmp_path / ".codex" / "auth.json"
    login.parent.mkdir()
    login.write_text(OLD, "utf8")
    if not links:
        monkeypatch.setattr(os, "symlink", _refuse)
    with pytest.raises(BrainFailed, match="failed after all"):
        ask_command("codex", [], ORDER, 60)
    assert login.read_text("utf8") == kept
    assert [path.name for path in login.parent.iterdir()] == ["auth.json"]


def test_settings_that_nobody_can_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _agent("codex", "unused", tmp_path, monkeypatch)
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text("model =", "utf8")
    with pytest.raises(BrainFailed, match=r"config\.toml could not be parsed"):
        ask_command("codex", [], ORDER, 60)


def test_codex_writes_its_answer_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = tmp_path / "codex"
    agent.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncat > /dev/null\necho \'{"entries": []}\' > "$2"\necho chatter\n', "utf8")  # fmt: skip
    agent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert ask_command("codex", [], ORDER, 60).text == '{"entries": []}\n'


def test_a_program_that_complains_at_length_is_heard() -> None:
    talks = f"import os\nfor _ in range(40):\n    os.write(2, b'x' * 65536)\nprint({ANSWER!r})"
    assert ask_command(None, [sys.executable, "-c", talks], ORDER, 60).text.strip() == ANSWER


def test_a_program_that_leaves_another_with_its_output_is_not_waited_for() -> None:
    leaves = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    assert ask_command(None, [sys.executable, "-c", leaves], ORDER, 60).text == ""


def test_a_file_with_too_long_an_answer_is_none(tmp_path: Path) -> None:
    writes = "import sys; open(sys.argv[1], 'w').write('x' * 500_000)"
    with pytest.raises(BrainFailed, match="an answer that is too long"):
        ask_command(None, [sys.executable, "-c", writes, "{answer_file}"], ORDER, 60)
