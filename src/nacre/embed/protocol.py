"""What every embedder promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class ModelId:
    """One model, told apart by the hash of its weights (or of its address and name): vectors of two are never compared.

    `dims` is 0 for a model over HTTP that has not answered yet, so it has no part in equality.
    """

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
