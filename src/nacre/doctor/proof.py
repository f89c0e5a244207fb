"""Proofs in a scratch workspace: what is written is found again, and what is said to an agent is captured, written and found."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.clock import Clock
from nacre.config.settings import SourcesSettings, SyncSettings
from nacre.errors import NacreError
from nacre.memory import Memory
from nacre.model.hit import Hit, SearchReport
from nacre.model.problem import Problem
from nacre.vault.workspace import Workspace
from nacre.words import say

if TYPE_CHECKING:
    from nacre.doctor.talks import Write
    from nacre.sources.transcript import Source


def round_trip() -> list[Problem]:
    """Whether this machine can write, index and find at all."""
    try:
        _, report = try_out()
    except NacreError as trouble:
        return [Problem("round trip", str(trouble), severity="error")]
    return [Problem("no vectors", report.fallback)] if report.stale and report.fallback else []


def try_out() -> tuple[Hit, SearchReport]:
    """Write, index and find again in a scratch workspace: the proof that this machine can do all three."""
    written = say("Jun prefers to pay by bank transfer, never by card", "小军付款一律用银行转账，不刷卡")
    asked = say("how does Jun like to pay", "小军怎么付款")
    with tempfile.TemporaryDirectory(prefix="nacre-") as folder, Memory.open(_scratch(folder).root) as memory:
        memory.remember(written, project="*")
        report = memory.ask(asked)
        found = next((hit for hit in report.hits if written in hit.snippet), None)
    if found is None:
        raise NacreError(say("What was just written was not found again.", "刚写入的内容未能查到。"))
    return found, report


def captured(source: Source, write: Write, memory: Memory) -> str | None:
    """Lay a talk down as an agent would, read it with the agent's own reader, write it and search for it.

    Where it breaks, or none when the whole way works. The settings and the judge are those of the memory; its files are not touched.
    """
    from nacre.capture.run import setting_of
    from nacre.capture.sync import sync
    from nacre.sources.transcript import Places

    with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        write(home)
        workspace = _scratch(folder)
        config = dataclasses.replace(memory.config, sources=SourcesSettings(), sync=SyncSettings())
        clock = Clock(memory.clock.zone)
        given = dataclasses.replace(
            setting_of(workspace, config, clock, lambda: memory.brain),
            places=Places(home),
            sources=(source,),
            wanted=lambda _: True,
        )
        report = sync(given)
        if not report.looked_at:
            return say("its transcript was not found", "没有找到其对话记录")
        if not report.sections:
            return say("nothing of its transcript could be read", "其对话记录无法读取")
        with Memory(workspace, config, clock) as scratch:
            if not scratch.search("pnpm", 3, mode="text"):
                return say("what was captured was not found again", "采集到的内容未能查到")
    return None


def _scratch(folder: str) -> Workspace:
    workspace = Workspace(Path(folder) / "workspace")
    workspace.memory.mkdir(parents=True)
    workspace.machine.mkdir()
    return workspace
