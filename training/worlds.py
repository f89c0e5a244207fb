"""The worlds in `recall/`: what somebody noted over weeks, and questions with the entries that answer them; laid out as workspaces and
searched as the product searches, so that ranking learns from the very numbers that it will see.

A world is a table. `E id time project text` is an entry, `M section ids text` a line of long-term memory made of entries, `Q kind day question
ids others` a question asked on a day, with the entries that answer it and, for `update` and `before`, those that it must not be confused with.
Kinds: exact, paraphrase, indirect, multi, update, before, time, preference, none.
Beside its own each world is asked some questions of others ("foreign"), which it cannot answer either.
"""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import json
import pickle
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from nacre import Memory
from nacre.search.evidence import Statement
from nacre.search.query import Filters, Question, parse_question
from nacre.search.relations import Odds, relations_between
from nacre.search.search import SearchRequest, gather

HERE = Path(__file__).parent
CACHE = HERE / ".cache"
FOREIGN = 24  # questions about other worlds that are put to each
LIKENESS_OF = 24  # statements between which the likeness is kept
SECTIONS = ("User Preferences", "Active Projects", "Key Decisions", "Important Contacts")
_LABEL = re.compile(r"^\[[^\]]+\] *")
Spans = dict[str, list[tuple[int, int, str]]]  # by file: first line, last line, entry


class Asked(NamedTuple):
    kind: str
    day: str
    text: str
    gold: frozenset[str]
    others: frozenset[str]


@dataclass
class Example:
    """A question as search sees it: the statements with their features, and which of them answer."""

    world: str
    asked: Asked
    question: Question
    found: list[Statement]
    entries: list[frozenset[str]]  # that each statement holds
    context: list[float]
    weights: dict[str, float]
    total: int
    text_only: bool
    likeness: dict[tuple[int, int], float] = field(default_factory=dict)  # by the places of two statements
    relations: dict[tuple[int, int], Odds] = field(default_factory=dict)  # the older one first
    places: dict[int, int] = field(default_factory=dict)

    @property
    def gold(self) -> list[bool]:
        return [bool(held & self.asked.gold) for held in self.entries]

    def _place(self, statement: Statement) -> int:
        if not self.places:
            self.places = {id(statement): place for place, statement in enumerate(self.found)}
        return self.places[id(statement)]

    def alike(self, first: Statement, second: Statement) -> float:
        one, other = sorted((self._place(first), self._place(second)))
        return self.likeness.get((one, other), 0.0)

    def related(self, older: Statement, newer: Statement) -> Odds | None:
        return self.relations.get((self._place(older), self._place(newer)))


def read(path: Path) -> tuple[dict[str, list[str]], list[list[str]], list[Asked]]:
    """The entries by id (time, project, text), the lines of long-term memory (section, ids, text), the questions."""
    rows = [
        line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line[:2] in ("E\t", "M\t", "Q\t")
    ]
    entries = {row[1]: row[2:] for row in rows if row[0] == "E"}

    def ids(cell: str) -> frozenset[str]:
        return frozenset(cell.split(",")) - {"-"}

    asked = [Asked(row[1], row[2], row[3], ids(row[4]), ids(row[5])) for row in rows if row[0] == "Q"]
    return entries, [row[1:] for row in rows if row[0] == "M"], asked


