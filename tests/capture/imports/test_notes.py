"""What agents and people wrote down elsewhere becomes notes that say where they came from."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.capture.imports.elsewhere import key, run
from tests.capture.talks import Desk

from nacre.config.settings import SourceSettings, SourcesSettings
from nacre.errors import BadInput, NotFound
from nacre.model import Context
from nacre.vault.storage import layer_of, memory_files
from nacre.vault.undo import undo


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf8")
    return path


def notes(desk: Desk) -> dict[str, str]:
    return {path.name: path.read_text("utf8") for path in sorted(desk.workspace.memory.glob("*.md"))}


@pytest.fixture
def claude(desk: Desk) -> Path:
    root = desk.home / ".claude"
    put(root / "CLAUDE.md", "# Rules\n\n- Use pnpm\n- See @docs/style.md\n")
    encoded = re.sub(r"[^A-Za-z0-9]", "-", str(desk.home)) + "-code-shop"
    put(root / "projects" / encoded / "memory" / "MEMORY.md", "- The shop runs on port 8080\n")
    put(root / "projects" / encoded / "memory" / "debugging.md", f"the key is {key()}\n")
    return root


def test_claude_codes_notes_become_notes_that_search_covers(desk: Desk, claude: Path) -> None:
    report = run(desk, "claude-code")
    assert report.kind == "notes"
    found = notes(desk)
    assert list(found) == [
        "imported-claude-code-code-shop-debugging.md",
        "imported-claude-code-code-shop-memory.md",
        "imported-claude-code-user.md",
    ]
    first, body = found["imported-claude-code-user.md"].split("\n", 1)
    assert first.startswith("> Imported from ~/.claude/CLAUDE.md on 2026-03-09 [")
    assert body == "\n# Rules\n\n- Use pnpm\n- See @docs/style.md\n"
    assert "[redacted" in found["imported-claude-code-code-shop-debugging.md"]
    assert key().encode() not in desk.bytes_anywhere()
    covered = {one.path: one.layer for one in memory_files(desk.workspace, desk.config)}
    assert covered["memory/imported-claude-code-user.md"] == "note"


def test_importing_again_changes_nothing_also_after_the_note_was_edited_here(desk: Desk, claude: Path) -> None:
    run(desk, "claude-code")
    path = desk.workspace.memory / "imported-claude-code-user.md"
    path.write_text(path.read_text("utf8") + "- A line of my own\n", "utf8")
    before = notes(desk)
    report = run(desk, "claude-code", now="2026-04-01")
    assert report.changed == 0
    assert notes(desk) == before


def test_a_source_that_changed_since_gets_a_note_beside_the_earlier_one(desk: Desk, claude: Path) -> None:
    run(desk, "claude-code")
    before = notes(desk)
    put(claude / "CLAUDE.md", "# Rules\n\n- Use bun\n")
    assert run(desk, "claude").changed == 1
    after = notes(desk)
    assert after.items() >= before.items()
    assert "Use bun" in after["imported-claude-code-user-2.md"]


def test_claude_config_dir_moves_the_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    put(desk.home / "elsewhere" / "CLAUDE.md", "- Use pnpm\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(desk.home / "elsewhere"))
    assert run(desk, "claude-code").changed == 1


def test_notes_about_a_project_that_is_left_out_stay_where_they_are(desk: Desk, claude: Path) -> None:
    desk.config = replace(desk.config, sources=SourcesSettings(claude_code=SourceSettings(exclude=["~/code/shop"])))
    report = run(desk, "claude-code")
    assert [step.reason for step in report.steps if step.action == "skip"] == ["excluded by your settings"] * 2
    assert list(notes(desk)) == ["imported-claude-code-user.md"]


def test_a_project_that_opted_out_is_known_by_its_transcripts(desk: Desk, claude: Path) -> None:
    folder = desk.home / "code" / "shop"
    put(folder / ".nacre-ignore", "")
    project = next((claude / "projects").iterdir())
    put(project / "one.jsonl", json.dumps({"type": "user", "cwd": str(folder)}) + "\n")
    run(desk, "claude-code")
    assert list(notes(desk)) == ["imported-claude-code-user.md"]


def test_rules_of_a_project_go_by_its_name(desk: Desk) -> None:
    shop = desk.home / "code" / "shop"
    for name in ("CLAUDE.md", "AGENTS.md", "GEMINI.md"):
        put(shop / name, f"- from {name}\n")
    put(shop / "README.md", "not for agents\n")
    run(desk, shop / "AGENTS.md")
    assert list(notes(desk)) == ["imported-agents-shop.md"]
    assert run(desk, shop).changed == 2
    assert list(notes(desk)) == ["imported-agents-shop.md", "imported-claude-code-shop.md", "imported-gemini-shop.md"]


def test_the_same_text_from_two_places_is_taken_once(desk: Desk) -> None:
    for name in ("one", "two"):
        put(desk.home / name / "CLAUDE.md", "- Use pnpm\n")
        run(desk, desk.home / name / "CLAUDE.md")
    assert list(notes(desk)) == ["imported-claude-code-one.md"]


def test_a_folder_of_notes_is_taken_with_its_folders_and_without_hidden_ones(desk: Desk) -> None:
    vault = desk.home / "Notes"
    put(vault / "会议/三月.md", "下周二评审\n")
    put(vault / "2026-03-01.md", "a diary, not a log of agents\n")
    put(vault / ".obsidian/x.md", "hidden\n")
    put(vault / "node_modules/y/README.md", "a program's\n")
    put(vault / "empty.md", "\n")
    report = run(desk, vault)
    assert list(notes(desk)) == ["imported-notes-notes-2026-03-01.md", "imported-notes-notes-会议-三月.md"]
    assert layer_of("memory/imported-notes-notes-2026-03-01.md") == "note"
    assert [step.reason for step in report.steps if step.action == "skip"] == ["empty"]


def test_dated_notes_of_another_workspace_are_copied_as_they_are(desk: Desk) -> None:
    other = desk.home / ".openclaw" / "workspace"
    session = "# Session: 2026-03-02 14:34:45 UTC\n\n- **Session ID**: abc\n\ntext\n"
    put(other / "memory" / "2026-03-02-1434.md", session)
    put(other / "memory" / "2026-03-02.md", "# 2026-03-02\n\n- theirs\n")
    put(other / "memory" / "ideas.md", "- an idea\n")
    put(other / "MEMORY.md", "# Long-Term Memory\n- Use pnpm\n")
    put(other / "SOUL.md", "not memory\n")
    put(desk.workspace.memory / "2026-03-02.md", "# 2026-03-02\n\n- ours\n")
    assert run(desk, other).kind == "workspace"
    found = notes(desk)
    assert found["2026-03-02-1434.md"] == session
    assert found["2026-03-02.md"] == "# 2026-03-02\n\n- ours\n"
    assert found["2026-03-02-2.md"] == "# 2026-03-02\n\n- theirs\n"
    assert set(found) == {
        "2026-03-02-1434.md",
        "2026-03-02.md",
        "2026-03-02-2.md",
        "imported-openclaw-workspace-ideas.md",
        "imported-openclaw-workspace-memory.md",
    }
    (desk.workspace.memory / "2026-03-02-2.md").write_text("# 2026-03-02\n\n- theirs\n- and a line since\n", "utf8")
    assert run(desk, other).changed == 0


def test_a_single_dated_note_of_a_memory_folder_is_copied_as_it_is(desk: Desk) -> None:
    run(desk, put(desk.home / "other" / "memory" / "2026-03-02-rename.md", "text\n"))
    assert notes(desk) == {"2026-03-02-rename.md": "text\n"}


def test_names_that_no_text_can_hold_are_passed_over_and_shown_spelled_out(desk: Desk) -> None:
    folder = desk.home / "notes"
    put(folder / "good.md", "good\n")
    (folder / "li\nne").mkdir()
    put(folder / "li\nne" / "x.md", "x\n")
    (folder / os.fsdecode(b"caf\xe9.md")).write_text("y\n", "utf8")
    report = run(desk, folder)
    assert list(notes(desk)) == ["imported-notes-notes-good.md"]
    passed = [step for step in report.steps if step.action == "skip"]
    assert [step.path for step in passed] == ["~/notes/caf\\udce9.md", "~/notes/li\\nne/x.md"]


def test_frontmatter_is_shown_as_what_it_is_below_the_first_line(desk: Desk) -> None:
    path = put(desk.home / "n.md", "---\nname: style\npublic: true\n---\nbody\n")
    run(desk, path)
    (text,) = notes(desk).values()
    assert text.split("\n", 2)[2] == "```yaml\nname: style\npublic: true\n```\nbody\n"


def test_a_long_name_in_any_script_is_cut_to_what_a_disk_takes(desk: Desk) -> None:
    folder = desk.home / ("记" * 60)
    put(folder / ("忆" * 80 + ".md"), "text\n")
    assert run(desk, folder).changed == 1


def test_an_import_of_notes_is_undone_in_one_step(desk: Desk, claude: Path) -> None:
    run(desk, "claude-code")
    undo(Context(desk.workspace, desk.config, desk.setting().context.clock))
    assert notes(desk) == {}
    assert run(desk, "claude-code").changed == 3


def test_what_lies_in_the_workspace_is_nothing_to_import(desk: Desk) -> None:
    put(desk.workspace.memory / "ideas.md", "x\n")
    for place in (desk.workspace.root, desk.workspace.memory / "ideas.md"):
        with pytest.raises(BadInput, match="already in this workspace"):
            run(desk, place)


def test_an_agent_without_notes_and_a_name_that_is_nothing_get_a_sentence(desk: Desk) -> None:
    with pytest.raises(NotFound, match="no claude-code memories"):
        run(desk, "claude-code")
    with pytest.raises(NotFound, match="not a file, a folder or an agent"):
        run(desk, "copilot")
    with pytest.raises(BadInput, match="cannot be imported"):
        run(desk, put(desk.home / "x.txt", "x"))
    (desk.home / "nothing").mkdir()
    with pytest.raises(BadInput, match="cannot be imported"):
        run(desk, desk.home / "nothing")


def test_a_file_that_cannot_be_read_is_named_and_the_others_come(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    put(desk.home / "notes" / "a.md", "a\n")
    locked = put(desk.home / "notes" / "b.md", "b\n")
    real = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path == locked:
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    report = run(desk, desk.home / "notes")
    assert report.unreadable == (str(locked),)
    assert [step.reason for step in report.steps] == ["not in the workspace yet", "cannot be read: Permission denied"]


def test_a_library_of_notes_is_better_searched_where_it_lies(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacre.capture.importing_files.MOST", 2)
    for name in "abc":
        put(desk.home / "library" / f"{name}.md", name)
    with pytest.raises(BadInput, match=r"index\.extra_paths"):
        run(desk, desk.home / "library")
    assert notes(desk) == {}
