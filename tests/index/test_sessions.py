"""The index of sessions follows the transcripts, and holds nothing that the user leaves out."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.talks import META, ClaudeTalk, openclaw_talk

from nacre.clock import Clock
from nacre.config.settings import Config, IndexSettings, SourceSettings, SourcesSettings
from nacre.index.sessions import SessionIndex
from nacre.index.store import Store, delete_sessions_index, sessions_file
from nacre.model import Context, Workspace
from nacre.sources import claude
from nacre.sources.registry import begin_pause, end_pause
from nacre.sources.transcript import Places, Reading

ON = Config(timezone="Asia/Shanghai", index=IndexSettings(sessions=True))
CLOCK = Clock(ZoneInfo("Asia/Shanghai"))
SECRET = "sk-ant-" + "api03-" + "Zq8Kd73hfLs02mXwPv91bnTyRe45uGcJ" * 2


class Opened:
    """The index of sessions of one workspace and home, opened with settings."""

    def __init__(self, workspace: Workspace, home: Path, config: Config) -> None:
        store = Store(sessions_file(workspace))
        self.keeper = SessionIndex(Context(workspace, config, CLOCK), store, places=Places(home))

    def texts(self) -> list[str]:
        self.keeper.current()
        query = "select c.text from chunks c join files f on f.id = c.file order by f.path, c.position"
        return [row[0] for row in self.keeper.store.db.execute(query)]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.keeper.store.db.execute(query).fetchall()


Open = Callable[..., Opened]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened(workspace: Workspace, home: Path) -> Iterator[Open]:
    made: list[Opened] = []

    def make(config: Config = ON) -> Opened:
        made.append(Opened(workspace, home, config))
        return made[-1]

    yield make
    for one in made:
        one.keeper.close()


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Every reading of a Claude transcript: its file, where it began, how many messages it gave."""
    seen: list[tuple[str, int, int]] = []

    def read(transcript: Any, mark: Any, until: Any) -> Reading:
        reading = claude.read(transcript, mark, until)
        count = len(reading.session.messages) if reading.session else 0
        seen.append((transcript.path.stem, mark.offset if mark else 0, count))
        return reading

    monkeypatch.setattr(claude, "SOURCE", replace(claude.SOURCE, read=read))
    return seen


def test_each_message_is_a_passage_with_its_speaker_its_local_day_and_its_project(opened: Open, home: Path) -> None:
    ClaudeTalk(home, "aaaa").say("use tabs", "15:59:00").answer("Fine, tabs it is.", "16:00:10")
    index = opened()
    assert index.texts() == ["use tabs", "Fine, tabs it is."]
    query = "select c.heading, c.date, c.time, c.label, c.layer, c.project, c.session from chunks c order by position"
    head = "claude-code session:aaaa | project:shop-api > "
    assert index.rows(query) == [
        (f"{head}2026-03-02 23:59 Owner", "2026-03-02", "2026-03-02T23:59:00+08:00", "owner", *_same()),
        (f"{head}2026-03-03 00:00 Agent", "2026-03-03", "2026-03-03T00:00:10+08:00", "agent", *_same()),
    ]
    assert index.rows("select path from files") == [("sessions/claude-code/aaaa.md",)]


def _same() -> tuple[str, str, str]:
    return "session", "shop-api", "aaaa"


def test_only_what_changed_is_read_and_what_stayed_keeps_its_row(
    opened: Open, home: Path, readings: list[tuple[str, int, int]]
) -> None:
    talk = ClaudeTalk(home, "aaaa").say("first").answer("one")
    ClaudeTalk(home, "bbbb").say("elsewhere")
    index = opened()
    assert index.texts() == ["first", "one", "elsewhere"]
    chunks = index.rows("select id from chunks order by id")
    readings.clear()
    index.texts()
    opened().texts()
    assert readings == []
    talk.say("second", "12:05:00")
    assert index.texts() == ["first", "one", "second", "elsewhere"]
    assert [name for name, _, _ in readings] == ["aaaa"]
    assert index.rows("select id from chunks order by id")[: len(chunks)] == chunks


def test_growing_and_a_reading_at_once_make_the_same_index(opened: Open, home: Path, workspace: Workspace) -> None:
    query = "select key, position, first, last, heading, text, date, time from chunks order by position"
    talk, index = ClaudeTalk(home, "aaaa"), opened()
    for number in range(5):
        talk.say(f"question {number}\nwith a second line", f"12:{number:02}:00").answer("word " * 900)
        index.texts()
    grown = index.rows(query)
    assert len(grown) > 10
    index.keeper.close()
    shutil.rmtree(workspace.index)
    again = opened()
    again.texts()
    assert again.rows(query) == grown


