"""Odds for a sentence in its context, or for two statements, by an embedding model whose upper layers were tuned for that task.

The installed model runs in onnxruntime up to a middle layer. The layers above it run here: their weights are taken from the same
file, and the small matrices that training left in `weights/` are added to them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from nacre.brain.local.classifier import read_weights
from nacre.embed.models import PINS, LocalModel, models_folder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]

MATRICES = ("query", "key", "value", "attention", "inner", "outer")
LONGEST = 128  # tokens of both texts together
_PAUSE = re.compile(r"(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])")  # typed for a comma, which the models would not see
_AT_ONCE = 32  # pairs that are run together


class Base:
    """The installed model of a language: its states below the tuned layers, and the weights of those layers."""

    def __init__(self, model: LocalModel, lower: str, names: Sequence[str]) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        folder = models_folder() / model.folder_name
        self._tokenizer = Tokenizer.from_file(str(folder / model.tokenizer.name))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)
        self._lower = [lower]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        data = (folder / model.weights.name).read_bytes() + _more_outputs([lower, *names])
        self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        values = self._session.run(list(names), self._inputs("", "")[0])
        self.values = dict(zip(names, values, strict=True))

    def _inputs(self, first: str, second: str) -> tuple[dict[str, Any], Any]:
        import numpy as np

        texts = [_PAUSE.sub("，", text).lower() for text in (first, second)]
        encoded = self._tokenizer.encode(texts[0], texts[1])
        tokens, types = np.array([encoded.ids], np.int64), np.array([encoded.type_ids], np.int64)
        return {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": types}, types[0]

    def states(self, first: str, second: str) -> tuple[Array, Array]:
        """The state of each token below the tuned layers, and to which of the two texts it belongs (0, 1)."""
        inputs, types = self._inputs(first, second)
        return self._session.run(self._lower, inputs)[0][0], types

    def matrix(self, name: str) -> Array:
        """A weight matrix as numbers of full precision."""
        import numpy as np

        whole, scale, zero = (self.values[f"{name}_{part}"] for part in ("quantized", "scale", "zero_point"))
        return np.asarray((whole.astype(np.float32) - zero.astype(np.float32)) * scale, np.float32)


def _more_outputs(names: Sequence[str]) -> bytes:
    """Bytes that, behind a model's own, declare further outputs: a message of protobuf may be given in parts."""

    def number(value: int) -> bytes:
        return bytes([value & 127 | 128]) + number(value >> 7) if value > 127 else bytes([value])

    def field(key: int, data: bytes) -> bytes:
        return number(key << 3 | 2) + number(len(data)) + data

    return field(7, b"".join(field(12, field(1, name.encode())) for name in names))  # graph, output, name


