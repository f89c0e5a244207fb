from __future__ import annotations

import pytest
from tests.storage import file_bytes, files_below, is_there, put_file

from nacre.clock import Clock
from nacre.config.settings import Config, MemorySettings
from nacre.disk import digest
from nacre.errors import BadInput, ChangedOutside, MemoryFull, SecretRefused
from nacre.model import Context, Workspace
from nacre.vault.entries import document, open_document
from nacre.vault.longterm import Edit, apply_edit, project_template, section_for, template, with_entry


def add(workspace: Workspace, clock: Clock, text: str, type: str = "PREF") -> int:  # noqa: A002
    doc = open_document(workspace, workspace.longterm)
    data, _ = with_entry(workspace, workspace.longterm, doc, text, type=type)
    apply_edit(Context(workspace, Config(), clock), Edit(workspace.longterm, doc.hash if doc else None, data))
    return next(item.start for item in document(workspace.longterm, data).items if text in item.words)


def test_the_template_is_the_documented_one() -> None:
    assert template().startswith("# Long-Term Memory\n\n> Only write info here that you'd make mistakes without.\n")
    assert "> Hard limit: 80 lines / 5KB." in template()
    assert template().endswith(
        "## User Preferences\n\n## Active Projects\n\n## Key Decisions\n\n## Important Contacts\n"
    )


def test_a_projects_template_names_its_place_first() -> None:
    lines = project_template("shop", "/home/u/shop").split("\n")
    assert (lines[0], lines[2]) == ("# Long-Term Memory: shop", "> Project: /home/u/shop")


def test_each_type_finds_its_section(workspace: Workspace, clock: Clock) -> None:
    assert add(workspace, clock, "Use pnpm") == 8
    add(workspace, clock, "Shop API v2", "PROJ")
    add(workspace, clock, "Never force-push", "LESSON")
    add(workspace, clock, "Ann owns billing", "PEOPLE")
    kept = open_document(workspace, workspace.longterm)
    assert kept is not None
    assert [(entry.section, entry.words) for entry in kept.entries] == [
        ("User Preferences", "Use pnpm"),
        ("Active Projects", "Shop API v2"),
        ("Key Decisions", "Never force-push"),
        ("Important Contacts", "Ann owns billing"),
    ]


def test_the_users_own_section_is_preferred(workspace: Workspace) -> None:
    doc = document(workspace.longterm, "# M\n## 🧠 经验教训\n## Preferences:\n## 重要决策\n".encode())
    assert section_for(doc, "LESSON") == "🧠 经验教训"
    assert section_for(doc, "PREF") == "Preferences:"
    assert section_for(doc, "TECH") == "重要决策"
    assert section_for(doc, "PEOPLE") == "Important Contacts"
    with pytest.raises(BadInput):
        section_for(doc, "TEMP")


def test_a_missing_section_is_made_and_the_rest_stays(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.longterm, b"# mine\r\nprose  \r\n")
    add(workspace, clock, "Ann owns billing", "PEOPLE")
    assert file_bytes(workspace.longterm) == (
        b"# mine\r\nprose  \r\n\r\n## Important Contacts\r\n- Ann owns billing\r\n"
    )


def test_marks_of_openclaw_are_kept_and_are_not_words(workspace: Workspace, clock: Clock) -> None:
    line = "- Use pnpm <!-- importance: 8 --> <!-- trigger: npm, yarn -->"
    put_file(workspace.longterm, f"## User Preferences\n{line}\n")
    assert add(workspace, clock, "Use pnpm") == 2
    add(workspace, clock, "Use uv")
    assert file_bytes(workspace.longterm).decode() == f"## User Preferences\n{line}\n- Use uv\n"
    kept = open_document(workspace, workspace.longterm)
    assert kept is not None
    assert kept.entries[0].words == "Use pnpm"
    assert kept.entries[0].marks == {"importance": "8", "trigger": "npm, yarn"}


def test_the_day_is_backed_up_before_it_changes(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.longterm, "first\n")
    add(workspace, clock, "one")
    second = file_bytes(workspace.longterm).decode()
    add(workspace, clock, "two")
    add(workspace, clock, "two")
    names = files_below(workspace.archive)
    assert names == ["MEMORY.md.bak-2026-02-10", "MEMORY.md.bak-2026-02-10-140507"]
    assert file_bytes(workspace.archive / names[0]).decode() == "first\n"
    assert file_bytes(workspace.archive / names[1]).decode() == second


def test_a_projects_backup_does_not_clash_with_the_global_one(workspace: Workspace, clock: Clock) -> None:
    path = workspace.project("Shop")
    context = Context(workspace, Config(), clock)
    first, _ = with_entry(workspace, path, None, "a", type="PREF", start=project_template("shop", "/p"))
    apply_edit(context, Edit(path, None, first))
    second, _ = with_entry(workspace, path, document(path, first), "b", type="PREF")
    apply_edit(context, Edit(path, digest(first), second))
    assert files_below(workspace.archive) == ["shop.MEMORY.md.bak-2026-02-10"]


def test_a_full_file_takes_nothing(workspace: Workspace) -> None:
    doc = document(workspace.longterm, b"## User Preferences\n" + b"- x\n" * 79)
    with pytest.raises(MemoryFull):
        with_entry(workspace, workspace.longterm, doc, "more", type="PREF")
    small = MemorySettings(max_bytes=300)
    with pytest.raises(MemoryFull):
        with_entry(workspace, workspace.longterm, None, "x" * 50, type="PREF", settings=small)


def test_planning_touches_nothing_and_a_stale_plan_is_refused(workspace: Workspace, clock: Clock) -> None:
    data, _ = with_entry(workspace, workspace.longterm, None, "Use pnpm", type="PREF")
    assert not is_there(workspace.longterm)
    put_file(workspace.longterm, "theirs\n")
    with pytest.raises(ChangedOutside):
        apply_edit(Context(workspace, Config(), clock), Edit(workspace.longterm, None, data))
    assert file_bytes(workspace.longterm).decode() == "theirs\n"
    assert not is_there(workspace.archive)


def test_secrets_and_nothing_are_not_planned(workspace: Workspace) -> None:
    with pytest.raises(SecretRefused):
        with_entry(workspace, workspace.longterm, None, "key AKIA" + "Z7QXNT3MPLR5VWKD", type="TECH")
    with pytest.raises(BadInput):
        with_entry(workspace, workspace.longterm, None, " \n", type="TECH")


def test_an_old_secret_of_the_users_does_not_block_the_backup(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.longterm, "- key AKIA" + "Z7QXNT3MPLR5VWKD\n")
    assert add(workspace, clock, "Use pnpm")
