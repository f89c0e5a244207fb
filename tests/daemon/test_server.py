"""Whatever comes over the socket, the daemon goes on answering, and nobody hears what is not theirs."""

from __future__ import annotations

import errno
import json
import logging
import random
import resource
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nacre import __version__
from nacre.daemon import client, fast
from nacre.daemon.client import Connection, NoDaemon
from nacre.daemon.service import Server
from nacre.errors import BadInput, NotFound

from .conftest import Start, answers, connected, framed
from .waiting import until


def raw(root: Path) -> socket.socket:
    place = next(place for place in fast.socket_paths(str(root)) if Path(place).exists())
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(300)
    connection.connect(place)
    return connection


def answer_of(connection: socket.socket) -> dict[str, Any] | None:
    header = connection.recv(4, socket.MSG_WAITALL)
    if not header:
        return None
    body = connection.recv(int.from_bytes(header, "big"), socket.MSG_WAITALL)
    told: dict[str, Any] = json.loads(body)
    return told


BAD = [
    framed(b""),
    framed(b"null"),
    framed(b"[]"),
    framed(b'{"kind":'),
    framed(b"\xff\xfe"),
    framed(b"[" * 50_000),
    framed(b'{"kind":"search","asked":{"query":"roses"}}'),  # before it said who listens
    framed(b'{"kind":"hello"}'),
    framed(b'{"kind":"hello","scope":7}'),
    framed(b'{"kind":{"kind":1}}'),
    framed(b"command\0"),
    framed(b"command\0a\0b\0c\x000\0\0"),
    (2_000_000).to_bytes(4, "big") + b"x",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


def test_a_bad_message_gets_an_error_and_never_ends_the_daemon(root: Path, start: Start) -> None:
    process = start()
    for message in BAD:
        with raw(root) as connection:
            connection.sendall(message)
            told = answer_of(connection)
            assert told is None or "error" in told or "skew" in told
    chance = random.Random(7)
    for _ in range(100):  # fewer than it serves at once
        with raw(root) as connection:
            connection.sendall(chance.randbytes(chance.randrange(1, 40)))
    with connected(root) as daemon:
        assert daemon.ask("search", asked={"query": "roses"})["parts"]
        assert daemon.ask("status")["process"] == process.pid


def test_a_question_may_come_in_pieces_and_many_at_once(root: Path, start: Start) -> None:
    start()
    hello = {
        "kind": "hello",
        "protocol": client.PROTOCOL_VERSION,
        "version": __version__,
        "environment": fast.environment(),
        "scope": "main",
    }
    search = {"kind": "search", "asked": {"query": "roses"}}
    messages = framed(client.pack(hello)) + framed(client.pack(search)) * 3
    with raw(root) as connection:
        for at in range(0, len(messages), 7):
            connection.sendall(messages[at : at + 7])
        told = [answer_of(connection) for _ in range(4)]
    assert told[0] is not None
    assert "skew" not in told[0]
    assert told[1] is not None
    assert told[1] == told[2] == told[3]


def test_who_listens_is_fixed_by_the_first_message(root: Path, start: Start) -> None:
    start()
    with Connection(str(root), "group:family") as daemon:
        asked = {"query": "package manager pnpm", "as_json": True, "min_score": 0}
        seen = json.loads(daemon.ask("search", asked=asked)["parts"][0][1])["results"]
        assert not any("pnpm" in one["snippet"] for one in seen)
        wished = daemon.ask("search", asked=asked, scope="main")  # a wish that nobody hears
        assert "pnpm" not in wished["parts"][0][1]
        with pytest.raises(BadInput):
            daemon.ask("search", asked={**asked, "scope": "main"})
        with pytest.raises(NoDaemon):
            daemon.ask("hello", scope="main", protocol=client.PROTOCOL_VERSION, version=__version__)
        for private in ("status", "stop", "ended"):
            with pytest.raises(NoDaemon):
                daemon.ask(private)
        with pytest.raises(NotFound):
            daemon.ask("get", asked={"path": "memory/harbour.md"})
        dinner = json.loads(daemon.ask("search", asked={"query": "dinner", "as_json": True})["parts"][0][1])
        assert [one["path"] for one in dinner["results"]] == ["memory/2026-02-11.md"]


def test_many_ask_at_once(root: Path, start: Start) -> None:
    start()
    wrong: list[str] = []

    def ask(number: int) -> None:
        query, file = [("roses frost", "memory/garden.md"), ("Braldor backup", "memory/harbour.md")][number % 2]
        with connected(root) as daemon:
            for _ in range(15):
                told = json.loads(daemon.ask("search", asked={"query": query, "as_json": True})["parts"][0][1])
                if told["results"][0]["path"] != file:
                    wrong.append(told["results"][0]["path"])

    threads = [threading.Thread(target=ask, args=[number]) for number in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(300)
    assert wrong == []
    assert not any(one.is_alive() for one in threads)


def test_more_callers_than_it_takes_are_turned_away_and_no_descriptor_stays(root: Path, start: Start) -> None:
    start()
    with connected(root) as daemon:
        crowd = [raw(root) for _ in range(230)]
        for one in crowd:
            one.close()
        until(lambda: answers(root))  # once it has noticed that they left
        counts = []
        for _ in range(3):  # in the first round every thread that answers opens the index for itself
            for _ in range(100):
                with connected(root) as other:
                    other.ask("search", asked={"query": "roses"})
            counts.append(daemon.ask("status")["descriptors"])
        assert counts[2] <= counts[1] + 3


def shown(daemon: Connection) -> str:
    """What a search for roses prints; empty where it finds nothing."""
    found = daemon.ask("search", asked={"query": "roses", "as_json": True})["parts"]
    return str(found) if json.loads(found[0][1])["results"] else ""


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of another process can be set on Linux only")
def test_without_descriptors_the_index_keeps_what_it_knows(root: Path, start: Start) -> None:
    process = start()
    with connected(root) as daemon:
        assert shown(daemon)
        (root / "memory" / "garden.md").write_text(
            "# Garden\n\nCover the roses before the first frost of winter.\n", "utf8"
        )
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        with suppress(NoDaemon):  # it may answer from what it knows, or leave it to the caller; never with "nothing"
            assert shown(daemon)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
    until(lambda: answers(root))
    with connected(root) as daemon:
        assert "of winter" in shown(daemon)
    assert process.poll() is None


def test_a_listener_without_descriptors_is_tried_once_a_tick(tmp_path: Path) -> None:
    class Full(socket.socket):
        tried = 0

        def accept(self) -> tuple[socket.socket, Any]:
            self.tried += 1
            raise OSError(errno.EMFILE, "Too many open files")

    listener = Full(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(tmp_path / "s"))
    listener.listen()
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(listener.tried)
        if len(ticks) == 3:
            server.stop()

    server = Server(listener, lambda *_: {}, lambda _: b"", logging.getLogger("test"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as waiting:
        waiting.connect(str(tmp_path / "s"))
        server.serve(tick)
    assert 1 <= listener.tried <= len(ticks)
