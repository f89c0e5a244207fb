"""What the installers of every scheduler share: the machine, its commands, steps, the record of what was installed."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import category

from nacre import disk
from nacre.config.settings import user_config_folder
from nacre.disk import hold
from nacre.errors import BadInput, ChangedOutside, NacreError
from nacre.i18n import language, say
from nacre.memory import Memory
from nacre.model import Workspace
from nacre.vault.discover import agent_workspaces

HEARTBEAT_BLOCK = "heartbeat"  # beside the names of schedulers: the block in HEARTBEAT.md
# Where things lie, which a scheduler would not know. Never a key: what is not named here stays in the shell.
CARRIED = (
    "NACRE_CONFIG_FILE NACRE_MODELS_PATH NACRE_TIMEZONE NACRE_LANGUAGE XDG_CONFIG_HOME OPENCLAW_STATE_DIR OPENCLAW_CONFIG_PATH "
    "CLAUDE_CONFIG_DIR CODEX_HOME"
).split()
NO_ANSWER = 124  # the exit code of a command that took too long

Entry = Mapping[str, Any]  # what the record says of one scheduler


def machine_lock(name: str) -> AbstractContextManager[None]:
    return hold(user_config_folder() / f"{name}.lock")


def installed_path(workspace: Workspace) -> Path:
    return workspace.machine / "service.json"


def read_installed(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """What was installed, by its kind; nothing when the record cannot be read, since what we wrote carries our name anyway."""
    try:
        installed = json.loads(disk.read_bytes(installed_path(workspace)) or b"{}")["installed"]
        return {kind: entry for kind, entry in installed.items() if isinstance(entry, dict)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def installed_kinds(workspace: Workspace) -> tuple[str, ...]:
    return tuple(kind for kind in read_installed(workspace) if kind != HEARTBEAT_BLOCK)


def record_installed(workspace: Workspace, kind: str, entry: Entry | None) -> None:
    """Record what a kind of service consists of; None removes it from the record."""
    record = {name: old for name, old in read_installed(workspace).items() if name != kind}
    if entry is not None:
        record[kind] = dict(entry)
    path = installed_path(workspace)
    if record:
        data = json.dumps({"version": 1, "installed": record}, ensure_ascii=False, indent=2) + "\n"
        disk.write(path, data.encode("utf-8", "surrogateescape"))
    elif path.exists():
        disk.remove(path)


@dataclass(frozen=True)
class Machine:
    """The computer as a service sees it; a test gives it a PATH and a home of its own."""

    env: Mapping[str, str]
    home: Path
    platform: str
    python: str

    def where(self, program: str) -> str | None:
        return shutil.which(program, path=self.env.get("PATH", os.defpath))

    def openclaw_workspaces(self) -> dict[str, Path]:
        return agent_workspaces(env=self.env, home=self.home)


def this_machine() -> Machine:
    return Machine(dict(os.environ), Path.home(), sys.platform, sys.executable)


@dataclass(frozen=True)
class Setup:
    memory: Memory
    machine: Machine

    @property
    def root(self) -> str:
        return os.path.realpath(self.memory.workspace.root)

    @property
    def mark(self) -> str:
        """What tells the entries of this workspace from those of others."""
        return hashlib.sha256(os.fsencode(self.root)).hexdigest()[:8]

    @property
    def language(self) -> str:
        chosen = self.memory.config.language
        return chosen if chosen in ("en", "zh") else language()

    def command(self, job: str = "") -> tuple[str, ...]:
        """The command that runs a job unless its time was run for, or (without a name) whatever is due: also what was missed, failed, or
        came in the way of another. -P: a folder named nacre in the home folder must not be taken for us."""
        what = (job, "--due") if job else ("--due",)
        return (self.machine.python, "-P", "-m", "nacre", "jobs", "run", *what, "--workspace", self.root)

    def shell_line(self, job: str = "") -> str:
        """The command as an agent types it."""
        return self.typed(*self.command(job)[4:-2])

    def typed(self, *words: str) -> str:
        """Any command of ours as an agent types it: by its whole path, because the Gateway's PATH is another one."""
        script = Path(self.machine.python).with_name("nacre")
        program = [str(script)] if os.access(script, os.X_OK) else [self.machine.python, "-P", "-m", "nacre"]
        return shlex.join([*program, *words, "--workspace", self.root])

    def carried(self) -> dict[str, str]:
        """The variables that the job needs to find what the user's shell finds."""
        from nacre.guard.secrets import refuse_secrets

        values = {name: value for name in CARRIED if (value := self.machine.env.get(name))}
        for value in values.values():
            refuse_secrets(value)
        return values


