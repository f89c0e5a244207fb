"""Search: question, candidates, score, time, diversity, hits; over memory, sessions or both."""

from __future__ import annotations

import dataclasses
import math
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, product
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.config.settings import SearchSettings
from nacre.i18n import say
from nacre.index.embedding import Meaning, MeaningSource
from nacre.index.freshness import MemoryIndex
from nacre.index.store import CHECKPOINT_WORDS, in_groups
from nacre.model import Context, Hit, Scope, SearchReport, Stored, Workspace, citation
from nacre.search.candidates import Candidate, Chunks, Terms
from nacre.search.evidence import (
    FEATURES,
    Statement,
    context_of,
    fill,
    fold_copies,
    fold_entries,
    need_of_neighbours,
)
from nacre.search.query import Filters, Question, condition
from nacre.search.rank import (
    CONTENDERS,
    FURTHER,
    SURE_OF_DAYS,
    TEMPERATURE,
    VARIED,
    WEAK,
    Successors,
    confidence,
    diversify,
    score,
    supersede,
    weigh_age,
)
from nacre.search.relations import relations_between, successors
from nacre.text.blocks import stamp_of
from nacre.text.layout import stretch
from nacre.text.tokens import stop_tokens, tokens
from nacre.vault.entries import bare_words, entry_id
from nacre.vault.ledger import NONE_CLOSED, ClosedEntries, load_closed
from nacre.vault.storage import TIERS, stem_of, storage_of

if TYPE_CHECKING:
    from nacre.index.vectors import Floats, Scanner

    Vectors = dict[int, Floats]  # the question's vector, by model

CORPORA = ("memory", "sessions", "all")
_BY_WORDS = 70
_BY_MEANING = 70
_LOGGED = ("daily", "archive", "weekly")
_FIRST_FEW, _LEAST = 5, 0.1
_NOTHING = 0.001  # of words and meaning
_LIFTED = 25  # the best candidates whose neighbours are looked at too
_MAY_HAVE_ENDED = 50  # of the best, that the ledger is asked about
_PAGE, _SAFE = 10, 8  # hits that entries and checkpoints share, and how many of them are for entries alone


class SearchRequest(NamedTuple):
    """A question and how to search. The clock of the context says when it is asked; where that was set, later days are unknown."""

    context: Context
    question: Question
    limit: int
    mode: str
    min_score: float | None
    filters: Filters


def search(index: MemoryIndex, meaning: MeaningSource, request: SearchRequest) -> SearchReport:
    """Bring an index up to date and search it. The report holds a page of hits at least: how they rank must not depend on how many are
    asked for, so whoever asked leaves the rest out."""
    request = request._replace(limit=max(request.limit, _PAGE))

    def work() -> SearchReport:
        while True:
            epoch = index.store.epoch  # before: what was brought up must be what is read
            index.current()
            vectors = meaning.now(request.question.text) if request.mode != "text" else None
            with index.store.reading() as db:  # one moment, whatever others write meanwhile
                if index.store.epoch == epoch:
                    is_exact, kinds = index.to_the_second, _kinds(db, request)
                    reports = [
                        _search(db, request, vectors, checkpoints=of, joined=len(kinds) == 2, to_the_second=is_exact)
                        for of in kinds
                    ]
                    merged = _joined(*reports, limit=request.limit) if len(kinds) == 2 else reports[0]
                    return _with_closed(merged, request)

    report = index.store.safely(work)
    return dataclasses.replace(report, stale=report.stale or index.outdated())


def _kinds(db: sqlite3.Connection, request: SearchRequest) -> list[bool]:
    """What is searched apart: entries (False) and checkpoints (True)."""
    wanted = set(request.filters.layers)
    is_empty = db.execute(f"select 1 from {CHECKPOINT_WORDS}_docsize limit 1").fetchone() is None
    if is_empty or request.context.scope.group is not None or (wanted and not wanted & {*TIERS}):
        return [False]
    return [True] if wanted and wanted <= {*TIERS} else [False, True]


