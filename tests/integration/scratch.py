"""A scratch home with Nacre in it, and the table of what held there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nacre.embed.models import models_folder

COMMAND_WITHIN = 900.0  # seconds; a client on a busy machine takes its time
WAIT_WITHIN = 900.0


@dataclass
class Checks:
    """What must hold, printed as it is seen."""

    failed: int = 0
    all: int = 0

    def __call__(self, what: str, held: object, seen: str = "") -> None:
        self.all += 1
        print(f"{'held  ' if held else 'FAILED'}  {what}", flush=True)
        if not held:
            self.failed += 1
            print(textwrap.indent(seen.strip() or "(nothing)", "        | "), flush=True)

    def sum(self) -> int:
        print(f"== {self.all - self.failed} of {self.all} held")
        return 1 if self.failed else 0


@dataclass(frozen=True)
class Scratch:
    """A home of its own; nothing of the user's is in its environment but the way to programs."""

    home: Path
    programs: list[Path]
    more: Mapping[str, str]
    workspace: Path
    nacre: str = os.path.join(sysconfig.get_path("scripts"), "nacre")

    @property
    def env(self) -> dict[str, str]:
        paths = [*self.programs, Path(self.nacre).parent]
        return {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PATH": os.pathsep.join([*map(str, paths), "/usr/local/bin", "/usr/bin", "/bin"]),
            "TMPDIR": str(self.home / "tmp"),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "NO_COLOR": "1",
            "NACRE_LANGUAGE": "en",
            "NACRE_MODELS_PATH": str(models_folder()),
            **self.more,
        }

    def run(self, *command: str, cwd: Path | None = None, check: bool = True) -> str:
        """What a command prints on its standard output; both streams are told when it fails."""
        done = subprocess.run(
            command, env=self.env, cwd=cwd or self.home, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, encoding="utf8", errors="replace", timeout=COMMAND_WITHIN, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def nacre_run(self, *arguments: str, cwd: Path | None = None, check: bool = True) -> str:
        return self.run(self.nacre, *arguments, cwd=cwd, check=check)

    def log(self) -> str:
        """The daily logs."""
        return "\n".join(path.read_text("utf8") for path in sorted((self.workspace / "memory").glob("2*.md")))

    def written(self, words: str) -> list[str]:
        """The files of Nacre's that hold these words, the index and the history among them."""
        places = [self.workspace, *(self.home / below / "nacre" for below in (".config", ".cache", ".local/state", ".local/share"))]  # fmt: skip
        holding = []
        for path in (path for place in places for path in place.rglob("*")):
            with suppress(OSError):  # a folder, or what a daemon at work has just put away
                if words.encode() in path.read_bytes():
                    holding.append(str(path.relative_to(self.home)))
        return holding


@contextmanager
def scratch(programs: list[Path], env: Mapping[str, str], workspace: str = ".nacre/workspace") -> Iterator[Scratch]:
    """A home until the end of the block; a daemon that was started in it is ended first."""
    home = Path(tempfile.mkdtemp(prefix="client-")).resolve()
    made = Scratch(home, programs, env, home / workspace)
    try:
        for name in ("run", "tmp"):
            (home / name).mkdir(mode=0o700)
        yield made
    finally:
        made.nacre_run("serve", "--stop", check=False)
        shutil.rmtree(home, ignore_errors=True)


def until(happened: Callable[[], object], what: str) -> None:
    """Wait for a condition."""
    end = time.monotonic() + WAIT_WITHIN
    while not happened():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.3)
