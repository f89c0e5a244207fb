"""The data of each view, once for the page and its twin under `/api/`, and what the page changes: what `Memory` tells and does, in the
words that scripts know."""

from __future__ import annotations

from typing import Any

from nacre.checks.doctor import examine
from nacre.checks.health import Health, graded, kind_title
from nacre.checks.status import findings, job_facts
from nacre.jobs.journal import read_journal
from nacre.memory import Memory, legible
from nacre.model import fields
from nacre.tidy.night import consequence, failure, outcome

Values = dict[str, Any]
PERIODS = ("30", "90", "365")  # days
_AROUND = 12  # lines shown before and behind the marked ones
_MOST_LINES = 400  # of a file or a difference
_ON_PAGE = 30  # checkpoints, orders or operations
_MOST_RUNS = 40
_LAST_DAYS = 30  # of the brain's account
_ACTIONS = ("kept", "replaced", "moved out", "refused", "asked")


def morning(memory: Memory, _values: Values) -> dict[str, Any]:
    night = memory.last_night()
    operation, decisions, left = night or (None, [], {})
    groups = {action: [row._asdict() for row in decisions if row.action == action] for action in _ACTIONS}
    for row in (row for rows in groups.values() for row in rows):
        row["source"] = dict(row["source"])
    return {
        "at": operation.at if operation else None,
        "operation": operation.id if operation else None,
        "decisions": groups,
        "left": dict(left),
        "questions": [question.shown() for question in memory.questions()],
    }


def memory(memory: Memory, _values: Values) -> dict[str, Any]:
    names = "id text section line end_line pinned verdict valid_from confidence said session used uses"
    files = []
    for file in memory.longterm():
        entries = [fields(entry, names, editable=entry.is_whole) for entry in file.entries]
        sizes = {"size": file.size._asdict(), "limits": file.limits._asdict()}
        files.append(fields(file, "path project hash trouble left", **sizes, entries=entries))
    return {"files": files}


def search(memory: Memory, values: Values) -> dict[str, Any]:
    query = values.get("q")
    if not query:
        return {"query": None, "results": []}
    narrowing = {name: values.get(name) for name in ("type", "project", "since", "until")}
    filters = memory.filters(layers=[values["layer"]] if values.get("layer") else None, **narrowing)
    report = memory.ask(query, values.get("limit"), mode=values.get("mode") or "hybrid", filters=filters)
    rows = [hit.as_plain() | {"parts": dict(hit.parts)} for hit in report.hits]
    return {"query": query, **report.as_plain(), "results": rows}


def entry(memory: Memory, values: Values) -> dict[str, Any]:
    data = memory.why(values["id"]).as_plain()
    for row in data["ledger"]:
        details = outcome(row["verdict"]), failure(row["failed"] or ""), consequence(row["withoutIt"])
        row["words"] = " · ".join(filter(None, details))
    return data


def conversation(memory: Memory, values: Values) -> dict[str, Any]:
    return {"id": values["id"], **_plain(memory.conversation(values["id"], values["message"]))}


def file(memory: Memory, values: Values) -> dict[str, Any]:
    first = values.get("line")
    last = max(first, values.get("end") or first) if first else None
    start = max(1, first - _AROUND) if first else 1
    count = min(last - start + 1 + _AROUND, _MOST_LINES) if last else 4 * _AROUND
    # A look at the page is no recall: it would count again with every refresh.
    excerpt = memory.get(values["path"], start, count, via=None)
    lines = [
        {"number": number, "text": text, "marked": bool(first and last and first <= number <= last)}
        for number, text in enumerate(excerpt.text.split("\n"), start=excerpt.start_line)
    ]
    return fields(excerpt, "path start_line end_line more", lines=lines)


# By time: days, sessions, layers.


def timeline(memory: Memory, values: Values) -> dict[str, Any]:
    if values.get("id"):
        return {"id": values["id"], "changes": _plain(memory.changes(values["id"]))}
    return dict(_plain(memory.timeline(values.get("since"), values.get("until"))))


def sessions(memory: Memory, values: Values) -> dict[str, Any]:
    return dict(_plain(memory.session_overviews(values.get("until"))))


