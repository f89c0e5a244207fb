"""Make the project's own environment in .venv, stage by stage with progress; ./start and ./test call it, with the standard library alone.

The packages are those of the locked files, by their hashes: with uv where it is there, else, or where
uv fails (it does not read pip's settings), with pip. The embedding models are fetched
meanwhile, by a process of their own.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

from nacre.i18n import say  # noqa: E402 - found by the line above

_SILENCE = 5.0  # seconds between two lines where no terminal rewrites one
# Of what models are installed with, only platformdirs is no part of Python; pip brings its own.
_MODELS = """
import sys, pip._vendor
sys.path[:0] = ["src", *pip._vendor.__path__]
from nacre.embed.install import install
install(progress=lambda done, total, _: print(done, total, flush=True))
"""


class Stage:
    """One line of progress: rewritten on a terminal, said again every few seconds elsewhere, and at its end with the time it took."""

    def __init__(self, number: str, name: str) -> None:
        self.head, self.begun, self.said = f"{number}  {name}", time.monotonic(), 0.0
        self.is_terminal = sys.stderr.isatty()
        self.show("")

    def show(self, progress: str) -> None:
        now = time.monotonic()
        if self.is_terminal:
            sys.stderr.write(f"\r\033[K{self.head}  {progress}  {now - self.begun:.0f} s")
        elif now - self.said >= _SILENCE:
            sys.stderr.write(f"{self.head} {progress}".rstrip() + " ...\n")
            self.said = now
        sys.stderr.flush()

    def end(self, outcome: str) -> None:
        start = "\r\033[K" if self.is_terminal else ""
        sys.stderr.write(f"{start}{self.head}  {outcome}  {time.monotonic() - self.begun:.0f} s\n")
        sys.stderr.flush()


class Process:
    """A program at work, with every line that it says."""

    def __init__(self, command: list[str]) -> None:
        self.child = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        self.lines: list[str] = []
        self.reader = Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.child.stdout or ():
            self.lines.append(line.rstrip())

    def wait(self, stage: Stage, progress: Callable[[], str] = str) -> bool:
        """Until it ends, with its progress shown; whether it did what it should."""
        while self.reader.is_alive():
            stage.show(progress())
            self.reader.join(0.2)
        return self.child.wait() == 0


def must_run(stage: Stage, command: list[str], progress: Callable[[list[str]], str] = lambda _: "") -> None:
    process = Process(command)
    if process.wait(stage, lambda: progress(process.lines)):
        return
    reasons = [line for line in process.lines if "error" in line.lower()] or process.lines
    stage.end(say("failed", "失败"))
    for line in reasons[-5:]:
        sys.stderr.write(f"  {line}\n")
    english = "Nothing else was changed. Check the network and pip's settings (pip config list), then run it again."
    sys.exit(say(english, "没有其他改动。请检查网络和 pip 的设置（pip config list），然后重新运行。"))


def make_venv(stage: Stage, venv: Path) -> str:
    """The environment with pip in it; its Python."""
    python = str(venv / "bin" / "python")
    if (
        subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode
        if Path(python).exists()
        else True
    ):
        shutil.rmtree(venv, ignore_errors=True)
        if importlib.util.find_spec("ensurepip"):
            must_run(stage, [sys.executable, "-m", "venv", str(venv)])
        else:  # some systems ship Python without it: borrow the pip that is there
            must_run(stage, [sys.executable, "-m", "venv", "--without-pip", str(venv)])
            must_run(
                stage,
                [sys.executable, "-m", "pip", "--python", python, "install", "--disable-pip-version-check", "pip"],
            )
    return python


def install_packages(stage: Stage, python: str, uv: str | None, wanted: str) -> int:
    """The locked packages and Nacre itself; how many there are."""
    files = [f"requirements/{name}.txt" for name in ("build", wanted)]
    named = {
        line.split("==")[0] for name in files for line in (ROOT / name).read_text("utf-8").splitlines() if "==" in line
    }
    folder = next(Path(python).parent.parent.glob("lib/python*/site-packages"))

    total = len(named)

    def count(lines: list[str]) -> str:
        """Those that are unpacked; before the first, those that pip has at hand."""
        nonlocal total
        there = len([*folder.glob("*.dist-info/RECORD")]) - before
        total = min(total, len(named) - sum(line.startswith("Ignoring ") for line in lines))  # those of other systems
        here = sum(line.startswith("Collecting ") for line in lines)
        if there < 1 and here:
            return say(f"{here}/{total} fetched", f"已获取 {here}/{total}")
        return say(f"{min(there, total)}/{total} installed", f"已安装 {min(there, total)}/{total}")

    before = len([*folder.glob("*.dist-info/RECORD")])
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-compile", "--no-deps"]
    # The locked files name every package, so nothing is resolved: pip would look for newer releases of one asked for with an extra.
    locked = ["--require-hashes", *(word for name in files for word in ("-r", name))]
    by_uv = uv and Process([uv, "pip", "install", "--python", python, "--no-deps", *locked])
    if not (by_uv and by_uv.wait(stage, lambda: count(by_uv.lines))):
        must_run(stage, [*pip, *locked], count)
    must_run(stage, [*pip, "--no-build-isolation", "--editable", "."], count)
    # Halves the start of every command; Python would do it by itself only where it may write beside the sources.
    must_run(stage, [python, "-m", "compileall", "-q", "src/nacre"], count)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wanted", choices=("run", "dev"))
    parser.add_argument("--models", action="store_true", help="fetch the embedding models too")
    parser.add_argument("--stages", type=int, default=2, help="how many stages there are, with the one that follows")
    options = parser.parse_args()
    os.chdir(ROOT)
    uv, stages = shutil.which("uv"), options.stages
    stage = Stage(f"1/{stages}", say("Python environment", "Python 环境"))
    python = make_venv(stage, ROOT / ".venv")
    stage.end(f"{sys.version_info.major}.{sys.version_info.minor}")
    models = Process([python, "-c", _MODELS]) if options.models else None
    try:
        stage = Stage(f"2/{stages}", say("Packages", "软件包"))
        count = install_packages(stage, python, uv, options.wanted)
        stage.end(say(f"{count} installed", f"已安装 {count} 个"))
        if models:
            stage = Stage(f"3/{stages}", say("Embedding models", "嵌入模型"))
            whole = models.wait(stage, lambda: _megabytes(models.lines))
            later = say("not fetched yet, tried again below", "尚未取得，稍后重试")
            stage.end(say("fetched and verified", "已取得并校验") if whole else later)
    finally:
        if models and models.child.poll() is None:
            models.child.terminate()
    if stages > 2:
        sys.stderr.write(f"{stages}/{stages}  " + say("Your memory", "你的记忆") + "\n")


def _megabytes(lines: list[str]) -> str:
    done, _, total = (lines[-1] if lines else "").partition(" ")
    return f"{int(done) / 1e6:.0f}/{int(total) / 1e6:.0f} MB" if done.isdigit() and total.isdigit() else ""


if __name__ == "__main__":
    main()