def _joined(entries: SearchReport, checkpoints: SearchReport, *, limit: int) -> SearchReport:
    """Both reports as one. Entries keep their order and their scores; a passage of a checkpoint scores at most as much as the last entry of the
    page that is not weak, a weak one at most as much as the best entry. For the last places of the page whichever scores more is taken, and
    what remains follows."""
    first = entries.hits[0].score if entries.hits else 1.0
    safe = entries.hits[:_SAFE]
    rest = sorted([*entries.hits[_SAFE:], *checkpoints.hits], key=lambda hit: -hit.score)
    page, further = [*safe, *rest[: _PAGE - len(safe)]], rest[_PAGE - len(safe) :]
    most = min((hit.score for hit in page if hit.layer not in TIERS and not hit.weak), default=1.0)
    page = [_at_most(hit, min(most, first) if hit.weak else most) if hit.layer in TIERS else hit for hit in page]
    page.sort(key=lambda hit: -hit.score)
    hits = (*page, *(_at_most(hit, page[-1].score) for hit in further))[:limit]
    took = entries.took_ms + checkpoints.took_ms
    abstained = entries.abstained and checkpoints.abstained
    return dataclasses.replace(entries, hits=hits, abstained=abstained, took_ms=took)


def _at_most(hit: Hit, score: float) -> Hit:
    score = min(hit.score, score)
    return dataclasses.replace(hit, score=score, weak=score < WEAK)


def merge_reports(reports: Sequence[SearchReport], request: SearchRequest) -> SearchReport:
    """One report of several: a score says how sure we are, so hits of different corpora can be compared by it. Behind the first few, what
    hardly anything speaks for is left out, unless a least score says what is wanted."""
    if not reports:
        return SearchReport((), "text", None, None)
    hits = sorted((hit for report in reports for hit in report.hits), key=lambda hit: -hit.score)[: request.limit]
    if request.min_score is None:
        hits = [hit for place, hit in enumerate(hits) if place < _FIRST_FEW or hit.score >= _LEAST]
    return dataclasses.replace(
        next((report for report in reports if report.model), reports[0]),
        hits=tuple(hits),
        fallback=next((report.fallback for report in reports if report.fallback), None),
        abstained=all(report.abstained for report in reports),
        stale=any(report.stale for report in reports),
        took_ms=sum(report.took_ms for report in reports),
    )


class Gathered(NamedTuple):
    """The statements that may answer, with their features, and what else a ranking needs."""

    found: list[Statement]
    context: list[float]
    terms: Terms
    likeness: _Alike
    vectors: Vectors
    on_days: bool
    model: str | None
    provider: str | None
    fallback: str | None


def gather(
    db: sqlite3.Connection, request: SearchRequest, meaning: Meaning | None, *, checkpoints: bool, to_the_second: bool
) -> Gathered:
    """What words, meaning, the days named and the neighbours of the best bring in; without `meaning` by words alone."""
    question, clock, settings = request.question, request.context.clock, request.context.config.search
    scope = condition(request.context.scope, Filters(), None)
    today = clock.today().isoformat() if clock.fixed else None
    moment = clock.now().isoformat() if clock.fixed and to_the_second else None
    where = condition(request.context.scope, request.filters, today, moment)
    chunks = Chunks(db, where, scope, checkpoints=checkpoints)
    terms = chunks.weigh_terms(question.tokens, question.of_dates, question.text)
    fallback = meaning.reason if meaning else None
    model = provider = scanner = None
    vectors: Vectors = {}
    near: dict[int, dict[int, float]] = {}
    if meaning and meaning.models:
        embedder, scanner = meaning.models
        vectors, near, model = _by_meaning(chunks, meaning.asked, scanner)
        provider = embedder.provider
    bm25 = chunks.by_words(terms, _BY_WORDS) if request.mode != "vector" or fallback else {}
    on_days = chunks.by_period(question.period, _BY_WORDS) if question.period else []
    candidates = chunks.load({*bm25, *near, *on_days})
    for number, candidate in candidates.items():
        candidate.bm25 = bm25.get(number, 0.0)
        candidate.cosines = near.get(number, {})
    chunks.read_words(candidates, terms)
    _fill_cosines(chunks, candidates.values(), vectors, scanner)
    statements = fold_copies(candidates.values(), question)
    best = sorted(statements, key=lambda statement: -statement.fit)[:_LIFTED]
    around = {} if checkpoints else chunks.load(successors(db, best[:CONTENDERS]), filtered=True)
    if statements and need_of_neighbours(statements):
        around |= chunks.neighbours([copy for statement in best for copy in statement.copies], 2)
    if fresh := {number: candidate for number, candidate in around.items() if number not in candidates}:
        chunks.read_words(fresh, terms)
        _fill_cosines(chunks, fresh.values(), vectors, scanner)
        candidates |= fresh
        statements = fold_copies(candidates.values(), question)
    statements = fold_entries(statements)
    fill(statements, question, terms, clock.today(), settings.half_life_days)
    context, likeness = context_of(statements), _Alike(chunks, vectors, scanner)
    return Gathered(statements, context, terms, likeness, vectors, bool(on_days), model, provider, fallback)


