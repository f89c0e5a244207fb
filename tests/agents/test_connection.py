"""Connecting every agent and taking it back, on a zoo of settings files: every byte, mode and folder is as it was."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agents.zoo import CLAUDE, CODEX, HOOKS, ZOO, settle
from tests.vault.conftest import run_in_child

from nacre.agents import connection
from nacre.agents.connection import AgentPlan, Connection, agent_states, connection_problems
from nacre.agents.registry import ALL_AGENTS, Agent, Call, ConnectOptions, agent_named
from nacre.errors import CannotWrite, ChangedOutside, NacreError
from nacre.jobs.installer import Machine
from nacre.text import json5

AT = "2026-11-16T09:00:00+01:00"
Bytes = dict[str, tuple[str, int, bytes]]


class Desk:
    """A machine whose user connects and disconnects."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.state = home.parent / "state"
        self.program = home.parent / "bin" / "nacre"
        self.program.parent.mkdir(exist_ok=True)
        self.program.write_text("#!/bin/sh\n")
        self.program.chmod(0o755)
        self.call = Call((str(self.program),))
        self.machine = Machine({"PATH": str(home.parent / "bin")}, home, "linux", "/usr/bin/python3")

    def plan(self, agent: Agent, *, rules: bool = False) -> AgentPlan:
        wishes = ConnectOptions(rules=rules)
        return connection.plan_connect(agent, self.machine, self.call, wishes, self.state)

    def connect(self, *names: str, **wishes: bool) -> list[AgentPlan]:
        agents = [agent_named(name) for name in names] or list(ALL_AGENTS)
        plans = [self.plan(agent, **wishes) for agent in agents]
        for one in plans:
            if one.error:
                raise one.error
        for done in connection.apply_plans(
            [plan for plan in plans if plan.changed], self.machine, self.state, Connection(AT, "/ws", self.call.program)
        ):
            if done.error:
                raise done.error
        return plans

    def remove(self, *names: str) -> list[AgentPlan]:
        agents = [agent_named(name) for name in names] or list(ALL_AGENTS)
        plans = [connection.plan_disconnect(one, self.machine, self.call, self.state) for one in agents]
        for one in plans:
            if one.error:
                raise one.error
        for done in connection.apply_plans(plans, self.machine, self.state):
            if done.error:
                raise done.error
        return plans


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "home").mkdir()
    return Desk(tmp_path / "home")


def everything(home: Path) -> Bytes:
    """Every file, folder and link, with its mode and what it holds."""
    found: Bytes = {}
    for path in sorted(home.rglob("*")):
        about = path.lstat()
        if path.is_symlink():
            found[str(path)] = ("link", 0, os.readlink(path).encode())
        elif path.is_dir():
            found[str(path)] = ("folder", stat.S_IMODE(about.st_mode), b"")
        else:
            found[str(path)] = ("file", stat.S_IMODE(about.st_mode), path.read_bytes())
    return found


animals = pytest.mark.parametrize("animal", ZOO.values(), ids=ZOO.keys())


@animals
def test_connecting_and_taking_back_leaves_every_byte_as_it_was(desk: Desk, animal: dict[str, str]) -> None:
    settle(desk.home, animal)
    before = everything(desk.home)
    plans = desk.connect(rules=True)
    assert all(one.changed for one in plans)
    assert everything(desk.home) != before
    desk.remove()
    assert everything(desk.home) == before
    assert not (desk.state / "backups").exists()


@animals
def test_connecting_again_changes_nothing(desk: Desk, animal: dict[str, str]) -> None:
    settle(desk.home, animal)
    desk.connect(rules=True)
    connected = everything(desk.home)
    again = desk.connect()
    assert not any(one.changed for one in again)
    assert everything(desk.home) == connected
    desk.remove()


