"""Working memory: what stands in SESSION-STATE.md, whoever wrote it, and what each change does to its bytes."""

from __future__ import annotations

import datetime as dt
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.storage import file_bytes, is_there, put_file, take_file

from nacre.clock import Clock
from nacre.config.settings import Config, StateSettings
from nacre.errors import BadInput, NacreError, NotFound, PathEscape, SecretRefused
from nacre.i18n import use_language
from nacre.memory import Working
from nacre.model import Context, Workspace
from nacre.vault import working
from nacre.vault.history import read_history
from nacre.vault.undo import undo
from nacre.vault.wal import Edit

NOON = dt.datetime(2026, 3, 28, 14, 5, tzinfo=dt.UTC)
KEY = "sk-" + "proj-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6jK9mN2pQ5sT8"


def at(workspace: Workspace, moment: dt.datetime = NOON, **limits: int) -> Working:
    return Working(Context(workspace, Config(state=StateSettings(**limits)), Clock(dt.UTC, moment)))


def state(workspace: Workspace) -> str:
    return file_bytes(workspace.state).decode()


def log(workspace: Workspace, day: str = "2026-03-28") -> str:
    path = workspace.memory / f"{day}.md"
    return file_bytes(path).decode() if is_there(path) else ""


def test_a_new_file_has_the_five_sections(workspace: Workspace) -> None:
    desk = at(workspace)
    desk.task("Move the API to v2")
    desk.context("deadline", "2026-03-31")
    desk.decide("chose PostgreSQL over MySQL")
    desk.pending("Ask Ann for the schema")
    desk.blocker("No access to staging")
    assert state(workspace) == (
        "# Session State\n<!-- day: 2026-03-28 -->\n## Current Task\nMove the API to v2\n## Key Context\n- deadline: 2026-03-31\n"
        "## Recent Decisions\n- [14:05] chose PostgreSQL over MySQL\n## Pending\n- [ ] Ask Ann for the schema\n"
        "## Blockers\n- No access to staging\n"
    )
    assert desk.get() == {
        "task": "Move the API to v2",
        "context": [{"key": "deadline", "value": "2026-03-31"}],
        "decisions": [{"at": "2026-03-28 14:05", "text": "chose PostgreSQL over MySQL"}],
        "pending": ["Ask Ann for the schema"],
        "blockers": ["No access to staging"],
    }


def test_a_new_file_speaks_chinese_where_nacre_does(workspace: Workspace) -> None:
    use_language("zh")
    at(workspace).decide("数据库选用 PostgreSQL")
    titles = ["# 会话状态", "## 当前任务", "## 关键上下文", "## 近期决策", "## 待办事项", "## 阻塞项"]
    assert [line for line in state(workspace).splitlines() if line.startswith("#")] == titles
    assert "## 近期决策\n- [14:05] 数据库选用 PostgreSQL\n" in state(workspace)


def test_chinese_headings_are_understood_and_kept(workspace: Workspace) -> None:
    old = "# 状态\n\n## 当前任务\n旧任务\n\n## 关键上下文\n- 截止日期：3月31日\n\n## 近期决策\n\n## 待办\n- [ ] 问小王\n\n## 阻塞\n- 无权限\n"
    put_file(workspace.state, old)
    desk = at(workspace)
    desk.task("把接口迁到 v2")
    desk.context("截止日期", "4月2日")
    desk.decide("数据库选用 PostgreSQL")
    desk.done("小王")
    desk.clear(1)
    assert state(workspace) == (
        "# 状态\n<!-- day: 2026-03-28 -->\n\n## 当前任务\n把接口迁到 v2\n\n## 关键上下文\n- 截止日期: 4月2日\n\n"
        "## 近期决策\n- [14:05] 数据库选用 PostgreSQL\n\n## 待办\n\n## 阻塞\n"
    )
    assert "- [任务] 已完成：问小王\n- [任务] 阻塞已解除：无权限\n" in log(workspace)
    desk.pending("写测试")
    assert "## 待办\n- [ ] 写测试\n" in state(workspace)


def test_a_missing_section_is_added_in_the_language_of_the_others(workspace: Workspace) -> None:
    put_file(workspace.state, "## 当前任务\n旧任务\n")
    at(workspace).blocker("无权限")
    assert state(workspace) == "## 当前任务\n旧任务\n\n## 阻塞项\n- 无权限\n"


