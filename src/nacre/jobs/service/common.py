"""What every kind of service shares: the machine it is set up on, the steps of setting it up, and taking them back when one fails."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from unicodedata import category

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput, ChangedOutside, NacreError
from nacre.jobs import schedule
from nacre.jobs.service.times import Times, parse
from nacre.vault import atomic
from nacre.vault.workspace import Workspace
from nacre.words import language, say

# Where things lie, which a scheduler would not know. Never a key: what is not named here stays in the shell.
CARRIED = (
    "NACRE_CONFIG_FILE",
    "NACRE_MODELS_PATH",
    "NACRE_TIMEZONE",
    "NACRE_LANGUAGE",
    "XDG_CONFIG_HOME",
    "OPENCLAW_STATE_DIR",
    "OPENCLAW_CONFIG_PATH",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
)
_MOST_TOLD = 600  # characters of a failed command's output


@dataclass(frozen=True)
class Machine:
    """The computer as a service sees it; a test gives it a PATH and a home of its own."""

    env: Mapping[str, str]
    home: Path
    platform: str
    python: str

    def has(self, program: str) -> bool:
        return self.where(program) is not None

    def where(self, program: str) -> str | None:
        return shutil.which(program, path=self.env.get("PATH", os.defpath))


def this_machine() -> Machine:
    return Machine(dict(os.environ), Path.home(), sys.platform, sys.executable)


@dataclass(frozen=True)
class Setup:
    """For which workspace, by which settings, on which machine."""

    workspace: Workspace
    config: Config
    clock: Clock
    machine: Machine

    @property
    def root(self) -> str:
        return os.path.realpath(self.workspace.root)

    @property
    def mark(self) -> str:
        """What tells the entries of this workspace from those of others."""
        return hashlib.sha256(os.fsencode(self.root)).hexdigest()[:8]

    @property
    def language(self) -> str:
        return self.config.language if self.config.language in ("en", "zh") else language()

    def times(self, job: str) -> tuple[Times, ...]:
        return tuple(parse(one) for one in schedule.expressions(self.config, job))

    def jobs(self) -> tuple[str, ...]:
        """The jobs that have times at all."""
        return tuple(name for name in schedule.NAMES if schedule.expressions(self.config, name))

    def command(self, job: str) -> tuple[str, ...]:
        """The command that runs a job unless its time was run for, by the daemon or by hand; the heartbeat runs whatever is due: what
        was missed, failed, or came in the way of another. -P: a folder named nacre in the home folder must not be taken for us."""
        what = ("--due",) if job == schedule.HEARTBEAT else (job, "--due")
        return (self.machine.python, "-P", "-m", "nacre", "jobs", "run", *what, "--workspace", self.root)

    def carried(self) -> dict[str, str]:
        """The variables that the job needs to find what the user's shell finds."""
        from nacre.guard.secrets import refuse_secrets

        found = {name: value for name in CARRIED if (value := self.machine.env.get(name))}
        for value in found.values():
            refuse_secrets(value)
        return found


