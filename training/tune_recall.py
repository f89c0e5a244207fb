"""Tunes the upper layers of the embedding models for search: a question's vector shall lie near those of the passages that answer it.

    python training/tune_recall.py en|zh [--epochs N]      train, score, write src/nacre/embed/weights/recall-<model>.npz

Learned from are the passages (P) with their questions (q) in `questions/`, by authors who knew nothing of the code. Scored are the worlds in
`recall/`: the ranking learns from those, and would trust the vectors too much had these learned from them too.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from data import question_digest
from tune_layers import Base, Layer, about_model, layer_arrays, save
from worlds import read

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src/nacre/embed/weights"
TEMPERATURE = 0.05
BATCH = 48  # questions, of two worlds: what answers the others is near and does not answer
OTHERS = 12  # further passages of each world that a question is told apart from
LONGEST = 160  # tokens of a passage that are learned from
KEPT = {
    "en": 0.8,
    "zh": 0.6,
}  # how far the weights go towards what was learned: part of the way they err least on texts of other kinds


class World(NamedTuple):
    name: str
    passages: list[str]
    questions: list[tuple[str, list[int]]]  # with the places of the passages that answer


def questions_in(language: str) -> list[World]:
    worlds: list[World] = []
    for path in sorted((HERE / "questions" / language).glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# "):
                worlds.append(World(f"{path.stem} {line[2:]}", [], []))
            elif line.startswith("P "):
                worlds[-1].passages.append(line[2:].strip())
            elif line.startswith("q "):
                worlds[-1].questions.append((line[2:].strip(), [len(worlds[-1].passages) - 1]))
    return [world for world in worlds if world.questions]


def recall_in(language: str) -> list[World]:
    worlds = []
    for path in sorted((HERE / "recall" / language).glob("*.tsv")):
        entries, _, asked = read(path)
        places = {name: place for place, name in enumerate(entries)}
        right = [(one.text, [places[name] for name in one.gold if name in places]) for one in asked]
        worlds.append(World(path.stem, [entry[-1] for entry in entries.values()], [one for one in right if one[1]]))
    return worlds


class Network(nn.Module):
    def __init__(self, about: dict[str, Any], base: Base, rank: int, *, first: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(layer, base, about["attention_heads"], rank) for layer in about["layers"]])
        self.first = first  # the first token stands for the text, else the mean of all

    def forward(self, states: Sequence[np.ndarray]) -> torch.Tensor:
        longest = max(map(len, states))
        x, mask = torch.zeros(len(states), longest, states[0].shape[1]), torch.zeros(len(states), longest)
        for row, own in enumerate(states):
            x[row, : len(own)], mask[row, : len(own)] = torch.from_numpy(own), 1
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :] > 0)
        pooled = x[:, 0] if self.first else (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return functional.normalize(pooled, dim=-1)

    def vectors(self, states: Sequence[np.ndarray]) -> torch.Tensor:
        with torch.no_grad():
            return torch.cat([self(states[start : start + 64]) for start in range(0, len(states), 64)])


States = dict[str, tuple[list[np.ndarray], list[np.ndarray]]]  # by world: of its passages and of its questions


def train(network: Network, states: States, worlds: Sequence[World], epochs: int, rate: float) -> None:
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.05)
    halves = sum(math.ceil(len(world.questions) / (BATCH // 2)) for world in worlds)
    steps = epochs * math.ceil(halves / 2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        parts: list[tuple[World, list[int]]] = []
        for world in worlds:
            order = random.sample(range(len(world.questions)), len(world.questions))
            parts += [(world, order[start : start + BATCH // 2]) for start in range(0, len(order), BATCH // 2)]
        random.shuffle(parts)
        total = 0.0
        for start in range(0, len(parts), 2):
            asked, passages, right = _batch(parts[start : start + 2], states)
            loss = functional.cross_entropy(network(asked) @ network(passages).T / TEMPERATURE, torch.tensor(right))
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        print(f"  epoch {epoch + 1}: {total / (steps / epochs):.3f}", flush=True)


def _batch(
    parts: Sequence[tuple[World, list[int]]], states: States
) -> tuple[list[np.ndarray], list[np.ndarray], list[int]]:
    """The states of the questions, those of the passages that answer them and of others, and which passage answers each question."""
    asked: list[np.ndarray] = []
    rows: dict[tuple[str, int], int] = {}
    right: list[int] = []
    for world, places in parts:
        asked += [states[world.name][1][place] for place in places]
        right += [rows.setdefault((world.name, world.questions[place][1][0]), len(rows)) for place in places]
    for name, world in {world.name: world for world, _ in parts}.items():
        rest = [place for place in range(len(world.passages)) if (name, place) not in rows]
        for place in random.sample(rest, min(OTHERS, len(rest))):
            rows[name, place] = len(rows)
    return asked, [states[name][0][place][:LONGEST] for name, place in rows], right


def halfway(network: Network, untuned: dict[str, torch.Tensor], share: float) -> None:
    """Put the weights that far on the way from the model as it was to what was learned."""
    state = network.state_dict()
    for name, value in state.items():
        if not name.endswith((".down", ".matrix", ".fixed")):
            state[name] = untuned[name] * (1 - share) + value * share
    network.load_state_dict(state)


def score(name: str, network: Network, worlds: Sequence[World], states: States) -> None:
    found: dict[int, list[bool]] = defaultdict(list)
    for world in worlds:
        passages, asked = (network.vectors(part) for part in states[world.name])
        for (_, right), row in zip(world.questions, asked @ passages.T, strict=True):
            order = row.argsort(descending=True).tolist()
            for k in (1, 5, 10):
                found[k].append(bool(set(order[:k]) & set(right)))
    print(
        f"{name:10}" + "  ".join(f"any@{k} {100 * sum(hits) / len(hits):.1f}" for k, hits in found.items()), flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=("en", "zh"))
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=4e-4)
    args = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    language = args.language
    model, about = about_model(language, "recall")
    base = Base(model, about)
    learned, others = questions_in(language), recall_in(language)
    states = {
        world.name: ([*map(base.states_of, world.passages)], [base.states_of(text) for text, _ in world.questions])
        for world in (*learned, *others)
    }
    network = Network(about, base, 12, first=model.pooling == "first")
    untuned = {name: value.clone() for name, value in network.state_dict().items()}
    score("as it was", network, others, states)
    train(network, states, learned, args.epochs, args.rate)
    halfway(network, untuned, KEPT[language])
    score(f"{KEPT[language]:.0%}", network, others, states)
    about |= {"corpus": question_digest(language)}
    save(WEIGHTS / f"recall-{model.name}.npz", about, layer_arrays(network.layers))


if __name__ == "__main__":
    main()
