"""nacre eval: how well a model writes memory, measured on sessions with known results."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from nacre.cli import ui
from nacre.config.settings import load
from nacre.errors import BadInput
from nacre.evaluate.measures import NAMES, Measure, measure
from nacre.evaluate.replay import Cost, brain_settings, configured, cost_of, read_scenario, replay
from nacre.i18n import say, use_language
from nacre.memory import gate_reason
from nacre.model import Report


@ui.command("nacre eval scenario --brain local --brain claude-code", "eval", dry_run=True)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--brain", "brains", metavar="NAME", multiple=True, help="What to measure: local, hybrid, command, api, or an agent's program such as claude-code; may be repeated. Default: local and the configured model.")  # fmt: skip
@click.option("--keep", type=click.Path(path_type=Path), metavar="PATH", help="Keep the workspaces in this folder.")
@ui.flag("--misses", "List what each model missed.")
@ui.flag("--yes", "Do not ask for confirmation.")
def eval_(
    options: ui.Options, folder: Path, brains: tuple[str, ...], keep: Path | None, *, misses: bool, yes: bool
) -> Report:
    """Replay the sessions in FOLDER day by day with each model, and show the scores and the cost.

    FOLDER contains agent transcripts and a gold.json with the expected results, or is a .jsonl file of statement pairs. Everything runs in
    a separate folder: your memory is not read or changed. Budgets do not apply, so you are asked before a model is used.
    """
    config = load()
    use_language(config.language)
    scenario, own = read_scenario(folder), config.brain
    names = list(dict.fromkeys(brains or configured(own)))
    settings = {name: brain_settings(own, name) for name in names}
    if taken := [str(keep / name) for name in names if keep and (keep / name).exists()]:
        raise BadInput(
            f"{taken[0]} already exists; choose another folder for --keep.",
            f"{taken[0]} 已存在；请为 --keep 另选一个文件夹。",
        )
    models = [name for name in names if name != "local"]
    if models or options.dry_run:
        count, asked = scenario.orders * len(models), ", ".join(models)
        english = (
            f"About {ui.plural(count, 'request')} containing these sessions and statements will be sent to: {asked}."
        )
        chinese = f"约 {count} 个请求（含这些会话和语句）将发送给：{asked}。"
        if not models:
            english, chinese = "Nothing will be sent to a model.", "不会向模型发送任何内容。"
        if options.dry_run:
            return Report({"brains": names, "orders": count}, lines=[say(english, chinese)])
        ui.confirm(f"{english} Continue?", f"{chinese}继续吗？", yes=yes)
    measures: dict[str, list[Measure]] = {}
    costs: dict[str, Cost] = {}
    notes = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="nacre-eval-") as workplace:
            with ui.progress_bar(name, name) as bar:
                replayed = replay(scenario, Path(workplace), settings[name], bar)
            with replayed.memory as memory:
                measures[name], costs[name] = measure(scenario, replayed), cost_of(replayed)
                notes = [memory.embedder()[1] or ""]
            if keep:
                shutil.copytree(workplace, keep / name)
    facts = {name: {"measures": {row.name: _plain(row) for row in measures[name]}, "cost": asdict(costs[name])} for name in names}  # fmt: skip
    failures = []
    for name, cost in costs.items():
        failed = f"{name}: {ui.plural(cost.failed, 'request')} failed; last error: {cost.why}"
        failures += ui.every((cost.failed, failed, f"{name}：{cost.failed} 个请求失败；最后一次的原因：{cost.why}"))
    lines = [*_table(measures, costs), *(_missed(measures) if misses else [])]
    return Report(facts, lines=lines, notes=[*failures, *notes])


def _plain(row: Measure) -> object:
    return row.value if row.of is None else {"right": row.value, "of": row.of, "missed": row.missed}


def _table(measures: dict[str, list[Measure]], costs: dict[str, Cost]) -> list[Sequence[str]]:
    reasons, dropped = (
        sorted({reason for cost in costs.values() for reason in cost.dropped}),
        say("dropped: ", "丢弃："),
    )
    figures = [
        (say("requests", "请求"), [cost.orders for cost in costs.values()]),
        (say("tokens", "token"), [cost.tokens for cost in costs.values()]),
        (say("lines kept", "保留的行"), [cost.kept for cost in costs.values()]),
        *((dropped + gate_reason(name), [cost.dropped.get(name, 0) for cost in costs.values()]) for name in reasons),
        (
            say("requests handled by this machine instead", "改由本机完成的请求"),
            [cost.fallbacks for cost in costs.values()],
        ),
    ]
    return [
        ("", *measures),
        *((say(*NAMES[same[0].name]), *map(_shown, same)) for same in zip(*measures.values(), strict=True)),
        *((name, *map(str, values)) for name, values in figures if any(values)),
        (say("seconds", "秒"), *(f"{cost.seconds:.0f}" for cost in costs.values())),
    ]


def _shown(row: Measure) -> str:
    if row.of is None:
        return f"{row.value:g}"
    return f"{row.value}/{row.of} ({100 * row.value / row.of:.0f}%)" if row.of else "-"


def _missed(measures: dict[str, list[Measure]]) -> list[str]:
    missed = [(name, say(*NAMES[row.name]), row) for name, rows in measures.items() for row in rows if row.missed]
    return [
        say(f"{what} ({name}): ", f"{what}（{name}）：") + ui.legible(" · ".join(row.missed))
        for name, what, row in missed
    ]
