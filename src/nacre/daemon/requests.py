"""Search, context and get as requests: answered by one function each, in the daemon or in the command itself."""

from __future__ import annotations

import copy
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from nacre.daemon import fast
from nacre.errors import BadInput
from nacre.i18n import as_sentence, say, use_language_here
from nacre.memory import Memory, origin_elsewhere, printable
from nacre.model import Hit, Scope, SearchReport, fields
from nacre.text.tokens import query_tokens, tokens

OUT, NOTE = "out", "note"
_NOT_UNDERSTOOD = ("The daemon does not support this request.", "守护进程不支持该请求。")
_SEARCH_FLAGS = {"--json": "as_json", "--all-projects": "all_projects"}
_MOST_RESULTS = 1000
_PLAIN_LINES = 6  # of one hit, where no terminal shows it
_READING_TOOLS = ("memory_search", "memory_get", "memory_status")


class CannotAnswer(Exception):
    """A question that the client can answer itself, and the daemon cannot."""


@dataclass
class Printed:
    """What is printed, in order: lines of the result, and notes for people."""

    parts: list[tuple[str, str]] = field(default_factory=list)

    def text(self, kind: str) -> str:
        return "".join(text for part_kind, text in self.parts if part_kind == kind)

    def out(self, line: str) -> None:
        self.parts.append((OUT, f"{line}\n"))

    def note(self, english: str, chinese: str | None = None) -> None:
        self.parts.append((NOTE, f"{english if chinese is None else say(english, chinese)}\n"))

    def json(self, value: Any, *, terminal: int) -> None:
        self.out(json.dumps(value, ensure_ascii=False, indent=2 if terminal else None))


def _for_terminal(hit: Hit) -> Hit:
    """A hit without the control characters that people's notes may hold."""
    project = hit.project and printable(hit.project)
    return replace(
        hit, path=printable(hit.path), heading=printable(hit.heading), snippet=printable(hit.snippet), project=project
    )


def answer_search(
    memories: Sequence[Memory],
    *,
    query: str,
    limit: int | None = None,
    min_score: float | None = None,
    mode: str = "hybrid",
    corpus: str = "memory",
    project: str | None = None,
    all_projects: bool = False,
    explain: bool = False,
    as_json: bool = False,
    here: str = "/",
    terminal: int = 0,
    **wishes: Any,
) -> Printed:
    """The best hits of every memory together. `here` is the folder it was typed in, `terminal` how wide the terminal
    is on which people read the answer, 0 for none; `wishes`
    are the other arguments of `Memory.filters`."""

    def ask(memory: Memory, project: str | None) -> SearchReport:
        filters = memory.filters(project=project, **wishes)
        return memory.ask(query, limit, min_score=min_score, mode=mode, filters=filters, corpus=corpus)

    places = [None if all_projects else project or memory.project_here(here) for memory in memories]
    reports = list(map(ask, memories, places))
    pairs = [(hit, memory.agent) for report, memory in zip(reports, memories, strict=True) for hit in report.hits]
    hits = sorted(pairs, key=lambda pair: -pair[0].score)[: limit or memories[-1].config.search.max_results]
    fallbacks = list(dict.fromkeys(report.fallback for report in reports if report.fallback))
    printed = Printed()
    if as_json:
        rows = [
            hit.as_plain() | ({"agent": agent} if agent else {}) | ({"parts": dict(hit.parts)} if explain else {})
            for hit, agent in hits
        ]
        answer = reports[0].as_plain() | {
            "results": rows,
            "fallback": fallbacks[0] if fallbacks else None,
            "abstained": all(report.abstained for report in reports),
            "stale": any(report.stale for report in reports),
            "tookMs": round(sum(report.took_ms for report in reports), 2),
        }
        printed.json(answer, terminal=terminal)
        return printed
    for reason in fallbacks:
        printed.note(as_sentence(reason))
    if any(report.stale and not report.fallback for report in reports):
        printed.note(
            'The index is not complete yet; "nacre index" completes it.',
            "索引尚未完成；可用“nacre index”补全。",
        )
    if hits and all(hit.weak for hit, _ in hits):
        printed.note("Nothing in memory clearly answers this; closest matches:", "记忆中没有明确的答案；最接近的是：")
    elif not hits:
        printed.note("Nothing in memory matches.", "记忆中没有匹配的内容。")
    if all(hit.weak for hit, _ in hits) and not project:
        asked = [(ask(memory, None).hits, place) for memory, place in zip(memories, places, strict=True) if place]
        if more := sum(not hit.weak and hit.project not in (None, place) for rest, place in asked for hit in rest):
            printed.note(
                f"{more} more in other projects; use --all-projects", f"其他项目中另有 {more} 条：--all-projects"
            )
    if terminal:
        from nacre.search.show import hit_lines

        for line in hit_lines(
            [(_for_terminal(hit), agent) for hit, agent in hits],
            query,
            memories[0].clock.now(),
            terminal,
            explain=explain,
        ):
            printed.out(line)
        return printed
    for hit, agent in hits:
        about = [hit.date, hit.layer, agent, hit.project and f"project:{hit.project}", hit.id]
        about += [say("superseded", "已被取代")] * hit.superseded + [say("weak", "相关度低")] * hit.weak
        lines = [f"{hit.path}:{hit.start_line}  {hit.score:.2f}  {'  '.join(part for part in about if part)}"]
        lines += [f"  {hit.heading}"] if hit.heading else []
        lines += [f"  {line}" for line in lines_around_best(hit, query)]
        if hit.also:
            lines.append(f"  {say('also in', '另见')} {', '.join(hit.also)}")
        if explain:
            lines.append("  = " + "  ".join(f"{name} {value:g}" for name, value in hit.parts.items()))
            lines += ["  < " + "  ".join(f"{name} {value}" for name, value in hit.provenance.items())] * bool(
                hit.provenance
            )
        printed.out("\n".join([*lines, ""]))
    return printed