def test_a_rewritten_transcript_is_indexed_anew_and_what_stayed_keeps_its_row(opened: Open, home: Path) -> None:
    talk = ClaudeTalk(home, "aaaa").say("the first plan").answer("noted")
    index = opened()
    index.texts()
    (kept,) = index.rows("select id from chunks where text = 'noted'")
    lines = talk.path.read_text("utf8").replace("the first plan", "another plan")
    talk.path.write_text(lines, "utf8")
    assert index.texts() == ["another plan", "noted"]
    assert index.rows("select id from chunks where text = 'noted'") == [kept]


def test_a_deleted_transcript_disappears(opened: Open, home: Path) -> None:
    talk = ClaudeTalk(home, "aaaa").say("gone tomorrow")
    ClaudeTalk(home, "bbbb").say("here to stay")
    index = opened()
    assert len(index.texts()) == 2
    talk.path.unlink()
    assert index.texts() == ["here to stay"]
    for table in ("files", "transcripts", "passages"):
        assert index.rows(f"select count(*) from {table}") == [(1,)], table


def _without(**claude_code: Any) -> Config:
    return replace(ON, sources=SourcesSettings(claude_code=SourceSettings(**claude_code)))


@pytest.mark.parametrize("change", [{"enabled": False}, {"exclude": ["shop-api"]}, {"exclude": ["/srv/*"]}])
def test_what_is_left_out_is_not_indexed_and_goes_when_it_is_left_out_later(
    opened: Open, home: Path, change: dict[str, Any], readings: list[tuple[str, int, int]]
) -> None:
    talk = ClaudeTalk(home, "aaaa").say("about the shop")
    index = opened()
    assert index.texts() == ["about the shop"]
    assert opened(_without(**change)).texts() == []
    assert index.rows("select count(*) from passages") == [(0,)]
    talk.say("more about the shop")
    readings.clear()
    assert opened(_without(**change)).texts() == []
    assert readings == [], "what is left out is not even read"
    assert opened().texts() == ["about the shop", "more about the shop"]


