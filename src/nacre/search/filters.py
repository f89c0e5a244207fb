"""The SQL condition of what a search may see: the caller's filters and the scope."""

from __future__ import annotations

from typing import NamedTuple

from nacre.errors import BadInput
from nacre.model.context import Scope
from nacre.model.hit import LAYERS

Where = tuple[str, list[str]]  # an SQL condition over `chunks c` and its values; empty when everything may be seen


class Filters(NamedTuple):
    """What the caller narrows the search to. Dates are ISO days, both included."""

    since: str | None = None
    until: str | None = None
    layers: tuple[str, ...] = ()
    type: str | None = None
    tag: str | None = None
    path: str | None = None
    project: str | None = None  # this project and what belongs to none; None: every project


def checked(filters: Filters) -> Filters:
    """The filters if they can be used, else an error that names what there is."""
    for layer in filters.layers:
        if layer not in LAYERS:
            names = ", ".join(LAYERS)
            raise BadInput(f'"{layer}" is not a layer; there are {names}.', f"“{layer}”不是有效的层；可用：{names}。")
    if filters.since and filters.until and filters.since > filters.until:
        raise BadInput(
            f"No day lies between {filters.since} and {filters.until}; turn them round.",
            f"{filters.since} 到 {filters.until} 之间没有日期；请调换顺序。",
        )
    return filters


def condition(scope: Scope, filters: Filters, today: str | None, moment: str | None = None) -> Where:
    """The SQL condition over `chunks c`, and its values. `today` hides what was written later: a question put as of a
    day knows nothing of the days after it. `moment` does the same to the second, for messages of sessions: of them the
    time is known as an ISO time, of entries in logs at best the minute."""
    conditions = {
        "(c.date is null or c.date <= ?)": today,
        "julianday(c.time) <= julianday(?)": moment,
        "c.date >= ?": filters.since,
        "c.date <= ?": filters.until,
        "c.label = ? collate nocase": filters.type,
        "exists(select 1 from json_each(c.tags) t where t.value = ? collate nocase)": (filters.tag or "").lstrip("#"),
        "exists(select 1 from files f where f.id = c.file and f.path glob ?)": filters.path,
        "(c.project is null or c.project = ?)": filters.project,
    }
    chosen = {sql: value for sql, value in conditions.items() if value}
    if scope.group is not None:
        chosen["(c.audience = '*' or c.audience = ?)"] = scope.group
    parts, values = list(chosen), list(chosen.values())
    if filters.layers:
        parts.append(f"c.layer in ({','.join('?' * len(filters.layers))})")
        values += filters.layers
    return " and ".join(parts), values
