from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nacre.clock import Clock
from nacre.config.settings import Config, user_config_folder
from nacre.errors import NoWorkspace
from nacre.vault.create import init
from nacre.vault.discover import (
    Discovered,
    find_workspace,
    is_trusted,
    trust_workspace,
    trusted_workspaces,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def made(path: Path) -> Path:
    (path / ".nacre").mkdir(parents=True)
    return path


def look(
    home: Path, cwd: Path | None = None, named: str | None = None, config: Config | None = None, **env: str
) -> Discovered:
    return find_workspace(named, config=config, env=env, home=home, cwd=cwd or home)


def test_the_order_in_which_places_are_tried(home: Path, tmp_path: Path) -> None:
    a, b, c, d, e = (made(tmp_path / name) for name in "abcde")
    openclaw, own = home / ".openclaw" / "workspace", made(home / ".nacre" / "workspace")
    trust_workspace(d)
    config = Config(workspace=str(e))
    env = {"NACRE_WORKSPACE": str(b), "OPENCLAW_WORKSPACE": str(c)}
    assert look(home, d, str(a), config, **env).workspace.root == a
    assert look(home, d, None, config, **env).workspace.root == b
    del env["NACRE_WORKSPACE"]
    assert look(home, d, None, config, **env).workspace.root == c
    assert look(home, d, None, config).workspace.root == d
    assert look(home, None, None, config).workspace.root == e
    assert look(home).workspace.root == own
    openclaw.mkdir(parents=True)
    found = look(home)
    assert (found.workspace.root, found.origin) == (openclaw, "openclaw")


def settle_openclaw(home: Path, text: str) -> None:
    (home / ".openclaw").mkdir(exist_ok=True)
    (home / ".openclaw" / "openclaw.json").write_text(text, "utf8")


def test_openclaws_own_workspace_is_the_one_that_its_settings_name(home: Path, tmp_path: Path) -> None:
    made(home / ".nacre" / "workspace")
    (home / ".openclaw" / "workspace").mkdir(parents=True)
    first, second = made(tmp_path / "first"), made(tmp_path / "second")
    for settings, expected in (
        (f'{{agents: {{defaults: {{workspace: "{first}"}}}}}}', first),
        (f'{{agents: {{list: [{{id: "a", workspace: "{first}"}}, {{id: "b", workspace: "{second}"}}]}}}}', first),
        (f'{{agents: {{list: [{{id: "a"}}, {{id: "b", default: true, workspace: "{second}"}}]}}}}', second),
        ('{agents: {list: [{id: "main"}, {id: "b"}]}}', home / ".openclaw" / "workspace"),
        ("{}", home / ".openclaw" / "workspace"),
    ):
        settle_openclaw(home, settings)
        found = look(home)
        assert (found.workspace.root, found.origin) == (expected, "openclaw")


def test_the_state_folder_of_openclaw_may_lie_elsewhere(home: Path, tmp_path: Path) -> None:
    (tmp_path / "state" / "workspace").mkdir(parents=True)
    assert look(home, OPENCLAW_STATE_DIR=str(tmp_path / "state")).workspace.root == tmp_path / "state" / "workspace"


def test_agents_without_a_default_workspace_are_enough(home: Path, tmp_path: Path) -> None:
    place = made(tmp_path / "work")
    settle_openclaw(home, f'{{agents: {{list: [{{id: "main"}}, {{id: "work", workspace: "{place}"}}]}}}}')
    assert look(home).workspace.root == place
    settle_openclaw(home, "{}")
    config = Config(agents={"gone": str(tmp_path / "gone"), "work": str(place)})
    found = look(home, config=config)
    assert (found.workspace.root, found.origin) == (place, "settings")
    own = made(home / ".nacre" / "workspace")
    assert look(home, config=config).workspace.root == own


def test_an_untrusted_workspace_above_is_passed_over_with_a_note(home: Path, tmp_path: Path) -> None:
    outer = made(tmp_path / "outer")
    clone = made(outer / "clone")
    deep = clone / "src" / "deep"
    deep.mkdir(parents=True)
    own = made(home / ".nacre" / "workspace")
    found = look(home, deep)
    assert found.workspace.root == own
    assert [problem.path for problem in found.problems] == [str(clone), str(outer)]
    assert found.problems[0].remedy == f"nacre trust {clone}"
    trust_workspace(outer)
    found = look(home, deep)
    assert (found.workspace.root, found.origin) == (outer, "parent")
    assert [problem.path for problem in found.problems] == [str(clone)]


def test_the_folder_of_the_default_workspace_makes_no_workspace_of_the_home(home: Path) -> None:
    own = made(home / ".nacre" / "workspace")
    below = home / "code"
    below.mkdir()
    trust_workspace(home)
    found = look(home, below)
    assert found.workspace.root == own
    assert not found.problems
    with pytest.raises(NoWorkspace):
        look(home, named=str(home))


def test_a_home_folder_that_was_made_a_workspace_is_one(home: Path) -> None:
    made(home / ".nacre" / "workspace")
    init(home, Clock())
    assert look(home).workspace.root == home


def test_a_place_that_is_no_workspace_is_named_with_a_remedy(home: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(NoWorkspace, match=f"nacre init {empty}"):
        look(home, None, str(empty))
    with pytest.raises(NoWorkspace, match="nacre up"):
        look(home)
    with pytest.raises(NoWorkspace, match="nacre trust"):
        look(home, made(tmp_path / "clone"))


def test_an_agents_folder_is_a_workspace_once_named(home: Path) -> None:
    place = home / "agent"
    (place / "memory").mkdir(parents=True)
    assert look(home, None, "~/agent").workspace.root == place
    assert look(home, home, "agent").workspace.root == place


def test_trust_is_remembered_by_real_path_and_can_be_taken_back(tmp_path: Path) -> None:
    place, link = made(tmp_path / "ws"), tmp_path / "link"
    link.symlink_to(place)
    trust_workspace(link)
    trust_workspace(place)
    assert trusted_workspaces() == (os.path.realpath(place),)
    assert is_trusted(place)
    assert not is_trusted(place / "inside")
    assert stat.S_IMODE((user_config_folder() / "trusted.json").stat().st_mode) == 0o600
    trust_workspace(place, trust=False)
    assert not is_trusted(link)


@pytest.mark.parametrize("text", ["", "nonsense", "[]", '{"trusted": 3}', '{"trusted": [3, null]}'])
def test_a_broken_list_trusts_nobody_and_is_mended(tmp_path: Path, text: str) -> None:
    user_config_folder().mkdir(parents=True)
    (user_config_folder() / "trusted.json").write_text(text)
    assert not is_trusted(tmp_path)
    trust_workspace(tmp_path)
    assert is_trusted(tmp_path)
