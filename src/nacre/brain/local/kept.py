"""Vectors of statements that are judged again night after night, kept between runs so that they are made once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.vault import atomic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from nacre.embed.protocol import Embedder, ModelId

    Vectors = npt.NDArray[np.float32]

LARGEST = 64_000_000  # bytes; a file of vectors that is larger is none of ours
MOST = 8000  # vectors of one model that are kept
FRESH = 1000  # vectors of this run that are at hand: a line is looked at whole, in pieces, and again when it is offered


class KeptVectors:
    """What one workspace's statements mean, by model and text. Derived: the file may be deleted at any time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, dict[bytes, Vectors]] | None = None  # by the model's hash, then by the text's
        self._wanted: dict[str, dict[bytes, Vectors]] = {}
        self._fresh: dict[tuple[str, bytes], Vectors] = {}

    def embed(self, embedder: Embedder, model: ModelId, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts; only those that are not known are made."""
        import numpy as np

        if not texts:
            return np.empty((0, model.dims), np.float32)
        known = self._read().get(model.hash, {})
        keys = [key_of(text) for text in texts]
        found = {key: row for key in keys if (row := known.get(key, self._fresh.get((model.hash, key)))) is not None}
        if new := {key: text for key, text in zip(keys, texts, strict=True) if key not in found}:
            made = dict(zip(new, embedder.embed(model, list(new.values())), strict=True))
            self._remember(model.hash, made)
            found |= made
        return np.stack([found[key] for key in keys])

    def _remember(self, model: str, made: dict[bytes, Vectors]) -> None:
        if len(self._fresh) > FRESH:
            self._fresh.clear()
        if len(made) <= FRESH:
            self._fresh |= {(model, key): row for key, row in made.items()}

    def want(self, model: str, statements: Iterable[tuple[str, Vectors]]) -> None:
        """Keep these for the next time. What nobody wants is dropped by `save`."""
        self._wanted.setdefault(model, {}).update((key_of(text), vector) for text, vector in statements)

    def carry(self, model: str, texts: Iterable[str]) -> None:
        """Keep these for the next time, too, as far as they are known already."""
        known = self._read().get(model, {})
        for key in map(key_of, texts):
            if (row := known.get(key, self._fresh.get((model, key)))) is not None:
                self._wanted.setdefault(model, {})[key] = row

    def save(self) -> None:
        """Put what is wanted on disk, where it differs from what is there. Trouble costs only time, the next time."""
        import numpy as np

        wanted = {model: dict(list(rows.items())[-MOST:]) for model, rows in self._wanted.items() if rows}
        if not wanted or {model: rows.keys() for model, rows in self._read().items()} == {
            model: rows.keys() for model, rows in wanted.items()
        }:
            return
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        for model, rows in wanted.items():
            arrays[f"{model}.keys"] = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
            arrays[f"{model}.rows"] = np.stack(list(rows.values()))
        from io import BytesIO

        made = BytesIO()
        np.savez(made, **arrays)  # type: ignore[arg-type]  # numpy's own stub takes a flag of the same form
        atomic.write(self._path, made.getvalue())
        self._known = wanted

    def _read(self) -> dict[str, dict[bytes, Vectors]]:
        if self._known is None:
            self._known = _loaded(self._path)
        return self._known


def key_of(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _loaded(path: Path) -> dict[str, dict[bytes, Vectors]]:
    """What the file holds; nothing when it is missing, damaged, or not as we write it."""
    import zipfile

    import numpy as np

    found: dict[str, dict[bytes, Vectors]] = {}
    try:
        if path.stat().st_size > LARGEST:
            return {}
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            for name in file.files:
                model, _, part = name.rpartition(".")
                if part != "keys":
                    continue
                keys, rows = file[name], file[f"{model}.rows"]
                right = keys.ndim == rows.ndim == 2 and len(keys) == len(rows) and rows.dtype == np.float32
                if right and keys.dtype == np.uint8 and bool(np.isfinite(rows).all()):
                    found[model] = {key.tobytes(): row for key, row in zip(keys, rows, strict=True)}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
        return {}
    return found
