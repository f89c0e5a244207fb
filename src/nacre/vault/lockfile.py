"""The lock where the file system has none: a file that only its maker removes, or whoever finds its maker dead."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from nacre.errors import Locked, cannot_write
from nacre.words import say


def _stand_in(path: Path) -> Path:
    return path.with_name(path.name + ".held")


def take(path: Path, deadline: float) -> str:
    """Make the stand-in ours and return the token that proves it; `Locked` when another holds it past the deadline."""
    stand_in = _stand_in(path)
    token = os.urandom(8).hex()
    mine = json.dumps({"pid": os.getpid(), "host": host(), "boot": boot(), "token": token}).encode()
    pause = 0.001
    while True:
        try:
            descriptor = os.open(stand_in, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            holder = _read_stand_in(stand_in)
            if _is_stale(holder) or (not holder and _is_old(stand_in)):
                _clear_stale(stand_in, holder, token)
                continue
            if time.monotonic() >= deadline:
                pid = holder.get("pid")
                raise locked(path, pid if isinstance(pid, int) else None) from None
            time.sleep(pause)
            pause = min(pause * 2, 0.05)
        except OSError as trouble:
            raise cannot_write(stand_in, trouble) from trouble
        else:
            os.write(descriptor, mine)
            os.close(descriptor)
            return token


def give(path: Path, token: str) -> None:
    """Remove the stand-in, if it is still ours."""
    stand_in = _stand_in(path)
    if _read_stand_in(stand_in).get("token") == token:
        stand_in.unlink(missing_ok=True)


def _read_stand_in(stand_in: Path) -> dict[str, object]:
    try:
        found = json.loads(stand_in.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_stale(holder: dict[str, object]) -> bool:
    """Only a process of this very machine can be known to be dead."""
    pid = holder.get("pid")
    if holder.get("host") != host() or not isinstance(pid, int):
        return False
    return holder.get("boot") != boot() or not is_alive(pid)


def _is_old(stand_in: Path) -> bool:
    """Its maker was killed between making and filling it."""
    try:
        return time.time() - stand_in.stat().st_mtime > 60
    except OSError:
        return False


def _clear_stale(stand_in: Path, holder: dict[str, object], token: str) -> None:
    aside = stand_in.with_name(f"{stand_in.name}-{token}")
    try:
        stand_in.rename(aside)
    except FileNotFoundError:
        return
    if _read_stand_in(aside).get("token") != holder.get("token"):  # another was quicker: give its file back
        with contextlib.suppress(OSError):
            os.link(aside, stand_in)
    aside.unlink(missing_ok=True)


def host() -> str:
    """The name of this machine."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def boot() -> str:
    """What tells this run of the machine from the one before; empty where nothing does."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    """Whether a process of this machine still runs; in doubt, yes."""
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def locked(path: Path, pid: int | None) -> Locked:
    """The sentence for a lock that another holds."""
    folder = path.parent.parent
    who, whose = (f" (process {pid})", f"(进程 {pid})") if pid else ("", "")
    return Locked(
        say(
            f"Another command{who} is writing to {folder}. Wait until it is done and run this one again.",
            f"另一个命令{whose}正在写入 {folder}。请等它完成后重试。",
        )
    )
