"""What can be mended without touching a note: missing files, the index, permissions of our own folder, a stale socket."""

from __future__ import annotations

from nacre.memory import Memory
from nacre.words import say


def mend(memory: Memory) -> list[str]:
    """Bring the derived and missing parts in order; a sentence for each thing done."""
    from nacre.doctor import machine, running
    from nacre.vault import create

    done = []
    made = create.plan(memory.workspace.root)
    if made.plan:
        create.apply(made, memory.clock, memory.config)
        done += [f"{step.action} {step.path}" for step in made.plan.steps]
    done += machine.close_to_others(memory.workspace)
    done += running.clear_away(memory.workspace)
    report = memory.index()
    if memory.keeper.store.recovered:
        done.append(say("The damaged index was set aside and built anew.", "损坏的索引已移到一旁并重建。"))
    if report.text and (report.text.changed or report.text.removed):
        done.append(say("The index was brought up to date.", "索引已更新。"))
    return done
