"""nacre status, health, doctor: the workspace at a glance, how well memory is kept, and what is wrong with its setup."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nacre.cli import ui
from nacre.errors import BadSetting, NacreError
from nacre.i18n import say
from nacre.model.report import Problem, Report
from nacre.text.layout import cut

if TYPE_CHECKING:
    from nacre.checks.health import Grade, Health
    from nacre.memory import Memory


PRESSING = 2  # problems that are shown first


@ui.command("nacre status --all", join=True)
@ui.flag("--all", "everything", "Show all details and every problem.")
@ui.flag("--deep", "Also check the index file and test the embedding models.")
@ui.flag("--index", "reindex", "Update the index first if files changed.")
@ui.flag("--verbose", "List the problems found, with details.")
def status(options: ui.Options, *, everything: bool, deep: bool, reindex: bool, verbose: bool) -> Iterator[Report]:
    """Show the state of memory on one screen, with the two most important problems and how to fix them.

    --all shows everything: workspace, sizes and limits, index, models, daemon, and every problem.
    """
    from nacre.checks.status import grade_and_problems, status_facts
    from nacre.daemon.process import ask_status

    for memory in ui.open_all(options):
        if reindex:
            with ui.waiting("Indexing", "正在更新索引"):
                memory.index()
        with ui.waiting("Checking", "正在检查"):
            facts = {**status_facts(memory, ask_status(memory), deep=deep), "connections": _connections()}
            grade, problems = grade_and_problems(memory)
        facts["health"] = {"grade": grade.letter, "points": grade.points}
        if not (everything or deep or verbose):
            yield _screen(memory, facts, grade, [*problems, *_broken_connections(memory)])
            continue
        report = _status_report(memory, facts, verbose=verbose)
        yield report
        if everything:
            yield from _everything(memory)


def _everything(memory: Memory) -> Iterator[Report]:
    """What health and doctor tell, below all that status does; programs have their own commands for it."""
    from nacre.checks.doctor import examine
    from nacre.checks.health import check_health

    where = ui.shown_path(memory.workspace.root)
    yield Report(lines=["", *_health_lines(check_health(memory), where, verbose=True)])
    from nacre.daemon.problems import daemon_problems

    problems = [*examine(memory), *daemon_problems(memory), *_broken_connections(memory)]
    yield Report(lines=["", *_problem_lines(problems)] if problems else [])


def _screen(memory: Memory, facts: dict[str, Any], grade: Grade, problems: list[Problem]) -> Report:
    """What one wants to know every day, on one screen."""
    longterm, night, waiting, now = facts["longterm"], facts["night"], facts["review"], memory.clock.now()
    of_lines = say("{lines} of {maxLines} lines", "{lines}/{maxLines} 行").format(**longterm)
    of_bytes = say("{bytes} of {maxBytes} bytes", "{bytes}/{maxBytes} 字节").format(**longterm)
    health = say(f"{grade.letter}, {grade.points} of 100 points", f"{grade.letter}（{grade.points}/100 分）")
    tidied = say('not yet; run "nacre tidy"', "尚未整理；请运行“nacre tidy”")
    if night is not None:
        tidied = ui.age_of(night["at"], now) + say(": ", "：") + _night_line(night)
    agents = say(", ", "、").join(_connected(facts))
    unconnected = ui.Coloured(say('none connected; run "nacre connect"', "未连接；请运行“nacre connect”"), "yellow")
    asks = ui.Coloured(say(f'{waiting} waiting; run "nacre review"', f"{waiting} 项；请运行“nacre review”"), "yellow")
    synced = facts["capture"]["synced"]
    rows = [
        (say("workspace", "工作区"), _where(facts)),
        (say("health", "健康状况"), ui.Coloured(health, _GRADE_COLOURS.get(grade.letter, "red"))),
        ("MEMORY.md", _gauge(longterm["lines"], longterm["maxLines"], of_lines)),
        ("", _gauge(longterm["bytes"], longterm["maxBytes"], of_bytes)),
        (say("captured", "采集"), _capture(facts["capture"], ui.age_of(synced, now) if synced else "")),
        (say("tidied", "整理"), tidied),
        (say("agents", "智能体"), agents or unconnected),
        (say("jobs", "任务"), _jobs(memory, facts["jobs"], facts["daemon"])),
        (say("questions", "待确认"), asks if waiting else say("none", "无")),
    ]
    shown, more = problems[:PRESSING], len(problems) - PRESSING
    rest = f'{ui.plural(more, "more problem")}; run "nacre status --all".'
    lines = [*rows, "", *_problem_lines(shown)] if shown else rows
    return Report(
        facts, lines=lines, notes=ui.every((more > 0, rest, f"另有 {more} 个问题；请运行“nacre status --all”。"))
    )


_GRADE_COLOURS = {"A": "green", "B": "green", "C": "yellow", "D": "yellow"}


def _gauge(value: int, most: int, words: str) -> str:
    share = value / (most or 1)
    bar = ui.bar(share)
    return ui.Coloured(f"{bar}{share:.0%}{say(', ', '，')}{words}", bar.colour)


def _problem_lines(problems: list[Problem]) -> list[str]:
    """Each problem with where it is and what mends it, as wide as the screen."""
    from nacre.checks.health import UNTYPED, kind_title

    lines: list[str] = []
    for problem in problems:
        place = "" if sys.stdout.isatty() and problem.place in problem.message else problem.place
        title = kind_title(UNTYPED) if problem.kind == UNTYPED else ""  # whose message is but the note itself
        text = "  ".join(filter(None, (_severities()[problem.severity], title, place, problem.message)))
        colour = "red" if problem.severity == "error" else "yellow"
        lines += [ui.Coloured(line, colour) for line in ui.fitted(text)]
        lines += ui.fitted(f"→ {problem.remedy}", 4) if problem.remedy and problem.remedy not in problem.message else []
    return lines


def _severities() -> dict[str, str]:
    return ui.localised({"error": "错误", "warning": "警告"})


def _broken_connections(memory: Memory) -> list[Problem]:
    """What is wrong with the connections of agents; nothing where none was ever made."""
    from nacre.agents.connection import RECORD_NAME, connection_problems, state_folder

    if not (state_folder() / RECORD_NAME).exists():
        return []
    from nacre.agents.registry import all_agents
    from nacre.jobs.installer import this_machine

    return list(connection_problems(all_agents(), this_machine(), state_folder(), memory.workspace.root))


def _connected(facts: dict[str, Any]) -> list[str]:
    broken = say(' (broken; run "nacre doctor")', "（已损坏；请运行“nacre doctor”）")
    return [
        state["agent"] + (broken if state["missing"] or state["unreadable"] or not state["starts"] else "")
        for state in facts["connections"]
        if os.path.realpath(state["workspace"]) == os.path.realpath(facts["workspace"])
    ]


def _where(facts: dict[str, Any]) -> str:
    return ui.shown_path(facts["workspace"]) + (f"  ({facts['agent']})" if facts["agent"] else "")


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
    indexed = sessions and say(
        f"{count} indexed, {ui.plural(messages, 'message')}", f"已索引 {count} 个，共 {messages} 条消息"
    )
    connected = _connected(facts)
    unconnected = say('none connected; run "nacre connect"', "未连接；请运行“nacre connect”")
    rows = [
        ("workspace", "工作区", _where(facts)),
        ("MEMORY.md", "MEMORY.md", limits),
        ("files", "文件", _files(facts["files"])),
        ("capture", "采集", _capture(facts["capture"], _at(facts["capture"]["synced"] or ""))),
        *_brain(facts["brain"]),
        *_night(memory, facts["night"]),
        ("agents", "智能体", say(", ", "、").join(connected) or unconnected),
        ("jobs", "任务", _jobs(memory, facts["jobs"], facts["daemon"])),
        ("daemon", "守护进程", _daemon(facts["daemon"])),
        ("index", "索引", _index(facts["index"])),
        ("sessions", "会话", indexed),
        ("vectors", "向量", _vectors(facts["embedding"])),
        ("history", "历史", say(ui.plural(facts["history"], "operation"), f"{facts['history']} 次操作")),
    ]
    waiting, count = facts["review"], len(problems)
    over = 'MEMORY.md is over its limits and accepts no new entries; "nacre review --adopt" makes room.'
    full, share = "MEMORY.md is nearly full: over 90% of its limits.", longterm["share"]
    listed = f'{ui.plural(count, "problem")} found; run "nacre doctor".'
    sentences = ui.every(
        (share > 1, over, "MEMORY.md 已超出上限，无法再写入新条目；“nacre review --adopt”可腾出空间。"),
        (0.9 <= share <= 1, full, "MEMORY.md 快满了：已超过上限的 90%。"),
        (
            waiting,
            f'{ui.plural(waiting, "question")} waiting for you; run "nacre review".',
            f"有 {waiting} 个问题待你确认；请运行“nacre review”。",
        ),
        (count and not verbose, listed, f"发现 {count} 个问题；请运行“nacre doctor”。"),
    )
    shown = [": ".join(filter(None, (problem["path"], problem["message"]))) for problem in problems if verbose]
    lines = [(say(english, chinese), value) for english, chinese, value in rows if value]
    return Report(facts, lines=lines, notes=[*sentences, *shown])


_LAYERS = {
    "longterm": "长期记忆",
    "daily": "每日日志",
    "weekly": "每周摘要",
    "archive": "归档",
    "note": "笔记",
    "extra": "其他",
}


def _files(by_layer: dict[str, int]) -> str:
    names = [say(f"{count} {layer}", f"{_LAYERS.get(layer, layer)} {count}") for layer, count in by_layer.items()]
    return say(", ", "，").join(names).replace("longterm", "long-term") or say("none yet", "暂无")


def _night(memory: Memory, night: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """What the last tidying did, and how long ago."""
    if night is None:
        return []
    line, ago = _night_line(night), ui.age_of(night["at"], memory.clock.now())
    return [("last tidy", "上次整理", say(f"{ago}: {line}", f"{ago}：{line}"))]


def _night_line(night: dict[str, Any]) -> str:
    from nacre.tidy.night import Night

    return Night(night["added"], night["replaced"], night["questions"]).line


def _brain(brain: dict[str, Any] | None) -> list[tuple[str, str, str]]:
    """Who writes the logs, what that cost today and what earlier answers saved."""
    if brain is None:
        return []
    from nacre.cli.brain import spent, waiting, writer

    who, saved = writer(brain["extract"], brain["model"]), brain["saved"]
    line = say(f"{who}; today {spent(brain)}", f"{who}；今日用量 {spent(brain)}")
    line += say(f", {saved} saved by the cache", f"，缓存节省 {saved}") if saved else ""
    line += "".join(say(f"; waiting: {text}", f"；等待中：{text}") for text in waiting(brain))
    return [("written by", "撰写者", line)]


def _capture(capture: dict[str, Any], at: str) -> str:
    """How much was captured, the last time `at`."""
    count, until = capture["sessions"], capture["pausedUntil"]
    return ui.joined(
        (not at, 'nothing yet; run "nacre sync"', "尚未采集；请运行“nacre sync”"),
        (at, f"{ui.plural(count, 'session')}, last {at}", f"{count} 个会话，最近一次：{at}"),
        (capture["paused"] and until, f"; paused until {until}", f"；已暂停，直到 {until}"),
        (capture["paused"] and not until, "; paused", "；已暂停"),
        (
            not capture["meaning"],
            "; less precise without the embedding models",
            "；未安装嵌入模型，准确度较低",
        ),
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
    parts = [] if ran else [say("no runs yet", "尚未运行过")]
    for state in sorted(ran, key=lambda state: state["last"])[-1:]:
        name, at = state["name"], _at(state["last"])
        result = result_word(state["result"]) if state["result"] else say("running", "运行中")
        parts.append(say(f"last {name} {at} ({result})", f"上次 {name} {at}（{result}）"))
    for state in sorted(coming, key=lambda state: state["next"])[: 1 if by else 0]:
        name, at = state["name"], _at(state["next"])
        parts.append(say(f"next {name} {at}", f"下次 {name} {at}"))
    for state in jobs["states"]:
        name, at = state["name"], _at(state["failingSince"] or "")
        parts += ui.every((at, f"{name} failing since {at}", f"{name} 自 {at} 起一直失败"))
    parts.append(say(f"run by {', '.join(by)}", f"由 {'、'.join(by)} 运行") if by else nobody(memory))
    return say("; ", "；").join(parts)


def _daemon(daemon: dict[str, Any] | None) -> str:
    if daemon is None:
        return say("not running (optional)", "未运行（可选）")
    if not daemon["answers"]:
        return say(f"process {daemon['process']} is not responding", f"进程 {daemon['process']} 没有响应")
    from nacre.daemon.problems import skew_words

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


# nacre health: how well memory is kept.

REASONS = 3  # deductions that are named first
PROJECTS = 3  # lines about projects, unless all are asked for
WIDTH = 56  # columns of the text of a finding, unless all is asked for


@ui.command("nacre health -v", join=True)
@ui.flag("--verbose", "-v", "Show every problem, not just the first of each kind.")
def health(options: ui.Options, *, verbose: bool) -> Iterator[Report]:
    """Grade memory from A to F, list its problems with the command that fixes each, and show what it contains.

    Changes nothing. A bad grade is not an error: the exit code is 0 as long as memory can be read.
    """
    from nacre.checks.health import check_health

    for memory in ui.open_all(options):
        with ui.waiting("Checking", "正在检查"):
            report = check_health(memory)
        facts = {"workspace": str(memory.workspace.root), "agent": memory.agent, **report.as_plain()}
        yield Report(facts, lines=_health_lines(report, ui.shown_path(memory.workspace.root), verbose=verbose))


def _health_lines(report: Health, where: str, *, verbose: bool) -> list[str | tuple[str, ...]]:
    from nacre.checks.health import kind_title

    grade = report.grade
    chinese = f"{where}：{grade.letter}（{grade.points}/100 分）"
    lines: list[str | tuple[str, ...]] = [say(f"{where}: {grade.letter}, {grade.points} of 100 points", chinese)]
    if grade.deductions:
        lost = [f"{kind_title(one.kind)} −{one.points:g}" for one in grade.deductions[:REASONS]]
        why = say("Points lost", "扣分") if grade.letter == "A" else say("Why it is not an A", "扣分原因")
        lines.append(why + say(": ", "：") + say(", ", "，").join(lost))
    lines += [""] if report.findings else []
    for head, remedy, text in _finding_rows(report, verbose=verbose):
        if not sys.stdout.isatty():
            lines.append((head, remedy, text))
            continue
        lines += [ui.Coloured(head, "yellow")] if head else []
        lines += [*ui.fitted(text, 2), *ui.fitted(remedy, 4)]
    return [*lines, "\n" + say("Contents", "内容概况"), *_figures(report.figures, verbose=verbose)]


def _finding_rows(report: Health, *, verbose: bool) -> Iterator[tuple[str, str, str]]:
    """The findings by kind, with what mends them; of each kind the first, unless all are asked for."""
    from nacre.checks.health import kind_title

    by_kind: dict[str, list[tuple[str, str]]] = {}
    for finding in report.findings:
        text = finding.message
        if finding.place and finding.place not in text:
            text = finding.place + say(": ", "：") + text
        by_kind.setdefault(finding.kind, []).append(
            (f"→ {finding.remedy}", text if verbose or sys.stdout.isatty() else cut(text, WIDTH))
        )
    for kind, rows in by_kind.items():
        head = kind_title(kind) + say(f": {len(rows)}", f"：{len(rows)}")
        for place, row in enumerate(rows if verbose else rows[:1]):
            yield ("" if place else head, *row)


def _figures(figures: dict[str, Any], *, verbose: bool) -> Iterator[tuple[str, str]]:
    general, projects = figures["longterm"][:1], sorted(figures["longterm"][1:], key=lambda size: -size["share"])
    for size in (*general, *(projects if verbose else projects[:PROJECTS])):
        entries = "1 entry" if size["entries"] == 1 else f"{size['entries']} entries"
        english = f"{entries}, {{lines}} lines, {{bytes}} bytes: {{share:.0%}} of the limit"
        yield (
            size["path"],
            say(english, "{entries} 条，{lines} 行，{bytes} 字节：占上限的 {share:.0%}").format(**size),
        )
    yield (say("files", "文件"), _files(figures["files"]))
    yield (say("tokens (approx.)", "token 数（约）"), f"{figures['tokens']:,}")


@ui.command("nacre doctor --fix")
@ui.flag(
    "--fix",
    "Fix what can be fixed without changing your notes: index, missing files, permissions, stale sockets.",
)
def doctor(options: ui.Options, *, fix: bool) -> Report:
    """Check files, settings, index, models, agents, jobs and daemon for problems, and show how to fix them.

    Exit code 0 if nothing prevents Nacre from working, 1 otherwise.
    """
    from nacre.checks.doctor import bad_setting, examine, repair
    from nacre.daemon.problems import clear_sockets, daemon_problems

    problems: list[tuple[str | None, Problem]] = []
    try:
        for memory in ui.open_all(options):
            for line in (*repair(memory), *clear_sockets(memory)) if fix else ():
                ui.note(line)
            with ui.waiting("Checking", "正在检查"):
                found = (*examine(memory), *daemon_problems(memory), *_broken_connections(memory))
            problems += [(memory.agent, problem) for problem in found]
    except BadSetting as error:  # settings that stop every command are what doctor is asked about
        problems.append((None, bad_setting(error)))
    lines = _problem_lines([problem for _, problem in problems])
    fine = ui.every((not problems, "No problems found.", "没有发现问题。"))
    facts = [{"agent": agent, **problem.as_plain()} for agent, problem in problems]
    broken = any(problem.severity == "error" for _, problem in problems)
    return Report(facts, lines=[*lines, *fine], code=int(broken))