def _search(
    db: sqlite3.Connection,
    request: SearchRequest,
    meaning: Meaning | None,
    *,
    checkpoints: bool,
    joined: bool,
    to_the_second: bool,
) -> SearchReport:
    """The best hits, inside one moment of the index; of each checkpoint one, where they are `joined` to entries."""
    started = time.perf_counter()
    question, settings = request.question, request.context.config.search
    gathered = gather(db, request, meaning, checkpoints=checkpoints, to_the_second=to_the_second)
    text_only = not gathered.vectors
    # Neighbours may move a statement up, but not make it a hit: it needs a word of the question, meaning, or its time.
    answering = [statement for statement in gathered.found if statement.fit > _NOTHING or statement.is_timely(question)]
    ranked = score(answering, gathered.context, text_only=text_only, share=_share_of_meaning(settings))
    if settings.decay == "tie":
        weigh_age(ranked, "tie")
    if settings.decay != "off":
        gathered.likeness.load(ranked[:FURTHER])
        known = [] if checkpoints else _successors(ranked, request)
        related = relations_between(db, ranked[:FURTHER])
        ranked = supersede(ranked, question, gathered.terms.weights, gathered.likeness, related, known)
    sure = 0.0
    if ranked:
        sure = confidence(ranked, question, gathered.terms.total, text_only=text_only)
        if question.only_days and gathered.on_days:
            sure = max(sure, SURE_OF_DAYS)
    if settings.decay == "multiply":
        weigh_age(ranked, "multiply")
    if checkpoints and joined:
        ranked = _best_of_each(db, ranked)
    hits = _hits(db, ranked, frozenset(gathered.terms.weights), request, sure)
    least = request.min_score if request.min_score is not None else settings.min_score
    kept = tuple(hit for hit in hits if least is None or hit.score >= least)
    return SearchReport(
        hits=kept,
        mode="hybrid" if not text_only and request.mode == "hybrid" else "text" if text_only else "vector",
        model=gathered.model,
        provider=gathered.provider,
        fallback=gathered.fallback,
        abstained=all(hit.weak for hit in hits),
        stale=bool(meaning and meaning.stale),
        took_ms=(time.perf_counter() - started) * 1000,
    )


def _best_of_each(db: sqlite3.Connection, ranked: list[Statement]) -> list[Statement]:
    """The best passage of each checkpoint; a summary and its original are one."""
    files = in_groups(
        db, "select id, path from files where id in (%s)", list({statement.shown.file for statement in ranked})
    )
    names = {number: stem_of(path.rpartition("/")[2]) for number, path in files}
    best: dict[str, Statement] = {}
    for statement in ranked:
        best.setdefault(names[statement.shown.file], statement)
    return list(best.values())


def _by_meaning(
    chunks: Chunks, asked: Mapping[str, Floats], scanner: Scanner
) -> tuple[Vectors, dict[int, dict[int, float]], str | None]:
    """The question's vector by model, the nearest chunks with their cosines, and the names of the models used."""
    vectors: Vectors = {}
    near: dict[int, dict[int, float]] = {}
    names: list[str] = []
    for model_hash, vector in asked.items():
        model, name = chunks.db.execute("select id, name from models where hash = ?", (model_hash,)).fetchone()
        vectors[model] = vector
        names.append(name)
        if chunks.scoped:  # what stands outside the scope takes no place among the nearest
            every = chunks.passages()
            cosines = scanner.cosines(model, vector, list({key for _, key in every}))
            embedded = (passage for passage in every if passage[1] in cosines)
            passages = sorted(embedded, key=lambda passage: -cosines[passage[1]])[:_BY_MEANING]
        else:
            cosines = dict(scanner.nearest(model, vector, 8 * _BY_MEANING, among=24 * _BY_MEANING))
            hashes = list(cosines)
            usable: dict[bytes, list[int]] = {}
            # A narrow filter, or checkpoints, may drop most of the nearest: then look further.
            while hashes and len(usable) < _BY_MEANING:
                for chunk, key in chunks.passages(hashes[: 2 * _BY_MEANING]):
                    usable.setdefault(key, []).append(chunk)
                del hashes[: 2 * _BY_MEANING]
            nearest = sorted(usable, key=lambda key: -cosines[key])[:_BY_MEANING]
            passages = [(chunk, key) for key in nearest for chunk in usable[key]]
        for chunk, key in passages:
            _keep_best(near.setdefault(chunk, {}), model, cosines[key])
    return vectors, near, " + ".join(names) or None