def refuse_control_characters(*words: str) -> None:
    """Refuse paths and values that neither a scheduler nor a settings file can be told safely."""
    for word in words:
        if any(category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in word):
            raise BadInput(
                f"{word!r} contains a line break or another character that schedulers and settings files do not accept; rename it first.",
                f"{word!r} 含有换行符，或调度程序和设置文件不接受的其他字符；请先改名。",
            )


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """What a program said of its failure, in one line and without secrets."""
        from nacre.guard.secrets import redact

        text = (self.err.strip() or self.out.strip()).encode("utf-8", "replace").decode()
        return redact(" ".join(text.split())).text[:600].rstrip(".") or say("no reason given", "没有说明原因")


def run_command(
    machine: Machine, command: Sequence[str], stdin: bytes | None = None, *, timeout: float = 120
) -> CommandResult:
    """Run a program of this machine and wait; one that cannot be started is a failed one."""
    program = machine.where(command[0])
    if program is None:
        return CommandResult(127, "", say(f"{command[0]} is not installed", f"未安装 {command[0]}"))
    try:
        done = subprocess.run(
            [program, *command[1:]],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            env={**machine.env, "LC_ALL": "C"},
            capture_output=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return CommandResult(NO_ANSWER, "", say(f"no response within {timeout:.0f} s", f"{timeout:.0f} 秒内没有响应"))
    except OSError as error:
        return CommandResult(126, "", error.strerror or str(error))
    out, err = (part.decode("utf-8", "surrogateescape") for part in (done.stdout, done.stderr))
    return CommandResult(done.returncode, out, err)


def must_run(machine: Machine, command: Sequence[str], stdin: bytes | None = None) -> str:
    """What a program printed that has to succeed."""
    ran = run_command(machine, command, stdin)
    if ran.code:
        raise command_failed(command, ran)
    return ran.out


def command_failed(command: Sequence[str], ran: CommandResult) -> NacreError:
    shown = brief_command(command)
    return NacreError(
        f'"{shown}" failed (exit code {ran.code}): {ran.words}. Nothing was left half done; fix the cause and run the command again.',
        f"“{shown}”失败（退出码 {ran.code}）：{ran.words}。没有留下未完成的改动；请排除原因后重新运行命令。",
    )


def brief_command(command: Sequence[str]) -> str:
    """A command on one line; a long argument, such as a prompt, is cut."""
    return shlex.join(word if len(word) <= 120 else f"{word.splitlines()[0][:60]}…" for word in command)


@dataclass(frozen=True)
class Step:
    """One thing to do to the machine: a text to change, or a command."""

    do: Callable[[], object]
    path: str = ""
    before: bytes | None = None
    after: bytes | None = None
    command: tuple[str, ...] = ()

    @property
    def diff(self) -> str:
        return file_diff(self.path, self.before, self.after)

    def as_json(self) -> dict[str, Any]:
        return {"command": list(self.command)} if self.command else {"path": self.path, "diff": self.diff}


@dataclass(frozen=True)
class Planned:
    """The steps that install or remove one kind of service, and its entry in the record; None when it is removed."""

    steps: Sequence[Step] = ()
    entry: Entry | None = None
    notes: Sequence[str] = ()


def command_step(machine: Machine, command: tuple[str, ...], *, lenient: bool = False) -> Step:
    """Run a program; a lenient step may fail."""
    return Step(partial(run_command if lenient else must_run, machine, command), command=command)


def edit_step(
    name: str,
    read: Callable[[], bytes | None],
    put: Callable[[bytes | None], object],
    before: bytes | None,
    after: bytes | None,
) -> Step:
    """Replace a text that is still as it was read; None: it is not there."""

    def do() -> None:
        if read() != before:
            raise ChangedOutside(
                f"{name} was changed by another program in the meantime, so Nacre left it untouched. Run the command again.",
                f"{name} 在此期间被其他程序修改，Nacre 没有改动它。请重新运行命令。",
            )
        put(after)

    return Step(do, name, before, after)


def file_step(path: Path, before: bytes | None, after: bytes | None) -> Step:
    def put(data: bytes | None) -> None:
        disk.remove(path) if data is None else disk.write(path, data, mode=0o644)

    return edit_step(str(path), partial(disk.read_bytes, path), put, before, after)


def file_diff(name: str, before: bytes | None, after: bytes | None) -> str:
    """What changes in a file, as a unified diff without secrets."""
    from nacre.guard.secrets import redact

    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    old_name, new_name = ("/dev/null" if data is None else name for data in (before, after))
    return redact("\n".join(difflib.unified_diff(old, new, old_name, new_name, lineterm=""))).text
