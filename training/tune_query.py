"""Tunes the upper layers of the embedding models for questions: a question's vector shall lead to what answers it, among vectors of
statements that the models make as they are. So no index has to be made anew, and embedding what is remembered costs what it did.

    python training/tune_query.py en|zh [--epochs N]      train, score, write src/nacre/embed/weights/query-<model>.npz

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

from data import query_digest
from nacre.embed.local import LocalEmbedder
from tune_layers import Base, Layer, about_model, layer_arrays, save
from worlds import read

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src/nacre/embed/weights"
TEMPERATURE = 0.05
OTHERS = 256  # statements of other worlds that each question is told apart from too
KEPT = 0.8  # how far the weights go towards what was learned: part of the way they err least on texts of other kinds


class World(NamedTuple):
    name: str
    statements: list[str]
    questions: list[tuple[str, list[int]]]  # with the places of the statements that answer


def questions_in(language: str) -> list[World]:
    worlds = []
    for path in sorted((HERE / "questions" / language).glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# "):
                worlds.append(World(f"{path.stem} {line[2:]}", [], []))
            elif line.startswith("P "):
                worlds[-1].statements.append(line[2:].strip())
            elif line.startswith("q "):
                worlds[-1].questions.append((line[2:].strip(), [len(worlds[-1].statements) - 1]))
    return worlds


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


def train(
    network: Network,
    states: list[list[np.ndarray]],
    worlds: list[World],
    vectors: list[torch.Tensor],
    epochs: int,
    rate: float,
) -> None:
    items = [(world, place) for world in range(len(worlds)) for place in range(len(worlds[world].questions))]
    everything = torch.cat(vectors)
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=epochs * math.ceil(len(items) / 32), pct_start=0.1
    )
    for epoch in range(epochs):
        random.shuffle(items)
        total = 0.0
        for start in range(0, len(items), 32):
            some = items[start : start + 32]
            made = network([states[world][place] for world, place in some])
            others = everything[torch.randint(len(everything), (OTHERS,))]
            loss = torch.zeros(())
            for row, (world, place) in enumerate(some):
                scores = torch.cat([vectors[world], others]) @ made[row] / TEMPERATURE
                loss = loss + torch.logsumexp(scores, 0) - torch.logsumexp(scores[worlds[world].questions[place][1]], 0)
            loss = loss / len(some)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()
            total += loss.item() * len(some)
        print(f"  epoch {epoch + 1}: {total / len(items):.3f}", flush=True)


def halfway(network: Network, untuned: dict[str, torch.Tensor], share: float) -> None:
    """Put the weights that far on the way from the model as it was to what was learned."""
    state = network.state_dict()
    for name, value in state.items():
        if not name.endswith((".down", ".matrix", ".fixed")):
            state[name] = untuned[name] * (1 - share) + value * share
    network.load_state_dict(state)


def score(name: str, made: list[torch.Tensor], worlds: Sequence[World], vectors: Sequence[torch.Tensor]) -> None:
    found: dict[int, list[bool]] = defaultdict(list)
    for asked, world, statements in zip(made, worlds, vectors, strict=True):
        for (_, right), row in zip(world.questions, asked @ statements.T, strict=True):
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
    model, about = about_model(language, "query")
    base = Base(model, about)
    embedder = LocalEmbedder()
    learned, others = questions_in(language), recall_in(language)
    vectors = {world.name: torch.tensor(embedder.embed(model.id, world.statements)) for world in (*learned, *others)}
    states = {
        world.name: [base.states_of(question) for question, _ in world.questions] for world in (*learned, *others)
    }
    network = Network(about, base, 12, first=model.pooling == "first")
    untuned = {name: value.clone() for name, value in network.state_dict().items()}

    def scored(name: str) -> None:
        made = [network.vectors(states[world.name]) for world in others]
        score(name, made, others, [vectors[world.name] for world in others])

    scored("as it was")
    of_learned = [states[world.name] for world in learned], learned, [vectors[world.name] for world in learned]
    train(network, *of_learned, args.epochs, args.rate)
    whole = {name: value.clone() for name, value in network.state_dict().items()}
    for share in (1.0, 0.8, 0.6, KEPT):
        network.load_state_dict(whole)
        halfway(network, untuned, share)
        scored(f"{share:.0%}")
    about |= {"corpus": query_digest(language)}
    save(WEIGHTS / f"query-{model.name}.npz", about, layer_arrays(network.layers))


if __name__ == "__main__":
    main()
