"""Odds for a sentence in its context, or for two statements, by an embedding model whose upper layers were tuned for that task.

What training left in `weights/` is written into a copy of the installed model (embed/tuned.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.brain.local.classifier import read_weights, softmax
from nacre.embed.models import PINS, models_folder
from nacre.embed.tuned import open_session, tuned_model

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from tokenizers import Tokenizer

    Array = npt.NDArray[np.float32]

LONGEST = 128  # tokens of both texts together
_PAUSE = re.compile(r"(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])")  # typed for a comma, which the models would not see


class Encoder:
    """A model tuned for one task in one language."""

    def __init__(self, about: dict[str, Any], arrays: dict[str, Array], model: bytes, tokenizer: Path) -> None:
        self.heads: dict[str, list[str]] = about["heads"]
        self.temperature: float = about.get("temperature", 1.0)
        self._arrays = arrays
        self._tokenizer = tokenizer_for_pairs(tokenizer)
        self._session = open_session(tuned_model(model, about, arrays))

    def read(self, pairs: Sequence[tuple[str, str]], extra: Array | None = None) -> dict[str, Array]:
        """The odds of every label of every head, a row for each pair. `extra` are further features of the pairs."""
        import numpy as np

        pooled = np.stack([self._pooled(first, second) for first, second in pairs])
        arrays = self._arrays
        inputs = pooled
        if extra is not None:  # a feature that training hardly saw must not outweigh all others
            inputs = np.hstack([pooled, np.clip((extra - arrays["mean"]) / arrays["spread"], -4, 4)])
        hidden = np.tanh(inputs @ arrays["hidden"] + arrays["hidden bias"])
        values = (hidden @ arrays["out"] + arrays["out bias"]) / self.temperature
        ends = np.cumsum([len(labels) for labels in self.heads.values()])[:-1]
        return {head: softmax(rows) for head, rows in zip(self.heads, np.split(values, ends, axis=1), strict=True)}

    def _pooled(self, first: str, second: str) -> Array:
        """The mean of the states of each text, side by side."""
        import numpy as np

        inputs = pair_inputs(self._tokenizer, first, second)
        states, types = self._session.run(None, inputs)[0][0], inputs["token_type_ids"][0]
        return np.hstack([states[types == text].mean(axis=0) for text in (0, 1)])


def tokenizer_for_pairs(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


def pair_inputs(tokenizer: Tokenizer, first: str, second: str) -> dict[str, npt.NDArray[np.int64]]:
    """Two texts as a model reads them: their tokens, and to which of the two each belongs (0, 1)."""
    import numpy as np

    first, second = (_PAUSE.sub("，", text).lower() for text in (first, second))
    encoded = tokenizer.encode(first, second)
    tokens, types = np.array([encoded.ids], np.int64), np.array([encoded.type_ids], np.int64)
    return {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": types}


@cache
def load(language: str, task: str) -> Encoder | None:
    """The tuned model of the package; none where its base is not installed."""
    return with_weights(*read_weights(f"{task}-{language}"))


def with_weights(about: dict[str, Any], arrays: dict[str, Array]) -> Encoder | None:
    model = next((model for model in PINS.models if model.id.hash == about["model"]), None)
    folder = models_folder() / (model.folder_name if model else "")
    if model is None or not (folder / model.weights.name).is_file():
        return None
    return Encoder(about, arrays, (folder / model.weights.name).read_bytes(), folder / model.tokenizer.name)
