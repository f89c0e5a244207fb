"""Forgetting reaches the message that an entry was captured from, where sync put the session away in other words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.capture.talks import Desk, Said
from tests.index.conftest import memory_index

from nacre.capture.checkpoint import checkpoint_of_session
from nacre.forget.apply import forget
from nacre.forget.target import ForgetContext
from nacre.index.store import Store, index_file
from nacre.model import Bullet, Message
from nacre.vault.checkpoints import write_checkpoint
from nacre.vault.undo import undo

REWORDED = "The operation takes place in the Netherlands this week"
SAID: tuple[Said, ...] = (
    ("2026-03-02 09:00", "user", "good, from now on v1 of the shop is frozen"),
    ("2026-03-02 09:02", "agent", "Frozen."),
    ("2026-03-02 09:05", "user", "Mara has her surgery in Rotterdam on Thursday"),
    ("2026-03-02 09:06", "agent", "I hope that the surgery in Rotterdam goes well."),
    ("2026-03-02 09:07", "agent", "Shall I tag v1?"),
)
MORE: tuple[Said, ...] = (
    ("2026-03-02 15:00", "user", "the courier needs a new label printer"),
    ("2026-03-02 15:05", "user", "order the Brother one"),
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Desk(tmp_path)


def reworded(messages: Sequence[Message]) -> list[Bullet]:
    texts = {message.id: REWORDED if "surgery" in message.text else message.text for message in messages}
    return [Bullet(texts[message.id], sources=(message.id,)) for message in messages if message.speaker == "owner"]


def forgetting(desk: Desk, moment: str) -> ForgetContext:
    context = desk.setting(moment).context
    parts = context.workspace, context.config, context.clock
    index = memory_index(context.workspace, context.config, Store(index_file(context.workspace.index)))
    return ForgetContext(*parts, keeper=lambda: index, search=lambda _, __: [])


def texts(desk: Desk) -> str:
    return "\n".join(path.read_text("utf8") for path in desk.workspace.tiers(None).rglob("*.md"))


def test_the_message_behind_a_forgotten_entry_goes_and_nothing_brings_it_back(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00", extract=reworded)
    (path,) = desk.workspace.tiers(None).rglob("*.md")
    gist = path.parent.parent / "gist" / path.name
    gist.parent.mkdir()
    lines = "- Mara has her surgery in Rotterdam on Thursday\n- From now on v1 of the shop is frozen\n"
    gist.write_text(f"# The shop\n\nTags: shop, rotterdam\n\n{lines}", "utf8")

    plan = forget(forgetting(desk, "2026-03-02 11:00"), REWORDED).plan
    assert {removal.line.layer for removal in plan.going} == {"daily", "hot", "gist"}
    assert "surgery" not in texts(desk)
    assert "rotterdam" not in texts(desk).lower()
    assert texts(desk).count("v1 of the shop is frozen") == 3  # title, message, summary
    assert "Shall I tag v1?" in texts(desk)

    setup = desk.setting("2026-03-02 12:00")
    made = checkpoint_of_session(setup, None)
    assert "Rotterdam" not in made.text
    assert "v1 of the shop is frozen" in made.text
    write_checkpoint(setup.context, made.name, made.text)
    desk.claude(*MORE)
    desk.sync("2026-03-02 18:00", extract=reworded)
    assert "Rotterdam" not in texts(desk)
    assert "label printer" in texts(desk)


def test_undo_brings_the_message_back(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00", extract=reworded)
    before = texts(desk)
    forget(forgetting(desk, "2026-03-02 11:00"), REWORDED)
    undo(desk.setting("2026-03-02 12:00").context)
    assert texts(desk) == before
    assert "Rotterdam" in checkpoint_of_session(desk.setting("2026-03-02 12:00"), None).text


def test_purging_takes_the_message_out_of_history_too(desk: Desk) -> None:
    desk.claude(*SAID)
    desk.sync("2026-03-02 10:00", extract=reworded)
    report = forget(forgetting(desk, "2026-03-02 11:00"), REWORDED, purging=True)
    assert report.purged
    assert report.purged.left == ()
    assert b"surgery" not in desk.bytes_anywhere()