def _fill_cosines(chunks: Chunks, candidates: Iterable[Candidate], vectors: Vectors, scanner: Scanner | None) -> None:
    """The cosines of candidates that words or neighbourhood brought in."""
    if not vectors or scanner is None:
        return
    lacking = {candidate.id: candidate for candidate in candidates if not candidate.cosines}
    rows = in_groups(chunks.db, "select chunk, hash from passages where chunk in (%s)", list(lacking))
    hashes = list({key for _, key in rows})
    for model, vector in vectors.items():
        cosines = scanner.cosines(model, vector, hashes)
        for chunk, key in rows:
            if key in cosines:
                _keep_best(lacking[chunk].cosines, model, cosines[key])


def _keep_best(by_model: dict[int, float], model: int, cosine: float) -> None:
    by_model[model] = max(by_model.get(model, -1.0), cosine)


class _Alike:
    """How alike two statements are: by the cosine of their vectors, and by their words where they have none."""

    def __init__(self, chunks: Chunks, vectors: Vectors, scanner: Scanner | None) -> None:
        self._chunks, self._vectors, self._scanner = chunks, vectors, scanner
        self._rows: dict[tuple[int, int], list[Floats]] = {}  # by chunk and model

    def load(self, statements: Sequence[Statement]) -> None:
        """Read the vectors of these statements, all at once."""
        query = "select chunk, hash from passages where chunk in (%s)"
        passages = in_groups(self._chunks.db, query, [statement.shown.id for statement in statements])
        for model in self._vectors:
            rows = self._scanner.rows(model, [key for _, key in passages]) if self._scanner else {}
            for chunk, key in passages:
                if key in rows:
                    self._rows.setdefault((chunk, model), []).append(rows[key])

    def __call__(self, first: Statement, second: Statement) -> float:
        best = None
        for model in self._vectors:
            pairs = product(*(self._rows.get((side.shown.id, model), ()) for side in (first, second)))
            best = max((float(left @ right) for left, right in pairs), default=best)
        if best is not None:
            return best
        words, others = (
            {word for word in side.shown.body.split() if word.isalpha()} - stop_tokens() for side in (first, second)
        )
        return len(words & others) / max(1, min(len(words), len(others)))


@lru_cache(maxsize=4)
def _closed_by(workspace: Workspace, today: str, stamp: Stored) -> ClosedEntries:  # noqa: ARG001 - read anew when the file changed
    return load_closed(workspace, today)


def _closed(request: SearchRequest) -> ClosedEntries:
    """What the ledger closed; a group sees nothing of it."""
    context, workspace = request.context, request.context.workspace
    stamp = storage_of(workspace).about(workspace.relative(workspace.ledger))
    if context.scope.group is not None or stamp is None:
        return NONE_CLOSED
    return _closed_by(workspace, context.clock.today().isoformat(), stamp)


def _with_closed(report: SearchReport, request: SearchRequest) -> SearchReport:
    """Lines of checkpoints that state what no longer holds are marked, and their passages stand below the entry that holds instead."""
    if request.context.config.search.decay == "off" or not any(hit.layer in TIERS for hit in report.hits):
        return report
    closed, hits = _closed(request), list(report.hits)
    for hit in report.hits:
        lines = hit.snippet.split("\n") if hit.layer in TIERS else []
        ends = [closed.of_talk(line, hit.date)[1] for line in lines]
        if end := next(filter(None, ends), None):
            at = hits.index(hit)
            mark = say(" (superseded)", "（已被取代）")
            marked = "\n".join(line + mark * bool(over) for line, over in zip(lines, ends, strict=True))
            hits[at] = dataclasses.replace(hit, snippet=marked[: request.context.config.search.snippet_chars])
            current = [other for other in hits[at:_PAGE] if entry_id(bare_words(other.snippet)) == end.by]
            for other in current if not request.question.past else ():
                hits.remove(other)
                hits.insert(at, dataclasses.replace(other, score=hit.score, weak=hit.weak))
    return dataclasses.replace(report, hits=tuple(hits))


def _successors(ranked: Sequence[Statement], request: SearchRequest) -> Successors:
    """Which of the best no longer hold as the ledger knows, with the statement among them that holds instead."""
    closed = _closed(request)
    ranked = ranked[:_MAY_HAVE_ENDED]
    logged = (statement for statement in ranked if statement.shown.layer in _LOGGED)
    ended = [(old, end) for old in logged if (end := closed.of(old.shown.text, old.date))]
    ids = {entry_id(bare_words(statement.shown.text)): statement for statement in ranked if ended}
    return [(statement, ids.get(end.by or "")) for statement, end in ended]


