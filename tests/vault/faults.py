"""A child stopped at its system calls: killed before one, in the middle of a write, or told that the disk is full.

A debugger's own means (ptrace), so that nothing of the program under test is changed. The child is forked from a process that has
everything loaded, because a fresh interpreter for each call would take a hundred times as long.
"""

from __future__ import annotations

import ctypes
import errno
import io
import os
import platform
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

KILLED, TORN, FULL = "killed before the call", "killed in the middle of a write", "disk full from the call on"

_TRACE_ME, _GET_REGISTERS, _SET_REGISTERS, _NEXT_CALL = 0, 12, 13, 24
_SET_OPTIONS, _CALL_INFO = 0x4200, 0x420E
_CALLS_ARE_MARKED, _DIES_WITH_US = 0x1, 0x100000
_ENTERED, _LEFT = 1, 2
_RESULT, _COUNT, _CALL = 10, 12, 15  # where the registers of x86-64 stand in the kernel's structure
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

# The calls that change what a file system holds, by their numbers on each machine.
_CHANGING = {
    "x86_64": {
        "write": (1, 18, 20), "open": (2,), "openat": (257,), "make": (83, 258, 86, 265, 88, 266),
        "rest": (73, 74, 75, 76, 77, 82, 84, 85, 87, 90, 91, 92, 93, 260, 263, 264, 268, 280, 285, 316),
    },
    "aarch64": {
        "write": (64, 66, 68), "open": (), "openat": (56,), "make": (34, 36, 37),
        "rest": (32, 35, 38, 45, 46, 47, 52, 53, 54, 55, 82, 83, 88, 276),
    },
}  # fmt: skip


class Outcome(NamedTuple):
    """How the child ended: its exit status (negative: the signal), what it printed, and how many calls it was stopped at."""

    status: int
    printed: str
    calls: int
    reached: bool  # whether it came as far as the fault


class _Call(NamedTuple):
    name: str
    arguments: tuple[int, ...]

    @property
    def needs_room(self) -> bool:
        """Whether it can fail because the disk is full; the standard streams are pipes here."""
        return self.name in ("open", "make") or (self.name == "write" and self.arguments[0] > 2)


@cache
def missing() -> str | None:
    """Why faults cannot be put into a child here; None when they can."""
    if sys.platform != "linux" or platform.machine() not in _CHANGING:
        return (
            f"system calls are stopped by ptrace on Linux (x86-64, aarch64), not on {sys.platform} {platform.machine()}"
        )
    try:
        return None if run(lambda: 0).calls >= 0 else "ptrace is not allowed here"
    except OSError as trouble:
        return f"ptrace is not allowed here: {trouble.strerror}"


def only_kills() -> str | None:
    """Why calls cannot be altered here, only stopped at."""
    machine = platform.machine()
    return missing() or (None if machine == "x86_64" else f"registers are altered on x86-64 only, not on {machine}")


def run(work: Callable[[], int], fault: str = KILLED, at: int = 0) -> Outcome:
    """Do the work in a child, with a fault at its `at`-th changing call (0: none)."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _be_the_child(work, writer)
    os.close(writer)
    try:
        return _follow(pid, fault, at, reader)
    finally:
        os.close(reader)


def _be_the_child(work: Callable[[], int], writer: int) -> None:
    status = 99
    try:
        os.dup2(writer, 1)
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf8", write_through=True)
        _ptrace(_TRACE_ME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        status = work()
    except BaseException:  # noqa: BLE001 - shown, and told by the exit status
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(status)


def _follow(pid: int, fault: str, at: int, reader: int) -> Outcome:
    """Let the child run from call to call until it ends."""
    _, status = os.waitpid(pid, 0)
    if not os.WIFSTOPPED(status):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    _ptrace(_SET_OPTIONS, pid, 0, _CALLS_ARE_MARKED | _DIES_WITH_US)
    calls, reached, deliver = 0, False, 0
    while True:
        _ptrace(_NEXT_CALL, pid, 0, deliver)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return Outcome(os.waitstatus_to_exitcode(status), _printed(reader), calls, reached)
        deliver = 0 if os.WSTOPSIG(status) in (signal.SIGTRAP | 0x80, signal.SIGSTOP) else os.WSTOPSIG(status)
        call = _changing(pid) if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80 else None
        if call is None or (fault == TORN and (call.name != "write" or call.arguments[2] < 2)):
            continue
        if fault == FULL and not call.needs_room:
            continue
        calls += 1
        if not at or calls < at:
            continue
        reached = True
        if fault == FULL:
            _refuse(pid)
            continue
        if fault == TORN:
            _halve(pid, call.arguments[2])
        os.kill(pid, signal.SIGKILL)
        ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return Outcome(ended, _printed(reader), calls, reached)


def _changing(pid: int) -> _Call | None:
    """The call that the child is about to make, when it changes files."""
    told = (ctypes.c_char * 88)()
    _ptrace(_CALL_INFO, pid, len(told), ctypes.addressof(told))
    stop, number, *arguments = struct.unpack_from("B23xQ6Q", told.raw)
    if stop != _ENTERED:
        return None
    numbers = _CHANGING[platform.machine()]
    for name in ("write", "make", "rest"):
        if number in numbers[name]:
            return _Call(name, tuple(arguments))
    for name, flags in (("open", 1), ("openat", 2)):
        if number in numbers[name] and arguments[flags] & _WRITING:
            return _Call("open" if arguments[flags] & os.O_CREAT else "rest", tuple(arguments))
    return None


def _refuse(pid: int) -> None:
    """The call is not made; the child is told that the disk is full."""
    _set_register(pid, _CALL, -1)
    _to_the_end_of_the_call(pid)
    _set_register(pid, _RESULT, -errno.ENOSPC)


def _halve(pid: int, count: int) -> None:
    """Only half of the bytes are written."""
    _set_register(pid, _COUNT, count // 2)
    _to_the_end_of_the_call(pid)


def _to_the_end_of_the_call(pid: int) -> None:
    _ptrace(_NEXT_CALL, pid)
    os.waitpid(pid, 0)


def _set_register(pid: int, which: int, value: int) -> None:
    registers = (ctypes.c_ulong * 27)()
    _ptrace(_GET_REGISTERS, pid, 0, ctypes.addressof(registers))
    registers[which] = value & 0xFFFF_FFFF_FFFF_FFFF
    _ptrace(_SET_REGISTERS, pid, 0, ctypes.addressof(registers))


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.restype = ctypes.c_long
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    return library


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if _library().ptrace(request, pid, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _printed(reader: int) -> str:
    parts = []
    while part := os.read(reader, 65536):
        parts.append(part)
    return b"".join(parts).decode("utf8", "replace")
