"""Search: question, candidates, score, time, diversity, hits; over memory, sessions or both."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from nacre.clock import Clock
from nacre.config.settings import SearchSettings
from nacre.errors import ModelUnusable
from nacre.index.freshness import MemoryIndex
from nacre.index.store import Generation, Store
from nacre.model.context import Scope
from nacre.model.hit import Hit, SearchReport
from nacre.search import candidates as pick
from nacre.search.candidates import Candidate, Terms
from nacre.search.filters import Filters, condition
from nacre.search.meaning import Meaning, MeaningSource, words_only
from nacre.search.query import Question
from nacre.search.rank import (
    FLOOR,
    SURE_OF_DAYS,
    Scored,
    Weights,
    confidence,
    diversify,
    fuse,
    lift,
    need_of_neighbours,
    weigh_time,
)
from nacre.text.stamps import LABELS, stamp_of
from nacre.text.tokens import cjk_count, tokens

if TYPE_CHECKING:
    from nacre.embed.models import Embedder
    from nacre.index.vectors import Floats, Scanner

    Vectors = dict[int, Floats]  # the question's vector, by model


def snippet(text: str, asked: frozenset[str], most: int) -> str:
    text = text.strip()
    if len(text) <= most:
        return text
    lines = text.split("\n")
    best, best_score = 0, -1
    for at, line in enumerate(lines):
        score = len(asked.intersection(tokens(line)))
        if score > best_score:
            best, best_score = at, score
    shown = lines[best]
    if len(shown) > most:
        return _within(shown, asked, most)
    first = last = best
    while True:  # take in the lines around it while there is room
        after = lines[last + 1] if last + 1 < len(lines) else None
        before = lines[first - 1] if first > 0 else None
        if after is not None and len(shown) + 1 + len(after) <= most:
            shown, last = f"{shown}\n{after}", last + 1
        elif before is not None and len(shown) + 1 + len(before) <= most:
            shown, first = f"{before}\n{shown}", first - 1
        else:
            return shown.strip()


def _within(line: str, asked: frozenset[str], most: int) -> str:
    """The window of a long line that holds most of what was asked."""
    step = max(1, most // 4)
    starts = range(0, max(1, len(line) - most + step), step)
    start = max(starts, key=lambda at: (len(asked.intersection(tokens(line[at : at + most - 2]))), -at))
    window = line[start : start + most - 2].strip()
    return ("…" if start else "") + window + ("…" if start + most - 2 < len(line) else "")


# Search: question → candidates → one score → time → variety → hits, or an honest nothing.

_BY_WORDS = 70
_BY_MEANING = 70
_LIFTED = 25  # the best candidates whose neighbours are looked at too


class SearchRequest(NamedTuple):
    """Everything about how to search, apart from the question."""

    limit: int
    mode: str
    min_score: float | None
    filters: Filters
    scope: Scope
    clock: Clock
    settings: SearchSettings
    as_of: bool  # whether the moment was given: later days are then unknown
    to_the_second: bool = False  # in sessions, also what was said later on that day


def search(
    store: Store, generation: Generation, question: Question, asked: SearchRequest, meaning: Meaning | None
) -> SearchReport:
    """The best hits, inside one moment of the index; without `meaning` by words alone."""
    started = time.perf_counter()
    db = store.db
    today = asked.clock.today()
    moment = asked.clock.now().isoformat() if asked.as_of and asked.to_the_second else None
    where = condition(asked.scope, asked.filters, today.isoformat() if asked.as_of else None, moment)
    scope = condition(asked.scope, Filters(), None)
    terms = pick.weigh_terms(db, generation, question.tokens, question.of_dates, scope)
    found: dict[int, Candidate] = {}
    fallback = model = provider = None
    asked_vectors: Vectors = {}
    scanner: Scanner | None = None
    near: dict[int, dict[int, float]] = {}
    if meaning:
        fallback = meaning.reason
        if meaning.embedder and meaning.scanner:
            scanner, provider = meaning.scanner, meaning.embedder.provider
            try:
                by_meaning = _by_meaning(
                    db, generation, question, meaning.embedder, scanner, where, scoped=bool(scope[0])
                )
                asked_vectors, near, model = by_meaning
            except ModelUnusable as trouble:
                fallback, provider = words_only(trouble), None
    wanted = asked.mode != "vector" or fallback
    bm25 = pick.by_words(db, generation, terms, where, _BY_WORDS, scope) if wanted else {}
    on_days = pick.by_days(db, generation, question, where, _BY_WORDS) if question.first_day else []
    found = pick.load(db, {*bm25, *near, *on_days})
    for number, score in bm25.items():
        found[number].bm25 = score
    for number, cosines in near.items():
        found[number].cosines = cosines
    scored = _score(db, generation, found, terms, asked, asked_vectors, scanner, where)
    changes = weigh_time(scored, question, today, asked.settings.decay, asked.settings.half_life_days)
    scored.sort(key=lambda one: -(one.score + changes[one.candidate.id]))
    script = "han" if cjk_count(question.text) else "latin"
    sure = confidence(scored, script, terms.total, text_only=not asked_vectors)
    if question.only_days and on_days:
        sure = max(sure, SURE_OF_DAYS)
    hits = _hits(db, scored, changes, terms, asked, sure)
    floor = asked.min_score if asked.min_score is not None else asked.settings.min_score
    least = FLOOR if floor is None else floor
    kept = [hit for hit, alone in hits if hit.score >= least and alone >= least]
    return SearchReport(
        hits=tuple(kept[: asked.limit]),
        mode="hybrid" if asked_vectors and asked.mode == "hybrid" else "vector" if asked_vectors else "text",
        model=model,
        provider=provider,
        fallback=fallback,
        abstained=bool(hits) and not kept,
        stale=bool(meaning and meaning.stale),
        took_ms=(time.perf_counter() - started) * 1000,
    )


def _by_meaning(
    db: sqlite3.Connection,
    generation: Generation,
    question: Question,
    embedder: Embedder,
    scanner: Scanner,
    where: pick.Where,
    *,
    scoped: bool,
) -> tuple[Vectors, dict[int, dict[int, float]], str | None]:
    """The question's vector by model, the nearest chunks with their cosines, and the names of the models used."""
    from nacre.index.vectors import must_fit

    vectors: Vectors = {}
    near: dict[int, dict[int, float]] = {}
    names: list[str] = []
    for model in embedder.models_for(question.text):
        row = db.execute("select id, dims from models where hash = ?", (model.hash,)).fetchone()
        if row is None:
            continue
        vector = scanner.question(embedder, model, question.text)
        must_fit(model, len(vector), row[1])
        vectors[row[0]] = vector
        names.append(model.name)
        if scoped:  # what stands outside the scope takes no place among the nearest
            rows = pick.every_passage(db, generation, where)
            cosines_of = scanner.cosines(row[0], vector, list({key for _, key in rows}))
            rows = sorted((r for r in rows if r[1] in cosines_of), key=lambda r: -cosines_of[r[1]])[:_BY_MEANING]
        else:
            # A narrow filter may drop most of the nearest: then look further.
            cosines_of = dict(scanner.nearest(row[0], vector, _BY_MEANING if not where[0] else _BY_MEANING * 8))
            rows = pick.by_hash(db, generation, list(cosines_of), where)
        for chunk, key in rows:
            cosines = near.setdefault(chunk, {})
            cosines[row[0]] = max(cosines.get(row[0], -1.0), cosines_of[key])
    return vectors, near, " + ".join(names) or None