def test_the_users_own_bytes_stay(workspace: Workspace) -> None:
    own = (
        b"\xef\xbb\xbf# Session State\r\n<!-- mine -->\r\n## Current Task\r\nold  \r\n\r\n## My notes\r\n- odd   spaces \t\r\n"
        b"```\r\n## Pending\r\n```\r\n## Pending\r\n<!-- todo -->\r\n\r\n## Blockers"
    )
    put_file(workspace.state, own)
    desk = at(workspace)
    desk.task("new")
    assert file_bytes(workspace.state) == own.replace(b"old  \r\n", b"new\r\n")
    desk.pending("one")
    wanted = own.replace(b"old  \r\n", b"new\r\n").replace(b"<!-- todo -->\r\n", b"<!-- todo -->\r\n\r\n- [ ] one\r\n")
    assert file_bytes(workspace.state) == wanted
    desk.blocker("two")
    assert file_bytes(workspace.state) == wanted + b"\r\n- two"


def test_doing_it_again_changes_nothing(workspace: Workspace) -> None:
    desk = at(workspace)
    changes: tuple[Callable[[], Edit], ...] = (
        lambda: desk.task("Move the API"),
        lambda: desk.context("deadline", "May"),
        lambda: desk.decide("pnpm, never npm"),
        lambda: desk.pending("Ask Ann"),
        lambda: desk.blocker("No access"),
    )
    assert all(change().changed for change in changes)
    before, operations = state(workspace), len(read_history(workspace).operations)
    assert not any(change().changed for change in changes)
    assert (state(workspace), len(read_history(workspace).operations)) == (before, operations)


def test_the_value_of_a_key_is_replaced_in_its_place(workspace: Workspace) -> None:
    desk = at(workspace)
    for key, value in (("deadline", "May"), ("owner", "Ann"), ("Deadline", "June")):
        desk.context(key, value)
    assert "## Key Context\n- Deadline: June\n- owner: Ann\n" in state(workspace)


def test_a_decision_made_again_counts_from_the_later_time(workspace: Workspace) -> None:
    for minute, text in enumerate(("use npm", "use pnpm", "Use npm")):
        at(workspace, NOON + dt.timedelta(minutes=minute)).decide(text)
    assert "## Recent Decisions\n- [14:06] use pnpm\n- [14:07] Use npm\n" in state(workspace)


def test_a_decision_of_another_day_carries_its_date(workspace: Workspace) -> None:
    at(workspace).decide("first")
    at(workspace, NOON + dt.timedelta(days=1)).decide("second")
    text = state(workspace)
    assert "<!-- day: 2026-03-29 -->" in text
    assert "- [2026-03-28 14:05] first\n- [14:05] second\n" in text
    at(workspace, NOON + dt.timedelta(days=2)).task("anything")
    assert "- [2026-03-28 14:05] first\n- [2026-03-29 14:05] second\n" in state(workspace)


@pytest.mark.on_disk
def test_times_that_another_tool_wrote_are_of_the_day_when_it_wrote_the_file(workspace: Workspace) -> None:
    put_file(workspace.state, "# Session State\n## Recent Decisions\n- [09:10] theirs\n")
    yesterday = (NOON - dt.timedelta(days=1)).timestamp()
    os.utime(workspace.state, (yesterday, yesterday))
    at(workspace).decide("ours")
    assert "- [2026-03-27 09:10] theirs\n- [14:05] ours\n" in state(workspace)


def test_the_oldest_decisions_move_to_the_log_in_one_operation(workspace: Workspace) -> None:
    for number in range(4):
        at(workspace, NOON + dt.timedelta(minutes=number), max_entries=3).decide(f"decision {number}")
    assert working.section_entries(at(workspace).shown().document, "decisions")[0].words == "decision 1"
    assert log(workspace) == "# 2026-03-28\n\n## 14:08 note | agent\n- [Decision] decision 0\n"
    at(workspace, NOON + dt.timedelta(days=1), max_entries=3).decide("明天的决策")
    assert "- [Decision] decision 1 (2026-03-28)\n" in log(workspace, "2026-03-29")
    undo(Context(workspace, Config(), Clock(dt.UTC, NOON)))
    assert log(workspace, "2026-03-29") == ""
    assert "- [14:06] decision 1\n" in state(workspace)


def test_the_oldest_key_moves_to_the_log(workspace: Workspace) -> None:
    for number in range(4):
        at(workspace, max_entries=3).context(f"key{number}", "value")
    assert "key0" not in state(workspace)
    assert "- key0: value\n" in log(workspace)


def test_what_is_pending_or_blocks_is_never_pushed_out(workspace: Workspace) -> None:
    desk = at(workspace, max_entries=2)
    for number in range(2):
        desk.pending(f"item {number}")
        desk.blocker(f"wall {number}")
    before = state(workspace)
    with pytest.raises(BadInput, match="Remove some first"):
        desk.pending("one more")
    with pytest.raises(BadInput, match="Remove some first"):
        desk.blocker("one more")
    assert state(workspace) == before


