"""The daemon's own log: kinds, durations and errors, never a question or a word of memory."""

from __future__ import annotations

import logging
import logging.handlers
import os
from io import TextIOWrapper
from pathlib import Path

_MOST, _OLDER = 1_000_000, 2  # bytes of one file, and how many older ones are kept


class _PrivateFile(logging.handlers.RotatingFileHandler):
    """A file that only its owner reads, and that is not written through a link."""

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        return os.fdopen(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")

    def handleError(self, _record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """A full disk is no reason to stop answering."""


def open_log(path: Path) -> logging.Logger:
    """The log of one daemon; one that cannot be written is left out."""
    log = logging.Logger(f"nacre {path}")  # noqa: LOG001 - of its own, not below the root's
    try:
        handler: logging.Handler = _PrivateFile(path, maxBytes=_MOST, backupCount=_OLDER, encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    return log


def close_log(log: logging.Logger) -> None:
    for handler in list(log.handlers):
        handler.close()
        log.removeHandler(handler)


def error_place(trouble: BaseException) -> str:
    """What went wrong and where in the code, without its words: they may quote a memory."""
    trace = trouble.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else "?"
    return f"{type(trouble).__name__} at {where}"
