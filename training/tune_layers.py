"""Tuning the upper layers of the installed embedding models for one task: small matrices beside their weights, by torch (requirements/train.txt).

Everything below the tuned layers is run once, by the same code that the package uses, and kept in memory.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional

from nacre.brain.local import encoder
from nacre.brain.local.encoder import pair_inputs, tokenizer_for_pairs
from nacre.embed.models import PINS, LocalModel, models_folder
from nacre.embed.tuned import MATRICES, NORMS, open_session

WEIGHTS = Path(encoder.__file__).parent / "weights"
PARTS = {"en": 12, "zh": 8}  # attention heads of the models
TUNED = {("relation", "en"): 6}  # layers, where it is more than three: measured for each task and language
RANK = 12
HIDDEN = 128
BASES: dict[str, Base] = {}  # the models that were loaded
_PLACES = dict(zip(MATRICES, ("attention/self/query", "attention/self/key", "attention/self/value", "attention/output/dense", "intermediate/dense", "output/dense"), strict=True))  # fmt: skip


class Example(NamedTuple):
    """Two texts (the first may be empty), and the number of the right label for each head; -1 where nobody said."""

    first: str
    second: str
    labels: tuple[int, ...]
    weight: float = 1.0


def about_model(language: str, task: str) -> tuple[LocalModel, dict[str, Any]]:
    """The installed model of a language, and where in its file the parts of its upper layers stand."""
    model = next(model for model in PINS.models if (model.script == "Han") == (language == "zh"))
    graph = onnx.load(str(models_folder() / model.folder_name / model.weights.name)).graph
    weight_of = {}
    for node in graph.node:
        for name in node.input:
            if node.op_type == "MatMulInteger" and name.startswith("onnx::") and name.endswith("_quantized"):
                weight_of[node.output[0].split("/MatMul")[0]] = name.removesuffix("_quantized")
    count = 1 + max(
        int(name.split(".")[2]) for name in (i.name for i in graph.initializer) if name.startswith("encoder.layer.")
    )
    first = count - TUNED.get((task, language), 3)
    layers = []
    for number in range(first, count):
        matrices = {matrix: weight_of[f"/encoder/layer.{number}/{place}"] for matrix, place in _PLACES.items()}
        biases = {matrix: f"encoder.layer.{number}.{place.replace('/', '.')}.bias" for matrix, place in _PLACES.items()}
        norms = [
            f"encoder.layer.{number}.{place}.LayerNorm.{part}"
            for place in ("attention.output", "output")
            for part in ("weight", "bias")
        ]
        values = [f"{name}_{part}" for name in matrices.values() for part in ("quantized", "scale", "zero_point")]
        layers.append(
            {"matrices": matrices, "biases": biases, "norms": norms, "values": [*values, *biases.values(), *norms]}
        )
    below = f"encoder/layer.{first - 1}/output" if first else "embeddings"
    lower = f"/{below}/LayerNorm/LayerNormalization_output_0"
    return model, {"model": model.id.hash, "lower": lower, "layers": layers, "attention_heads": PARTS[language]}


class Base:
    """The installed model of a language: its states below the tuned layers, and the weights of those layers."""

    def __init__(self, model: LocalModel, about: dict[str, Any]) -> None:
        folder = models_folder() / model.folder_name
        self._tokenizer = tokenizer_for_pairs(folder / model.tokenizer.name)
        self._lower = about["lower"]
        names = [name for layer in about["layers"] for name in layer["values"]]
        loaded = onnx.load(str(folder / model.weights.name))
        loaded.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in (self._lower, *names))
        self._session = open_session(loaded.SerializeToString())
        values = self._session.run(names, pair_inputs(self._tokenizer, "", ""))
        self.values = dict(zip(names, values, strict=True))

    def states(self, first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
        """The state of each token below the tuned layers, and to which of the two texts it belongs (0, 1)."""
        inputs = pair_inputs(self._tokenizer, first, second)
        return self._session.run([self._lower], inputs)[0][0], inputs["token_type_ids"][0]

    def states_of(self, text: str) -> np.ndarray:
        """The states of one text alone."""
        tokens = np.array([self._tokenizer.encode(text.lower()).ids], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        return np.asarray(self._session.run([self._lower], inputs)[0][0])

    def matrix(self, name: str) -> np.ndarray:
        """A weight matrix as numbers of full precision."""
        whole, scale, zero = (self.values[f"{name}_{part}"] for part in ("quantized", "scale", "zero_point"))
        return np.asarray((whole.astype(np.float32) - zero.astype(np.float32)) * scale, np.float32)


class _Linear(nn.Module):
    def __init__(self, matrix: np.ndarray, bias: np.ndarray, rank: int) -> None:
        super().__init__()
        self.register_buffer("matrix", torch.tensor(matrix))
        self.register_buffer("fixed", torch.tensor(bias))
        self.down = nn.Parameter(torch.randn(matrix.shape[0], rank) / math.sqrt(matrix.shape[0]))
        self.up = nn.Parameter(torch.zeros(rank, matrix.shape[1]))
        self.bias = nn.Parameter(torch.zeros(matrix.shape[1]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.matrix + self.fixed + (x @ self.down) @ self.up * 2 + self.bias


class Layer(nn.Module):
    def __init__(self, about: dict[str, Any], base: Base, parts: int, rank: int) -> None:
        super().__init__()
        self.parts = parts
        self.linear = nn.ModuleDict(
            {m: _Linear(base.matrix(about["matrices"][m]), base.values[about["biases"][m]], rank) for m in MATRICES}
        )
        self.norms = nn.ParameterList([nn.Parameter(torch.tensor(base.values[name])) for name in about["norms"]])

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows, tokens, width = x.shape
        query, key, value = (self.linear[m](x).view(rows, tokens, self.parts, -1).transpose(1, 2) for m in MATRICES[:3])
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.linear["attention"](seen.transpose(1, 2).reshape(rows, tokens, width))
        x = functional.layer_norm(x, (width,), self.norms[0], self.norms[1], 1e-12)
        inner = functional.gelu(self.linear["inner"](x), approximate="tanh")
        return functional.layer_norm(x + self.linear["outer"](inner), (width,), self.norms[2], self.norms[3], 1e-12)


class Network(nn.Module):
    def __init__(self, about: dict[str, Any], base: Base, rank: int, outputs: int, extra: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(layer, base, about["attention_heads"], rank) for layer in about["layers"]])
        width = len(base.values[about["layers"][0]["norms"][0]])
        self.drop = nn.Dropout(0.1)
        self.hidden = nn.Linear(2 * width + extra, HIDDEN)
        self.out = nn.Linear(HIDDEN, outputs)

    def forward(self, x: torch.Tensor, types: torch.Tensor, extra: torch.Tensor | None) -> torch.Tensor:
        mask = (types >= 0)[:, None, None, :]
        for layer in self.layers:
            x = layer(x, mask)
        means = []
        for text in (0, 1):
            own = (types == text).unsqueeze(-1).float()
            means.append((x * own).sum(1) / own.sum(1).clamp(min=1))
        return self.out(
            torch.tanh(self.hidden(self.drop(torch.cat([*means, *([extra] if extra is not None else [])], 1))))
        )


def tune(
    language: str, task: str, heads: dict[str, list[str]], examples: Sequence[Example], extra: np.ndarray | None = None, *,
    epochs: int = 6, rate: float = 1e-3, size: int = 32, seed: int = 0, save: bool = True, smooth: float = 0.05,
    verbose: bool = True, start: dict[str, np.ndarray] | None = None,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:  # fmt: skip
    """Train on the examples and write the weights into the package; returns what was written. `start`: weights to go on from."""
    torch.manual_seed(seed)
    random.seed(seed)
    model, about = about_model(language, task)
    if language not in BASES:
        BASES[language] = Base(model, about)
    base = BASES[language]
    states = [base.states(example.first, example.second) for example in examples]
    outputs = sum(map(len, heads.values()))
    mean = spread = features = None
    if extra is not None:
        mean, spread = (
            (start["mean"], start["spread"]) if start else (extra.mean(axis=0), 2 * (extra.std(axis=0) + 1e-6))
        )
        features = torch.tensor((extra - mean) / spread, dtype=torch.float32)
    network = Network(about, base, RANK, outputs, 0 if extra is None else extra.shape[1])
    if start:
        go_on_from(network, start)
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.05)
    steps = epochs * math.ceil(len(examples) / size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.1)
    labels = torch.tensor([example.labels for example in examples])
    weights = torch.tensor([example.weight for example in examples])
    for epoch in range(epochs):
        order = sorted(range(len(examples)), key=lambda place: len(states[place][1]) + random.random() * 8)
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        random.shuffle(batches)
        total = 0.0
        for some in batches:
            x, types = _together([states[place] for place in some])
            values = network(x, types, None if features is None else features[some])
            loss = _loss(values, labels[some], weights[some], heads, smooth)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        if verbose:
            print(f"  {task} {language}, epoch {epoch + 1}: {total / len(batches):.3f}", flush=True)
    arrays = _arrays(network, mean, spread)
    about |= {"heads": heads, "task": task}
    if save:
        write(language, task, about, arrays)
    return about, arrays


def _loss(
    values: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor, heads: dict[str, list[str]], smooth: float
) -> torch.Tensor:
    loss, start = torch.zeros(()), 0
    for place, names in enumerate(heads.values()):
        known = labels[:, place] >= 0
        if known.any():
            each = functional.cross_entropy(
                values[known, start : start + len(names)],
                labels[known, place],
                reduction="none",
                label_smoothing=smooth,
            )
            loss = loss + (each * weights[known]).mean()
        start += len(names)
    return loss


def _together(states: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(len(types) for _, types in states)
    x = torch.zeros(len(states), longest, states[0][0].shape[1])
    types = torch.full((len(states), longest), -1)
    for row, (own, kinds) in enumerate(states):
        x[row, : len(own)], types[row, : len(own)] = torch.from_numpy(own), torch.from_numpy(kinds)
    return x, types


def layer_arrays(layers: nn.ModuleList) -> dict[str, np.ndarray]:
    """What training added to each layer, by the names under which the package reads it."""
    arrays: dict[str, np.ndarray] = {}
    for number, layer in enumerate(layers):
        for name, linear in layer.linear.items():
            arrays[f"{number} {name} down"] = 2 * linear.down.detach().numpy()
            arrays[f"{number} {name} up"] = linear.up.detach().numpy()
            arrays[f"{number} {name} bias"] = linear.bias.detach().numpy()
        arrays |= {f"{number} {name}": value.detach().numpy() for name, value in zip(NORMS, layer.norms, strict=True)}
    return arrays


def _arrays(network: Network, mean: np.ndarray | None, spread: np.ndarray | None) -> dict[str, np.ndarray]:
    arrays = layer_arrays(network.layers)
    arrays["hidden"], arrays["hidden bias"] = (
        network.hidden.weight.detach().numpy().T,
        network.hidden.bias.detach().numpy(),
    )
    arrays["out"], arrays["out bias"] = network.out.weight.detach().numpy().T, network.out.bias.detach().numpy()
    if mean is not None and spread is not None:
        arrays |= {"mean": mean, "spread": spread}
    return arrays


def go_on_from(network: Network, arrays: dict[str, np.ndarray]) -> None:
    """Put into the network what an earlier training left, as `_arrays` gave it."""
    state: dict[str, np.ndarray] = {}
    for number, layer in enumerate(network.layers):
        for name in layer.linear:
            place = f"layers.{number}.linear.{name}"
            state[f"{place}.down"] = arrays[f"{number} {name} down"] / 2
            state |= {f"{place}.{part}": arrays[f"{number} {name} {part}"] for part in ("up", "bias")}
        state |= {f"layers.{number}.norms.{place}": arrays[f"{number} {name}"] for place, name in enumerate(NORMS)}
    for name in ("hidden", "out"):
        state |= {f"{name}.weight": arrays[name].T, f"{name}.bias": arrays[f"{name} bias"]}
    known = network.state_dict() | {name: torch.tensor(values).float() for name, values in state.items()}
    network.load_state_dict(known)


def write(language: str, task: str, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    save(WEIGHTS / f"{task}-{language}.npz", about, arrays)


def save(path: Path, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    described = np.frombuffer(json.dumps(about, ensure_ascii=False).encode(), np.uint8)
    small = {name: values.astype(np.float32 if values.ndim < 2 else np.float16) for name, values in arrays.items()}
    np.savez_compressed(path, about=described, **small)  # type: ignore[arg-type]  # numpy's own stub takes a flag of the same form