def _share_of_meaning(settings: SearchSettings) -> float | None:
    """The user's own split between meaning and words; None for the learned one."""
    vector, text = settings.vector_weight, settings.text_weight
    if vector is None and text is None:
        return None
    vector = 1 - (text or 0.0) if vector is None else vector
    text = 1 - vector if text is None else text
    return vector / ((vector + text) or 1.0)


def _hits(
    db: sqlite3.Connection, ranked: list[Statement], words: frozenset[str], request: SearchRequest, sure: float
) -> list[Hit]:
    """The best, made varied, as hits. The score of the best is how sure we are; the others stand in proportion."""
    top = ranked[: request.limit + VARIED]
    relative = [math.exp((statement.score - top[0].score) / TEMPERATURE) for statement in top]
    bodies = [frozenset(statement.shown.body.split()) for statement in top]
    order = diversify(relative, bodies, request.context.config.search.mmr_lambda, request.limit)
    rows = in_groups(
        db,
        "select c.id, c.key, f.path, c.first, c.last, c.heading, c.text, c.project, c.session, c.time, c.audience, c.label"
        " from chunks c join files f on f.id = c.file where c.id in (%s)",
        [copy.id for at in order for copy in top[at].copies],
    )
    places = {number: row for number, *row in rows}
    # A copy that moved down must not look better than what stands above it.
    scores = accumulate((relative[at] for at in order), min)
    return [
        _hit(top[at], places, score * sure, words, request.context) for at, score in zip(order, scores, strict=True)
    ]


def own_heading(heading: str, scope: Scope) -> str:
    """The heading from the one that is stamped for the group inwards: what stands above it is private, also where its words
    look like a stamp."""
    parts = heading.split(" > ")
    stamped = (at for at in range(len(parts) - 1, -1, -1) if stamp_of(parts[at]).group == scope.group)
    return " > ".join(parts[next(stamped, len(parts)) :])


def _hit(
    statement: Statement, places: Mapping[int, list[Any]], score: float, words: frozenset[str], context: Context
) -> Hit:
    candidate = statement.shown
    key, path, first, last, heading, text, project, session, at, audience, label = places[candidate.id]
    group = audience if audience != "*" else None
    kind = "speaker" if candidate.layer == "session" else "type"
    provenance = {"session": session, "time": at, "day": candidate.date, "group": group, kind: label}
    parts = dict(zip(FEATURES, statement.features, strict=True)) | {
        "bm25": candidate.bm25,
        "cosine": max(candidate.cosines.values(), default=0.0),
    }
    return Hit(
        id=key,
        path=path,
        start_line=first,
        end_line=last,
        score=round(score, 4),
        snippet=snippet(text, words, context.config.search.snippet_chars),
        heading=own_heading(heading, context.scope) if context.scope.group is not None and audience != "*" else heading,
        layer=candidate.layer,
        date=candidate.date,
        project=project,
        weak=score < WEAK,
        superseded=statement.superseded,
        also=tuple(sorted(citation(*places[copy.id][1:4]) for copy in statement.copies if copy is not candidate)),
        text_score=round(statement.words, 4),
        vector_score=round(statement.meaning, 4),
        parts={name: round(value, 4) for name, value in parts.items()},
        provenance={name: value for name, value in provenance.items() if value},
    )


def snippet(text: str, words: frozenset[str], most: int) -> str:
    """At most this many characters: the line that holds most of the words, and the lines around it."""
    text = text.strip()
    if len(text) <= most:
        return text
    lines = text.split("\n")
    best = max(range(len(lines)), key=lambda at: len(words.intersection(tokens(lines[at]))))
    shown = lines[best]
    if len(shown) > most:  # the window of a long line that holds most
        step = max(1, most // 4)
        starts = range(0, max(1, len(shown) - most + step), step)
        start = max(starts, key=lambda at: len(words.intersection(tokens(shown[at : at + most - 2]))))
        window = stretch(shown, start, most - 2).strip()
        return ("…" if start else "") + window + ("…" if start + most - 2 < len(shown) else "")
    first = last = best
    while True:
        if last + 1 < len(lines) and len(shown) + 1 + len(lines[last + 1]) <= most:
            last += 1
            shown = f"{shown}\n{lines[last]}"
        elif first > 0 and len(shown) + 1 + len(lines[first - 1]) <= most:
            first -= 1
            shown = f"{lines[first]}\n{shown}"
        else:
            return shown.strip()
