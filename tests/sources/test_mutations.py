"""Twenty thousand broken entries amid good ones, for every reader: none raises, and every good message is read."""

from __future__ import annotations

import copy
import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sources.steps import NOON, Read, in_steps, line, read, stamp, write

from nacre.model import Session
from nacre.sources import claude, codex, gemini, opencode
from nacre.sources.cursor import CLI, IDE
from nacre.sources.exports import export_at
from nacre.sources.openclaw import CLASSIC
from nacre.sources.transcript import Transcript

MUTANTS = 2000  # for each of the nine stores
GOOD = 40
SECONDS = 15.0
START = int(NOON.timestamp() * 1000)
spent: list[float] = []

STRANGE: tuple[Callable[[random.Random], Any], ...] = (
    lambda _: None,
    lambda _: [],
    lambda _: {},
    lambda _: True,
    lambda rng: rng.randint(-(10**40), 10**40),
    lambda _: float("nan"),
    lambda _: float("inf"),
    lambda rng: rng.random(),
    lambda _: "",
    lambda _: "\ud800 half",
    lambda _: "\0\x1b\u202e",
    lambda _: "0001-01-01T00:00:00+23:59",
    lambda _: "9999-12-31T23:59:59-23:59",
    lambda _: [[["text"]]],
    lambda _: {"type": {"type": []}, "text": 5},
    lambda _: [{"type": "text", "text": None}, None, 3, "x"],
    lambda _: "NESTED",
)


def dumped(value: object, depth: int) -> bytes:
    """A value as JSON, with lists in lists, which Python itself could hardly copy, where the sign for them stands."""
    return json.dumps(value).encode().replace(b'"NESTED"', b"[" * depth + b"]" * depth)


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value in a structure, by what holds it and where."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places_in(inner)


def broken(entry: dict[str, Any], rng: random.Random) -> Any:
    """An entry of the same make with some of its values of another type, swapped or gone."""
    entry = copy.deepcopy(entry)
    for _ in range(rng.randint(1, 3)):
        found = list(places_in(entry))
        if not found:
            break
        (holder, key), (other, at) = rng.choice(found), rng.choice(found)
        match rng.randrange(3):
            case 0:
                holder[key] = rng.choice(STRANGE)(rng)
            case 1:
                holder[key], other[at] = copy.deepcopy(other[at]), copy.deepcopy(holder[key])
            case _:
                del holder[key]
    return entry


def torn(entry: dict[str, Any], rng: random.Random) -> bytes:
    """A line that may not even be JSON: cut, with wrong bytes, huge, nested without end, or of another form."""
    raw = json.dumps(entry).encode()
    match rng.randrange(12):
        case 0:
            return raw[: rng.randrange(len(raw))] + b"\n"
        case 1:
            noise = bytearray(raw)
            for _ in range(rng.randint(1, 8)):
                noise[rng.randrange(len(noise))] = rng.randrange(256)
            return bytes(noise) + b"\n"
        case 2:
            return rng.randbytes(rng.randint(1, 400)) + b"\n"
        case 3:
            return (
                rng.choice(
                    (b"[" * 5000, b'{"a":' * 5000, b"[" * 900 + b"]" * 900, b"null", b"7", b'"x"', b"\xef\xbb\xbf")
                )
                + b"\n"
            )
        case 4 if rng.random() < 0.2:
            return raw.replace(b"bad words", b"x" * rng.randint(10_000, 200_000)) + b"\n"
        case _:
            return dumped(broken(entry, rng), rng.choice((50, 400, 900, 980))) + b"\n"


def mixed(good: list[Any], bad: list[Any], rng: random.Random) -> list[Any]:
    """The good ones in their order, the bad ones anywhere between; the first good one, which tells of the session, first."""
    places = sorted(rng.randrange(len(bad) + 1) for _ in good[1:])
    found = [good[0]]
    for number, one in enumerate(bad):
        found += [good[1 + place] for place, at in enumerate(places) if at == number]
        found.append(one)
    return [*found, *(good[1 + place] for place, at in enumerate(places) if at == len(bad))]


def expected(session: Session | None) -> None:
    assert session is not None
    heard = [message.text for message in session.messages if message.text.startswith("good words")]
    assert heard == [f"good words {number}" for number in range(GOOD)]
    for message in session.messages:
        assert message.text.encode()
        assert message.at.tzinfo
        assert message.id


def says(make: Callable[[str, str, str], dict[str, Any]], number: int, words: str) -> dict[str, Any]:
    return make("user" if number % 2 else "assistant", f"{words.replace(' ', '-')}-{number}", f"{words} {number}")


