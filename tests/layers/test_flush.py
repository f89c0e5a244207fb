"""The turn before compaction: when it is due, what the agent is told, and what becomes of its answer."""

from __future__ import annotations

import datetime as dt
import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forget.conftest import everything, killed_at, take
from tests.vault.conftest import run_in_child

from nacre.capture.cursors import read_headings
from nacre.clock import Clock
from nacre.config.settings import Config, FlushSettings
from nacre.errors import BadInput, NotFound
from nacre.layers import flush
from nacre.layers.flush import (
    BELOW,
    DUE,
    FLUSHED,
    GROUP,
    LONGEST,
    PAUSED,
    READ_ONLY,
    SILENCE,
    ask_flush,
    flush_prompts,
    flush_threshold,
    parse_answer,
)
from nacre.memory import Memory
from nacre.model import Context, Workspace
from nacre.sources.registry import begin_pause
from nacre.tidy.collect import log_lines

NOW = "2026-02-14T15:30:00+00:00"
MOMENT = dt.datetime.fromisoformat(NOW)
REFERENCE = ("MEMORY.md", "SOUL.md", "TOOLS.md", "AGENTS.md", "IDENTITY.md", "USER.md")
LOG = "memory/2026-02-14.md"
SECRET = "sk-ant-" + "api03-" + "Zq8Kd73hfLs02mXwPv91bnTyRe45uGcJ" * 2
WINDOW, FULL, HALF_EMPTY = 200_000, 176_000, 80_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Memory.init(tmp_path / "ws", now=NOW).close()
    return tmp_path / "ws"


def at(root: Path, moment: str = NOW, scope: str = "main") -> Memory:
    return Memory.open(root, now=moment, scope=scope)


def later(minutes: float) -> str:
    return (MOMENT + dt.timedelta(minutes=minutes)).isoformat()


def code(root: Path, tokens: int, minutes: float = 0, *, session: str = "a", compactions: int | None = None) -> str:
    with at(root, later(minutes)) as memory:
        return memory.flush(tokens, WINDOW, session=session, compactions=compactions).code


# When


@pytest.mark.parametrize(
    ("window", "limit"),
    [(200_000, 176_000), (128_000, 104_000), (32_000, 8_000), (24_000, 6_000), (8_000, 2_000), (1, 0)],
)
def test_the_turn_is_due_before_the_reserve_and_never_before_a_fourth_of_the_window(window: int, limit: int) -> None:
    assert flush_threshold(window, FlushSettings()) == limit


@given(st.integers(1, 10**7), st.integers(0, 10**6), st.integers(0, 10**6))
def test_no_window_and_no_setting_makes_a_negative_threshold(window: int, reserve: int, soft: int) -> None:
    limit = flush_threshold(window, FlushSettings(reserve_tokens=reserve, soft_threshold_tokens=soft))
    assert 0 <= limit <= window


def test_a_session_is_asked_once_for_each_compaction(root: Path) -> None:
    assert code(root, FULL - 1, compactions=0) == BELOW
    assert code(root, FULL, compactions=0) == DUE
    assert code(root, FULL + 1, 60, compactions=0) == FLUSHED
    assert code(root, HALF_EMPTY, 61, compactions=1) == BELOW
    assert code(root, FULL, 62, compactions=1) == DUE
    assert code(root, FULL, 62, compactions=0, session="b") == DUE


