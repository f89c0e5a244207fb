"""What the client costs, and where it looks."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.daemon import client, fast
from nacre.daemon.service import meaning_of
from nacre.embed.remote import PROVIDERS

from .conftest import Start, answers
from .waiting import until

HEAVY = {"click", "typing", "re", "json", "socket", "hashlib", "tomllib", "dataclasses", "nacre.config", "nacre.memory"}


def test_what_asks_before_the_command_line_is_loaded_loads_nothing_heavy() -> None:
    program = "import sys; before = set(sys.modules); import nacre.daemon.fast; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "nacre.daemon.fast" in done.stdout.split()
    assert not HEAVY & set(done.stdout.split())


@pytest.mark.parametrize("body", [b"", b"{", b"[1,]", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_a_bad_message(body: bytes) -> None:
    with pytest.raises(client.BadMessage):
        client.unpack(body)


def test_a_message_arrives_as_it_was_sent() -> None:
    message = {
        "kind": "search",
        "asked": {"query": "花园 \n\ud800", "limit": 3, "all": True, "since": None, "x": [0.5]},
    }
    assert client.unpack(client.pack(message)) == message


def test_the_socket_lies_where_the_system_keeps_such_things(root: Path) -> None:
    assert fast.socket_paths(str(root))[0].startswith(os.environ["XDG_RUNTIME_DIR"] + "/nacre/")


def test_a_place_that_is_too_long_for_a_socket_is_no_place(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = root / ("x" * 90)
    assert all(len(place) <= fast._LONGEST_SOCKET_PATH for place in fast.socket_paths(str(deep)))
    assert not any(place.startswith(str(root)) for place in fast.socket_paths(str(deep)))


def test_a_workspace_has_one_name_however_it_is_reached(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    paths = fast.socket_paths(str(root))
    assert fast.socket_paths(str(tmp_path / "link")) == fast.socket_paths(f"{root}/memory/..") == paths


def test_environments_are_told_apart_by_what_changes_an_answer(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = meaning_of(fast.environment(), keys=True)
    for name, value in (
        ("NACRE_SEARCH_DECAY", "off"),
        ("NACRE_LANGUAGE", "zh"),
        ("OPENAI_API_KEY", "x"),
        ("TZ", "UTC+3"),
    ):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            assert meaning_of(fast.environment(), keys=True) != before
    for name in ("NACRE_WORKSPACE", "ANTHROPIC_API_KEY", "PATH"):
        monkeypatch.setenv(name, str(root))
    assert meaning_of(fast.environment(), keys=True) == before


def test_a_key_tells_answers_apart_only_where_a_service_may_be_asked(
    root: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [key for provider in PROVIDERS.values() for key in provider.key_variables]
    assert sorted(keys) == sorted(name for name in fast.NAMES if name.endswith("_API_KEY"))
    start()
    with monkeypatch.context() as changed:
        changed.setenv("OPENAI_API_KEY", "x")
        assert not answers(root)  # no model is installed: whichever key is there is used
    Path(os.environ["NACRE_MODELS_PATH"], "some-model").mkdir(parents=True)
    until(lambda: answers(root))
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    until(lambda: answers(root))


def test_nobody_there_is_no_daemon(root: Path) -> None:
    with pytest.raises(client.NoDaemon):
        client.Connection(str(root))
    assert client.daemon_status(str(root)) is None


@pytest.fixture
def trickling(root: Path) -> Iterator[list[int]]:
    """A daemon that is there, and never comes to the end of its hello; and how often it was asked."""
    place = Path(fast.socket_paths(str(root))[0])
    place.parent.mkdir(parents=True, exist_ok=True)
    asked: list[int] = []
    over = threading.Event()

    def answer(one: socket.socket) -> None:
        asked.append(1)
        with one, contextlib.suppress(OSError):
            one.sendall(b"\0\0\x10\0")
            while not over.wait(0.05):
                one.sendall(b" ")

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield asked
        over.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    client.hung.clear()


def test_one_that_trickles_is_waited_for_as_long_as_was_said_and_then_left_alone(
    root: Path, trickling: list[int]
) -> None:
    with pytest.raises(client.NoDaemon):
        client.Connection(str(root), within=0.3)
    with pytest.raises(client.NoDaemon):
        client.Connection(str(root), within=0.3)
    assert len(trickling) == 1


def test_a_hook_has_half_its_time_left_when_the_daemon_hangs(root: Path, trickling: list[int]) -> None:
    (root / "MEMORY.md").write_text("# Long-Term Memory\n\n## Key Facts\n- The launch is on 3 May\n", "utf8")
    environment = {**os.environ, "NACRE_HOOKS_TIMEOUT_MS": "20000", "NACRE_SERVE_AUTO": "false"}
    environment.pop("NACRE_NO_DAEMON", None)
    done = subprocess.run(
        [sys.executable, "-m", "nacre", "hook", "SessionStart", "--agent", "claude-code", "--workspace", str(root)],
        input='{"hook_event_name":"SessionStart","session_id":"s","source":"startup"}',
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert "3 May" in done.stdout
    assert len(trickling) == 1
