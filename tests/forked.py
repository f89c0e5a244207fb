"""`python -m nacre` in a fork of a process that has loaded it: as much on its own as in a process of its own, without loading it again.

For commands that leave nothing running behind them.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nacre.__main__

ROOT = Path(__file__).resolve().parents[1]
LOADED = "numpy nacre.cli.brain nacre.cli.capture nacre.cli.entries nacre.cli.layers nacre.cli.search nacre.cli.session nacre.cli.status nacre.cli.tidy nacre.cli.workspace"
LONGEST = 1_000_000  # bytes of a command with its environment


def run(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | str | None = None,
    input: str | bytes | None = None,  # noqa: A002 - the name in subprocess
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What a command prints, and its exit code."""
    data = input.encode() if isinstance(input, str) else input or b""
    if sys.platform != "linux":  # elsewhere a fork may not use what its parent has loaded
        command = [sys.executable, "-m", "nacre", *arguments]
        done = subprocess.run(command, env=env, cwd=cwd, input=data, capture_output=True, check=check)
        return subprocess.CompletedProcess(arguments, done.returncode, done.stdout.decode(), done.stderr.decode())
    request = json.dumps([list(arguments), dict(env), str(cwd or Path.cwd())]).encode()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(data)
        given.seek(0)
        server = _server()
        socket.send_fds(server, [request], [given.fileno(), out.fileno(), err.fileno()])
        code = int(server.recv(100))
        out.seek(0)
        err.seek(0)
        printed, noted = out.read().decode(), err.read().decode()
    assert code == 0 or not check, noted
    return subprocess.CompletedProcess(arguments, code, printed, noted)


@functools.cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    code = f"from tests.forked import serve; serve({theirs.fileno()})"
    env = {**os.environ, "OMP_NUM_THREADS": "1"}  # with threads of its own numpy cannot be forked
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=env, pass_fds=[theirs.fileno()])
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def serve(number: int) -> None:
    """Answer commands until the tests are over."""
    for name in LOADED.split():
        importlib.import_module(name)
    gc.freeze()
    with socket.socket(fileno=number) as commands:
        while True:
            request, streams, _, _ = socket.recv_fds(commands, LONGEST, 3)
            if not request:
                return
            child = os.fork()
            if not child:
                commands.close()
                arguments, env, folder = json.loads(request)
                _become(arguments, env, folder, streams)
            for stream in streams:
                os.close(stream)
            commands.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(arguments: list[str], env: dict[str, str], folder: str, streams: Sequence[int]) -> None:
    """Be the command, and end with it."""
    code: Any = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        sys.stdin, sys.stdout = os.fdopen(0, encoding="utf-8"), os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace")
        os.environ.clear()
        os.environ.update(env)
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        time.tzset()
        os.chdir(folder)
        sys.argv = ["nacre", *arguments]
        code = nacre.__main__._run(arguments)
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - a bug shows itself
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0)
