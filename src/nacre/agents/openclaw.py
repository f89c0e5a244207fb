"""OpenClaw: our plugin in its memory slot, in openclaw.json; where OpenClaw itself is not at hand, an MCP server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from nacre.agents.edits import JSON, Add, Edit, Put, value_at
from nacre.agents.registry import (
    OFF,
    OURS,
    READ,
    STAYS,
    Agent,
    Call,
    ConnectOptions,
    Ownership,
    Requirements,
    Target,
    settings_folder,
    settings_values,
)
from nacre.i18n import say
from nacre.jobs.installer import Machine

PLUGIN = Path(__file__).resolve().parents[1] / "plugins" / "openclaw"
_CORE: tuple[str, ...] = ("plugins", "entries", "memory-core", "enabled")
_DREAMING: tuple[str, ...] = ("plugins", "entries", "memory-core", "config", "dreaming", "enabled")
_SESSION_NOTES: tuple[str, ...] = ("hooks", "internal", "entries", "session-memory", "enabled")
# What OpenClaw does beside us, and can be switched off.
_DOUBLED = {
    _CORE: (
        "memory-core, whose dreaming rewrites MEMORY.md at night",
        "memory-core，其 dreaming 会在夜间改写 MEMORY.md",
    ),
    _DREAMING: ("dreaming, which rewrites MEMORY.md at night", "夜间改写 MEMORY.md 的 dreaming"),
    _SESSION_NOTES: (
        "the session-memory hook, which writes a note at /new",
        "在 /new 时写笔记的 session-memory 钩子",
    ),
}


def _signs(machine: Machine) -> tuple[Path, Path]:
    state = machine.openclaw_folder
    return state, settings_folder(machine, "OPENCLAW_CONFIG_PATH", str(state / "openclaw.json"))


def _wanted(machine: Machine, call: Call, options: ConnectOptions) -> Requirements:
    settings = _signs(machine)[1]
    if not machine.where("openclaw") or not (PLUGIN / "openclaw.plugin.json").is_file():
        return _as_server(settings, call)
    values = settings_values(settings)
    edits: list[Edit] = [
        Add(("plugins", "load", "paths"), str(PLUGIN), (os.path.join("nacre", "plugins", "openclaw"),)),
        Put(("plugins", "slots", "memory"), "nacre"),
        Put(("plugins", "entries", "nacre"), _entry(machine, call)),
    ]
    allowed = value_at(values, ("plugins", "allow"))
    if isinstance(allowed, list) and allowed:
        edits.append(Add(("plugins", "allow"), "nacre"))
    notes = [
        say(
            'While Nacre holds the memory slot there is no "openclaw memory …": "nacre search", "nacre status" and "nacre index" stand for its '
            'commands, or "openclaw nacre …" with the same words.',
            "在 Nacre 占据记忆槽位期间，没有“openclaw memory …”命令：请改用“nacre search”“nacre status”“nacre index”，"
            "或以同样的参数运行“openclaw nacre …”。",
        )
    ]
    if value_at(values, ("plugins", "enabled")) is False:
        english = f"{settings} says plugins.enabled: false, so OpenClaw loads no plugin until that is changed."
        notes.append(say(english, f"{settings} 设置了 plugins.enabled: false，更改之前 OpenClaw 不会加载任何插件。"))
    off = [path for path in (_DREAMING, _CORE, _SESSION_NOTES) if path in options.connected]
    doubled = [path for path in _doubled(values) if path not in off]
    off += doubled if options.switch_off else []
    edits += [Put(path, value=False) for path in off]
    return Requirements(
        (Target(settings, JSON, tuple(edits)),),
        _owned(values, off),
        _question(doubled),
        tuple(notes),
        ("openclaw", "plugins", "install", "--link", str(PLUGIN), "--force", "--accept-capabilities"),
        ("openclaw", "plugins", "uninstall", "nacre", "--force"),
        ("openclaw", "config", "validate"),
    )


def _entry(machine: Machine, call: Call) -> dict[str, Any]:
    """Without allowConversationAccess OpenClaw would keep the end of a turn, and the moment before a prompt, from us."""
    config = {"command": call.program[0]} if len(call.program) == 1 else {}
    workspace = call.more[1] if call.more else ""
    if workspace and workspace not in map(os.path.realpath, machine.openclaw_workspaces().values()):
        config["workspace"] = workspace
    entry: dict[str, Any] = {"enabled": True, "hooks": {"allowConversationAccess": True}}
    return {**entry, "config": config} if config else entry


def _as_server(settings: Path, call: Call) -> Requirements:
    note = say(
        'OpenClaw\'s own command is not at hand here, so it is given an MCP server. Where "openclaw" can be run, "nacre connect openclaw" puts '
        "the plugin in its memory slot instead, which also injects, flushes and captures.",
        "此处无法运行 OpenClaw 自己的命令，因此只为它登记 MCP 服务。在能运行“openclaw”的地方执行“nacre connect openclaw”，"
        "即可改用占据其记忆槽位的插件，它还能注入、落盘和采集。",
    )
    stays = "OpenClaw's own memory search, flush and notes: all of it stays as it is."
    ours = "The tools nacre__memory_search and so on: Nacre."
    ownership = (
        Ownership(STAYS, say(stays, "OpenClaw 自己的记忆搜索、落盘与笔记：全部保持原样。")),
        Ownership(OURS, say(ours, "nacre__memory_search 等工具：由 Nacre 负责。")),
    )
    server = Target(settings, JSON, (Put(("mcp", "servers", "nacre"), call.server()),))
    return Requirements((server,), ownership, notes=(note,))


def _doubled(values: Any) -> list[tuple[str, ...]]:
    """What OpenClaw would go on doing beside us: its dreaming unless that is off already, and its notes of sessions where they are on.

    Out of the memory slot memory-core does nothing but dream. It is switched off whole, because settings for a plugin that is not in use
    make "openclaw plugins doctor" complain; where the user has settings for it, only the dreaming is.
    """
    doubled: list[tuple[str, ...]] = []
    if value_at(values, _DREAMING) is not False and value_at(values, _CORE) is not False:
        doubled.append(_DREAMING if value_at(values, (*_CORE[:3], "config")) else _CORE)
    if value_at(values, _SESSION_NOTES) is True:
        doubled.append(_SESSION_NOTES)
    return doubled


def _question(doubled: list[tuple[str, ...]]) -> str:
    if _SESSION_NOTES in doubled:
        return say(
            "OpenClaw's dreaming rewrites MEMORY.md at night and its session-memory hook writes a note at /new; Nacre does both. Switch them off?",
            "OpenClaw 的 dreaming 会在夜间改写 MEMORY.md，它的 session-memory 钩子会在 /new 时写笔记；这两件事 Nacre 都会做。是否关闭它们？",
        )
    if not doubled:
        return ""
    return say(
        "OpenClaw's dreaming rewrites MEMORY.md at night; Nacre's tidying does that work. Switch the dreaming off?",
        "OpenClaw 的 dreaming 会在夜间改写 MEMORY.md；这项工作由 Nacre 的整理来做。是否关闭 dreaming？",
    )


def _owned(values: Any, off: list[tuple[str, ...]]) -> tuple[Ownership, ...]:
    before = value_at(values, ("plugins", "slots", "memory"))
    slot = before if isinstance(before, str) and before != "nacre" else "memory-core"
    rows = [
        (
            STAYS,
            "MEMORY.md and the agent's other files at the start of a session: OpenClaw goes on giving them, and Nacre does not give them again.",
            "会话开始时的 MEMORY.md 及代理的其他文件：仍由 OpenClaw 提供，Nacre 不会重复提供。",
        ),
        (
            STAYS,
            "The turn before compaction: OpenClaw goes on calling it, with Nacre's words and its check of what was written.",
            "压缩前的落盘轮次：仍由 OpenClaw 发起，使用 Nacre 的提示词并由 Nacre 检查写入的内容。",
        ),
        (
            OURS,
            f"memory_search and memory_get, the rules in the prompt, capture after a turn: Nacre, in the memory slot in place of {slot}.",
            f"memory_search 和 memory_get、提示词中的规则、每轮之后的采集：由 Nacre 负责，取代 {slot} 占据记忆槽位。",
        ),
        (
            READ,
            "OpenClaw's settings for search and for the turn before compaction: those that have an equal are taken over; keys and servers stay with OpenClaw.",
            "OpenClaw 的搜索与压缩前落盘设置：有对应项的将被沿用；密钥和服务器留在 OpenClaw。",
        ),
    ]
    doubled = _doubled(values)
    for path, (english, chinese) in _DOUBLED.items():
        if path in off:
            rows.append((OFF, f"Switched off: {english}.", f"关闭：{chinese}。"))
        elif path in doubled:
            twice = f"Left on beside Nacre: {english}. The same may then be written twice."
            rows.append((STAYS, twice, f"与 Nacre 并存：{chinese}。同样的内容可能因此写入两次。"))
    return tuple(Ownership(whose, say(english, chinese)) for whose, english, chinese in rows)


OPENCLAW = Agent("openclaw", "OpenClaw", ("openclaw",), _signs, _wanted)
