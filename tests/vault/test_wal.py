"""Changes of working memory: as fast with thousands of old lines as with a few, and every word as it was said."""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.storage import file_bytes, put_file, take_file

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.errors import NacreError
from nacre.guard.sanitise import one_line
from nacre.memory import Working
from nacre.model import Context, Workspace
from nacre.vault.working import as_text, plain

KEY = "sk-" + "proj-" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6jK9mN2pQ5sT8"
NOON = dt.datetime(2026, 3, 28, 14, 5, tzinfo=dt.UTC)


def at(workspace: Workspace, moment: dt.datetime = NOON) -> Working:
    return Working(Context(workspace, Config(), Clock(dt.UTC, moment)))


def decisions(count: int) -> str:
    lines = "".join(f"- [10:{one % 60:02d}] chose thing number {one} over the other\n" for one in range(count))
    return f"# Session State\n<!-- day: 2026-03-27 -->\n## Recent Decisions\n{lines}## Pending\n- [ ] ask Ann\n"


def test_a_decision_among_thousands_of_old_ones_is_written_in_time(workspace: Workspace) -> None:
    put_file(workspace.state, decisions(5000))
    began = time.process_time()
    made = at(workspace).decide("pnpm rather than npm")
    assert time.process_time() - began < 8  # it was half a minute when each line was taken out by itself
    kept = len(at(workspace).get()["decisions"])
    assert (kept, len(made.log)) == (Config().state.max_entries, 5001 - Config().state.max_entries)
    assert at(workspace).get()["pending"] == ["ask Ann"]


def test_lines_with_secrets_of_long_ago_keep_their_form_and_stop_nothing(workspace: Workspace) -> None:
    old = decisions(3).replace("chose thing number 1 over the other", "password: hunter2Zx9Kq")
    put_file(workspace.state, b"\xef\xbb\xbf" + old.replace("\n", "\r\n").encode())
    at(workspace).decide("pnpm rather than npm")
    assert file_bytes(workspace.state).decode() == (
        "\ufeff# Session State\r\n<!-- day: 2026-03-28 -->\r\n## Recent Decisions\r\n"
        "- [2026-03-27 10:00] chose thing number 0 over the other\r\n- [10:01] password: hunter2Zx9Kq\r\n"
        "- [2026-03-27 10:02] chose thing number 2 over the other\r\n- [14:05] pnpm rather than npm\r\n"
        "## Pending\r\n- [ ] ask Ann\r\n"
    )


def test_a_secret_that_somebody_wrote_into_the_file_is_never_shown(workspace: Workspace) -> None:
    sections = {
        "Current Task": f"Rotate {KEY}\n",
        "Key Context": "- password: hunter2Zx9Kq\n",
        "Recent Decisions": f"- [10:00] keep {KEY}\n",
        "Pending": f"- [ ] revoke {KEY}\n- [ ] revoke the others\n",
        "Blockers": f"- nobody knows who has {KEY}\n",
    }
    put_file(workspace.state, "".join(f"## {title}\n{body}" for title, body in sections.items()))
    desk = at(workspace)
    told = [json.dumps(desk.get()), desk.shown().document.text]
    for which in ("nothing like it", "revoke"):
        with pytest.raises(NacreError) as refused:
            desk.done(which)
        told.append(str(refused.value))
    for made in (desk.done(1), desk.clear("1"), desk.done(), desk.context("deadline", "Friday")):
        told += [made.line, *made.log, *(one.detail for one in made.plan.steps)]
    told.append(file_bytes(workspace.memory / "2026-03-28.md").decode())
    assert not [text for text in told if KEY in text or "hunter2" in text]
    assert "revoke" in told[0]
    assert "hunter2Zx9Kq" in file_bytes(workspace.state).decode()  # the user's own file stays the user's


# Everything that is Markdown somewhere, and what we write for it.
_PIECES = [
    "\\",
    "#",
    "-",
    "+",
    "*",
    "=",
    ">",
    "```",
    "~~~",
    "<!--",
    "-->",
    "[ ]",
    "[x]",
    "[9:05]",
]
_PIECES += ["1.", "2)", "\\.", "<b>", "---", "a", "b c", "会", " ", " "]
SAID = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join).map(one_line).filter(bool)


