"""What was forgotten, known by keyed hashes and coarse vectors alone, so that it is not learned again.

A tombstone stands in the ledger, in the line that says "forgotten". It holds no word: a hash of the words under a key that lies
in `.nacre/key`, and for each local model the signs of the vector, masked with the same key. Who has the ledger without the key
can read nothing out of either.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.model.workspace import Workspace
from nacre.text.sentences import sentences
from nacre.vault import disk, ledger
from nacre.vault.entries import bare_words, entry_id, normal_words, words_of
from nacre.vault.history import Operation, private_folder
from nacre.vault.ledger import Record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = Mapping[str, npt.NDArray[np.float32]]  # of one text, by the hash of the model that made each

FIELD = "tombstone"
# The share of equal signs from which on two texts say the same, by the hash of the model. Measured: docs/forgetting.md.
THRESHOLDS = {
    "5bea14a83e7f5b72": 0.82,  # all-MiniLM-L6-v2
    "08500555f03721ec": 0.80,  # bge-small-zh-v1.5
}
_LIFTS = ("restored", "admitted", "adopted")
_JOINTS = re.compile(r"(?<!\s)\s*(?:→|->|[;；]|[:：](?=\s|[^\x00-\x7f]))\s*")
_BYTES = 32


@dataclass(frozen=True)
class Tombstone:
    """One wording of something forgotten. `fact` is the id that all wordings share that were forgotten together."""

    id: str
    fact: str
    words: str
    signs: Mapping[str, str] = field(default_factory=dict)
    apart: bool = False  # another statement, forgotten together with the fact


class Tombstones:
    """Everything that was forgotten and not brought back since."""

    def __init__(
        self, stones: Iterable[Tombstone] = (), key: bytes | None = None, thresholds: Mapping[str, float] = THRESHOLDS
    ) -> None:
        self.stones = tuple(stones)
        self._key = key
        self._thresholds = thresholds
        self._by_hash = {stone.words: stone.id for stone in self.stones}
        self._ids = {stone.id for stone in self.stones}
        self._signs: dict[str, tuple[list[str], npt.NDArray[np.uint8]]] | None = None

    def __bool__(self) -> bool:
        return bool(self.stones)

    @property
    def models(self) -> frozenset[str]:
        """The models whose vectors tell something here, by their hashes."""
        known = {model for stone in self.stones for model in stone.signs}
        return frozenset(known & self._thresholds.keys()) if self._key else frozenset()

    def matches(self, texts: Sequence[str], vectors: Sequence[Vectors] | None = None) -> list[bool]:
        """Whether each text says what was forgotten: in the same words, whole or as a sentence of it, or nearly so."""
        return [found is not None for found in self.which(texts, vectors)]

    def which(self, texts: Sequence[str], vectors: Sequence[Vectors] | None = None) -> list[str | None]:
        """The id of the tombstone that each text meets; None where there is none."""
        near = vectors or [{}] * len(texts)
        return [self._same(text) or self._near(mine) for text, mine in zip(texts, near, strict=True)]

    def exactly(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text is what was forgotten, word for word and as a whole."""
        return [self.known(text) is not None for text in texts]

    def known(self, text: str) -> str | None:
        """The id of the tombstone of these very words."""
        words = bare_words(words_of(text))
        return self._known(normal_words(words)) or self._known(words)

    def only(self, ids: Container[str]) -> Tombstones:
        """Those of these ids, and of the same things in other words."""
        facts = {stone.fact for stone in self.stones if stone.id in ids}
        wanted = (stone for stone in self.stones if stone.fact in facts)
        return Tombstones(wanted, self._key, self._thresholds)

    def _same(self, text: str) -> str | None:
        return next((found for part in _parts(text) if (found := self._known(part))), None)

    def _known(self, words: str) -> str | None:
        if self._key and (found := self._by_hash.get(_hash(self._key, words))):
            return found
        known = entry_id(words)
        return known if known in self._ids else None

    def _near(self, vectors: Vectors) -> str | None:
        wanted = {model: vector for model, vector in vectors.items() if model in self.models}
        if not wanted:
            return None
        import numpy as np

        for model, vector in wanted.items():
            ids, known = self._of(model)
            mine = np.packbits(vector > 0)
            if known.shape[1] != len(mine):
                continue
            equal = 1 - np.bitwise_count(known ^ mine).sum(axis=1) / (8 * len(mine))
            best = int(equal.argmax())
            if equal[best] >= self._thresholds[model]:
                return ids[best]
        return None

    def _of(self, model: str) -> tuple[list[str], npt.NDArray[np.uint8]]:
        """The ids and the unmasked signs of one model."""
        import numpy as np

        if self._signs is None:
            self._signs = {}
        if model not in self._signs:
            found: dict[str, bytes] = {}
            for stone in self.stones:
                masked = _decoded(stone.signs.get(model, ""))
                if masked and self._key:
                    found[stone.id] = _masked(self._key, stone.id, model, masked)
            size = max(map(len, found.values()), default=0)
            whole = {known: data for known, data in found.items() if len(data) == size}
            rows = np.frombuffer(b"".join(whole.values()), np.uint8).reshape(len(whole), size)
            self._signs[model] = list(whole), rows
        return self._signs[model]


