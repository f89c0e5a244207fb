"""Old days become weeks: what they tell once and in fewer bytes, nothing of the user's lost, at whatever moment a run is killed."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tidy.conftest import Lay, Tidy, contents, killed_at, room_at, run_in_child, tidied

from nacre.brain.local.judge import Judge
from nacre.clock import Clock
from nacre.config.settings import Config, TidySettings
from nacre.i18n import use_language
from nacre.index.document import Document
from nacre.memory import Memory
from nacre.model import Workspace
from nacre.search.query import Filters
from nacre.tidy import archive, compress
from nacre.tidy.collect import TidyContext
from nacre.tidy.compress import categories, plain_words
from nacre.vault import daily, provenance
from nacre.vault.history import operation
from nacre.vault.undo import undo

SESSION = "## 14:05 session:61871d67 | 12 messages"


def week(room: TidyContext, name: str = "2026-03-02") -> str:
    return (room.workspace.weekly / f"{name}.md").read_bytes().decode()


def said_in(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("[")]


def entered(room: TidyContext) -> dict[str, set[str]]:
    """By day the bullets that have entered a digest."""
    pressed = provenance.read_provenance(room.workspace).pressed
    return {
        day: {bullet for line in pressed if line.day == day for bullet in line.bullets}
        for day in {line.day for line in pressed}
    }


def test_days_older_than_seven_days_are_pressed_into_their_natural_week(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay("2026-03-01", "- [Task] a Sunday\n")
    lay("2026-03-02", "- [Task] a Monday\n")
    lay("2026-03-08", "- [Task] the Sunday after\n")
    lay("2026-03-12", "- [Task] eight days old\n")
    lay("2026-03-13", "- [Task] seven days old\n")
    assert tidy() == ()
    assert week(room, "2026-02-23") == "# 2026-02-23\n### 2026-03-01\n[Task] a Sunday (src: 2026-03-01)\n"
    assert week(room) == (
        "# 2026-03-02\n### 2026-03-02\n[Task] a Monday (src: 2026-03-02)\n### 2026-03-08\n[Task] the Sunday after (src: 2026-03-08)\n"
    )
    assert said_in(week(room, "2026-03-09")) == ["[Task] eight days old (src: 2026-03-12)"]
    assert room.workspace.day(dt.date(2026, 3, 13)).exists()


def test_sections_below_a_code_fence_that_is_never_closed_are_pressed(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay(
        "2026-03-03",
        f"- [Task] before\n```sh\nleft open\n\n{SESSION}\n- [Task] a session\n\n## 15:00 note\n- [Task] a note\n",
    )
    lay("2026-03-04", f"- [Task] next\n```\n{SESSION}\n- [Task] only quoted\n```\n")
    assert tidy() == ()
    told = [line.split(" (src")[0] for line in said_in(week(room))]
    assert told == ["[Task] before", "[Task] a session", "[Task] a note", "[Task] next"]


def test_how_long_a_day_stays_can_be_set(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay("2026-03-18", "- [Task] a\n")
    assert not compress.plan(room)
    tidy(replace(room, config=Config(tidy=TidySettings(daily_days=1))))
    assert said_in(week(room, "2026-03-16")) == ["[Task] a (src: 2026-03-18)"]


def test_a_category_is_kept_and_otherwise_judged_in_the_language_of_the_words(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay(
        "2026-03-03",
        "- [决策] 助手改名为小明\n- [PREF] I prefer short answers over long ones\n- [PREF] 我喜欢简短的回答\n",
    )
    tidy()
    assert said_in(week(room)) == [
        "[决策] 助手改名为小明 (src: 2026-03-03)",
        "[Preference] I prefer short answers over long ones (src: 2026-03-03)",
        "[偏好] 我喜欢简短的回答 (src: 2026-03-03)",
    ]


def test_many_statements_are_judged_in_parts_and_each_gets_its_category() -> None:
    texts = ["I prefer short answers over long ones", "We decided to switch to PostgreSQL"] * 2500
    assert Counter(categories(Judge(None), texts)) == {"preference": 2500, "decision": 2500}
    assert categories(Judge(None), []) == []


def test_every_step_says_why_in_both_languages(room: TidyContext, lay: Lay) -> None:
    lay("2026-03-03", "- [Task] a\n- [Task] A!\n")
    first, second = compress.plan(room).steps
    assert (first.action, first.path, first.detail) == (
        "add",
        "memory/weekly/2026-03-02.md",
        "[Task] a (src: 2026-03-03)",
    )
    assert first.reason == "memory/2026-03-03.md:1 is older than 7 days"
    assert (second.action, second.reason) == ("say once", "memory/2026-03-03.md:2 says the same as “a”")
    use_language("zh")
    first, second = compress.plan(room).steps
    assert "已超过 7 天" in first.reason
    assert "意思相同" in second.reason


def test_planning_writes_nothing(room: TidyContext, lay: Lay) -> None:
    lay("2026-03-03", "- [Task] a\n")
    before = contents(room.workspace)
    assert compress.plan(room)
    assert contents(room.workspace) == before


def test_projects_stand_apart_and_what_groups_said_carries_no_stamp(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay(
        "2026-03-03",
        f"{SESSION} | project:shop\n- [Task] the deadline is in March\n{SESSION} | project:blog\n- [Task] the deadline is in May\n"
        f"{SESSION} | project:shop | group:team\n- [Task] the team meets on Friday\n## 15:00 note\n- [Task] water the plants\n",
    )
    tidy()
    assert week(room) == (
        "# 2026-03-02\n### 2026-03-03\n[Task] the team meets on Friday (src: 2026-03-03)\n[Task] water the plants (src: 2026-03-03)\n"
        "#### project:blog\n[Task] the deadline is in May (src: 2026-03-03)\n"
        "#### project:shop\n[Task] the deadline is in March (src: 2026-03-03)\n"
    )


def test_a_search_from_one_project_does_not_find_another_s_line_of_the_week(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay(
        "2026-03-03",
        f"{SESSION} | project:shop\n- [Task] the shop deadline is in March\n{SESSION} | project:blog\n- [Task] the blog deadline is in May\n"
        f"{SESSION} | group:team\n- [Task] the team deadline is on Friday\n",
    )
    tidy()

    def found(scope: str = "main", **narrowed: str) -> set[str]:
        with Memory.open(room.workspace.root, scope=scope) as memory:
            filters = Filters(layers=("weekly",), **narrowed)
            report = memory.ask("deadline", mode="text", min_score=0, filters=filters)
        return {hit.snippet.split()[2] for hit in report.hits}

    assert found() == {"shop", "blog", "team"}
    assert found(project="shop") == {"shop", "team"}
    assert found(project="blog") == {"blog", "team"}
    assert found(scope="group:team") == set()


def test_a_project_heading_means_something_in_digests_only() -> None:
    text = b"#### project:shop\n- a line\n##### more\n- below\n### Next\n- another\n"

    def projects(path: str, layer: str) -> list[str | None]:
        document = Document(path, layer, text)
        return [part.project for part in document.parts(document.pieces, 400, 80, set())]

    assert projects("memory/weekly/2026-03-02.md", "weekly") == ["shop", "shop", None]
    assert set(projects("memory/x.md", "note")) == {None}


def test_what_is_repeated_in_a_week_is_said_once_within_its_project(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay("2026-03-03", f"- [Task] Use pnpm, never npm\n{SESSION} | project:a\n- [Task] use pnpm never npm!\n")
    lay("2026-03-05", "- [Task] use pnpm, never npm.\n- [Task] Use pnpm 9, never npm\n")
    lay("2026-03-10", "- [Task] Use pnpm, never npm\n")
    tidy()
    assert said_in(week(room)) == [
        "[Task] Use pnpm, never npm (src: 2026-03-03)",
        "[Task] use pnpm never npm! (src: 2026-03-03)",
        "[Task] Use pnpm 9, never npm (src: 2026-03-05)",
    ]
    assert said_in(week(room, "2026-03-09")) == ["[Task] Use pnpm, never npm (src: 2026-03-10)"]
    assert not room.workspace.day(dt.date(2026, 3, 5)).exists()
    assert not compress.plan(room)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Use pnpm, never npm", "use PNPM never npm.", True),
        ("The answer is **short**", "the answer is short!", True),
        ("助手改名为小明，以后这样叫", "助手改名为小明 以后这样叫。", True),
        ("助手名称：小明", "助手名称: 小明", True),
        ("use pnpm - never npm", "Use pnpm, never npm", True),
        ("moved from Jest to Vitest", "moved from Vitest to Jest", False),
        ("deploy on port 8080", "deploy on port 8081", False),
        ("use it", "do not use it", False),
        ("latency < 5", "latency > 5", False),
        ("prefers C++", "prefers C", False),
        ("use pnpm", "use pnpm?", False),
        ("version 1.2", "version 12", False),
        ("at 10:30", "at 1030", False),
        ("ignore .env", "ignore env", False),
    ],
)
def test_words_are_the_same_but_for_case_punctuation_and_little_words(one: str, other: str, same: bool) -> None:
    assert (plain_words(one) == plain_words(other)) is same


def test_a_day_captured_late_is_completed_wherever_its_log_lies_and_never_doubled(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay("2026-03-03", "# 2026-03-03\n\n## 14:05 note\n- [Task] a\n")
    tidy()
    assert not compress.plan(room)
    daily.append_section(room, "18:00 session:aa", ["[Task] late"], day=dt.date(2026, 3, 3))
    (step,) = compress.plan(room).steps
    assert step.reason == "memory/archive/2026/2026-03-03.md:7 is older than 7 days"
    tidy()
    assert said_in(week(room)) == ["[Task] a (src: 2026-03-03)", "[Task] late (src: 2026-03-03)"]
    assert not compress.plan(room)


def test_what_the_user_edits_or_deletes_in_a_digest_is_not_brought_back(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay("2026-03-03", "- [Task] a\n- [Task] b\n")
    tidy()
    path = lay("memory/weekly/2026-03-02.md", "# 2026-03-02\n### 2026-03-03\n[Task] bb, I mean\n")
    with (room.workspace.archive / "2026" / "2026-03-03.md").open("a") as log:
        log.write("- [Task] c\n")
    tidy()
    assert path.read_text() == "# 2026-03-02\n### 2026-03-03\n[Task] bb, I mean\n[Task] c (src: 2026-03-03)\n"
    path.unlink()
    tidy()
    assert not path.exists()


def test_a_digest_made_by_hand_is_completed_and_stays_byte_for_byte(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    hand = b"\xef\xbb\xbf# My week  \r\n\r\n| a | b |\r\n|---|---|\r\n\r\n## 2026-03-03\r\n- we chose Typst\r\n\r\n## Thoughts\r\nnone"
    path = lay("memory/weekly/2026-03-04.md", hand)
    lay("2026-03-03", "- [Task] We chose Typst.\n- [Task] call Bob\n")
    lay("2026-03-05", "- [Task] rest\n")
    assert tidy() == ()
    assert path.read_bytes() == hand.replace(
        b"- we chose Typst\r\n\r\n",
        b"- we chose Typst\r\n\r\n[Task] call Bob (src: 2026-03-03)\r\n\r\n## 2026-03-05\r\n[Task] rest (src: 2026-03-05)\r\n\r\n",
    )
    assert not (room.workspace.weekly / "2026-03-02.md").exists()


def test_a_digest_that_cannot_be_read_is_skipped_and_the_others_go_on(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    bad = lay("memory/weekly/2026-03-02.md", b"# caf\xe9\n")
    fenced = lay("memory/weekly/2026-02-23.md", b"```\nnever closed\n")
    for day in ("2026-03-03", "2026-02-24", "2026-02-17"):
        lay(day, "- [Task] a\n")
    problems = tidy()
    assert [one.path for one in problems] == ["memory/weekly/2026-03-02.md", "memory/weekly/2026-02-23.md"]
    assert "not valid UTF-8" in problems[0].message
    assert (bad.read_bytes(), fenced.read_bytes()) == (b"# caf\xe9\n", b"```\nnever closed\n")
    assert said_in(week(room, "2026-02-16")) == ["[Task] a (src: 2026-02-17)"]
    assert room.workspace.day(dt.date(2026, 3, 3)).exists()
    assert room.workspace.day(dt.date(2026, 2, 24)).exists()
    assert not room.workspace.day(dt.date(2026, 2, 17)).exists()
    bad.write_bytes("# café\n".encode())
    tidy()
    assert said_in(week(room)) == ["[Task] a (src: 2026-03-03)"]


def test_a_log_with_a_wrong_name_stays_and_the_others_go_on(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    wrong = [lay(name, "- [Task] wrong\n") for name in ("2026-02-30", "2026-13-01", "2026-04-01")]
    lay("memory/2026-03-03-offsite.md", "- [Task] a note\n")
    lay("2026-03-03", "- [Task] a\n")
    assert [one.kind for one in tidy()] == ["after today"]
    assert said_in(week(room)) == ["[Task] a (src: 2026-03-03)"]
    assert all(path.exists() for path in wrong)
    assert len(list(room.workspace.weekly.iterdir())) == 1


def test_a_secret_in_a_log_does_not_reach_the_digest_and_does_not_block_it(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    secret = "ghp_" + "x7Kq2mZ9Rt4Wv8Yb3Nc6Hd1Js5Lf0PgQaUe"
    lay("2026-03-03", f"- [Task] the key is {secret}\n- [Task] fine\u202e\n")
    assert tidy() == ()
    assert secret not in week(room)
    first, second = said_in(week(room))
    assert first.startswith("[Task] the key is [redacted")
    assert second == "[Task] fine (src: 2026-03-03)"
    room.workspace.trail.unlink()
    assert compress.plan(room).steps == ()


def test_without_a_trail_what_stands_in_the_digest_counts_as_entered(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay("2026-03-03", "- [Task] a\n- [PREF] b\n- [Task] A.\n")
    tidy()
    before = week(room)
    room.workspace.trail.unlink()
    plan = compress.plan(room)
    assert [step.action for step in plan.steps] == ["say once"]
    assert plan
    tidy()
    assert week(room) == before
    assert not compress.plan(room)


def test_an_archived_log_as_long_as_when_it_was_pressed_is_not_opened(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay("2026-03-03", "- [Task] a\n")
    lay("2026-03-04", "")
    lay("2026-03-05", "# 2026-03-05\n\n```\nonly code\n```\n")
    tidy()
    for path in room.workspace.archive.rglob("*.md"):
        path.chmod(0)
        size = path.stat().st_size
        path.unlink()
        path.write_bytes(b"\xff" * size)  # would be told by its hash or its words
    for path in room.workspace.weekly.iterdir():
        path.write_bytes(b"\xff")  # would be a problem
    plan = compress.plan(room)
    assert not plan
    assert not any(week.logs for week in plan.digests)
    assert not plan.problems


def test_a_file_changed_between_plan_and_apply_is_left_for_the_next_run(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay("2026-03-03", "- [Task] a\n")
    lay("2026-03-10", "- [Task] b\n")
    lay("2026-02-24", "- [Task] c\n")
    plan = compress.plan(room)
    moves = archive.plan(room, plan, [])
    lay("memory/weekly/2026-03-02.md", "the user was here\n")
    lay("2026-03-10", "- [Task] b\n- [Task] and more\n")
    with operation(room, "tidy") as op:
        left = compress.apply(room, op, plan)
        archive.apply(room, op, moves)
    assert [one.path for one in left] == ["memory/weekly/2026-03-02.md", "memory/weekly/2026-03-09.md"]
    assert "changed by another program" in left[0].message
    assert week(room) == "the user was here\n"
    assert room.workspace.day(dt.date(2026, 3, 3)).exists()
    assert room.workspace.day(dt.date(2026, 3, 10)).exists()
    assert not room.workspace.day(dt.date(2026, 2, 24)).exists()
    assert tidy() == ()
    assert week(room) == "the user was here\n### 2026-03-03\n[Task] a (src: 2026-03-03)\n"
    assert said_in(week(room, "2026-03-09")) == ["[Task] b (src: 2026-03-10)", "[Task] and more (src: 2026-03-10)"]


def test_a_clock_that_jumps_back_undoes_and_doubles_nothing(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay("2026-03-03", "- [Task] a\n")
    lay("2026-01-06", "- [Task] b\n")
    tidy()
    lay("2026-03-10", "- [Task] c\n")
    before = contents(room.workspace)
    earlier = replace(room, clock=Clock(dt.UTC, dt.datetime(2026, 1, 20, tzinfo=dt.UTC)))
    assert [one.kind for one in tidy(earlier)] == ["after today"]
    assert contents(room.workspace) == before
    tidy()
    assert said_in(week(room)) == ["[Task] a (src: 2026-03-03)"]
    assert said_in(week(room, "2026-03-09")) == ["[Task] c (src: 2026-03-10)"]


def test_undo_takes_everything_back_and_the_next_run_does_it_again(room: TidyContext, lay: Lay, tidy: Tidy) -> None:
    lay("2026-03-03", f"{SESSION} | project:a\n- [Task] a\n")
    lay("2026-03-10", "- [Task] b\n")
    lay("memory/weekly/2026-03-02.md", "by hand")
    before = contents(room.workspace)
    tidy()
    after = contents(room.workspace)
    undo(room)
    assert contents(room.workspace) == before
    tidy()
    assert contents(room.workspace) == after


def test_two_at_once_do_each_thing_once(room: TidyContext, lay: Lay) -> None:
    for day in range(1, 9):
        lay(f"2026-03-0{day}", f"- [Task] statement {day}\n")
    plans = [compress.plan(room) for _ in range(2)]
    moves = [archive.plan(room, plan, []) for plan in plans]
    for plan, move in zip(plans, moves, strict=True):

        def work(plan: compress.CompressPlan = plan, move: list[archive.Move] = move) -> None:
            with operation(room, "tidy") as op:
                compress.apply(room, op, plan)
                archive.apply(room, op, move)

        assert run_in_child(work) == 0
    said = [line for path in room.workspace.weekly.iterdir() for line in said_in(path.read_text())]
    assert Counter(said) == {f"[Task] statement {day} (src: 2026-03-0{day})": 1 for day in range(1, 9)}
    assert len(list(room.workspace.archive.rglob("*.md"))) == 8
    assert not compress.plan(room)


def laid_out(root: Path) -> TidyContext:
    """A workspace in which every phase has something to do: new and old digests, a late day, one that came back."""
    room = room_at(root)
    files = {
        "memory/2026-03-03.md": f"{SESSION} | project:a\n- [Task] one\n## 15:00 note\n- [Task] two\n- [Task] Two.\n",
        "memory/2026-03-04.md": "# 2026-03-04\n\n- [Task] three\n",
        "memory/archive/2026/2026-03-04.md": "# 2026-03-04\n- [Task] four\n",
        "memory/2026-03-10.md": "- [Task] five\n",
        "memory/2026-03-11.md": "",
        "memory/weekly/2026-03-09.md": "# By hand\n- mine\n",
    }
    for name, text in files.items():
        path = room.workspace.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return room


@pytest.mark.long
def test_killed_at_every_single_call_nothing_is_lost_or_doubled_and_the_next_run_completes_it(
    memory_disk: Path,
) -> None:
    whole = laid_out(memory_disk / "whole")
    before = contents(whole.workspace)
    tidied(whole)
    after = {name: data for name, data in contents(whole.workspace).items() if name != "memory/trail.jsonl"}
    which, dies = 0, True
    while dies:
        which += 1
        room = laid_out(memory_disk / str(which))
        dies = killed_at(which, partial(tidied, room))
        for name, data in contents(room.workspace).items():
            if name != "memory/trail.jsonl":
                assert data in (before.get(name), after.get(name)), name
        logs = b"".join(data for name, data in contents(room.workspace).items() if "weekly" not in name)
        assert all(word in logs for word in (b"one", b"two", b"Two.", b"three", b"four", b"five"))
        assert tidied(room) == ()
        now = contents(room.workspace)
        trails = now.pop("memory/trail.jsonl")
        assert now == after
        assert entered(room) == entered(whole), trails
        assert not compress.plan(room)
        if which % 5 == 0:
            undo(room, last=9)
            assert contents(room.workspace) == before
    assert which > 100


WORDS = ("alpha", "beta", "gamma", "delta", "小明", "数据库")
DAYS = ("2026-03-02", "2026-03-03", "2026-03-08", "2026-03-09", "2026-03-13")  # two weeks, and a day that is too young
HEADINGS = ("", SESSION, f"{SESSION} | project:a", f"{SESSION} | project:b", f"{SESSION} | group:g", "## Thoughts")
USER = (
    "mine {}", "- mine {}", "## mine {}", "#### mine {}", "\nmine {}\n", "mine {}\n---", "| mine {} | b |\n|---|---|", "<!-- mine {} -->",
    "> mine {}", "\n    mine {}", "```\nmine {}\n```", "### 2026-03-03\nmine {}", "[Task] mine {}", "#### project:a\nmine {}",
)  # fmt: skip

LOGGED = st.tuples(
    st.just("log"), st.sampled_from(DAYS), st.sampled_from(HEADINGS), st.sampled_from(WORDS), st.booleans()
)
WRITTEN = st.tuples(
    st.just("write"), st.sampled_from(["2026-03-02", "2026-03-09"]), st.sampled_from(USER), st.integers(0, 30)
)
DELETED = st.tuples(st.just("delete"), st.sampled_from(["2026-03-02", "2026-03-09"]), st.integers(0, 30))
RUN = st.tuples(st.just("tidy"))


def is_subsequence(old: list[str], new: list[str]) -> bool:
    rest = iter(new)
    return all(line in rest for line in old)


@settings(deadline=None, max_examples=40)
@given(st.lists(LOGGED | WRITTEN | DELETED | RUN, max_size=14))
def test_with_any_logs_and_any_edits_between_runs_every_statement_enters_once_and_no_line_of_the_user_s_is_lost(
    actions: list[tuple[object, ...]],
) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        room = room_at(Path(folder))
        expected: dict[str, str] = {}  # every statement with its day
        gone: set[str] = set()
        for number, (kind, *rest) in enumerate([*actions, ("tidy",)]):
            if kind == "log":
                day, heading, word, prose = rest
                text = f"{word} {number}"
                path = daily.log_path(room.workspace, dt.date.fromisoformat(str(day)))
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a") as log:
                    log.write(f"\n{heading}\n\n{'' if prose else '- [TEMP] '}{text}\n")
                expected[text] = str(day)
            elif kind == "write":
                name, form, place = rest
                edit(room, str(name), int(str(place)), str(form).format(number))
            elif kind == "delete":
                gone.update(delete(room, str(rest[0]), int(str(rest[1]))))
            else:
                check_a_run(room, expected, gone)


def edit(room: TidyContext, name: str, place: int, text: str) -> None:
    path = room.workspace.weekly / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    lines = path.read_text().split("\n") if path.exists() else []
    fences = [at for at, line in enumerate(lines) if line == "```"]
    at = min(place, len(lines))
    if sum(fence < at for fence in fences) % 2:
        at = 0  # not into somebody's code
    path.write_text("\n".join([*lines[:at], *text.split("\n"), *lines[at:]]))


def delete(room: TidyContext, name: str, place: int) -> list[str]:
    """Take one of our lines out of a digest; the statement that is gone then."""
    path = room.workspace.weekly / f"{name}.md"
    lines = path.read_text().split("\n") if path.exists() else []
    ours = [at for at, line in enumerate(lines) if "(src: " in line]
    if not ours:
        return []
    gone = lines.pop(ours[place % len(ours)])
    path.write_text("\n".join(lines))
    return [gone.split("] ", 1)[1].split(" (src", 1)[0]]


def check_a_run(room: TidyContext, expected: dict[str, str], gone: set[str]) -> None:
    before = {path: path.read_text().split("\n") for path in weeks(room.workspace)}
    assert tidied(room) == ()
    after = {path: path.read_text().split("\n") for path in weeks(room.workspace)}
    for path, lines in before.items():
        assert is_subsequence(lines[:-1] if lines[-1] == "" else lines, after[path])
    ours = Counter(line.split("] ", 1)[1] for lines in after.values() for line in lines if "(src: " in line)
    wanted = {f"{text} (src: {day})" for text, day in expected.items() if day != "2026-03-13" and text not in gone}
    assert ours == Counter(wanted)
    left = {path.name for path in room.workspace.memory.glob("2026-*.md")}
    assert left <= {"2026-03-13.md"}
    again = compress.plan(room)
    assert not again
    assert not archive.plan(room, again, [])


def weeks(workspace: Workspace) -> list[Path]:
    return sorted(workspace.weekly.glob("*.md")) if workspace.weekly.is_dir() else []


def test_thousands_of_lines_of_one_week_are_told_apart_by_a_look_up(
    room: TidyContext, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay("2026-03-03", "".join(f"- [Task] item {number % 1500} of the list\n" for number in range(3000)))
    lay("2026-03-04", "".join(f"- [Task] Item {number}, of the list!\n" for number in range(1500)))
    asked = 0

    def counted(text: str) -> str:
        nonlocal asked
        asked += 1
        return plain(text)

    plain = compress.plain_words
    monkeypatch.setattr(compress, "plain_words", counted)
    assert Counter(step.action for step in compress.plan(room).steps) == {"add": 1500, "say once": 1500}
    assert asked < 20_000


def test_a_line_without_end_is_judged_by_its_beginning_and_pressed_whole(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    long = "always use pnpm not npm " * 20_000 + "end"
    lay("2026-03-03", f"- {long}\n")
    assert tidy() == ()
    assert f"{long} (src: 2026-03-03)\n" in week(room)


def test_of_what_was_captured_the_small_talk_goes_and_notes_enter_whole(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    note = "We water the fern in the hall on Sundays, and nobody else does, which is why it lives"
    captured = (
        "- [TECH] Prod runs Postgres 15 on db-1, port 6432, behind PgBouncer\n"
        "- [LESSON] Never run migrations from a laptop, only from CI, since the outage in January\n"
        "- User asked: Add the quote number TQ-20471 → Added TQ-20471 to the order for the drive modules\n"
        "- thanks, you are great, have a nice evening\n"
        "- what should we have for lunch?\n"
        "- Agent: The nightly backup moved 212 GB in three hours and passed its check\n"
    )
    lay("2026-03-03", f"{SESSION}\n{captured}\n## 15:00 note\n- {note}\n")
    assert tidy() == ()
    text = week(room)
    assert f"{note} (src: 2026-03-03)\n" in text
    assert "Never run migrations from a laptop" in text
    assert "lunch" not in text
    assert "nice evening" not in text
    marks = entered(room)["2026-03-03"]
    assert len(marks) == 7
    assert not compress.plan(room)
    assert not room.workspace.day(dt.date(2026, 3, 3)).exists()


def test_every_line_that_is_left_out_has_a_step(room: TidyContext, lay: Lay) -> None:
    lay(
        "2026-03-03",
        f"{SESSION}\n" + "".join(f"- The pump number {n} in hall {n} was oiled by hand\n" for n in range(12)),
    )
    steps = compress.plan(room).steps
    dropped = [step for step in steps if step.action == "drop"]
    assert dropped
    assert dropped[-1].reason.endswith("matters less than the rest of its day")
    assert {step.action for step in steps} == {"add", "drop"}


def test_a_week_has_six_tenths_of_its_days_and_after_a_kill_the_same_is_chosen_again(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    for day in ("2026-03-03", "2026-03-04"):
        lines = "".join(f"- [TECH] Service {n} of {day} listens on port 80{n:02}, not on 90{n:02}\n" for n in range(9))
        lay(day, f"{SESSION}\n{lines}")
    size = sum(path.stat().st_size for path in room.workspace.memory.glob("2026-*.md"))
    tidy()
    before = week(room)
    assert len(before) <= 0.65 * size  # a day ends with what fits by more than half
    room.workspace.trail.unlink()
    tidy()
    assert week(room) == before


def test_each_line_of_a_log_has_a_line_of_its_own_and_what_came_of_a_request_stands_behind_it(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    noise = "".join(f"- thanks, that was quick, number {n}, have a nice evening\n" for n in range(9))
    lay(
        "2026-03-03",
        f"{SESSION}\n- [TECH] Prod runs Postgres 15 on db-1, port 6432\n- [TECH] Staging runs Postgres 16 on db-2, port 6433\n"
        f"- User asked to add the quote number TQ-20471 → Added TQ-20471 to the order\n- Agent: The nightly backup moved 212 GB\n{noise}",
    )
    tidy()
    told = [line.split("] ", 1)[1].split(" (src")[0] for line in said_in(week(room))]
    assert told[:4] == [
        "Prod runs Postgres 15 on db-1, port 6432",
        "Staging runs Postgres 16 on db-2, port 6433",
        "Add the quote number TQ-20471 → Added TQ-20471 to the order",
        "Agent: The nightly backup moved 212 GB",
    ]


def test_a_statement_that_stands_inside_a_line_of_the_week_is_not_repeated(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay("2026-03-03", f"{SESSION}\n- [TECH] Prod runs Postgres 15 on db-1\n- [TECH] Staging runs Postgres 16 on db-2\n")
    tidy()
    standing = said_in(week(room))
    daily.append_section(room, "18:00 session:aa", ["[TECH] Staging runs Postgres 16 on db-2"], day=dt.date(2026, 3, 5))
    assert [step.action for step in compress.plan(room).steps] == ["say once"]
    tidy()
    assert said_in(week(room)) == standing


def test_lines_that_look_like_a_secret_only_together_do_not_hold_up_their_week(
    room: TidyContext, lay: Lay, tidy: Tidy
) -> None:
    lay(
        "2026-03-03",
        "- 老师们老是忘密码，登录全部换成企业微信扫码\n- [redacted: password] 助手：单元和 README 都改成 8060 了\n",
    )
    planned = [step.detail for step in compress.plan(room).steps if step.action == "add"]
    assert tidy() == ()
    first, second = said_in(week(room))
    assert planned == [first, second]  # a dry run shows nothing more
    assert "登录全部换成企业微信扫码" in first
    assert "单元和 README 都改成" in second
    assert not compress.plan(room)
    assert not room.workspace.day(dt.date(2026, 3, 3)).exists()