def check_paths(setup: Setup) -> None:
    """Refuse what no scheduler can be told safely: line breaks and other control characters in a path or a value."""
    for text in (*setup.command(""), *setup.carried().values()):
        if any(category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in text):
            raise BadInput(
                say(
                    f"{text!r} holds a line break or another character that no scheduler takes; rename it first.",
                    f"{text!r} 含有换行或计划程序无法接受的字符；请先改名。",
                )
            )


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def run(machine: Machine, command: Sequence[str], given: str | None = None, *, timeout: float = 120) -> Ran:
    """Run a program of this machine and wait; one that cannot be started is a failed one."""
    program = machine.where(command[0])
    if program is None:
        return Ran(127, "", say(f"{command[0]} is not installed", f"未安装 {command[0]}"))
    try:
        done = subprocess.run(
            [program, *command[1:]],
            input=None if given is None else given.encode("utf-8", "surrogateescape"),
            stdin=subprocess.DEVNULL if given is None else None,
            env={**machine.env, "LC_ALL": "C"},
            capture_output=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return Ran(124, "", say(f"no answer within {timeout:.0f} s", f"{timeout:.0f} 秒内没有响应"))
    except OSError as trouble:
        return Ran(126, "", trouble.strerror or str(trouble))
    return Ran(done.returncode, *(part.decode("utf-8", "surrogateescape") for part in (done.stdout, done.stderr)))


def must(machine: Machine, command: Sequence[str], given: str | None = None) -> str:
    """Run a program that has to succeed; what it printed."""
    ran = run(machine, command, given)
    if ran.code:
        raise failed(command, ran)
    return ran.out


def failed(command: Sequence[str], ran: Ran) -> NacreError:
    shown, told = brief(command), output_of(ran)
    return NacreError(
        say(
            f'"{shown}" failed (exit code {ran.code}): {told}. Nothing was left half done; mend this and run '
            f"the command again.",
            f"“{shown}”失败（退出码 {ran.code}）：{told}。没有留下半成品；请解决后重新运行。",
        )
    )


def output_of(ran: Ran) -> str:
    """What a program said of its failure, in one line and without secrets."""
    from nacre.guard.secrets import redact

    words = " ".join((ran.err.strip() or ran.out.strip()).encode("utf-8", "replace").decode().split())
    return redact(words).text[:_MOST_TOLD].rstrip(".") or say("it gave no reason", "没有说明原因")


def brief(command: Sequence[str]) -> str:
    """A command on one line; a long argument, such as a prompt, is cut."""
    cut = (one if len(one) <= 120 and "\n" not in one else f"{one.splitlines()[0][:60]}…" for one in command)
    return shlex.join(cut)


@dataclass(frozen=True)
class Shown:
    """A step for people and programs: a file with its diff, or a command."""

    path: str = ""
    diff: str = ""
    command: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"command": list(self.command)} if self.command else {"path": self.path, "diff": self.diff}


class Step(Protocol):
    """One thing to do to the machine, and how to take it back."""

    def shown(self) -> Shown | None: ...

    def do(self, machine: Machine) -> None: ...

    def back(self, machine: Machine) -> None: ...


@dataclass(frozen=True)
class FileStep:
    """A file of ours to be made, changed or (after: None) removed, still as it was read."""

    path: Path
    before: bytes | None
    after: bytes | None

    def shown(self) -> Shown:
        return Shown(str(self.path), diff(str(self.path), self.before, self.after))

    def do(self, _machine: Machine) -> None:
        if atomic.read_bytes(self.path) != self.before:
            raise changed(self.path)
        _put(self.path, self.after)

    def back(self, _machine: Machine) -> None:
        if atomic.read_bytes(self.path) == self.after:
            _put(self.path, self.before)


def _put(path: Path, data: bytes | None) -> None:
    if data is not None:
        atomic.write(path, data, mode=0o644)
    elif path.exists():
        atomic.remove(path)


def changed(path: Path | str) -> ChangedOutside:
    return ChangedOutside(
        say(
            f'{path} is not as Nacre wrote it, so it was left alone. Run "nacre jobs remove", look at the file, and install again.',
            f"{path} 与 Nacre 写入的内容不同，因此未作改动。请运行“nacre jobs remove”，检查该文件后再安装。",
        )
    )


@dataclass(frozen=True)
class Command:
    """A program to be run, and what is run to take it back. A lenient one may fail: the rest does not depend on it."""

    command: tuple[str, ...]
    given: str | None = None
    undo: tuple[tuple[tuple[str, ...], str | None], ...] = ()
    lenient: bool = False

    def shown(self) -> Shown:
        return Shown(command=self.command)

    def do(self, machine: Machine) -> None:
        ran = run(machine, self.command, self.given)
        if ran.code and not self.lenient:
            raise failed(self.command, ran)

    def back(self, machine: Machine) -> None:
        for command, given in self.undo:
            run(machine, command, given)


@dataclass(frozen=True)
class Planned:
    """What setting up or taking back one kind of service takes, and what the record is to say of it."""

    steps: tuple[Step, ...]
    entry: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ready: bool = False  # nothing has to change


def carry_out(machine: Machine, steps: Sequence[Step]) -> None:
    """Do the steps; when one fails, take back all that were begun, the last first."""
    begun: list[Step] = []
    try:
        for step in steps:
            begun.append(step)
            step.do(machine)
    except BaseException:
        for step in reversed(begun):
            with contextlib.suppress(NacreError, OSError):
                step.back(machine)
        raise


def diff(name: str, before: bytes | None, after: bytes | None) -> str:
    """What changes in a file, as people know it."""
    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    lines = difflib.unified_diff(
        old, new, "/dev/null" if before is None else name, "/dev/null" if after is None else name, lineterm=""
    )
    return "\n".join(lines)