def test_where_nobody_counts_compactions_the_cycle_ends_below_half_of_the_threshold(root: Path) -> None:
    assert code(root, FULL) == DUE
    assert code(root, FULL // 2, 20) == BELOW
    assert code(root, FULL, 21) == FLUSHED
    assert code(root, FULL // 2 - 1, 22) == BELOW
    assert code(root, FULL, 23) == DUE


def test_a_dry_run_remembers_nothing(root: Path) -> None:
    with at(root) as memory:
        assert memory.flush(FULL, WINDOW, dry_run=True).due
        assert not (root / ".nacre" / "flush").exists()
        assert memory.flush(FULL, WINDOW).due
        assert not memory.flush(FULL, WINDOW, dry_run=True).due


def test_what_is_remembered_is_private_bounded_and_names_no_session(root: Path) -> None:
    folder = root / ".nacre" / "flush"
    assert code(root, FULL, session=SECRET) == DUE
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET not in path.name + path.read_text("utf8")
    for number in range(300):
        (folder / f"{number:016x}.json").write_text('{"compactions":null}', "utf8")
        os.utime(folder / f"{number:016x}.json", (MOMENT.timestamp() + number - 8 * 86400,) * 2)
    for number in range(300, 500):
        (folder / f"{number:016x}.json").write_text('{"compactions":null}', "utf8")
        os.utime(folder / f"{number:016x}.json", (MOMENT.timestamp() + number,) * 2)
    assert code(root, FULL, session="another") == DUE
    assert len(list(folder.iterdir())) == flush.MOST_SESSIONS
    assert not (folder / f"{299:016x}.json").exists()
    assert (folder / f"{499:016x}.json").exists()


@pytest.mark.parametrize(
    "junk",
    [b"", b"\xff\x00", b"[]", b'{"sessions":[1]}', b"{" * 9999, b'{"compactions":'],
)
def test_a_damaged_memory_of_it_counts_as_none(root: Path, junk: bytes) -> None:
    assert code(root, FULL) == DUE
    (path,) = (root / ".nacre" / "flush").iterdir()
    path.write_bytes(junk)
    assert code(root, FULL) == DUE
    assert code(root, FULL) == FLUSHED


# Where not


def test_in_a_group_when_switched_off_and_in_a_pause_nothing_is_due(root: Path) -> None:
    with at(root, scope="group:team") as memory:
        assert memory.flush(FULL, WINDOW).code == GROUP
        with pytest.raises(BadInput):
            memory.flush_answer("- [PREF] x")
    off = Config(flush=FlushSettings(enabled=False))
    assert not ask_flush(Context(Workspace(root), off, Clock(dt.UTC, MOMENT)), FULL, WINDOW, session="a").due
    begin_pause(Workspace(root), MOMENT, None)
    assert code(root, FULL) == PAUSED
    with at(root) as memory, pytest.raises(BadInput, match="paused"):
        memory.flush_answer("- [PREF] x")
    assert not (root / LOG).exists()


def test_a_workspace_whose_log_cannot_be_written_is_not_flushed(root: Path, tmp_path: Path) -> None:
    (root / LOG).mkdir()
    assert code(root, FULL) == READ_ONLY
    (root / LOG).rmdir()
    (root / LOG).symlink_to(tmp_path / "elsewhere.md")
    assert code(root, FULL) == READ_ONLY
    (root / LOG).unlink()
    (root / "memory").rename(root / "other")
    (root / "memory").write_text("a file", "utf8")
    assert code(root, FULL) == READ_ONLY
    assert not (tmp_path / "elsewhere.md").exists()


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="needs to become somebody who may not write")
def test_a_read_only_workspace_is_not_flushed() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "ws"
        Memory.init(root, now=NOW).close()
        os.chmod(folder, 0o755)
        for path in (root, *root.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        assert ask_flush(
            Context(Workspace(root), Config(), Clock(dt.UTC, MOMENT)), FULL, WINDOW, session="a", dry_run=True
        ).due

        def as_nobody() -> None:
            os.setuid(65534)
            found = ask_flush(Context(Workspace(root), Config(), Clock(dt.UTC, MOMENT)), FULL, WINDOW, session="a")
            assert found.code == READ_ONLY
            assert str(root) in found.reason

        assert run_in_child(as_nobody) == 0


@pytest.mark.parametrize("counts", [(-1, 10, None), (1, 0, None), (1, 10, -1)])
def test_counts_that_are_none_are_refused(root: Path, counts: tuple[int, int, int | None]) -> None:
    with at(root) as memory, pytest.raises(BadInput):
        memory.flush(counts[0], counts[1], compactions=counts[2])


# What it says


@pytest.mark.parametrize(
    ("language", "clauses"), [("en", ("only to", "append-only", "read-only")), ("zh", ("只写入", "只追加", "只读"))]
)
def test_both_prompts_say_every_rule_with_the_real_day(language: str, clauses: tuple[str, ...]) -> None:
    told = flush_prompts(LOG, language)
    for text in (told.system, told.user):
        assert all(clause in text for clause in (*clauses, LOG, "2026-02-14-HHMM.md", SILENCE, *REFERENCE))
        assert "YYYY" not in text
        assert "{" not in text
    assert "- [TYPE]" in told.user


def test_the_day_is_the_users_own(root: Path) -> None:
    (root / ".nacre" / "config.toml").write_text('timezone = "Asia/Shanghai"\n', "utf8")
    with at(root, "2026-02-14T17:00:00+00:00") as memory:
        asked = memory.flush(FULL, WINDOW)
    assert asked.path == "memory/2026-02-15.md"
    assert asked.prompts
    assert asked.path in asked.prompts.system


def test_the_prompts_follow_the_settings_or_else_the_talk(root: Path) -> None:
    def language(chosen: str = "auto") -> str:
        asked = ask_flush(
            Context(Workspace(root), Config(language=chosen), Clock(dt.UTC, MOMENT)),
            FULL,
            WINDOW,
            session="x",
            dry_run=True,
        )
        assert asked.prompts
        return "zh" if "只读" in asked.prompts.system else "en"

    assert language() == "en"
    (root / "memory" / "2026-02-13.md").write_text(
        "# 2026-02-13\n\n## 10:00 note\n- [PREF] 报告一律用 Typst 排版\n", "utf8"
    )
    assert language() == "zh"
    assert language("en") == "en"
    (root / LOG).write_text("- all of today's talk was in English\n", "utf8")
    assert language() == "en"


def test_a_prompt_of_the_users_own_gets_the_safety_rules_in_its_language() -> None:
    made = flush_prompts(
        LOG, "en", system="请把这次对话里重要的内容保存到 memory/YYYY-MM-DD.md。", user="Save what matters."
    )
    assert made.user.startswith("Save what matters.\n\n- ")
    assert f"answer exactly {SILENCE}" in made.user
    assert made.system.startswith("请把这次对话里重要的内容保存到 memory/2026-02-14.md。\n\n- ")
    assert f"只回答 {SILENCE}" in made.system
    assert all(text.count("\n- ") == 4 and all(name in text for name in REFERENCE) for text in (made.user, made.system))


def test_custom_prompts_come_from_the_settings(root: Path) -> None:
    config = Config(flush=FlushSettings(prompt="Keep it short.", system_prompt="请简短。"))
    told = ask_flush(Context(Workspace(root), config, Clock(dt.UTC, MOMENT)), FULL, WINDOW, session="a").prompts
    assert told
    assert told.user.startswith("Keep it short.\n\n- Write only to memory/2026-02-14.md")
    assert told.system.startswith("请简短。\n\n- 只写入 memory/2026-02-14.md")


# The answer


@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY",
        "  no_reply.\n",
        "`NO_REPLY`",
        "**NO_REPLY**",
        "NO_REPLY。",
        "Nothing new here.\n\nNO_REPLY",
        "NO_REPLY\nAll is saved.",
        "",
        " \n",
    ],
)
def test_no_reply_is_silence(root: Path, text: str) -> None:
    before = everything(root)
    with at(root) as memory:
        taken = memory.flush_answer(text)
    assert not taken.written
    assert everything(root) == before
    with pytest.raises(NotFound):
        memory.undo(dry_run=True)


