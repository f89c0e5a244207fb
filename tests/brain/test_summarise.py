"""The gist of a checkpoint by the user's own model: what passes the gates, else as the local brain makes it."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.brain.conftest import Program

from nacre.brain import journal
from nacre.brain.local.gist import Gist, summary
from nacre.brain.summarise import with_model
from nacre.clock import Clock
from nacre.config.settings import BrainCommandSettings, BrainSettings, Config, SourceSettings
from nacre.layers.organise import by_brain
from nacre.model import Context, Workspace
from nacre.sources.registry import begin_pause

TEXT = """# Cache

session:61871d67-1111 | claude-code | 2026-03-02 09:00 | project:shop | /work/shop

**User** 2026-03-02 09:00 <!-- abcdefgh -->

The cache is slow, please look into it. We must stay below 200 ms.

**Agent** 2026-03-02 09:05

The cause was a missing index in src/cache/store.py; it takes 40 ms now.

**User** 2026-03-02 09:06

Good. Keep the index, and never flush the cache by hand.
"""
LOCAL = summary(TEXT, None)
LINES: list[dict[str, Any]] = [
    {"text": "The cache must stay below 200 ms", "speaker": "owner", "cites": ["t1"]},
    {"text": "The cause was a missing index in src/cache/store.py; it takes 40 ms now", "speaker": "agent", "cites": ["t2"]},
    {"text": "Keep the index, and never flush the cache by hand", "speaker": "owner", "cites": ["t3"]},
]  # fmt: skip


def context(tmp_path: Path, program: Program, **brain: Any) -> Context:
    workspace = Workspace(tmp_path / "ws")
    workspace.machine.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {"summarise": "command", "command": BrainCommandSettings(argv=program.argv)} | brain
    return Context(
        workspace, Config(brain=BrainSettings(**given)), Clock(dt.UTC, dt.datetime(2026, 3, 9, tzinfo=dt.UTC))
    )


def will(
    program: Program, title: str = "Slow cache", tags: tuple[str, ...] = ("cache", "index"), lines: Any = LINES
) -> None:
    program.will("answer", json.dumps({"title": title, "tags": tags, "lines": lines}))


def test_title_tags_and_lines_are_the_models(tmp_path: Path, program: Program) -> None:
    will(program)
    gist = with_model(context(tmp_path, program), TEXT, LOCAL)
    assert gist == Gist("Slow cache", ("cache", "index"), tuple(line["text"] for line in LINES), "en", "shop")
    (given,) = program.given
    assert "t1 owner: The cache is slow" in given["order"]
    assert "abcdefgh" not in given["order"]
    assert "/work/shop" not in given["order"]


def test_what_is_made_up_is_dropped_and_the_rest_stands(tmp_path: Path, program: Program) -> None:
    made_up = {"text": "Fatima approved a budget of 900 euros", "speaker": "owner", "cites": ["t3"]}
    will(program, "Fatima's cache", ("cache", "Kubernetes"), [*LINES, made_up])
    opened = context(tmp_path, program)
    gist = with_model(opened, TEXT, LOCAL)
    assert gist.title == LOCAL.title
    assert gist.tags == ("cache",)
    assert len(gist.lines) == 3
    (record,) = journal.read_orders(opened.workspace)
    assert (record.work, record.kept, sum(record.dropped.values())) == ("summarise", 3, 1)


@pytest.mark.parametrize("behaviour", ["exit", "half", "nothing", "little"])
def test_where_the_model_fails_the_local_summary_stands(tmp_path: Path, program: Program, behaviour: str) -> None:
    if behaviour == "little":
        will(program, lines=[LINES[0], *[LINES[0] | {"cites": ["t9"]}] * 3])
    else:
        program.will(behaviour, '{"title": "x"')
    assert with_model(context(tmp_path, program), TEXT, LOCAL) == LOCAL


@pytest.mark.parametrize("private", ["shop", "/work/*", "claude-code"])
def test_a_private_checkpoint_never_leaves(tmp_path: Path, program: Program, private: str) -> None:
    opened = context(tmp_path, program, private=[private])
    assert with_model(opened, TEXT, LOCAL) == LOCAL
    assert with_model(context(tmp_path, program, private=["bank"]), TEXT.replace("session:", "was:"), LOCAL) == LOCAL
    assert program.given == []


@pytest.mark.parametrize("how", ["excluded", "signed", "paused"])
def test_what_is_left_out_by_now_never_leaves(tmp_path: Path, program: Program, how: str) -> None:
    will(program)
    opened, text = context(tmp_path, program), TEXT.replace("/work/shop", str(tmp_path / "shop"))
    if how == "excluded":
        sources = replace(opened.config.sources, claude_code=SourceSettings(exclude=["shop"]))
        opened = replace(opened, config=replace(opened.config, sources=sources))
    elif how == "signed":
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / ".nacre-ignore").touch()
    else:
        begin_pause(opened.workspace, opened.clock.now(), None)
    assert with_model(opened, text, LOCAL) == LOCAL
    assert program.given == []


def test_hybrid_and_texts_without_speakers_stay_local(tmp_path: Path, program: Program) -> None:
    assert with_model(context(tmp_path, program, summarise="hybrid"), TEXT, LOCAL) == LOCAL
    assert with_model(context(tmp_path, program), "# Notes\n\nNobody speaks here.\n", LOCAL) == LOCAL
    assert with_model(context(tmp_path, program), TEXT.replace("**Agent**", "**Other (Bob)**"), LOCAL) == LOCAL
    assert program.given == []


def test_organising_asks_the_model_without_secrets_and_not_where_somebody_waits(
    tmp_path: Path, program: Program
) -> None:
    will(program)
    opened = context(tmp_path, program)
    secret = TEXT.replace("please look", "the password is hunter2-Xy9!kQ, please look")
    assert "- The cache must stay below 200 ms" in by_brain(lambda: None, opened)(secret)
    assert "hunter2" not in program.given[0]["order"]
    by_brain(lambda: None)(TEXT)
    assert len(program.given) == 1
