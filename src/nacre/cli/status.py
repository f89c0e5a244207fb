"""nacre status, health, doctor: the workspace at a glance, how well memory is kept, and what is wrong with its setup."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from nacre.cli import ui
from nacre.errors import BadSetting, NacreError
from nacre.i18n import say
from nacre.model.report import Note, Problem, Report

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
    files = ", ".join(f"{count} {layer}" for layer, count in facts["files"].items()) or say("none yet", "暂无")
    where = ui.shown_path(facts["workspace"]) + (f"  ({facts['agent']})" if facts["agent"] else "")
    rows = [
        ("workspace", "工作区", where),
        ("MEMORY.md", "MEMORY.md", limits),
        ("files", "文件", files),
        ("capture", "采集", _capture(facts["capture"])),
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
KINDS, FADES, PROJECTS = 9, 4, 3  # lines about findings, about what fades and about projects, unless all are asked for
WIDTH = 56  # columns of the text of a finding, unless all is asked for


@ui.command("nacre health -v", join=True)
@ui.flag("--verbose", "-v", "Show every finding and all that fades, not only the first of each kind.")
def health(options: ui.Options, *, verbose: bool) -> Iterator[Report]:
    """Show what memory holds, what is wrong with it, which command mends that, what fades next, and a grade from A to F.

    Reads, and changes nothing. A bad grade is no error: the exit code is 0 whenever memory could be looked at.
    """
    from nacre.checks.health import check_health

    for memory in ui.open_all(options):
        report = check_health(memory)
        facts = {"workspace": str(memory.workspace.root), "agent": memory.agent, **report.as_plain()}
        yield Report(facts, lines=_health_lines(report, ui.shown_path(memory.workspace.root), verbose=verbose))


def _health_lines(report: Health, where: str, *, verbose: bool) -> list[str | tuple[str, ...]]:
    from nacre.checks.health import kind_title

    grade, shown, colon = report.grade, report.fading if verbose else report.fading[:FADES], say(": ", "：")
    chinese = f"{where}：{grade.letter}，{grade.points} 分（满分 100）"
    lines: list[str | tuple[str, ...]] = [say(f"{where}: {grade.letter}, {grade.points} of 100", chinese)]
    if grade.deductions:
        lost = [f"{kind_title(one.kind)} −{one.points:g}" for one in grade.deductions[:REASONS]]
        why = say("Points lost", "扣分") if grade.letter == "A" else say("Why not A", "为何不是 A")
        lines.append(why + colon + say(", ", "，").join(lost))
    lines += ["", *_finding_rows(report, verbose=verbose)] if report.findings else []
    lines += ["\n" + say("Fades next", "即将淡出")] if shown else []
    for fade in shown:
        place = f"{fade.path}:{fade.line}" if fade.line else fade.path
        rule = fade.rule + (f"  → {fade.keep}" if fade.keep and verbose else "")
        lines.append((fade.day, place + colon + fade.what, rule))
    if rest := len(report.fading) - len(shown):
        lines.append(("", say(f"and {rest} more (-v shows all)", f"另有 {rest} 项（-v 显示全部）"), ""))
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
    kinds = list(by_kind.items())
    for kind, rows in kinds if verbose else kinds[:KINDS]:
        head = kind_title(kind) + say(f": {len(rows)}", f"：{len(rows)}")
        for place, row in enumerate(rows if verbose else rows[:1]):
            yield ("" if place else head, *row)
    if not verbose and (rest := sum(len(rows) for _, rows in kinds[KINDS:])):
        yield (say(f"others: {rest}", f"其他：{rest}"), say("-v shows all", "-v 显示全部"), "")


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
    counts, comma = figures["counts"], say(", ", "，")
    english = "{daily} daily, {weekly} weekly, {archived} archived, {notes} notes"
    chinese = "每日 {daily}，每周 {weekly}，归档 {archived}，笔记 {notes}"
    yield (say("logs", "日志"), say(english, chinese).format(**counts))
    verdicts = {**counts["ledger"], say("pinned", "已固定"): counts["pinned"]}
    for title, by_name in ((say("checkpoints", "检查点"), counts["checkpoints"]), (say("ledger", "账本"), verdicts)):
        yield (title, comma.join(f"{name} {count}" for name, count in by_name.items()))
    english = (
        "MEMORY.md {longterm:,}, today and yesterday {recent:,}, a new session {session:,}, everything {everything:,}"
    )
    chinese = "MEMORY.md {longterm:,}，今天和昨天 {recent:,}，新会话 {session:,}，全部 {everything:,}"
    yield (say("tokens, about", "token（约）"), say(english, chinese).format(**figures["tokens"]))
    if verbose:
        english = "recalls {recalls}, days of the trail {trail}, former entries {ledger}: harmless"
        chinese = "召回 {recalls}，来源记录 {trail} 天，旧条目 {ledger}：无害"
        yield (say("leads nowhere", "来源已失"), say(english, chinese).format(**figures["loose"]))


@ui.command("nacre doctor --fix")
@ui.flag(
    "--fix",
    "Mend what can be mended without touching your notes: the index, missing files, permissions, a stale socket.",
)
def doctor(options: ui.Options, *, fix: bool) -> Report:
    """Look for trouble in files, settings, index, models, agents, jobs, daemon and clock, and say how to mend it.

    A note is written in a scratch workspace and found again, and for each agent on this machine its newest session is read. Exit code 0
    when nothing keeps Nacre from its work, 1 when something does.
    """
    from nacre.agents.connection import connection_problems, state_folder
    from nacre.agents.registry import all_agents
    from nacre.checks.doctor import bad_setting, examine, newest_sessions, repair
    from nacre.jobs.installer import this_machine

    agents: list[str] = []
    problems: list[tuple[str | None, Problem]] = []
    try:
        for memory in ui.open_all(options):
            for line in repair(memory) if fix else ():
                ui.note(line)
            connections = connection_problems(all_agents(), this_machine(), state_folder(), memory.workspace.root)
            sessions = newest_sessions(memory)
            problems += [(memory.agent, problem) for problem in (*examine(memory, sessions), *connections)]
            agents += [source.agent for source, _ in sessions]
    except BadSetting as error:  # settings that stop every command are what doctor is asked about
        problems.append((None, bad_setting(error)))
    lines: list[str] = []
    for _, problem in problems:
        lines.append("  ".join(filter(None, (problem.severity, problem.place, problem.message))))
        lines += [f"    → {problem.remedy}"] if problem.remedy else []
    names = ", ".join(dict.fromkeys(agents))
    readable = names and not any(problem.kind.startswith("transcript") for _, problem in problems)
    notes = ui.every((readable, f"The newest session with {names} can be read.", f"与 {names} 的最新对话可以读取。"))
    fine = ui.every((not problems, "All is well.", "一切正常。"))
    facts = [{"agent": agent, **problem.as_plain()} for agent, problem in problems]
    broken = any(problem.severity == "error" for _, problem in problems)
    return Report(facts, lines=[*lines, *map(Note, notes), *fine], code=int(broken))
