"""The ledger of long-term memory: what was offered, admitted or refused, by which test, superseding what; which entries it closed, and
the tombstones of what was forgotten."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.model import Problem, Workspace
from nacre.text.tokens import sentences, stop_tokens, tokens
from nacre.vault.entries import bare_words, entry_id, normal_words, words_of
from nacre.vault.storage import BROKEN, LineIndex, dump_row, parse_rows, read, read_records, storage_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from nacre.vault.history import Operation
    from nacre.vault.writing import OnSecret

    Vectors = Mapping[str, npt.NDArray[np.float32]]  # of one text, by the hash of the model that made each


VERDICTS = ("admitted", "adopted", "asked", "refused", "superseded", "merged", "demoted", "forgotten", "restored")
IN_MEMORY = ("admitted", "adopted", "restored")


class Record(NamedTuple):
    """One line of the ledger. `more` keeps fields that a newer version wrote."""

    id: str
    at: str
    verdict: str
    text: str | None = None
    section: str | None = None
    tests: Mapping[str, float] = {}
    failed: str | None = None
    without_it: str | None = None
    source: Mapping[str, str] = {}
    brain: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    supersedes: str | None = None
    confidence: float | None = None
    more: Mapping[str, Any] = {}


_FIELDS = Record._fields[:-1]
_NAMES = frozenset(_FIELDS)
_ALWAYS = ("id", "at", "verdict", "text", "valid_to", "supersedes")


def write_records(op: Operation, *records: Record, on_secret: OnSecret = "refuse") -> None:  # noqa: S107 - no password
    """Append records in one write; part of the operation, so that undoing it takes the lines back as well."""
    if records:
        from nacre.vault.writing import append

        append(op, op.workspace.ledger, "".join(dump_row(as_json(record)) for record in records), on_secret=on_secret)


def as_json(record: Record) -> dict[str, Any]:
    values = zip(_FIELDS, record, strict=False)
    return {name: value for name, value in values if name in _ALWAYS or value not in (None, {})} | dict(record.more)


class Ledger(NamedTuple):
    records: tuple[Record, ...]
    problems: tuple[Problem, ...]


def read_ledger(workspace: Workspace) -> Ledger:
    return Ledger(*read_records(storage_of(workspace), workspace.relative(workspace.ledger), _record))


def admitted(data: bytes) -> set[str]:
    """The ids of the entries that Nacre added to a MEMORY.md, by these bytes of a ledger; not of lines that stood there before."""
    records = (record for row in parse_rows(data, "").rows if (record := _record(row.value)))
    return {key for key, state in entry_states(records).items() if state.in_memory and state.verdict != "adopted"}


def record_from(value: object) -> Record | None:
    """The record that `as_json` made this object of; None for anything else."""
    record = _record(value) if isinstance(value, dict) else None
    return record if record and record.verdict in VERDICTS else None


def _record(value: dict[str, Any]) -> Record | None:
    if not all(isinstance(value.get(name), str) for name in ("id", "at", "verdict")):
        return None
    record_fields: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, held in value.items():
        if name not in _NAMES:
            more[name] = held
        elif name in ("tests", "source"):
            if isinstance(held, dict) and {*map(type, held.values())} <= ({str} if name == "source" else {int, float}):
                record_fields[name] = held
        elif isinstance(held, (int, float) if name == "confidence" else str):
            record_fields[name] = held
    return Record(**record_fields, more=more)


class EntryState(NamedTuple):
    """What the ledger says of one entry or candidate, all its lines taken together."""

    id: str
    verdict: str  # the last one that changed anything
    text: str | None
    records: tuple[Record, ...]
    pinned: bool = False

    @property
    def in_memory(self) -> bool:
        return self.verdict in IN_MEMORY

    @property
    def file(self) -> str:
        return self._last("file") or "MEMORY.md"

    @property
    def source(self) -> Mapping[str, str]:
        """Where it came from: the first line that says so."""
        return next((record.source for record in self.records if record.source), {})

    @property
    def bullets(self) -> tuple[str, ...]:
        """The marks of the lines that it was made of: its own, and the one above where that says what it is about."""
        return tuple(mark for name in ("bullet", "above") if (mark := self.source.get(name)))

    @property
    def valid_from(self) -> str | None:
        return next((record.valid_from for record in self.records if record.valid_from), None)

    @property
    def valid_to(self) -> str | None:
        return self.records[-1].valid_to

    @property
    def supersedes(self) -> str | None:
        return next((record.supersedes for record in self.records if record.supersedes), None)

    @property
    def confidence(self) -> float | None:
        return next((line.confidence for line in reversed(self.records) if line.confidence is not None), None)

    @property
    def into(self) -> str | None:
        return self._last("into")

    @property
    def by(self) -> str | None:
        """What superseded it, rather than only said it in other words."""
        by = self.records[-1].more.get("by") if self.verdict == "superseded" else None
        return str(by) if by else None

    def _last(self, name: str) -> str | None:
        return next((str(record.more[name]) for record in reversed(self.records) if record.more.get(name)), None)


def entry_states(records: Iterable[Record]) -> dict[str, EntryState]:
    by_id: dict[str, list[Record]] = {}
    for record in records:
        by_id.setdefault(record.id, []).append(record)
    states: dict[str, EntryState] = {}
    for key, lines in by_id.items():
        # A line that only tells that the same words came up once more, or were asked about, changes nothing of what became of them.
        decided = [line for line in lines if line.verdict != "asked"] or lines
        newest = decided[::-1]
        verdicts = (line.verdict for line in newest if line.verdict != "merged" or line.more.get("into") != line.id)
        text = next((line.text for line in newest if line.text), None)
        pinned = next((bool(line.more["pinned"]) for line in newest if "pinned" in line.more), False)
        states[key] = EntryState(key, next(verdicts, decided[-1].verdict), text, tuple(decided), pinned)
    return states


# The same without reading all of it: the lines of an entry are found by its id, or by what they name.

_MARK = 8  # hexadecimal digits of the id of a bullet
TOMBSTONE, _ENTRY, _ASKED, _FIELD, _DECIDED, _ON = "tombstone", "entry ", "asked ", "field ", "decided ", "on "
_OUT = ("superseded", "demoted", "forgotten")  # what surely takes an entry out of a MEMORY.md


def _keys(value: dict[str, Any]) -> list[str] | None:
    """What a line is looked for by: the ids in it, and what it tells."""
    if (record := _record(value)) is None:
        return None
    more, source = record.more, record.source
    names = (record.id, record.supersedes, source.get("bullet"), source.get("above"), more.get("into"), more.get("by"))
    keys = [f"{_ON}{record.at[:10]}", *(str(name)[:_MARK] for name in names if name)]
    keys += [TOMBSTONE] if TOMBSTONE in more else []
    if record.verdict in (*IN_MEMORY, *_OUT):
        keys.append(f"{_ENTRY}{record.id}{'+' if record.verdict in IN_MEMORY else '-'}")
    keys += [f"{_ASKED}{record.at[:10]}"] if record.verdict == "asked" else []
    keys += [f"{_FIELD}{more.get('file')} {more['field']}"] if "field" in more else []
    return keys + ([f"{_DECIDED}{source.get('day', '')} {source['bullet']}"] if source.get("bullet") else [])


class LedgerStates:
    """What the ledger says of each entry, looked up one by one."""

    def __init__(self, workspace: Workspace) -> None:
        self._lines = LineIndex(workspace, workspace.ledger, _keys)
        self._states: dict[str, EntryState | None] = {}

    def records(self, *ids: str) -> list[Record]:
        wanted = frozenset(ids)
        return [record for record in self._naming(wanted) if record.id in wanted]

    def tombstones(self) -> list[Record]:
        return self._with(TOMBSTONE)

    def in_memory(self) -> list[EntryState]:
        """The entries that are in a MEMORY.md, as far as the ledger knows."""
        last = {key[:-1]: key[-1] for key in self._lines.keys(_ENTRY)}
        ids = dict.fromkeys((*(entry for entry, sign in last.items() if sign == "+"), *self._states))
        return [state for entry in ids if (state := self.get(entry)) and state.in_memory]

    def ended(self) -> list[EntryState]:
        """The entries that were taken out of a MEMORY.md."""
        last = {key[:-1]: key[-1] for key in self._lines.keys(_ENTRY)}
        return [*entry_states(self.records(*(entry for entry, sign in last.items() if sign == "-"))).values()]

    def on(self, day: str) -> list[Record]:
        """What was written on a day."""
        return self._with(f"{_ON}{day}")

    def asked(self, day: str) -> list[Record]:
        """The questions that were put on a day."""
        return self._with(f"{_ASKED}{day}")

    def values_of(self, file: str, field: str) -> list[str]:
        """The values that a field of a file was given, in order."""
        records = self._with(f"{_FIELD}{file} {field}")
        return [record.text.partition(": ")[2] for record in records if record.verdict == "admitted" and record.text]

    def by_hand(self) -> list[str]:
        """The ids of entries that somebody took out or reworded."""
        return [record.id for record in self._naming(["hand"]) if record.more.get("by") == "hand"]

    def is_decided(self, day: str, mark: str) -> bool:
        """Whether a line of a log was decided on."""
        return f"{_DECIDED}{day} {mark}" in self._lines

    def problems(self, workspace: Workspace) -> tuple[Problem, ...]:
        return read_ledger(workspace).problems if BROKEN in self._lines else ()

    def add(self, record: Record) -> None:
        """Take a record into account that is to be written."""
        was = self.get(record.id)
        self._states |= entry_states([*(was.records if was else ()), record])

    def get(self, entry: str) -> EntryState | None:
        if entry not in self._states:
            self._states[entry] = entry_states(self.records(entry)).get(entry)
        return self._states[entry]

    def made_of(self, bullet: str) -> list[EntryState]:
        return [state for state in self._states_naming(bullet) if bullet in state.bullets]

    def inside(self, entry: str) -> list[EntryState]:
        """What went into an entry, or was superseded by it."""
        return [state for state in self._states_naming(entry) if entry == (state.into or state.by)]

    def superseding(self, entry: str) -> str | None:
        newer = [state.id for state in self._states_naming(entry) if state.supersedes == entry]
        return newer[-1] if newer else None

    def marked(self, mark: str) -> list[EntryState]:
        """The entries that a line of a log became."""
        states = self._states_naming(mark) if mark in self._lines else []
        return [state for state in states if mark in (state.id[:_MARK], *state.bullets)]

    def _naming(self, names: Iterable[str]) -> list[Record]:
        """The records in which one of the ids may stand."""
        return self._with(*(name[:_MARK] for name in names))

    def _with(self, *keys: str) -> list[Record]:
        return [record for row in self._lines.rows(keys) if (record := _record(row))]

    def _states_naming(self, name: str) -> list[EntryState]:
        ids = dict.fromkeys(record.id for record in self._naming([name]))
        return [state for entry in ids if (state := self.get(entry))]


# What the ledger closed: words that still stand in a log or a digest, where they were said, and no longer hold.

_MOST, _FEW = 0.7, 0.3  # of the words of an entry or a sentence
_LEAST = 4  # words of a sentence that states anything
_TIME = re.compile(r"\A\[\d{1,2}:\d{2}\]\s*")  # before a decision in working memory


class Closed(NamedTuple):
    """When an entry ceased to hold, and the entry that holds instead; none where nothing took its place."""

    until: str
    by: str | None = None


class ClosedEntries:
    def __init__(self, today: str = "", states: LedgerStates | None = None) -> None:
        self.today, self._states = today, states

    def of(self, line: str, said: str | None = None) -> Closed | None:
        """When a line that was said on a day ceased to hold, by the ledger; None where it was said again later, or still holds in part."""
        words = bare_words(_TIME.sub("", bare_words(line)))
        entries = self._states.marked(entry_id(words)[:_MARK]) if self._states and words else []
        ends = [closed for state in entries if self._states and (closed := _end(state, self._states))]
        if not ends or any(state.in_memory for state in entries):
            return None
        return ends[-1] if self._is_past(ends[-1], said) else None

    def of_talk(self, line: str, said: str | None = None) -> tuple[str, Closed | None]:
        """What is left of a line of a conversation without the sentences that state an entry which was closed, and how that ended."""
        open_sentences: list[str] = []
        end = None
        for sentence in sentences(line) if self._states else ():
            if closed := self.of(sentence, said) or self._stated(sentence, said):
                end = closed
            else:
                open_sentences.append(sentence)
        return (" ".join(open_sentences), end) if end else (line, None)

    def _stated(self, sentence: str, said: str | None) -> Closed | None:
        """A sentence states an entry, or a part of it, if most words of the shorter are in the other, all numbers of the entry are in the
        sentence, and hardly a word that only what holds now has."""
        words = telling_words(sentence)
        for old, new, closed in self._wordings:
            if (
                len(old & words) >= _MOST * min(len(old), max(len(words), _LEAST))
                and len(new & words) <= _FEW * len(new)
                and not any(word[0].isdigit() for word in old - words)
                and self._is_past(closed, said)
            ):
                return closed
        return None

    @cached_property
    def _wordings(self) -> list[tuple[frozenset[str], frozenset[str], Closed]]:
        """The words of each closed entry, and those that only the one has that holds instead."""
        wordings = []
        for state in self._states.ended() if self._states else ():
            if state.text and self._states and (closed := _end(state, self._states)):
                newer = self._states.get(closed.by) if closed.by else None
                old = telling_words(state.text)
                wordings.append((old, telling_words((newer and newer.text) or "") - old, closed))
        return [wording for wording in wordings if len(wording[0]) > 1]

    def _is_past(self, closed: Closed, said: str | None) -> bool:
        return closed.until <= self.today and not (said and said > closed.until)


def telling_words(text: str) -> frozenset[str]:
    """The words by which a text is taken for the same statement as another."""
    return frozenset(token for token in tokens(bare_words(text)) if len(token) > 1) - stop_tokens()


NONE_CLOSED = ClosedEntries()


def load_closed(workspace: Workspace, today: str) -> ClosedEntries:
    return ClosedEntries(today, LedgerStates(workspace))


def _end(state: EntryState, states: LedgerStates) -> Closed | None:
    """How an entry ended, followed through what it was merged into; None where it may still hold."""
    passed: set[str] = set()
    until = by = None
    while state.id not in passed and not state.in_memory:
        passed.add(state.id)
        last = next(record for record in reversed(state.records) if record.verdict == state.verdict)
        doer, into = last.more.get("by"), last.more.get("into")
        # "faded": the answer of a review of what seems to be out of date
        if (state.verdict == "superseded" and (doer or not into)) or last.more.get("answer") == "faded":
            until = until or last.valid_to or last.at[:10]
        elif state.verdict not in ("merged", "superseded"):  # those were put in other words, which may hold
            break
        by = str(doer if doer and doer != "hand" else into or states.superseding(state.id) or "") or None
        following = states.get(by) if by else None
        if following is None:
            break
        state = following
    return Closed(until, by) if until else None


def successor(workspace: Workspace, closed: Closed) -> str | None:
    """The words of the entry that holds instead, by the ledger; None where there is none in memory."""
    state = LedgerStates(workspace).get(closed.by) if closed.by else None
    return state.text if state and state.in_memory else None


# Tombstones: what was forgotten, known by keyed hashes and coarse vectors alone, so that it is not learned again.
#
# A tombstone stands in the line that says "forgotten". It holds no word: a hash of the words under a key that lies in `.nacre/key`, and
# for each local model the signs of the vector, masked with the same key. Who has the ledger without the key can read nothing out of either.


# The share of equal signs from which on two texts say the same, by the hash of the model. Measured: docs/forgetting.md.
THRESHOLDS = {
    "5bea14a83e7f5b72": 0.82,  # all-MiniLM-L6-v2
    "08500555f03721ec": 0.80,  # bge-small-zh-v1.5
}
_JOINTS = re.compile(r"(?<!\s)\s*(?:→|->|[;；]|[:：](?=\s|[^\x00-\x7f]))\s*")
_BYTES = 32


class Tombstone(NamedTuple):
    """One wording of something forgotten. `fact` is the id that all wordings share that were forgotten together."""

    id: str
    fact: str
    words: str
    signs: Mapping[str, str] = {}
    apart: bool = False  # another statement, forgotten together with the fact


class Tombstones:
    def __init__(self, tombstones: Iterable[Tombstone] = (), key: bytes | None = None) -> None:
        self.stones = tuple(tombstones)
        self._key = key
        self._by_hash = {stone.words: stone.id for stone in self.stones}
        self._ids = {stone.id for stone in self.stones}
        self._signs: dict[str, npt.NDArray[np.uint8]] = {}

    def __bool__(self) -> bool:
        return bool(self.stones)

    @property
    def models(self) -> frozenset[str]:
        """The models whose vectors tell something here, by their hashes."""
        models = {model for stone in self.stones for model in stone.signs}
        return frozenset(models & THRESHOLDS.keys()) if self._key else frozenset()

    def matches(self, texts: Sequence[str], vectors: Sequence[Vectors] | None = None) -> list[bool]:
        """Whether each text says what was forgotten: in the same words, whole or as a sentence of it, or nearly so."""
        pairs = zip(texts, vectors or [{}] * len(texts), strict=True)
        return [any(map(self._id_of, _parts(text))) or self._is_near(of_text) for text, of_text in pairs]

    def exactly(self, texts: Sequence[str]) -> list[bool]:
        return [self.known(text) is not None for text in texts]

    def known(self, text: str) -> str | None:
        """The id of the tombstone of these very words."""
        words = bare_words(words_of(text))
        return self._id_of(normal_words(words)) or self._id_of(words)

    def only(self, ids: Container[str]) -> Tombstones:
        """Those of these ids, and of the same things in other words."""
        facts = {stone.fact for stone in self.stones if stone.id in ids}
        return Tombstones((stone for stone in self.stones if stone.fact in facts), self._key)

    def _id_of(self, words: str) -> str | None:
        by_hash = self._by_hash.get(_hash(self._key, words)) if self._key else None
        return by_hash or (plain if (plain := entry_id(words)) in self._ids else None)

    def _is_near(self, vectors: Vectors) -> bool:
        for model in self.models & vectors.keys():
            import numpy as np

            signs = np.packbits(vectors[model] > 0)
            if model not in self._signs:  # unmasked, a row for each tombstone
                rows: list[bytes] = []
                for stone in self.stones:
                    with contextlib.suppress(ValueError):
                        masked = bytes.fromhex(stone.signs.get(model, ""))
                        if self._key and len(masked) == len(signs):
                            rows.append(_masked(self._key, stone.id, model, masked))
                self._signs[model] = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), len(signs))
            differing = np.bitwise_count(self._signs[model] ^ signs).sum(axis=1)
            if len(differing) and 1 - differing.min() / (8 * len(signs)) >= THRESHOLDS[model]:
                return True
        return False


def _parts(text: str) -> Iterator[str]:
    """The words of a text: the whole, each of its sentences, and what stands on either side of an arrow or a colon."""
    words = bare_words(words_of(text))
    parts = (words, *sentences(words), *_JOINTS.split(words))
    return filter(None, dict.fromkeys(form for part in parts for form in (normal_words(part), part)))


def load_tombstones(workspace: Workspace) -> Tombstones:
    states = LedgerStates(workspace)
    buried = {record.id for record in states.tombstones()}
    if not buried:
        return Tombstones()
    tombstones: dict[str, Tombstone] = {}
    for record in states.records(*buried):
        stone = record.more.get(TOMBSTONE)
        if record.verdict == "forgotten" and isinstance(stone, Mapping):
            listed = stone.get("signs")
            signs = {str(model): str(bits) for model, bits in listed.items()} if isinstance(listed, Mapping) else {}
            fact, words = str(stone.get("fact") or record.id), str(stone.get("words", ""))
            tombstones[record.id] = Tombstone(record.id, fact, words, signs, stone.get("apart") is True)
        elif record.verdict in IN_MEMORY:  # a later line that brings the words back lifts it
            tombstones.pop(record.id, None)
    return Tombstones(tombstones.values(), _read_key(workspace))


def new_tombstone(
    key: bytes, words: str, *, entry: str, fact: str, apart: bool = False, vectors: Vectors | None = None
) -> dict[str, Any]:
    """The tombstone of a wording, as the ledger keeps it under the id by which the wording is known."""
    signs: dict[str, str] = {}
    for model, vector in (vectors or {}).items():
        import numpy as np

        signs[model] = _masked(key, entry, model, np.packbits(vector > 0).tobytes()).hex()
    stone: dict[str, Any] = {"fact": fact, "words": _hash(key, normal_words(words))}
    return stone | ({"apart": True} if apart else {}) | ({"signs": signs} if signs else {})


def lift_tombstones(op: Operation, text: str) -> tuple[str, ...]:
    """Take away the tombstone of these very words, with those of the same thing in other words; their ids."""
    tombstones = load_tombstones(op.workspace)
    tombstone = next((stone for stone in tombstones.stones if stone.id == tombstones.known(text)), None)
    if tombstone is None:
        return ()
    same = (stone.id for stone in tombstones.stones if stone.fact == tombstone.fact and not stone.apart)
    lifted = (tombstone.id,) if tombstone.apart else tuple(same)
    at = op.clock.now().isoformat(timespec="seconds")
    write_records(op, *(Record(entry, at, "restored", more={"lifted": True}) for entry in lifted))
    return lifted


def workspace_key(op: Operation) -> bytes:
    if key := _read_key(op.workspace):
        return key
    new_key = os.urandom(_BYTES)
    op.storage.replace(op.workspace.relative(key_file(op.workspace)), new_key.hex().encode() + b"\n", None)
    return new_key


def key_file(workspace: Workspace) -> Path:
    return workspace.machine / "key"


def _read_key(workspace: Workspace) -> bytes | None:
    try:
        key = bytes.fromhex((read(workspace, key_file(workspace)) or b"").decode("ascii").strip())
    except ValueError:
        return None
    return key if len(key) == _BYTES else None


def _hash(key: bytes, words: str) -> str:
    return hmac.new(key, words.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:32]


def _masked(key: bytes, entry: str, model: str, data: bytes) -> bytes:
    """The bytes under a pad of their own; doing it twice gives them back."""
    pad = hashlib.shake_256(b"\0".join((key, entry.encode(), model.encode()))).digest(len(data))
    return bytes(byte ^ mask for byte, mask in zip(data, pad, strict=True))
