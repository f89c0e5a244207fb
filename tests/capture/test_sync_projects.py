"""Which project, which agent's workspace: each talk goes where it belongs."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace

import pytest
from tests.capture.talks import Desk, Said

from nacre.model import Workspace
from nacre.sources.registry import belongs_to

SAID: tuple[Said, ...] = (("2026-03-02 09:00", "user", "alpha"), ("2026-03-02 09:05", "user", "beta"))


def stamp(desk: Desk, cwd: str) -> str:
    desk.claude(*SAID, cwd=cwd)
    (section,) = desk.sync().sections
    return section.heading.removeprefix("09:05 session:61871d67 | 2 messages")


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("/work/shop-api", " | project:shop-api"),
        ("/work/Shop API/", " | project:shop-api"),
        ("/work/店铺", " | project:店铺"),
        ("C:\\Users\\ada\\shop", " | project:shop"),
        ("/", ""),
        ("", ""),
    ],
)
def test_a_folder_is_a_project(desk: Desk, cwd: str, expected: str) -> None:
    assert stamp(desk, cwd) == expected


def test_a_folder_of_a_repository_belongs_to_the_whole_of_it(desk: Desk) -> None:
    (desk.home / "shop" / ".git").mkdir(parents=True)
    assert stamp(desk, str(desk.home / "shop" / "api" / "gone")) == " | project:shop"


def test_another_working_tree_is_the_same_project(desk: Desk) -> None:
    repository, tree = desk.home / "shop", desk.home / "trees" / "quick-fix"
    for command in (
        ("init", "-q", str(repository)),
        (
            "-C",
            str(repository),
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ),
        ("-C", str(repository), "worktree", "add", "-q", str(tree)),
    ):
        subprocess.run(["git", *command], check=True, capture_output=True)
    assert stamp(desk, str(tree)) == " | project:shop"


def test_the_home_folder_is_no_project_also_when_it_is_kept_in_git(desk: Desk) -> None:
    (desk.home / ".git").mkdir()
    assert stamp(desk, str(desk.home)) == ""
    desk.claude(*SAID, session="b1871d67-1", cwd=str(desk.home / "letters"))
    (section,) = desk.sync().sections
    assert section.heading.endswith("| project:letters")


def test_a_project_that_names_its_folder_is_called_by_its_own_name(desk: Desk) -> None:
    path = desk.workspace.project("web-shop")
    path.parent.mkdir(parents=True)
    path.write_text("# Long-Term Memory\n\n> Project: /work/shop\n", "utf8")
    assert stamp(desk, "/work/shop/api") == " | project:web-shop"


def test_what_is_said_to_openclaw_in_its_workspace_is_about_everything(desk: Desk) -> None:
    desk.openclaw(*SAID, cwd=str(desk.workspace.root))
    (section,) = desk.sync().sections
    assert "project" not in section.heading


def test_each_agents_talks_go_to_its_own_workspace_and_all_else_to_the_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = desk.home / "agents" / "x" / ".openclaw"  # a folder further up that is called "agents" too
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(state))
    desk.env["OPENCLAW_STATE_DIR"] = str(state)
    agents = {"list": [{"id": "main", "default": True, "workspace": str(desk.home / "ws")}]}
    agents["list"].append({"id": "work", "workspace": str(desk.home / "ws-work")})
    state.mkdir(parents=True)
    (state / "openclaw.json").write_text(json.dumps({"agents": agents}), "utf8")
    for agent in ("main", "work", "unlisted"):
        desk.openclaw(*SAID, session=f"{agent}-session", agent=agent)
        (state / "agents").mkdir(exist_ok=True)
        (desk.home / ".openclaw" / "agents" / agent).rename(state / "agents" / agent)
    desk.claude(*SAID)
    work = Workspace(desk.home / "ws-work")
    work.memory.mkdir(parents=True)

    def taken(workspace: Workspace) -> list[str]:
        context = replace(desk.setting("2026-03-09").context, workspace=workspace)
        report = desk.sync(context=context, wanted=belongs_to(workspace, desk.config))
        return sorted(section.session for section in report.sections)

    assert taken(work) == ["work-session"]
    assert taken(desk.workspace) == ["61871d67-1111-4222-8333-444455556666", "main-session", "unlisted-session"]
