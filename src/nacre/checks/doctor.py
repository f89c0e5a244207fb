"""Every problem of files, settings, index, models and jobs with its remedy, and what can be repaired safely."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import stat
from collections.abc import Callable, Iterator

from nacre.embed.choose import embedding_problems
from nacre.errors import BadSetting, NacreError
from nacre.i18n import say
from nacre.jobs import installer
from nacre.jobs.run import job_states
from nacre.jobs.schedulers import SCHEDULERS
from nacre.memory import Memory
from nacre.model import Problem, Workspace, problem
from nacre.sources.registry import settings_of, sources
from nacre.vault import create

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OVERDUE = dt.timedelta(days=2)  # a laptop may sleep over a weekend's night, not run for two days without a job
_SLOW = "openclaw"  # its program takes seconds to be asked anything
MEND = "nacre doctor --fix"
_STRANGE = 20  # entries of unknown form in one transcript, from which on the form may have changed


def examine(memory: Memory, *, quick: bool = False) -> list[Problem]:
    """Every problem there is; none of them is raised. `quick` leaves out what opens every file, every agent's newest session or the
    whole index."""
    return [
        *memory.all_problems(every_file=not quick),
        *(() if quick else index_problems(memory)),
        *embedding_problems(memory.config),
        *(() if quick else transcript_problems(memory)),
        *job_problems(memory),
        *open_folders(memory.workspace),
    ]


def transcript_problems(memory: Memory) -> Iterator[Problem]:
    """Agents whose newest session is of an unknown form, as after an update; nothing of it is kept. What cannot be read, sync tells."""
    for source in (source for source in sources() if settings_of(memory.config, source.agent).enabled):
        newest = max(source.find(memory.places), key=lambda transcript: transcript.changed, default=None)
        try:
            reading = source.read(newest, None, memory.clock.fixed) if newest else None
        except OSError:
            continue
        messages = len(reading.session.messages) if reading and reading.session else 0
        if newest and reading and reading.unknown >= max(_STRANGE, messages):
            yield problem(
                "transcript of unknown form",
                f"The newest {source.agent} session contains records in a format that Nacre does not recognise ({reading.unknown}).",
                f"最新的 {source.agent} 会话中有 {reading.unknown} 条记录的格式无法识别。",
                str(newest.path),
                remedy=("update Nacre", "请更新 Nacre"),
            )


def index_problems(memory: Memory) -> Iterator[Problem]:
    store = memory.keeper.store
    shown = str(store.path)
    try:
        check = store.safely(lambda: store.db.execute("pragma quick_check(1)").fetchone()[0])
    except NacreError as error:
        yield Problem("index unusable", str(error), shown, severity="error", remedy=MEND)
        return
    if check != "ok" or store.recovered:
        english = "The index is damaged and will be rebuilt from your notes."
        yield problem("index damaged", english, "索引已损坏，将根据你的笔记重建。", shown, remedy="nacre index")
    if memory.keeper.outdated():
        english = "Settings have changed; searches still use the old index."
        yield problem("index outdated", english, "设置已更改；搜索仍在使用旧索引。", shown, remedy="nacre index")


def job_problems(memory: Memory) -> Iterator[Problem]:
    """Jobs that fail or do not run, and schedulers that were set up with another Python, location or settings."""
    try:
        states = job_states(memory)
    except BadSetting as error:
        yield bad_setting(error)
        return
    for job in states:
        if job.failing_since and job.last:
            since, reason = f"{job.failing_since:%Y-%m-%d %H:%M}", job.last.said or "-"
            times = f"{job.failures} time{'' if job.failures == 1 else 's'}"
            yield problem(
                "job fails",
                f"{job.name} has failed {times} since {since}: {reason}",
                f"{job.name} 自 {since} 起已失败 {job.failures} 次：{reason}",
                remedy=f"nacre jobs run {job.name}",
            )
    kinds = installer.installed_kinds(memory.workspace)
    if not kinds:
        return
    begun = max((job.last.started for job in states if job.last), default=None)
    if begun is None:
        with contextlib.suppress(OSError):
            begun = dt.datetime.fromtimestamp(installer.installed_path(memory.workspace).stat().st_mtime, dt.UTC)
    if begun and memory.clock.now() - begun > _OVERDUE:
        at = f"{memory.clock.local(begun):%Y-%m-%d %H:%M}"
        message = f"No job has run since {at}.", f"自 {at} 起没有任何任务运行过。"
        yield problem("jobs do not run", *message, remedy="nacre jobs install")
    setup, record = installer.Setup(memory, installer.this_machine()), installer.read_installed(memory.workspace)
    for kind in (kind for kind in kinds if kind in SCHEDULERS and kind != _SLOW):
        try:
            is_current = record[kind].get("complete") and not SCHEDULERS[kind].install(setup, record[kind]).steps
        except NacreError as error:
            yield Problem("service", str(error), remedy="nacre jobs remove")
            continue
        if not is_current:
            english = f"The jobs in {kind} were set up with a different Python, location or settings, or have been changed since."
            chinese = f"{kind} 中的任务是用另一个 Python、另一个路径或其他设置建立的，或之后被改动过。"
            yield problem("service outdated", english, chinese, remedy="nacre jobs install")


def bad_setting(error: BadSetting) -> Problem:
    """Settings that cannot be understood; the sentence says which and where."""
    return Problem("bad setting", str(error), severity="error", remedy=correct_it())


def correct_it() -> str:
    return say('correct the setting; "nacre config" lists all settings', "请更正该设置；“nacre config”可列出所有设置")


def open_folders(workspace: Workspace) -> Iterator[Problem]:
    """Folders that others may write to."""
    for folder, command in ((workspace.root, f"chmod go-w {workspace.root}"), (workspace.machine, MEND)):
        if _others_may_write(str(folder)):
            english = f"Other users can write to {folder} and tamper with your agents' memory."
            chinese = f"其他用户可以写入 {folder}，从而篡改智能体的记忆。"
            yield problem("open to others", english, chinese, str(folder), remedy=command)


def _others_may_write(path: str) -> bool:
    return is_own(path, stat.S_ISDIR) and bool(os.lstat(path).st_mode & _OTHERS_WRITE)


def is_own(path: str, is_kind: Callable[[int], bool]) -> bool:
    """Whether something of this kind lies there, and is this user's."""
    try:
        about = os.lstat(path)
    except OSError:
        return False
    return is_kind(about.st_mode) and (not hasattr(os, "getuid") or about.st_uid == os.getuid())


def repair(memory: Memory) -> list[str]:
    """Repair what can be repaired without changing a note; a sentence for each repair."""
    plan = create.plan_init(memory.workspace.root)
    done = [f"{step.action} {step.path}" for step in plan.plan.steps]
    if plan.plan:
        create.apply_init(plan, memory.clock, memory.config)
    machine = str(memory.workspace.machine)
    if _others_may_write(machine):
        os.chmod(machine, stat.S_IMODE(os.lstat(machine).st_mode) & ~_OTHERS_WRITE)
        done.append(say(f"Other users can no longer write to {machine}.", f"其他用户已无法写入 {machine}。"))
    report = memory.index()
    if memory.keeper.store.recovered:
        done.append(say("The damaged index was rebuilt.", "损坏的索引已重建。"))
    if report.text and (report.text.changed or report.text.removed):
        done.append(say("The index was updated.", "索引已更新。"))
    return done