def test_an_agent_that_wrote_lines_and_closed_with_no_reply_meant_both() -> None:
    assert parse_answer("I saved two things:\n- [PREF] Use pnpm\nNO_REPLY") == (["[PREF] Use pnpm"], True)
    assert parse_answer("Bob gave NO_REPLY to the mail") == (["Bob gave NO_REPLY to the mail"], False)


def test_the_answer_stands_in_the_log_as_a_note_and_is_no_captured_session(root: Path) -> None:
    (root / LOG).write_bytes(b"# 2026-02-14\r\n\r\n## 09:00 session:61871d67 | 12 messages\r\n- a")
    with at(root) as memory:
        taken = memory.flush_answer(
            "# What lasts\n\n- [PREF] Use pnpm\n* 报告用 Typst\n1. Third\nprose here\n> quoted\n---\n"
        )
    data = (root / LOG).read_bytes()
    assert data == (
        b"# 2026-02-14\r\n\r\n## 09:00 session:61871d67 | 12 messages\r\n- a\r\n\r\n## 15:30 note | agent\r\n- [PREF] Use pnpm\r\n- "
        + "报告用 Typst".encode()
        + b"\r\n- Third\r\n- prose here\r\n- quoted\r\n"
    )
    assert [one.line for one in taken.written] == [7, 8, 9, 10, 11]
    assert [one.session for one in read_headings(data)] == ["61871d67"]
    assert [(one.label, one.session) for one in log_lines("2026-02-14", data)][1] == ("PREF", None)


def test_the_same_answer_twice_is_written_once_and_is_undone(root: Path) -> None:
    before = everything(root)
    with at(root) as memory:
        memory.flush_answer("- [PREF] Use pnpm\n- [TECH] Port 8181")
        after = everything(root)
        again = memory.flush_answer("- [PREF] Use pnpm\n- [TECH] Port 8181\n")
        assert (again.written, again.already) == ((), 2)
        assert everything(root) == after
        memory.undo()
        assert everything(root) == before
        assert len(memory.flush_answer("- [PREF] Use pnpm").written) == 1


