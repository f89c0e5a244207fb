"""One daemon for each workspace, private, found again after a crash, gone without a trace after a stop."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.daemon import client, fast
from nacre.daemon.process import Endpoint, daemon_process, ensure_running, stop_daemon
from nacre.errors import Locked
from nacre.memory import Memory
from nacre.model import Workspace

from .conftest import Start, answers, connected, framed
from .waiting import until


def socket_of(root: Path) -> Path:
    with connected(root) as daemon:
        return Path(daemon.ask("status")["socket"])


def test_only_the_user_can_reach_it(root: Path, start: Start) -> None:
    start()
    path = socket_of(root)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((root / ".nacre" / "daemon.log").stat().st_mode) == 0o600


def test_one_that_still_loads_its_models_is_waited_for(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter([{"skew": None, "warm": warm} for warm in (False, False, True)])
    monkeypatch.setattr(client, "daemon_status", lambda _root: next(states))
    assert ensure_running(Memory.open(root))["warm"] is True


def test_there_is_only_one(root: Path, start: Start) -> None:
    process = start()
    done = subprocess.run(
        [sys.executable, "-m", "nacre", "--workspace", str(root), "serve"], capture_output=True, text=True, check=False
    )
    assert done.returncode == Locked.exit_code
    assert "already running for" in done.stderr
    with pytest.raises(Locked):
        Endpoint(Workspace(root))
    assert daemon_process(Workspace(root)) == process.pid
    assert answers(root)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(root: Path, start: Start, number: signal.Signals) -> None:
    process = start()
    path = socket_of(root)
    process.send_signal(number)
    assert process.wait(300) == 0
    assert not path.exists()
    assert daemon_process(Workspace(root)) is None
    assert client.daemon_status(str(root)) is None


def test_what_was_asked_before_the_signal_is_answered(root: Path, start: Start) -> None:
    process = start()
    with connected(root) as daemon:
        daemon._socket.sendall(framed(client.pack({"kind": "search", "asked": {"query": "roses"}})))
        until(lambda: client.daemon_status(str(root)) is not None)  # our question was taken before this one
        process.send_signal(signal.SIGTERM)
        daemon._socket.settimeout(300)
        header = daemon._socket.recv(4, socket.MSG_WAITALL)
        body = daemon._socket.recv(int.from_bytes(header, "big"), socket.MSG_WAITALL)
        assert "parts" in client.unpack(body)
    assert process.wait(300) == 0


def test_what_a_killed_one_left_is_replaced(root: Path, start: Start) -> None:
    process = start()
    path = socket_of(root)
    process.kill()
    process.wait(300)
    assert path.exists()
    assert not answers(root)
    start()
    assert answers(root)
    assert socket_of(root) == path


def test_it_ends_when_it_cannot_be_found_any_more(root: Path, start: Start) -> None:
    process = start()
    socket_of(root).unlink()
    assert process.wait(300) == 0


def test_a_folder_that_is_a_link_or_open_to_others_is_not_used_as_it_is(root: Path, tmp_path: Path) -> None:
    runtime = Path(os.environ["XDG_RUNTIME_DIR"])
    (tmp_path / "elsewhere").mkdir()
    (runtime / "nacre").symlink_to(tmp_path / "elsewhere")
    post = Endpoint(Workspace(root))
    assert post.socket == f"{os.path.realpath(root)}/.nacre/daemon-{os.getuid()}.sock"
    assert list((tmp_path / "elsewhere").iterdir()) == []
    post.listener.close()
    post.leave()
    (runtime / "nacre").unlink()
    (runtime / "nacre").mkdir(mode=0o777)
    (runtime / "nacre").chmod(0o777)
    post = Endpoint(Workspace(root))
    assert stat.S_IMODE((runtime / "nacre").stat().st_mode) == 0o700
    post.listener.close()
    post.leave()


def test_a_file_in_the_place_of_the_socket_is_left_alone(root: Path) -> None:
    place = Path(fast.socket_paths(str(root))[0])
    place.parent.mkdir(mode=0o700)
    place.write_text("mine", "utf8")
    post = Endpoint(Workspace(root))
    assert post.socket != str(place)
    post.listener.close()
    post.leave()
    assert place.read_text("utf8") == "mine"


def test_a_workspace_with_a_long_path_is_served_too(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    deep = tmp_path / ("long" * 25) / "工作区"
    Memory.init(deep).close()
    start(place=deep)
    assert answers(deep)
    assert stop_daemon(Memory.open(deep)) is not None


def test_stopping_ends_one_that_does_not_answer_too(root: Path, start: Start) -> None:
    process = start()
    socket_of(root).unlink()
    assert stop_daemon(Memory.open(root)) == process.pid
    assert process.wait(300) == 0
    assert stop_daemon(Memory.open(root)) is None


# A daemon that has lived long enough and holds more than it may: what fills it is gone when it has begun again.
LARGE = """
from nacre.daemon import service
service._LARGE_AGAIN = 0.0
ballast = b"x" * 400_000_000
from nacre.__main__ import main
main()
"""


def test_one_that_grew_too_large_begins_again_small_and_goes_on_answering(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_SERVE_MAX_MEMORY_MB", "300")
    process = start(program=("-c", LARGE))

    def is_small() -> bool:
        told = client.daemon_status(str(root))
        return told is not None and told["memoryMb"] < 300

    until(is_small, 60)
    with connected(root) as daemon:
        assert daemon.ask("status")["process"] == process.pid  # the same process, begun again
        assert daemon.ask("search", asked={"query": "roses"})["parts"]
    told = (root / ".nacre" / "daemon.log").read_text("utf8")
    assert [told.count(words) for words in ("INFO started", "renew: too much memory")] == [2, 1]
    assert process.poll() is None
