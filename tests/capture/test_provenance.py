"""Every line of a log can be followed to the messages that it rests on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.capture.talks import SESSION, Desk, named
from tests.capture.test_sync import MORNING

from nacre.capture.importing_exports import import_export
from nacre.config.settings import Config
from nacre.memory import Memory
from nacre.model import Bullet, Context, Message
from nacre.vault import provenance
from nacre.vault.entries import bullet_id, open_document
from nacre.vault.history import read_history
from nacre.vault.provenance import Captured
from nacre.vault.undo import undo

NOW = "2026-03-02 10:00"
ALPHA, BETA = named("2026-03-02 09:00", "alpha"), named("2026-03-02 09:05", "beta")
SECRET = "AKIA" + "Z7QXNT3MPLR5VWKD"


def followed(desk: Desk) -> tuple[Captured, ...]:
    return provenance.read_provenance(desk.workspace).captured


def marks_in(desk: Desk, day: str) -> list[str]:
    """As whoever reads the log comes to them."""
    doc = open_document(desk.workspace, desk.workspace.memory / f"{day}.md")
    assert doc
    return [bullet_id(item.words) for item in doc.items]


def test_each_line_of_a_section_is_followed_to_its_messages(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync(NOW)
    marks = {bullet_id("alpha"): (ALPHA,), bullet_id("beta"): (BETA,)}
    assert followed(desk) == (Captured("2026-03-02", "61871d67", "claude-code", marks, SESSION),)
    assert marks_in(desk, "2026-03-02") == list(marks)


def test_a_session_that_goes_on_over_days_has_a_line_for_each_section(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync(NOW)
    desk.claude(("2026-03-02 23:00", "user", "gamma"), ("2026-03-03 08:00", "user", "delta"))
    desk.sync("2026-03-04")
    assert [(one.day, one.session, *one.bullets) for one in followed(desk)] == [
        ("2026-03-02", "61871d67", bullet_id("alpha"), bullet_id("beta")),
        ("2026-03-02", "61871d67", bullet_id("gamma")),
        ("2026-03-03", "61871d67", bullet_id("delta")),
    ]


def test_a_second_run_and_a_dry_run_add_nothing(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync(NOW, dry_run=True)
    assert not desk.workspace.trail.exists()
    desk.sync(NOW)
    before = desk.workspace.trail.read_bytes()
    desk.sync(NOW)
    assert desk.workspace.trail.read_bytes() == before


def test_sections_that_are_written_together_enter_the_trail_in_one_write(desk: Desk) -> None:
    for number in range(5):
        said = [(f"2026-03-02 1{number}:0{minute}", "user", f"{number} {minute}") for minute in (1, 2)]
        desk.claude(*said, session=f"{number}{SESSION}")
    desk.sync("2026-03-03")
    assert len(followed(desk)) == 5
    (done,) = read_history(desk.workspace).operations
    paths = [change.path for change in done.changes]
    assert paths[:6] == [*["memory/2026-03-02.md"] * 5, "memory/trail.jsonl"]
    assert all(path.startswith("memory_fs/hot/") for path in paths[6:])


def test_a_line_is_known_by_its_words_as_they_stand_in_the_log(desk: Desk) -> None:
    desk.claude(
        ("2026-03-02 09:00", "user", f"the key  is\n{SECRET} <!-- hm -->"), ("2026-03-02 09:05", "user", "1. [PREF] x")
    )
    desk.sync(NOW)
    (one,) = followed(desk)
    assert "[redacted" in desk.log("2026-03-02")
    assert list(one.bullets) == marks_in(desk, "2026-03-02")
    assert SECRET.encode() not in desk.bytes_anywhere()


def test_the_same_words_said_twice_are_followed_to_both_messages(desk: Desk) -> None:
    desk.claude(("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "Alpha"))
    desk.sync(NOW)
    (one,) = followed(desk)
    assert one.bullets == {bullet_id("alpha"): (ALPHA, named("2026-03-02 09:05", "Alpha"))}


def test_ids_that_hold_secrets_are_kept_as_digests(desk: Desk) -> None:
    def extract(messages: Sequence[Message]) -> list[Bullet]:
        return [Bullet(one.text, sources=(f"{SECRET}-{one.text}",)) for one in messages]

    desk.claude(*MORNING, session=SECRET)
    desk.sync(NOW, extract=extract)
    (one,) = followed(desk)
    assert SECRET.encode() not in desk.bytes_anywhere()
    assert one.transcript.startswith("#")
    assert {entry[0] for entries in one.bullets.values() for entry in entries} == {"#"}
    assert len({entry for entries in one.bullets.values() for entry in entries}) == 4


def test_a_line_that_rests_on_nothing_known_is_still_told_to_be_captured(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync(NOW, extract=lambda messages: [Bullet("alpha"), Bullet("beta", "PREF")])
    assert followed(desk)[0].bullets == {bullet_id("alpha"): (), bullet_id("beta"): ()}


def test_what_another_wrote_under_such_a_heading_is_not_taken_for_ours(desk: Desk) -> None:
    path = desk.workspace.memory / "2026-03-02.md"
    path.write_bytes(b"# day\r\n")
    desk.claude(*MORNING)
    desk.sync(NOW)
    with path.open("ab") as log:
        log.write(b"\r\n## 12:01 session:61871d67 | 2 messages | continued\r\n- by hand\r\n")
    desk.claude(("2026-03-02 12:00", "user", "gamma"), ("2026-03-02 12:01", "user", "delta"))
    desk.sync("2026-03-02 14:00")
    assert path.read_bytes().endswith(b"continued\r\n- gamma\r\n- delta\r\n")
    assert list(followed(desk)[-1].bullets) == [bullet_id("gamma"), bullet_id("delta")]


def test_a_day_that_was_archived_is_followed_where_it_lies(desk: Desk) -> None:
    place = desk.workspace.archive / "2026" / "2026-03-02.md"
    place.parent.mkdir(parents=True)
    place.write_text("# 2026-03-02\n\n## 07:00 note\n- early\n", "utf8")
    desk.claude(*MORNING)
    desk.sync("2026-03-20")
    assert [list(one.bullets) for one in followed(desk)] == [[bullet_id("alpha"), bullet_id("beta")]]


def test_undo_takes_the_trail_back_with_the_section(desk: Desk) -> None:
    desk.claude(*MORNING)
    desk.sync(NOW)
    desk.claude(("2026-03-02 12:00", "user", "gamma"), ("2026-03-02 12:01", "user", "delta"))
    before = desk.workspace.trail.read_bytes()
    desk.sync("2026-03-02 14:00")
    undo(Context(desk.workspace, Config(), desk.setting(NOW).context.clock))
    assert desk.workspace.trail.read_bytes() == before
    undo(Context(desk.workspace, Config(), desk.setting(NOW).context.clock))
    assert not desk.workspace.trail.exists()
    assert desk.logs() == {}
    assert desk.sync("2026-03-02 14:00").sections == ()


def broken_off(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends between the sections and the trail."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(provenance, "write_provenance", stop)
        with pytest.raises(KeyboardInterrupt):
            desk.sync(NOW)
    assert not desk.workspace.trail.exists()


def test_what_a_run_that_broke_off_did_not_tell_is_told_by_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.claude(*MORNING)
    broken_off(desk, monkeypatch)
    log = desk.log("2026-03-02")
    desk.sync(NOW)
    desk.sync(NOW)
    assert desk.log("2026-03-02") == log
    assert [one.bullets for one in followed(desk)] == [{bullet_id("alpha"): (ALPHA,), bullet_id("beta"): (BETA,)}]


def test_a_section_that_was_cut_short_meanwhile_is_not_guessed_at(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.claude(*MORNING)
    broken_off(desk, monkeypatch)
    path = desk.workspace.memory / "2026-03-02.md"
    path.write_text(desk.log("2026-03-02").replace("- alpha\n", ""), "utf8")
    desk.sync(NOW)
    assert followed(desk) == ()
    assert "alpha" not in desk.log("2026-03-02")


def test_conversations_of_an_export_are_followed_too(desk: Desk) -> None:
    path = export(desk.home / "conversations.json")
    import_export(path, desk.setting("2026-03-09"))
    (one,) = followed(desk)
    assert (one.day, one.agent, one.transcript) == ("2026-03-02", "claude-ai", "c0ffee00-1")
    assert one.bullets == {bullet_id("alpha"): ("m0",), bullet_id("beta"): ("m1",)}
    undo(Context(desk.workspace, Config(), desk.setting(NOW).context.clock))
    assert not desk.workspace.trail.exists()
    import_export(path, desk.setting("2026-03-09"))
    assert followed(desk) == (one,)


def export(path: Path) -> Path:
    """What Claude.ai sends its users."""
    said = [
        {"uuid": f"m{place}", "sender": "human", "text": text, "created_at": f"2026-03-02T09:0{place}:00Z"}
        for place, text in enumerate(("alpha", "beta"))
    ]
    talk = {"uuid": "c0ffee00-1", "name": "", "created_at": "2026-03-02T09:00:00Z", "chat_messages": said}
    path.write_text(json.dumps([talk | {"updated_at": "2026-03-02T09:02:00Z"}]), "utf8")
    return path


def test_the_trail_is_neither_searched_nor_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(desk.home / "none"))
    desk.claude(*MORNING)
    desk.sync(NOW)
    (one,) = followed(desk)
    with Memory.open(desk.workspace.root) as memory:
        assert memory.search("alpha")
        for asked in (SESSION, "captured", *one.bullets):
            assert "trail" not in " ".join(hit.path for hit in memory.search(asked, min_score=0))
        assert memory.waiting()[0] == 0
