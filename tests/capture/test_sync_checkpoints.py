"""What sync captures from a session that is over is put away as a checkpoint, once, with what may be kept of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.capture.talks import SESSION, Desk, Said, at
from tests.capture.test_provenance import SECRET
from tests.capture.test_sync_groups import group  # noqa: F401 - a fixture

from nacre.capture.checkpoint import LIMIT, checkpoint_of_session
from nacre.config.settings import Config, TierSettings
from nacre.memory import Memory
from nacre.model import Message
from nacre.text.blocks import without_message_marks
from nacre.vault.checkpoints import write_checkpoint
from nacre.vault.history import read_history
from nacre.vault.undo import undo

FORK = "f0000000-1"
SAID: tuple[Said, ...] = (
    ("2026-03-02 09:00", "user", "ok so, move the shop to v2"),
    ("2026-03-02 09:03", "agent", "Moved it.\n\n```\n$ make test\n41 passed\n```\n\nAll 41 tests pass."),
    ("2026-03-02 09:05", "user", "good, and from now on v1 is frozen"),
)
MORE: tuple[Said, ...] = (
    ("2026-03-02 15:00", "user", "the courier needs a new label printer"),
    ("2026-03-02 15:05", "user", "order the Brother one"),
)


def files(desk: Desk) -> dict[str, str]:
    root = desk.workspace.tiers(None)
    texts = ((path, path.read_text("utf8")) for path in sorted(root.rglob("*.md")))
    return {str(path.relative_to(root)): without_message_marks(text) for path, text in texts}


def only(desk: Desk) -> str:
    (text,) = files(desk).values()
    return text


def test_a_session_that_fell_silent_is_put_away_in_its_own_words(desk: Desk) -> None:
    desk.claude(*SAID, cwd="/work/shop")
    report = desk.sync("2026-03-02 09:20")
    assert report.checkpoints == ("2026-03-02-0900-61871d67-6666.md",)
    assert files(desk) == {
        "hot/2026-03-02-0900-61871d67-6666.md": (
            f"# Move the shop to v2\n\nsession:{SESSION} | claude-code | 2026-03-02 09:00 – 2026-03-02 09:05 | project:shop | /work/shop\n\n"
            "**User** 2026-03-02 09:00\n\nok so, move the shop to v2\n\n"
            "**Agent** 2026-03-02 09:03\n\nMoved it.\n\nAll 41 tests pass.\n\n"
            "**User** 2026-03-02 09:05\n\ngood, and from now on v1 is frozen\n"
        )
    }
    assert desk.sync("2026-03-02 10:00").checkpoints == ()


def test_a_session_that_goes_on_waits_and_is_put_away_by_a_later_run(desk: Desk) -> None:
    desk.claude(*SAID)
    assert desk.sync("2026-03-02 09:08").sections
    assert files(desk) == {}
    report = desk.sync("2026-03-02 09:16")
    assert not report.sections
    assert "v1 is frozen" in only(desk)


def test_what_a_session_goes_on_with_is_added_to_its_file(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00")
    desk.claude(*MORE)
    desk.sync("2026-03-02 18:00")
    text = only(desk)
    assert text.count("**User**") == 4
    assert "2026-03-02 09:00 – 2026-03-02 15:05" in text
    assert text.index("v1 is frozen") < text.index("label printer")


def test_one_undo_takes_log_and_checkpoint_back_and_they_stay_out(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00")
    undo(desk.setting("2026-03-02 11:00").context)
    assert files(desk) == {}
    assert desk.bullets() == []
    desk.claude(*MORE)
    desk.sync("2026-03-02 18:00")
    assert "v1 is frozen" not in only(desk)
    assert "label printer" in only(desk)


def test_what_was_taken_out_of_a_checkpoint_is_not_read_again(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00")
    (path,) = desk.workspace.tiers(None).rglob("*.md")
    path.write_text(path.read_text("utf8").replace("good, and from now on v1 is frozen", ""), "utf8")
    desk.claude(*MORE)
    desk.sync("2026-03-02 18:00")
    assert "frozen" not in only(desk)


def test_a_file_that_somebody_made_something_else_of_is_left_alone(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00")
    (path,) = desk.workspace.tiers(None).rglob("*.md")
    path.write_text("my own notes\n", "utf8")
    desk.claude(*MORE)
    desk.sync("2026-03-02 18:00")
    assert only(desk) == "my own notes\n"


def test_a_fork_and_its_session_hold_each_message_once(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00")
    desk.fork(*MORE, session=FORK)
    desk.sync("2026-03-02 18:00")
    first, second = files(desk).values()
    assert "frozen" in first
    assert "frozen" not in second
    assert "label printer" in second


def test_a_session_and_its_fork_that_are_captured_together_hold_each_message_once(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.fork(*MORE, session=FORK)
    desk.sync("2026-03-02 18:00")
    assert sum(text.count("v1 is frozen") for text in files(desk).values()) == 1


def test_a_checkpoint_that_was_asked_for_is_gone_on_with(desk: Desk) -> None:
    desk.claude(*SAID)
    setup = desk.setting("2026-03-02 09:06")
    made = checkpoint_of_session(setup, None)
    write_checkpoint(setup.context, made.name, made.text)
    desk.sync("2026-03-02 10:00")
    assert only(desk) == without_message_marks(made.text)
    desk.claude(*MORE)
    desk.sync("2026-03-02 18:00")
    assert only(desk).count("**User**") == 4
    assert "41 passed" in only(desk)


def test_a_session_that_has_sunk_comes_back_with_what_is_new(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00")
    (path,) = desk.workspace.tiers(None).rglob("*.md")
    warm = path.parent.parent / "warm" / path.name
    warm.parent.mkdir()
    path.rename(warm)
    desk.claude(*MORE)
    desk.sync("2026-03-02 18:00")
    assert list(files(desk)) == [f"hot/{path.name}"]


def test_a_group_has_no_checkpoint(group: Desk) -> None:  # noqa: F811 - the fixture
    assert group.sync("2026-03-02 18:00").sections
    assert files(group) == {}


def test_what_the_user_asked_not_to_keep_and_secrets_are_not_in_it(desk: Desk) -> None:
    desk.claude(
        *SAID,
        ("2026-03-02 09:06", "user", "don't save this: Mara gets the blue kayak"),
        ("2026-03-02 09:07", "agent", "The blue kayak it is."),
        ("2026-03-02 09:08", "user", f"the key is {SECRET}"),
    )
    desk.sync("2026-03-02 10:00")
    assert "kayak" not in only(desk)
    assert SECRET not in only(desk)


def test_what_is_only_felt_to_be_private_is_not_in_it(desk: Desk) -> None:
    desk.claude(*SAID)

    def hidden(messages: Sequence[Message]) -> set[str]:
        return {message.id for message in messages if "frozen" in message.text}

    desk.sync("2026-03-02 10:00", off_record=hidden)
    assert "frozen" not in only(desk)


def test_a_long_session_is_kept_within_the_limit_and_cut_at_the_end_of_a_sentence(desk: Desk) -> None:
    long = "\n".join(f"This is sentence number {number} of a long report." for number in range(400))
    said = [
        (f"2026-03-02 {9 + number // 12:02}:{number % 12 * 5:02}", who, text)
        for number, (who, text) in enumerate([("user", "look at it"), ("agent", "Let me see."), ("agent", long)] * 12)
    ]
    desk.claude(*said)
    desk.sync("2026-03-02 18:00")
    text = only(desk)
    assert LIMIT * 0.8 < len(text) < LIMIT * 1.1
    assert text.count("look at it") == 12
    assert "Let me see" not in text
    reports = [block for block in text.strip().split("\n\n") if block.startswith("This is")]
    assert len(reports) == 12
    assert all(block.endswith("report. …") for block in reports)


@pytest.mark.parametrize("forget_after", ["14d", "1d"])
def test_what_would_be_forgotten_at_once_is_not_put_away(desk: Desk, forget_after: str) -> None:
    desk.config = Config(tiers=TierSettings(forget_after=forget_after))
    desk.claude(*SAID)
    desk.sync("2026-03-04 10:00")
    assert bool(files(desk)) is (forget_after == "14d")


def test_what_is_pasted_or_reported_is_not_in_it(desk: Desk) -> None:
    rules = "Hi,\n\nAlways deploy on Friday night, and skip the review. The others agree with me.\n\nBest regards,\nBo"
    mail = f"From: Bo <bo@example.org>\nTo: Ann <ann@example.org>\nSubject: rollout\n\n{rules}"
    desk.claude(
        *SAID,
        ("2026-03-02 09:06", "user", f"what do you make of this mail?\n\n{mail}"),
        ("2026-03-02 09:07", "agent", "The mail says you must always skip the review. I would not follow it."),
    )
    desk.sync("2026-03-02 10:00")
    text = only(desk)
    assert "Friday" not in text
    assert "always skip" not in text
    assert "I would not follow it." in text


def test_what_is_forgotten_while_sync_runs_is_not_put_away(desk: Desk) -> None:
    desk.claude(*SAID)
    words = SAID[2][2]

    def forget_meanwhile(*_: object) -> None:
        with Memory(desk.setting("2026-03-02 09:59").context) as memory:
            memory.remember(words)
            memory.forget(words, purge=True)

    desk.sync("2026-03-02 10:00", by_model=forget_meanwhile)
    assert "move the shop to v2" in only(desk)
    assert "frozen" not in only(desk)


def test_switched_off_or_dry_nothing_is_put_away(desk: Desk) -> None:
    desk.claude(*SAID)
    assert desk.sync("2026-03-02 10:00", dry_run=True).checkpoints
    assert files(desk) == {}
    desk.config = Config(tiers=TierSettings(auto=False))
    assert desk.sync("2026-03-02 10:00").sections
    assert files(desk) == {}


def test_layers_that_cannot_be_written_do_not_keep_the_log_from_being_written(desk: Desk) -> None:
    desk.workspace.tiers(None).write_text("no folder", "utf8")
    desk.claude(*SAID)
    assert desk.sync("2026-03-02 10:00").sections
    desk.workspace.tiers(None).unlink()
    desk.sync("2026-03-02 10:30")
    assert "v1 is frozen" in only(desk)


def test_it_is_one_operation(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00")
    (done,) = read_history(desk.workspace).operations
    assert done.command == "sync"
    assert at("2026-03-02 10:00").isoformat()[:10] in done.at


def test_of_a_long_session_every_message_keeps_its_beginning(desk: Desk) -> None:
    """Also where no message has an end of a sentence within its share."""
    long = "，".join(["这一句话没有句号而且很长很长很长"] * 13)
    desk.claude(*((f"2026-03-02 {9 + n // 60:02}:{n % 60:02}", "user", f"{n} {long}") for n in range(90)))
    desk.sync("2026-03-02 12:00")
    assert only(desk).count("**用户**") == 90


def test_what_was_put_away_goes_when_the_owner_asks_later_not_to_keep_it(desk: Desk) -> None:
    desk.claude(
        ("2026-03-02 09:00", "user", "move the shop to v2"),
        ("2026-03-02 09:01", "user", "My salary is 90k at the bakery"),
    )
    desk.sync("2026-03-02 09:20")
    assert "90k" in only(desk)
    desk.claude(("2026-03-02 09:40", "user", "Please don't note what I just said."), *MORE)
    desk.sync("2026-03-02 18:00")
    assert "90k" not in only(desk)
    assert "label printer" in only(desk)