@animals
def test_what_was_there_is_still_there_while_connected(desk: Desk, animal: dict[str, str]) -> None:
    settle(desk.home, animal)
    desk.connect()
    for name, text in animal.items():
        now = (desk.home / name).read_bytes().decode()
        if name.endswith(".toml"):
            old, new = tomllib.loads(text.removeprefix("\ufeff")), tomllib.loads(now.removeprefix("\ufeff"))
            assert new["mcp_servers"]["nacre"]["args"] == ["mcp"]
            new["mcp_servers"].pop("nacre")
            old.setdefault("mcp_servers", {}).pop("nacre", None)
        else:
            old, new = (
                json5.loads(one) if one.strip("\ufeff \n") and not one.startswith("// nothing") else {}
                for one in (text, now.replace("// nothing yet\n{", "{"))
            )
            for told in (old, new):
                for path in (
                    ("mcpServers",),
                    ("mcp",),
                    ("mcp", "servers"),
                    ("plugins", "slots"),
                    ("plugins", "entries"),
                ):
                    holder = told
                    for part in path:
                        holder = holder.get(part, {})
                    holder.pop("nacre", None)
                for groups in told.get("hooks", {}).values():
                    groups[:] = [one for one in groups if "nacre" not in json.dumps(one)]
            new = without_empty(new)
            old = without_empty(old)
            new.pop("version", None)
            old.pop("version", None)
        assert new == old


def without_empty(told: dict[str, object]) -> dict[str, object]:
    kept = {name: without_empty(one) if isinstance(one, dict) else one for name, one in told.items()}
    return {name: one for name, one in kept.items() if one not in ({}, [])}


@animals
def test_after_the_agent_rewrote_its_files_only_ours_is_taken_out(desk: Desk, animal: dict[str, str]) -> None:
    settle(desk.home, animal)
    desk.connect()
    theirs: dict[Path, object] = {}
    for path in sorted(desk.home.rglob("*.json")):
        told = {
            **json5.loads(path.read_text("utf-8-sig").replace("// nothing yet\n{", "{")),
            "added": [1, {"by": "the agent"}],
        }
        path.write_text(json.dumps(told, indent=2))
        theirs[path] = told
    desk.remove()
    for path in theirs:
        now = json.loads(path.read_text())
        assert now["added"] == [1, {"by": "the agent"}]
        if "/old/" not in str(animal):
            assert "nacre" not in path.read_text()


def test_a_linked_dotfile_is_written_through_and_stays_a_link(desk: Desk) -> None:
    dotfiles = desk.home / "dotfiles"
    settle(dotfiles, {"claude.json": CLAUDE, "settings.json": HOOKS, "codex.toml": CODEX})
    (desk.home / ".claude").mkdir()
    (desk.home / ".codex").mkdir()
    (desk.home / ".claude.json").symlink_to("dotfiles/claude.json")
    (desk.home / ".claude" / "settings.json").symlink_to(dotfiles / "settings.json")
    (desk.home / ".codex" / "config.toml").symlink_to("../dotfiles/codex.toml")
    (desk.home / ".codex" / "hooks.json").symlink_to("../dotfiles/not-there-yet.json")
    before = everything(desk.home)
    desk.connect("claude-code", "codex")
    assert (desk.home / ".claude.json").is_symlink()
    assert "nacre" in (dotfiles / "claude.json").read_text()
    assert "nacre" in (dotfiles / "not-there-yet.json").read_text()
    desk.remove("claude-code", "codex")
    assert everything(desk.home) == before