def claude_entry(role: str, name: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {
        "type": role,
        "uuid": name,
        "sessionId": "s",
        "timestamp": stamp(1),
        "message": {"role": role, "content": content},
    }


def codex_entry(role: str, _name: str, text: str) -> dict[str, Any]:
    kind = "user_message" if role == "user" else "agent_message"
    return {"timestamp": stamp(1), "type": "event_msg", "payload": {"type": kind, "message": text}}


def gemini_entry(role: str, name: str, text: str) -> dict[str, Any]:
    kind = "user" if role == "user" else "gemini"
    return {"id": name, "timestamp": stamp(1), "type": kind, "content": [{"text": text}]}


def cursor_entry(role: str, _name: str, text: str) -> dict[str, Any]:
    return {
        "role": role,
        "message": {
            "content": [{"type": "text", "text": f"<user_query>{text}</user_query>" if role == "user" else text}]
        },
    }


def openclaw_entry(role: str, name: str, text: str) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}], "__openclaw": {"senderIsOwner": True}}
    return {"type": "message", "id": name, "timestamp": stamp(1), "message": message}


CLAUDE_MORE: list[dict[str, Any]] = [
    {
        "type": "attachment",
        "timestamp": stamp(1),
        "attachment": {"type": "queued_command", "commandMode": "prompt", "prompt": "bad words"},
    },
    {
        "type": "user",
        "timestamp": stamp(1),
        "origin": {"kind": "human"},
        "message": {"content": "bad words"},
        "cwd": "/w",
    },
    {"type": "summary", "summary": "bad words", "leafUuid": "x"},
]
CODEX_MORE: list[dict[str, Any]] = [
    {"timestamp": stamp(1), "type": "session_meta", "payload": {"id": "x", "source": {"subagent": {"other": "x"}}, "cwd": "/w"}},
    {"timestamp": stamp(1), "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "bad words"}]}},
    {"timestamp": stamp(1), "type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "UserMessage", "content": [{"text": "bad words"}]}}},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "bad words"}]},
]  # fmt: skip
GEMINI_MORE: list[dict[str, Any]] = [
    {"sessionId": "x", "startTime": stamp(0), "directories": ["/w"], "kind": "main"},
    {"$set": {"summary": "bad words", "messages": [gemini_entry("user", "bad", "bad words")]}},
    {"id": "bad-i", "timestamp": stamp(1), "type": "info", "content": "bad words"},
]
OPENCLAW_MORE: list[dict[str, Any]] = [
    {"type": "session", "id": "x", "cwd": "/w", "timestamp": stamp(0)},
    openclaw_entry(
        "user",
        "bad",
        'Sender (untrusted metadata):\n```json\n{"sender_id": "1", "is_group_chat": false}\n```\nbad words',
    ),
    {"type": "compaction", "summary": "bad words"},
]
LINES: dict[str, tuple[Read, str, dict[str, Any], Callable[[str, str, str], dict[str, Any]], list[dict[str, Any]]]] = {
    "claude": (claude.read, "s.jsonl", {"type": "mode", "sessionId": "s"}, claude_entry, CLAUDE_MORE),
    "codex": (codex.read, "rollout-1.jsonl", {"timestamp": stamp(0), "type": "session_meta", "payload": {"id": "s"}}, codex_entry, CODEX_MORE),
    "gemini lines": (gemini.read, "session-1.jsonl", {"sessionId": "s", "startTime": stamp(0)}, gemini_entry, GEMINI_MORE),
    "cursor cli": (CLI.read, "c.jsonl", {"type": "turn_ended"}, cursor_entry, [{"type": "turn_ended", "status": "bad words"}]),
    "openclaw classic": (CLASSIC.read, "s.jsonl", {"type": "session", "id": "s", "timestamp": stamp(0)}, openclaw_entry, OPENCLAW_MORE),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _time() -> Iterator[None]:
    begin = time.process_time()
    yield
    spent.append(time.process_time() - begin)


@pytest.mark.parametrize("name", LINES)
def test_broken_lines_do_no_harm(tmp_path: Path, name: str) -> None:
    reader, file, head, make, more = LINES[name]
    rng = random.Random(name)
    models = [*(says(make, number, "bad words") for number in range(4)), *more]
    good = [line(head), *(line(says(make, number, "good words")) for number in range(GOOD))]
    everything = mixed(good, [torn(rng.choice(models), rng) for _ in range(MUTANTS)], rng)
    path = write(tmp_path / file, b"".join(everything))
    reading = read(reader, path)
    expected(reading.session)
    assert reading.unknown > MUTANTS / 20
    assert reading.whole
    half = len(everything) // 2
    pieces = [b"".join(everything[:half]), b"".join(everything[half:])]
    assert in_steps(reader, file, pieces) == in_steps(reader, file, [b"".join(pieces)])


def test_broken_messages_of_a_gemini_document_do_no_harm(tmp_path: Path) -> None:
    rng = random.Random("document")
    models = [says(gemini_entry, number, "bad words") for number in range(4)]
    good = [says(gemini_entry, number, "good words") for number in range(GOOD)]
    bad = [rng.choice((broken(rng.choice(models), rng), rng.choice(STRANGE)(rng))) for _ in range(MUTANTS)]
    path = write(tmp_path / "session-1.json", dumped({"sessionId": "s", "messages": mixed(good, bad, rng)}, 300))
    expected(read(gemini.read, path).session)


def test_broken_bubbles_and_composers_of_cursor_do_no_harm(tmp_path: Path) -> None:
    rng = random.Random("bubbles")
    path = tmp_path / "state.vscdb"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")

    def bubble(role: str, _name: str, text: str) -> dict[str, Any]:
        timing = {"clientStartTime": START}
        return {"type": 1 if role == "user" else 2, "text": text, "createdAt": stamp(1), "timingInfo": timing, "workspaceUris": ["file:///w"]}  # fmt: skip

    models = [says(bubble, number, "bad words") for number in range(4)]
    good: list[str | bytes] = [json.dumps(says(bubble, number, "good words")) for number in range(GOOD)]
    bad: list[str | bytes | int | None] = [torn(rng.choice(models), rng) for _ in range(MUTANTS - 400)]
    bad += [rng.choice((None, 7, b"\xff\xfe")) for _ in range(200)]
    values = mixed(good, bad, rng)
    connection.executemany(
        "INSERT INTO cursorDiskKV VALUES (?, ?)", ((f"bubbleId:c:b{at}", value) for at, value in enumerate(values))
    )
    composer = {"composerId": "c", "createdAt": START, "fullConversationHeadersOnly": [{"bubbleId": f"b{at}"} for at in range(len(values))]}  # fmt: skip
    small = {
        **composer,
        "fullConversationHeadersOnly": [{"bubbleId": "b0", "type": 1}],
        "status": "generating",
    }
    composers = {"c": json.dumps(composer).encode()} | {f"x{at}": torn(small, rng) for at in range(200)}
    connection.executemany(
        "INSERT INTO cursorDiskKV VALUES (?, ?)", ((f"composerData:{name}", value) for name, value in composers.items())
    )
    connection.commit()
    connection.close()
    for name in composers:
        reading = IDE.read(Transcript("cursor", path, f"{path}#{name}", (), 0.0), None, None)
        if name == "c":
            expected(reading.session)


def opencode_message(role: str, _name: str, _text: str) -> dict[str, Any]:
    return {"role": role, "time": {"created": START, "completed": START}}


def opencode_models() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(says(opencode_message, number, ""), {"type": "text", "text": "bad words"}) for number in range(2)]


def test_broken_rows_of_opencode_do_no_harm(tmp_path: Path) -> None:
    rng = random.Random("rows")
    path = tmp_path / "opencode.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE session (id, parent_id, directory, revert, time_created, time_updated)")
    connection.execute("CREATE TABLE message (id, session_id, time_created, time_updated, data)")
    connection.execute("CREATE TABLE part (id, message_id, session_id, data)")
    connection.execute("CREATE INDEX by_message ON part (message_id)")
    connection.execute("INSERT INTO session VALUES ('s', NULL, '/w', '{\"messageID\": []}', ?, ?)", (START, START))
    good = [
        (json.dumps(says(opencode_message, at, "")), json.dumps({"type": "text", "text": f"good words {at}"}))
        for at in range(GOOD)
    ]
    bad = []
    for _ in range(MUTANTS // 2):
        message, part = rng.choice(opencode_models())
        bad.append((torn(message, rng).decode("utf-8", "replace"), torn(part, rng).decode("utf-8", "replace")))
    for at, (message_data, part_data) in enumerate(mixed(good, bad, rng)):
        connection.execute(
            "INSERT INTO message VALUES (?, 's', ?, ?, ?)", (f"m{at:06}", START + at, START, message_data)
        )
        connection.execute("INSERT INTO part VALUES (?, ?, 's', ?)", (f"p{at}", f"m{at:06}", part_data))
    connection.commit()
    connection.close()
    expected(opencode.read(Transcript("opencode", path, f"{path}#s", (), 0.0), None, None).session)


def chatgpt_tree(name: str, words: list[str]) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    for at, text in enumerate(words):
        message = {
            "author": {"role": "user"},
            "create_time": START / 1000,
            "content": {"content_type": "text", "parts": [text]},
        }
        nodes[f"n{at}"] = {"parent": f"n{at - 1}" if at else None, "children": [], "message": message, "id": f"n{at}"}
    return {"id": name, "create_time": START / 1000, "mapping": nodes, "current_node": f"n{len(words) - 1}"}


def claude_ai_talk(name: str, words: list[str]) -> dict[str, Any]:
    messages = [
        {"sender": "human", "created_at": stamp(1), "text": text, "content": [{"type": "text", "text": text}]}
        for text in words
    ]
    return {"uuid": name, "created_at": stamp(0), "chat_messages": messages}


@pytest.mark.parametrize(("service", "make"), [("chatgpt", chatgpt_tree), ("claude-ai", claude_ai_talk)])
def test_broken_conversations_of_an_export_do_no_harm(tmp_path: Path, service: str, make: Any) -> None:
    rng = random.Random(service)
    bad = [broken(make("bad", ["bad words"] * 3), rng) for _ in range(MUTANTS)]
    bad[::50] = [rng.choice(STRANGE)(rng) for _ in bad[::50]]
    good = make("good", [f"good words {number}" for number in range(GOOD)])
    path = write(tmp_path / "conversations.json", dumped(mixed([good, good], bad, rng), 300))
    found = [session for session in export_at(path) or () if session.id == "good"]
    assert len(found) == 2
    for session in found:
        expected(session)


def test_all_of_it_is_done_in_good_time() -> None:
    assert sum(spent) < SECONDS
