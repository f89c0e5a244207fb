"""nacre import, as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forked

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    """Runs the program in a process of its own, on a workspace of its own, without embedding models."""

    def run(*arguments: str, **env: str) -> Done:
        surroundings = {
            **os.environ,
            "NACRE_MODELS_PATH": str(tmp_path / "none"),
            "NACRE_WORKSPACE": str(tmp_path / "ws"),
            **env,
        }
        return forked.run(arguments, env=surroundings, cwd=tmp_path)

    assert run("init").returncode == 0
    return run


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf8")
    return path


def test_notes_are_shown_then_imported_found_and_taken_back(nacre: Nacre, home: Path) -> None:
    put(home / ".claude" / "CLAUDE.md", "- The ferry leaves at nine\n")
    shown = nacre("import", "claude-code", "--dry-run")
    assert shown.returncode == 0
    assert (
        shown.stdout == "create\tmemory/imported-claude-code-user.md\tnot in the workspace yet\t~/.claude/CLAUDE.md\n"
    )
    assert json.loads(nacre("search", "when does the ferry leave", "--json").stdout)["results"] == []
    assert nacre("import", "claude-code").returncode == 0
    (hit,) = json.loads(nacre("search", "when does the ferry leave", "--json").stdout)["results"]
    assert (hit["path"], hit["layer"]) == ("memory/imported-claude-code-user.md", "note")
    again = nacre("import", "claude-code")
    assert again.stdout.startswith("skip\t")
    assert "Nothing new" in again.stderr
    assert nacre("undo").returncode == 0
    assert json.loads(nacre("search", "ferry", "--json").stdout)["results"] == []


def test_json_tells_every_step(nacre: Nacre, home: Path) -> None:
    put(home / "m" / "memory_fs" / "hot" / "a.md", "talk\n")
    told = json.loads(nacre("import", str(home / "m"), "--json").stdout)
    assert told["kind"] == "checkpoints"
    assert told["changed"] == 1
    assert told["steps"][0]["path"] == "memory_fs/hot/a.md"
    assert told["dryRun"] is False


def test_alone_it_lists_what_there_is_with_counts(nacre: Nacre, home: Path, tmp_path: Path) -> None:
    nothing = nacre("import")
    assert nothing.returncode == 0
    assert "Nothing to import was found" in nothing.stderr
    put(home / ".claude" / "CLAUDE.md", "- a\n")
    put(home / ".codex" / "AGENTS.md", "- b\n")
    put(home / ".openclaw" / "openclaw.json", '{"memory": {"search": {"query": {"maxResults": 6}}}}')
    put(home / ".openclaw" / "memory_fs" / "warm" / "x.md", "talk\n")
    conversation = {
        "uuid": "u",
        "chat_messages": [{"sender": "human", "text": "hi", "created_at": "2024-05-01T09:00:00Z"}],
    }
    put(home / "Downloads" / "data" / "conversations.json", json.dumps([conversation]))
    put(tmp_path / "CLAUDE.md", "- c\n")
    rows = {row["what"]: row for row in json.loads(nacre("import", "--json").stdout)}
    assert {what: (row["kind"], row["parts"], row["new"]) for what, row in rows.items()} == {
        "claude-code": ("notes", 1, 1),
        "codex": ("notes", 1, 1),
        "openclaw": ("settings", 1, 1),
        "~/.openclaw/memory_fs": ("checkpoints", 1, 1),
        str(tmp_path / "CLAUDE.md"): ("notes", 1, 1),
        "~/Downloads/data": ("export", 1, None),
    }
    assert "claude-code\tnotes\t1\t1" in nacre("import").stdout
    nacre("import", "claude-code")
    rows = {row["what"]: row for row in json.loads(nacre("import", "--json").stdout)}
    assert rows["claude-code"]["new"] == 0


def test_every_kind_of_bad_input_has_its_exit_code_and_one_sentence(nacre: Nacre, home: Path, tmp_path: Path) -> None:
    cases = [
        (1, nacre("import", "nowhere.zip")),
        (2, nacre("import", str(put(home / "x.bin", "x")))),
        (2, nacre("import", str(put(home / "refcount.json", "{")))),
        (2, nacre("import", str(put(home / "CLAUDE.md", "- a\n")), "--since", "7d")),
        (2, nacre("import", str(put(home / "conversations.json", "[]")))),
        (2, nacre("import", str(put(home / "conversations.json", "[]")), "--since", "soon")),
        (2, nacre("import", "claude-code", "--scope", "group:team")),
        (10, nacre("import", "claude-code", "--workspace", str(tmp_path / "none-here"))),
    ]
    for code, done in cases:
        assert done.returncode == code, done.stderr
        assert done.stderr.startswith("nacre: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_files_that_cannot_be_read_are_named_and_the_rest_is_imported(nacre: Nacre, home: Path) -> None:
    put(home / "notes" / "a.md", "a\n")
    put(home / "notes" / "b.md", "b\n").chmod(0)
    done = nacre("import", str(home / "notes"))
    assert done.returncode == 3
    assert "b.md" in done.stderr
    assert "create\t" in done.stdout


def test_an_export_is_captured_into_the_log_of_its_day(nacre: Nacre, home: Path) -> None:
    said = ["Always use pnpm, never npm, in my projects", "We decided to move the shop API to PostgreSQL"]
    messages = [
        {"uuid": str(n), "sender": "human", "text": text, "created_at": f"2024-05-01T09:0{n}:00Z"}
        for n, text in enumerate(said)
    ]
    path = put(home / "conversations.json", json.dumps([{"uuid": "aaaaaaaa-1", "chat_messages": messages}]))
    done = nacre("import", str(path), "--json", NACRE_TIMEZONE="UTC")
    assert done.returncode == 0, done.stderr
    (step,) = json.loads(done.stdout)["steps"]
    assert (step["action"], step["path"]) == ("capture", "memory/2024-05-01.md")
    assert step["detail"].startswith("09:01 session:aaaaaaaa | 2 messages")
    assert json.loads(nacre("search", "pnpm or npm", "--json").stdout)["results"]
    assert json.loads(nacre("import", str(path), "--json").stdout)["changed"] == 0
