"""Checkpoints from elsewhere come into the same layer under the same name, once, and nothing of ours gives way."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.capture.imports.elsewhere import key, run
from tests.capture.talks import Desk

from nacre.config.settings import Config, TierSettings
from nacre.errors import BadInput
from nacre.model import Context
from nacre.vault.undo import undo


def checkpoint(folder: Path, name: str, text: str, modified: int = 1_700_000_000) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf8")
    os.utime(path, (modified, modified))
    return path


@pytest.fixture
def theirs(desk: Desk) -> Path:
    folder = desk.home / "old" / "memory_fs"
    checkpoint(folder, "hot/a.md", "# A\n\nhot talk\n")
    checkpoint(folder, "warm/b.md", "# B\n\nwarm talk\n", 1_600_000_000)
    checkpoint(folder, "gist/b.md", "# B\nTags: x\n\nsummary\n")
    checkpoint(folder, "forgotten/c.md", "# C\r\n\r\nold talk\r\n")
    return folder


def ours(desk: Desk) -> dict[str, str]:
    root = desk.workspace.tiers(desk.config.tiers.path)
    return {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in sorted(root.rglob("*.md"))}


def test_every_layer_is_copied_with_its_bytes_and_times(desk: Desk, theirs: Path) -> None:
    report = run(desk, theirs)
    assert report.kind == "checkpoints"
    assert ours(desk) == {
        "forgotten/c.md": "# C\r\n\r\nold talk\r\n",
        "gist/b.md": "# B\nTags: x\n\nsummary\n",
        "hot/a.md": "# A\n\nhot talk\n",
        "warm/b.md": "# B\n\nwarm talk\n",
    }
    assert (desk.workspace.root / "memory_fs/warm/b.md").stat().st_mtime == 1_600_000_000


def test_the_folder_that_holds_it_may_be_named_too(desk: Desk, theirs: Path) -> None:
    assert run(desk, theirs.parent).changed == 4


def test_a_second_import_changes_nothing(desk: Desk, theirs: Path) -> None:
    run(desk, theirs)
    before = desk.bytes_anywhere()
    report = run(desk, theirs)
    assert report.changed == 0
    assert {step.action for step in report.steps} == {"skip"}
    assert desk.bytes_anywhere() == before


def test_a_dry_run_tells_every_step_with_its_reason_and_writes_nothing(desk: Desk, theirs: Path) -> None:
    report = run(desk, theirs, dry_run=True)
    assert report.changed == 4
    assert all(step.reason and step.detail for step in report.steps)
    assert ours(desk) == {}


def test_a_checkpoint_that_wandered_to_another_layer_is_not_taken_again(desk: Desk, theirs: Path) -> None:
    run(desk, theirs)
    root = desk.workspace.root / "memory_fs"
    (root / "hot/a.md").rename(root / "warm/a.md")
    assert run(desk, theirs).changed == 0


def test_another_content_under_a_taken_name_gets_a_number_and_a_gist_stays_with_its_original(
    desk: Desk, theirs: Path
) -> None:
    checkpoint(desk.workspace.root / "memory_fs", "warm/b.md", "ours\n")
    run(desk, theirs)
    found = ours(desk)
    assert found["warm/b.md"] == "ours\n"
    assert found["warm/b-2.md"] == "# B\n\nwarm talk\n"
    assert "summary" in found["gist/b-2.md"]
    assert "gist/b.md" not in found
    assert run(desk, theirs).changed == 0


def test_secrets_are_blacked_out_and_the_import_is_still_known_the_next_time(desk: Desk, theirs: Path) -> None:
    checkpoint(theirs, "hot/s.md", f"# S\n\nthe key is {key()}\n")
    run(desk, theirs)
    assert key().encode() not in desk.bytes_anywhere()
    assert run(desk, theirs).changed == 0


def test_an_import_is_undone_in_one_step(desk: Desk, theirs: Path) -> None:
    (theirs.parent / "refcount.json").write_text('{"warm/b.md": {"total": 2, "timestamps": []}}', "utf8")
    run(desk, theirs)
    assert (desk.workspace.root / "refcount.json").exists()
    undo(Context(desk.workspace, desk.config, desk.setting().context.clock))
    assert ours(desk) == {}
    assert not (desk.workspace.root / "refcount.json").exists()


def test_layers_that_lie_below_a_hidden_folder_are_written_counted_and_undone(desk: Desk, theirs: Path) -> None:
    place = desk.home / ".openclaw" / "memory_fs"
    desk.config = Config(tiers=TierSettings(path=str(place)))
    (theirs.parent / "refcount.json").write_text('{"warm/b.md": {"total": 2, "timestamps": []}}', "utf8")
    run(desk, theirs)
    assert (place / "warm/b.md").exists()
    counts = place.parent / "refcount.json"
    assert json.loads(counts.read_bytes()) == {"warm/b.md": {"total": 2, "timestamps": []}}
    undo(Context(desk.workspace, desk.config, desk.setting().context.clock))
    assert not (place / "warm/b.md").exists()
    assert not counts.exists()


def test_counts_follow_a_checkpoint_that_got_another_name(desk: Desk, theirs: Path) -> None:
    checkpoint(desk.workspace.root / "memory_fs", "warm/b.md", "ours\n")
    (theirs / "refcount.json").write_text('{"warm/b.md": {"total": 2}, "hot/a.md": {"total": 1}}', "utf8")
    run(desk, theirs)
    counts = json.loads((desk.workspace.root / "refcount.json").read_bytes())
    assert counts == {"warm/b-2.md": {"total": 2}, "hot/a.md": {"total": 1}}


def test_links_that_lead_out_and_files_that_are_no_notes_are_passed_over_with_a_reason(
    desk: Desk, theirs: Path
) -> None:
    secret = desk.home / "private.md"
    secret.write_text("private\n", "utf8")
    (theirs / "hot/link.md").symlink_to(secret)
    (theirs / "hot/image.png").write_bytes(b"\x89PNG")
    os.mkfifo(theirs / "hot/pipe.md")
    report = run(desk, theirs)
    passed = {Path(step.path).name: step.reason for step in report.steps if step.action == "skip"}
    assert passed == {
        "link.md": "a link that points elsewhere",
        "image.png": "not Markdown",
        "pipe.md": "not a regular file",
    }
    assert b"private\n" not in desk.bytes_anywhere()


def test_a_damaged_refcount_beside_the_layers_is_named_and_the_checkpoints_come_all_the_same(
    desk: Desk, theirs: Path
) -> None:
    (theirs.parent / "refcount.json").write_text("{", "utf8")
    report = run(desk, theirs)
    assert len(ours(desk)) == 4
    assert report.unreadable == (str(theirs.parent / "refcount.json"),)


def test_the_workspaces_own_layers_are_nothing_to_import(desk: Desk, theirs: Path) -> None:
    run(desk, theirs)
    with pytest.raises(BadInput, match="already in this workspace"):
        run(desk, desk.workspace.root / "memory_fs")


def test_history_can_be_switched_off(desk: Desk, theirs: Path) -> None:
    desk.config = replace(desk.config, history=replace(desk.config.history, enabled=False))
    assert run(desk, theirs).changed == 4
