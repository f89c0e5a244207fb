"""What the plugins of agents declare is true: versions, files, tools, words."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from nacre import __version__

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "src" / "nacre" / "plugins"
OPENCLAW, CLAUDE_CODE = PLUGINS / "openclaw", PLUGINS / "claude-code"
GENERATE: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "generate.py"))


def told(path: Path) -> Any:
    return json.loads(path.read_text("utf8"))


@pytest.mark.parametrize("name", sorted(GENERATE["plugin_files"]()))
def test_what_is_made_from_the_code_is_up_to_date(name: str) -> None:
    assert (PLUGINS / name).read_text("utf8") == GENERATE["plugin_files"]()[name], (
        "run: .venv/bin/python docs/generate.py"
    )


def test_the_plugins_have_the_version_of_nacre() -> None:
    assert told(OPENCLAW / "package.json")["version"] == __version__
    assert told(CLAUDE_CODE / ".claude-plugin" / "plugin.json")["version"] == __version__


def test_openclaw_is_told_of_every_tool_before_the_plugin_runs() -> None:
    tools = [one["name"] for one in told(OPENCLAW / "contract.json")["tools"]["en"]]
    assert told(OPENCLAW / "openclaw.plugin.json")["contracts"]["tools"] == tools


def test_the_plugin_of_openclaw_names_files_that_are_there() -> None:
    package, manifest = told(OPENCLAW / "package.json"), told(OPENCLAW / "openclaw.plugin.json")
    assert (manifest["id"], manifest["kind"]) == ("nacre", "memory")
    for name in (*package["files"], *package["openclaw"]["extensions"], *manifest["skills"]):
        assert (OPENCLAW / name).exists()


def test_both_languages_have_the_same_tools_and_arguments() -> None:
    english, chinese = (told(OPENCLAW / "contract.json")["tools"][tongue] for tongue in ("en", "zh"))
    for one, other in zip(english, chinese, strict=True):
        assert (one["name"], one["reads"]) == (other["name"], other["reads"])
        assert one["parameters"]["properties"].keys() == other["parameters"]["properties"].keys()
        assert re.search(r"[\u4e00-\u9fff]", other["description"])


@pytest.mark.parametrize("plugin", [OPENCLAW, CLAUDE_CODE])
def test_a_skill_says_in_one_line_when_it_is_wanted(plugin: Path) -> None:
    head = (plugin / "skills" / "nacre" / "SKILL.md").read_text("utf8").split("---\n")[1]
    (about,) = re.findall(r'^description: "(.*)"$', head, re.MULTILINE)
    assert "name: nacre\n" in head
    assert len(about) < 160


def test_the_skill_of_openclaw_is_offered_only_where_nacre_is() -> None:
    head = (OPENCLAW / "skills" / "nacre" / "SKILL.md").read_text("utf8").split("---\n")[1]
    (about,) = re.findall(r"^metadata: (.*)$", head, re.MULTILINE)
    assert json.loads(about)["openclaw"]["requires"] == {"bins": ["nacre"]}


def test_every_hook_of_claude_code_runs_the_launcher_and_has_an_end() -> None:
    hooks = told(CLAUDE_CODE / "hooks" / "hooks.json")["hooks"]
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"}
    for event, (entry,) in hooks.items():
        (hook,) = entry["hooks"]
        assert hook["command"] == f'sh "${{CLAUDE_PLUGIN_ROOT}}/scripts/nacre.sh" hook {event} --agent claude-code'
        assert hook["timeout"] <= 10


def test_the_marketplace_leads_to_the_plugin() -> None:
    (entry,) = told(ROOT / ".claude-plugin" / "marketplace.json")["plugins"]
    assert (ROOT / entry["source"]).resolve() == CLAUDE_CODE
    assert entry["name"] == told(CLAUDE_CODE / ".claude-plugin" / "plugin.json")["name"]


def test_a_wheel_holds_every_file_of_the_plugins() -> None:
    builders = pytest.importorskip("hatchling.builders.wheel", reason="hatchling builds wheels elsewhere")
    packed = {one.distribution_path for one in builders.WheelBuilder(str(ROOT)).recurse_included_files()}
    files = {f"nacre/plugins/{one.relative_to(PLUGINS).as_posix()}" for one in PLUGINS.rglob("*") if one.is_file()}
    assert files
    assert files <= packed
