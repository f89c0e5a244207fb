"""Chat exports go into the daily logs of their own days, by the machinery of sync, once."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.capture.imports.elsewhere import key, run
from tests.capture.talks import Desk, Said, at, zulu

from nacre.capture import cursors
from nacre.capture import sync as syncing
from nacre.capture.importing_exports import ImportReport, import_export
from nacre.errors import BadInput
from nacre.model import Context
from nacre.sources.registry import begin_pause
from nacre.vault.history import read_history
from nacre.vault.undo import undo

FIRST: tuple[Said, ...] = (
    ("2024-05-01 09:00", "user", "alpha"),
    ("2024-05-01 09:01", "agent", "done"),
    ("2024-05-01 09:05", "user", "beta"),
)
SECOND: tuple[Said, ...] = (("2023-01-07 20:00", "user", "gamma"), ("2023-01-08 08:00", "user", "delta"))


def claude_ai(*said: Said, name: str) -> dict[str, Any]:
    messages = [
        {"uuid": f"{name}{number}", "sender": "human" if who == "user" else "assistant", "created_at": zulu(when),
         "text": words}
        for number, (when, who, words) in enumerate(said)
    ]  # fmt: skip
    return {"uuid": name, "created_at": zulu(said[0][0]), "chat_messages": messages}


def chatgpt(*said: Said, name: str) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    parent = None
    for number, (when, who, words) in enumerate(said):
        mine = f"{name}{number}"
        message = {
            "id": mine,
            "author": {"role": "user" if who == "user" else "assistant"},
            "create_time": at(when).timestamp(),
            "content": {"content_type": "text", "parts": [words]},
        }
        nodes[mine] = {"id": mine, "parent": parent, "children": [], "message": message}
        parent = mine
    created = at(said[0][0]).timestamp()
    return {"conversation_id": name, "create_time": created, "mapping": nodes, "current_node": parent}


def write(path: Path, *conversations: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = json.dumps(conversations)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("conversations.json", data)
    else:
        path.write_text(data, "utf8")
    return path


def take(desk: Desk, path: Path, **more: Any) -> ImportReport:
    return import_export(path, desk.setting("2026-03-09"), **more)


@pytest.fixture
def export(desk: Desk) -> Path:
    return write(desk.home / "export.zip", claude_ai(*FIRST, name="aaaaaaaa-1"), claude_ai(*SECOND, name="bbbbbbbb-2"))


@pytest.mark.parametrize("service", [claude_ai, chatgpt])
@pytest.mark.parametrize("name", ["export.zip", "folder/conversations.json", "conversations.json"])
def test_every_conversation_stands_in_the_logs_of_its_own_days(desk: Desk, service: Any, name: str) -> None:
    path = write(desk.home / name, service(*FIRST, name="aaaaaaaa-1"), service(*SECOND, name="bbbbbbbb-2"))
    report = take(desk, path.parent if name.startswith("folder") else path)
    assert desk.headings() == [
        "2023-01-07 20:00 session:bbbbbbbb | 1 message",
        "2023-01-08 08:00 session:bbbbbbbb | 1 message | continued",
        "2024-05-01 09:05 session:aaaaaaaa | 3 messages",
    ]
    assert [text for _, text in desk.bullets()] == ["gamma", "delta", "alpha", "beta"]
    assert report.changed == 3


def test_an_export_is_read_on_this_machine_alone(desk: Desk, export: Path) -> None:
    setting = replace(desk.setting("2026-03-09"), by_model=lambda *_: pytest.fail("it was given to a model"))
    assert import_export(export, setting).changed == 3


def test_a_second_import_writes_nothing(desk: Desk, export: Path) -> None:
    take(desk, export)
    before = desk.bytes_anywhere()
    report = take(desk, export)
    assert report.changed == 0
    assert [(step.path, step.reason) for step in report.steps] == [("2 conversations", "already captured")]
    assert desk.bytes_anywhere() == before


def test_the_same_export_unpacked_under_another_name_writes_nothing(desk: Desk, export: Path) -> None:
    take(desk, export)
    before = desk.logs()
    with zipfile.ZipFile(export) as archive:
        archive.extractall(desk.home / "unpacked")
    assert take(desk, desk.home / "unpacked").changed == 0
    assert desk.logs() == before


def test_a_later_export_adds_only_what_was_said_since(desk: Desk, export: Path) -> None:
    take(desk, export)
    more: tuple[Said, ...] = (("2024-06-01 10:00", "user", "epsilon"), ("2024-06-01 10:02", "user", "zeta"))
    later = write(desk.home / "later.zip", claude_ai(*FIRST, *more, name="aaaaaaaa-1"))
    assert take(desk, later).changed == 1
    assert desk.log("2024-06-01").endswith("## 10:02 session:aaaaaaaa | 2 messages | continued\n- epsilon\n- zeta\n")
    assert take(desk, later).changed == 0
    assert take(desk, export).changed == 0


def test_the_logs_tell_what_was_captured_when_the_cursors_are_lost(desk: Desk, export: Path) -> None:
    take(desk, export)
    before = desk.logs()
    (desk.workspace.machine / "imports.json").unlink()
    assert take(desk, export).changed == 0
    assert desk.logs() == before


def test_a_dry_run_tells_and_writes_nothing(desk: Desk, export: Path) -> None:
    report = take(desk, export, dry_run=True)
    assert [step.path for step in report.steps] == [
        "memory/2023-01-07.md",
        "memory/2023-01-08.md",
        "memory/2024-05-01.md",
    ]
    assert all(step.reason for step in report.steps)
    assert desk.logs() == {}
    assert not (desk.workspace.machine / "imports.json").exists()


def test_many_batches_are_one_step_to_undo_and_can_be_imported_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "BATCH", 3)
    talks = [
        claude_ai(("2024-05-01 09:00", "user", f"one {n}"), ("2024-05-02 09:00", "user", f"two {n}"), name=f"{n:08}-x")
        for n in range(10)
    ]
    path = write(desk.home / "export.zip", *talks)
    seen: list[tuple[int, int]] = []
    assert take(desk, path, progress=lambda done, total: seen.append((done, total))).changed == 20
    assert seen[0] == (1, 10)
    assert seen[-1] == (10, 10)
    first = desk.logs()
    operations = read_history(desk.workspace).operations
    assert [one.command for one in operations] == ["import"]
    undo(Context(desk.workspace, desk.config, desk.setting().context.clock))
    assert desk.logs() == {}
    assert take(desk, path).changed == 20
    assert desk.logs() == first
    assert take(desk, path).changed == 0


def test_since_leaves_out_conversations_that_ended_before(desk: Desk, export: Path) -> None:
    assert take(desk, export, since=at("2024-01-01")).changed == 1
    assert list(desk.logs()) == ["2024-05-01.md"]


def test_an_import_does_not_count_as_a_sync_nor_widen_the_next_one(desk: Desk, export: Path) -> None:
    desk.claude(("2024-02-01 09:00", "user", "old"), ("2024-02-01 09:05", "user", "talk"), session="cccccccc-3")
    take(desk, export)
    known = cursors.load_cursors(desk.workspace)
    assert (known.synced, known.since) == (None, None)
    report = desk.sync("2026-03-09 12:00")
    assert report.sections == ()
    assert "2024-02-01.md" not in desk.logs()


def test_a_conversation_with_a_single_question_is_passed_over_with_its_reason(desk: Desk) -> None:
    path = write(desk.home / "export.zip", claude_ai(FIRST[0], FIRST[1], name="dddddddd-4"))
    report = take(desk, path)
    assert [(step.path, step.reason) for step in report.steps] == [("1 conversation", "fewer than 2 messages from you")]
    assert desk.logs() == {}


def test_nothing_is_captured_while_capture_is_paused(desk: Desk, export: Path) -> None:
    begin_pause(desk.workspace, at("2026-03-01"), None)
    report = take(desk, export)
    assert report.paused
    assert report.changed == 0
    assert desk.logs() == {}


def test_an_export_without_conversations_gets_a_sentence(desk: Desk) -> None:
    with zipfile.ZipFile(desk.home / "photos.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    for path in (desk.home / "photos.zip", write(desk.home / "conversations.json")):
        with pytest.raises(BadInput, match=r"no ChatGPT or Claude\.ai"):
            run(desk, path)


def test_a_run_that_breaks_off_is_completed_by_the_next(
    desk: Desk, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "BATCH", 1)
    write_sections, calls = syncing._write, 0

    def breaking(*given: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        write_sections(*given)

    monkeypatch.setattr(syncing, "_write", breaking)
    with pytest.raises(KeyboardInterrupt):
        take(desk, export)
    assert len(desk.headings()) == 2
    monkeypatch.setattr(syncing, "_write", write_sections)
    take(desk, export)
    assert len(desk.headings()) == 3
    assert take(desk, export).changed == 0


def test_the_classifiers_find_what_is_worth_a_line_and_secrets_are_blacked_out(desk: Desk) -> None:
    said: tuple[Said, ...] = (
        ("2024-05-01 09:00", "user", "Always use pnpm in my projects, never npm. What is the capital of France?"),
        ("2024-05-01 09:01", "agent", "Understood. Paris."),
        ("2024-05-01 09:05", "user", f"We decided to move the shop API to PostgreSQL. The key is {key()}"),
        ("2024-05-01 09:06", "agent", "Noted."),
    )
    path = write(desk.home / "export.zip", chatgpt(*said, name="eeeeeeee-5"))
    report = run(desk, path)
    assert report.kind == "export"
    assert "pnpm" in desk.log("2024-05-01")
    assert key().encode() not in desk.bytes_anywhere()


def test_since_is_refused_where_it_means_nothing(desk: Desk) -> None:
    (desk.home / "CLAUDE.md").write_text("- x\n", "utf8")
    with pytest.raises(BadInput, match="only to chat exports"):
        run(desk, desk.home / "CLAUDE.md", since="7d")
