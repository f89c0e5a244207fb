"""`nacre hook` as agents run it: one object in, one or none out, exit code 0 whatever happens, in time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.conftest import Start
from tests.hooks.conftest import Fire

from nacre.config.settings import user_config_file
from nacre.memory import Memory
from nacre.vault import spool
from nacre.vault.discover import trust_workspace

PROMPT = "Where does the Braldor project keep its backup key?"


def said(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any] | None:
    """What a hook printed; it always ends well."""
    assert done.returncode == 0, done.stderr.decode()
    if not done.stdout:
        return None
    told = json.loads(done.stdout)
    assert isinstance(told, dict)
    return told


def log(root: Path) -> str:
    path = root / ".nacre" / "hooks.log"
    return path.read_text("utf8") if path.exists() else ""


def test_a_prompt_is_answered(fire: Fire) -> None:
    told = said(fire("UserPromptSubmit", prompt=PROMPT))
    assert told
    assert "harbour.md#L3-L3" in told["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"\xff\xfe{}", b"[" * 100_000, b'{"prompt": 3}', b"{}" * 3])
def test_what_is_no_event_is_met_with_silence(raw: bytes, fire: Fire) -> None:
    done = fire("UserPromptSubmit", raw=raw)
    assert said(done) is None
    assert done.stderr == b""


def test_a_byte_order_mark_does_not_matter(fire: Fire) -> None:
    raw = b"\xef\xbb\xbf" + json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": PROMPT}).encode() + b"\r\n"
    assert said(fire("UserPromptSubmit", raw=raw))


@pytest.mark.parametrize(
    "options", [["--no-such-option"], ["--agent", "nobody"], ["--agent"], ["--scope", "group:"], ["more", "words"]]
)
def test_options_that_nobody_knows_stop_no_turn(options: list[str], fire: Fire) -> None:
    assert fire("Stop", *options).returncode == 0


def test_an_event_of_somebody_elses_is_met_with_silence(fire: Fire) -> None:
    assert said(fire("PreToolUse", prompt=PROMPT)) is None


def test_without_a_workspace_nothing_is_said_and_nothing_made(fire: Fire, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert said(fire("UserPromptSubmit", "--workspace", str(nowhere), prompt=PROMPT)) is None
    assert said(fire("Stop", "--workspace", str(nowhere), transcript_path=__file__)) is None
    assert not nowhere.exists()


def test_a_broken_index_is_no_trouble_of_the_agents(fire: Fire, root: Path) -> None:
    said(fire("UserPromptSubmit", prompt=PROMPT, session_id="first"))
    (root / ".nacre" / "index" / "index.sqlite").write_bytes(b"not a database at all" * 500)
    said(fire("UserPromptSubmit", prompt=PROMPT, session_id="second"))


def test_many_files_that_nobody_has_read_yet_are_read_while_there_is_time(fire: Fire, root: Path) -> None:
    folder = root / "memory" / "many"
    folder.mkdir()
    for number in range(1000):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nNothing of interest, number {number}.\n", "utf8")
    said(fire("UserPromptSubmit", prompt=PROMPT, env={"NACRE_HOOKS_TIMEOUT_MS": "60000"}))
    with Memory.open(root) as memory:  # all of them, or as many as there was time for
        assert memory.keeper.store.db.execute("select count(*) > 0 from files").fetchone() == (1,)
    assert log(root) == ""


def test_trouble_is_logged_without_a_word_of_what_was_said(fire: Fire, root: Path) -> None:
    (root / ".nacre" / "history").rename(root / "moved")
    (root / ".nacre" / "history").symlink_to(root / "moved")
    done = fire("UserPromptSubmit", prompt=PROMPT)
    assert said(done) is None
    assert done.stderr == b""
    assert "UserPromptSubmit PathEscape at " in log(root)
    assert "Braldor" not in log(root)
    assert (root / ".nacre" / "hooks.log").stat().st_mode & 0o077 == 0
    assert b"PathEscape" in fire("UserPromptSubmit", prompt=PROMPT, env={"NACRE_HOOK_DEBUG": "1"}).stderr


def test_the_log_of_trouble_does_not_grow_for_ever(fire: Fire, root: Path) -> None:
    (root / ".nacre" / "hooks.log").write_text("x" * 200_000, "utf8")
    fire("UserPromptSubmit", raw=b"{")
    assert " claude-code UserPromptSubmit JSONDecodeError at decoder.py:" in log(root)
    assert len(log(root)) < 200


def test_a_hook_gives_up_in_time(root: Path) -> None:
    read, write = os.pipe()  # nobody ever writes to it, and nobody closes it
    try:
        command = [sys.executable, "-m", "nacre", "hook", "Stop", "--workspace", str(root)]
        env = {**os.environ, "NACRE_HOOKS_TIMEOUT_MS": "100"}
        done = subprocess.run(command, stdin=read, capture_output=True, env=env, timeout=300, check=False)
    finally:
        os.close(read)
        os.close(write)
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_sub_agent_and_whatever_nacre_starts_itself_are_left_alone(fire: Fire, root: Path) -> None:
    assert said(fire("UserPromptSubmit", prompt=PROMPT, agent_id="a1")) is None
    assert said(fire("UserPromptSubmit", prompt=PROMPT, env={"NACRE_HOOK": "1"})) is None
    assert said(fire("Stop", transcript_path=__file__, env={"NACRE_HOOK": "1"})) is None
    assert spool.waiting(str(root)) == []


@pytest.mark.parametrize("off", [{"NACRE_HOOKS_ENABLED": "false"}, {"NACRE_HOOKS_PROMPT": "0"}])
def test_the_environment_switches_it_off(off: dict[str, str], fire: Fire) -> None:
    assert said(fire("UserPromptSubmit", prompt=PROMPT, env=off)) is None


def test_the_settings_switch_it_off(fire: Fire, root: Path) -> None:
    settings = Path.home() / ".config" / "nacre" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[hooks]\nprompt = false\ncapture = false\n", "utf8")
    assert said(fire("UserPromptSubmit", prompt=PROMPT)) is None
    assert said(fire("Stop", transcript_path=__file__)) is None
    assert spool.waiting(str(root)) == []
    settings.write_text("[hooks]\nenabled = false\n", "utf8")
    assert said(fire("SessionStart", source="startup")) is None
    settings.write_text("[hooks\n", "utf8")
    assert fire("Stop", transcript_path=__file__).returncode == 0


def test_a_turn_that_ends_updates_one_small_file(fire: Fire, root: Path, tmp_path: Path) -> None:
    talk = tmp_path / "talk.jsonl"
    for number in range(3):
        talk.write_text("a secret that was said\n" * (number + 1), "utf8")
        assert said(fire("Stop", transcript_path=str(talk), last_assistant_message="words")) is None
    (one,) = spool.waiting(str(root))
    assert (one.agent, one.session, one.transcript, one.now) == ("claude-code", "61871d67-1111", str(talk), False)
    text = Path(one.path).read_text("utf8")
    assert json.loads(text)["size"] == talk.stat().st_size
    assert "secret" not in text
    assert "words" not in text
    assert Path(one.path).stat().st_mode & 0o077 == 0
    assert len(list((root / ".nacre" / "inbox").iterdir())) == 1


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompact"])
def test_a_talk_that_ends_or_is_compacted_is_wanted_at_once(event: str, fire: Fire, root: Path) -> None:
    fire(event, transcript_path=__file__)
    fire("Stop", transcript_path=__file__)
    (one,) = spool.waiting(str(root))
    assert one.now


def test_the_folder_of_the_session_decides_about_the_workspace(root: Path, project: Path, tmp_path: Path) -> None:
    def ask(cwd: Path) -> dict[str, Any] | None:
        event = {"hook_event_name": "UserPromptSubmit", "session_id": str(cwd), "cwd": str(cwd), "prompt": PROMPT}
        command = [sys.executable, "-m", "nacre", "hook", "UserPromptSubmit"]
        return said(
            subprocess.run(
                command, input=json.dumps(event).encode(), capture_output=True, cwd=tmp_path, timeout=300, check=False
            )
        )

    below = root / "notes"
    below.mkdir()
    trust_workspace(root, trust=False)
    assert ask(below) is None  # nobody trusted it: it must not speak
    trust_workspace(root)
    assert ask(below)
    assert ask(project) is None


def test_a_daemon_gives_the_same_answer_without_loading_anything(start: Start, root: Path, project: Path) -> None:
    user_config_file().unlink()  # it would have to be read
    start()
    env = {name: value for name, value in os.environ.items() if name != "NACRE_NO_DAEMON"}

    def ask(session: str, *python: str, **more: str) -> subprocess.CompletedProcess[bytes]:
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(project), "prompt": PROMPT}
        command = [sys.executable, *python, "-m", "nacre", "hook", "UserPromptSubmit", "--workspace", str(root)]
        return subprocess.run(
            command,
            input=json.dumps(event).encode(),
            capture_output=True,
            env={**env, **more},
            timeout=300,
            check=False,
        )

    by_daemon = ask("one", "-X", "importtime")
    alone = ask("two", NACRE_NO_DAEMON="1")
    assert said(by_daemon) == said(alone) != None  # noqa: E711
    loaded = {line.rpartition("|")[2].strip() for line in by_daemon.stderr.decode().splitlines()}
    assert "nacre.daemon.fast" in loaded
    assert not {"click", "json", "dataclasses", "typing", "nacre.memory", "sqlite3"} & loaded
    assert said(ask("one")) is None  # the daemon knows what the session was given


def test_an_agents_environment_does_not_keep_it_from_the_daemon(start: Start, root: Path, project: Path) -> None:
    start()
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(project), "prompt": PROMPT}
    env = {name: value for name, value in os.environ.items() if name != "NACRE_NO_DAEMON"}
    env |= {"SOME_API_KEY": "x", "TZ": "Asia/Tokyo", "CLAUDE_CONFIG_DIR": "/elsewhere"}
    command = [sys.executable, "-X", "importtime", "-m", "nacre", "hook", "UserPromptSubmit", "--workspace", str(root)]
    done = subprocess.run(
        command, input=json.dumps(event).encode(), capture_output=True, env=env, timeout=300, check=False
    )
    assert said(done)
    assert b"nacre.memory" not in done.stderr
