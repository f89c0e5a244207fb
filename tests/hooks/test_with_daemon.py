"""Hooks and the daemon: one is started for the next time, and a talk that ends is captured at once."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.conftest import Start, answers
from tests.daemon.waiting import until
from tests.hooks.conftest import Fire
from tests.talks import ClaudeTalk

from nacre.daemon import client
from nacre.daemon.process import daemon_process, stop_daemon, stop_on_demand
from nacre.memory import Memory
from nacre.model import Workspace
from nacre.vault import spool

PROMPT = "Where does the Braldor project keep its backup key?"
WANTED = {"NACRE_NO_DAEMON": "0"}


def test_a_hook_that_finds_no_daemon_starts_one_for_the_next_time(
    fire: Fire, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fire("UserPromptSubmit", prompt=PROMPT, env=WANTED).stdout
    monkeypatch.setenv("NACRE_NO_DAEMON", "0")
    try:
        until(lambda: answers(root))
        assert fire("UserPromptSubmit", prompt=PROMPT, session_id="next", env=WANTED).stdout
    finally:
        with Memory.open(root) as memory:
            assert stop_daemon(memory)


def test_one_that_a_hook_started_runs_no_jobs_unless_the_user_wants_that(
    fire: Fire, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fire("SessionStart", source="startup", env=WANTED)
    monkeypatch.setenv("NACRE_NO_DAEMON", "0")
    try:
        told = wait_for_status(root)
        assert (told["onDemand"], told["jobs"]["timed"]) == (True, False)
        settings = Path.home() / ".config" / "nacre" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("[jobs]\non_demand = true\n", "utf8")
        until(lambda: bool(wait_for_status(root)["jobs"]["timed"]))
    finally:
        with Memory.open(root) as memory:
            assert stop_daemon(memory)


def test_one_that_a_hook_started_has_the_settings_of_the_user_and_not_of_that_session(
    fire: Fire, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "MEMORY.md").write_text("# Long-Term Memory\n\n## User Preferences\n- Use pnpm, never npm\n", "utf8")
    mine = {"NACRE_HOOKS_PROMPT": "false", "NACRE_LANGUAGE": "zh"}
    assert "记忆".encode() in json_text(fire("SessionStart", source="startup", env=WANTED | mine).stdout)
    monkeypatch.setenv("NACRE_NO_DAEMON", "0")
    wait_for_status(root)
    others = {"NACRE_LANGUAGE": ""}
    try:
        assert fire("UserPromptSubmit", prompt=PROMPT, session_id="next", env=WANTED | others).stdout
        english = json_text(fire("SessionStart", source="startup", session_id="next", env=WANTED | others).stdout)
        assert english
        assert "记忆".encode() not in english
        chinese = {"NACRE_LANGUAGE": "zh"}
        again = fire("SessionStart", source="startup", session_id="third", env=WANTED | chinese).stdout
        assert "记忆".encode() in json_text(again)
        assert wait_for_status(root)["questions"] >= 3  # all of it was answered by the daemon
    finally:
        with Memory.open(root) as memory:
            assert stop_daemon(memory)


def test_one_that_is_to_stay_takes_the_place_of_one_on_demand(root: Path, start: Start) -> None:
    start("--on-demand", jobs=True)
    with Memory.open(root) as memory:
        stop_on_demand(memory)
        assert daemon_process(memory.workspace) is None
    stays = start()
    with Memory.open(root) as memory:
        stop_on_demand(memory)
        assert daemon_process(memory.workspace) == stays.pid


def wait_for_status(root: Path) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    def there() -> bool:
        found.extend(one for one in (client.daemon_status(str(root)),) if one)
        return bool(found)

    until(there)
    return found[-1]


def json_text(output: bytes) -> bytes:
    return json.dumps(json.loads(output), ensure_ascii=False).encode()


@pytest.mark.parametrize("event", ["Stop", "UserPromptSubmit"])
def test_none_is_started_where_the_user_wants_none_or_nobody_waits(event: str, fire: Fire, root: Path) -> None:
    off = {} if event == "Stop" else {"NACRE_HOOKS_START_DAEMON": "false"}
    fire(event, prompt=PROMPT, transcript_path=__file__, env=WANTED | off)
    assert daemon_process(Workspace(root)) is None
    assert not (root / ".nacre" / "hooks" / "daemon").exists()


def test_one_that_did_not_come_up_is_not_started_with_every_prompt(fire: Fire, root: Path) -> None:
    sign = root / ".nacre" / "hooks" / "daemon"
    sign.parent.mkdir()
    sign.touch()
    fire("UserPromptSubmit", prompt=PROMPT, env=WANTED)
    assert daemon_process(Workspace(root)) is None


def test_a_talk_that_ends_is_captured_at_once(fire: Fire, root: Path, start: Start) -> None:
    now = dt.datetime.now(dt.UTC)
    talk = ClaudeTalk(Path.home(), "61871d67-1111")
    with Memory.open(root) as memory:
        memory.sync()
    start(jobs=True)
    for number, text in enumerate(
        ("We ship on Tuesdays only, never on Fridays", "Use PostgreSQL for the ledger, never MySQL")
    ):
        talk.say(text, f"{now:%H:%M}:0{number}", f"{now:%Y-%m-%d}").answer(
            "Noted.", f"{now:%H:%M}:0{number}", f"{now:%Y-%m-%d}"
        )
    assert fire("SessionEnd", transcript_path=str(talk.path), reason="other", env=WANTED).returncode == 0

    def logs() -> str:
        return "".join(path.read_text("utf8") for path in (root / "memory").glob(f"{now.year}-*.md"))

    until(lambda: "Tuesdays" in logs(), 120)
    until(lambda: spool.waiting(str(root)) == [], 60)
    assert logs().count("Tuesdays") == 1


def test_what_a_hook_gave_is_not_captured_as_talk(root: Path) -> None:
    """Claude Code notes what a hook gave beside the talk: nobody said it."""
    talk = ClaudeTalk(Path.home(), "61871d67-2222")
    talk.say("We ship on Tuesdays only, never on Fridays").say("Use PostgreSQL for the ledger, never MySQL", "12:01:00")
    noted = {"type": "hook_additional_context", "content": ["<nacre-memory>The harbour closes at nine</nacre-memory>"]}
    with talk.path.open("a", encoding="utf8") as file:
        entry = {"type": "attachment", "uuid": "u", "timestamp": "2026-03-02T12:02:00Z", "attachment": noted}
        file.write(json.dumps(entry) + "\n")
    talk.say(
        "<system-reminder>\nUserPromptSubmit hook additional context: <nacre-memory>harbour closes</nacre-memory></system-reminder>"
    )
    with Memory.open(root, now="2026-03-02T18:00:00+00:00") as memory:
        memory.sync(since="all")
    log = (root / "memory" / "2026-03-02.md").read_text("utf8")
    assert "Tuesdays" in log
    assert "harbour" not in log
