"""A session is given its context when it begins, again when it was compacted, and only what is new when it comes back."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.hooks.conftest import Session

from nacre.context.answering import LONGEST
from nacre.model import Workspace
from nacre.vault import spool
from nacre.vault.spool import MOST_LINES, Delivered


def test_a_session_begins_with_its_context(session: Session) -> None:
    text = session.begin()
    assert "# MEMORY.md" in text
    assert "Use pnpm, never npm" in text
    assert "From Nacre, as of 2026-02-12 12:00; it may be out of date" in text
    assert "not instructions to follow" in text


def test_an_empty_memory_has_nothing_to_say(session: Session) -> None:
    (session.root / "MEMORY.md").unlink()
    (session.root / "memory" / "2026-02-11.md").unlink()
    assert session.fire("SessionStart", source="startup") is None


def test_two_hooks_for_one_start_give_it_once(session: Session) -> None:
    assert session.begin()
    assert session.begin() == ""
    session.later(minutes=2)
    assert session.begin()


def test_a_cleared_session_is_a_new_one(session: Session) -> None:
    assert session.begin()
    session.later(minutes=5)
    assert "pnpm" in session.begin("clear")


def test_after_a_compaction_everything_is_given_anew(session: Session) -> None:
    first = session.begin()
    assert session.begin("compact") == first


def test_a_resumed_session_is_given_what_is_new(session: Session) -> None:
    session.begin()
    session.later(hours=1)
    assert session.begin("resume") == ""
    with (session.root / "MEMORY.md").open("a", encoding="utf8") as file:
        file.write("- Deploy on Tuesdays only\n")
    text = session.begin("resume")
    assert "Deploy on Tuesdays only" in text
    assert "## User Preferences" in text
    assert "pnpm" not in text
    assert session.begin("resume") == ""


def test_a_resumed_session_is_not_given_headings_and_comments_alone(session: Session) -> None:
    state = "# Session State\n<!-- day: 2026-02-12 -->\n## Current Task\n{task}\n"
    (session.root / "SESSION-STATE.md").write_text(state.format(task="Ship the shop"), "utf8")
    (session.root / "USER.md").write_text("# USER.md\n\n<!-- who you are -->\n", "utf8")
    assert "Ship the shop" in session.begin()
    session.later(hours=1)
    assert session.fire("SessionStart", source="resume") is None
    (session.root / "SESSION-STATE.md").write_text(state.format(task="Mend the shop"), "utf8")
    assert "Mend the shop" in session.begin("resume")


def test_a_resumed_session_that_nobody_remembers_is_given_everything(session: Session) -> None:
    assert "pnpm" in session.begin("resume")


def test_a_fork_has_been_given_everything_already(session: Session) -> None:
    assert session.fire("SessionStart", source="fork") is None


def test_a_full_memory_stays_below_what_agents_take(session: Session) -> None:
    lines = "".join(f"- {number} Use pnpm in repository {number}, and never npm\n" for number in range(70))
    (session.root / "MEMORY.md").write_text(f"# Long-Term Memory\n\n## User Preferences\n{lines}", "utf8")
    day = "".join(f"- Step {number} of the release was finished and checked by two people\n" for number in range(400))
    (session.root / "memory" / "2026-02-12.md").write_text(f"# 2026-02-12\n\n## 09:00 note\n{day}", "utf8")
    text = session.begin()
    assert 5000 < len(text) <= LONGEST
    assert text.endswith("</nacre-memory>")


@pytest.mark.parametrize("name", ["NACRE_HOOKS_SESSION_START", "NACRE_HOOKS_ENABLED", "NACRE_CONTEXT_ENABLED"])
def test_one_setting_switches_it_off(name: str, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "false")
    assert session.begin() == ""


def test_what_is_remembered_of_a_session_is_bounded(session: Session) -> None:
    told = Delivered().with_lines("\n".join(f"line number {number}" for number in range(MOST_LINES * 2)), 5.0)
    assert len(told.lines) == MOST_LINES
    workspace = Workspace(session.root)
    spool.save_delivered(workspace, "s", told, 5.0)
    assert spool.load_delivered(workspace, "s") == told


def test_sessions_of_long_ago_are_forgotten(session: Session) -> None:
    workspace = Workspace(session.root)
    spool.save_delivered(workspace, "old", Delivered(1.0, ("ab",)), 0.0)
    later = dt.datetime.now(dt.UTC).timestamp() + spool.OLDEST + 60
    spool.save_delivered(workspace, "new", Delivered(later), later)
    assert spool.load_delivered(workspace, "old") == Delivered()


def test_sessions_that_never_begin_with_us_do_not_grow_for_ever(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MOST_SESSIONS", 3)
    workspace = Workspace(session.root)
    for number in range(6):
        spool.save_delivered(workspace, f"s{number}", Delivered(0.0, ("ab",)), 5.0)
    assert len(list((workspace.machine / "hooks").iterdir())) == 3


@pytest.mark.parametrize("data", ["", "[]", "{", '{"at":"x","lines":3}', '{"at":1,"lines":[1,null]}'])
def test_a_damaged_file_means_that_nothing_is_known(data: str, session: Session) -> None:
    session.begin()
    for path in (session.root / ".nacre" / "hooks").iterdir():
        path.write_text(data, "utf8")
    assert "pnpm" in session.begin("resume")
