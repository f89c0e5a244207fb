"""A child with a fault at one of its system calls: killed before it, killed in the middle of a write, or told that it failed.

The kernel stops the child at the calls that change files and at no others (a seccomp filter and ptrace), so that nothing of the
program under test is changed, SQLite's writes are met like any other, and a run takes hardly longer than one in peace.
The child is forked from a process that has everything loaded: a fresh interpreter for each trial would take fifty times as long.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

KILLED = "killed before the call"
TORN = "killed in the middle of a write"
FULL = "disk full from the call on"
FAILED = "input/output error at the call"
BROKEN = "input/output errors from the call on"
INTERRUPTED = "interrupted call"
SHORT = "short write"
FAULTS = (KILLED, TORN, FULL, FAILED, BROKEN, INTERRUPTED, SHORT)

_TRACE_ME, _CONTINUE, _GET_REGISTERS, _SET_REGISTERS, _NEXT_CALL = 0, 7, 12, 13, 24
_SET_OPTIONS, _CALL_INFO = 0x4200, 0x420E
_OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x80 | 0x100000  # marked calls, children and threads, seccomp stops, dies with us
_STOPPED_BY_FILTER = signal.SIGTRAP | 7 << 8
_RESULT, _COUNT, _CALL = 10, 12, 15  # where the registers of x86-64 stand in the kernel's structure
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_ALL_THREADS = 0x40000000
_NO_NEW_PRIVILEGES, _SET_FILTER = 38, 22
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _TRACE = 0x7FFF0000, 0x7FF00000

# The calls that change what a file system holds, by their numbers on each machine.
_NUMBERS: dict[str, dict[str, tuple[int, ...]]] = {
    "x86_64": {
        "write": (1, 18, 20), "open": (2,), "openat": (257,), "make": (83, 258, 86, 265, 88, 266),
        "sync": (74, 75), "truncate": (76, 77, 285),
        "rest": (73, 82, 84, 85, 87, 90, 91, 92, 93, 260, 263, 264, 268, 280, 316),
    },
    "aarch64": {
        "write": (64, 66, 68), "open": (), "openat": (56,), "make": (34, 36, 37),
        "sync": (82, 83), "truncate": (45, 46, 47),
        "rest": (32, 35, 38, 52, 53, 54, 55, 88, 276),
    },
}  # fmt: skip


class Outcome(NamedTuple):
    """How the child ended: its exit status (negative: the signal), and at how many calls each fault could have come."""

    status: int
    out: str
    err: str
    calls: Counter[str]
    reached: bool  # whether it came as far as the fault


class _Call(NamedTuple):
    name: str
    arguments: tuple[int, ...]

    def can_have(self, fault: str) -> bool:
        """Whether the fault can come at this call. The standard streams belong to whoever started the command."""
        if fault == KILLED:
            return True
        if self.name == "write" and self.arguments[0] <= 2:
            return False
        if fault in (TORN, SHORT):
            return self.name == "write" and self.arguments[2] >= 2
        if fault == FULL:
            return self.name in ("create", "make", "write")
        if fault == INTERRUPTED:  # the calls that a signal may interrupt
            return self.name in ("create", "open", "write", "sync", "truncate")
        return True


@cache
def missing() -> str | None:
    """Why faults cannot be put into a child here; None when they can."""
    if sys.platform != "linux" or platform.machine() not in _NUMBERS:
        return f"calls are stopped on Linux (x86-64, aarch64), not on {sys.platform} {platform.machine()}"
    try:
        outcome = run(lambda: 0 * os.open(os.devnull, os.O_WRONLY))
    except OSError as error:
        return f"ptrace is not allowed here: {error.strerror}"
    return None if outcome.status == 0 and outcome.calls[KILLED] == 1 else "calls cannot be filtered here"


@cache
def only_kills() -> str | None:
    """Why calls cannot be altered here, only stopped at."""
    machine = platform.machine()
    return missing() or (None if machine == "x86_64" else f"registers are altered on x86-64 only, not on {machine}")


def run(work: Callable[[], int], fault: str = KILLED, at: int = 0) -> Outcome:
    """Do the work in a child, with a fault at the `at`-th call where it can come (0: none)."""
    streams = [os.memfd_create(name) for name in ("stdout", "stderr")]
    try:
        pid = os.fork()
        if pid == 0:
            _be_the_child(work, streams)
        status, calls, reached = _follow(pid, fault, at)
        out, err = (os.pread(stream, os.fstat(stream).st_size, 0).decode("utf8", "replace") for stream in streams)
        return Outcome(status, out, err, calls, reached)
    finally:
        for stream in streams:
            os.close(stream)


def _be_the_child(work: Callable[[], int], streams: list[int]) -> None:
    status = 99
    try:
        for number, stream in enumerate(streams, start=1):
            os.dup2(stream, number)
        sys.stdout = open(1, "w", encoding="utf8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf8", closefd=False)  # noqa: SIM115
        _ptrace(_TRACE_ME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        _install_filter()
        status = work()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - shown, and told by the exit status
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _install_filter() -> None:
    """From now on this process stops at the calls that change files."""
    numbers = _NUMBERS[platform.machine()]
    always = [number for name, group in numbers.items() if name not in ("open", "openat") for number in group]
    flags = [(number, 16 + 8 * place) for name, place in (("open", 1), ("openat", 2)) for number in numbers[name]]
    stop = 2 + len(always) + 5 * len(flags)  # where the last instruction stands
    program = [(_LOAD, 0, 0, 0)]
    program += [(_EQUAL, stop - place - 2, 0, number) for place, number in enumerate(always)]
    for number, offset in flags:
        program += [(_EQUAL, 0, 4, number), (_LOAD, 0, 0, offset), (_ANY_BIT, 0, 1, _WRITING)]
        program += [(_RETURN, 0, 0, _TRACE), (_RETURN, 0, 0, _ALLOW)]
    program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _TRACE)]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    kept = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("H6xQ", len(program), ctypes.addressof(kept)))
    library = _library()
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or library.prctl(_SET_FILTER, 2, ctypes.addressof(head), 0, 0):
        raise OSError(ctypes.get_errno(), "the filter was not taken")


def _follow(pid: int, fault: str, at: int) -> tuple[int, Counter[str], bool]:
    """Let the child and all that it starts run from call to call until it ends."""
    _, status = os.waitpid(pid, 0)
    if not os.WIFSTOPPED(status):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))
    _ptrace(_SET_OPTIONS, pid, 0, _OPTIONS)
    _ptrace(_CONTINUE, pid)
    calls: Counter[str] = Counter()
    reached = False
    seen = {pid}  # it, its threads and what it started
    while True:
        stopped, status = os.waitpid(-1, _ALL_THREADS)
        if not os.WIFSTOPPED(status):
            if stopped == pid:
                return os.waitstatus_to_exitcode(status), calls, reached
            continue
        seen.add(stopped)
        if status >> 8 != _STOPPED_BY_FILTER:
            own = (signal.SIGTRAP, signal.SIGSTOP, signal.SIGTRAP | 0x80)
            _ptrace(_CONTINUE, stopped, 0, 0 if os.WSTOPSIG(status) in own else os.WSTOPSIG(status))
            continue
        call = _call(stopped)
        possible = [kind for kind in FAULTS if call.can_have(kind)]
        calls.update(possible)
        here = calls[fault] == at or (calls[fault] > at and fault in (FULL, BROKEN))
        if at and here and fault in possible:
            reached = True
            if not _strike(stopped, call, fault):
                return _end(pid, seen), calls, reached
        _ptrace(_CONTINUE, stopped)


def _end(pid: int, seen: set[int]) -> int:
    """Kill a child and everything that it started, and wait for it; other children of this process are left alone."""
    for each in seen:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    ended = 0
    for each in seen:
        with contextlib.suppress(ChildProcessError):
            while os.WIFSTOPPED(status := os.waitpid(each, _ALL_THREADS)[1]):
                pass
            ended = os.waitstatus_to_exitcode(status) if each == pid else ended
    return ended


def _strike(pid: int, call: _Call, fault: str) -> bool:
    """Let the fault come at the call; whether the child lives on."""
    if fault in (TORN, SHORT):
        _set_registers(pid, {_COUNT: call.arguments[2] // 2})
    elif fault != KILLED:
        code = {FULL: errno.ENOSPC, INTERRUPTED: errno.EINTR}.get(fault, errno.EIO)
        _set_registers(pid, {_CALL: -1, _RESULT: -code})  # the call is not made
    if fault == TORN:
        _ptrace(_NEXT_CALL, pid)  # to the end of the call
        os.waitpid(pid, _ALL_THREADS)
    return fault not in (KILLED, TORN)


def _call(pid: int) -> _Call:
    """The call that the child is about to make."""
    told = (ctypes.c_char * 88)()
    _ptrace(_CALL_INFO, pid, len(told), ctypes.addressof(told))
    number, *arguments = struct.unpack_from("24xQ6Q", told.raw)
    name = next(name for name, numbers in _NUMBERS[platform.machine()].items() if number in numbers)
    if name in ("open", "openat"):
        flags = arguments[1 if name == "open" else 2]
        name = "create" if flags & os.O_CREAT else "open"
    return _Call(name, tuple(arguments))


def _set_registers(pid: int, values: dict[int, int]) -> None:
    registers = (ctypes.c_ulong * 27)()
    _ptrace(_GET_REGISTERS, pid, 0, ctypes.addressof(registers))
    for which, value in values.items():
        registers[which] = value & 0xFFFF_FFFF_FFFF_FFFF
    _ptrace(_SET_REGISTERS, pid, 0, ctypes.addressof(registers))


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.restype = ctypes.c_long
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    library.prctl.argtypes = [ctypes.c_int, *([ctypes.c_ulong] * 4)]
    return library


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if _library().ptrace(request, pid, address, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