def lay_out(path: Path, root: Path, *, by_session: bool = False) -> tuple[Spans, list[Asked]]:
    """Write a world as a workspace holds it: logs, those older than a week archived and pressed into digests, and MEMORY.md. A chat is a
    log of bullets or, `by_session`, of one section a day."""
    entries, kept, asked = read(path)
    files: dict[str, list[str]] = defaultdict(list)
    spans: Spans = defaultdict(list)
    is_log = path.stem.endswith("-log")
    last = dt.date.fromisoformat(max(time[:10] for time, *_ in entries.values()))
    section = ""
    for number, (name, (time, project, text)) in enumerate(entries.items()):
        day = dt.date.fromisoformat(time[:10])
        is_old = is_log and (last - day).days > 7
        log = f"memory/archive/{day.year}/{day}.md" if is_old else f"memory/{day}.md"
        lines = files[log]
        if not lines:
            lines += [f"# {day}", ""]
        stamp = f"{day} {time[11:13]} {project}"
        if is_log and stamp != section:
            about = "" if project == "-" else " | project:" + re.sub(r"[^\w]+", "-", project.lower())
            lines += ["", f"## {time[11:]} session:{number:08x} | 9 messages{about}"]
            section = stamp
        lines.append(text if by_session else f"- {text}")
        spans[log].append((len(lines), len(lines), str(day) if by_session else name))
        if is_old and not re.search(r"[?？]$", text):
            monday = day - dt.timedelta(days=day.weekday())
            week = files[f"memory/weekly/{monday}.md"]
            if f"### {day}" not in week:
                week += [f"### {day}"] if week else [f"# {monday}", f"### {day}"]
            category = "发现" if path.parent.name == "zh" else "Discovery"
            week.append(f"[{category}] {_LABEL.sub('', text)} (src: {day})")
            spans[f"memory/weekly/{monday}.md"].append((len(week), len(week), name))
    if kept:
        memory = files["MEMORY.md"] = ["# Long-Term Memory", ""]
        for title in SECTIONS:
            memory += [f"## {title}"]
            for about, ids, text in kept:
                if (about if about in SECTIONS else "Key Decisions") == title:
                    memory.append(f"- {text}")
                    spans["MEMORY.md"] += [(len(memory), len(memory), name) for name in ids.split(",")]
            memory.append("")
    for name, lines in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if by_session:
        day_of = {name: time[:10] for name, (time, *_) in entries.items()}
        asked = [one._replace(gold=frozenset(map(day_of.__getitem__, one.gold)), others=frozenset()) for one in asked]
    return spans, asked


