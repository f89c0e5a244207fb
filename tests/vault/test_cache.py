"""A session's cache: its own, private, bounded, and gone with the session."""

from __future__ import annotations

import datetime as dt
import json
import multiprocessing
import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.clock import Clock
from nacre.config.settings import CacheSettings
from nacre.errors import BadInput, BadSetting, NotFound, PathEscape, SecretRefused
from nacre.vault.cache import Cache, clear_values, get_value, open_cache, put_value, read_values

NOON = dt.datetime(2026, 3, 28, 14, 5, tzinfo=dt.UTC)


def cache(tmp_path: Path, session: str = "61871d67", moment: dt.datetime = NOON, **given: str) -> Cache:
    return open_cache(session, CacheSettings(path=str(tmp_path / "cache"), **given), Clock(dt.UTC, moment))


def test_a_value_is_kept_replaced_listed_and_cleared(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    assert read_values(mine) == {}
    put_value(mine, "branch", "feature/login")
    put_value(mine, "branch", "feature/logout\nand 登录")
    put_value(mine, "pr", "17")
    assert get_value(mine, "branch").text == "feature/logout\nand 登录"
    assert list(read_values(mine)) == ["branch", "pr"]
    assert clear_values(mine, "pr") == ("pr",)
    assert clear_values(mine) == ("branch",)
    assert not mine.path.exists()
    with pytest.raises(NotFound, match="cache list"):
        get_value(mine, "branch")


def test_file_and_folder_are_the_users_alone(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    put_value(mine, "a", "b")
    assert stat.S_IMODE(mine.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(mine.folder.stat().st_mode) == 0o700
    mine.folder.chmod(0o755)
    assert get_value(mine, "a").text == "b"
    assert stat.S_IMODE(mine.folder.stat().st_mode) == 0o700


def test_sessions_do_not_see_each_other(tmp_path: Path) -> None:
    ids = ["a/b", "a-b", "a b", "A-B", "../../etc/passwd", "会话", "a-b.c8687a08aa5d6ed2", "x" * 300, "x" * 301]
    for one in ids:
        put_value(cache(tmp_path, one), "who", one)
    assert [get_value(cache(tmp_path, one), "who").text for one in ids] == ids
    assert {path.parent for path in tmp_path.rglob("*.json")} == {cache(tmp_path).folder}


@settings(deadline=None)
@given(st.text(min_size=1), st.text(min_size=1))
def test_no_two_ids_have_one_file(one: str, other: str) -> None:
    names = [cache(Path("/x"), text).path.name.lower() for text in (one, other) if text.strip() and _is_text(text)]
    assert len(set(names)) == len({text for text in (one, other) if text.strip() and _is_text(text)})
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.") and len(name) < 90 for name in names)


def _is_text(text: str) -> bool:
    return not any(0xD800 <= ord(sign) <= 0xDFFF for sign in text)


def test_what_is_too_old_is_gone(tmp_path: Path) -> None:
    put_value(cache(tmp_path), "old", "1")
    put_value(cache(tmp_path, moment=NOON + dt.timedelta(hours=20)), "new", "2")
    assert list(read_values(cache(tmp_path, moment=NOON + dt.timedelta(hours=25)))) == ["new"]
    assert list(read_values(cache(tmp_path, moment=NOON + dt.timedelta(hours=3), max_age="2h"))) == ["new"]
    with pytest.raises(BadSetting):
        cache(tmp_path, max_age="soon")


def test_after_a_restart_of_the_machine_nothing_is_left(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    put_value(mine, "a", "b")
    told = json.loads(mine.path.read_bytes())
    mine.path.write_text(json.dumps({**told, "boot": "another"}), "utf8")
    assert read_values(mine) == {}


def test_a_damaged_file_is_an_empty_cache(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    put_value(mine, "a", "b")
    whole = mine.path.read_bytes()
    for damage in (b"", b"{", b"[]", b"\xff\xfe", whole[:-5], b"[" * 100_000, whole.replace(b'"b"', b"7")):
        mine.path.write_bytes(damage)
        assert read_values(mine) == {}
    put_value(mine, "c", "d")
    assert list(read_values(mine)) == ["c"]


def test_a_link_or_a_pipe_in_the_place_of_the_file_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    put_value(mine, "a", "b")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(mine.path.read_bytes())
    mine.path.unlink()
    mine.path.symlink_to(elsewhere)
    assert read_values(mine) == {}
    put_value(mine, "c", "d")
    assert list(read_values(mine)) == ["c"]
    assert b'"c"' not in elsewhere.read_bytes()
    mine.path.unlink()
    os.mkfifo(mine.path)
    assert read_values(mine) == {}


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    other = open_cache("s", CacheSettings(path=str(tmp_path / "other")), Clock())
    other.folder.parent.mkdir()
    other.folder.symlink_to(tmp_path / "real")
    for use in (lambda: put_value(other, "a", "b"), lambda: read_values(other), lambda: clear_values(other)):
        with pytest.raises(PathEscape, match=r"cache\.path"):
            use()
    assert list((tmp_path / "real").iterdir()) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can make a folder that belongs to another")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    mine.folder.mkdir(parents=True)
    os.chown(mine.folder, 12345, 12345)
    with pytest.raises(PathEscape, match="another user"):
        put_value(mine, "a", "b")


def test_sizes_are_bounded(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    put_value(mine, "most", "x" * 65_536)
    with pytest.raises(BadInput, match="65537 bytes"):
        put_value(mine, "more", "x" * 65_537)
    with pytest.raises(BadInput, match="200"):
        put_value(mine, "k" * 201, "x")
    for number in range(14):
        put_value(mine, f"key{number}", "y " * 32_768)
    with pytest.raises(BadInput, match="1 MB"):
        put_value(mine, "last", "y " * 32_768)
    assert mine.path.stat().st_size <= 1_048_576
    assert "most" in read_values(mine)


def test_a_secret_is_refused(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    for key, text in (("password", "Xk29dja8Qw"), ("note", "password: Xk29dja8Qw")):
        with pytest.raises(SecretRefused):
            put_value(mine, key, text)
    assert not mine.folder.exists()


def test_a_dry_run_touches_nothing(tmp_path: Path) -> None:
    mine = cache(tmp_path)
    put_value(mine, "a", "b", dry_run=True)
    assert not mine.folder.exists()
    put_value(mine, "a", "b")
    assert clear_values(mine, dry_run=True) == ("a",)
    assert get_value(mine, "a").text == "b"


def test_files_of_sessions_that_are_over_are_swept(tmp_path: Path) -> None:
    over, mine = cache(tmp_path, "over"), cache(tmp_path, "mine")
    put_value(over, "a", "b")
    put_value(mine, "a", "b")
    assert over.path.exists()
    long_ago = time.time() - 2 * 86_400
    os.utime(over.path, (long_ago, long_ago))
    put_value(mine, "c", "d")
    assert not over.path.exists()


def test_a_folder_that_others_use_too_is_left_as_it_is(tmp_path: Path) -> None:
    shared, mine = tmp_path / "cache", cache(tmp_path)
    shared.mkdir()
    shared.chmod(0o1777)
    foreign = shared / "session-export.json"
    foreign.write_text("{}", "utf8")
    os.utime(foreign, (0, 0))
    for use in (
        lambda: read_values(mine),
        lambda: put_value(mine, "a", "b"),
        lambda: clear_values(mine),
        lambda: put_value(mine, "a", "b"),
    ):
        use()
    assert foreign.read_text("utf8") == "{}"
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert sorted(path.name for path in shared.iterdir()) == [mine.folder.name, "session-export.json"]
    assert stat.S_IMODE(mine.folder.stat().st_mode) == 0o700


def write_ten(place: Path, who: int) -> None:
    for number in range(10):
        put_value(cache(place), f"{who}-{number}", "x")


def test_many_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    forked = multiprocessing.get_context("fork")
    workers = [forked.Process(target=write_ten, args=(tmp_path, who)) for who in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 6
    assert len(read_values(cache(tmp_path))) == 60


def test_it_lies_in_the_users_runtime_folder_or_else_the_temp_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert open_cache("s", CacheSettings(), Clock()).folder == tmp_path / "nacre"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    assert open_cache("s", CacheSettings(), Clock()).folder.name == f"nacre-{os.getuid()}"
