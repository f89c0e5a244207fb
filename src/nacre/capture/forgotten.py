"""What the user had forgotten is not learned again: bullets that meet a tombstone are not written."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

from nacre.errors import ModelUnusable
from nacre.model.bullet import Bullet
from nacre.model.session import Message
from nacre.vault import tombstones
from nacre.vault.workspace import Workspace

if TYPE_CHECKING:
    from nacre.capture.plan import Extract
    from nacre.embed.local import LocalEmbedder
    from nacre.vault.tombstones import Tombstones, Vectors


def without_forgotten(workspace: Workspace, extract: Extract) -> Extract:
    """The same extraction, passing over what was forgotten. The tombstones are read when there is something to pass over."""
    stones: list[Tombstones] = []

    def kept(messages: Sequence[Message]) -> list[Bullet]:
        found = extract(messages)
        if found and not stones:
            stones.append(tombstones.load(workspace))
        return not_forgotten(stones[0], found) if found else found

    return kept


def not_forgotten(stones: Tombstones, bullets: Sequence[Bullet]) -> list[Bullet]:
    """The bullets that meet no tombstone."""
    if not stones:
        return list(bullets)
    met = are_forgotten(stones, [bullet.text for bullet in bullets])
    return [bullet for bullet, gone in zip(bullets, met, strict=True) if not gone]


def are_forgotten(stones: Tombstones, texts: Sequence[str]) -> list[bool]:
    """Whether each text meets a tombstone; by its meaning too, where the local models are installed."""
    return stones.matches(texts, vectors_of(texts, stones.models)) if stones else [False] * len(texts)


def vectors_of(texts: Sequence[str], models: Container[str] | None = None) -> list[Vectors]:
    """The vectors of each text by the local models that fit it, only by these where some are named; none without models."""
    if not texts or models == frozenset():
        return [{} for _ in texts]
    embedder = _embedder()
    try:
        return [
            {
                model.hash: embedder.embed(model, [text])[0]
                for model in embedder.models_for(text)
                if models is None or model.hash in models
            }
            for text in texts
        ]
    except ModelUnusable:  # words tell enough; who needs the model says that it is damaged
        return [{} for _ in texts]


def _embedder() -> LocalEmbedder:
    """The models that are installed now; those in use are kept, for who forgets one thing often forgets another."""
    from nacre.embed.local import LocalEmbedder

    embedder = LocalEmbedder(threads=1)
    known = _kept.get("embedder")
    if known is None or known.models() != embedder.models():
        _kept["embedder"] = embedder
    return _kept["embedder"]


_kept: dict[str, LocalEmbedder] = {}
