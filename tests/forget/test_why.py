"""Every memory can be followed back to what was said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.capture.talks import SESSION, Desk, named
from tests.forget.conftest import BULLET, FACT, OLDER, take

from nacre.errors import NotFound
from nacre.memory import Memory
from nacre.vault.entries import bullet_id, entry_id

SECRET = "AKIA" + "Z7QXNT3MPLR5VWKD"
SAID = "we are done with npm, pnpm everywhere please"


def test_the_chain_names_each_line_with_its_day(memory: Memory) -> None:
    told = memory.why("MEMORY.md:4")
    kinds = [(link.kind, f"{link.path}:{link.line}", link.date) for link in told.chain if link.line]
    assert kinds[0] == ("longterm", "MEMORY.md:4", None)
    assert ("weekly", "memory/weekly/2026-02-09.md:3", "2026-02-10") in kinds
    assert ("daily", "memory/2026-03-18.md:4", "2026-03-18") in kinds
    assert ("daily", "memory/archive/2026/2026-02-10.md:4", "2026-02-10") in kinds
    order = [kind for kind, _, _ in kinds]
    assert order.index("weekly") > order.index("longterm")
    assert order.index("daily") > order.index("weekly")


def test_the_ledger_tells_its_story(memory: Memory) -> None:
    memory.pin("MEMORY.md:4")
    told = memory.why(entry_id(FACT))
    assert [record.verdict for record in told.story] == ["admitted", "admitted"]
    assert told.story[0].tests == {"prevents_error": 0.94, "broad": 0.9}
    assert told.story[0].without_it == "the agent would run npm and break the lockfile"
    assert [older.text for older in told.superseded] == [OLDER]
    assert told.confidence == 0.9
    assert told.pinned


def test_when_the_transcript_is_gone_it_says_so(memory: Memory) -> None:
    told = memory.why("MEMORY.md:4")
    assert told.chain[-1].kind == "session"
    assert "61871d67-1111-4222-8333-444455556666" in told.chain[-1].about
    assert "is gone" in told.ends


@pytest.fixture
def desk(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The machine on which the memory's talk was held."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NACRE_TIMEZONE", "UTC")
    made = Desk(tmp_path)
    said = ("2026-03-18 14:00", "user", f"{SAID}, and the key is {SECRET}")
    made.claude(said, ("2026-03-18 14:05", "agent", "Noted."), session=SESSION)
    trail = root / "memory" / "trail.jsonl"
    line = json.loads(trail.read_text("utf8"))
    line["captured"] = {bullet_id(BULLET): [named("2026-03-18 14:00", said[2])]}
    trail.write_text(json.dumps(line) + "\n", "utf8")
    return made


@pytest.mark.parametrize("wanted", ["MEMORY.md:4", "memory/2026-03-18.md:4", "memory/weekly/2026-02-09.md:3"])
def test_any_line_leads_to_the_message_as_it_stands_in_the_transcript(desk: Desk, memory: Memory, wanted: str) -> None:
    told = memory.why(wanted)
    session, message = told.chain[-2:]
    assert session.path.endswith(f"{SESSION}.jsonl")
    assert message.kind == "message"
    assert message.date == "2026-03-18 14:00"
    assert (message.about, message.line) == ("owner", 1)
    assert message.text.startswith(SAID)
    assert SECRET not in message.text
    assert told.ends == ""


def test_the_message_is_shown_in_its_conversation_without_secrets_and_what_was_said_off_the_record(
    desk: Desk, memory: Memory
) -> None:
    talk = [("2026-03-18 14:06", "user", "Off the record: Ann leaves in May."), ("2026-03-18 14:07", "agent", "I see.")]
    desk.claude(*talk, ("2026-03-18 14:08", "user", f"Once more, {SECRET} expires tonight."), session=SESSION)
    shown = memory.conversation("MEMORY.md:4", memory.why("MEMORY.md:4").chain[-1].message)
    words = [said.text for said in shown.messages]
    assert [(said.speaker, said.line, said.marked) for said in shown.messages] == [
        ("owner", 1, True),
        ("agent", 2, False),
        ("owner", 5, False),
    ]
    assert words[0].startswith(SAID)
    assert not any(SECRET in text or "Ann" in text for text in words)


def test_what_an_agent_repeats_of_something_off_the_record_and_what_was_forgotten_stay_out_of_the_conversation(
    desk: Desk, memory: Memory
) -> None:
    message = memory.why("MEMORY.md:4").chain[-1].message
    asked = "My sister Kathleen has leukemia and is treated at Fairview. Don't save this."
    repeated = "All the best to Kathleen with the leukemia treatment at Fairview."
    talk = [("2026-03-18 14:06", "user", asked), ("2026-03-18 14:07", "agent", "Sorry to hear that.")]
    talk += [("2026-03-18 14:08", "user", "Now the tests, please."), ("2026-03-18 14:09", "agent", repeated)]
    desk.claude(*talk, session=SESSION)
    words = " ".join(said.text for said in memory.conversation("MEMORY.md:4", message).messages)
    assert "Now the tests" in words
    assert "Kathleen" not in words
    desk.claude(("2026-03-18 14:10", "user", "Please forget what I just said, don't save it."), session=SESSION)
    assert "Now the tests" not in " ".join(said.text for said in memory.conversation("MEMORY.md:4", message).messages)


def test_a_message_that_the_memory_does_not_rest_on_is_not_shown(desk: Desk, memory: Memory) -> None:
    with pytest.raises(NotFound, match="does not come from"):
        memory.conversation("MEMORY.md:4", named("2026-03-18 14:05", "Noted."))


def test_a_transcript_that_was_changed_or_deleted_is_named_in_a_sentence(desk: Desk, memory: Memory) -> None:
    message = memory.why("MEMORY.md:4").chain[-1].message
    transcript = next(desk.home.rglob(f"{SESSION}.jsonl"))
    transcript.unlink()
    desk.claude(("2026-03-18 14:00", "user", "Something else."), session=SESSION)
    with pytest.raises(NotFound, match="no longer in the transcript"):
        memory.conversation("MEMORY.md:4", message)
    transcript.unlink()
    with pytest.raises(NotFound, match="is gone"):
        memory.conversation("MEMORY.md:4", message)


def test_a_talk_that_the_user_leaves_out_is_not_shown(
    desk: Desk, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_SOURCES_CLAUDE_CODE_EXCLUDE", json.dumps([SESSION]))
    with Memory.open(memory.workspace.root) as again:
        told = again.why("MEMORY.md:4")
    assert [link.kind for link in told.chain][-1] == "session"
    assert "excluded" in told.ends


def test_without_a_trail_the_chain_ends_at_the_session_of_the_heading(memory: Memory, root: Path) -> None:
    (root / "memory" / "trail.jsonl").unlink()
    told = memory.why("memory/2026-03-18.md:5")
    assert (told.chain[-1].kind, told.chain[-1].about) == ("session", "61871d67")
    assert "not recorded" in told.ends


def test_what_was_written_down_directly_says_so(memory: Memory) -> None:
    told = memory.why("MEMORY.md:6")
    assert [link.kind for link in told.chain] == ["longterm"]
    assert "wrote it directly" in told.ends


def test_what_was_forgotten_still_tells_its_verdicts(memory: Memory) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    told = memory.why(entry_id(FACT))
    assert told.words == ""
    assert [record.verdict for record in told.story][-1] == "forgotten"
    assert all(record.text is None for record in told.story)


def test_a_real_talk_is_followed_from_the_log_that_sync_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NACRE_TIMEZONE", "UTC")
    desk = Desk(tmp_path)
    desk.claude(
        ("2026-03-02 09:00", "user", "Please move the shop api to v2 and keep the old endpoints for a month."),
        ("2026-03-02 09:10", "agent", "Done: the api is on v2, the old endpoints stay until April, 41 tests pass."),
        ("2026-03-02 09:12", "user", "From now on always use pnpm, never npm, in this repository."),
    )
    with Memory.init(desk.workspace.root, now="2026-03-02T12:00") as memory:
        memory.sync(since="all")
        line = next(number for number, text in enumerate(desk.log("2026-03-02").splitlines(), 1) if "pnpm" in text)
        told = memory.why(f"memory/2026-03-02.md:{line}")
    assert [link.kind for link in told.chain] == ["daily", "session", "message"]
    assert told.chain[-1].text == "From now on always use pnpm, never npm, in this repository."
