"""Following files of lines: marks, torn and blank lines, overlong ones, broken kinds."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Any

import pytest
from tests.sources.steps import NOON, line, lines, stamp, write

from nacre.model import Kind, Session, Speaker
from nacre.sources.transcript import Mark, Notes, Reading, follow, list_files, parse_time, time_field


def take(entry: dict[str, Any], at: dt.datetime | None, start: str, notes: Notes) -> None:
    if entry.get("type") not in frozenset({"note", "remark"}):
        notes.add(start, at or NOON, Speaker.OWNER, entry["text"])


def session(notes: Notes) -> Session:
    notes.facts["seen"] = True
    return notes.session("s", "test", Kind.MAIN)


def made(path: Path, mark: Mark | None = None) -> Reading:
    return follow(path, mark, None, take, session, time=time_field("at"))


def texts(reading: Reading) -> list[str]:
    assert reading.session
    return [message.text for message in reading.session.messages]


def test_an_entry_that_a_reader_stumbles_over_is_counted_and_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", lines({"type": []}, {"type": {}, "text": "x"}, {"role": 7}, {"text": "good"}))
    reading = made(path)
    assert texts(reading) == ["good"]
    assert reading.unknown == 3


def test_a_time_is_carried_to_entries_without_one(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", lines({"text": "a", "at": stamp(5)}, {"text": "b"}))
    reading = made(path)
    assert reading.session
    assert [message.at for message in reading.session.messages] == [parse_time(stamp(5))] * 2
    path.write_bytes(path.read_bytes() + line({"text": "c"}))
    later = made(path, reading.mark)
    assert later.session
    assert later.session.messages[0].at == parse_time(stamp(5))


def test_a_fact_that_is_noted_last_is_in_the_mark(tmp_path: Path) -> None:
    assert made(write(tmp_path / "x.jsonl", line({"text": "a"}))).mark.facts["seen"]


def test_blank_lines_do_not_keep_a_transcript_open(tmp_path: Path) -> None:
    reading = made(write(tmp_path / "x.jsonl", b"\n" + line({"text": "a"}) + b"\r\n\n"))
    assert texts(reading) == ["a"]
    assert reading.whole
    assert not reading.unknown


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        made(tmp_path / "gone.jsonl")


def test_a_pipe_among_transcripts_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", line({"text": "a"}))
    os.mkfifo(tmp_path / "y.jsonl")
    assert [transcript.path for transcript in list_files("test", sorted(tmp_path.iterdir()))] == [path]