def _parts(text: str) -> Iterator[str]:
    """The words of a text: the whole, each of its sentences, and what stands on either side of an arrow or a colon."""
    whole = bare_words(words_of(text))
    seen = {""}
    for part in (whole, *sentences(whole), *_JOINTS.split(whole)):
        for form in (normal_words(part), part):
            if form not in seen:
                seen.add(form)
                yield form


def load_tombstones(workspace: Workspace) -> Tombstones:
    """The tombstones of a workspace. Where nothing was ever forgotten this is one look at the ledger's bytes."""
    data = disk.read_bytes(workspace.ledger)
    if not data or f'"{FIELD}"'.encode() not in data:
        return Tombstones()
    return tombstones_in(ledger.read_ledger(workspace).records, _read_key(workspace))


def tombstones_in(records: Iterable[Record], key: bytes | None) -> Tombstones:
    """The tombstones among the ledger's lines: a later line that brings the words back lifts one."""
    standing: dict[str, Tombstone] = {}
    for record in records:
        if record.verdict == "forgotten" and (stone := _stone(record)):
            standing[record.id] = stone
        elif record.verdict in _LIFTS:
            standing.pop(record.id, None)
    return Tombstones(standing.values(), key)


def _stone(record: Record) -> Tombstone | None:
    told = record.more.get(FIELD)
    if not isinstance(told, Mapping):
        return None
    signs = told.get("signs")
    kept = {str(model): str(bits) for model, bits in signs.items()} if isinstance(signs, Mapping) else {}
    return Tombstone(
        record.id, str(told.get("fact") or record.id), str(told.get("words", "")), kept, told.get("apart") is True
    )


def new_tombstone(
    key: bytes, words: str, *, known: str, fact: str, apart: bool = False, vectors: Vectors | None = None
) -> dict[str, Any]:
    """The tombstone of a wording, as the ledger keeps it under the id by which the wording is known."""
    signs = {model: _signs_of(key, known, model, vector) for model, vector in (vectors or {}).items()}
    stone: dict[str, Any] = {"fact": fact, "words": _hash(key, normal_words(words))}
    return stone | ({"apart": True} if apart else {}) | ({"signs": signs} if signs else {})


def lift_tombstones(op: Operation, text: str) -> tuple[str, ...]:
    """Take away the tombstone of these very words, with those of the same thing in other words; their ids.

    Who says a thing again wants it known. Words that only resemble it, or mention it, may be what replaces it.
    """
    stones = load_tombstones(op.workspace)
    met = next((stone for stone in stones.stones if stone.id == stones.known(text)), None)
    if met is None:
        return ()
    same = [] if met.apart else [stone for stone in stones.stones if stone.fact == met.fact and not stone.apart]
    lifted = tuple(stone.id for stone in same or [met])
    at = op.clock.now().isoformat(timespec="seconds")
    ledger.write_records(op, *(Record(one, at, "restored", more={"lifted": True}) for one in lifted))
    return lifted


def workspace_key(op: Operation) -> bytes:
    """The key of the workspace, made when there is none. Losing it loses no memory: what was forgotten is then known by its
    exact words alone."""
    if key := _read_key(op.workspace):
        return key
    made = secrets.token_bytes(_BYTES)
    private_folder(op.workspace.machine)
    disk.write(key_file(op.workspace), made.hex().encode() + b"\n", root=op.workspace.root)
    return made


def key_file(workspace: Workspace) -> Path:
    return workspace.machine / "key"


def _read_key(workspace: Workspace) -> bytes | None:
    try:
        key = bytes.fromhex((disk.read_bytes(key_file(workspace)) or b"").decode("ascii").strip())
    except ValueError:
        return None
    return key if len(key) == _BYTES else None


def _hash(key: bytes, words: str) -> str:
    return hmac.new(key, words.encode("utf-8", "replace"), hashlib.sha256).hexdigest()[:32]


def _signs_of(key: bytes, known: str, model: str, vector: npt.NDArray[np.float32]) -> str:
    import numpy as np

    return _masked(key, known, model, np.packbits(vector > 0).tobytes()).hex()


def _masked(key: bytes, known: str, model: str, data: bytes) -> bytes:
    """The bytes under a pad of their own; doing it twice gives them back."""
    pad = hashlib.shake_256(b"\0".join((key, known.encode(), model.encode()))).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, pad, strict=True))


def _decoded(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
