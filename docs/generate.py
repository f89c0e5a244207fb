"""Writes what the code itself can tell: docs/cli.md, docs/settings.md, and the words of OpenClaw's plugin. Run it after changing these."""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from nacre.cli.main import cli
from nacre.config.settings import FlushSettings, Setting, known_settings
from nacre.hooks import FORCED_AT
from nacre.i18n import language, use_language
from nacre.layers.flush import flush_prompts
from nacre.mcp.tools import tools
from nacre.vault import rules as vault_rules

HERE = Path(__file__).resolve().parent
WIDTH = 100
PLUGINS = HERE.parent / "src" / "nacre" / "plugins"
_MADE = "<!-- Written by docs/generate.py; change the code, then run it again. -->\n"


def pages() -> Mapping[str, str]:
    """Every page by its file name."""
    return {"cli.md": commands_page(), "settings.md": settings_page()}


def commands() -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command and subcommand with its full name, the root first."""
    root = cli.make_context("nacre", [], resilient_parsing=True, terminal_width=WIDTH)
    yield from _below("nacre", cli, root)


def _below(
    name: str, command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield name, command, context
    if isinstance(command, click.Group):
        for one in command.list_commands(context):
            inner = command.get_command(context, one)
            assert inner is not None
            yield from _below(
                f"{name} {one}", inner, inner.make_context(one, [], parent=context, resilient_parsing=True)
            )


def commands_page() -> str:
    parts = [_MADE, "# Commands\n", _COMMANDS]
    for name, command, context in commands():
        parts += [f"## {name}\n", f"```text\n{command.get_help(context).rstrip()}\n```\n"]
    return "\n".join(parts)


def settings_page() -> str:
    known = known_settings().values()
    rows = ["| key | default | environment | may be set in | meaning |", "|---|---|---|---|---|"]
    rows += [
        f"| `{one.key}` | {_default(one)} | `{one.variable}` | {_places(one)} | {_meaning(one)} |" for one in known
    ]
    return "\n".join([_MADE, "# Settings\n", _SETTINGS, "\n".join(rows), "", _VARIABLES])


def _default(one: Setting) -> str:
    if one.default is None:
        return "unset"
    return f"`{one.default if isinstance(one.default, str) else json.dumps(one.default)}`"


def _places(one: Setting) -> str:
    return "user file, workspace file" if one.shared else "user file"


def _meaning(one: Setting) -> str:
    choices = f" (one of {', '.join(f'`{choice}`' for choice in one.choices)})" if one.choices else ""
    least = f" (at least {one.least:g})" if one.least else ""
    return one.meaning.replace("|", "\\|") + choices + least


_COMMANDS = """\
Results go to stdout, progress and notes to stderr. Everything that reads takes `--json`; everything that changes memory or settings
takes `--dry-run`, but for `up`, `trust`, `models install` and `doctor --fix`. `--workspace`, `--now`, `--agent` and `--scope` may stand
before or after the verb, or come from the environment as `NACRE_WORKSPACE` and so on; any other option can be given as
`NACRE_COMMAND_OPTION`, such as `NACRE_SEARCH_LIMIT=3`. `python -m nacre` is the same as `nacre`.

| exit code | meaning |
|---|---|
| 0 | done; a search that found nothing is done too |
| 1 | failed: the sentence says what, and what to do; also a `recall` or `cache get` that found nothing |
| 2 | an argument, query, setting or path that cannot be used |
| 3 | partly done; the sentence says what was not |
| 10 | no workspace |
| 11 | another command holds the workspace |
| 12 | a file was changed by someone else meanwhile |
| 13 | a secret was refused |
| 130 | interrupted |
"""

_SETTINGS = """\
Settings are TOML, in layers: defaults, then the user's file, then the workspace's `.nacre/config.toml`, then the environment.
The later one wins. `nacre config` lists all of them with the value in force and where it came from, `nacre config set KEY VALUE`
changes one and leaves the rest of the file as it was; an empty value takes it back.

The user's file is `~/.config/nacre/config.toml` on Linux, in the usual place for settings elsewhere; `NACRE_CONFIG_FILE` names
another. A workspace's own file may have come with a clone, so it can set only what the table allows: nothing that sends text
somewhere, reads a key, or loosens a limit. Anything else in it is ignored, and `nacre doctor` says so.
"""

_ABOUT = "Look up and keep memories: past work, decisions, dates, people, preferences, todos. 查找和记录记忆：以往的工作、决定、人物、偏好、待办。"
_OPENCLAW = f"""\
---
name: nacre
description: "{_ABOUT}"
metadata: {{ "openclaw": {{ "emoji": "🐚", "requires": {{ "bins": ["nacre"] }} }} }}
---
"""
_CLAUDE_CODE = f"""\
---
name: nacre
description: "{_ABOUT}"
---
"""
_EVERYDAY = {
    "en": """\
Commands, each with `--help`; those that read take `--json`, those that change something take `--dry-run`:

    nacre search "who owns billing?" -n 5 --since 30d
    nacre get memory/2026-02-10.md:14 -l 20
    nacre remember "Use pnpm, never npm, in this repository" --type PREF
    nacre forget ID            only when the user asks; nacre undo reverts it
    nacre why ID               where a memory comes from
    nacre sync                 capture new conversations into the daily logs
    nacre status               the state of memory; nacre doctor shows what is wrong

