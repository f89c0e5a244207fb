"""What a sentence is: its type, its category, what the speaker does with it. By the classifiers, in its own language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from nacre.brain.local import classifier
from nacre.brain.local.classifier import HEADS, Weights
from nacre.text.language import language_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from nacre.brain.local.kept import KeptVectors
    from nacre.embed.local import LocalEmbedder
    from nacre.embed.protocol import ModelId

LANGUAGES = ("en", "zh")
MANY = 1500  # sentences; embedding more than these would take longer than anybody waits for one talk
AT_ONCE = 256  # sentences whose features are in memory together


class Meant(NamedTuple):
    """One sentence with its language and its vector."""

    text: str
    language: str
    vector: npt.NDArray[np.float32] | None


@dataclass(frozen=True)
class Judged:
    """One sentence with the odds of every label of every head, its features and its vector."""

    text: str
    language: str
    odds: dict[str, npt.NDArray[np.float32]]
    features: npt.NDArray[np.float32]  # structure only
    vector: npt.NDArray[np.float32] | None
    lasting: float = 0.0  # the odds that it belongs into a memory that is read before every talk

    def best(self, head: str) -> str:
        return HEADS[head][int(self.odds[head].argmax())]

    def chance(self, head: str, label: str) -> float:
        return float(self.odds[head][HEADS[head].index(label)])


class Judge:
    """The classifiers with the local models, where these are installed; with the structure of sentences alone, where not."""

    def __init__(self, embedder: LocalEmbedder | None, kept: KeptVectors | None = None) -> None:
        self._embedder = embedder
        self.kept = kept
        models = {model.hash: model for model in embedder.models()} if embedder else {}
        self._models: dict[str, ModelId] = {}
        for language in LANGUAGES:
            if models and (model := models.get(classifier.load(language, "full").model)):
                self._models[language] = model

    @property
    def with_vectors(self) -> tuple[str, ...]:
        """The languages in which meaning has a say."""
        return tuple(self._models)

    def read(self, texts: Sequence[str]) -> list[Judged]:
        """Judge sentences, each by the classifiers of its language; a great many by structure alone."""
        languages = [language_of(text) for text in texts]
        found: dict[int, Judged] = {}
        for language in LANGUAGES:
            places = [place for place, one in enumerate(languages) if one == language]
            for start in range(0, len(places), AT_ONCE):
                some = places[start : start + AT_ONCE]
                judged = self._of_language([texts[place] for place in some], language, plain=len(texts) > MANY)
                found |= dict(zip(some, judged, strict=True))
        return [found[place] for place in range(len(texts))]

    def meant(self, texts: Sequence[str]) -> list[Meant]:
        """What sentences mean, without judging them: enough to compare what is remembered with something new."""
        languages = [language_of(text) for text in texts]
        found: dict[int, Meant] = {}
        for language in LANGUAGES:
            places = [place for place, one in enumerate(languages) if one == language]
            mine = [texts[place] for place in places]
            vectors, _ = self._vectors(mine, language) if mine else (None, None)
            for at, place in enumerate(places):
                found[place] = Meant(texts[place], language, None if vectors is None else vectors[at])
        return [found[place] for place in range(len(texts))]

    def _of_language(self, texts: Sequence[str], language: str, *, plain: bool) -> list[Judged]:
        import numpy as np

        if not texts:
            return []
        vectors, weights = (None, classifier.load(language, "bare")) if plain else self._vectors(texts, language)
        x = classifier.design(texts, language, weights, vectors)
        odds = classifier.by_head(x @ weights.matrix + weights.bias)
        slope, offset = weights.lasting
        lasting = 1 / (1 + np.exp(-(classifier.raw_lasting(odds) * slope + offset)))
        start = 0 if vectors is None else vectors.shape[1]
        shape = x[:, start : x.shape[1] - len(weights.vocabulary)]
        return [
            Judged(
                text,
                language,
                {head: np.asarray(rows[place]) for head, rows in odds.items()},
                np.asarray(shape[place]),
                None if vectors is None else vectors[place],
                float(lasting[place]),
            )
            for place, text in enumerate(texts)
        ]

    def _vectors(self, texts: Sequence[str], language: str) -> tuple[npt.NDArray[np.float32] | None, Weights]:
        model = self._models.get(language)
        if model is None or self._embedder is None:
            return None, classifier.load(language, "bare")
        made = self.kept.embed(self._embedder, model, texts) if self.kept else self._embedder.embed(model, texts)
        return made, classifier.load(language, "full")

    def keep(self, meant: Iterable[Meant], texts: Sequence[str] = ()) -> None:
        """Remember what these mean for the next run, and the texts where that is known; nothing else."""
        if self.kept is None or not self._models:
            return
        every = list(meant)
        for language, model in self._models.items():
            rows = [(one.text, one.vector) for one in every if one.language == language and one.vector is not None]
            self.kept.want(model.hash, rows)
            self.kept.carry(model.hash, texts)
        self.kept.save()
