"""Search, context and get as requests: answered by one function each, in the daemon or in the command itself."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import sys
import threading
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from nacre.daemon import client
from nacre.errors import BadInput
from nacre.i18n import as_sentence, say, use_language_here
from nacre.memory import Memory
from nacre.model.context import Scope
from nacre.model.hit import Hit, SearchReport

if TYPE_CHECKING:
    from nacre.context.pack import ContextPack


OUT, NOTE = "out", "note"
_CITATION_COLOUR, _DIM, _PLAIN = "\x1b[36m\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class SearchRequest:
    """A search as it was typed; `here` is the folder it was typed in, `terminal` whether people read the answer."""

    query: str
    limit: int | None = None
    min_score: float | None = None
    mode: str = "hybrid"
    since: str | None = None
    until: str | None = None
    layers: list[str] = field(default_factory=list)
    kind: str | None = None
    tag: str | None = None
    path: str | None = None
    project: str | None = None
    corpus: str = "memory"
    all_projects: bool = False
    explain: bool = False
    as_json: bool = False
    here: str = "/"
    terminal: bool = False


@dataclass(frozen=True)
class ContextRequest:
    """What a session wants to be given."""

    budget: int | None = None
    query: str | None = None
    project: str | None = None
    all_files: bool = False
    mode: str = "text"
    verbose: bool = False
    as_json: bool = False
    here: str = "/"
    terminal: bool = False


@dataclass(frozen=True)
class GetRequest:
    """Lines that are to be read."""

    path: str
    lines: int = 20
    start: int | None = None
    as_json: bool = False
    terminal: bool = False


@dataclass
class Printed:
    """What is printed, in order: lines of the result, and notes for people."""

    parts: list[tuple[str, str]] = field(default_factory=list)

    def out(self, line: str) -> None:
        self.parts.append((OUT, f"{line}\n"))

    def note(self, sentence: str) -> None:
        self.parts.append((NOTE, f"{sentence}\n"))

    def json(self, value: Any, *, terminal: bool) -> None:
        self.out(json.dumps(value, ensure_ascii=False, indent=2 if terminal else None))


def answer_search(memories: Sequence[Memory], asked: SearchRequest) -> Printed:
    """The best hits of every memory together."""
    reports: list[tuple[str | None, SearchReport]] = []
    for memory in memories:
        chosen = None if asked.all_projects else asked.project or memory.project_here(asked.here)
        filters = memory.filters(
            since=asked.since,
            until=asked.until,
            layers=asked.layers,
            type=asked.kind,
            tag=asked.tag,
            path=asked.path,
            project=chosen,
        )
        report = memory.ask(
            asked.query,
            asked.limit,
            min_score=asked.min_score,
            mode=asked.mode,
            filters=filters,
            corpus=asked.corpus,
        )
        reports.append((memory.agent, report))
    hits = sorted(((hit, agent) for agent, report in reports for hit in report.hits), key=lambda pair: -pair[0].score)
    hits = hits[: asked.limit or memories[-1].config.search.max_results]
    printed = Printed()
    if asked.as_json:
        told = _search_json(hits, [report for _, report in reports], explain=asked.explain)
        printed.json(told, terminal=asked.terminal)
        return printed
    for reason in dict.fromkeys(report.fallback for _, report in reports if report.fallback):
        printed.note(as_sentence(reason))
    if any(report.stale and not report.fallback for _, report in reports):
        printed.note(
            say(
                'Part of the index is still to be made; "nacre index" completes it.',
                "索引尚未完全建好；“nacre index”可以补全。",
            )
        )
    if not hits:
        printed.note(_nothing_matches(reports[0][1]))
    for hit, agent in hits:
        _print_hit(printed, hit, agent, explain=asked.explain, colour=asked.terminal)
    return printed


def _nothing_matches(report: SearchReport) -> str:
    if report.abstained:
        return say(
            "Nothing in memory seems to answer that. (--min-score 0 shows the nearest all the same.)",
            "记忆中似乎没有答案。（--min-score 0 可显示最接近的内容。）",
        )
    return say("Nothing in memory matches.", "记忆中没有匹配的内容。")


def _print_hit(printed: Printed, hit: Hit, agent: str | None, *, explain: bool, colour: bool) -> None:
    where = f"{hit.path}:{hit.start_line}"
    about = "  ".join(
        part for part in (hit.date, hit.layer, agent, hit.project and f"project:{hit.project}", hit.id) if part
    )
    printed.out(f"{f'{_CITATION_COLOUR}{where}{_PLAIN}' if colour else where}  {hit.score:.2f}  {about}")
    if hit.heading:
        printed.out(f"{_DIM}  {hit.heading}{_PLAIN}" if colour else f"  {hit.heading}")
    for line in hit.snippet.splitlines():
        printed.out(f"  {line}")
    if explain:
        printed.out("  = " + "  ".join(f"{name} {value:g}" for name, value in hit.parts.items()))
        if hit.provenance:
            printed.out("  < " + "  ".join(f"{name} {value}" for name, value in hit.provenance.items()))
    printed.out("")


def _search_json(hits: list[tuple[Hit, str | None]], reports: list[SearchReport], *, explain: bool) -> dict[str, Any]:
    return reports[0].as_plain() | {
        "results": [_hit_json(hit, agent, explain=explain) for hit, agent in hits],
        "fallback": next((report.fallback for report in reports if report.fallback), None),
        "abstained": all(report.abstained for report in reports),
        "stale": any(report.stale for report in reports),
        "tookMs": round(sum(report.took_ms for report in reports), 2),
    }


def _hit_json(hit: Hit, agent: str | None, *, explain: bool) -> dict[str, Any]:
    row = hit.as_plain()
    if agent:
        row["agent"] = agent
    if explain:
        row["parts"] = dict(hit.parts)
    return row


def answer_context(memory: Memory, asked: ContextRequest) -> Printed:
    """What a new session is given."""
    pack = memory.context(
        asked.budget,
        query=asked.query,
        project=asked.project,
        all_files=asked.all_files,
        mode=asked.mode,
        here=asked.here,
    )
    printed = Printed()
    if asked.as_json:
        printed.json(pack_as_plain(pack), terminal=asked.terminal)
        return printed
    if pack.text:
        printed.parts.append((OUT, pack.text))
    if pack.disabled:
        printed.note(
            say(
                'Context is switched off; "nacre config set --user context.enabled true" turns it on.',
                "上下文已关闭；运行“nacre config set --user context.enabled true”即可开启。",
            )
        )
    elif not pack.text:
        printed.note(say("There is nothing to give yet.", "还没有可提供的内容。"))
    _print_left_out(printed, pack, verbose=asked.verbose)
    return printed


def _print_left_out(printed: Printed, pack: ContextPack, *, verbose: bool) -> None:
    for one in pack.left if verbose else ():
        lines = f":{one.first}-{one.last}" if one.first else ""
        printed.note(say(f"Left out: {one.path}{lines}, {one.reason}.", f"未给出：{one.path}{lines}，{one.reason}。"))
    count = sum(not one.needless for one in pack.left)
    if count and not verbose:
        printed.note(
            say(
                f"{count} part{'' if count == 1 else 's'} left out or cut; --verbose says which and why.",
                f"有 {count} 处未给出或被截断；--verbose 可查看是哪些及原因。",
            )
        )


def pack_as_plain(pack: ContextPack) -> dict[str, Any]:
    """A pack as plain values."""
    return {
        "text": pack.text,
        "tokens": pack.tokens,
        "budget": pack.budget,
        "scope": pack.scope,
        "project": pack.project,
        "disabled": pack.disabled,
        "parts": [{"path": one.path, "lines": [one.first, one.last], "tokens": one.tokens} for one in pack.parts],
        "left": [
            {"path": one.path, "lines": [one.first, one.last], "tokens": one.tokens, "reason": one.reason}
            for one in pack.left
        ],
    }


def answer_get(memory: Memory, asked: GetRequest) -> Printed:
    """Lines of a file or of a session."""
    excerpt = memory.get(asked.path, asked.start, asked.lines)
    printed = Printed()
    for problem in memory.problems:
        if problem.kind == "not counted":
            printed.note(problem.message)
    if asked.as_json:
        told = {
            "path": excerpt.path,
            "startLine": excerpt.start_line,
            "endLine": excerpt.end_line,
            "text": excerpt.text,
            "more": excerpt.more,
        }
        printed.json(told, terminal=asked.terminal)
        return printed
    printed.out(excerpt.text)
    if excerpt.more:
        after = f"{excerpt.path}:{excerpt.end_line + 1}"
        printed.note(say(f'The file goes on; next: "nacre get {after}"', f"后面还有内容；继续：“nacre get {after}”"))
    return printed


# Answers questions: one open memory for the owner and one for all groups, kept warm between them.

Request = TypeVar("Request", SearchRequest, ContextRequest, GetRequest)


class CannotAnswer(Exception):
    """A question that the client can answer itself, and we cannot."""


class RequestHandler:
    """Holds the memories. Safe to ask from many threads."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._groups: Memory | None = None
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Load what the first question would otherwise wait for."""
        self.memory.ask("warm", 1)
        self.memory.ask("热", 1)

    def check(self, scope: str) -> None:
        """An error when there is no such listener."""
        Scope.parse(scope)

    def answer(self, scope: str, kind: str, given: dict[str, Any]) -> dict[str, Any]:
        """What is to be printed for search, context and get; what a tool gives or a hook says."""
        memory = self.memory_of(scope)
        agent = given.get("agent")
        memory.agent = agent if isinstance(agent, str) else None
        asked = given.get("asked")
        if kind == "tool":
            from nacre.mcp.calls import call

            here = given.get("here")
            here = here if isinstance(here, str) else None
            return {"result": call(memory, str(given.get("name")), _as_table(given.get("arguments")), here=here)}
        if kind == "hook":
            from nacre.hooks.answering import answer

            use_language_here(given.get("language"))  # that of the session, where its environment names one
            try:
                return {"answer": answer(memory, str(given.get("of")), _as_table(given.get("event")))}
            finally:
                use_language_here(None)
        printed: Printed
        if kind == "search":
            printed = answer_search([memory], parse_request(SearchRequest, asked))
        elif kind == "context":
            printed = answer_context(memory, parse_request(ContextRequest, asked))
        elif kind == "get":
            printed = answer_get(memory, parse_request(GetRequest, asked))
        else:
            raise BadInput(say(f'A daemon does not know "{kind[:40]}".', f"守护进程不认识“{kind[:40]}”。"))
        return {"parts": printed.parts}

    def memory_of(self, scope: str) -> Memory:
        """The memory of a listener, for one question: trouble that is noted in one must not be told in the next."""
        listener = Scope.parse(scope)
        memory = copy.copy(self.memory if listener.group is None else self._for_groups(scope))
        memory.opened = replace(memory.opened, scope=listener)
        return memory

    def _for_groups(self, scope: str) -> Memory:
        """What all groups share: an index that is open, and the models. What each may see is asked of it anew every time."""
        with self._opening:
            if self._groups is None:
                main = self.memory
                embedder, reason = main.embedder()
                # One set of models for all, unless there is something to tell about them, which each has to tell itself.
                shared = embedder if reason is None else None
                opened = replace(main.opened, scope=Scope.parse(scope))
                self._groups = Memory(opened, problems=main.problems, embedder=shared)
            return self._groups

    def close(self) -> None:
        self.memory.close()
        if self._groups is not None:
            self._groups.close()


def _as_table(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadInput(say("The question is not one that a daemon understands.", "守护进程无法理解该请求。"))
    return given


def parse_request(form: Callable[..., Request], given: Any) -> Request:
    """What came over the socket as a question of ours; every field is of its kind or the whole is refused."""
    kinds, required = _request_fields(form)
    fits = isinstance(given, dict) and all(_fits(kinds.get(name), value) for name, value in given.items())
    if fits and required <= given.keys():
        return form(**given)
    raise BadInput(say("The question is not one that a daemon understands.", "守护进程无法理解该请求。"))


@cache
def _request_fields(form: Callable[..., Any]) -> tuple[dict[str, Any], frozenset[str]]:
    """The kind of each field, and which of them must be given; working that out takes as long as many an answer."""
    parts = dataclasses.fields(form)  # type: ignore[arg-type]
    return typing.get_type_hints(form), frozenset(part.name for part in parts if _is_required(part))


def _is_required(part: dataclasses.Field[Any]) -> bool:
    return part.default is dataclasses.MISSING and part.default_factory is dataclasses.MISSING


def _fits(kind: Any, value: Any) -> bool:
    if kind is None:
        return False
    if typing.get_origin(kind) is list:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    kinds = typing.get_args(kind) or (kind,)
    if isinstance(value, bool):
        return bool in kinds
    return isinstance(value, kinds) or (float in kinds and isinstance(value, int))


# A command's question to the daemon of its memory, if there is one; and one started, where the user wants that.

_READING_TOOLS = ("memory_search", "memory_get", "memory_status")
_REQUEST_KINDS = {SearchRequest: "search", ContextRequest: "context", GetRequest: "get"}


def ask_daemon(memory: Memory, asked: SearchRequest | ContextRequest | GetRequest) -> Printed | None:
    """The daemon's answer; None when there is none whose answer would be the same as ours.

    Who names a moment wants the same answer every time, whatever runs beside: with a fixed clock nobody is asked or started.
    """
    if client.is_switched_off() or memory.clock.fixed is not None:
        return None
    group = memory.scope.group
    root = str(memory.workspace.root)
    try:
        with client.Connection(root, "main" if group is None else f"group:{group}") as daemon:
            given = dataclasses.asdict(asked)
            answer = daemon.ask(_REQUEST_KINDS[type(asked)], asked=given, agent=memory.agent)
    except client.Hung:
        return None
    except client.NoDaemon:
        _start_if_wanted(memory)
        return None
    return Printed([(kind, text) for kind, text in answer["parts"]])


def call_tool_by_daemon(
    memory: Memory, name: str, arguments: dict[str, Any], here: str | None
) -> dict[str, Any] | None:
    """What a tool gives, by the daemon; None where whoever asks does the work.

    Only what reads is asked for: a write whose answer was lost on the way must not be done a second time, and needs nothing that
    a daemon keeps warm.
    """
    if name not in _READING_TOOLS or client.is_switched_off() or memory.clock.fixed is not None:
        return None
    group = memory.scope.group
    try:
        with client.Connection(str(memory.workspace.root), "main" if group is None else f"group:{group}") as daemon:
            answer = daemon.ask("tool", name=name, arguments=arguments, here=here, agent=memory.agent)
    except client.Hung:
        return None
    except client.NoDaemon:
        _start_if_wanted(memory)
        return None
    result: dict[str, Any] = answer["result"]
    return result


def _start_if_wanted(memory: Memory) -> None:
    if memory.config.serve.auto:
        from nacre.daemon.process import start_on_demand

        start_on_demand(memory)


def print_output(printed: Printed) -> None:
    """Print the result, and the notes beside it."""
    import click

    for kind, text in printed.parts:
        click.echo(text, nl=False, err=kind != OUT)


def current_folder() -> str:
    """The current folder; the root where it was deleted under us, which is no project's."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def at_terminal() -> bool:
    return sys.stdout.isatty()
