"""The agents on this machine: whether their talks can be read, and whether the whole way from a talk to an answer works."""

from __future__ import annotations

from nacre.doctor.proof import captured
from nacre.doctor.talks import TALKS
from nacre.errors import NacreError
from nacre.memory import Memory
from nacre.model.problem import Problem
from nacre.sources.transcript import Source, Transcript
from nacre.words import say

_STRANGE = 20  # entries of unknown form in one transcript, from which on the form may have changed


def problems(memory: Memory) -> list[Problem]:
    """For each agent that keeps talks here: a proof in a scratch workspace, and a look at its newest talk."""
    found: list[Problem] = []
    for name, source, newest in connected(memory):
        found += _proven(name, source, memory)
        found += _legible(source, newest, memory)
    return found


def connected(memory: Memory) -> list[tuple[str, Source, Transcript]]:
    """The readers that find something on this machine, each with the newest talk; not those that are switched off."""
    from nacre.sources.consent import settings_of
    from nacre.sources.registry import MODULES, sources
    from nacre.sources.whose import places_of

    places = places_of(memory.config)
    found: list[tuple[str, Source, Transcript]] = []
    for name, source in zip(MODULES, sources(), strict=True):
        if not settings_of(memory.config, source.agent).enabled:
            continue
        newest = max(source.find(places), key=lambda one: one.changed, default=None)
        if newest:
            found.append((name, source, newest))
    return found


def _proven(name: str, source: Source, memory: Memory) -> list[Problem]:
    try:
        where = captured(source, TALKS[name], memory)
    except NacreError as trouble:
        where = str(trouble).rstrip(".。")
    if where is None:
        return []
    return [
        Problem(
            "capture",
            say(
                f"A talk with {source.agent} ({name}), tried out in a scratch workspace, was not captured: {where}.",
                f"在临时工作区试采 {source.agent}（{name}）的对话失败：{where}。",
            ),
            severity="error",
            remedy=say('update Nacre, then run "nacre doctor" again', "请更新 Nacre，再运行“nacre doctor”"),
        )
    ]


def _legible(source: Source, newest: Transcript, memory: Memory) -> list[Problem]:
    """Whether the newest talk of the user's can be read, and is of a form that is known. Nothing of it is kept."""
    try:
        reading = source.read(newest, None, memory.clock.fixed)
    except OSError as trouble:
        message = say(
            f"The newest talk with {source.agent} cannot be read: {trouble.strerror or trouble}.",
            f"无法读取与 {source.agent} 的最新对话：{trouble.strerror or trouble}。",
        )
        remedy = say("check the permissions of the file", "请检查该文件的权限")
        return [Problem("transcript unreadable", message, str(newest.path), remedy=remedy)]
    messages = len(reading.session.messages) if reading.session else 0
    if reading.unknown < _STRANGE or reading.unknown < messages:
        return []
    message = say(
        f"{reading.unknown} entries of the newest talk with {source.agent} are of a form that Nacre does not know.",
        f"与 {source.agent} 的最新对话中有 {reading.unknown} 条记录的格式 Nacre 不认识。",
    )
    remedy = say(
        'update Nacre; "nacre sync --list" shows what it can read',
        "请更新 Nacre；可用“nacre sync --list”查看能读取的内容",
    )
    return [Problem("transcript of unknown form", message, str(newest.path), remedy=remedy)]