def test_modes_and_owners_stay_and_copies_are_for_nobody_else(desk: Desk) -> None:
    settle(desk.home, {".claude.json": CLAUDE, ".claude/settings.json": HOOKS})
    (desk.home / ".claude.json").chmod(0o640)
    if os.getuid() == 0:
        os.chown(desk.home / ".claude.json", 1234, 1234)
    desk.connect("claude-code")
    about = (desk.home / ".claude.json").stat()
    assert stat.S_IMODE(about.st_mode) == 0o640
    assert os.getuid() != 0 or (about.st_uid, about.st_gid) == (1234, 1234)
    kept = [*(desk.state / "backups").iterdir(), desk.state / connection.RECORD_NAME]
    assert len(kept) == 3
    assert {stat.S_IMODE(one.stat().st_mode) for one in kept} == {0o600}
    assert stat.S_IMODE(desk.state.stat().st_mode) == 0o700
    assert not list(desk.home.rglob("*.bak"))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_is_left_alone_with_a_sentence_also_by_the_administrator(desk: Desk, what: str) -> None:
    settle(desk.home, {".claude.json": CLAUDE, ".claude/settings.json": HOOKS})
    place = desk.home / ".claude" / ("settings.json" if what == "file" else "")
    place.chmod(0o444 if what == "file" else 0o555)
    before = everything(desk.home)
    with pytest.raises(CannotWrite, match=r"read-only, so Nacre left it untouched.*--print"):
        desk.connect("claude-code")
    assert everything(desk.home) == before  # nor was the other file of the agent written
    assert connection.load_connections(desk.state) == {}
    place.chmod(0o755)


@pytest.mark.skipif(os.getuid() != 0, reason="only the administrator can become somebody else")
def test_somebody_else_is_refused_what_belongs_to_the_administrator(desk: Desk) -> None:
    settle(desk.home, {".claude.json": CLAUDE})
    for folder in (desk.home, *desk.home.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    (desk.home / ".claude.json").chmod(0o644)

    def as_nobody() -> None:
        os.setuid(65534)
        assert isinstance(desk.plan(agent_named("claude-code")).error, CannotWrite)

    assert run_in_child(as_nobody) == 0
    assert (desk.home / ".claude.json").read_bytes() == CLAUDE.encode()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        (".claude.json", b'{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        (".claude.json", b"\xff\xfe{\x00}\x00", "line 1 is not valid UTF-8"),
        (".claude.json", b"[]", "not an object"),
        (".claude.json", b'{"mcpServers": "none"}', '"mcpServers" is not an object'),
        (".claude/settings.json", b'{"hooks": {"Stop": {}}}', '"hooks.Stop" is not a list'),
        (".claude.json", b"[" * 5000, "nested too deeply"),
    ],
)
def test_what_cannot_be_understood_is_left_alone_and_said_where(desk: Desk, name: str, data: bytes, said: str) -> None:
    settle(desk.home, {".claude.json": CLAUDE, ".claude/settings.json": HOOKS})
    (desk.home / name).write_bytes(data)
    before = everything(desk.home)
    with pytest.raises(NacreError, match=said.replace("[", r"\[")):
        desk.connect("claude-code")
    assert everything(desk.home) == before


def test_broken_toml_is_said_by_its_place(desk: Desk) -> None:
    settle(desk.home, {".codex/config.toml": "a = 1\nb = = 2\n"})
    with pytest.raises(NacreError, match="line 2, column 5"):
        desk.connect("codex")


def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(desk: Desk) -> None:
    os.mkfifo(desk.home / ".claude.json")
    with pytest.raises(NacreError, match="not a regular file"):
        desk.connect("claude-code")


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("claude-code", ".claude/settings.json"),
        ("codex", ".codex/config.toml"),
        ("openclaw", ".openclaw/openclaw.json"),
    ],
)
def test_no_settings_file_of_an_agent_keeps_anybody_waiting(desk: Desk, agent: str, name: str) -> None:
    path = desk.home / name
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(NacreError, match="not a regular file"):
        desk.connect(agent)


def test_an_entry_that_is_reached_by_an_address_is_left_alone(desk: Desk) -> None:
    text = '{"mcpServers": {"nacre": {"type": "http", "url": "http://127.0.0.1:8850/mcp"}}}'
    (desk.home / ".claude.json").write_text(text, "utf8")
    with pytest.raises(NacreError, match="added by hand"):
        desk.connect("claude-code")
    assert (desk.home / ".claude.json").read_text("utf8") == text


def test_what_changed_between_looking_and_writing_is_not_written_over(desk: Desk) -> None:
    settle(desk.home, {".claude.json": CLAUDE})
    made = desk.plan(agent_named("claude-code"))
    (desk.home / ".claude.json").write_text("{}")
    (done,) = connection.apply_plans([made], desk.machine, desk.state, Connection(AT, "/ws", desk.call.program))
    assert isinstance(done.error, ChangedOutside)
    assert (desk.home / ".claude.json").read_text() == "{}"
    assert not (desk.home / ".claude").exists()


