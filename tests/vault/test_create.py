from __future__ import annotations

import stat
from pathlib import Path

import pytest

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.model import Context, Workspace
from nacre.vault import create, rules
from nacre.vault.discover import is_trusted
from nacre.vault.entries import document
from nacre.vault.longterm import template
from nacre.vault.undo import undo


def test_a_new_workspace_has_everything_and_is_trusted(tmp_path: Path, clock: Clock) -> None:
    root = tmp_path / "deep" / "ws"
    workspace = create.init(root, clock)
    assert workspace.longterm.read_text() == template()
    assert (root / ".gitignore").read_text() == ".nacre/\nmemory/archive/*.md.bak-*\n"
    assert workspace.memory.is_dir()
    assert stat.S_IMODE(workspace.machine.stat().st_mode) == 0o700
    assert is_trusted(root)
    assert not workspace.settings.exists()
    text = (root / "AGENTS.md").read_text()
    for needed in (
        "nacre search",
        "nacre get FILE:LINE -l 20",
        "as they happen",
        "specific mistake",
        "secrets",
    ):
        assert needed in text


def test_planning_touches_nothing_and_repeating_changes_nothing(tmp_path: Path, clock: Clock) -> None:
    root = tmp_path / "ws"
    made = create.plan_init(root)
    assert not root.exists()
    assert [step.path for step in made.plan.steps][-3:] == ["MEMORY.md", ".gitignore", "AGENTS.md"]
    create.apply_init(made, clock)
    again = create.plan_init(root)
    assert not again.plan


def test_what_the_user_has_is_kept(tmp_path: Path, clock: Clock) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "MEMORY.md").write_bytes(b"mine\r\n" * 200)
    (root / ".gitignore").write_bytes(b"*.pyc\r\n/.nacre")
    (root / "AGENTS.md").write_bytes(b"# My rules\r\nno end")
    create.init(root, clock, language="zh")
    assert (root / "MEMORY.md").read_bytes() == b"mine\r\n" * 200
    assert (root / ".gitignore").read_bytes() == b"*.pyc\r\n/.nacre\r\nmemory/archive/*.md.bak-*\r\n"
    data = (root / "AGENTS.md").read_bytes()
    assert data.startswith(b"# My rules\r\nno end\r\n\r\n<!-- nacre:begin -->\r\n")
    assert b"\n" not in data.replace(b"\r\n", b"")
    assert "记忆" in data.decode()
    undo(Context(Workspace(root), Config(), clock), number=1)
    assert (root / "AGENTS.md").read_bytes() == b"# My rules\r\nno end"


def test_the_block_is_updated_where_it_stands() -> None:
    before = f"top  \n{rules.BEGIN}\n## Memory\n\nold rules\n{rules.END}\ntail\nend"
    new = rules.with_block(document(Path("AGENTS.md"), before.encode())).decode()
    assert new == f"top  \n{rules.rules_block().rstrip()}\ntail\nend"
    assert rules.with_block(document(Path("AGENTS.md"), new.encode())).decode() == new


def test_a_lone_marker_is_the_users_text() -> None:
    before = f"see {rules.BEGIN}\n"
    new = rules.with_block(document(Path("AGENTS.md"), before.encode())).decode()
    assert new.startswith(before)
    assert rules.without_block(document(Path("A"), before.encode())).decode() == before


@pytest.mark.parametrize("before", ["", "# Mine\n", "# Mine\n\n", "# Mine\r\n- x\r\n"])
def test_taking_the_block_out_gives_the_file_back(before: str) -> None:
    new = rules.with_block(document(Path("A"), before.encode()))
    assert rules.without_block(document(Path("A"), new)).decode().rstrip() == before.rstrip()


def test_the_rules_exist_in_two_languages() -> None:
    for language in ("en", "zh"):
        assert rules.rules_block(language).endswith(f"{rules.END}\n")


def test_a_marker_the_user_left_open_never_costs_a_line_of_theirs() -> None:
    text = f"user text\n{rules.BEGIN}\nno end here\n\nmore of the user\n"
    for _ in range(3):
        text = rules.with_block(document(Path("AGENTS.md"), text.encode())).decode()
    assert text.startswith(f"user text\n{rules.BEGIN}\nno end here\n\nmore of the user\n")
    assert text.count(rules.END) == 1


def test_a_block_of_an_earlier_version_gets_the_words_of_today_and_keeps_its_language() -> None:
    for language, title in (("en", "## Memory"), ("zh", "## 记忆")):
        before = f"# Mine\n\n{rules.BEGIN}\n{title}\n\nOld words.\n{rules.END}\n\nAlso mine.\n"
        new = rules.with_block(document(Path("AGENTS.md"), before.encode())).decode()
        assert new == f"# Mine\n\n{rules.rules_block(language)}\nAlso mine.\n"