def _score(
    db: sqlite3.Connection,
    generation: Generation,
    found: dict[int, Candidate],
    terms: Terms,
    asked: SearchRequest,
    vectors: Vectors,
    scanner: Scanner | None,
    where: pick.Where,
) -> list[Scored]:
    weights = _weights(asked.settings)
    text_only = not vectors
    pick.read_words(db, generation, found, terms)
    _fill_cosines(db, found, vectors, scanner)
    scored = fuse(found, weights, text_only=text_only)
    if not need_of_neighbours(scored):
        return scored
    best = sorted(scored, key=lambda one: -one.base)[:_LIFTED]
    around = pick.neighbours(db, (one.candidate for one in best), 2, where)
    fresh = {number: one for number, one in around.items() if number not in found}
    if fresh:
        pick.read_words(db, generation, fresh, terms)
        _fill_cosines(db, fresh, vectors, scanner)
        found |= fresh
        scored = fuse(found, weights, text_only=text_only)
    lift(scored, weights)
    return scored


def _weights(settings: SearchSettings) -> Weights:
    """The learned weights, or the user's own split between meaning and words."""
    vector, text = settings.vector_weight, settings.text_weight
    if vector is None and text is None:
        return Weights()
    vector = 1 - (text or 0.0) if vector is None else vector
    text = 1 - vector if text is None else text
    return Weights(vector / ((vector + text) or 1.0), vector_when_uncovered=0.0, vector_when_covered=0.0)


