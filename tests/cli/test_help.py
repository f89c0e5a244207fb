from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nacre.cli.main import COMMANDS, FRONT, GROUPS, cli
from nacre.cli.ui import chinese_help, command_name
from nacre.i18n import use_language
from nacre.text.layout import width_of


def nacre(*arguments: str, language: str = "en", **env: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NACRE_LANGUAGE": language, "COLUMNS": "80", **env}
    environment = {name: value for name, value in environment.items() if value}
    command = [sys.executable, "-m", "nacre", *arguments]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf8", env=environment, check=False)


def contexts(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner
            yield from contexts(inner, inner.make_context(name, [], parent=context, resilient_parsing=True))


ROOT = cli.make_context("nacre", [], resilient_parsing=True, terminal_width=80)
PAGES = list(contexts(cli, ROOT))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_fits_one_screen(language: str) -> None:
    lines = nacre("--help", language=language).stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(width_of, lines)) <= 80
    for name in list(COMMANDS)[:FRONT]:
        assert any(line.startswith(f"  {name} ") for line in lines)


def test_every_command_is_in_front_or_in_exactly_one_group() -> None:
    grouped = [name for *_, names in GROUPS for name in names.split()]
    assert sorted([*list(COMMANDS)[:FRONT], *grouped]) == sorted(COMMANDS)
    assert list(COMMANDS)[:FRONT] == "up connect search remember forget review why undo status tidy".split()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_of_help_fits_the_width(language: str) -> None:
    use_language(language)
    for context in PAGES:
        for line in context.command.get_help(context).splitlines():
            assert width_of(line) <= 80 or "[" in line, (
                f"{context.command_path}: {line}"
            )  # but for long lists of choices


def test_every_command_and_option_is_explained_in_chinese() -> None:
    use_language("zh")
    told = chinese_help()
    missing: list[str] = []
    for context in PAGES:
        name, command = command_name(context), context.command
        options = [max(p.opts, key=len) for p in command.params if isinstance(p, click.Option) and not p.hidden]
        missing += [f"{name} {option}" for option in options if f"{name} {option}" not in told and option not in told]
        paragraphs = (command.help or "").strip().count("\n\n")
        missing += [] if told.get(name, "").count("\n\n") == paragraphs and name in told else [name]
    assert missing == []


def test_help_of_a_command_is_the_same_either_way() -> None:
    assert nacre("help", "jobs", "run").stdout == nacre("jobs", "run", "--help").stdout
    assert nacre("help", "serch").returncode == 2
    listed = nacre("help", "--all").stdout
    assert all(f"\n  {name} " in listed for name in COMMANDS)
    assert "每日日志" in nacre("help", "--all", language="zh").stdout


def test_a_mistyped_command_or_option_is_guessed() -> None:
    wrong = nacre("serch", "x")
    assert wrong.returncode == 2
    assert 'Did you mean "search"' in wrong.stderr
    assert 'Did you mean "remember"' in nacre("add", "x").stderr
    assert "“search”" in nacre("serch", "x", language="zh").stderr
    wrong = nacre("search", "--limt", "3", "x", language="zh")
    assert wrong.returncode == 2
    assert "“--limit”" in wrong.stderr
    assert "Usage" not in wrong.stderr


def test_help_speaks_the_language_of_the_users_settings(tmp_path: Path) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text('language = "zh"\n', encoding="utf8")
    assert "智能体" in nacre("--help", language="", NACRE_CONFIG_FILE=str(settings)).stdout
    assert "智能体" not in nacre("--help", NACRE_CONFIG_FILE=str(settings)).stdout
