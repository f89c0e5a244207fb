"""What every embedder promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class ModelId:
    """One model, told apart by the hash of its weights (or of its address and name): vectors of two are never compared."""

    name: str
    hash: str
    dims: int


class Embedder(Protocol):
    """Texts to unit vectors. An embedder may hold several models and picks for each text those that fit its script."""

    provider: str

    def models(self) -> tuple[ModelId, ...]:
        """Every model this embedder can use."""

    def models_for(self, text: str) -> tuple[ModelId, ...]:
        """The models that fit the text; empty for a text without words."""

    def embed(self, model: ModelId, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        """float32 unit vectors, a row for each text, in order."""
