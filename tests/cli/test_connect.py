"""nacre connect and nacre uninstall as a user types them, and as a program calls them."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agents.zoo import CLAUDE, CODEX, HOOKS, settle

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
PROGRAM = Path(sys.executable).with_name("nacre")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    settle(home, {".claude.json": CLAUDE, ".claude/settings.json": HOOKS, ".codex/config.toml": CODEX})
    return home


def surroundings(home: Path, **env: str) -> dict[str, str]:
    left_out = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "NACRE_WORKSPACE")
    given = {"HOME": str(home), "PATH": "/usr/bin:/bin", "NACRE_MODELS_PATH": str(home / "none")}
    return {**{name: value for name, value in os.environ.items() if name not in left_out}, **given, **env}


@pytest.fixture
def nacre(home: Path) -> Nacre:
    def command(*arguments: str, **env: str) -> Done:
        return subprocess.run(
            [sys.executable, "-m", "nacre", *arguments], env=surroundings(home, **env), capture_output=True, text=True,
            encoding="utf8", check=False, stdin=subprocess.DEVNULL, cwd=home,
        )  # fmt: skip

    assert command("init").returncode == 0
    return command


def settings(home: Path) -> dict[str, bytes]:
    """The agents' files, and no others."""
    found = (path for folder in (".claude", ".codex", ".openclaw") for path in (home / folder).rglob("*"))
    files = [*(path for path in found if path.is_file()), home / ".claude.json"]
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


def test_where_nobody_can_be_asked_nothing_is_written_without_yes(nacre: Nacre, home: Path) -> None:
    before = settings(home)
    done = nacre("connect")
    assert done.returncode == 2
    assert "confirmation needs a terminal. Use --yes" in done.stderr
    assert settings(home) == before


def test_a_dry_run_shows_diffs_and_what_stays_and_writes_nothing(nacre: Nacre, home: Path) -> None:
    before = settings(home)
    done = nacre("connect", "--dry-run")
    assert done.returncode == 0
    assert f"+++ {home}/.claude.json" in done.stdout
    assert '+    "nacre": {' in done.stdout
    assert "+[mcp_servers.nacre]" in done.stdout
    assert "  Claude Code's own memory and its files of rules are not changed" in done.stdout
    assert "Codex would be connected." in done.stderr
    assert settings(home) == before
    assert not (home / ".local" / "state").exists()


