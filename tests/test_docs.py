"""The documents keep up with the code: what can be generated is fresh, what must be said is said, both READMEs match."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from nacre.config.settings import known_settings
from nacre.search.evidence import FEATURES

ROOT = Path(__file__).resolve().parents[1]
GENERATE: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "generate.py"))
COMMANDS: list[tuple[str, click.Command, click.Context]] = list(GENERATE["commands"]())
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", ["cli.md", "settings.md"])
def test_a_generated_page_is_up_to_date(name: str) -> None:
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == GENERATE["pages"]()[name], "run: .venv/bin/python docs/generate.py"


@pytest.mark.parametrize(("name", "command"), [(name, command) for name, command, _ in COMMANDS])
def test_every_command_shows_an_example_of_itself(name: str, command: click.Command) -> None:
    assert command.epilog
    assert re.search(rf"^Example:  .*{re.escape(name)}", command.epilog)


def test_every_setting_has_a_meaning() -> None:
    assert [one.key for one in known_settings().values() if not one.meaning.strip()] == []


def test_both_readmes_have_the_same_shape() -> None:
    english, chinese = (_shape(ROOT / name) for name in ("README.md", "README.zh-CN.md"))
    assert english == chinese


def test_what_search_goes_by_is_told_as_it_is() -> None:
    told = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \| (?!unset)", told.partition("## The newest")[0], re.MULTILINE) == list(FEATURES)


def test_modules_that_the_architecture_names_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`(\w+(?:/\w+)*\.py)(?::\w+)?`", page)) - {"docs/generate.py"}
    packages = list((ROOT / "src" / "nacre").rglob("*.py"))
    missing = [name for name in names if not any(path.as_posix().endswith(f"/{name}") for path in packages)]
    assert len(names) > 20
    assert missing == []
    folders = {path.name for path in (ROOT / "src" / "nacre").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert [folder for folder in sorted(folders) if f"`{folder}/`" not in page] == []


def test_every_dependency_says_why_it_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = [
        *project["project"]["dependencies"],
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
    ]
    told = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    names = [re.split(r"[<>=;\s]", one)[0] for one in listed]
    assert [name for name in names if f"`{name}`" not in told] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_that_exist(page: Path) -> None:
    assert [link for link in _links(page) if not (page.parent / link).exists()] == []


def _shape(page: Path) -> dict[str, list[str]]:
    """The levels of the headings in order, and the languages of the code blocks in order."""
    headings: list[str] = []
    fences: list[str] = []
    inside = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = not inside
            fences += [line[3:]] if inside else []
        elif not inside and line.startswith("#"):
            headings.append(line.split(" ")[0])
    return {"headings": headings, "code blocks": fences}


def _links(page: Path) -> Iterator[str]:
    written = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", written) + re.findall(r'src(?:set)?="([^"]+)"', written):
        if "://" not in link and not link.startswith("#"):
            yield link.partition("#")[0]
