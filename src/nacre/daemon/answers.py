"""What search, context and get are answered with: made by one function each, whether a daemon or the command itself asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nacre.model.hit import Hit, SearchReport
from nacre.words import as_sentence, say

if TYPE_CHECKING:
    from nacre.memory import Memory
    from nacre.recall.pack import ContextPack

OUT, NOTE = "out", "note"
_PLACE, _DIM, _PLAIN = "\x1b[36m\x1b[1m", "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class SearchAsked:
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
class ContextAsked:
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
class GetAsked:
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


def search(memories: Sequence[Memory], asked: SearchAsked) -> Printed:
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
        printed.note(_nothing(reports[0][1]))
    for hit, agent in hits:
        _show(printed, hit, agent, explain=asked.explain, colour=asked.terminal)
    return printed


def _nothing(report: SearchReport) -> str:
    if report.abstained:
        return say(
            "Nothing in memory seems to answer that. (--min-score 0 shows the nearest all the same.)",
            "记忆中似乎没有答案。（--min-score 0 可显示最接近的内容。）",
        )
    return say("Nothing in memory matches.", "记忆中没有匹配的内容。")


def _show(printed: Printed, hit: Hit, agent: str | None, *, explain: bool, colour: bool) -> None:
    where = f"{hit.path}:{hit.start_line}"
    about = "  ".join(
        part for part in (hit.date, hit.layer, agent, hit.project and f"project:{hit.project}", hit.id) if part
    )
    printed.out(f"{f'{_PLACE}{where}{_PLAIN}' if colour else where}  {hit.score:.2f}  {about}")
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


def context(memory: Memory, asked: ContextAsked) -> Printed:
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
    _tell_what_was_left(printed, pack, verbose=asked.verbose)
    return printed


def _tell_what_was_left(printed: Printed, pack: ContextPack, *, verbose: bool) -> None:
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


def get(memory: Memory, asked: GetAsked) -> Printed:
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