def test_connected_agents_call_an_executable_that_exists_and_everything_comes_back(nacre: Nacre, home: Path) -> None:
    before = settings(home)
    done = nacre("connect", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Claude Code is connected." in done.stderr
    assert "type /hooks in Codex once" in done.stderr
    told = json.loads((home / ".claude.json").read_text())
    assert told["mcpServers"]["nacre"] == {"type": "stdio", "command": str(PROGRAM), "args": ["mcp"]}
    hook = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert shlex.split(hook)[3:] == [str(PROGRAM), "hook", "Stop", "--agent", "codex"]
    again = nacre("connect", "--yes")
    assert again.returncode == 0
    assert again.stdout == ""
    assert "Claude Code: nothing to do." in again.stderr
    assert nacre("connect").returncode == 0  # there is nothing to be asked about
    gone = nacre("connect", "--remove", "--yes")
    assert gone.returncode == 0
    assert settings(home) == before
    assert "No agent is connected." in nacre("connect", "--remove").stderr


def test_the_hook_that_was_written_runs_from_any_folder_with_a_bare_environment(nacre: Nacre, home: Path) -> None:
    nacre("connect", "codex", "--yes")
    hook = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/", "source": "startup"}
    (home / ".config" / "nacre").mkdir(parents=True, exist_ok=True)
    (home / ".config" / "nacre" / "config.toml").write_text("[hooks]\nstart_daemon = false\n")
    bare = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        hook, shell=True, input=json.dumps(event), env=bare, cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stderr == ""


def test_an_unreadable_file_is_told_as_that_and_not_as_a_lost_connection(nacre: Nacre, home: Path) -> None:
    nacre("connect", "claude-code", "--yes")
    (home / ".claude.json").write_text('{"mcpServers": {')
    doctor = nacre("doctor").stdout
    assert "The settings of Claude Code cannot be read" in doctor
    assert "no longer" not in doctor
    assert 'broken; run "nacre doctor"' in nacre("status").stdout


def test_without_a_workspace_one_is_led_to_the_command_that_makes_it(nacre: Nacre, home: Path) -> None:
    done = nacre("connect", "--dry-run", "--workspace", str(home / "nowhere"))
    assert done.returncode == 10
    assert 'Or run "nacre up"' in done.stderr


def test_where_nothing_can_run_jobs_the_daemon_is_named_and_nothing_asked(nacre: Nacre, home: Path) -> None:
    nothing = home / "no-programs"
    nothing.mkdir()
    done = nacre("connect", "codex", "--yes", PATH=str(nothing))
    assert done.returncode == 0
    assert "jobs install" not in done.stderr
    assert '"nacre serve --background" captures' in done.stderr


def test_another_workspace_than_the_usual_one_is_named_in_every_call(nacre: Nacre, home: Path) -> None:
    place = home / "my memory"
    assert nacre("init", str(place)).returncode == 0
    assert nacre("connect", "claude-code", "--yes", "--workspace", str(place)).returncode == 0
    told = json.loads((home / ".claude.json").read_text())
    assert told["mcpServers"]["nacre"]["args"] == ["mcp", "--workspace", str(place)]
    assert shlex.quote(str(place)) in (home / ".claude" / "settings.json").read_text()


def test_programs_get_json(nacre: Nacre, home: Path) -> None:
    told = json.loads(nacre("connect", "codex", "--json", "--dry-run").stdout)
    assert told["dryRun"] is True
    assert [one["path"] for one in told["agents"][0]["files"]] == [
        f"{home}/.codex/config.toml",
        f"{home}/.codex/hooks.json",
    ]
    assert told["agents"][0]["stays"].startswith("Codex")
    done = json.loads(nacre("connect", "codex", "--json", "--yes").stdout)
    assert done["agents"][0]["changed"] is True
    listed = {one["agent"]: one for one in json.loads(nacre("connect", "--list", "--json").stdout)}
    assert listed["codex"]["connected"] is True
    assert listed["codex"]["starts"] is True
    assert listed["claude-code"] == {
        "agent": "claude-code", "found": True, "connected": False, "workspace": None, "at": None, "files": [], "missing": [], "unreadable": [],
        "starts": None,
    }  # fmt: skip
    assert listed["gemini"]["found"] is False


def test_doing_it_by_hand_is_printed_and_known_afterwards(nacre: Nacre, home: Path) -> None:
    before = settings(home)
    printed = json.loads(nacre("connect", "codex", "--print", "--json").stdout)["agents"][0]["files"]
    assert settings(home) == before
    (home / ".codex" / "hooks.json").write_text(printed[1]["snippet"])
    with (home / ".codex" / "config.toml").open("a") as file:
        file.write("\n" + printed[0]["snippet"])
    assert "Codex: nothing to do." in nacre("connect", "codex", "--yes").stderr
    assert "## ~/.gemini/settings.json" in nacre("connect", "--print", "gemini").stdout


def test_one_agent_that_cannot_be_written_does_not_keep_the_others_from_it(nacre: Nacre, home: Path) -> None:
    (home / ".claude.json").write_text('{"a": 1 "b": 2}')
    done = nacre("connect", "--yes")
    assert done.returncode == 3
    assert "line 1, column 9" in done.stderr
    assert "Codex is connected." in done.stderr
    assert (home / ".claude.json").read_text() == '{"a": 1 "b": 2}'
    alone = nacre("connect", "claude-code", "--yes")
    assert alone.returncode == 1
    assert "left it untouched. Fix it" in alone.stderr


def test_an_unknown_agent_is_a_sentence(nacre: Nacre) -> None:
    done = nacre("connect", "emacs")
    assert done.returncode == 2
    assert "openclaw, claude-code, codex, cursor, gemini, opencode" in done.stderr


def test_it_speaks_chinese(nacre: Nacre) -> None:
    done = nacre("connect", "claude-code", "--yes", NACRE_LANGUAGE="zh")
    assert "Claude Code 已连接。" in done.stderr
    assert "不会改动" in done.stdout


def test_rules_go_into_the_agents_own_file_only_when_asked_for(nacre: Nacre, home: Path) -> None:
    (home / ".claude" / "CLAUDE.md").write_text("# Mine\n")
    nacre("connect", "claude-code", "--yes")
    assert (home / ".claude" / "CLAUDE.md").read_text() == "# Mine\n"
    nacre("connect", "claude-code", "--rules", "--yes")
    text = (home / ".claude" / "CLAUDE.md").read_text()
    assert text.startswith("# Mine\n\n<!-- nacre:begin -->\n")
    assert "nothing to do" in nacre("connect", "claude-code", "--yes").stderr
    nacre("connect", "--remove", "--yes")
    assert (home / ".claude" / "CLAUDE.md").read_text() == "# Mine\n"


def test_rules_that_are_missing_in_the_workspace_come_with_the_connection(nacre: Nacre, home: Path) -> None:
    rules = home / ".nacre" / "workspace" / "AGENTS.md"
    rules.write_text("# Mine\n")
    done = nacre("connect", "codex", "--yes")
    assert "+<!-- nacre:begin -->" in done.stdout
    assert rules.read_text().startswith("# Mine\n\n<!-- nacre:begin -->")
    assert nacre("undo").returncode == 0
    assert rules.read_text() == "# Mine\n"


def test_status_and_doctor_tell_which_agents_are_connected_and_what_is_broken(nacre: Nacre, home: Path) -> None:
    assert 'none connected; run "nacre connect"' in nacre("status").stdout
    nacre("connect", "claude-code", "codex", "--yes")
    assert "agents\tclaude-code, codex" in nacre("status").stdout
    (home / ".claude.json").write_text(CLAUDE)
    assert 'agents\tclaude-code (broken; run "nacre doctor"), codex' in nacre("status").stdout
    told = json.loads(nacre("doctor", "--json").stdout)
    assert [(one["path"], one["remedy"]) for one in told if one["kind"] == "connection"] == [
        (f"{home}/.claude.json", "nacre connect claude-code")
    ]


def test_who_looks_only_at_the_beginning_does_not_keep_it_from_being_done(nacre: Nacre, home: Path) -> None:
    before = settings(home)
    for arguments in (["connect", "--yes"], ["connect", "--remove", "--yes"]):
        with subprocess.Popen(
            [sys.executable, "-m", "nacre", *arguments], env=surroundings(home), stdout=subprocess.PIPE, cwd=home,
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as child:  # fmt: skip
            assert child.stdout is not None
            child.stdout.close()
        assert child.returncode == 0
        assert (settings(home) == before) is ("--remove" in arguments)


class Terminal:
    """A user at a terminal: waits for words on the screen, then types."""

    def __init__(self, home: Path, *arguments: str, **env: str) -> None:
        self.screen = ""
        self.controller, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nacre", *arguments], stdin=terminal, stdout=terminal, stderr=terminal,
            env=surroundings(home, TERM="dumb", **env), cwd=home,
        )  # fmt: skip
        os.close(terminal)

    def answer(self, question: str, words: str) -> None:
        while question not in self.screen:
            assert self._read(), self.screen
        os.write(self.controller, words.encode())

    def end(self) -> int:
        while self._read():
            pass
        os.close(self.controller)
        return self.process.wait(300)

    def _read(self) -> bool:
        assert select.select([self.controller], [], [], 60)[0], self.screen
        try:
            part = os.read(self.controller, 65536)
        except OSError:  # the other end is closed
            part = b""
        self.screen += part.decode("utf8", "replace")
        return bool(part)


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_person_is_asked_once_after_the_diffs(nacre: Nacre, home: Path, answer: str) -> None:
    before = settings(home)
    terminal = Terminal(home, "connect", "--no-jobs")
    terminal.answer("Apply these changes?", f"{answer}\n")
    assert terminal.end() == (0 if answer == "y" else 1)
    assert terminal.screen.count("Apply these changes?") == 1
    assert terminal.screen.index("+[mcp_servers.nacre]") < terminal.screen.index("Apply these changes?")
    assert (settings(home) == before) is (answer == "n")


def test_taking_it_back_is_asked_as_that(nacre: Nacre, home: Path) -> None:
    before = settings(home)
    nacre("connect", "codex", "--yes")
    terminal = Terminal(home, "connect", "--remove")
    terminal.answer("Remove all of this?", "y\n")
    assert terminal.end() == 0
    assert settings(home) == before


def test_uninstalling_takes_back_everything_but_memory_and_says_where_that_is(nacre: Nacre, home: Path) -> None:
    before = settings(home)
    (home / "none").mkdir()
    (home / "none" / "model.onnx").write_text("x")
    nacre("remember", "Use pnpm, never npm")
    nacre("connect", "--yes")
    shown = nacre("uninstall", "--dry-run")
    assert shown.returncode == 0
    assert "-[mcp_servers.nacre]" in shown.stdout
    assert settings(home) != before
    assert nacre("uninstall").returncode == 2
    try:
        assert nacre("serve", "--background").returncode == 0
        done = nacre("uninstall", "--yes")
    finally:
        nacre("serve", "--stop")
    assert done.returncode == 0, done.stderr
    assert "Stop the daemon" in done.stdout
    assert settings(home) == before
    assert "Your memory is still in ~/.nacre/workspace" in done.stderr
    assert "pip uninstall nacre" in done.stderr
    assert "pnpm" in nacre("search", "pnpm").stdout
    assert not (home / ".nacre" / "workspace" / "AGENTS.md").exists()
    assert (home / "none").exists()
    assert not (home / ".local" / "state" / "nacre").exists()
    again = nacre("uninstall", "--models", "--yes", "--json")
    assert json.loads(again.stdout)["connections"] == []
    assert not (home / "none").exists()


def test_up_connects_what_it_finds_when_everything_is_answered_with_yes(nacre: Nacre, home: Path) -> None:
    done = nacre("up", "--no-models", "--no-capture", "--no-jobs", "--no-serve", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Claude Code is connected." in done.stderr
    assert "nacre" in json.loads((home / ".claude.json").read_text())["mcpServers"]


def test_up_where_nobody_sits_only_says_how(nacre: Nacre, home: Path) -> None:
    before = settings(home)
    done = nacre("up", "--no-models", "--no-capture")
    assert 'Agents     Claude Code, Codex: not connected yet; run "nacre connect"' in done.stderr
    assert settings(home) == before