class Encoder:
    """A model tuned for one task in one language."""

    def __init__(self, about: dict[str, Any], arrays: dict[str, Array], base: Base) -> None:
        self.heads: dict[str, list[str]] = about["heads"]
        self.temperature: float = about.get("temperature", 1.0)
        self._parts: int = about["attention_heads"]
        self._base, self._arrays = base, arrays
        self._layers = [_layer(layer, number, arrays, base) for number, layer in enumerate(about["layers"])]

    def read(self, pairs: Sequence[tuple[str, str]], extra: Array | None = None) -> dict[str, Array]:
        """The odds of every label of every head, a row for each pair. `extra` are further features of the pairs."""
        import numpy as np

        states = [self._base.states(first, second) for first, second in pairs]
        order = sorted(range(len(pairs)), key=lambda place: len(states[place][1]))
        pooled = np.zeros((len(pairs), 2 * states[0][0].shape[1]), np.float32)
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            pooled[some] = self._pooled([states[place] for place in some])
        arrays = self._arrays
        inputs = pooled
        if extra is not None:  # a feature that training hardly saw must not outweigh all others
            inputs = np.hstack([pooled, np.clip((extra - arrays["mean"]) / arrays["spread"], -4, 4)])
        hidden = np.tanh(inputs @ arrays["hidden"] + arrays["hidden bias"])
        values = (hidden @ arrays["out"] + arrays["out bias"]) / self.temperature
        ends = np.cumsum([len(labels) for labels in self.heads.values()])[:-1]
        return {head: _softmax(rows) for head, rows in zip(self.heads, np.split(values, ends, axis=1), strict=True)}

    def _pooled(self, states: Sequence[tuple[Array, Array]]) -> Array:
        """The mean of the tuned states of each text, side by side."""
        import numpy as np

        longest = max(len(types) for _, types in states)
        x = np.zeros((len(states), longest, states[0][0].shape[1]), np.float32)
        types = np.full((len(states), longest), -1)
        for row, (own, kinds) in enumerate(states):
            x[row, : len(own)], types[row, : len(own)] = own, kinds
        hidden = np.where(types < 0, np.float32(-1e9), np.float32(0))[:, None, None, :]
        for layer in self._layers:
            x = _forward(layer, x, hidden, self._parts)
        means = []
        for text in (0, 1):
            mask = (types == text)[:, :, None]
            means.append((x * mask).sum(axis=1) / np.maximum(mask.sum(axis=1), 1))
        return np.hstack(means)


@cache
def load(language: str, task: str) -> Encoder | None:
    """The tuned model of the package; none where its base is not installed."""
    about, arrays = read_weights(f"{task}-{language}")
    model = next((model for model in PINS.models if model.id.hash == about["model"]), None)
    if model is None or not (models_folder() / model.folder_name / model.weights.name).is_file():
        return None
    names = [name for layer in about["layers"] for name in layer["values"]]
    return Encoder(about, arrays, Base(model, about["lower"], names))


def _layer(about: dict[str, Any], number: int, arrays: dict[str, Array], base: Base) -> dict[str, Array]:
    """The weights of one layer with what training added to them."""
    layer: dict[str, Array] = {}
    for matrix in MATRICES:
        down, up = arrays[f"{number} {matrix} down"], arrays[f"{number} {matrix} up"]
        layer[matrix] = base.matrix(about["matrices"][matrix]) + down @ up
        layer[f"{matrix} bias"] = base.values[about["biases"][matrix]] + arrays[f"{number} {matrix} bias"]
    for norm in ("first", "second"):
        for part in ("weight", "bias"):
            layer[f"{norm} {part}"] = arrays[f"{number} {norm} {part}"]
    return layer


def _forward(layer: dict[str, Array], x: Array, hidden: Array, parts: int) -> Array:
    import numpy as np

    rows, tokens, width = x.shape

    def split(name: str) -> Array:
        made = x @ layer[name] + layer[f"{name} bias"]
        return np.asarray(made.reshape(rows, tokens, parts, width // parts).transpose(0, 2, 1, 3))

    query, key, value = map(split, MATRICES[:3])
    scale = np.float32((width // parts) ** -0.5)
    weights = _softmax(np.asarray(query @ key.transpose(0, 1, 3, 2) * scale + hidden, np.float32))
    seen = np.asarray((weights @ value).transpose(0, 2, 1, 3).reshape(rows, tokens, width), np.float32)
    x = _norm(x + seen @ layer["attention"] + layer["attention bias"], layer, "first")
    inner = _gelu(x @ layer["inner"] + layer["inner bias"])
    return _norm(x + inner @ layer["outer"] + layer["outer bias"], layer, "second")


def _softmax(x: Array) -> Array:
    import numpy as np

    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True), np.float32)


def _norm(x: Array, layer: dict[str, Array], name: str) -> Array:
    import numpy as np

    x = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12)
    return np.asarray(x / spread * layer[f"{name} weight"] + layer[f"{name} bias"], np.float32)


def _gelu(x: Array) -> Array:
    """By its usual approximation; training uses the same."""
    import numpy as np

    return np.asarray(0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))), np.float32)
