"""nacre forget as a user types it, and as a program calls it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forked

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]
NOW = "2026-03-20T10:00"
FACT = "Use pnpm, never npm, in every repository"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "ws"


@pytest.fixture
def nacre(root: Path, tmp_path: Path) -> Nacre:
    def run(*arguments: str, **env: str) -> Done:
        given = {"NACRE_WORKSPACE": str(root), "NACRE_MODELS_PATH": str(tmp_path / "none"), "NACRE_NOW": NOW}
        return forked.run(arguments, env={**os.environ, **given, **env})

    assert run("init").returncode == 0
    memory = root / "MEMORY.md"
    memory.write_text(f"# Long-Term Memory\n\n## User Preferences\n- {FACT}\n- Maria leads the billing team\n", "utf8")
    log = f"# 2026-03-18\n\n## 14:05 note\n- [PREF] {FACT}.\n- Maria is on leave until May\n"
    (root / "memory" / "2026-03-18.md").write_text(log, "utf8")
    return run


def test_a_hit_is_forgotten_by_the_id_that_search_shows(nacre: Nacre, root: Path) -> None:
    hit = json.loads(nacre("search", "pnpm", "--json").stdout)["results"][0]
    done = nacre("forget", hit["id"])
    assert done.returncode == 0
    assert "MEMORY.md:4\tthe same words\t" in done.stdout
    assert "memory/2026-03-18.md:4\tthe same words\t" in done.stdout
    assert "Removed: 2 lines." in done.stderr
    assert json.loads(nacre("search", "pnpm", "--json").stdout)["results"] == []
    assert nacre("undo").returncode == 0
    assert FACT in (root / "MEMORY.md").read_text("utf8")


def test_lines_that_only_mention_it_are_counted_and_shown_by_about(nacre: Nacre, root: Path) -> None:
    log = "".join(
        f"- {said}\n" for said in ("老周腰不好，重活别派给他", "三号房热水器坏了，老周去修了", "店里老周盯着")
    )
    (root / "memory" / "2026-03-19.md").write_text(f"# 2026-03-19\n\n## 14:05 note\n{log}", "utf8")
    offered = nacre("forget", "老周")
    left = 3 - len(offered.stdout.splitlines())
    assert left > 0
    assert f"{left} more line{'s mention' if left > 1 else ' mentions'} it: nacre about 老周" in offered.stderr


def test_words_that_fit_several_things_are_listed_and_nothing_is_done(nacre: Nacre, root: Path) -> None:
    before = (root / "MEMORY.md").read_bytes()
    done = nacre("forget", "Maria")
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 2
    assert "nothing was removed" in done.stderr
    assert "more line" not in done.stderr
    told = json.loads(nacre("forget", "Maria", "--json").stdout)
    assert {one["path"] for one in told["candidates"]} == {"MEMORY.md", "memory/2026-03-18.md"}
    assert (root / "MEMORY.md").read_bytes() == before
    assert nacre("forget", told["candidates"][0]["id"]).returncode == 0


def test_a_line_number_alone_takes_nothing_where_nobody_can_be_asked(nacre: Nacre, root: Path) -> None:
    before = (root / "MEMORY.md").read_bytes()
    for more in ((), ("--purge",), ("--similar",)):
        done = nacre("forget", "MEMORY.md:4", *more)
        assert done.returncode == 2
        assert done.stdout.rstrip().endswith(f"MEMORY.md:4\t{FACT}")
        assert "nothing was removed" in done.stderr
    (told,) = json.loads(nacre("forget", "MEMORY.md:4", "--json").stdout)["candidates"]
    assert (root / "MEMORY.md").read_bytes() == before
    assert nacre("forget", told["id"]).returncode == 0
    after = (root / "MEMORY.md").read_bytes()
    assert nacre("forget", told["id"]).returncode == 1
    assert (root / "MEMORY.md").read_bytes() == after


def test_on_a_terminal_a_line_number_shows_the_words_and_asks(nacre: Nacre, root: Path, tmp_path: Path) -> None:
    before = (root / "MEMORY.md").read_text("utf8")
    code, shown = at_terminal(root, tmp_path, b"Remove this line?", b"n\n", "MEMORY.md:4")
    assert (code, (root / "MEMORY.md").read_text("utf8")) == (1, before)
    assert FACT in shown
    code, _ = at_terminal(root, tmp_path, b"Remove this line?", b"y\n", "MEMORY.md:4")
    assert (code, (root / "MEMORY.md").read_text("utf8")) == (0, before.replace(f"- {FACT}\n", ""))


def test_words_that_fit_one_thing_are_asked_about_or_answered_with_its_id(
    nacre: Nacre, root: Path, tmp_path: Path
) -> None:
    before = (root / "MEMORY.md").read_text("utf8")
    done = nacre("forget", "billing team")
    told = json.loads(nacre("forget", "billing team", "--json").stdout)["candidates"][0]
    assert done.returncode == 2
    assert f"To remove it: nacre forget {told['id']}\n" in done.stderr
    assert (root / "MEMORY.md").read_text("utf8") == before
    assert at_terminal(root, tmp_path, b"Remove this line?", b"n\n", "billing", "team")[0] == 1
    assert (root / "MEMORY.md").read_text("utf8") == before


def at_terminal(root: Path, tmp_path: Path, question: bytes, answer: bytes, *what: str) -> tuple[int, str]:
    master, slave = pty.openpty()
    given = {"NACRE_WORKSPACE": str(root), "NACRE_MODELS_PATH": str(tmp_path / "none"), "NACRE_NOW": NOW}
    env = {**os.environ, **given, "TERM": "dumb"}
    command = [sys.executable, "-m", "nacre", "forget", *what]
    with subprocess.Popen(command, env=env, stdin=slave, stdout=subprocess.PIPE, stderr=slave) as child:
        os.close(slave)
        shown = b""
        while question not in shown:
            shown += os.read(master, 4096)
        os.write(master, answer)
        assert child.stdout
        printed = child.stdout.read()
        code = child.wait()
    os.close(master)
    return code, (shown + b"\n" + printed).decode()


def test_a_dry_run_lists_and_does_nothing(nacre: Nacre, root: Path) -> None:
    before = (root / "MEMORY.md").read_bytes()
    told = json.loads(nacre("forget", "MEMORY.md:4", "--purge", "--dry-run", "--json").stdout)
    assert [(one["path"], one["startLine"], one["reason"]) for one in told["removed"]] == [
        ("MEMORY.md", 4, "the same words"),
        ("memory/2026-03-18.md", 4, "the same words"),
    ]
    assert told["purge"]["left"] is None
    assert (root / "MEMORY.md").read_bytes() == before


def test_purging_ends_with_three_when_something_is_left(nacre: Nacre, root: Path) -> None:
    (root / "notes.txt").write_text(f"{FACT}\n", "utf8")
    done = nacre("forget", FACT, "--purge")
    assert done.returncode == 3
    assert "notes.txt:1\tone of your own files: edit it yourself" in done.stdout
    (root / "notes.txt").unlink()
    assert nacre("undo").returncode == 1
    maria = nacre("forget", "Maria leads the billing team", "--purge")
    assert maria.returncode == 0
    assert "no copy of the text is left" in maria.stderr
    assert "Git history was not checked." in maria.stderr


def test_it_speaks_chinese(nacre: Nacre) -> None:
    done = nacre("forget", FACT, "--purge", NACRE_LANGUAGE="zh")
    assert done.returncode == 0
    assert "相同的内容" in done.stdout
    assert "已删除 2 行。" in done.stderr
    assert "已搜索 Nacre 写入的所有内容，没有残留。" in done.stderr


def test_on_a_terminal_one_chooses_by_number(nacre: Nacre, root: Path, tmp_path: Path) -> None:
    code, shown = at_terminal(root, tmp_path, b"Which ones?", b"2\n", "Maria")
    assert code == 0
    *before, chosen = shown.strip().splitlines()
    second = next(line for line in before if line.lstrip().startswith("2 "))
    assert chosen.split("\t")[0] in second
    rest = (root / "MEMORY.md").read_text("utf8") + (root / "memory" / "2026-03-18.md").read_text("utf8")
    assert rest.count("Maria") == 1
