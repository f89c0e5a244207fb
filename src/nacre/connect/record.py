"""What was written into which file of which agent, so that exactly that can be taken back: kept in the user's state folder."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nacre.connect.edit import Done
from nacre.errors import NacreError
from nacre.vault import atomic
from nacre.vault.blobs import private_folder
from nacre.words import say

NAME = "connections.json"


def state_folder() -> Path:
    """Where Nacre keeps what it knows about this machine for this user."""
    system: str = sys.platform
    if system == "linux":  # what platformdirs answers there
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "nacre"
    import platformdirs

    return Path(platformdirs.user_state_dir("nacre", appauthor=False))


@dataclass(frozen=True)
class Written:
    """One file: as it was (its hash, none where there was no file), as we left it, and every edit. Hashes are of whole files."""

    path: str
    form: str
    before: str | None
    after: str
    done: tuple[Done, ...]
    folders: tuple[str, ...] = ()  # that were made for it


@dataclass(frozen=True)
class Connection:
    """One agent's connection."""

    agent: str
    at: str
    workspace: str
    program: tuple[str, ...]
    files: tuple[Written, ...] = ()
    registered: bool = False  # the agent's own command was told, and must be told again

    def file(self, path: str) -> Written | None:
        return next((one for one in self.files if one.path == path), None)

    @property
    def paths(self) -> frozenset[tuple[str, ...]]:
        return frozenset(done.path for one in self.files for done in one.done)


Record = Mapping[str, Connection]


def load(folder: Path) -> dict[str, Connection]:
    """Every connection by its agent; a record that cannot be understood stops whoever wants to write."""
    data = atomic.read_bytes(folder / NAME)
    if data is None:
        return {}
    try:
        told = json.loads(data.decode("utf-8", "surrogateescape"))
        return {name: _connection(name, one) for name, one in told["connections"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as trouble:
        raise NacreError(
            say(
                f"{folder / NAME}, the record of what was connected, cannot be understood. Move it away; what was written can then be "
                "taken out by hand (nacre connect --print shows it).",
                f"无法理解连接记录 {folder / NAME}。请将其移走；已写入的内容可手动删除（nacre connect --print 可显示）。",
            )
        ) from trouble


def save(folder: Path, record: Record) -> None:
    path = folder / NAME
    if not record:
        if path.exists():
            atomic.remove(path)
        return
    private_folder(folder)
    told = {"version": 1, "connections": {name: _plain(one) for name, one in record.items()}}
    data = json.dumps(told, ensure_ascii=False, indent=1) + "\n"
    atomic.write(path, data.encode("utf-8", "surrogateescape"))


def keep(folder: Path, data: bytes) -> str:
    """Put a file's bytes away, readable by nobody else; they are found again by their hash."""
    name = atomic.digest(data)
    place = folder / "backups" / name
    if atomic.read_bytes(place) != data:
        private_folder(folder)
        private_folder(place.parent)
        atomic.write(place, data)
    return name


def kept(folder: Path, name: str) -> bytes | None:
    """Bytes that were put away; None where they are gone or are not what they were."""
    data = atomic.read_bytes(folder / "backups" / name)
    return data if data is not None and atomic.digest(data) == name else None


def clear(folder: Path, record: Record) -> None:
    """Remove the copies that no connection needs any more."""
    needed = {one.before for connection in record.values() for one in connection.files}
    place = folder / "backups"
    for path in place.iterdir() if place.is_dir() else ():
        if path.name not in needed:
            atomic.remove(path)
    for empty in (place, folder):
        if empty.is_dir() and not any(empty.iterdir()):
            empty.rmdir()


def merged(old: Connection | None, new: Connection) -> Connection:
    """The new connection, with the files of the old one that it does not speak of."""
    if old is None:
        return new
    paths = {one.path for one in new.files}
    files = (*new.files, *(one for one in old.files if one.path not in paths))
    return replace(new, files=files, registered=new.registered or old.registered)


def _plain(one: Connection) -> dict[str, Any]:
    told = asdict(one)
    del told["agent"]
    return told


def _connection(name: str, told: Mapping[str, Any]) -> Connection:
    files = tuple(
        Written(
            one["path"],
            one["form"],
            one["before"],
            one["after"],
            tuple(Done(**{**done, "path": tuple(done["path"]), "mark": tuple(done["mark"])}) for done in one["done"]),
            tuple(one["folders"]),
        )
        for one in told["files"]
    )
    return Connection(
        name, told["at"], told["workspace"], tuple(told["program"]), files, registered=bool(told["registered"])
    )
