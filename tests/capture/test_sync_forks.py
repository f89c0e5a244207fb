"""What a fork repeats was captured from the session that it was forked from, and is not captured again."""

from __future__ import annotations

import itertools
import os
import sqlite3
from pathlib import Path

import pytest
from tests.capture.talks import SESSION, Desk, Said, at
from tests.sources.test_opencode import TABLES

from nacre.capture.checkpoint import checkpoint_of_session
from nacre.config.settings import Config, TierSettings
from nacre.model import Context
from nacre.vault import checkpoints

FORK, SECOND = "f0000000-1", "f1111111-1"
SAID: tuple[Said, ...] = (
    ("2026-03-02 09:00", "user", "alpha"),
    ("2026-03-02 09:01", "agent", "noted"),
    ("2026-03-02 09:05", "user", "beta"),
)
ON: tuple[Said, ...] = (("2026-03-02 10:00", "user", "gamma"), ("2026-03-02 10:05", "user", "delta"))
OWN: tuple[Said, ...] = (("2026-03-02 11:00", "user", "epsilon"), ("2026-03-02 11:05", "user", "zeta"))


def words(desk: Desk) -> list[str]:
    return sorted(text for _, text in desk.bullets())


def touch(path: Path, when: str) -> None:
    os.utime(path, (at(when).timestamp(),) * 2)


def test_a_fork_is_captured_with_what_is_its_own(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 09:30")
    desk.fork(*OWN, session=FORK)
    (section,) = desk.sync("2026-03-02 12:00").sections
    assert section.heading == "11:05 session:f0000000 | 2 messages | continued"
    assert section.bullets == ("epsilon", "zeta")
    assert desk.sync("2026-03-02 23:00").sections == ()


@pytest.mark.parametrize("first", [SESSION, FORK])
def test_a_fork_and_its_session_in_one_run_are_told_once_whichever_comes_first(desk: Desk, first: str) -> None:
    original = desk.claude(*SAID)
    fork = desk.fork(*OWN, session=FORK)
    desk.claude(*ON)
    for path in (original, fork):
        touch(path, "2026-03-02 11:10" if path.stem == first else "2026-03-02 11:20")
    desk.sync("2026-03-02 12:00")
    assert words(desk) == ["alpha", "beta", "delta", "epsilon", "gamma", "zeta"]


def test_a_fork_that_repeats_what_its_session_had_not_told_yet_is_told_once(desk: Desk) -> None:
    original = desk.claude(*SAID)
    desk.sync("2026-03-02 09:30")
    desk.claude(*ON)
    fork = desk.fork(*OWN, session=FORK)
    touch(original, "2026-03-02 11:30")
    touch(fork, "2026-03-02 11:10")  # so that the fork is read first
    desk.sync("2026-03-02 12:00")
    assert words(desk) == ["alpha", "beta", "delta", "epsilon", "gamma", "zeta"]


def test_a_fork_of_a_fork_and_two_forks_of_one_session(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.fork(*ON, session=FORK)
    desk.fork(*OWN, session=SECOND, of=FORK)
    desk.fork(("2026-03-02 12:00", "user", "eta"), ("2026-03-02 12:01", "user", "theta"), session="f2222222-1")
    desk.sync("2026-03-02 13:00")
    assert words(desk) == sorted(["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"])


def test_one_remark_in_a_fork_counts_as_one_in_a_talk_that_went_on(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.fork(session=FORK)
    desk.sync("2026-03-02 09:30")
    desk.fork(OWN[0], session=SECOND)
    assert desk.sync("2026-03-02 11:30").sections == ()
    (section,) = desk.sync("2026-03-02 16:00").sections
    assert section.bullets == ("epsilon",)
    path = desk.claude(OWN[1], session=FORK)  # the one that had nothing of its own goes on
    touch(path, OWN[1][0])
    (section,) = desk.sync("2026-03-02 16:30").sections
    assert section.bullets == ("zeta",)


def test_what_counted_for_too_little_in_one_session_is_told_by_its_fork(desk: Desk) -> None:
    desk.claude(SAID[0])
    desk.sync("2026-03-02 09:02")
    desk.fork(OWN[0], session=FORK)
    desk.sync("2026-03-02 12:00")
    assert words(desk) == ["alpha", "epsilon"]
    desk.claude(*ON)
    desk.sync("2026-03-02 23:00")
    assert words(desk) == ["alpha", "delta", "epsilon", "gamma"]


def test_when_the_cursors_are_lost_nothing_is_told_twice(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.fork(*OWN, session=FORK)
    desk.sync("2026-03-02 12:00")
    before = desk.logs()
    desk.workspace.cursors.unlink()
    assert desk.sync("2026-03-02 12:30").sections == ()
    assert desk.logs() == before


def test_the_same_words_at_another_time_are_no_copy(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.claude(*((when.replace("09:", "10:"), who, text) for when, who, text in SAID), session=FORK)
    desk.sync("2026-03-02 12:00")
    assert words(desk) == ["alpha", "alpha", "beta", "beta"]


def test_the_checkpoint_of_a_fork_repeats_nothing_that_stands_in_its_sessions(desk: Desk) -> None:
    desk.config = Config(tiers=TierSettings(auto=False))
    desk.claude(*SAID)
    desk.sync("2026-03-02 09:30")
    desk.fork(*OWN, session=FORK)
    desk.sync("2026-03-02 12:00")
    setting = desk.setting("2026-03-02 12:00")
    assert "alpha" in checkpoint_of_session(setting, FORK).text  # nothing is put away yet
    first = checkpoint_of_session(setting, SESSION)
    checkpoints.write_checkpoint(Context(desk.workspace, desk.config, setting.context.clock), first.name, first.text)
    made = checkpoint_of_session(setting, FORK).text
    assert "epsilon" in made
    assert "alpha" not in made
    assert "beta" not in made


def test_a_fork_of_opencode_repeats_its_session_under_new_ids(desk: Desk) -> None:
    root = desk.home / ".local" / "share" / "opencode"
    root.mkdir(parents=True)
    database = sqlite3.connect(root / "opencode.db")
    database.executescript(TABLES)
    number = itertools.count()
    for session, said in (("ses_1", SAID), ("ses_2", (*SAID, *OWN))):
        database.execute("INSERT INTO session VALUES (?,'p',NULL,'/work/app','t',NULL,1,1)", (session,))
        for when, who, text in said:
            moment, name = int(at(when).timestamp() * 1000), f"m{next(number):03}"
            role = "user" if who == "user" else "assistant"
            told = f'{{"role":"{role}","time":{{"created":{moment},"completed":{moment}}}}}'
            database.execute("INSERT INTO message VALUES (?,?,?,?,?)", (name, session, moment, moment, told))
            part = f'{{"type":"text","text":"{text}"}}'
            database.execute("INSERT INTO part VALUES (?,?,?,1,1,?)", (f"p{name}", name, session, part))
    database.commit()
    database.close()
    desk.sync("2026-03-02 12:00")
    assert words(desk) == ["alpha", "beta", "epsilon", "zeta"]