def killed_at(steps: int) -> Callable[..., None]:
    """A write that dies after so many went through, as a process does that is killed."""
    real, left = connection._put_settings, [steps]

    def put(*arguments: object) -> None:
        if not left[0]:
            os._exit(9)
        left[0] -= 1
        real(*arguments)  # type: ignore[arg-type]

    return put


@pytest.mark.parametrize("steps", range(3))
@pytest.mark.parametrize("again", ["connect", "remove"])
def test_a_killed_connection_is_completed_or_taken_back(desk: Desk, steps: int, again: str) -> None:
    settle(desk.home, {".claude.json": CLAUDE})
    before = everything(desk.home)

    def killed() -> None:
        connection._put_settings = killed_at(steps)
        desk.connect("claude-code", rules=True)

    assert run_in_child(killed) == 9
    if again == "connect":
        desk.connect("claude-code", rules=True)
        assert not desk.plan(agent_named("claude-code")).changed
    desk.remove("claude-code")
    assert everything(desk.home) == before


def test_another_executable_is_written_in_the_place_of_the_old_one_and_the_first_bytes_still_come_back(
    desk: Desk,
) -> None:
    settle(desk.home, {".claude.json": CLAUDE, ".codex/config.toml": CODEX})
    before = everything(desk.home)
    desk.connect("claude-code", "codex")
    desk.call = Call(("/opt/new/nacre",), ("--workspace", "/elsewhere/my memory"))
    assert all(one.changed for one in desk.connect("claude-code", "codex"))
    text = (desk.home / ".claude.json").read_text() + (desk.home / ".claude" / "settings.json").read_text()
    assert str(desk.program) not in text
    assert "/opt/new/nacre hook Stop --agent claude-code --workspace '/elsewhere/my memory'" in text
    desk.remove("claude-code", "codex")
    assert everything(desk.home) == before


def hooks_in(home: Path) -> dict[str, dict[str, Any]]:
    """Every hook that stands in the settings of the agents, by its agent and event."""
    found: dict[str, dict[str, Any]] = {}
    for name in (".claude/settings.json", ".codex/hooks.json", ".cursor/hooks.json"):
        told = json5.loads((home / name).read_text()) if (home / name).exists() else {"hooks": {}}
        for event, groups in told["hooks"].items():
            for group in groups:
                found |= {f"{name} {event}": hook for hook in group.get("hooks", [group])}
    return found


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("state", ["gone", "with its folder", "without its interpreter", "failing"])
def test_hooks_of_an_installation_that_was_deleted_are_silent(desk: Desk, state: str, shell: str) -> None:
    desk.program = desk.home.parent / "it's a clone" / "bin" / "nacre"
    desk.program.parent.mkdir(parents=True)
    desk.program.write_text('#!/bin/sh\necho "$@"; cat\n')
    desk.program.chmod(0o755)
    desk.call = Call((str(desk.program),), ("--workspace", "/my memory"))
    desk.connect("claude-code", "codex", "cursor")
    hooks = hooks_in(desk.home)
    assert len(hooks) == 15

    def run(command: str) -> tuple[int, str]:
        done = subprocess.run([shell, "-c", command], input="{}", capture_output=True, text=True, cwd="/", check=False)
        return done.returncode, done.stdout + (done.stderr if state in ("gone", "with its folder") else "")

    assert run(hooks[".claude/settings.json Stop"]["command"]) == (
        0,
        "hook Stop --agent claude-code --workspace /my memory\n{}",
    )
    if state == "failing":
        desk.program.write_text("#!/bin/sh\nexit 3\n")
    elif state == "without its interpreter":
        desk.program.write_text("#!/deleted/bin/python\n")
    elif state == "gone":
        desk.program.unlink()
    else:
        shutil.rmtree(desk.program.parent)
    assert {run(hook["command"]) for hook in hooks.values()} == {(0, "")}


