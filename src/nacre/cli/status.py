"""nacre status, health, doctor: the workspace at a glance, how well memory is kept, and what is wrong with its setup."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from nacre.agents.connection import agent_states, connection_problems, state_folder
from nacre.agents.registry import ALL_AGENTS
from nacre.checks.doctor import bad_setting, examine, repair
from nacre.checks.health import Grade, Health, check_health, kind_title
from nacre.checks.status import grade_and_problems, status_facts
from nacre.cli import ui
from nacre.cli.brain import spent, waiting, writer
from nacre.cli.jobs import nothing_runs, result_word, runners
from nacre.daemon.problems import clear_sockets, daemon_problems, skew_words
from nacre.daemon.process import ask_status
from nacre.errors import BadSetting, NacreError
from nacre.i18n import say
from nacre.jobs.installer import this_machine
from nacre.memory import Memory
from nacre.model import Problem, Report
from nacre.text.layout import nested_quotes
from nacre.tidy.summary import MemoryChanges

Row = tuple[str, str]
PRESSING = 2  # problems that are shown first
REASONS = 3  # deductions that are named first
PROJECTS = 3  # lines about projects, unless all are asked for
_GRADE_COLOURS = {"A": "green", "B": "green", "C": "yellow", "D": "yellow"}


@ui.command("nacre status --all", join=True)
@ui.flag("--all", "everything", "Show all details and every problem.")
@ui.flag("--deep", "Also check the index file and test the embedding models.")
@ui.flag("--index", "reindex", "Update the index first if files changed.")
@ui.flag("--verbose", "List the problems found, with details.")
def status(options: ui.Options, *, everything: bool, deep: bool, reindex: bool, verbose: bool) -> Iterator[Report]:
    """Show the state of memory on one screen, with the two most important problems and how to fix them.

    --all shows everything: workspace, sizes and limits, index, models, daemon, and every problem.
    """
    for memory in ui.open_all(options):
        if reindex:
            with ui.waiting("Indexing", "正在更新索引"):
                memory.index()
        with ui.waiting("Checking", "正在检查"):
            facts = {**status_facts(memory, ask_status(memory), deep=deep), "connections": _connections()}
            grade, problems = grade_and_problems(memory)
        facts["health"] = {"grade": grade.letter, "points": grade.points}
        problems += _broken_connections(memory)
        lines: list[str | Row] = [*_rows(memory, facts, grade)]
        lines += _details(facts) if everything or deep or verbose else []
        if everything:  # programs have their own commands for it
            lines += ["", *_health_lines(memory, check_health(memory), verbose=True)]
            problems = _all_problems(memory)
        shown = problems if everything or verbose else problems[:PRESSING]
        lines += ["", *_problem_lines(shown)] if shown else []
        more = len(problems) - len(shown)
        rest = f'{ui.plural(more, "more problem")}; run "nacre status --all".'
        notes = ui.every((more, rest, f"另有 {more} 个问题；请运行“nacre status --all”。"))
        yield Report(facts, lines=lines, notes=notes)


def _rows(memory: Memory, facts: dict[str, Any], grade: Grade) -> list[Row]:
    """The rows that are always shown."""
    longterm, run, questions, now = facts["longterm"], facts["night"], facts["review"], memory.clock.now()
    of_lines = say("{lines} of {maxLines} lines", "{lines}/{maxLines} 行").format(**longterm)
    of_bytes = say("{bytes} of {maxBytes} bytes", "{bytes}/{maxBytes} 字节").format(**longterm)
    health = say(f"{grade.letter}, {grade.points} of 100 points", f"{grade.letter}（{grade.points}/100 分）")
    tidied = say('not yet; run "nacre tidy"', "尚未整理；请运行“nacre tidy”")
    if run:
        line = MemoryChanges(run["added"], run["replaced"], run["questions"]).line
        ago = ui.age_of(run["at"], now)
        tidied = say(f"last change {ago}: {line}", f"上次变动 {ago}：{line}")
    unconnected = ui.Coloured(say('none connected; run "nacre connect"', "未连接；请运行“nacre connect”"), "yellow")
    asks = say(f'{questions} waiting; run "nacre review"', f"{questions} 项；请运行“nacre review”")
    synced = facts["capture"]["synced"]
    return [
        (
            say("workspace", "工作区"),
            ui.shown_path(facts["workspace"]) + (f"  ({memory.agent})" if memory.agent else ""),
        ),
        (say("health", "健康状况"), ui.Coloured(health, _GRADE_COLOURS.get(grade.letter, "red"))),
        ("MEMORY.md", _gauge(longterm["lines"], longterm["maxLines"], of_lines)),
        ("", _gauge(longterm["bytes"], longterm["maxBytes"], of_bytes)),
        (say("captured", "采集"), _capture(facts["capture"], ui.age_of(synced, now) if synced else "")),
        (say("tidied", "整理"), tidied),
        (say("agents", "智能体"), say(", ", "、").join(_connected(facts)) or unconnected),
        (say("jobs", "任务"), _jobs(memory, facts["jobs"], facts["daemon"])),
        (say("questions", "待确认"), ui.Coloured(asks, "yellow") if questions else say("none", "无")),
    ]


def _details(facts: dict[str, Any]) -> Iterator[Row]:
    """The rows for --all: files, what writes memory, the daemon, the index and its vectors."""
    yield say("files", "文件"), _files(facts["files"])
    if brain := facts["brain"]:
        saved, used = brain["saved"], spent(brain)
        parts = ui.joined(
            (True, f"; today {used}", f"；今日用量 {used}"),
            (saved, f", {saved} saved by the cache", f"，缓存节省 {saved}"),
            *((True, f"; waiting: {orders}", f"；等待中：{orders}") for orders in waiting(brain)),
        )
        yield say("written by", "撰写者"), writer(brain["extract"], brain["model"]) + parts
    yield say("daemon", "守护进程"), _daemon(facts["daemon"])
    yield say("index", "索引"), _index(facts["index"])
    if sessions := facts["sessions"]:
        count, messages = sessions["sessions"], sessions["messages"]
        english = f"{count} indexed, {ui.plural(messages, 'message')}"
        yield say("sessions", "会话"), say(english, f"已索引 {count} 个，共 {messages} 条消息")
    yield say("vectors", "向量"), _vectors(facts["embedding"])
    yield say("history", "历史"), say(ui.plural(facts["history"], "operation"), f"{facts['history']} 次操作")


def _gauge(value: int, most: int, words: str) -> str:
    share = value / (most or 1)
    bar = ui.bar(share)
    return ui.Coloured(f"{bar}{share:.0%}{say(', ', '，')}{words}", bar.colour)


def _connected(facts: dict[str, Any]) -> list[str]:
    broken = say(' (broken; run "nacre doctor")', "（已损坏；请运行“nacre doctor”）")
    return [
        state["agent"] + (broken if state["missing"] or state["unreadable"] or not state["starts"] else "")
        for state in facts["connections"]
        if os.path.realpath(state["workspace"]) == os.path.realpath(facts["workspace"])
    ]


def _connections() -> list[dict[str, Any]]:
    """Every connected agent; empty when the record of connections cannot be read, which `doctor` reports."""
    try:
        states = agent_states(ALL_AGENTS, this_machine(), state_folder())
    except NacreError:
        return []
    return [state.as_plain() for state in states if state.connection]


def _files(by_layer: dict[str, int]) -> str:
    words = ui.localised("daily 每日日志|weekly 每周摘要|archive 归档|note 笔记|extra 其他")
    words["longterm"] = say("long-term", "长期记忆")
    layers = ((count, words.get(layer, layer)) for layer, count in by_layer.items())
    names = [say(f"{count} {layer}", f"{layer} {count}") for count, layer in layers]
    return say(", ", "，").join(names) or say("none yet", "暂无")


def _capture(capture: dict[str, Any], at: str) -> str:
    """How much was captured, the last time `at`."""
    count, until = capture["sessions"], capture["pausedUntil"]
    return ui.joined(
        (not at, 'nothing yet; run "nacre sync"', "尚未采集；请运行“nacre sync”"),
        (at, f"{ui.plural(count, 'session')}, last {at}", f"{count} 个会话，最近一次：{at}"),
        (capture["paused"] and until, f"; paused until {until}", f"；已暂停，直到 {until}"),
        (capture["paused"] and not until, "; paused", "；已暂停"),
        (not capture["meaning"], "; less precise without the embedding models", "；未安装嵌入模型，准确度较低"),
    )


def _jobs(memory: Memory, jobs: dict[str, Any], daemon: dict[str, Any] | None) -> str:
    """The last and the next run in one line, which jobs fail, and who runs them."""
    if jobs["trouble"]:
        return str(jobs["trouble"])
    ran, by = [state for state in jobs["states"] if state["last"]], runners(memory, daemon)
    if not ran and not by:
        return nothing_runs(memory)
    parts = [] if ran else [say("no runs yet", "尚未运行过")]
    for state in sorted(ran, key=itemgetter("last"))[-1:]:
        name, at = state["name"], _at(state["last"])
        result = result_word(state["result"]) if state["result"] else say("running", "运行中")
        parts.append(say(f"last {name} {at} ({result})", f"上次 {name} {at}（{result}）"))
    coming = [state for state in jobs["states"] if state["next"] and by]
    for state in sorted(coming, key=itemgetter("next"))[:1]:
        name, at = state["name"], _at(state["next"])
        parts.append(say(f"next {name} {at}", f"下次 {name} {at}"))
    for state in jobs["states"]:
        name, at = state["name"], _at(state["failingSince"] or "")
        parts += ui.every((at, f"{name} failing since {at}", f"{name} 自 {at} 起一直失败"))
    parts.append(say(f"run by {', '.join(by)}", f"由 {'、'.join(by)} 运行") if by else nothing_runs(memory))
    return say("; ", "；").join(parts)


def _daemon(daemon: dict[str, Any] | None) -> str:
    if daemon is None:
        return say("not running (optional)", "未运行（可选）")
    if not daemon["answers"]:
        return say(f"process {daemon['process']} is not responding", f"进程 {daemon['process']} 没有响应")
    skew = daemon["skew"] and skew_words(daemon["skew"])
    since, megabytes, url = _at(daemon["since"]), daemon["memoryMb"], (daemon.get("http") or {}).get("url")
    return ui.joined(
        (True, f"running since {since}, {megabytes:.0f} MB", f"自 {since} 起运行，{megabytes:.0f} MB"),
        (daemon["watching"] == "events", ", watching files", "，正在监视文件"),
        (daemon["watching"] == "scanning", ", scanning files periodically", "，定时扫描文件"),
        (url, f", MCP at {url}", f"，MCP：{url}"),
        (skew, f"; not used by this command: {skew}", f"；本命令没有使用它：{skew}"),
    )


def _at(moment: str) -> str:
    return moment.replace("T", " ")[:16]


def _index(index: dict[str, Any]) -> str:
    files, chunks, size = index["files"], index["chunks"], ui.size_of(index["bytes"])
    changed, check = index["changed"], index["check"]
    return ui.joined(
        (True, f"files: {files}; passages: {chunks}; {size}", f"{files} 个文件，{chunks} 段，{size}"),
        (changed, f"; {ui.plural(changed, 'file')} changed since indexing", f"；此后有 {changed} 个文件有变化"),
        (index["outdated"], '; settings changed, run "nacre index"', "；设置已更改，请运行“nacre index”"),
        (check not in (None, "ok"), f"; damaged: {check}", f"；已损坏：{check}"),
    )


def _vectors(embedding: dict[str, Any]) -> str:
    reason, works, waiting = embedding["reason"], embedding["works"], embedding["waiting"]
    if reason and not embedding["models"]:
        return str(reason)
    about = ui.joined(
        (waiting, f"; {ui.plural(waiting, 'passage')} to embed", f"；{waiting} 段待生成向量"),
        (works is True, "; working", "；可用"),
        (works not in (None, True), f"; not working: {works}", f"；不可用：{works}"),
        (reason, f" ({reason})", f"（{reason}）"),
    )
    return f"{embedding['provider']}: {', '.join(embedding['models'])}{about}"


# What is wrong: with how memory is kept, and with its setup.


@ui.command("nacre health -v", join=True)
@ui.flag("--verbose", "-v", "Show every problem, not just the first of each kind.")
def health(options: ui.Options, *, verbose: bool) -> Iterator[Report]:
    """Grade memory from A to F, list its problems with the command that fixes each, and show what it contains.

    Changes nothing. A bad grade is not an error: the exit code is 0 as long as memory can be read.
    """
    for memory in ui.open_all(options):
        with ui.waiting("Checking", "正在检查"):
            report = check_health(memory)
        facts = {"workspace": str(memory.workspace.root), "agent": memory.agent, **report.as_plain()}
        yield Report(facts, lines=[*_health_lines(memory, report, verbose=verbose)])


def _health_lines(memory: Memory, report: Health, *, verbose: bool) -> Iterator[str | Row]:
    grade, where = report.grade, ui.shown_path(memory.workspace.root)
    english = f"{where}: {grade.letter}, {grade.points} of 100 points"
    yield say(english, f"{where}：{grade.letter}（{grade.points}/100 分）")
    if lost := [f"{kind_title(deduction.kind)} −{deduction.points:g}" for deduction in grade.deductions[:REASONS]]:
        yield say("Points lost: ", "扣分：") + say(", ", "，").join(lost)
    for kind, findings in groupby(report.findings, key=attrgetter("kind")):  # they are sorted by kind
        problems = [*findings]
        yield ui.Coloured("\n" + kind_title(kind) + say(f": {len(problems)}", f"：{len(problems)}"), "yellow")
        yield from _problem_lines(problems[: None if verbose else 1], 2)
    yield "\n" + say("Contents", "内容概况")
    general, projects = report.figures["longterm"][:1], report.figures["longterm"][1:]
    projects = sorted(projects, key=lambda size: -size["share"])[: None if verbose else PROJECTS]
    for size in (*general, *projects):
        english = f"{ui.plural(size['entries'], 'entry')}, {{lines}} lines, {{bytes}} bytes: {{share:.0%}} of the limit"
        chinese = "{entries} 条，{lines} 行，{bytes} 字节：占上限的 {share:.0%}"
        yield size["path"], say(english, chinese).format(**size)
    yield say("files", "文件"), _files(report.figures["files"])
    yield say("tokens (approx.)", "token 数（约）"), f"{report.figures['tokens']:,}"


def _problem_lines(problems: Sequence[Problem], indent: int = 0) -> list[str]:
    """Each problem with its place and its remedy, wrapped to the terminal; indented where a heading names its kind."""
    severities = ui.localised("error 错误|warning 警告")
    lines: list[str] = []
    for problem in problems:
        place = "" if problem.place in problem.message and (indent or sys.stdout.isatty()) else problem.place
        lead = "" if indent else severities[problem.severity]
        text = "  ".join(filter(None, (lead, place, nested_quotes(problem.message))))
        colour = "red" if problem.severity == "error" else "yellow"
        lines += [line if indent else ui.Coloured(line, colour) for line in ui.fitted(text, indent)]
        if problem.remedy not in problem.message:
            lines += ui.fitted(f"→ {problem.remedy}", 4)
    return lines


@ui.command("nacre doctor --fix")
@ui.flag(
    "--fix",
    "Fix what can be fixed without changing your notes: index, missing files, permissions, stale sockets.",
)
def doctor(options: ui.Options, *, fix: bool) -> Report:
    """Check files, settings, index, models, agents, jobs and daemon for problems, and show how to fix them.

    Exit code 0 if nothing prevents Nacre from working, 1 otherwise.
    """
    by_agent: list[tuple[str | None, Problem]] = []
    try:
        for memory in ui.open_all(options):
            for line in (*repair(memory), *clear_sockets(memory)) if fix else ():
                ui.note(line)
            with ui.waiting("Checking", "正在检查"):
                by_agent += [(memory.agent, problem) for problem in _all_problems(memory)]
    except BadSetting as error:  # settings that stop every command are what doctor is asked about
        by_agent.append((None, bad_setting(error)))
    problems = [problem for _, problem in by_agent]
    return Report(
        [{"agent": agent, **problem.as_plain()} for agent, problem in by_agent],
        lines=[*_problem_lines(problems), *ui.every((not problems, "No problems found.", "没有发现问题。"))],
        code=int(any(problem.severity == "error" for problem in problems)),
    )


def _all_problems(memory: Memory) -> list[Problem]:
    return [*examine(memory), *daemon_problems(memory), *_broken_connections(memory)]


def _broken_connections(memory: Memory) -> list[Problem]:
    return list(connection_problems(ALL_AGENTS, this_machine(), state_folder(), memory.workspace.root))
