"""The cache of one session: a small file outside the workspace, which is empty after a restart of the machine."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nacre import disk
from nacre.clock import Clock, duration
from nacre.config.settings import CacheSettings
from nacre.disk import hold
from nacre.errors import BadInput, NotFound, PathEscape
from nacre.vault import spool
from nacre.vault.writing import guarded

_LONGEST_KEY = 200  # characters
LARGEST_VALUE, LARGEST_SESSION = 65_536, 1_048_576  # bytes


class Value(NamedTuple):
    text: str
    at: dt.datetime


@dataclass(frozen=True)
class Cache:
    """The cache of one session: where it lies, whose it is, and how long a value is kept."""

    folder: Path
    session: str
    clock: Clock
    max_age: dt.timedelta

    @property
    def path(self) -> Path:
        """A file named by the hash of the id, which may hold anything."""
        return self.folder / f"session-{hashlib.sha256(self.session.encode()).hexdigest()[:32]}.json"


def open_cache(session: str, settings: CacheSettings, clock: Clock) -> Cache:
    """The cache of a session. Touches nothing; a folder that is not the user's own is refused when it is used."""
    if not session.strip():
        raise BadInput("The session name is empty; omit --session.", "会话名为空；请去掉 --session。")
    return Cache(cache_folder(settings.path), session, clock, duration(settings.max_age))


def cache_folder(setting: str | None) -> Path:
    """A folder of our own in the place that is set, or in the user's runtime folder, where other programs keep files too."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if not setting and runtime and os.path.isabs(runtime) and os.path.isdir(runtime):
        return Path(runtime) / "nacre"
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    place = Path(setting).expanduser().absolute() if setting else Path(tempfile.gettempdir())
    return place / f"nacre{user}"


def read_values(cache: Cache) -> dict[str, Value]:
    """Everything that the session keeps and that is not too old; nothing after a restart of the machine."""
    values: dict[str, Value] = {}
    if not _is_ours(cache.folder):
        return values
    # A file that is damaged, of another session, or of before the restart is only a cache.
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        content = spool.read_json(str(cache.path))
        if content["session"] == cache.session and content["boot"] == disk.boot_id():
            for key, (text, at) in content["values"].items():
                value = Value(text, dt.datetime.fromisoformat(at))
                if isinstance(text, str) and cache.clock.now() - value.at <= cache.max_age:
                    values[key] = value
    return values


def get_value(cache: Cache, key: str) -> Value:
    value = read_values(cache).get(_key(key))
    if value is None:
        raise NotFound(
            f'Nothing is cached under "{key}" in this session; "nacre cache list" shows what is cached.',
            f"此会话没有缓存“{key}”；“nacre cache list”会列出已有内容。",
        )
    return value


def put_value(cache: Cache, key: str, text: str, *, dry_run: bool = False) -> Value:
    """Keep a value for the session, in the place of the one that the key had. A secret is refused."""
    name = _key(key)
    value = Value(guarded(text), cache.clock.now())
    guarded(f"{name}: {value.text}")
    size = len(value.text.encode())
    if size > LARGEST_VALUE:
        raise BadInput(
            f"The value is {size} bytes; the limit for one key is {LARGEST_VALUE}. Put it in a file instead.",
            f"该值有 {size} 字节；一个键最多 {LARGEST_VALUE} 字节。请改存为文件。",
        )
    if not dry_run:
        with _locked(cache):
            _write(cache, {**read_values(cache), name: value})
        sweep_cache(cache.folder, cache.max_age)
    return value


def clear_values(cache: Cache, key: str | None = None, *, dry_run: bool = False) -> tuple[str, ...]:
    """Forget one key, or everything; the keys that were there."""
    if not _is_ours(cache.folder):
        return ()
    with contextlib.nullcontext() if dry_run else _locked(cache):
        values = read_values(cache)
        cleared = tuple(name for name in values if key is None or name == _key(key))
        if not dry_run:
            _write(cache, {name: value for name, value in values.items() if name not in cleared})
    return cleared


@contextlib.contextmanager
def _locked(cache: Cache) -> Iterator[None]:
    """Many processes of one session may write at once, and none loses what another wrote."""
    with disk.writing_to(cache.folder):
        disk.make_folder(cache.folder)
    _is_ours(cache.folder)
    with hold(cache.path.with_suffix(".lock")):
        yield


def _key(key: str) -> str:
    from nacre.guard.sanitise import one_line

    name = one_line(key)
    if not name or len(name) > _LONGEST_KEY:
        raise BadInput(
            f"A key must have 1 to {_LONGEST_KEY} characters; this one has {len(name)}.",
            f"键须为 1 到 {_LONGEST_KEY} 个字符；此处为 {len(name)} 个。",
        )
    return name


def _is_ours(folder: Path) -> bool:
    """Whether the folder is there; an error when it is a link, or another user's: what lies in it could be anybody's."""
    with disk.writing_to(folder):
        try:
            about = os.lstat(folder)
        except FileNotFoundError:
            return False
    if not stat.S_ISDIR(about.st_mode) or (hasattr(os, "geteuid") and about.st_uid != os.geteuid()):
        raise PathEscape(
            f'{folder} is a link or belongs to another user, so it is not used. Choose another place: "nacre config set cache.path PATH".',
            f"{folder} 是链接或属于其他用户，不会使用。请指定其他位置：“nacre config set cache.path 路径”。",
        )
    with contextlib.suppress(OSError):
        disk.private_folder(folder)
    return True


def _write(cache: Cache, values: Mapping[str, Value]) -> None:
    if not values:
        with disk.writing_to(cache.path):
            cache.path.unlink(missing_ok=True)
        return
    entries = {name: [value.text, value.at.isoformat()] for name, value in values.items()}
    content = {"session": cache.session, "boot": disk.boot_id(), "values": entries}
    data = json.dumps(content, ensure_ascii=False).encode()
    if len(data) > LARGEST_SESSION:
        raise BadInput(
            'This session\'s cache has reached its limit of 1 MB; free space with "nacre cache clear KEY".',
            "此会话的缓存已达 1 MB 上限；可用“nacre cache clear 键”腾出空间。",
        )
    with disk.writing_to(cache.path):
        spool.put(str(cache.folder), cache.path.name, data)


def sweep_cache(folder: Path, max_age: dt.timedelta, *, dry_run: bool = False) -> int:
    """Take away the files of sessions that are over: nothing in them is young enough to be read. How many there were."""
    oldest = time.time() - max_age.total_seconds()
    removed = 0
    for path in folder.glob("session-*.json"):
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < oldest:
                removed += 1
                if not dry_run:
                    path.unlink()
    return removed
