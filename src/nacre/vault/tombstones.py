"""What was forgotten, known by keyed hashes and coarse vectors alone, so that it is not learned again.

A tombstone stands in the ledger, in the line that says "forgotten". It holds no word: a hash of the words under a key that lies
in `.nacre/key`, and for each local model the signs of the vector, masked with the same key. Who has the ledger without the key
can read nothing out of either.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import re
import secrets
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.model.workspace import Workspace
from nacre.text.sentences import sentences
from nacre.vault import ledger
from nacre.vault.entries import bare_words, entry_id, normal_words, words_of
from nacre.vault.history import Operation
from nacre.vault.ledger import IN_MEMORY, Record
from nacre.vault.storage import read

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
    def __init__(self, stones: Iterable[Tombstone] = (), key: bytes | None = None) -> None:
        self.stones = tuple(stones)
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
        return [any(map(self._known, _parts(text))) or self._is_near(own) for text, own in pairs]

    def exactly(self, texts: Sequence[str]) -> list[bool]:
        return [self.known(text) is not None for text in texts]

    def known(self, text: str) -> str | None:
        """The id of the tombstone of these very words."""
        words = bare_words(words_of(text))
        return self._known(normal_words(words)) or self._known(words)

    def only(self, ids: Container[str]) -> Tombstones:
        """Those of these ids, and of the same things in other words."""
        facts = {stone.fact for stone in self.stones if stone.id in ids}
        return Tombstones((stone for stone in self.stones if stone.fact in facts), self._key)

    def _known(self, words: str) -> str | None:
        by_hash = self._by_hash.get(_hash(self._key, words)) if self._key else None
        return by_hash or (plain if (plain := entry_id(words)) in self._ids else None)

    def _is_near(self, vectors: Vectors) -> bool:
        for model in self.models & vectors.keys():
            import numpy as np

            own = np.packbits(vectors[model] > 0)
            if model not in self._signs:  # unmasked, a row for each tombstone
                rows: list[bytes] = []
                for stone in self.stones:
                    with contextlib.suppress(ValueError):
                        masked = bytes.fromhex(stone.signs.get(model, ""))
                        if self._key and len(masked) == len(own):
                            rows.append(_masked(self._key, stone.id, model, masked))
                self._signs[model] = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), len(own))
            differing = np.bitwise_count(self._signs[model] ^ own).sum(axis=1)
            if len(differing) and 1 - differing.min() / (8 * len(own)) >= THRESHOLDS[model]:
                return True
        return False


def _parts(text: str) -> Iterator[str]:
    """The words of a text: the whole, each of its sentences, and what stands on either side of an arrow or a colon."""
    whole = bare_words(words_of(text))
    parts = (whole, *sentences(whole), *_JOINTS.split(whole))
    return filter(None, dict.fromkeys(form for part in parts for form in (normal_words(part), part)))


def load_tombstones(workspace: Workspace) -> Tombstones:
    states = ledger.LedgerStates(workspace)
    buried = {record.id for record in states.tombstones()}
    if not buried:
        return Tombstones()
    stones: dict[str, Tombstone] = {}
    for record in states.records(*buried):
        stone = record.more.get(FIELD)
        if record.verdict == "forgotten" and isinstance(stone, Mapping):
            listed = stone.get("signs")
            signs = {str(model): str(bits) for model, bits in listed.items()} if isinstance(listed, Mapping) else {}
            fact, words = str(stone.get("fact") or record.id), str(stone.get("words", ""))
            stones[record.id] = Tombstone(record.id, fact, words, signs, stone.get("apart") is True)
        elif record.verdict in IN_MEMORY:  # a later line that brings the words back lifts it
            stones.pop(record.id, None)
    return Tombstones(stones.values(), _read_key(workspace))


def new_tombstone(
    key: bytes, words: str, *, known: str, fact: str, apart: bool = False, vectors: Vectors | None = None
) -> dict[str, Any]:
    """The tombstone of a wording, as the ledger keeps it under the id by which the wording is known."""
    signs: dict[str, str] = {}
    for model, vector in (vectors or {}).items():
        import numpy as np

        signs[model] = _masked(key, known, model, np.packbits(vector > 0).tobytes()).hex()
    stone: dict[str, Any] = {"fact": fact, "words": _hash(key, normal_words(words))}
    return stone | ({"apart": True} if apart else {}) | ({"signs": signs} if signs else {})


def lift_tombstones(op: Operation, text: str) -> tuple[str, ...]:
    """Take away the tombstone of these very words, with those of the same thing in other words; their ids."""
    stones = load_tombstones(op.workspace)
    met = next((stone for stone in stones.stones if stone.id == stones.known(text)), None)
    if met is None:
        return ()
    same = (stone.id for stone in stones.stones if stone.fact == met.fact and not stone.apart)
    lifted = (met.id,) if met.apart else tuple(same)
    at = op.clock.now().isoformat(timespec="seconds")
    ledger.write_records(op, *(Record(known, at, "restored", more={"lifted": True}) for known in lifted))
    return lifted


def workspace_key(op: Operation) -> bytes:
    if key := _read_key(op.workspace):
        return key
    made = secrets.token_bytes(_BYTES)
    op.storage.replace(op.workspace.relative(key_file(op.workspace)), made.hex().encode() + b"\n", None)
    return made


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


def _masked(key: bytes, known: str, model: str, data: bytes) -> bytes:
    """The bytes under a pad of their own; doing it twice gives them back."""
    pad = hashlib.shake_256(b"\0".join((key, known.encode(), model.encode()))).digest(len(data))
    return bytes(byte ^ mask for byte, mask in zip(data, pad, strict=True))