@example(words="\\<!--", first=True)
@given(SAID, st.booleans())
def test_what_is_written_reads_back_as_the_same_words(words: str, first: bool) -> None:
    assert plain(as_text(words, first=first), first=first) == words


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SAID)
def test_every_section_gives_back_what_was_said_and_takes_it_once(workspace: Workspace, words: str) -> None:
    take_file(workspace.state)
    desk = at(workspace)
    for _ in range(2):
        desk.task(words)
        desk.decide(words)
        desk.pending(words)
        desk.blocker(words)
        desk.context("deadline", words)
        found = desk.get()
        assert (found["task"], [one["text"] for one in found["decisions"]]) == (words, [words])
        assert (found["pending"], found["blockers"]) == ([words], [words])
        assert [(one["key"], one["value"]) for one in found["context"]] == [("deadline", words)]
    if not words.isdecimal():
        desk.done(words)
        assert desk.get()["pending"] == []


@pytest.mark.parametrize("key", ["1.", "2)", "[ ]", "[x] y", "---", "\\# k", "<!-- k", "- x", "# y", "> k", "键"])
def test_every_key_is_found_again(workspace: Workspace, key: str) -> None:
    desk = at(workspace)
    desk.context(key, "first")
    desk.context(key, "second")
    assert desk.get()["context"] == [{"key": key, "value": "second"}]


@pytest.mark.parametrize(
    "before",
    [
        "## Blockers\n<!-- todo\n## Pending\n- [ ] call Bob\n## Recent Decisions\n",
        "<!-- todo\n# Session State\n## Pending\n- [ ] call Bob\n",
        "---\nowner: Ann\n---\n<!-- todo\n## Pending\n- [ ] call Bob\n## Recent Decisions\n",
        "## Key Context\n- deadline: Friday\n<!-- todo\n## Pending\n- [ ] call Bob\n## Current Task\nold\n",
    ],
)
def test_a_comment_that_is_never_closed_hides_nothing_afterwards_either(workspace: Workspace, before: str) -> None:
    put_file(workspace.state, before)
    desk = at(workspace)
    changes: list[Callable[[], object]] = [
        lambda: desk.decide("pnpm --> npm"),
        lambda: desk.decide("pnpm"),
        lambda: desk.task("arrows -->"),
        lambda: desk.task("arrows"),
        lambda: desk.context("deadline", "Monday -->"),
        lambda: desk.context("deadline", "Monday"),
    ]
    for change in changes:
        try:
            change()
        except NacreError as refused:
            assert "unclosed" in str(refused)  # noqa: PT017 - being refused is one of two good ends
        assert desk.get()["pending"] == ["call Bob"]
    assert [one["text"] for one in desk.get()["decisions"]][-1:] == ["pnpm"]


RELEASE = "## Pending\n- [ ] Release 2\n  - [ ] call Bob\n  - [ ] pay the invoice\n    today\n- [ ] other\n"


@pytest.mark.parametrize("which", ["call Bob", "bob"])
def test_what_is_nested_is_finished_alone(workspace: Workspace, which: str) -> None:
    put_file(workspace.state, RELEASE)
    assert at(workspace).done(which).log == ("[Task] Done: call Bob",)
    assert file_bytes(workspace.state).decode() == RELEASE.replace("  - [ ] call Bob\n", "")


def test_by_its_own_words_or_its_number_an_entry_is_finished_with_what_is_nested(workspace: Workspace) -> None:
    for which in ("release 2", "1"):
        put_file(workspace.state, RELEASE)
        at(workspace).done(which)
        assert file_bytes(workspace.state).decode() == "## Pending\n- [ ] other\n"


def test_words_that_an_entry_and_a_nested_one_share_are_refused(workspace: Workspace) -> None:
    put_file(workspace.state, RELEASE.replace("other", "call Bob's aunt"))
    with pytest.raises(NacreError, match="matches 2 items"):
        at(workspace).done("call bo")
    assert at(workspace).done("call Bob").line == "call Bob"


def test_an_entry_with_the_words_of_an_earlier_nested_one_is_the_one_that_goes(workspace: Workspace) -> None:
    put_file(workspace.state, RELEASE.replace("other", "call Bob"))
    at(workspace).done("call Bob")
    assert file_bytes(workspace.state).decode() == RELEASE.replace("- [ ] other\n", "")


@pytest.mark.parametrize(
    ("task", "told"), [("Move the shop", "[Task] Dropped: Move the shop"), ("迁移商店", "[任务] 已放弃：迁移商店")]
)
def test_a_dropped_task_is_logged_with_its_kind_and_in_its_language(workspace: Workspace, task: str, told: str) -> None:
    at(workspace).task(task)
    assert at(workspace).drop().log == (told,)
