"""Destroying takes what is Nacre's and nothing else, and proves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.forget.conftest import FACT, everything

from nacre.config.settings import Config, TierSettings
from nacre.forget import destroy
from nacre.memory import Memory
from nacre.model import Workspace
from nacre.vault.discover import is_trusted

OWN = {
    "SOUL.md": "be kind\n",
    "IDENTITY.md": "- **Name:** Xiao Ming\n",
    "skills/cooking/docs/retrospect.md": "salt last\n",
    "src/main.py": "print()\n",
    "projects/shop/README.md": "a shop\n",
}


@pytest.fixture
def full(root: Path) -> Path:
    for name, text in OWN.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
    agents = root / "AGENTS.md"
    agents.write_text("# My rules\n\nNever shout.\n\n" + agents.read_text("utf8"), "utf8")
    with Memory.open(root) as memory:
        memory.remember("The hedge is cut in autumn")
        memory.search("hedge", mode="text")
    return root


def test_what_is_nacres_goes_and_the_users_files_stay(full: Path) -> None:
    destroy.apply_destroy(destroy.plan_destroy(Workspace(full), Config()))
    rest = {name: data.decode() for name, data in everything(full).items()}
    assert rest.pop("AGENTS.md") == "# My rules\n\nNever shout.\n"
    rest.pop(".gitignore")
    assert rest == OWN
    assert not (full / ".nacre").exists()
    assert not is_trusted(full)


def test_the_plan_lists_and_touches_nothing(full: Path) -> None:
    before = everything(full)
    made = destroy.plan_destroy(Workspace(full), Config())
    assert {"MEMORY.md", "projects/shop/MEMORY.md", "memory/", "memory_fs/", ".nacre/"} <= set(made.shown)
    assert everything(full) == before


def test_a_rules_file_that_held_only_ours_goes(root: Path) -> None:
    destroy.apply_destroy(destroy.plan_destroy(Workspace(root), Config()))
    assert sorted(path.name for path in root.iterdir()) == [".gitignore"]


def test_layers_that_lie_elsewhere_stay_and_are_named(full: Path, tmp_path: Path) -> None:
    layers = tmp_path / "elsewhere" / "memory_fs"
    (layers / "hot").mkdir(parents=True)
    (layers / "hot" / "a.md").write_text("A talk about the hedge\n", "utf8")
    made = destroy.plan_destroy(Workspace(full), Config(tiers=TierSettings(path=str(layers))))
    assert made.kept_tiers == layers
    destroy.apply_destroy(made)
    assert (layers / "hot" / "a.md").exists()


def test_what_a_link_leads_to_stays(full: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("somebody's\n", "utf8")
    (full / "memory" / "linked").symlink_to(outside)
    (full / "memory_fs").rename(tmp_path / "layers")
    (full / "memory_fs").symlink_to(tmp_path / "layers")
    destroy.apply_destroy(destroy.plan_destroy(Workspace(full), Config()))
    assert not (full / "memory_fs").is_symlink()
    assert (outside / "a.md").exists()
    assert (tmp_path / "layers" / "warm" / "talk.md").exists()


def test_doing_it_again_removes_what_an_interrupted_one_left(full: Path) -> None:
    made = destroy.plan_destroy(Workspace(full), Config())
    destroy._remove(full / "memory")
    destroy._remove(full / ".nacre")
    destroy.apply_destroy(destroy.plan_destroy(Workspace(full), Config()))
    destroy.apply_destroy(made)
    assert not (full / "MEMORY.md").exists()
    assert (full / "SOUL.md").exists()


def test_nothing_goes_through_a_link(full: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "empty").mkdir(parents=True)
    (outside / "layers" / "hot").mkdir(parents=True)
    for name in ("MEMORY.md", "layers/hot/a.md", "empty/MEMORY.md"):
        (outside / name).write_text("- somebody's\n", "utf8")
    (full / "projects" / "x").symlink_to(outside)
    (full / "way").symlink_to(outside)
    before = everything(outside)
    made = destroy.plan_destroy(Workspace(full), Config(tiers=TierSettings(path="way/layers")))
    assert not any("x/" in path or "way" in path for path in made.shown)
    destroy.apply_destroy(made)
    assert everything(outside) == before
    (full / "projects" / "x").unlink()
    (full / "projects" / "shop" / "README.md").unlink()
    (full / "projects" / "shop").rmdir()
    (full / "projects").rmdir()
    (full / "projects").symlink_to(outside)
    (outside / "hollow").mkdir()
    destroy.apply_destroy(destroy.plan_destroy(Workspace(full), Config()))
    assert everything(outside) == before
    assert (outside / "hollow").is_dir()


def test_a_folder_that_became_a_link_after_the_plan_is_not_followed(full: Path, tmp_path: Path) -> None:
    made = destroy.plan_destroy(Workspace(full), Config())
    (full / "projects" / "shop").rename(tmp_path / "shop")
    (full / "projects" / "shop").symlink_to(tmp_path / "shop")
    destroy.apply_destroy(made)
    assert (tmp_path / "shop" / "MEMORY.md").exists()


def test_of_a_folder_that_was_named_for_layers_only_the_layers_go(full: Path) -> None:
    (full / "src" / "hot").mkdir()
    (full / "src" / "hot" / "a.md").write_text("A talk\n", "utf8")
    destroy.apply_destroy(destroy.plan_destroy(Workspace(full), Config(tiers=TierSettings(path="src"))))
    assert sorted(path.name for path in (full / "src").iterdir()) == ["main.py"]


def test_a_file_of_the_users_own_is_kept(full: Path) -> None:
    own = f"# Me\n\n- {FACT}\n- I was born on a ship in the Baltic\n"
    (full / "USER.md").write_text(own, "utf8")
    destroy.apply_destroy(destroy.plan_destroy(Workspace(full), Config()))
    assert (full / "USER.md").read_text("utf8") == own
