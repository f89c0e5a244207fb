"""Writes the pages that the code itself can tell: docs/cli.md and docs/settings.md. Run it after changing either."""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from nacre.cli.main import cli
from nacre.config import Known, known_settings

HERE = Path(__file__).resolve().parent
WIDTH = 100
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


def _default(one: Known) -> str:
    if one.default is None:
        return "unset"
    return f"`{one.default if isinstance(one.default, str) else json.dumps(one.default)}`"


def _places(one: Known) -> str:
    return "user file, workspace file" if one.shared else "user file"


def _meaning(one: Known) -> str:
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
| `NACRE_CONFIG_FILE` | the user's settings file |
| `NACRE_MODELS_PATH` | the folder of the embedding models |
| `NACRE_PYTHON` | the Python that `./start` and `./test` make their environment with |
| `OPENAI_API_KEY`, `GEMINI_API_KEY`, `GOOGLE_API_KEY`, `VOYAGE_API_KEY`, `MISTRAL_API_KEY` | keys of embedding services, see [models.md](models.md) |
"""


def main() -> None:
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
