"""Which files are memory, and which folders have to be watched to know it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.config.settings import Config, IndexSettings, TierSettings
from nacre.disk import LARGEST_LOG
from nacre.model import LINKED, Workspace
from nacre.vault.storage import LARGEST, MemoryFile, memory_files


def put(path: Path, text: str = "text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def paths(workspace: Workspace, config: Config | None = None) -> dict[str, str]:
    found = list(memory_files(workspace, config or Config()))
    assert len({one.path for one in found}) == len(found), "a file was found twice"
    return {one.path: one.layer for one in found}


def with_extra(*extra: dict[str, str], origin: str = "user") -> Config:
    return Config(index=IndexSettings(extra_paths=list(extra)), origins={"index.extra_paths": origin})


def test_each_place_has_its_layer(workspace: Workspace) -> None:
    root = workspace.root
    for name in (
        "MEMORY.md", "USER.md", "projects/shop/MEMORY.md", "memory/2026-02-10.md", "memory/2026-02-10-rename.md",
        "memory/ideas.md", "memory/deep/er/still.md", "memory/weekly/2026-02-09.md", "memory/archive/2025/2025-01-01.md",
        "memory_fs/hot/a.md", "memory_fs/warm/b.md", "memory_fs/gist/c.md", "memory_fs/forgotten/d.md",
    ):  # fmt: skip
        put(root / name)
    assert paths(workspace) == {
        "MEMORY.md": "longterm",
        "USER.md": "longterm",
        "projects/shop/MEMORY.md": "longterm",
        "memory/2026-02-10.md": "daily",
        "memory/2026-02-10-rename.md": "daily",
        "memory/ideas.md": "note",
        "memory/deep/er/still.md": "note",
        "memory/weekly/2026-02-09.md": "weekly",
        "memory/archive/2025/2025-01-01.md": "archive",
        "memory_fs/hot/a.md": "hot",
        "memory_fs/warm/b.md": "warm",
        "memory_fs/gist/c.md": "gist",
        "memory_fs/forgotten/d.md": "forgotten",
    }


def test_rules_machine_files_and_hidden_folders_are_not_memory(workspace: Workspace) -> None:
    root = workspace.root
    for name in (
        "AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "SESSION-STATE.md", "promote_report.md", "README.md",
        "memory/review.md", "memory/ledger.jsonl", "memory/trail.jsonl", "memory/.hidden.md", "memory/.git/x.md", "projects/shop/notes.md",
        "projects/.git/MEMORY.md", ".nacre/history/x.md", "memory/archive/MEMORY.md.bak-2026-02-10", "memory/plain.txt",
    ):  # fmt: skip
        put(root / name)
    assert paths(workspace) == {}


def test_a_folder_named_like_a_file_is_a_folder(workspace: Workspace) -> None:
    put(workspace.memory / "x.md" / "inner.md")
    assert paths(workspace) == {"memory/x.md/inner.md": "note"}


def test_a_huge_file_is_no_note(workspace: Workspace) -> None:
    with (workspace.memory / "huge.md").open("wb") as file:
        file.truncate(LARGEST + 1)
    with (workspace.memory / "large.md").open("wb") as file:
        file.truncate(LARGEST)
    assert set(paths(workspace)) == {"memory/large.md"}


def test_the_log_of_a_day_is_searched_beyond_the_size_of_a_note(workspace: Workspace) -> None:
    for name, size in {"2026-02-10": LARGEST + 1, "2026-02-11": LARGEST_LOG, "2026-02-12": LARGEST_LOG + 1}.items():
        with (workspace.memory / f"{name}.md").open("wb") as file:
            file.truncate(size)
    assert set(paths(workspace)) == {"memory/2026-02-10.md", "memory/2026-02-11.md"}


def test_a_workspace_without_any_folder_is_empty(tmp_path: Path) -> None:
    assert paths(Workspace(tmp_path / "nowhere")) == {}


def test_linked_files_inside_the_workspace_are_followed_and_other_links_are_not(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = put(tmp_path / "outside" / "secret.md").parent
    put(workspace.root / "docs" / "a.md")
    memory = workspace.memory
    (memory / "file.md").symlink_to(workspace.root / "docs" / "a.md")
    (memory / "folder").symlink_to(workspace.root / "docs")
    (memory / "out.md").symlink_to(outside / "secret.md")
    (memory / "out").symlink_to(outside)
    (memory / "nowhere.md").symlink_to("missing.md")
    (workspace.root / "MEMORY.md").symlink_to(outside / "secret.md")
    (workspace.projects / "x").mkdir(parents=True)
    (workspace.projects / "x" / "MEMORY.md").symlink_to(outside / "secret.md")
    (workspace.projects / "y").symlink_to(outside)
    put(outside / "MEMORY.md")
    assert set(paths(workspace)) == {"memory/file.md"}


@pytest.mark.parametrize("name", ["memory", "projects", "memory_fs"])
def test_a_linked_folder_of_memory_that_leads_out_is_not_read(workspace: Workspace, tmp_path: Path, name: str) -> None:
    for place in ("x.md", "p/MEMORY.md", "hot/x.md"):
        put(tmp_path / "outside" / place)
    shutil.rmtree(workspace.memory)
    (workspace.root / name).symlink_to(tmp_path / "outside")
    assert paths(workspace) == {}


def test_link_loops_and_links_to_what_is_walked_anyway_give_no_file_twice(workspace: Workspace) -> None:
    put(workspace.memory / "a.md")
    put(workspace.memory / "sub" / "b.md")
    put(workspace.root / "AGENTS.md")
    (workspace.memory / "loop").symlink_to(workspace.memory)
    (workspace.memory / "sub" / "up").symlink_to(workspace.root)
    (workspace.memory / "again").symlink_to("sub")
    (workspace.memory / "self.md").symlink_to("self.md")
    (workspace.memory / "self").symlink_to("self")
    workspace.projects.mkdir()
    (workspace.projects / "self").symlink_to("self")
    (workspace.memory / "history").symlink_to(workspace.machine)
    put(workspace.machine / "x.md")
    assert set(paths(workspace)) == {"memory/a.md", "memory/sub/b.md"}


def test_a_link_named_review_is_no_memory_either(workspace: Workspace) -> None:
    put(workspace.root / "docs" / "a.md")
    (workspace.memory / "review.md").symlink_to(workspace.root / "docs" / "a.md")
    assert paths(workspace) == {}


def test_a_name_that_is_not_utf8_is_shown_as_text(workspace: Workspace) -> None:
    (Path(os.fsdecode(os.fsencode(workspace.memory) + b"/caf\xe9.md"))).write_text("x", encoding="utf-8")
    (workspace.memory / "日记.md").write_text("x", encoding="utf-8")
    assert set(paths(workspace)) == {"memory/caf\\xe9.md", "memory/日记.md"}
    assert all(one.path.encode() and os.path.exists(one.full) for one in memory_files(workspace, Config()))


def test_extra_paths_are_folders_files_and_patterns(workspace: Workspace, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for name in ("a.md", "b.txt", "sub/c.md", "sub/d.txt", ".hidden/e.md"):
        put(notes / name)
    single = put(tmp_path / "single.md")
    found = paths(workspace, with_extra({"path": str(notes)}, {"path": str(single)}))
    assert set(found) == {f"{notes}/a.md", f"{notes}/sub/c.md", str(single)}
    assert set(found.values()) == {"extra"}
    assert set(paths(workspace, with_extra({"path": str(notes), "pattern": "**/*.txt"}))) == {
        f"{notes}/b.txt",
        f"{notes}/sub/d.txt",
    }
    assert set(paths(workspace, with_extra({"path": str(notes), "pattern": "sub/*.md"}))) == {f"{notes}/sub/c.md"}
    put(notes / "sub" / "deep" / "f.md")
    assert set(paths(workspace, with_extra({"path": str(notes), "pattern": "sub/**/*.md"}))) == {
        f"{notes}/sub/c.md",
        f"{notes}/sub/deep/f.md",
    }
    assert paths(workspace, with_extra({"path": str(tmp_path / "missing")}, {"pattern": "*"})) == {}


def test_an_extra_path_inside_the_workspace_is_relative_and_never_doubles_a_memory(workspace: Workspace) -> None:
    put(workspace.memory / "a.md")
    put(workspace.root / "docs" / "b.md")
    assert paths(workspace, with_extra({"path": "docs"}, {"path": "memory"}, {"path": "docs"})) == {
        "memory/a.md": "note",
        "docs/b.md": "extra",
    }


def test_tiers_may_lie_elsewhere(workspace: Workspace, tmp_path: Path) -> None:
    place = put(tmp_path / "fs" / "hot" / "a.md").parent.parent
    put(workspace.root / "memory_fs" / "hot" / "unused.md")
    assert paths(workspace, Config(tiers=TierSettings(path=str(place)))) == {f"{place}/hot/a.md": "hot"}


def seen(workspace: Workspace, config: Config) -> tuple[set[MemoryFile], set[str]]:
    folders: set[str] = set()
    return set(memory_files(workspace, config, folders)), folders


def marks(folders: set[str]) -> dict[str, object]:
    """What a watch on each place would notice: its entries with everything about each, and itself."""
    found: dict[str, object] = {}
    for place in folders:
        if os.path.isdir(place):
            found[place] = (
                sorted((entry.name, tuple(entry.stat(follow_symlinks=False))) for entry in os.scandir(place)),
                os.stat(place).st_ino,
            )
        else:
            found[place] = tuple(os.stat(place)) if os.path.exists(place) else None
    return found


Change = Callable[[Path, Path, random.Random], None]


def _write(root: Path, outside: Path, rng: random.Random) -> None:
    base = rng.choice([root, root / "memory", root / "memory" / "sub", root / "docs", root / "docs" / "in", outside, outside / "hot",
                       root / "projects" / "p", root / "extra", outside / "late" / "er"])  # fmt: skip
    with contextlib.suppress(OSError):
        put(base / rng.choice(["a.md", "b.md", "MEMORY.md", "c.txt"]), "x" * rng.randint(0, 99))


def _remove(root: Path, outside: Path, rng: random.Random) -> None:
    every = sorted([*root.rglob("*"), *outside.rglob("*")])
    if every:
        victim = rng.choice(every)
        if victim.is_dir() and not victim.is_symlink():
            shutil.rmtree(victim)
        else:
            victim.unlink()


def _rename(root: Path, outside: Path, rng: random.Random) -> None:
    every = sorted([*root.rglob("*"), *outside.rglob("*")])
    if every:
        victim = rng.choice(every)
        target = victim.with_name(rng.choice(["sub", "in", "a.md", "late", "docs", "z.md"]))
        if not target.exists() and not target.is_symlink():
            victim.rename(target)


def _link(root: Path, outside: Path, rng: random.Random) -> None:
    place = rng.choice([root / "memory", root / "docs", root / "projects", root])
    name = place / rng.choice(["l.md", "l", "m", "extra"])
    if place.is_dir() and not name.exists() and not name.is_symlink():
        docs = root / "docs"
        targets: list[str | Path] = [docs, docs / "in", docs / "a.md", outside / "a.md", "l", "m", "../docs/l/in"]
        name.symlink_to(rng.choice(targets))


def _hard_link(root: Path, outside: Path, rng: random.Random) -> None:
    source, other = root / "memory" / "a.md", outside / f"hard{rng.randint(0, 9)}"
    if source.is_file() and outside.is_dir() and not other.exists():
        os.link(source, other)
        other.write_text("through the other name", encoding="utf-8")


@pytest.mark.parametrize("seed", range(10))
def test_whatever_changes_the_result_happens_in_a_listed_place(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    root, outside = tmp_path / "ws", tmp_path / "out"
    root.mkdir()
    outside.mkdir()
    workspace = Workspace(root)
    config = dataclasses.replace(
        with_extra({"path": "extra"}, {"path": str(outside / "late" / "er")}, {"path": str(outside / "one.md")}),
        tiers=TierSettings(path=str(outside)),
    )
    for _ in range(60):
        before, folders = seen(workspace, config)
        watched = marks({os.path.realpath(folder) for folder in folders if folder != LINKED})
        rng.choice([_write, _write, _remove, _rename, _link, _hard_link])(root, outside, rng)
        after, _ = seen(workspace, config)
        if before != after and LINKED not in folders:
            assert marks(set(watched)) != watched, (before ^ after, folders)
