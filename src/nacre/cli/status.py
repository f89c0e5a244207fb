"""nacre status, health, doctor: the workspace at a glance, how well memory is kept, and what is wrong with its setup."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from nacre.cli import ui
from nacre.errors import BadSetting, NacreError
from nacre.i18n import say
from nacre.model.report import Problem, Report

if TYPE_CHECKING:
    from nacre.checks.health import Health
    from nacre.memory import Memory


@ui.command("nacre status --deep", join=True)
@ui.flag("--deep", "Also check the index file and try the embedding models.")
@ui.flag("--index", "reindex", "Bring the index up to date first, when files changed.")
@ui.flag("--verbose", "Also list the problems found.")
def status(options: ui.Options, *, deep: bool, reindex: bool, verbose: bool) -> Iterator[Report]:
    """Show the workspace, its sizes against the limits, the index and the models."""
    from nacre.checks.status import status_facts

    for memory in ui.open_all(options):
        if reindex:
            memory.index()
        facts = {**status_facts(memory, deep=deep), "connections": _connections()}
        yield _status_report(memory, facts, verbose=verbose)


def _connections() -> list[dict[str, Any]]:
    """Every agent that is connected; none where the record of it cannot be understood, which doctor tells."""
    from nacre.agents.connection import RECORD_NAME, agent_states, state_folder

    if not (state_folder() / RECORD_NAME).exists():
        return []
    from nacre.agents.registry import all_agents
    from nacre.jobs.installer import this_machine

    try:
        states = agent_states(all_agents(), this_machine(), state_folder())
    except NacreError:
        return []
    return [state.as_plain() for state in states if state.connection]


def _status_report(memory: Memory, facts: dict[str, Any], *, verbose: bool) -> Report:
    longterm, problems, sessions = facts["longterm"], facts["problems"], facts["sessions"]
    english = "{lines} of {maxLines} lines, {bytes} of {maxBytes} bytes"
    limits = say(english, "{lines}/{maxLines} 行，{bytes}/{maxBytes} 字节").format(**longterm)
    count, messages = (sessions["sessions"], sessions["messages"]) if sessions else (0, 0)
    indexed = sessions and say(f"{count} indexed, {messages} messages", f"已索引 {count} 个，共 {messages} 条消息")
    broken = say(" (broken: nacre doctor)", "（已损坏：nacre doctor）")
    connected = [
        state["agent"] + (broken if state["missing"] or state["unreadable"] or not state["starts"] else "")
        for state in facts["connections"]
        if os.path.realpath(state["workspace"]) == os.path.realpath(facts["workspace"])
    ]
    unconnected = say('none connected; "nacre connect" does it', "未连接；可运行“nacre connect”")
    where = ui.shown_path(facts["workspace"]) + (f"  ({facts['agent']})" if facts["agent"] else "")
    rows = [
        ("workspace", "工作区", where),
        ("MEMORY.md", "MEMORY.md", limits),
        ("files", "文件", _files(facts["files"])),
        ("capture", "采集", _capture(facts["capture"])),
        *_brain(facts["brain"]),
        *_night(memory, facts["night"]),
        ("agents", "代理", ", ".join(connected) or unconnected),
        ("jobs", "任务", _jobs(memory, facts["jobs"], facts["daemon"])),
        ("daemon", "守护进程", _daemon(facts["daemon"])),
        ("index", "索引", _index(facts["index"])),
        ("sessions", "会话", indexed),
        ("vectors", "向量", _vectors(facts["embedding"])),
        ("history", "历史", say(f"operations: {facts['history']}", f"{facts['history']} 次操作")),
    ]
    waiting, count = facts["review"], len(problems)
    over = 'MEMORY.md is over its limits and takes nothing new; "nacre review --adopt" brings it under them.'
    full, share = "MEMORY.md is nearly full: above 90% of its limits.", longterm["share"]
    listed = f'Problems found: {count}; "nacre doctor" lists them.'
    sentences = ui.every(
        (share > 1, over, "MEMORY.md 已超出上限，不再接受新内容；可用“nacre review --adopt”使其回到上限以内。"),
        (0.9 <= share <= 1, full, "MEMORY.md 快满了：已超过上限的 90%。"),
        (waiting, f'"nacre review" has {waiting} to ask you.', f"“nacre review”有 {waiting} 项待您决定。"),
        (count and not verbose, listed, f"发现 {count} 个问题；“nacre doctor”会列出。"),
    )
    shown = [": ".join(filter(None, (problem["path"], problem["message"]))) for problem in problems if verbose]
    lines = [(say(english, chinese), value) for english, chinese, value in rows if value]
    return Report(facts, lines=lines, notes=[*sentences, *shown])


def _files(by_layer: dict[str, int]) -> str:
    return ", ".join(f"{count} {layer}" for layer, count in by_layer.items()) or say("none yet", "暂无")


def _night(memory: Memory, night: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """What the last tidying did; with its day where that was not last night."""
    from nacre.tidy.night import Night

    if night is None:
        return []
    line, day = Night(night["added"], night["replaced"], night["questions"]).line, night["at"][:10]
    today = memory.clock.today()
    if day in (today.isoformat(), (today - dt.timedelta(days=1)).isoformat()):
        return [("last night", "昨夜", line)]
    return [("last tidy", "上次整理", say(f"{day}: {line}", f"{day}：{line}"))]


def _brain(brain: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """Who writes the logs, what that cost today and what earlier answers saved."""
    if brain is None:
        return []
    from nacre.cli.brain import spent, waiting, writer

    who, saved = writer(brain["extract"], brain["model"]), brain["saved"]
    line = say(f"{who}; today {spent(brain)}", f"{who}；今日 {spent(brain)}")
    line += say(f", {saved} saved", f"，节省 {saved}") if saved else ""
    line += "".join(say(f"; waiting: {text}", f"；等待：{text}") for text in waiting(brain))
    return [("brain", "书写", line)]


def _capture(capture: dict[str, Any]) -> str:
    at, count, until = _at(capture["synced"] or ""), capture["sessions"], capture["pausedUntil"]
    end = f" → {until}" if until else ""
    return ui.joined(
        (not at, 'nothing yet; run "nacre sync"', "尚未采集；请运行“nacre sync”"),
        (at, f"{count} sessions, last at {at}", f"{count} 个会话，最近一次 {at}"),
        (capture["paused"], f"; paused{end}", f"；已暂停{end}"),
        (not capture["meaning"], "; judged by structure alone, without the models", "；未装模型，仅按句子结构判断"),
    )


def _jobs(memory: Memory, jobs: dict[str, Any], daemon: dict[str, Any] | None) -> str:
    """The last and the next run in one line, which jobs fail, and who runs them."""
    if jobs["trouble"]:
        return str(jobs["trouble"])
    from nacre.cli.jobs import nobody, result_word, runners

    ran = [state for state in jobs["states"] if state["last"]]
    coming = [state for state in jobs["states"] if state["next"]]
    by = runners(memory, daemon)
    if not ran and not by:
        return nobody(memory)
    parts = [] if ran else [say("none has run yet", "尚未运行过")]
    for state in sorted(ran, key=lambda state: state["last"])[-1:]:
        name, at = state["name"], _at(state["last"])
        result = result_word(state["result"]) if state["result"] else say("running", "进行中")
        parts.append(say(f"last {name} {at} ({result})", f"上次 {name} {at}（{result}）"))
    for state in sorted(coming, key=lambda state: state["next"])[: 1 if by else 0]:
        name, at = state["name"], _at(state["next"])
        parts.append(say(f"next {name} {at}", f"下次 {name} {at}"))
    for state in jobs["states"]:
        name, at = state["name"], _at(state["failingSince"] or "")
        parts += ui.every((at, f"{name} FAILING since {at}", f"{name} 自 {at} 起失败"))
    parts.append(say(f"by {', '.join(by)}", f"由 {'、'.join(by)} 运行") if by else nobody(memory))
    return say("; ", "；").join(parts)


def _daemon(daemon: dict[str, Any] | None) -> str:
    if daemon is None:
        return say("none; everything works without", "未运行；不影响使用")
    if not daemon["answers"]:
        return say(f"process {daemon['process']} does not answer", f"进程 {daemon['process']} 没有响应")
    since, megabytes, url = _at(daemon["since"]), daemon["memoryMb"], (daemon.get("http") or {}).get("url")
    return ui.joined(
        (True, f"running since {since}, {megabytes:.0f} MB", f"自 {since} 起运行，{megabytes:.0f} MB"),
        (daemon["watching"] == "events", ", watching", "，正在监听文件"),
        (daemon["watching"] == "scanning", ", scanning instead of watching", "，以扫描代替监听"),
        (url, f", MCP at {url}", f"，MCP：{url}"),
        (daemon["skew"], f" ({daemon['skew']})", f" ({daemon['skew']})"),
    )


def _at(moment: str) -> str:
    return moment.replace("T", " ")[:16]


def _index(index: dict[str, Any]) -> str:
    files, chunks, size = index["files"], index["chunks"], ui.size_of(index["bytes"])
    changed, check = index["changed"], index["check"]
    return ui.joined(
        (True, f"{files} files, {chunks} passages, {size}", f"{files} 个文件，{chunks} 段，{size}"),
        (changed, f"; files changed since: {changed}", f"；此后有 {changed} 个文件变化"),
        (index["outdated"], '; settings changed, run "nacre index"', "；设置已更改，请运行“nacre index”"),
        (check not in (None, "ok"), f"; damaged: {check}", f"；已损坏：{check}"),
    )


def _vectors(embedding: dict[str, Any]) -> str:
    reason, works, waiting = embedding["reason"], embedding["works"], embedding["waiting"]
    if reason and not embedding["models"]:
        return str(reason)
    about = ui.joined(
        (waiting, f"; {waiting} passages to embed", f"；{waiting} 段待生成"),
        (works is True, "; works", "；可用"),
        (works not in (None, True), f"; does not work: {works}", f"；不可用：{works}"),
        (reason, f" ({reason})", f" ({reason})"),
    )
    return f"{embedding['provider']}: {', '.join(embedding['models'])}{about}"


# nacre health: how well memory is kept.

REASONS = 3  # deductions that are named first
PROJECTS = 3  # lines about projects, unless all are asked for
WIDTH = 56  # columns of the text of a finding, unless all is asked for


@ui.command("nacre health -v", join=True)
@ui.flag("--verbose", "-v", "Show every finding, not only the first of each kind.")
def health(options: ui.Options, *, verbose: bool) -> Iterator[Report]:
    """Show what memory holds, what is wrong with it, which command mends that, and a grade from A to F.

    Reads, and changes nothing. A bad grade is no error: the exit code is 0 whenever memory could be looked at.
    """
    from nacre.checks.health import check_health

    for memory in ui.open_all(options):
        report = check_health(memory)
        facts = {"workspace": str(memory.workspace.root), "agent": memory.agent, **report.as_plain()}
        yield Report(facts, lines=_health_lines(report, ui.shown_path(memory.workspace.root), verbose=verbose))


def _health_lines(report: Health, where: str, *, verbose: bool) -> list[str | tuple[str, ...]]:
    from nacre.checks.health import kind_title

    grade = report.grade
    chinese = f"{where}：{grade.letter}，{grade.points} 分（满分 100）"
    lines: list[str | tuple[str, ...]] = [say(f"{where}: {grade.letter}, {grade.points} of 100", chinese)]
    if grade.deductions:
        lost = [f"{kind_title(one.kind)} −{one.points:g}" for one in grade.deductions[:REASONS]]
        why = say("Points lost", "扣分") if grade.letter == "A" else say("Why not A", "为何不是 A")
        lines.append(why + say(": ", "：") + say(", ", "，").join(lost))
    lines += ["", *_finding_rows(report, verbose=verbose)] if report.findings else []
    return [*lines, "\n" + say("Holds", "现有内容"), *_figures(report.figures, verbose=verbose)]


def _finding_rows(report: Health, *, verbose: bool) -> Iterator[tuple[str, str, str]]:
    """The findings by kind, with what mends them; of each kind the first, unless all are asked for."""
    from nacre.checks.health import kind_title

    by_kind: dict[str, list[tuple[str, str]]] = {}
    for finding in report.findings:
        text = finding.message
        if finding.place and finding.place not in text:
            text = finding.place + say(": ", "：") + text
        by_kind.setdefault(finding.kind, []).append((f"→ {finding.remedy}", text if verbose else _cut(text)))
    for kind, rows in by_kind.items():
        head = kind_title(kind) + say(f": {len(rows)}", f"：{len(rows)}")
        for place, row in enumerate(rows if verbose else rows[:1]):
            yield ("" if place else head, *row)


def _cut(text: str) -> str:
    """As much as fits beside the rest; a Han character is as wide as two others."""
    widths = accumulate(2 if "\u2e80" <= sign <= "\uffef" else 1 for sign in text)
    fits = sum(width <= WIDTH for width in widths)
    return text if fits == len(text) else text[:fits].rstrip() + "…"


def _figures(figures: dict[str, Any], *, verbose: bool) -> Iterator[tuple[str, str]]:
    general, projects = figures["longterm"][:1], sorted(figures["longterm"][1:], key=lambda size: -size["share"])
    for size in (*general, *(projects if verbose else projects[:PROJECTS])):
        english = "{entries} entries, {lines} lines, {bytes} bytes: {share:.0%} of its limits"
        yield (
            size["path"],
            say(english, "{entries} 条，{lines} 行，{bytes} 字节：占上限的 {share:.0%}").format(**size),
        )
    yield (say("files", "文件"), _files(figures["files"]))
    yield (say("tokens, about", "token（约）"), f"{figures['tokens']:,}")


@ui.command("nacre doctor --fix")
@ui.flag(
    "--fix",
    "Mend what can be mended without touching your notes: the index, missing files, permissions, a stale socket.",
)
def doctor(options: ui.Options, *, fix: bool) -> Report:
    """Look for trouble in files, settings, index, models, agents, jobs and daemon, and say how to mend it.

    Exit code 0 when nothing keeps Nacre from its work, 1 when something does.
    """
    from nacre.agents.connection import connection_problems, state_folder
    from nacre.agents.registry import all_agents
    from nacre.checks.doctor import bad_setting, examine, repair
    from nacre.jobs.installer import this_machine

    problems: list[tuple[str | None, Problem]] = []
    try:
        for memory in ui.open_all(options):
            for line in repair(memory) if fix else ():
                ui.note(line)
            connections = connection_problems(all_agents(), this_machine(), state_folder(), memory.workspace.root)
            problems += [(memory.agent, problem) for problem in (*examine(memory), *connections)]
    except BadSetting as error:  # settings that stop every command are what doctor is asked about
        problems.append((None, bad_setting(error)))
    lines: list[str] = []
    for _, problem in problems:
        lines.append("  ".join(filter(None, (problem.severity, problem.place, problem.message))))
        lines += [f"    → {problem.remedy}"] if problem.remedy else []
    fine = ui.every((not problems, "All is well.", "一切正常。"))
    facts = [{"agent": agent, **problem.as_plain()} for agent, problem in problems]
    broken = any(problem.severity == "error" for _, problem in problems)
    return Report(facts, lines=[*lines, *fine], code=int(broken))
