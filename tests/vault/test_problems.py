from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.config.settings import Config, HistorySettings
from nacre.model.workspace import Workspace
from nacre.vault.disk import LARGEST_LOG
from nacre.vault.files import LARGEST
from nacre.vault.problems import file_problems


def kinds(workspace: Workspace, config: Config | None = None) -> set[tuple[str, str, int | None]]:
    return {(one.kind, one.path, one.line) for one in file_problems(workspace, config, every_file=True)}


def test_a_sound_workspace_has_none(workspace: Workspace) -> None:
    (workspace.memory / "2026-02-10.md").write_text("---\ntags: [a]\n---\n# ok\n")
    (workspace.memory / "2026-02-10-session.md").write_text("---\n\nprose after a rule\n")
    workspace.longterm.write_text("- fine\n")
    assert kinds(workspace) == set()


def test_each_trouble_is_a_row_with_its_place(workspace: Workspace) -> None:
    memory = workspace.memory
    (memory / "latin.md").write_bytes("ok\ncafé\n".encode("latin-1"))
    (memory / "front.md").write_text("---\na: b\nc: [d\n---\n")
    with (memory / "big.md").open("wb") as file:
        file.truncate(LARGEST + 1)
    (memory / "out.md").symlink_to("/etc/passwd")
    (memory / "dangling.md").symlink_to("nowhere.md")
    (memory / "2026-02-12.md").write_text("```\nclosed\n```\n\n```sh\nleft open\n\n## 14:05 note\n- an entry\n")
    (memory / "2026-02-12-session.md").write_text("```\na talk that was cut off\n")
    (memory / "secret.md").write_text("one\nkey AKIA" + "Z7QXNT3MPLR5VWKD\n")
    workspace.longterm.write_text("- x\n" * 81)
    project = workspace.project("p")
    project.parent.mkdir(parents=True)
    project.write_text("- x\n" * 72)
    workspace.ledger.write_text('{"id":"torn')
    workspace.recalls.write_text("broken\n")
    workspace.trail.write_text('{"day":"2026-02-10","week":"w","pressed":[],"size":1}\n{"day":"2026')
    workspace.history.mkdir()
    (workspace.history / "operations.jsonl").write_text("broken\n")
    assert kinds(workspace) == {
        ("not UTF-8", "memory/latin.md", 2),
        ("broken frontmatter", "memory/front.md", 3),
        ("too large", "memory/big.md", None),
        ("link out of the workspace", "memory/out.md", None),
        ("no ordinary file", "memory/dangling.md", None),
        ("code fence never closed", "memory/2026-02-12.md", 5),
        ("secret", "memory/secret.md", 2),
        ("over the limits", "MEMORY.md", None),
        ("nearly full", "projects/p/MEMORY.md", None),
        ("torn line", "memory/ledger.jsonl", 1),
        ("broken line", "memory/recalls.jsonl", 1),
        ("torn line", "memory/trail.jsonl", 2),
        ("broken line", ".nacre/history/operations.jsonl", 1),
    }


def test_a_log_larger_than_a_note_is_named_as_searched_but_not_tidied(workspace: Workspace) -> None:
    for name, size in {"2026-02-10": LARGEST + 1, "2026-02-11": LARGEST_LOG + 1}.items():
        with (workspace.memory / f"{name}.md").open("wb") as file:
            file.truncate(size)
    large, larger = file_problems(workspace)
    assert "is searched, slowly, and not tidied" in large.message
    assert "is not searched" in larger.message


def test_a_secret_is_never_repeated(workspace: Workspace) -> None:
    value = "AKIA" + "Z7QXNT3MPLR5VWKD"
    (workspace.memory / "a.md").write_text(f"key {value}\n")
    assert all(value not in repr(one) for one in file_problems(workspace))


def test_history_switched_off_is_said(workspace: Workspace) -> None:
    off = Config(history=HistorySettings(enabled=False))
    assert ("history off", ".nacre/history", None) in kinds(workspace, off)


@pytest.mark.skipif(os.getuid() != 0, reason="drops privileges")
def test_files_that_may_not_be_read_are_rows(workspace: Workspace, in_child: Callable[..., int]) -> None:
    path = workspace.memory / "a.md"
    path.write_text("x\n")
    path.chmod(0o000)
    descriptor = os.open(workspace.root, os.O_RDONLY)

    def as_nobody() -> None:
        os.fchdir(descriptor)
        os.setgid(65534)
        os.setuid(65534)
        found = kinds(Workspace(Path()))
        raise SystemExit(7 if ("unreadable", "memory/a.md", None) in found else 2)

    assert in_child(as_nobody) == 7


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text(alphabet="-:[]{}&*!|>%@`\"'\n a1#?,", max_size=40).map(str.encode))
def test_no_content_raises(workspace: Workspace, data: bytes) -> None:
    (workspace.memory / "a.md").write_bytes(data)
    (workspace.memory / "b.md").write_bytes(b"---\n" + data + b"\n---\n")
    workspace.longterm.write_bytes(data)
    workspace.ledger.write_bytes(data)
    workspace.trail.write_bytes(data)
    file_problems(workspace)
