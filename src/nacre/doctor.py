"""Trouble of every kind as rows: files, settings, index, models; and what can be mended without touching a note."""

from __future__ import annotations

import tempfile
from pathlib import Path

from nacre.errors import NacreError
from nacre.memory import Memory
from nacre.model.hit import Hit, SearchReport
from nacre.model.problem import Problem
from nacre.words import say


def examine(memory: Memory) -> list[Problem]:
    """Every problem found; none of them is raised."""
    from nacre.vault.problems import problems

    return [
        *memory.problems,
        *problems(memory.workspace, memory.config),
        *_index(memory),
        *_models(memory),
        *_round_trip(),
    ]


def mend(memory: Memory) -> list[str]:
    """Bring the derived and missing parts in order; a sentence for each thing done."""
    from nacre.vault import create

    done = []
    made = create.plan(memory.workspace.root)
    if made.plan:
        create.apply(made, memory.clock, memory.config)
        done += [f"{step.action} {step.path}" for step in made.plan.steps]
    report = memory.index()
    if memory.keeper.store.recovered:
        done.append(say("The damaged index was set aside and built anew.", "损坏的索引已移到一旁并重建。"))
    if report.text and (report.text.changed or report.text.removed):
        done.append(say("The index was brought up to date.", "索引已更新。"))
    return done


def _index(memory: Memory) -> list[Problem]:
    store = memory.keeper.store
    shown = str(store.path)
    try:
        check = store.safely(lambda: store.db.execute("pragma quick_check(1)").fetchone()[0])
    except NacreError as trouble:
        return [Problem("index unusable", str(trouble), shown, severity="error", remedy="nacre doctor --fix")]
    found: list[Problem] = []
    if check != "ok" or store.recovered:
        message = say("The index was damaged; it is built anew from your notes.", "索引曾损坏；将根据您的笔记重建。")
        found.append(Problem("index damaged", message, shown, remedy="nacre index"))
    if memory.workspace.index not in store.path.parents:
        message = say("The workspace cannot be written to; the index lies elsewhere.", "工作区不可写;索引存放在别处。")
        found.append(Problem("workspace read-only", message, shown))
    if memory.keeper.outdated():
        message = say(
            "Settings changed; the index made with the old ones still answers.", "设置已更改；目前仍由旧索引提供结果。"
        )
        found.append(Problem("index outdated", message, shown, remedy="nacre index"))
    return found


def _models(memory: Memory) -> list[Problem]:
    from nacre.embed.choose import problems

    return list(problems(memory.config))


def _round_trip() -> list[Problem]:
    try:
        try_out()
    except NacreError as trouble:
        return [Problem("round trip", str(trouble), severity="error")]
    return []


def try_out() -> tuple[Hit, SearchReport]:
    """Write, index and find again in a scratch workspace: the proof that this machine can do all three."""
    written = say("Jun prefers to pay by bank transfer, never by card", "小军付款一律用银行转账，不刷卡")
    asked = say("how does Jun like to pay", "小军怎么付款")
    with tempfile.TemporaryDirectory(prefix="nacre-") as folder:
        scratch = Path(folder) / "workspace"
        (scratch / "memory").mkdir(parents=True)
        (scratch / ".nacre").mkdir()
        with Memory.open(scratch) as memory:
            memory.remember(written)
            report = memory.ask(asked)
            found = next((hit for hit in report.hits if written in hit.snippet), None)
    if found is None:
        raise NacreError(say("What was just written was not found again.", "刚写入的内容未能查到。"))
    return found, report
