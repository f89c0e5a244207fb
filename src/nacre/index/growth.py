"""How memory grows: what each day added, what kinds of entries these are, and how much each layer holds."""

from __future__ import annotations

import datetime as dt
import sqlite3
from typing import Any

from nacre.model import TYPES

_LOGS = "c.layer in ('daily', 'archive')"  # a log that was archived is the same log


def growth(db: sqlite3.Connection, first: dt.date, last: dt.date) -> dict[str, Any]:
    """From the index alone: no file is opened, and days outside of the range cost nothing."""
    kinds = ", ".join(f"total(c.label = '{kind}')" for kind in TYPES)
    query = (
        "select c.date, count(*), total(length(cast(c.text as blob))), total(c.size), count(distinct c.session),"
        f" {kinds} from chunks c where c.date between ? and ? and {_LOGS} group by c.date"
    )
    added = {day: list(map(int, counts)) for day, *counts in db.execute(query, (first.isoformat(), last.isoformat()))}
    names, nothing = ("entries", "bytes", "tokens", "captures"), [0] * (4 + len(TYPES))
    every_day = ((first + dt.timedelta(days=number)).isoformat() for number in range((last - first).days + 1))
    days = [{"day": day, **dict(zip(names, added.get(day, nothing), strict=False))} for day in every_day]
    by_kind = dict(
        zip(TYPES, map(sum, zip(*(counts[4:] for counts in (nothing, *added.values())), strict=True)), strict=True)
    )
    others = sum(counts[0] for counts in added.values()) - sum(by_kind.values())
    layers = db.execute("select layer, count(*), total(size) from files group by layer order by 3 desc")
    return {
        "days": days,
        "categories": [{"name": name, "entries": count} for name, count in [*by_kind.items(), (None, others)] if count],
        "layers": [{"layer": layer, "files": files, "bytes": int(size)} for layer, files, size in layers],
        "passages": db.execute("select count(*) from chunks").fetchone()[0],
    }