def test_something_pending_is_finished_by_its_number_or_its_words(workspace: Workspace) -> None:
    desk = at(workspace)
    for text in ("Ask Ann", "Write the tests", "Write the docs"):
        desk.pending(text)
    assert desk.done(2).line == "Write the tests"
    assert desk.done("docs").line == "Write the docs"
    assert desk.get()["pending"] == ["Ask Ann"]
    assert "- [Task] Done: Write the tests\n- [Task] Done: Write the docs\n" in log(workspace)
    assert not desk.done("Write the docs").changed  # a retry after a crash is no error
    with pytest.raises(NotFound, match="1 Ask Ann"):
        desk.done("Bob")
    with pytest.raises(NotFound):
        desk.done(7)


def test_words_that_fit_two_are_not_guessed_at(workspace: Workspace) -> None:
    desk = at(workspace)
    desk.pending("Write the tests")
    desk.pending("Write the docs")
    with pytest.raises(BadInput, match="matches 2"):
        desk.done("write")


def test_the_current_task_is_finished(workspace: Workspace) -> None:
    desk = at(workspace)
    desk.task("Move the API")
    assert desk.done().changed
    assert "## Current Task\n## Key Context" in state(workspace)
    assert "- [Task] Done: Move the API\n" in log(workspace)
    assert not desk.done().changed


def test_a_secret_is_refused_and_nothing_is_written(workspace: Workspace) -> None:
    desk = at(workspace)
    writes: tuple[Callable[[], Edit], ...] = (
        lambda: desk.task(f"use {KEY}"),
        lambda: desk.decide(f"key {KEY[:20]}\n{KEY[20:]}" + " " + KEY),
        lambda: desk.context("password", "Xk29dja8Qw"),
        lambda: desk.pending(KEY),
        lambda: desk.blocker(KEY),
    )
    for write in writes:
        with pytest.raises(SecretRefused):
            write()
    assert not is_there(workspace.state)
    assert not read_history(workspace).operations


def test_a_secret_that_the_user_wrote_does_not_stop_a_decision(workspace: Workspace) -> None:
    put_file(workspace.state, f"<!-- day: 2026-03-27 -->\n## Recent Decisions\n- [09:00] key {KEY}\n")
    at(workspace).decide("ours")
    assert state(workspace).endswith(f"- [09:00] key {KEY}\n- [14:05] ours\n")


def test_a_line_that_is_too_long_is_refused(workspace: Workspace) -> None:
    with pytest.raises(BadInput, match="working memory is 40"):
        at(workspace, max_chars=40).decide("x" * 41)
    with pytest.raises(BadInput, match="empty"):
        at(workspace).task(" \n\x00 ")
    with pytest.raises(BadInput, match="colon"):
        at(workspace).context("a: b", "c")
    assert not is_there(workspace.state)


@pytest.mark.parametrize(
    "text",
    ["## Blockers", "- [ ] item", "```", "~~~ x", "---", "===", "> quote", "1. one", "<!-- open", "<div>", "<!-- a -->b", "* * *", "+ x", "[x] y"],
)  # fmt: skip
def test_text_stays_text(workspace: Workspace, text: str) -> None:
    desk = at(workspace)
    desk.task(text)
    desk.decide(text)
    desk.pending(text)
    desk.blocker(text)
    desk.context("key", text)
    told = desk.get()
    assert (told["task"], told["pending"], told["blockers"]) == (text, [text], [text])
    assert (told["decisions"][0]["text"], told["context"]) == (text, [{"key": "key", "value": text}])
    assert [one.title for one in desk.shown().document.sections] == [
        "Session State", "Current Task", "Key Context", "Recent Decisions", "Pending", "Blockers",
    ]  # fmt: skip
    assert not any(
        change.changed for change in (desk.task(text), desk.decide(text), desk.pending(text), desk.blocker(text))
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=4))
def test_no_text_gets_out_of_its_line(memory_disk: Path, texts: list[str]) -> None:
    workspace = Workspace(memory_disk / os.urandom(4).hex())
    put_file(workspace.state, b"# S\n## Pending\n## Mine\nkept\n## Current Task\n## Recent Decisions\n## Blockers\n")
    desk = at(workspace)
    for text in texts:
        for write in (desk.task, desk.decide, desk.pending, desk.blocker):
            try:
                write(text)
            except (BadInput, SecretRefused):
                continue
    doc = desk.shown().document
    assert [one.title for one in doc.sections] == [
        "S", "Pending", "Mine", "Current Task", "Recent Decisions", "Blockers"
    ]  # fmt: skip
    assert "## Mine\nkept\n" in doc.text
    told = desk.get()
    assert len(told["pending"]) == len(told["blockers"]) == len(told["decisions"])
    if read_history(workspace).operations:
        undo(Context(workspace, Config(), Clock(dt.UTC, NOON)), last=999)
    assert file_bytes(workspace.state).startswith(b"# S\n## Pending\n## Mine")