Exit code 13 means that a secret was refused: do not rephrase it and try again. In a group chat, add `--scope group:NAME`: only search, get and context work there.
""",
    "zh": """\
命令，均可加 `--help`；读取类可加 `--json`，修改类可加 `--dry-run`：

    nacre search "谁负责账单？" -n 5 --since 30d
    nacre get memory/2026-02-10.md:14 -l 20
    nacre remember "本仓库只用 pnpm，不用 npm" --type PREF
    nacre forget ID            仅在用户要求时使用；nacre undo 可撤销
    nacre why ID               查看一条记忆的来源
    nacre sync                 把新的会话采集到每日日志
    nacre status               记忆的状态；nacre doctor 会指出问题

退出码 13 表示内容含敏感信息，已被拒绝：不要换个说法再试。群聊中请加 `--scope group:名称`：那里只有 search、get 和 context 可用。
""",
}

_VARIABLES = """\
## Variables that are not settings

| variable | meaning |
|---|---|
| `NACRE_NOW` | act as if it were this moment: an ISO date (its end) or time |
| `NACRE_AGENT` | the agent whose workspace to work on |
| `NACRE_SCOPE` | who listens: `main` or `group:NAME` |
| `OPENCLAW_WORKSPACE` | the workspace, when neither `--workspace` nor `NACRE_WORKSPACE` names one |
| `OPENCLAW_SESSION_ID` | the session of `checkpoint`, `refresh`, `flush` and `cache`, when none is named |
| `NACRE_SESSION`, `CLAUDE_CODE_SESSION_ID`, `CLAUDE_SESSION_ID` | the session of `cache`, when none is named |
| `NACRE_HOOK` | `1`: a [hook](hooks.md) fired from here says and does nothing; set for whatever Nacre itself starts |
| `NACRE_HOOK_DEBUG` | `1`: a hook tells on stderr what went wrong |
| `NACRE_CONFIG_FILE` | the user's settings file |
| `NACRE_MODELS_PATH` | the folder of the embedding models |
| `NACRE_PYTHON` | the Python that `./start` and `./test` make their environment with |
| `OPENAI_API_KEY`, `GEMINI_API_KEY`, `GOOGLE_API_KEY`, `VOYAGE_API_KEY`, `MISTRAL_API_KEY` | keys of embedding services, see [models.md](models.md) |
"""


def plugin_files() -> Mapping[str, str]:
    """What the plugins of agents have of our words, by the path of each file below the folder of plugins."""
    return {
        "openclaw/contract.json": contract(),
        "openclaw/skills/nacre/SKILL.md": skill(_OPENCLAW),
        "claude-code/skills/nacre/SKILL.md": skill(_CLAUDE_CODE),
    }


def skill(head: str) -> str:
    """The rules and the commands for an agent that reads them when it needs them, in both languages."""
    told = [vault_rules.rules_section(one, vault_rules.COMMANDS[one]) for one in ("en", "zh")]
    return f"{head}\n# Nacre\n\n{told[0]}\n{_EVERYDAY['en']}\n{told[1]}\n{_EVERYDAY['zh']}"


# For a prompt that holds the rules already, in AGENTS.md: they are not told twice.
ELSEWHERE = {
    "en": (
        "The rules for memory are in `AGENTS.md`, in the section that Nacre maintains. In this session, use {search}, {get}, {write} and {state} instead of "
        "the commands named there: search first, read only the lines you need, write things down as they happen."
    ),
    "zh": (
        "记忆的规则写在 `AGENTS.md` 中由 Nacre 维护的那一节。本会话中用 {search}、{get}、{write} 和 {state} 代替其中的命令："
        "先搜索，只读需要的几行，当场写下。"
    ),
}


def contract() -> str:
    """What OpenClaw's plugin has of our words, in both languages: tools, rules, and the flush while nobody can be asked."""
    spoken = language()
    told: dict[str, dict[str, Any]] = {"tools": {}, "sections": {}, "flush": {}}
    for tongue in ("en", "zh"):
        use_language(tongue)
        told["tools"][tongue] = [
            {
                "name": one.name,
                "label": one.title,
                "description": one.description,
                "parameters": one.takes,
                "reads": not one.writes,
            }
            for one in tools()
        ]
        told["sections"][tongue] = {
            "private": vault_rules.rules_section(tongue, vault_rules.TOOLS).splitlines(),
            "elsewhere": [vault_rules.TITLE[tongue], "", ELSEWHERE[tongue].format_map(vault_rules.TOOLS)],
            "group": vault_rules.rules_section(tongue, vault_rules.TOOLS, writes=False).splitlines(),
        }
        told["flush"][tongue] = _flush(tongue)
    use_language(spoken)
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


def _flush(tongue: str) -> dict[str, Any]:
    path, settings = "memory/YYYY-MM-DD.md", FlushSettings()
    asked = flush_prompts(path, tongue)
    return {
        "softThresholdTokens": settings.soft_threshold_tokens,
        "reserveTokensFloor": settings.reserve_tokens,
        "forceFlushTranscriptBytes": FORCED_AT,
        "prompt": asked.user,
        "systemPrompt": asked.system,
        "relativePath": path,
    }


def main() -> None:
    for name, text in plugin_files().items():
        (PLUGINS / name).parent.mkdir(parents=True, exist_ok=True)
        (PLUGINS / name).write_text(text, encoding="utf-8")
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
