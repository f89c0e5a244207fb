"""What the installers of every scheduler share: the machine, the steps and their undo, our own files, the record of what was installed."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from unicodedata import category

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import BadInput, ChangedOutside, NacreError
from nacre.i18n import language, say
from nacre.jobs import schedule
from nacre.jobs.schedule import Times, parse_cron
from nacre.model.workspace import Workspace
from nacre.vault import disk
from nacre.vault.discover import check_own_files
from nacre.vault.history import private_folder

HEARTBEAT_BLOCK = "heartbeat"  # beside the kinds of service: the block in HEARTBEAT.md
InstalledRecord = dict[str, dict[str, Any]]


def installed_path(workspace: Workspace) -> Path:
    return workspace.machine / "service.json"


def read_installed(workspace: Workspace) -> InstalledRecord:
    """What was installed, by its kind. A file that cannot be understood tells nothing: what we wrote carries our name anyway."""
    try:
        told = json.loads(disk.read_bytes(installed_path(workspace)) or b"{}")
    except (ValueError, RecursionError):
        return {}
    found = told.get("installed") if isinstance(told, dict) else None
    return {kind: one for kind, one in found.items() if isinstance(one, dict)} if isinstance(found, dict) else {}


def installed_kinds(workspace: Workspace) -> tuple[str, ...]:
    """By what the jobs of this workspace are run: systemd, launchd, cron, openclaw."""
    return tuple(kind for kind in read_installed(workspace) if kind != HEARTBEAT_BLOCK)


def is_complete(workspace: Workspace, kind: str) -> bool:
    """Whether setting it up went through; one that was killed on the way is repeated."""
    return bool(read_installed(workspace).get(kind, {}).get("complete"))


def record_installed(workspace: Workspace, kind: str, entry: Mapping[str, Any] | None) -> None:
    """Write down what a kind of service consists of; None: it is gone."""
    check_own_files(workspace)
    record = read_installed(workspace)
    if entry is None and kind not in record:
        return
    if entry is None:
        del record[kind]
    else:
        record[kind] = dict(entry)
    path = installed_path(workspace)
    if not record:
        if path.exists():
            disk.remove(path)
        return
    private_folder(workspace.machine)
    data = json.dumps({"version": 1, "installed": record}, ensure_ascii=False, indent=2) + "\n"
    disk.write(path, data.encode("utf-8", "surrogateescape"))


# What every kind of service shares: the machine it is set up on, the steps of setting it up, and taking them back
# when one fails.

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
_LONGEST_OUTPUT = 600  # characters of a failed command's output


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
        return tuple(parse_cron(one) for one in schedule.expressions(self.config, job))

    def jobs(self) -> tuple[str, ...]:
        """The jobs that have times at all."""
        return tuple(name for name in schedule.JOB_NAMES if schedule.expressions(self.config, name))

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
class CommandResult:
    code: int
    out: str
    err: str


def run_command(
    machine: Machine, command: Sequence[str], given: str | None = None, *, timeout: float = 120
) -> CommandResult:
    """Run a program of this machine and wait; one that cannot be started is a failed one."""
    program = machine.where(command[0])
    if program is None:
        return CommandResult(127, "", say(f"{command[0]} is not installed", f"未安装 {command[0]}"))
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
        return CommandResult(124, "", say(f"no answer within {timeout:.0f} s", f"{timeout:.0f} 秒内没有响应"))
    except OSError as trouble:
        return CommandResult(126, "", trouble.strerror or str(trouble))
    return CommandResult(
        done.returncode, *(part.decode("utf-8", "surrogateescape") for part in (done.stdout, done.stderr))
    )


def must_run(machine: Machine, command: Sequence[str], given: str | None = None) -> str:
    """Run a program that has to succeed; what it printed."""
    ran = run_command(machine, command, given)
    if ran.code:
        raise command_failed(command, ran)
    return ran.out


def command_failed(command: Sequence[str], ran: CommandResult) -> NacreError:
    shown, told = brief_command(command), command_output(ran)
    return NacreError(
        say(
            f'"{shown}" failed (exit code {ran.code}): {told}. Nothing was left half done; mend this and run '
            f"the command again.",
            f"“{shown}”失败（退出码 {ran.code}）：{told}。没有留下半成品；请解决后重新运行。",
        )
    )


def command_output(ran: CommandResult) -> str:
    """What a program said of its failure, in one line and without secrets."""
    from nacre.guard.secrets import redact

    words = " ".join((ran.err.strip() or ran.out.strip()).encode("utf-8", "replace").decode().split())
    return redact(words).text[:_LONGEST_OUTPUT].rstrip(".") or say("it gave no reason", "没有说明原因")


def brief_command(command: Sequence[str]) -> str:
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
        return Shown(str(self.path), file_diff(str(self.path), self.before, self.after))

    def do(self, _machine: Machine) -> None:
        if disk.read_bytes(self.path) != self.before:
            raise changed_outside(self.path)
        _put_file(self.path, self.after)

    def back(self, _machine: Machine) -> None:
        if disk.read_bytes(self.path) == self.after:
            _put_file(self.path, self.before)


def _put_file(path: Path, data: bytes | None) -> None:
    if data is not None:
        disk.write(path, data, mode=0o644)
    elif path.exists():
        disk.remove(path)


def changed_outside(path: Path | str) -> ChangedOutside:
    return ChangedOutside(
        say(
            f'{path} is not as Nacre wrote it, so it was left alone. Run "nacre jobs remove", look at the file, and install again.',
            f"{path} 与 Nacre 写入的内容不同，因此未作改动。请运行“nacre jobs remove”，检查该文件后再安装。",
        )
    )


@dataclass(frozen=True)
class CommandStep:
    """A program to be run, and what is run to take it back. A lenient one may fail: the rest does not depend on it."""

    command: tuple[str, ...]
    given: str | None = None
    undo: tuple[tuple[tuple[str, ...], str | None], ...] = ()
    lenient: bool = False

    def shown(self) -> Shown:
        return Shown(command=self.command)

    def do(self, machine: Machine) -> None:
        ran = run_command(machine, self.command, self.given)
        if ran.code and not self.lenient:
            raise command_failed(self.command, ran)

    def back(self, machine: Machine) -> None:
        for command, given in self.undo:
            run_command(machine, command, given)


@dataclass(frozen=True)
class Planned:
    """What setting up or taking back one kind of service takes, and what the record is to say of it."""

    steps: tuple[Step, ...]
    entry: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    ready: bool = False  # nothing has to change


def apply_steps(machine: Machine, steps: Sequence[Step]) -> None:
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


def file_diff(name: str, before: bytes | None, after: bytes | None) -> str:
    """What changes in a file, as people know it."""
    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    lines = difflib.unified_diff(
        old, new, "/dev/null" if before is None else name, "/dev/null" if after is None else name, lineterm=""
    )
    return "\n".join(lines)


# Files of ours in folders that others use too: written and removed only while they are what we wrote.

Recognise = Callable[[bytes], bool]  # whether bytes look as we would have written them; asked where the record was lost


def file_steps(
    folder: Path, wanted: Mapping[str, bytes], possible: Sequence[str], entry: Mapping[str, Any], recognise: Recognise
) -> list[FileStep]:
    """What brings the folder from what we wrote earlier to what is wanted; `ChangedOutside` where somebody edited a file."""
    made = []
    for name in dict.fromkeys((*wanted, *possible)):
        before, after = disk.read_bytes(folder / name), wanted.get(name)
        if before == after:
            continue
        if before is not None and not _is_own_file(before, name, entry, recognise):
            raise changed_outside(folder / name)
        made.append(FileStep(folder / name, before, after))
    return made


def file_removals(
    folder: Path, possible: Sequence[str], entry: Mapping[str, Any], recognise: Recognise
) -> tuple[list[FileStep], list[str]]:
    """The files of ours that are there, and a sentence for each that somebody edited, which stays."""
    made, left = [], []
    for name in possible:
        before = disk.read_bytes(folder / name)
        if before is None:
            continue
        if _is_own_file(before, name, entry, recognise):
            made.append(FileStep(folder / name, before, None))
        else:
            left.append(str(changed_outside(folder / name)))
    return made, left


def record_of_files(wanted: Mapping[str, bytes]) -> dict[str, Any]:
    """What the record says of the files: their names and hashes."""
    return {"files": {name: [disk.digest(data)] for name, data in wanted.items()}}


def record_under_way(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What the record says while files are being written: each may be what it was, or what it is to be."""
    before, after = _recorded_hashes(old), _recorded_hashes(new)
    if not before and not after:
        return dict(new)
    return {**new, "files": {name: [*before.get(name, ()), *after.get(name, ())] for name in {**before, **after}}}


def _is_own_file(data: bytes, name: str, entry: Mapping[str, Any], recognise: Recognise) -> bool:
    known = _recorded_hashes(entry)
    return disk.digest(data) in known[name] if name in known else recognise(data)


def _recorded_hashes(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    found = entry.get("files")
    found = found if isinstance(found, dict) else {}
    return {
        name: [one for one in some if isinstance(one, str)] for name, some in found.items() if isinstance(some, list)
    }
