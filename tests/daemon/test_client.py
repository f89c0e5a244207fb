"""What the client costs, and where it looks."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.daemon import client
from nacre.embed.remote import PROVIDERS

HEAVY = {"click", "typing", "re", "json", "socket", "hashlib", "tomllib", "dataclasses", "nacre.config", "nacre.memory"}


def test_importing_the_client_loads_nothing_heavy() -> None:
    told = "import sys; before = set(sys.modules); import nacre.daemon.client; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert "nacre.daemon.client" in done.stdout.split()
    assert not HEAVY & set(done.stdout.split())


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(values)
def test_quick_json_says_what_json_says(value: object) -> None:
    assert json.loads(client.dumps(value)) == value
    assert client.loads(json.dumps(value)) == value
    assert client.loads(client.dumps(value)) == value


@pytest.mark.parametrize("text", ["", "{", "[1,]", '{"a":1} x', "nul", '"\n"', "[" * 100_000])
def test_what_is_not_json_is_an_error(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        client.loads(text)


def test_a_message_arrives_as_it_was_sent() -> None:
    message = {
        "kind": "search",
        "asked": {"query": "花园 \n\ud800", "limit": 3, "all": True, "since": None, "x": [0.5]},
    }
    data = client.pack(message)
    assert client.body_length(data, client.LARGEST_REQUEST) == len(data) - client.HEADER
    assert client.unpack(data[client.HEADER :]) == message


def test_the_socket_lies_where_the_system_keeps_such_things(root: Path) -> None:
    assert client.socket_paths(str(root))[0].startswith(os.environ["XDG_RUNTIME_DIR"] + "/nacre/")


def test_a_place_that_is_too_long_for_a_socket_is_no_place(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = root / ("x" * 90)
    assert all(len(place) <= client.LONGEST_SOCKET_PATH for place in client.socket_paths(str(deep)))
    assert not any(place.startswith(str(root)) for place in client.socket_paths(str(deep)))


def test_a_workspace_has_one_name_however_it_is_reached(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    paths = client.socket_paths(str(root))
    assert client.socket_paths(str(tmp_path / "link")) == client.socket_paths(f"{root}/memory/..") == paths


def test_settings_models_and_environment_tell_answers_apart(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = client.settings_print(str(root)), client.environment_print(str(root))
    (root / ".nacre" / "config.toml").write_text("[search]\nmax_results = 3\n", "utf8")
    assert client.settings_print(str(root)) != before[0]
    after = client.settings_print(str(root))
    for name, value in (
        ("NACRE_SEARCH_DECAY", "off"),
        ("NACRE_LANGUAGE", "zh"),
        ("OPENAI_API_KEY", "x"),
        ("TZ", "UTC+3"),
    ):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            assert client.environment_print(str(root)) != before[1]
    monkeypatch.setenv("NACRE_WORKSPACE", str(root))
    assert client.environment_print(str(root)) == before[1]
    Path(os.environ["NACRE_MODELS_PATH"], "some-model").mkdir(parents=True)
    assert client.settings_print(str(root)) != after


def test_a_key_tells_answers_apart_only_where_a_service_may_be_asked(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def matters(name: str) -> bool:
        with monkeypatch.context() as changed:
            without = client.environment_print(str(root))
            changed.setenv(name, "x")
            return client.environment_print(str(root)) != without

    assert sorted(client._API_KEYS) == sorted(key for one in PROVIDERS.values() for key in one.key_variables)
    assert matters("OPENAI_API_KEY")  # no model is installed: whichever key is there is used
    assert not matters("ANTHROPIC_API_KEY")
    Path(os.environ["NACRE_MODELS_PATH"], "some-model").mkdir(parents=True)
    assert not matters("OPENAI_API_KEY")
    (root / ".nacre" / "config.toml").write_text('[embed]\nprovider = "openai"\n', "utf8")
    assert matters("OPENAI_API_KEY")


def test_nobody_there_is_no_daemon(root: Path) -> None:
    with pytest.raises(client.NoDaemon):
        client.Connection(str(root))
    assert client.daemon_status(str(root)) is None


@pytest.fixture
def trickling(root: Path) -> Iterator[list[int]]:
    """A daemon that is there, and never comes to the end of its hello; and how often it was asked."""
    place = Path(client.socket_paths(str(root))[0])
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
    client._hung.clear()


def test_one_that_trickles_is_waited_for_as_long_as_was_said_and_then_left_alone(
    root: Path, trickling: list[int]
) -> None:
    with pytest.raises(client.Hung):
        client.Connection(str(root), within=0.3)
    with pytest.raises(client.Hung):
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