def test_hooks_that_an_earlier_version_wrote_are_replaced_and_taken_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(desk.home, {".claude/settings.json": HOOKS})
    before = everything(desk.home)

    def bare(call: Call, event: str, agent: str) -> str:
        return shlex.join([*call.program, "hook", event, "--agent", agent, *call.more])

    for again in (True, False):
        with monkeypatch.context() as earlier:
            earlier.setattr(Call, "hook", bare)
            desk.connect("claude-code")
        if again:
            assert desk.connect("claude-code")[0].changed
            assert "test ! -x" in hooks_in(desk.home)[".claude/settings.json Stop"]["command"]
        desk.remove("claude-code")
        assert everything(desk.home) == before


def test_codex_is_told_a_limit_for_the_end_of_a_session_that_it_accepts(desk: Desk) -> None:
    desk.connect("claude-code", "codex", "cursor")
    hooks = hooks_in(desk.home)
    assert hooks[".codex/hooks.json SessionEnd"]["timeout"] == 3  # it clamps a longer one, and says so at every start
    assert hooks[".claude/settings.json SessionEnd"]["timeout"] == 5


def test_an_entry_that_was_edited_by_hand_stays_and_is_named(desk: Desk) -> None:
    settle(desk.home, {".claude.json": CLAUDE})
    desk.connect("claude-code")
    path = desk.home / ".claude.json"
    path.write_text(path.read_text().replace('["mcp"]', '["mcp", "--scope", "group:x"]'))
    (made,) = desk.remove("claude-code")
    assert made.left == ((path, "mcpServers.nacre"),)
    assert json.loads(path.read_text())["mcpServers"]["nacre"]["args"] == ["mcp", "--scope", "group:x"]
    assert not (desk.home / ".claude").exists()
    assert connection.load_connections(desk.state) == {}


def test_without_a_record_what_is_ours_is_known_by_its_name(desk: Desk) -> None:
    settle(desk.home, {".claude.json": CLAUDE, ".claude/settings.json": HOOKS, ".codex/config.toml": CODEX})
    desk.connect("claude-code", "codex")
    (desk.state / connection.RECORD_NAME).unlink()
    desk.remove("claude-code", "codex")
    after = {name: one[2] for name, one in everything(desk.home).items()}
    text = b"".join(after.values())
    assert b"nacre" not in text
    assert after[str(desk.home / ".claude.json")] == CLAUDE.encode()
    assert after[str(desk.home / ".codex" / "config.toml")] == CODEX.encode()


def test_a_record_that_cannot_be_understood_stops_it(desk: Desk) -> None:
    desk.state.mkdir()
    (desk.state / connection.RECORD_NAME).write_text("{")
    with pytest.raises(NacreError, match="record of connected agents"):
        desk.connect("claude-code")


def test_claude_code_with_our_plugin_gets_nothing_twice(desk: Desk) -> None:
    settle(desk.home, {".claude/settings.json": '{"enabledPlugins": {"nacre@nacre": true}}'})
    made = desk.plan(agent_named("claude-code"))
    assert not made.changes
    assert "already provides the server" in made.wanted.notes[0]


