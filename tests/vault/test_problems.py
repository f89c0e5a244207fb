from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.storage import put_file

from nacre.config.settings import Config, HistorySettings
from nacre.disk import LARGEST_LOG
from nacre.model import Workspace
from nacre.vault.problems import file_problems
from nacre.vault.storage import LARGEST


def kinds(workspace: Workspace, config: Config | None = None) -> set[tuple[str, str, int | None]]:
    return {(one.kind, one.path, one.line) for one in file_problems(workspace, config, every_file=True)}


def test_a_sound_workspace_has_none(workspace: Workspace) -> None:
    put_file(workspace.memory / "2026-02-10.md", "---\ntags: [a]\n---\n# ok\n")
    put_file(workspace.memory / "2026-02-10-session.md", "---\n\nprose after a rule\n")
    put_file(workspace.longterm, "- fine\n")
    assert kinds(workspace) == set()


def test_each_trouble_is_a_row_with_its_place(workspace: Workspace) -> None:
    memory = workspace.memory
    put_file(memory / "latin.md", "ok\ncafé\n".encode("latin-1"))
    put_file(memory / "front.md", "---\na: b\nc: [d\n---\n")
    put_file(memory / "big.md", bytes(LARGEST + 1))
    put_file(memory / "2026-02-12.md", "```\nclosed\n```\n\n```sh\nleft open\n\n## 14:05 note\n- an entry\n")
    put_file(memory / "2026-02-12-session.md", "```\na talk that was cut off\n")
    put_file(memory / "secret.md", "one\nkey AKIA" + "Z7QXNT3MPLR5VWKD\n")
    put_file(workspace.longterm, "- x\n" * 81)
    put_file(workspace.project("p"), "- x\n" * 72)
    put_file(workspace.ledger, '{"id":"torn')
    put_file(workspace.recalls, "broken\n")
    put_file(workspace.trail, '{"day":"2026-02-10","week":"w","pressed":[],"size":1}\n{"day":"2026')
    assert kinds(workspace) == {
        ("not UTF-8", "memory/latin.md", 2),
        ("broken frontmatter", "memory/front.md", 3),
        ("too large", "memory/big.md", None),
        ("code fence never closed", "memory/2026-02-12.md", 5),
        ("secret", "memory/secret.md", 2),
        ("over the limits", "MEMORY.md", None),
        ("nearly full", "projects/p/MEMORY.md", None),
        ("torn line", "memory/ledger.jsonl", 1),
        ("broken line", "memory/recalls.jsonl", 1),
        ("torn line", "memory/trail.jsonl", 2),
    }


@pytest.mark.on_disk
def test_links_folders_and_a_broken_history_are_rows_too(workspace: Workspace) -> None:
    (workspace.memory / "out.md").symlink_to("/etc/passwd")
    (workspace.memory / "dangling.md").symlink_to("nowhere.md")
    workspace.longterm.mkdir()
    put_file(workspace.history / "operations.jsonl", "broken\n")
    assert kinds(workspace) == {
        ("link out of the workspace", "memory/out.md", None),
        ("no ordinary file", "memory/dangling.md", None),
        ("no ordinary file", "MEMORY.md", None),
        ("broken line", ".nacre/history/operations.jsonl", 1),
    }


@pytest.mark.on_disk
def test_a_log_larger_than_a_note_is_named_as_searched_but_not_tidied(workspace: Workspace) -> None:
    for name, size in {"2026-02-10": LARGEST + 1, "2026-02-11": LARGEST_LOG + 1}.items():
        with (workspace.memory / f"{name}.md").open("wb") as file:
            file.truncate(size)
    large, larger = file_problems(workspace)
    assert "searching it is slow, and it is not tidied" in large.message
    assert "is not searched" in larger.message


def test_a_secret_is_never_repeated(workspace: Workspace) -> None:
    value = "AKIA" + "Z7QXNT3MPLR5VWKD"
    put_file(workspace.memory / "a.md", f"key {value}\n")
    assert all(value not in repr(one) for one in file_problems(workspace))


def test_history_switched_off_is_said(workspace: Workspace) -> None:
    off = Config(history=HistorySettings(enabled=False))
    assert ("history off", ".nacre/history", None) in kinds(workspace, off)


@pytest.mark.on_disk
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
    put_file(workspace.memory / "a.md", data)
    put_file(workspace.memory / "b.md", b"---\n" + data + b"\n---\n")
    put_file(workspace.longterm, data)
    put_file(workspace.ledger, data)
    put_file(workspace.trail, data)
    file_problems(workspace)
