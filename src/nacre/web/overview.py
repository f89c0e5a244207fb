"""The data of the views that look over everything: names, growth, the brain, problems, jobs and history."""

from __future__ import annotations

from typing import Any

from nacre.checks.doctor import examine
from nacre.checks.health import check_health, kind_title
from nacre.checks.status import job_facts
from nacre.jobs.journal import read_journal
from nacre.memory import Memory, legible
from nacre.model.report import fields

Values = dict[str, Any]
PERIODS = ("30", "90", "365")  # days
_MOST_RUNS = 40
_ORDERS, _OPERATIONS = 30, 30  # on a page
_MOST_LINES = 400  # of a difference
_LAST_DAYS = 30  # of the brain's account


def about(memory: Memory, values: Values) -> dict[str, Any]:
    if name := values.get("name"):
        return memory.about(name).as_plain()
    return {"name": None, "names": [known._asdict() for known in memory.names()]}


def growth(memory: Memory, values: Values) -> dict[str, Any]:
    days = int(values.get("days") or PERIODS[1])
    return {"period": days, **memory.growth(days)}


def brain(memory: Memory, values: Values) -> dict[str, Any]:
    records, page = memory.orders()[::-1], values.get("page") or 1
    rows, older = _page([record.as_plain(memory.clock) for record in records], page, _ORDERS)
    chosen = next(
        (record for record in records if values.get("order") and record.key.startswith(values["order"])), None
    )
    shown = chosen and chosen.as_plain(memory.clock) | {
        "text": legible(chosen.text),
        "answer": legible(chosen.answer or "") or None,
    }
    account = memory.brain_account(_LAST_DAYS)
    return {"brain": memory.brain_facts(), **account, "orders": rows, "page": page, "older": older, "order": shown}


def problems(memory: Memory, values: Values) -> dict[str, Any]:
    deep = values["deep"]
    health = check_health(memory, measure=False)
    titles = {finding.kind: kind_title(finding.kind) for finding in health.findings}
    found = [problem.as_plain() for problem in examine(memory, quick=not deep)]
    return {"deep": deep, "problems": found, "health": health.as_plain(), "titles": titles}


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
    newest = memory.history(page * _OPERATIONS + 1).operations[::-1]
    rows, older = _page(newest, page, _OPERATIONS)
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


def _page(rows: Any, page: int, size: int) -> tuple[list[Any], bool]:
    """The rows of a page, and whether there are more behind it."""
    return list(rows[(page - 1) * size : page * size]), len(rows) > page * size