def _fill_cosines(
    db: sqlite3.Connection, found: Mapping[int, Candidate], vectors: Vectors, scanner: Scanner | None
) -> None:
    """The cosines of candidates that words or neighbourhood brought in."""
    if not vectors or scanner is None:
        return
    rows = pick.passage_hashes(db, [one.id for one in found.values() if not one.cosines])
    hashes = list({key for _, key in rows})
    for model, vector in vectors.items():
        cosines = scanner.cosines(model, vector, hashes)
        for chunk, key in rows:
            if key in cosines:
                held = found[chunk].cosines
                held[model] = max(held.get(model, -1.0), cosines[key])


def _hits(
    db: sqlite3.Connection,
    scored: list[Scored],
    changes: Mapping[int, float],
    terms: Terms,
    asked: SearchRequest,
    sure: float,
) -> list[tuple[Hit, float]]:
    """The best, made varied, as hits. The best score is how sure we are; the others stand in proportion.

    With each the score it would have without its neighbours: they may move a hit up, but not make one.
    """
    top = scored[: asked.limit + 10]
    if asked.min_score is None:
        top = _without_copies(top, changes)
    if not top:
        return []
    finals = [max(0.0, one.score + changes[one.candidate.id]) for one in top]
    best = finals[0] or 1.0
    relative = [final / best for final in finals]
    order = diversify(relative, [one.candidate.words for one in top], asked.settings.mmr_lambda, asked.limit)
    words = frozenset(terms.weights)
    hits: list[tuple[Hit, float]] = []
    highest = 1.0
    for at in order:
        one = top[at]
        highest = min(highest, relative[at])  # a copy that moved down must not look better than what stands above it
        alone = (one.base + changes[one.candidate.id]) / best * sure
        hits.append((_hit(db, one, changes[one.candidate.id], highest * sure, words, asked), alone))
    return hits


def _without_copies(scored: list[Scored], changes: Mapping[int, float]) -> list[Scored]:
    """Of entries that say the same to the letter only the best; of equally good ones that in long-term memory, else the newest. A
    day's line and its copy in the week's digest differ in their label and source alone."""

    def final(one: Scored) -> float:
        return one.score + changes[one.candidate.id]

    newest: dict[str, Scored] = {}
    for one in scored:
        body = _unlabelled(one.candidate.body)
        held = newest.setdefault(body, one)
        if _precedence(one.candidate) > _precedence(held.candidate) and final(one) >= 0.9 * final(held):
            newest[body] = one
    kept = {one.candidate.id for one in newest.values()}
    return [one for one in scored if one.candidate.id in kept]


def _precedence(one: Candidate) -> tuple[bool, str]:
    return one.layer == "longterm", one.date or ""


@cache
def _labels() -> tuple[str, ...]:
    return tuple(" ".join(tokens(label)) + " " for label in LABELS)


_SOURCE = re.compile(r" src \d{4}_\d{2}_\d{2}(?: \d+)*$")


def _unlabelled(body: str) -> str:
    """The tokens of an entry without those of its label and of its source note."""
    bare = _SOURCE.sub("", body.strip())
    label = next((label for label in _labels() if bare.startswith(label)), "")
    return bare[len(label) :]