def test_openclaw_at_hand_gets_the_plugin_and_says_what_stays(desk: Desk) -> None:
    settle(desk.home, ZOO["openclaw by hand"])
    (desk.program.parent / "openclaw").write_text('#!/bin/sh\necho "$@" >> "$(dirname "$0")/asked"\n')
    (desk.program.parent / "openclaw").chmod(0o755)
    desk.machine = Machine({"PATH": f"{desk.program.parent}:/bin:/usr/bin"}, desk.home, "linux", "/usr/bin/python3")
    before = everything(desk.home)
    (made,) = desk.connect("openclaw")
    told = json5.loads((desk.home / ".openclaw" / "openclaw.json").read_text())
    assert told["plugins"]["slots"] == {"memory": "nacre"}
    assert told["plugins"]["allow"] == ["telegram", "nacre"]
    assert told["plugins"]["load"]["paths"][0].endswith("plugins/openclaw")
    assert told["plugins"]["entries"]["nacre"]["hooks"] == {"allowConversationAccess": True}
    assert told["plugins"]["entries"]["memory-core"] == {"enabled": False}
    assert "dreaming feature, which rewrites MEMORY.md at night, is turned off" in made.wanted.stays
    assert any('"openclaw memory …"' in note and '"nacre search"' in note for note in made.wanted.notes)
    assert "// mine" in (desk.home / ".openclaw" / "openclaw.json").read_text()
    assert not desk.connect("openclaw")[0].changed
    desk.remove("openclaw")
    assert everything(desk.home) == before
    asked = (desk.program.parent / "asked").read_text().splitlines()
    assert [line.split()[:2] for line in asked] == [
        ["plugins", "install"],
        ["config", "validate"],
        ["plugins", "uninstall"],
    ]


def test_of_a_memory_core_with_settings_of_its_own_only_the_dreaming_is_switched_off(desk: Desk) -> None:
    entries = '{"plugins": {"entries": {"memory-core": {"config": {"dreaming": {"frequency": "0 4 * * *"}}}}}}'
    settle(desk.home, {".openclaw/openclaw.json": entries})
    (desk.program.parent / "openclaw").write_text("#!/bin/sh\n")
    (desk.program.parent / "openclaw").chmod(0o755)
    desk.connect("openclaw")
    told = json.loads((desk.home / ".openclaw" / "openclaw.json").read_text())["plugins"]["entries"]["memory-core"]
    assert told == {"config": {"dreaming": {"frequency": "0 4 * * *", "enabled": False}}}


def test_settings_that_the_agent_refuses_are_put_back(desk: Desk) -> None:
    settle(desk.home, ZOO["openclaw by hand"])
    script = '#!/bin/sh\ncase "$1" in config) echo "plugins: nope" >&2; exit 1;; esac\n'
    (desk.program.parent / "openclaw").write_text(script)
    (desk.program.parent / "openclaw").chmod(0o755)
    before = everything(desk.home)
    with pytest.raises(NacreError, match=r"rejected the new settings.*plugins: nope"):
        desk.connect("openclaw")
    assert everything(desk.home) == before
    assert connection.load_connections(desk.state) == {}


def test_doctor_hears_of_an_executable_that_is_gone_and_of_entries_that_are(desk: Desk) -> None:
    settle(desk.home, {".claude.json": CLAUDE, ".codex/config.toml": CODEX})
    desk.connect("claude-code", "codex")
    assert connection_problems(ALL_AGENTS, desk.machine, desk.state, Path("/ws")) == []
    (desk.home / ".claude.json").write_text(CLAUDE)
    found = connection_problems(ALL_AGENTS, desk.machine, desk.state, Path("/ws"))
    assert [(one.path, one.remedy) for one in found] == [(str(desk.home / ".claude.json"), "nacre connect claude-code")]
    desk.program.unlink()
    found = connection_problems(ALL_AGENTS, desk.machine, desk.state, Path("/ws"))
    assert {one.severity for one in found} == {"error", "warning"}
    assert connection_problems(ALL_AGENTS, desk.machine, desk.state, Path("/another")) == []
    assert [one.agent.name for one in agent_states(ALL_AGENTS, desk.machine, desk.state) if one.connection] == [
        "claude-code",
        "codex",
    ]


def test_secrets_beside_our_entry_are_not_shown_in_the_diff(desk: Desk) -> None:
    secret = "ghp_" + "aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY4"
    settle(
        desk.home,
        {".cursor/mcp.json": json.dumps({"mcpServers": {"github": {"env": {"GITHUB_TOKEN": secret}}}}, indent=2)},
    )
    shown = desk.plan(agent_named("cursor")).changes[0].diff
    assert secret not in shown
    assert '+    "nacre": {' in shown
    desk.connect("cursor")
    assert secret in (desk.home / ".cursor" / "mcp.json").read_text()