def layers(memory: Memory, values: Values) -> dict[str, Any]:
    page, layer = values.get("page") or 1, values.get("layer") or "warm"
    shown = memory.layers(layer, (page - 1) * _ON_PAGE, most=_ON_PAGE)
    return {**_plain(shown), "layer": layer, "page": page, "pages": -(-shown.counts[layer] // _ON_PAGE)}


def _plain(value: Any) -> Any:
    """Values as JSON knows them: an object for everything with names."""
    if hasattr(value, "_asdict"):
        return {name: _plain(held) for name, held in value._asdict().items()}
    return [_plain(held) for held in value] if isinstance(value, list | tuple) else value


# Over everything: names, growth, the brain, problems, jobs and history.


def about(memory: Memory, values: Values) -> dict[str, Any]:
    if name := values.get("name"):
        return memory.about(name).as_plain()
    return {"name": None, "names": [known._asdict() for known in memory.names()]}


def growth(memory: Memory, values: Values) -> dict[str, Any]:
    days = int(values.get("days") or PERIODS[1])
    return {"period": days, **memory.growth(days)}


def brain(memory: Memory, values: Values) -> dict[str, Any]:
    records, page = memory.orders()[::-1], values.get("page") or 1
    rows, older = _page([record.as_plain(memory.clock) for record in records], page)
    shown = None
    if chosen := next((record for record in records if record.key.startswith(values.get("order") or "-")), None):
        words = {"text": legible(chosen.text), "answer": legible(chosen.answer or "") or None}
        shown = chosen.as_plain(memory.clock) | words
    account = memory.brain_account(_LAST_DAYS)
    return {"brain": memory.brain_facts(), **account, "orders": rows, "page": page, "older": older, "order": shown}


def problems(memory: Memory, values: Values) -> dict[str, Any]:
    deep = values["deep"]
    rows = findings(memory)
    health, titles = Health(graded(rows), rows, {}), {finding.kind: kind_title(finding.kind) for finding in rows}
    examined = [problem.as_plain() for problem in examine(memory, quick=not deep)]
    return {"deep": deep, "problems": examined, "health": health.as_plain(), "titles": titles}


def jobs(memory: Memory, _values: Values) -> dict[str, Any]:
    def iso(moment: Any) -> str | None:
        return memory.clock.local(moment).isoformat(timespec="seconds") if moment else None

    runs = [
        fields(
            run, "job started window attempt why result seconds said", started=iso(run.started), window=iso(run.window)
        )
        for run in read_journal(memory.workspace).runs[: -_MOST_RUNS - 1 : -1]
    ]
    return {**job_facts(memory), "runs": runs}


def history(memory: Memory, values: Values) -> dict[str, Any]:
    page = values.get("page") or 1
    newest = memory.history(page * _ON_PAGE + 1).operations[::-1]
    rows, older = _page(newest, page)
    paths = list(dict.fromkeys(change.path for row in rows for change in row.changes))
    names = legible("\n".join(paths)).split("\n")  # at once: thirty times is the most of what the page would take
    shown = dict(zip(paths, names if len(names) == len(paths) else map(legible, paths), strict=False))
    operations = [_operation(row, shown) for row in rows]
    data: dict[str, Any] = {"operations": operations, "page": page, "older": older, "diff": None}
    if number := values.get("operation"):
        lines = legible(memory.diff(number)).split("\n")[:-1]
        data["diff"] = {"operation": number, "lines": lines[:_MOST_LINES], "left": max(0, len(lines) - _MOST_LINES)}
    return data


def _operation(operation: Any, shown: dict[str, str]) -> dict[str, Any]:
    """One that stands as it was done can be taken back; the making of the workspace is nothing that anybody means."""
    files = list(dict.fromkeys(shown[change.path] for change in operation.changes))
    may_undo = operation.state in ("done", "partly done") and operation.command != "init" and bool(files)
    return fields(
        operation, "id at command state undone_by undoes", undoes=list(operation.undoes), files=files, undo=may_undo
    )


def _page(rows: Any, page: int) -> tuple[list[Any], bool]:
    """The rows of a page, and whether there are more behind it."""
    return list(rows[(page - 1) * _ON_PAGE : page * _ON_PAGE]), len(rows) > page * _ON_PAGE


# What the page changes, each through `Memory` as one operation that can be taken back; its number is returned.


def answer(memory: Memory, values: Values) -> dict[str, Any]:
    verb = "accept" if values["answer"] == "keep" else "refuse"
    steps = memory.answer([(values["id"], verb, values.get("text"))])
    return _with_operation(memory, steps=[fields(step, "action path reason", text=step.detail) for step in steps])


def edit(memory: Memory, values: Values) -> dict[str, Any]:
    memory.edit(values["path"], values["id"], values["text"], read=values["hash"])
    return _with_operation(memory)


def pin(memory: Memory, values: Values) -> dict[str, Any]:
    change = memory.pin(values["id"], off=values["off"])
    return _with_operation(memory, pinned=change.pinned)


def forget(memory: Memory, values: Values) -> dict[str, Any]:
    memory.forget(values["id"])
    return _with_operation(memory)


def restore(memory: Memory, values: Values) -> dict[str, Any]:
    moved = memory.bring_back(values["path"])
    return _with_operation(memory, path=moved)


def undo(memory: Memory, values: Values) -> dict[str, Any]:
    change = memory.undo(values["operation"])
    return _with_operation(memory, undoes=list(change.undoes))


def _with_operation(memory: Memory, **facts: Any) -> dict[str, Any]:
    """The facts with the number of the latest operation, which takes this one back; none where history is off."""
    latest = memory.history(1).operations
    return {"operation": latest[-1].id if latest else None, **facts}
