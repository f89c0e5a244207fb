"""How agents are to call us: by the whole path of the executable in use, from any folder and with a bare environment."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.config import Config
from nacre.errors import BadInput, NacreError
from nacre.vault.discover import find
from nacre.vault.workspace import Workspace
from nacre.words import say

_NAMES = ("nacre", "nacre.exe")
# Run by sh with the program as $0: nothing is said where it was deleted, and one that cannot start (its Python is gone) fails nothing.
_IF_THERE = 'test ! -x "$0" || "$0" "$@" || true'


@dataclass(frozen=True)
class Call:
    """The words before and behind the verb."""

    program: tuple[str, ...]
    more: tuple[str, ...] = ()

    def server(self) -> dict[str, Any]:
        """The MCP server as most agents want it told."""
        return {"command": self.program[0], "args": [*self.program[1:], "mcp", *self.more]}

    def hook(self, event: str, agent: str) -> str:
        """One line for a shell, silent when we are not there any more. On Windows nobody knows which shell reads it: there it is bare."""
        words = [*self.program, "hook", event, "--agent", agent, *self.more]
        return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(["sh", "-c", _IF_THERE, *words])


def call_for(workspace: Workspace, config: Config, home: Path) -> Call:
    """The call that reaches this workspace; it is named where it is not the one that is found anyway."""
    root = os.path.realpath(workspace.root)
    try:
        usual = find(None, config=config, env={}, home=home, cwd=home)
        named = os.path.realpath(usual.workspace.root) != root
    except NacreError:
        named = True
    call = Call(program(), ("--workspace", root) if named else ())
    for word in (*call.program, *call.more):
        if any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for letter in word):
            raise BadInput(
                say(
                    f"{word!r} holds a line break or another character that settings cannot hold; rename it first.",
                    f"{word!r} 含有换行或配置文件无法保存的字符；请先改名。",
                )
            )
    return call


def program(argv: tuple[str, ...] = tuple(sys.argv)) -> tuple[str, ...]:
    """The executable that was called, else the one beside this Python, else this Python itself."""
    typed = Path(shutil.which(argv[0]) or argv[0]) if argv and argv[0] else Path()
    folders = (Path(sys.executable).parent, Path(sysconfig.get_path("scripts")))
    for path in (typed, *(folder / name for folder in folders for name in _NAMES)):
        if path.name.lower() in _NAMES and os.access(path, os.X_OK) and path.is_file():
            return (os.path.abspath(path),)  # a link stays one: what it leads to may change with the next version
    return (sys.executable, "-P", "-m", "nacre")  # -P: a folder named nacre must not be taken for us


def still_there(program: tuple[str, ...]) -> bool:
    """Whether what was written into an agent's settings can still be started."""
    return bool(program) and os.path.isfile(program[0]) and os.access(program[0], os.X_OK)
