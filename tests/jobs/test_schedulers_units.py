"""What is written for systemd, launchd and cron says exactly what was meant, whatever the paths are called."""

from __future__ import annotations

import datetime as dt
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.standins import World

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, SecretRefused
from nacre.jobs.installer import Machine, Setup
from nacre.jobs.schedulers import cron_line, exec_line, plan_install, property_lists, systemd_units
from nacre.memory import Memory
from nacre.model import Context, Workspace

ODD = 'it\'s 100% "mine" $HOME ${x} \\n `date` 记忆 ;&|#~'
words = st.text(st.characters(exclude_categories=("C", "Zl", "Zp", "Zs")) | st.just(" "), min_size=1, max_size=30)


def at(here: World, name: str) -> Setup:
    root = here.folder / name
    return replace(
        here.setup, memory=Memory(Context(Workspace(root), here.setup.memory.config, here.setup.memory.clock))
    )


def systemd_words(line: str) -> list[str]:
    """A command line as systemd reads it: quotes, C escapes, %% and $$; a lone % or $ would be filled in."""
    found: list[str] = []
    for quoted, bare in re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', line):
        text = (
            re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), quoted) if quoted else bare
        )
        for sign in "%$":
            assert text.replace(sign * 2, "").count(sign) == 0, text
        found.append(text.replace("%%", "%").replace("$$", "$"))
    return found


@given(st.lists(words, min_size=1, max_size=6))
def test_systemd_reads_back_the_command_that_was_meant(given_words: list[str]) -> None:
    assert systemd_words(exec_line(("/usr/bin/python", *given_words))) == ["/usr/bin/python", *given_words]


def test_a_program_with_a_dollar_in_its_path_is_started_by_env() -> None:
    assert systemd_words(exec_line(("/opt/a$b/python", "x"))) == ["/usr/bin/env", "/opt/a$b/python", "x"]


@given(words)
def test_cron_and_the_shell_read_back_the_command_that_was_meant(name: str) -> None:
    setup = _somewhere(f"/home/{name}")
    line = cron_line(setup)
    assert not re.search(r"(?<!\\)%", line)
    assert shlex.split(line.replace("\\%", "%")) == [*setup.command(), ">/dev/null", "2>&1"]


@given(words)
def test_launchd_reads_back_the_command_that_was_meant(name: str) -> None:
    setup = _somewhere(f"/home/{name}")
    for data in property_lists(setup).values():
        assert plistlib.loads(data)["ProgramArguments"][-1] == setup.root


def _somewhere(root: str) -> Setup:
    clock = Clock(dt.UTC, dt.datetime(2026, 3, 20, tzinfo=dt.UTC))
    return Setup(
        Memory(Context(Workspace(Path(root)), Config(), clock)), Machine({}, Path("/home"), "linux", sys.executable)
    )


def test_the_shell_itself_hands_an_odd_path_on_unchanged(here: World) -> None:
    setup = at(here, ODD)
    program = here.folder / "bin" / "echoes"
    program.write_text("#!/bin/sh\nfor one; do last=$one; done; printf '%s' \"$last\" > out\n", "utf-8")
    program.chmod(0o755)
    line = cron_line(setup).replace("\\%", "%").replace(shlex.quote(setup.machine.python), str(program))
    subprocess.run(["/bin/sh", "-c", line], cwd=here.kept, check=True)
    assert (here.kept / "out").read_text("utf-8") == setup.root


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@pytest.mark.parametrize("name", ["plain", ODD, "ends with backslash \\"])
def test_systemd_itself_finds_nothing_wrong_with_our_units(here: World, name: str) -> None:
    setup = at(here, name)
    units = systemd_units(setup)
    assert len(units) == 2
    for unit, data in units.items():
        (here.kept / unit).write_bytes(data)
    paths = [str(here.kept / unit) for unit in units]
    command = ["systemd-analyze", "verify", "--man=no", "--user", *paths]
    env = {"HOME": str(here.home), "XDG_RUNTIME_DIR": str(here.kept)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert "Failed to initialize" not in done.stderr
    assert [line for line in done.stderr.splitlines() if setup.mark in line] == []


def test_a_timer_looks_every_few_minutes_for_what_is_due(here: World) -> None:
    setup = here.setup
    units = {name: data.decode() for name, data in systemd_units(setup).items()}
    assert "\nOnCalendar=*:0/5\n" in units[f"nacre@{setup.mark}.timer"]
    service = units[f"nacre@{setup.mark}.service"]
    line = next(line for line in service.splitlines() if line.startswith("ExecStart=")).removeprefix("ExecStart=")
    assert systemd_words(line) == list(setup.command())
    assert setup.command()[-4:] == ("run", "--due", "--workspace", setup.root)
    assert setup.command("memory-tidy")[-5:] == ("run", "memory-tidy", "--due", "--workspace", setup.root)


def test_two_workspaces_have_names_of_their_own(here: World) -> None:
    assert not {*systemd_units(at(here, "one"))} & {*systemd_units(at(here, "two"))}


def test_only_places_are_carried_over_from_the_shell_and_never_a_key(here: World) -> None:
    secret = "sk-proj-" + "a1B2c3D4e5" * 4
    env = {
        **here.machine.env,
        "NACRE_CONFIG_FILE": "/etc/my nacre.toml",
        "OPENAI_API_KEY": secret,
        "NACRE_EMBED_MODEL": "x",
    }
    setup = here.on(env=env).setup
    text = b"".join(systemd_units(setup).values()).decode() + cron_line(setup)
    assert 'Environment="NACRE_CONFIG_FILE=/etc/my nacre.toml"\n' in text
    assert "env 'NACRE_CONFIG_FILE=/etc/my nacre.toml' " in text
    assert secret not in text
    assert "NACRE_EMBED" not in text
    with pytest.raises(SecretRefused):
        systemd_units(here.on(env={**env, "NACRE_CONFIG_FILE": secret}).setup)


def test_a_path_with_a_line_break_is_refused(here: World) -> None:
    with pytest.raises(BadInput, match="rename"):
        plan_install(at(here, "two\nlines"))
    plan_install(at(here, f"{ODD}\u3000\u00a0"))
