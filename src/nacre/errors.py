"""One tree of errors: each is a sentence with a remedy, an exit code for the shell and a status for HTTP.

NacreError                 1  500
├── BadInput               2  400   an argument, a query or a setting that cannot be used
│   ├── BadSetting         2  400
│   └── PathEscape         2  403   a path that leads out of the workspace
├── PartlyDone             3  207   some of it was done; the sentence says what was not
├── NotFound               1  404   no such file, line, entry or operation
├── NoWorkspace           10  404
│   └── NotTrusted        10  403   found by walking up, but never trusted
├── Locked                11  423   another process holds the lock
├── ChangedOutside        12  409   the file is no longer what was read
├── SecretRefused         13  422
├── MemoryFull             1  409   the hard limits of MEMORY.md
├── CannotWrite            1  507   read-only, full disk, no permission
├── CannotRead             1  503   the file system failed: no descriptors left, an input error; nothing is taken for gone
├── IndexUnusable          1  500   made by a newer version, or beyond repair
└── ModelUnusable          1  503   missing, damaged or unreachable embedding model
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

from nacre.i18n import say


class NacreError(Exception):
    exit_code = 1
    http_status = 500


class BadInput(NacreError):
    exit_code = 2
    http_status = 400


class BadSetting(BadInput):
    pass


class PathEscape(BadInput):
    http_status = 403


class PartlyDone(NacreError):
    exit_code = 3
    http_status = 207


class NotFound(NacreError):
    http_status = 404


class NoWorkspace(NacreError):
    exit_code = 10
    http_status = 404


class NotTrusted(NoWorkspace):
    http_status = 403


class Locked(NacreError):
    exit_code = 11
    http_status = 423


class ChangedOutside(NacreError):
    exit_code = 12
    http_status = 409


class SecretRefused(NacreError):
    exit_code = 13
    http_status = 422


class MemoryFull(NacreError):
    http_status = 409


class CannotWrite(NacreError):
    http_status = 507


class CannotRead(NacreError):
    http_status = 503


class IndexUnusable(NacreError):
    pass


class ModelUnusable(NacreError):
    http_status = 503


NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ESTALE, *NO_PERMISSION})


def raise_unless_absent(path: Path | str, error: OSError) -> None:
    """Return when the error means that there is nothing to read at the path. A file system that failed is not an empty one."""
    if error.errno not in ABSENT:
        reason = error.strerror or str(error)
        raise CannotRead(
            say(
                f"{path} could not be read: {reason}. Nothing was changed; try again.",
                f"{path} 无法读取：{reason}。未做任何更改；请重试。",
            )
        ) from error


def cannot_write(path: Path | str, trouble: OSError) -> CannotWrite:
    """The sentence for a failed write, by its cause."""
    if trouble.errno in NO_SPACE:
        return CannotWrite(
            say(
                f"The disk is full: {path} could not be written and is as it was. Make room and run the command again.",
                f"磁盘已满：{path} 未能写入，内容保持原样。请腾出空间后重试。",
            )
        )
    if trouble.errno in NO_PERMISSION:
        return CannotWrite(
            say(
                f"{path} is read-only here. Check its permissions, or name another workspace with --workspace.",
                f"{path} 在此处是只读的。请检查权限，或用 --workspace 指定其他工作区。",
            )
        )
    reason = trouble.strerror or str(trouble)
    return CannotWrite(say(f"{path} could not be written: {reason}.", f"{path} 无法写入：{reason}。"))
