"""Embeddings of the training texts by the local models, kept between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nacre.embed.local import LocalEmbedder

CACHE = Path(__file__).resolve().parent / ".cache"


def embed(texts: Sequence[str], language: str) -> tuple[npt.NDArray[np.float32], str]:
    """A vector for each text by the language's model, and that model's hash."""
    embedder = LocalEmbedder()
    model = next(one for one in embedder.models() if ("zh" in one.name) == (language == "zh"))
    CACHE.mkdir(exist_ok=True)
    path = CACHE / f"{language}-{model.hash[:12]}.npz"
    known: dict[str, npt.NDArray[np.float32]] = {}
    if path.exists():
        with np.load(path) as stored:
            known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))
    keys = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
    missing = sorted({key: text for key, text in zip(keys, texts, strict=True) if key not in known}.items())
    if missing:
        made = embedder.embed(model, [text for _, text in missing])
        known |= {key: vector for (key, _), vector in zip(missing, made, strict=True)}
        np.savez(path, keys=np.array(list(known)), vectors=np.stack(list(known.values())))
    return np.stack([known[key] for key in keys]), model.hash
