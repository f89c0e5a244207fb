"""One tree of errors: each is a sentence with a remedy, and an exit code for the shell.

NacreError                 1
├── BadInput               2   an argument, a query or a setting that cannot be used
│   ├── BadSetting         2
│   └── PathEscape         2   a path that leads out of the workspace
├── PartlyDone             3   some of it was done; the sentence says what was not
├── NotFound               1   no such file, line, entry or operation
├── NoWorkspace           10
├── Locked                11   another process holds the lock
├── ChangedOutside        12   the file is no longer what was read
├── SecretRefused         13
├── MemoryFull             1   the hard limits of MEMORY.md
├── CannotWrite            1   read-only, full disk, no permission
├── CannotRead             1   the file system failed: no descriptors left, an input error; nothing is taken for gone
├── IndexUnusable          1   made by a newer version, or beyond repair
├── ModelUnusable          1   missing, damaged or unreachable embedding model
└── BrainFailed            1   the user's own model gave no answer that can be used; the local brain does the work
    └── Waiting            1   its order waits for the user's agent
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

from nacre.i18n import say


class NacreError(Exception):
    """An error as one sentence: in English and Chinese, of which the user's language is taken, or as it is to be shown."""

    exit_code = 1

    def __init__(self, english: str, chinese: str | None = None) -> None:
        super().__init__(english if chinese is None else say(english, chinese))


class BadInput(NacreError):
    exit_code = 2


class BadSetting(BadInput):
    pass


class PathEscape(BadInput):
    pass


class PartlyDone(NacreError):
    exit_code = 3


class NotFound(NacreError):
    pass


class NoWorkspace(NacreError):
    exit_code = 10


class Locked(NacreError):
    exit_code = 11


class ChangedOutside(NacreError):
    exit_code = 12


class SecretRefused(NacreError):
    exit_code = 13


class MemoryFull(NacreError):
    pass


class CannotWrite(NacreError):
    pass


class CannotRead(NacreError):
    pass


class IndexUnusable(NacreError):
    pass


class ModelUnusable(NacreError):
    pass


class BrainFailed(NacreError):
    pass


class Waiting(BrainFailed):
    """Orders wait for the user's agent, by their keys: work that can be left for later is left."""

    def __init__(self, *keys: str) -> None:
        super().__init__("Waiting for your agent.", "等待你的智能体处理。")
        self.keys = keys


NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NO_PERMISSION = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ESTALE, *NO_PERMISSION})


def raise_unless_absent(path: Path | str, error: OSError) -> None:
    """Return when the error means that there is nothing to read at the path. A file system that failed is not an empty one."""
    if error.errno not in ABSENT:
        reason = error.strerror or str(error)
        raise CannotRead(
            f"{path} could not be read: {reason}. Nothing was changed; try again.",
            f"无法读取 {path}：{reason}。未作任何更改，请重试。",
        ) from error


def cannot_write(path: Path | str, error: OSError) -> CannotWrite:
    """The sentence for a failed write, by its cause."""
    if error.errno in NO_SPACE:
        return CannotWrite(
            f"The disk is full: {path} could not be written and is unchanged. Free some space and run the command again.",
            f"磁盘已满：{path} 未能写入，内容未变。请腾出空间后重新运行命令。",
        )
    if error.errno in NO_PERMISSION:
        return CannotWrite(
            f"{path} is read-only. Check its permissions, or choose another workspace with --workspace.",
            f"{path} 是只读的。请检查权限，或用 --workspace 指定其他工作区。",
        )
    reason = error.strerror or str(error)
    return CannotWrite(f"{path} could not be written: {reason}.", f"无法写入 {path}：{reason}。")


def error_place(error: BaseException) -> str:
    """What went wrong and where in the code, without its words: they may quote a memory."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}" if trace else "?"
    return f"{type(error).__name__} at {where}"