def lines_around_best(hit: Hit, query: str) -> list[str]:
    """The line of a hit that holds most of the words looked for, with a few around it."""
    lines, wanted = [line for line in hit.snippet.splitlines() if line.strip()], {*query_tokens(query)}
    best = max(range(len(lines)), key=lambda at: len(wanted.intersection(tokens(lines[at]))), default=0)
    first = max(0, min(best - _PLAIN_LINES // 3, len(lines) - _PLAIN_LINES))
    return lines[first : first + _PLAIN_LINES]


def answer_context(
    memory: Memory, *, verbose: bool = False, as_json: bool = False, terminal: int = 0, **wishes: Any
) -> Printed:
    """What a new session is given; `wishes` are the arguments of `Memory.context`."""
    pack = memory.context(**wishes)
    printed = Printed()
    if as_json:
        printed.json(pack.as_plain(), terminal=terminal)
        return printed
    if pack.text:
        printed.parts.append((OUT, pack.text))
    if pack.disabled:
        printed.note(
            'Context is turned off; turn it on with "nacre config set --user context.enabled true".',
            "上下文功能已关闭；运行“nacre config set --user context.enabled true”可开启。",
        )
    elif not pack.text:
        printed.note("There is no context yet.", "还没有上下文。")
    for part in pack.left if verbose else ():
        place = f"{part.path}:{part.first}-{part.last}" if part.first else part.path
        printed.note(f"Left out: {place}, {part.reason}.", f"未包含：{place}，{part.reason}。")
    count = sum(not part.needless for part in pack.left)
    if count and not verbose:
        printed.note(
            f"{count} part{'' if count == 1 else 's'} left out or cut; --verbose shows which and why.",
            f"有 {count} 部分未包含或只包含一部分；加 --verbose 可查看原因。",
        )
    return printed


def answer_get(
    memory: Memory,
    *,
    path: str,
    lines: int = 20,
    start: int | None = None,
    as_json: bool = False,
    terminal: int = 0,
) -> Printed:
    excerpt = memory.get(path, start, lines)
    printed = Printed([(NOTE, f"{problem.message}\n") for problem in memory.problems if problem.kind == "not counted"])
    if as_json:
        printed.json(fields(excerpt, "path start_line end_line text more"), terminal=terminal)
        return printed
    printed.out(
        printable(excerpt.text) if terminal else excerpt.text
    )  # exact only where no terminal could be steered by it
    if excerpt.more:
        following = f"{excerpt.path}:{excerpt.end_line + 1}"
        printed.note(f'There is more; run "nacre get {following}".', f"后面还有内容；请运行“nacre get {following}”。")
    return printed


_ANSWERS: Mapping[str, Callable[..., Printed]] = {
    "search": lambda memory, **request: answer_search([memory], **request),
    "context": answer_context,
    "get": answer_get,
}


class Command(NamedTuple):
    """A search or a hook as its process was started."""

    version: str
    here: str
    terminal: int  # columns, 0 for none
    arguments: list[str]
    environment: dict[str, str]
    data: bytes

    @classmethod
    def read(cls, body: bytes) -> Command:
        try:
            head, _, data = body.removeprefix(fast.COMMAND).partition(b"\0\0")
            version, here, terminal, count, *fields = os.fsdecode(head).split("\0")
            arguments, rest = fields[: int(count)], fields[int(count) :]
            environment = {name: value for name, _, value in (field.partition("=") for field in rest)}
        except ValueError as error:
            from nacre.daemon.client import BadMessage

            raise BadMessage("no command") from error
        return cls(version, here, int(terminal), arguments, environment, data)

    @property
    def scope(self) -> str:
        return fast.parse(self.arguments)[0].get("scope") or self.environment.get("NACRE_SCOPE") or "main"

    @property
    def event(self) -> dict[str, Any]:
        """The event of a hook."""
        from nacre.hooks import parse_event

        return parse_event(self.data, "".join(fast.parse(self.arguments)[1][1:2]))


class RequestHandler:
    """Answers requests with one open memory for the owner and one for all groups. Safe to ask from many threads."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._groups: Memory | None = None
        self._opening = threading.Lock()

    def answer(self, scope: str, kind: str, message: dict[str, Any]) -> dict[str, Any]:
        """What is to be printed for search, context and get; what a tool gives or a hook says."""
        memory = self.memory_of(scope)
        agent, here = message.get("agent"), message.get("here")
        memory.agent = agent if isinstance(agent, str) else None
        if kind == "tool":
            from nacre.mcp.tools import call

            here = here if isinstance(here, str) else None
            return {"result": call(memory, str(message.get("name")), _table(message.get("arguments")), here=here)}
        if kind == "hook":
            from nacre.hooks import answer

            return {"answer": answer(memory, str(message.get("of")), _table(message.get("event")))}
        request = _table(message.get("asked"))
        try:
            return {"parts": _ANSWERS[kind](memory, **request).parts}
        except TypeError as error:
            raise BadInput(*_NOT_UNDERSTOOD) from error

    def carry_out(self, command: Command) -> tuple[str, str]:
        """The notes and the result that a search or a hook prints, where it means this workspace."""
        environment, (options, words, others) = command.environment, fast.parse(command.arguments)
        memory = self.memory_of(command.scope)
        if words[:1] == ["hook"]:
            from nacre.daemon.client import pack
            from nacre.hooks import answer, folder_of, speaker

            event = command.event
            here = folder_of(event)
            self._check_workspace(command, here if os.path.isdir(here) else command.here)
            use_language_here(environment.get("NACRE_LANGUAGE"))  # that of the session, where its environment names one
            try:
                given = answer(memory, speaker(options.get("agent"), environment), event)
            finally:
                use_language_here(None)
            return "", pack(given).decode() + "\n" if given else ""
        limit, mode, query = options.get("limit", "1"), options.get("mode", "hybrid"), " ".join(words[1:])
        is_plain = (
            words[:1] == ["search"]
            and query != ""
            and query.encode("utf-8", "replace").decode() == query
            and {*options} <= {"limit", "mode", "workspace", "scope"}
            and {*others} <= {*_SEARCH_FLAGS}
            and (limit.isascii() and limit.isdigit() and 1 <= int(limit) <= _MOST_RESULTS)
            and mode in ("hybrid", "text", "vector")
            and not any(name.startswith(("NACRE_AGENT", "NACRE_SEARCH_")) for name in environment)  # options there
        )
        if not is_plain or self._check_workspace(command, command.here):
            raise CannotAnswer("more than a plain search")
        request: dict[str, Any] = {_SEARCH_FLAGS[flag]: True for flag in others} | {"query": query, "mode": mode}
        request |= {"limit": int(limit)} if "limit" in options else {}
        printed = answer_search([memory], here=command.here, terminal=command.terminal, **request)
        return printed.text(NOTE), printed.text(OUT)

    def _check_workspace(self, command: Command, here: str) -> bool:
        """Refuse what a command in that folder would not do here; whether it means several agents."""
        named, memory = fast.parse(command.arguments)[0].get("workspace"), self.memory
        origin = origin_elsewhere(memory.workspace, named, memory.config, command.environment, here)
        if origin is None:
            raise CannotAnswer("another workspace")
        return origin == "several agents"

    def memory_of(self, scope: str) -> Memory:
        """The memory of a scope, for one request: a problem that is noted in one must not be told in the next."""
        parsed = Scope.parse(scope)
        opened = replace(self.memory.opened, scope=parsed)
        memory = self.memory
        if parsed.group is not None:
            # What all groups share: an open index and the models. What each may see is asked of it anew every time.
            with self._opening:
                if self._groups is None:
                    embedder, reason = memory.embedder()
                    # One set of models for all, unless there is something to tell about them, which each has to tell itself.
                    shared = None if reason else embedder
                    self._groups = Memory(opened, problems=memory.problems, embedder=shared)
                memory = self._groups
        memory = copy.copy(memory)
        memory.opened = opened
        return memory

    def close(self) -> None:
        self.memory.close()
        if self._groups is not None:
            self._groups.close()


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(*_NOT_UNDERSTOOD)
    return value


def ask_daemon(memory: Memory, kind: str, request: dict[str, Any]) -> Printed | None:
    answer = _ask(memory, kind, asked=request)
    return Printed([(kind, text) for kind, text in answer["parts"]]) if answer else None


def call_tool_by_daemon(
    memory: Memory, name: str, arguments: dict[str, Any], here: str | None
) -> dict[str, Any] | None:
    """What a tool gives, by the daemon; None where the caller does the work. Only what reads is asked for: a write
    whose answer was lost on the way must not be done a second time, and needs nothing that a daemon keeps warm."""
    answer = _ask(memory, "tool", name=name, arguments=arguments, here=here) if name in _READING_TOOLS else None
    return dict(answer["result"]) if answer else None


def _ask(memory: Memory, kind: str, **message: Any) -> dict[str, Any] | None:
    """Who names a moment wants the same answer every time, whatever runs beside: with a fixed clock no daemon is asked or started."""
    if fast.is_switched_off() or memory.clock.fixed is not None:
        return None
    from nacre.daemon import client

    try:
        with client.Connection(str(memory.workspace.root), memory.scope.name) as daemon:
            return daemon.ask(kind, agent=memory.agent, **message)
    except client.NoDaemon:
        if memory.config.serve.auto:
            from nacre.daemon.process import start_on_demand

            start_on_demand(memory)
        return None


def print_output(printed: Printed) -> None:
    import click

    for kind, text in printed.parts:
        click.echo(click.unstyle(text) if os.environ.get("NO_COLOR") else text, nl=False, err=kind != OUT)


def current_folder() -> str:
    """The current folder; the root where it was deleted under us, which is no project's."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def terminal_width() -> int:
    """How many columns the terminal has where people read the result; 0 where nobody does."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