def own_heading(heading: str, scope: Scope) -> str:
    """The heading from the one that is stamped for the group inwards: what stands above it is private, also where its words
    look like a stamp."""
    parts = heading.split(" > ")
    stamped = (at for at in range(len(parts) - 1, -1, -1) if stamp_of(parts[at]).group == scope.group)
    return " > ".join(parts[next(stamped, len(parts)) :])


def _hit(
    db: sqlite3.Connection, one: Scored, change: float, score: float, words: frozenset[str], asked: SearchRequest
) -> Hit:
    row = db.execute(
        "select c.key, f.path, c.first, c.last, c.heading, c.text, c.layer, c.date, c.project, c.session, c.time, c.audience, c.label"
        " from chunks c join files f on f.id = c.file where c.id = ?",
        (one.candidate.id,),
    ).fetchone()
    key, path, first, last, heading, text, layer, date, project, session, at, audience, label = row
    about = {"session": session, "time": at, "day": date, "group": audience if audience != "*" else None}
    about["speaker" if layer == "session" else "type"] = label
    parts = {
        "bm25": round(one.candidate.bm25, 4),
        "coverage": round(one.candidate.coverage, 4),
        "cosine": round(max(one.candidate.cosines.values(), default=0.0), 4),
        "words": round(one.text, 4),
        "meaning": round(one.vector, 4),
        "base": round(one.base, 4),
        "neighbours": round(one.lift, 4),
        "time": round(change, 4),
    }
    return Hit(
        id=key,
        path=path,
        start_line=first,
        end_line=last,
        score=round(score, 4),
        snippet=snippet(text, words, asked.settings.snippet_chars),
        heading=own_heading(heading, asked.scope) if asked.scope.group is not None and audience != "*" else heading,
        layer=layer,
        date=date,
        project=project,
        text_score=round(one.text, 4),
        vector_score=round(one.vector, 4),
        parts=parts,
        provenance={name: value for name, value in about.items() if value},
    )


# What can be searched: memory, and the sessions themselves where the user wants them indexed; one answer from both.

CORPORA = ("memory", "sessions", "all")


class Corpus(NamedTuple):
    """An index and the vectors in it."""

    keeper: MemoryIndex
    meaning: MeaningSource
    to_the_second: bool = False  # whether it is known when something was said, not only on which day


def answer_from(corpus: Corpus, question: Question, asked: SearchRequest) -> SearchReport:
    """Bring an index up to date and search it."""
    keeper, meaning, to_the_second = corpus
    asked = asked._replace(to_the_second=to_the_second)

    def work() -> SearchReport:
        while True:
            epoch = keeper.store.epoch  # before: what was brought up must be what is read
            generation = keeper.current()
            means = meaning.now() if asked.mode != "text" else None
            with keeper.store.reading():  # one moment, whatever others write meanwhile
                if keeper.store.epoch == epoch and keeper.store.live() == generation:
                    return search(keeper.store, generation, question, asked, means)
            # Somebody deleted the index or let a new generation take over: look again.

    report = keeper.store.safely(work)
    return dataclasses.replace(report, stale=report.stale or keeper.outdated())


def merge_reports(reports: Sequence[SearchReport], limit: int) -> SearchReport:
    """One report of several: a score says how sure we are, so hits of different corpora can be compared by it."""
    if len(reports) == 1:
        return reports[0]
    hits = sorted((hit for report in reports for hit in report.hits), key=lambda hit: -hit.score)[:limit]
    first = next((report for report in reports if report.model), reports[0] if reports else None)
    return SearchReport(
        hits=tuple(hits),
        mode=first.mode if first else "text",
        model=first.model if first else None,
        provider=first.provider if first else None,
        fallback=next((report.fallback for report in reports if report.fallback), None),
        abstained=not hits and any(report.abstained for report in reports),
        stale=any(report.stale for report in reports),
        took_ms=sum(report.took_ms for report in reports),
    )
