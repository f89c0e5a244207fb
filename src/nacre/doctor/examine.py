"""Every problem that can be found: files, settings, index, models, agents, jobs, daemon, the machine itself."""

from __future__ import annotations

from nacre.errors import NacreError
from nacre.memory import Memory
from nacre.model.problem import Problem
from nacre.words import say


def examine(memory: Memory) -> list[Problem]:
    """Every problem found; none of them is raised."""
    from nacre.doctor import agents, machine, proof, running
    from nacre.embed.choose import problems as of_models
    from nacre.vault.problems import problems

    return [
        *memory.problems,
        *problems(memory.workspace, memory.config, every_file=True),
        *_index(memory),
        *of_models(memory.config),
        *proof.round_trip(),
        *agents.problems(memory),
        *running.jobs(memory),
        *running.daemon(memory),
        *machine.problems(memory),
    ]


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
        message = say("The workspace cannot be written to; the index lies elsewhere.", "工作区不可写；索引存放在别处。")
        found.append(Problem("workspace read-only", message, shown))
    if memory.keeper.outdated():
        message = say(
            "Settings changed; the index made with the old ones still answers.", "设置已更改；目前仍由旧索引提供结果。"
        )
        found.append(Problem("index outdated", message, shown, remedy="nacre index"))
    return found
