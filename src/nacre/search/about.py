"""People and things: the names that memory speaks of, and for each what is said of it, since when, where, and beside whom."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from nacre.errors import NotFound
from nacre.guard.secrets import legible
from nacre.model import Context, citation, fields, slug_of
from nacre.text.names import names, possible_names
from nacre.text.tokens import CJK, tokens
from nacre.vault.entries import bare_words, normal_words, words_of
from nacre.vault.ledger import LedgerStates, load_closed

PROJECT, NAME = "project", "name"
_LATEST = 1000  # dated entries that names are looked for in, besides long-term memory
_MOST_MENTIONS = 400
_MOST_WORDS = 16  # of a name that the index is asked for
_MOST_ENTRIES, _MOST_NAMES, _MOST_RELATIONS = 60, 200, 16
_COLUMNS = "c.key, f.path, c.first, c.last, c.layer, c.date, c.label, c.project, c.session, c.text"
_ENTRIES = "('daily', 'weekly', 'archive', 'longterm', 'note')"


class _Row(NamedTuple):
    """An entry as the index holds it."""

    id: str
    path: str
    start_line: int
    end_line: int
    layer: str
    date: str | None
    type: str | None
    project: str | None
    session: str | None
    text: str


class KnownName(NamedTuple):
    name: str
    kind: str
    entries: int
    last: str | None  # the day of the newest one that has a day


@dataclass(frozen=True)
class Mention:
    """A statement that names somebody or something: where it stands best, and every place that says the same."""

    row: _Row
    text: str
    places: tuple[str, ...]
    first: str | None
    last: str | None
    ended: str | None = None  # the day from which on it no longer holds
    now: str | None = None  # what holds instead

    def as_plain(self) -> dict[str, Any]:
        said = {"text": self.text, "first": self.first, "last": self.last, "places": list(self.places)}
        said |= {"ended": self.ended, "now": self.now}
        return fields(self.row, "id path start_line end_line layer type project session", **said)


@dataclass(frozen=True)
class Profile:
    """What memory says of a name, the newest first, and which others are named with it."""

    name: str
    kind: str
    mentions: tuple[Mention, ...]
    entries: int  # all of them, also those that are left out
    relations: tuple[KnownName, ...]

    def as_plain(self) -> dict[str, Any]:
        days = [day for mention in self.mentions for day in (mention.first, mention.last) if day]
        rows = {"entries": [mention.as_plain() for mention in self.mentions], "count": self.entries}
        rows |= {"first": min(days, default=None), "last": max(days, default=None)}
        return fields(self, "name kind", **rows, relations=[known._asdict() for known in self.relations])


@lru_cache(maxsize=8192)  # the same entries are looked at with every view
def _read(text: str) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """What tells a statement from others, the names in it, and what may be one with the sign that follows."""
    bare = bare_words(words_of(text))
    return normal_words(text), tuple(names(bare)), tuple(possible_names(bare))


def known_names(db: sqlite3.Connection) -> list[KnownName]:
    """The projects and names in long-term memory and in the latest entries, those with most entries first."""
    query = f"select {_COLUMNS} from chunks c join files f on f.id = c.file where "
    rows = [_Row(*row) for row in db.execute(query + "f.layer = 'longterm'")]
    recent = f"c.date > '' and c.layer in {_ENTRIES} order by c.date desc limit {_LATEST}"
    return _counted([*rows, *(_Row(*row) for row in db.execute(query + recent))])[:_MOST_NAMES]


def _counted(rows: Iterable[_Row]) -> list[KnownName]:
    """The names of some entries, whatever their case; each statement counts once, however often it stands in memory."""
    said: dict[tuple[str, str], set[str]] = {}
    written: dict[tuple[str, str], Counter[str]] = {}
    last: dict[tuple[str, str], str] = {}
    rows = list(rows)
    sure = {name for row in rows for name in _read(row.text)[1]}
    following: dict[str, set[str]] = {}
    for row in rows:
        for name, sign in _read(row.text)[2]:
            following.setdefault(name, set()).add(sign)
    for row in rows:
        words, named, possible = _read(row.text)
        recurring = (name for name, _ in possible if name in sure or len(following[name]) > 1)
        named_here = [(name, NAME) for name in dict.fromkeys([*named, *recurring])] + (
            [(row.project, PROJECT)] if row.project else []
        )
        for name, kind in named_here:
            key = name.casefold(), kind
            said.setdefault(key, set()).add(words)
            written.setdefault(key, Counter())[name] += 1
            last[key] = max(last.get(key, ""), row.date or "")
    known = [
        KnownName(written[key].most_common(1)[0][0], key[1], len(words), last[key] or None)
        for key, words in said.items()
        if key[1] == PROJECT or (key[0], PROJECT) not in said
    ]
    return sorted(known, key=lambda known: (-known.entries, known.name.casefold()))


def profile(context: Context, db: sqlite3.Connection, name: str) -> Profile:
    """Everything that names it, as a word of its own and whatever its case; of a project also what is stamped with it."""
    name, slug = " ".join(name.split()), slug_of(name)
    quoted = " ".join('"' + word.replace('"', '""') + '"' for word in tokens(name)[:_MOST_WORDS])
    pattern = _word(name)
    matching = "+c.id in (select rowid from words where words match ?)", quoted
    rows = [row for row in _rows(db, *matching) if pattern.search(row.text)] if quoted else []
    own = _rows(db, "c.project = ?", slug) if slug in _projects(db) else []
    statements: dict[str, list[_Row]] = {}
    for row in dict.fromkeys([*rows, *own]):
        statements.setdefault(_read(row.text)[0], []).append(row)
    if not statements:
        raise NotFound(
            f'Nothing in memory mentions "{name}"; "nacre about" lists all known names.',
            f"记忆中没有提到“{name}”；“nacre about”会列出已有的名称。",
        )
    newest = sorted(statements.values(), key=lambda rows: max(row.date or "" for row in rows), reverse=True)
    mentions = tuple(_mentions(context, newest[:_MOST_ENTRIES]))
    words = set(name.casefold().split())
    counted = [(set(known.name.casefold().split()), known) for known in _counted([*rows, *own]) if known.name != slug]
    others = [
        known for parts, known in counted if not (parts <= words or words <= parts)
    ]  # no part, as a first name is
    spellings = Counter(" ".join(match[0].split()) for row in rows for match in pattern.finditer(row.text))
    shown, kind = (slug, PROJECT) if own else (spellings.most_common(1)[0][0], NAME)
    return Profile(legible(shown), kind, mentions, len(statements), tuple(others[:_MOST_RELATIONS]))


def _projects(db: sqlite3.Connection) -> set[str]:
    """Those with a MEMORY.md of their own, and those of the latest entries."""
    latest = (
        f"select project from (select c.project from chunks c where c.date > '' order by c.date desc limit {_LATEST})"
    )
    own = "select c.project from chunks c join files f on f.id = c.file where f.layer = 'longterm'"
    return {project for (project,) in db.execute(f"{latest} union {own}") if project}


def _rows(db: sqlite3.Connection, condition: str, value: str) -> list[_Row]:
    """The entries that meet a condition: those without a day, as in long-term memory, and the newest others."""
    inner = f"select c.id from chunks c where {condition} and c.layer in {_ENTRIES}"
    newest = f"{inner} and c.date is null union all select * from ({inner} and c.date > '' order by c.date desc limit {_MOST_MENTIONS})"
    query = f"select {_COLUMNS} from chunks c join files f on f.id = c.file where c.id in ({newest})"
    return [_Row(*row) for row in db.execute(query, (value, value))]


def _word(name: str) -> re.Pattern[str]:
    """The name as a word of its own; between Chinese signs nothing shows where a word begins."""
    before = "" if re.match(f"[{CJK}]", name) else rf"(?:(?<=[{CJK}])|(?<![\w-]))"
    after = "" if re.search(f"[{CJK}]\\Z", name) else rf"(?:(?=[{CJK}])|(?![\w-]))"
    return re.compile(before + r"\s+".join(map(re.escape, name.split())) + after, re.IGNORECASE)


def _mentions(context: Context, groups: Iterable[list[_Row]]) -> Iterator[Mention]:
    """What each statement says, and whether it still holds. What long-term memory holds stands for what logs say."""
    closed = load_closed(context.workspace, context.clock.today().isoformat())
    states = LedgerStates(context.workspace)
    for rows in groups:
        best = max(rows, key=lambda row: (row.layer == "longterm", row.date or ""))
        session, kind = (
            next(filter(None, values), None) for values in zip(*((r.session, r.type) for r in rows), strict=True)
        )
        best = best._replace(session=best.session or session, type=best.type or kind)
        days = sorted(row.date for row in rows if row.date)
        first, last = (days[0], days[-1]) if days else (None, None)
        end = closed.of(best.text, last)
        now = states.get(end.by) if end and end.by else None
        yield Mention(
            best,
            legible(bare_words(words_of(best.text))),
            tuple(sorted(citation(row.path, row.start_line, row.end_line) for row in rows)),
            first,
            last,
            end.until if end else None,
            legible(now.text) if now and now.in_memory and now.text else None,
        )