@pytest.mark.on_disk
def test_a_file_that_cannot_be_edited_is_left_alone(workspace: Workspace, tmp_path: Path) -> None:
    desk = at(workspace)
    outside = tmp_path / "outside.md"
    put_file(outside, "## Pending\n")

    def refused(kind: type[NacreError], match: str) -> None:
        with pytest.raises(kind, match=match):
            desk.pending("x")

    workspace.state.symlink_to(outside)
    refused(PathEscape, "is a link")
    assert file_bytes(outside).decode() == "## Pending\n"
    take_file(workspace.state)
    put_file(workspace.state, b"## Pending\n\xff\xfe\n")
    refused(BadInput, "UTF-8")
    put_file(workspace.state, b"x" * (working.LARGEST + 1))
    refused(BadInput, "larger than")
    take_file(workspace.state)
    os.mkfifo(workspace.state)
    refused(NacreError, "regular file")
    take_file(workspace.state)
    put_file(workspace.state, b"## Current Task\n```\nnever closed\n## Pending\n")
    with pytest.raises(BadInput, match="unclosed"):
        desk.task("x")
    assert file_bytes(workspace.state) == b"## Current Task\n```\nnever closed\n## Pending\n"
    assert not read_history(workspace).operations


def test_a_task_in_a_code_fence_is_replaced_when_the_fence_is_closed(workspace: Workspace) -> None:
    put_file(workspace.state, b"## Current Task\n```\nmake all\n```\n")
    at(workspace).task("new")
    assert state(workspace) == "## Current Task\nnew\n"


def decide_five(root: Path, who: int) -> None:
    for number in range(5):
        at(Workspace(root), max_entries=10).decide(f"decision {who}-{number}")


@pytest.mark.on_disk
def test_many_processes_at_once_lose_no_decision(workspace: Workspace) -> None:
    forked = multiprocessing.get_context("fork")
    workers = [forked.Process(target=decide_five, args=(workspace.root, who)) for who in range(5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 5
    everywhere = state(workspace) + log(workspace)
    assert all(everywhere.count(f"decision {who}-{number}\n") == 1 for who in range(5) for number in range(5))
    assert len(at(workspace).get()["decisions"]) == 10
    undo(Context(workspace, Config(), Clock(dt.UTC, NOON)), last=25)
    assert not is_there(workspace.state)
    assert log(workspace) == ""


def test_a_dry_run_touches_nothing(workspace: Workspace) -> None:
    desk = at(workspace)
    made = desk.decide("chose pnpm", dry_run=True)
    assert made.plan.steps[0].detail == "[14:05] chose pnpm"
    assert not is_there(workspace.state)
    assert not is_there(workspace.lock)


def test_a_snapshot_is_kept_and_brought_back(workspace: Workspace) -> None:
    desk = at(workspace)
    with pytest.raises(NotFound, match="yet"):
        desk.snapshot()
    with pytest.raises(NotFound, match="snapshot"):
        desk.restore()
    desk.task("first")
    before = state(workspace)
    kept = desk.snapshot("before-the-move")
    assert kept.snapshot.path.name == "SESSION-STATE.md.bak-2026-03-28-140500-before-the-move"
    assert not desk.snapshot("before-the-move").plan
    desk.task("second")
    desk.snapshot()
    desk.task("third")
    assert desk.restore("before-the-move").plan
    assert state(workspace) == before
    undo(Context(workspace, Config(), Clock(dt.UTC, NOON)))
    assert "third" in state(workspace)
    desk.restore()
    assert "second" in state(workspace)
    assert not desk.restore().plan
    with pytest.raises(NotFound, match="before-the-move"):
        desk.restore("nobody")
    with pytest.raises(BadInput, match="valid snapshot name"):
        desk.snapshot("../x")


def test_only_the_last_snapshots_stay_and_undo_brings_the_oldest_back(workspace: Workspace) -> None:
    for number in range(22):
        desk = at(workspace, NOON + dt.timedelta(minutes=number))
        desk.task(f"task {number}")
        desk.snapshot()
    found = desk.snapshots()
    assert (len(found), found[0].moment, found[-1].moment) == (20, "2026-03-28-142600", "2026-03-28-140700")
    undo(Context(workspace, Config(), Clock(dt.UTC, NOON)))
    assert [one.moment for one in desk.snapshots()][-1] == "2026-03-28-140600"


def test_snapshots_of_one_second_do_not_overwrite_each_other(workspace: Workspace) -> None:
    desk = at(workspace)
    for number in range(3):
        desk.task(f"task {number}")
        desk.snapshot()
    assert len(desk.snapshots()) == 3
    desk.restore()
    assert "task 2" in state(workspace)