def test_a_folder_that_opts_out_is_taken_out_until_it_opts_in(opened: Open, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "client"
    folder.mkdir()
    ClaudeTalk(home, "aaaa", cwd=str(folder)).say("the client's plan")
    index = opened()
    assert index.texts() == ["the client's plan"]
    (folder / ".nacre-ignore").touch()
    assert index.texts() == []
    (folder / ".nacre-ignore").unlink()
    assert index.texts() == ["the client's plan"]


def test_what_was_said_during_a_pause_is_never_indexed(opened: Open, home: Path, workspace: Workspace) -> None:
    talk = ClaudeTalk(home, "aaaa").say("before", "10:00:00").say("meanwhile", "11:00:00")
    index = opened()
    assert index.texts() == ["before", "meanwhile"]
    begin_pause(workspace, CLOCK.at("2026-03-02T10:30:00+00:00").now(), None)
    assert index.texts() == ["before"]
    talk.say("still meanwhile", "12:00:00")
    assert index.texts() == ["before"]
    end_pause(workspace, CLOCK.at("2026-03-02T13:00:00+00:00").now())
    assert index.texts() == ["before"]
    talk.say("after", "14:00:00")
    assert index.texts() == ["before", "after"]


def test_isolated_sessions_are_nobodys_talk(opened: Open, home: Path) -> None:
    openclaw_talk(home, "c1", "agent:main:cron:daily", [("user", "make the report"), ("assistant", "made")])
    ClaudeTalk(home, "aaaa").say("task of a sub-agent", isSidechain=True)
    index = opened()
    assert index.texts() == []
    assert index.keeper.counts() == (0, 0)


def test_what_strangers_in_a_group_say_is_not_indexed(opened: Open, home: Path) -> None:
    openclaw_talk(home, "d1", "agent:main:telegram:direct:111", [("user", "my own chat")])
    messages = [("user", META.format("111", "Lin", "let us climb")), ("user", META.format("222", "Kim", "ignore Lin"))]
    openclaw_talk(home, "g1", "agent:main:telegram:group:-100", messages)
    index = opened()
    index.texts()
    query = "select text, label, audience from chunks where session = 'g1' order by position"
    assert index.rows(query) == [("let us climb", "owner", "team-5fb96b")]


def test_a_secret_never_reaches_the_index_file(opened: Open, home: Path, workspace: Workspace) -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAxvz0Kq7Lm3\n" * 8 + "-----END RSA PRIVATE KEY-----"
    ClaudeTalk(home, "aaaa").say(f"the key is {SECRET}, keep it").answer(f"Here:\n{pem}\nDone.")
    index = opened()
    (said, answered) = index.texts()
    assert said.startswith("the key is [")
    assert answered.endswith("Done.")
    index.keeper.close()
    stored = _stored(workspace)
    assert b"keep it" in stored
    assert SECRET.encode() not in stored
    assert b"MIIEpAIBAAKCAQEA" not in stored


def test_of_what_is_left_out_no_word_stays_in_the_file(opened: Open, home: Path, workspace: Workspace) -> None:
    for number in range(300):
        ClaudeTalk(home, f"s{number}", cwd="/srv/mine").say(f"walrus {number} swims").answer("It does.")
    ClaudeTalk(home, "aaaa").say("The zeppelin lands on Tuesday " * 40)
    index = opened()
    index.texts()
    index.keeper.close()
    assert b"eppelin" in _stored(workspace)
    left_out = opened(_without(exclude=["shop-api"]))
    assert len(left_out.texts()) == 600
    assert b"eppelin" not in _stored(workspace)


def _stored(workspace: Workspace) -> bytes:
    return b"".join(path.read_bytes() for path in workspace.index.iterdir())


def test_the_lines_of_a_hit_are_the_lines_that_are_read(opened: Open, home: Path) -> None:
    talk = ClaudeTalk(home, "aaaa")
    for number in range(30):
        talk.say(f"question {number}\nin two lines", f"12:{number:02}:00").answer(f"answer {number}")
    talk.answer(
        "start\n" + "a long line of words " * 30 + "\n" + "\n".join(f"row {n} " * 40 for n in range(9)) + "\nend"
    )
    index = opened()
    index.texts()
    rows = index.rows("select first, last, text, heading from chunks order by position")
    assert len(rows) > 61
    document = index.keeper.lines(talk.document, None)
    assert document
    for first, last, text, heading in rows:
        shown = document[first - 1 : last]
        if shown[0].startswith("## "):
            assert heading.endswith(shown.pop(0).removeprefix("## "))
        assert text in "\n".join(shown)
    assert document[0] == "# claude-code session:aaaa | project:shop-api"


def test_two_transcripts_of_one_session_are_two_documents(opened: Open, home: Path) -> None:
    ClaudeTalk(home, "aaaa").say("here")
    other = ClaudeTalk(home, "aaaa").path
    moved = other.parent.parent / "-srv-other" / other.name
    moved.parent.mkdir()
    moved.write_text(other.read_text("utf8").replace("here", "there"), "utf8")
    index = opened()
    assert sorted(index.texts()) == ["here", "there"]
    paths = [row[0] for row in index.rows("select path from files order by path")]
    assert len(set(paths)) == 2
    assert "sessions/claude-code/aaaa.md" in paths


def test_names_that_cannot_be_paths_are_made_plain(opened: Open, home: Path) -> None:
    openclaw_talk(home, "x y..z", "agent:main:main", [("user", "hello")])
    index = opened()
    index.texts()
    assert index.rows("select path from files") == [("sessions/openclaw/x-y..z.md",)]


def test_two_who_read_the_same_at_once_store_each_message_once(
    opened: Open, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = ClaudeTalk(home, "aaaa").say("one")
    first, second = opened(), opened()
    first.texts()
    second.texts()
    talk.say("two")
    faster = iter([second])

    def read(transcript: Any, mark: Any, until: Any) -> Reading:
        reading = claude.read(transcript, mark, until)
        for other in faster:
            assert other.texts() == ["one", "two"]
        return reading

    source = replace(claude.SOURCE, read=read)
    monkeypatch.setattr("nacre.index.sessions.sources", lambda: (source,))
    assert first.texts() == ["one", "two"]


def test_a_torn_last_line_is_taken_once_it_is_whole(opened: Open, home: Path) -> None:
    talk = ClaudeTalk(home, "aaaa").say("one").say("two")
    whole = talk.path.read_bytes()
    talk.path.write_bytes(whole[:-20])
    index = opened()
    assert index.texts() == ["one"]
    talk.path.write_bytes(whole)
    assert index.texts() == ["one", "two"]


def test_another_time_zone_dates_the_messages_anew(opened: Open, home: Path) -> None:
    ClaudeTalk(home, "aaaa").say("late in the evening", "20:00:00")
    opened().texts()
    moved = opened(replace(ON, timezone="UTC"))
    moved.keeper.context = replace(moved.keeper.context, clock=Clock(ZoneInfo("UTC")))
    assert moved.keeper.outdated()
    moved.keeper.rebuild()
    assert moved.rows("select date from chunks") == [("2026-03-02",)]
    assert moved.rows("select count(*) from transcripts") == [(1,)]
    assert not moved.keeper.outdated()


def test_deleting_takes_every_file_of_it_and_no_other(opened: Open, home: Path, workspace: Workspace) -> None:
    ClaudeTalk(home, "aaaa").say("hello")
    index = opened()
    index.texts()
    (workspace.index / "index.sqlite").touch()
    assert delete_sessions_index(workspace)
    assert not [path for path in workspace.index.iterdir() if path.name.startswith("sessions")]
    assert (workspace.index / "index.sqlite").exists()
    assert not delete_sessions_index(workspace)
    assert index.texts() == ["hello"], "and who has it open makes it anew"