def foreign(world: Path) -> list[Asked]:
    """Questions about the worlds of others, which nothing here answers."""
    day = read(world)[2][0].day
    others = [
        path for path in sorted(world.parent.glob("*.tsv")) if path.stem.split("-")[0] != world.stem.split("-")[0]
    ]
    every = [
        one for path in others for one in read(path)[2] if one.kind in ("exact", "paraphrase", "indirect", "update")
    ]
    step = max(1, len(every) // FOREIGN)
    return [Asked("foreign", day, one.text, frozenset(), frozenset()) for one in every[len(world.stem) % step :: step]][
        :FOREIGN
    ]


def of_public_set(path: Path, root: Path) -> Iterator[tuple[str, Spans, list[Asked]]]:
    """The memories of a public set, one a line: docs, queries and gold; each laid out below a folder of its own."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            memory: dict[str, Any] = json.loads(line)
            folder = root / str(number)
            files: dict[str, list[str]] = defaultdict(list)
            spans: Spans = defaultdict(list)
            for place, (name, day, text) in enumerate(memory["docs"]):
                short = len(text) <= 600 and "\n" not in text
                file = f"memory/{day}.md" if day else "memory/notes.md" if short else f"memory/notes/{place:05}.md"
                held = files[file]
                held += [] if held else [f"# {day or 'Notes'}", ""]
                if not short and len(held) > 2:
                    held += ["", f"## {place // 60 % 24:02}:{place % 60:02} part {place}", ""]
                added = [f"- {text}"] if short else text.split("\n")
                spans[file].append((len(held) + 1, len(held) + len(added), name))
                held += added
                held += ["```"] if sum(one.lstrip().startswith("```") for one in added) % 2 else []
            for file, held in files.items():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_text("\n".join(held) + "\n", encoding="utf-8")
            latest = max((day for _, day, _ in memory["docs"] if day), default="")
            gold = memory.get("gold", {})
            asked = [
                Asked("public", day or latest, text, frozenset(gold[key]), frozenset())
                for key, day, text in memory.get("queries", [])
            ]
            asked += [
                Asked("update", latest, one["q"], frozenset(one["new"]), frozenset(one["old"]))
                for one in memory.get("updates", [])
            ]
            yield str(folder), spans, asked


def examples(world: str, folder: Path, spans: Spans, asked: list[Asked], *, text_only: bool) -> Iterator[Example]:
    """Each question as search sees it in this workspace."""
    memory = Memory.init(folder)
    memory.index()
    (index, meaning), *_ = memory.indexes.corpora("memory")
    for one in asked:
        opened = memory.opened
        if one.day:
            opened = replace(opened, clock=memory.clock.at(one.day))
        question = parse_question(one.text, opened.clock.today())
        request = SearchRequest(opened, question, 10, "text" if text_only else "hybrid", None, Filters())
        index.current()
        vectors = None if text_only else meaning.now(question.text)
        with index.store.reading() as db:
            got = gather(db, request, vectors, checkpoints=False, to_the_second=False)
            found = sorted((one for one in got.found if one.features), key=lambda statement: -statement.fit)
            rows = db.execute(
                "select c.id, f.path, c.first, c.last from chunks c join files f on f.id = c.file"
            ).fetchall()
            places = {number: place for number, *place in rows}
            held = [
                frozenset(
                    name
                    for copy in statement.copies
                    for path, start, end in [places[copy.id]]
                    for first, last, name in spans.get(path, ())
                    if first <= end and start <= last
                )
                for statement in found
            ]
            got.likeness.load(found[:LIKENESS_OF])
            related = relations_between(db, found[:LIKENESS_OF])
            few = range(min(LIKENESS_OF, len(found)))
            known = {(old, new): related(found[old], found[new]) for old in few for new in few if old != new}
            relations = {pair: odds for pair, odds in known.items() if odds}
            likeness = {(at, other): got.likeness(found[at], found[other]) for at in few for other in few[at + 1 :]}
        about = got.context, got.terms.weights, got.terms.total
        yield Example(world, one, question, found, held, *about, text_only, likeness, relations)


def load(world: Path, *, text_only: bool, by_session: bool = False) -> list[Example]:
    """The examples of a world or of a public set. Workspaces are kept in `.cache/`, the examples until search or its models change."""
    modules = [*sorted((HERE.parent / "src/nacre/search").glob("*.py")), HERE.parent / "src/nacre/search/words.json"]
    models = sorted((HERE.parent / "src/nacre/embed/weights").glob("recall-*.npz"))
    code = b"".join(path.read_bytes() for path in (*modules, *models, Path(__file__)) if path.stem != "rank")
    name = f"{world.parent.name}/{world.name.split('.')[0]}" + ("/sessions" if by_session else "")
    laid = CACHE / _key(world.read_bytes(), bytes([by_session]))
    kept = CACHE / f"{_key(code, laid.name.encode(), bytes([text_only]))}.pickle"
    if kept.exists():
        return list(pickle.loads(kept.read_bytes()))  # noqa: S301 - our own file
    every: list[tuple[str, Spans, list[Asked]]]
    if world.suffix == ".gz":
        every = list(of_public_set(world, laid))
    else:
        spans, asked = lay_out(world, laid, by_session=by_session)
        every = [(str(laid), spans, asked + foreign(world))]
    parts = (examples(name, Path(folder), spans, asked, text_only=text_only) for folder, spans, asked in every)
    result = [one for part in parts for one in part]
    kept.write_bytes(pickle.dumps(result))
    print(f"{name}: {len(result)} questions", file=sys.stderr)
    return result


def digest() -> str:
    """What changes with any of the worlds."""
    return _key(*(path.read_bytes() for path in sorted((HERE / "recall").glob("*/*.tsv"))))


def _key(*parts: bytes) -> str:
    return hashlib.blake2b(b"\0".join(parts), digest_size=8).hexdigest()