def test_a_secret_is_blacked_out_and_the_rest_is_written(root: Path) -> None:
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n"
        + "\n".join(["Zq8Kd73hfLs02mXwPv91bnTyRe45uGcJ"] * 4)
        + "\n-----END RSA PRIVATE KEY-----"
    )
    with at(root) as memory:
        taken = memory.flush_answer(f"- [TECH] The key is {SECRET}\n- [PREF] Use pnpm\x07\u202e\n{key}\n")
    text = (root / LOG).read_text("utf8")
    assert SECRET not in text
    assert "Zq8K" not in text
    assert "[redacted:" in text
    assert "- [PREF] Use pnpm\n" in text
    assert len(taken.written) == 3


@pytest.mark.parametrize(
    "line",
    [
        "write to MEMORY.md: the user likes cats",
        "```MEMORY.md\nthe user likes cats\n```",
        "--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ -1 +1 @@\n+- the user likes cats",
        "../MEMORY.md\n## 10:00 session:abcdef01 | group:team\n- the user likes cats",
        "- ## 10:00 x | group:team\n- the user likes cats",
        "- - # the user likes dogs\n- <!-- the user likes cats",
        "- ```\n- the user likes cats",
        "---\nfile: MEMORY.md\n---\nthe user likes cats",
    ],
)
def test_whatever_an_answer_says_it_is_text_in_the_log(root: Path, line: str) -> None:
    before = everything(root)
    with at(root) as memory:
        memory.flush_answer(line)
    after = everything(root)
    text = after.pop(LOG).decode()
    assert after == before
    assert "the user likes cats" in text
    assert [row for row in text.splitlines() if row.startswith("#")] == ["# 2026-02-14", "## 15:30 note | agent"]
    assert all(row.startswith("- ") for row in text.splitlines()[3:])
    assert {(one.group, one.heading) for one in log_lines("2026-02-14", text.encode())} == {
        (None, "15:30 note | agent")
    }
    (root / LOG).write_text(text + "\n## 16:00 note\n- seen after it\n", "utf8")
    assert log_lines("2026-02-14", (root / LOG).read_bytes())[-1].words == "seen after it"


def test_a_long_line_is_folded_and_nothing_of_it_is_lost() -> None:
    words = " ".join(f"word{number}" for number in range(200))
    found, _ = parse_answer(f"- [TECH] {words}")
    assert all(len(line) <= LONGEST for line in found)
    assert found[0].startswith("[TECH] word0 ")
    assert all(line.startswith("…") for line in found[1:])
    assert " ".join(line.removeprefix("[TECH] ").lstrip("…") for line in found) == words
    assert "".join(line.lstrip("…") for line in parse_answer("字" * 1200)[0]) == "字" * 1200


@given(st.text(max_size=3000))
def test_every_answer_gives_lines_that_fit(text: str) -> None:
    for line in parse_answer(text)[0]:
        assert 0 < len(line) <= LONGEST
        assert "\n" not in line
        assert not line.startswith(("#", "```", "~~~")) or not line.lstrip("#").startswith(" ")


def test_what_is_too_much_for_one_turn_is_told_and_a_talk_is_no_answer(root: Path) -> None:
    with at(root) as memory:
        taken = memory.flush_answer("\n".join(f"- fact {number}" for number in range(40)))
        assert (len(taken.written), taken.over[0], len(taken.over)) == (30, "fact 30", 10)
        with pytest.raises(BadInput, match="Nothing was written"):
            memory.flush_answer("x" * 200_001)


def test_what_the_user_had_forgotten_does_not_come_back(root: Path) -> None:
    with at(root) as memory:
        memory.remember("Maria Lopez leads the billing team", type="PEOPLE")
        memory.forget(f"{LOG}:4", choose=take)
        taken = memory.flush_answer("- [PEOPLE] Maria Lopez leads the billing team\n- [TECH] Port 8181")
    assert (taken.forgotten, [one.text for one in taken.written]) == (1, ["Port 8181"])
    assert "Maria" not in (root / LOG).read_text("utf8")


def test_an_answer_killed_at_any_moment_stands_there_once_after_the_next(memory_disk: Path) -> None:
    for call in range(1, 60):
        root = memory_disk / f"ws{call}"
        Memory.init(root, now=NOW).close()
        died = killed_at(call, lambda root=root: at(root).flush_answer("- [PREF] Use pnpm\n- two"))  # type: ignore[misc, arg-type]
        with at(root) as memory:
            memory.flush_answer("- [PREF] Use pnpm\n- two")
        assert (root / LOG).read_text("utf8") == "# 2026-02-14\n\n## 15:30 note | agent\n- [PREF] Use pnpm\n- two\n"
        if not died:
            return
    raise AssertionError("it never finished")
