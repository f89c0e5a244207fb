"""Labels and vectors of sentences by the local classifiers and embedding models, with a cache of vectors."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nacre import disk
from nacre.brain.local import classifier, encoder, relation
from nacre.brain.local.classifier import HEADS
from nacre.brain.local.likeness import Statement, statement
from nacre.text.tokens import language_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from nacre.embed.local import LocalEmbedder
    from nacre.embed.models import Embedder, ModelId

    Vectors = npt.NDArray[np.float32]
    Rows = dict[bytes, Vectors]  # by the hash of the text


MOST = 8000  # vectors of one model that are kept


class VectorCache:
    """The vectors of one workspace's statements, by model and text, as the last run left them. The file may be deleted any time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._used: dict[str, Rows] = {}
        self._is_saved = True

    @cached_property
    def _stored(self) -> dict[str, Rows]:
        """What the file holds, by the model's hash; nothing when it is missing or damaged."""
        import zipfile

        import numpy as np

        try:
            with self._path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                models = [name.removesuffix(".keys") for name in file.files if name.endswith(".keys")]
                pairs = {model: zip(file[f"{model}.keys"], file[f"{model}.rows"], strict=True) for model in models}
                return {model: {key.tobytes(): row for key, row in rows} for model, rows in pairs.items()}
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError):
            return {}

    def embed(self, embedder: Embedder, model: ModelId, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts; only those that are not known are made."""
        import numpy as np

        keys = [_key(text) for text in texts]
        used = self._used.setdefault(model.hash, {})
        stored = self._stored.get(model.hash, {})
        rows = {key: row for key in keys if (row := used.get(key, stored.get(key))) is not None}
        if new := {key: text for key, text in zip(keys, texts, strict=True) if key not in rows}:
            rows |= zip(new, embedder.embed(model, list(new.values())), strict=True)
            self._is_saved = False
        used |= rows
        for key in list(used)[:-MOST]:
            del used[key]
        return np.stack([rows[key] for key in keys])

    def save(self) -> None:
        """Put on disk what was used, where something of it is new."""
        from io import BytesIO

        import numpy as np

        if self._is_saved:
            return
        arrays: dict[str, npt.NDArray[np.generic]] = {}
        for model, rows in self._used.items():
            arrays[f"{model}.keys"] = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
            arrays[f"{model}.rows"] = np.stack(list(rows.values()))
        made = BytesIO()
        np.savez(made, **arrays)  # type: ignore[arg-type]  # numpy's own stub takes a flag of the same form
        disk.write(self._path, made.getvalue())
        self._is_saved = True


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# What a sentence is: its type, its category, what the speaker does with it. By the classifiers, in its own language.

LANGUAGES = ("en", "zh")
MANY = 1500  # sentences; embedding more than these would take longer than anybody waits for one session
AT_ONCE = 256  # sentences whose features are in memory together


@dataclass(frozen=True)
class Judged:
    """One sentence with the odds of every label of every head, its features and its vector."""

    text: str
    language: str
    odds: dict[str, npt.NDArray[np.float32]]
    features: npt.NDArray[np.float32]  # structure only
    vector: Vectors | None
    lasting: float = 0.0  # the odds that it belongs into a memory that is read before every session
    leans: float | None = None  # the tuned model's odds that it says nothing without what stands before it

    @property
    def tuned(self) -> bool:
        return self.leans is not None

    @property
    def needs_context(self) -> float:
        return self.chance("c", "yes") if self.leans is None else self.leans

    @cached_property
    def statement(self) -> Statement:
        return statement(self.text, self.language, self.vector)

    def best(self, head: str) -> str:
        return HEADS[head][int(self.odds[head].argmax())]

    def chance(self, head: str, label: str) -> float:
        return float(self.odds[head][HEADS[head].index(label)])

    @property
    def summary(self) -> npt.NDArray[np.float32]:
        """What the classifiers make of it, as the tuned model is told beside the words."""
        import numpy as np

        return np.array([*np.concatenate([self.odds[head] for head in HEADS]), logit(self.lasting)], np.float32)


def logit(odds: float) -> float:
    """Odds on the scale on which evidence adds up."""
    odds = min(max(odds, 1e-4), 1 - 1e-4)
    return math.log(odds / (1 - odds))


class Judge:
    """The classifiers with the local models, where these are installed; with the structure of sentences alone, where not."""

    def __init__(self, embedder: LocalEmbedder | None, kept: VectorCache | None = None) -> None:
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

    def read(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Judged]:
        """Judge sentences, each by the classifiers of its language; a great many by structure alone. Where it is given what was
        said before each, the odds that they last are those of the tuned model."""
        languages = [language_of(text) for text in texts]
        by_place: dict[int, Judged] = {}
        for language in LANGUAGES:
            places = [place for place, own in enumerate(languages) if own == language]
            for start in range(0, len(places), AT_ONCE):
                some = places[start : start + AT_ONCE]
                judged = self._judge([texts[place] for place in some], language, plain=len(texts) > MANY)
                by_place |= zip(some, judged, strict=True)
        judged = [by_place[place] for place in range(len(texts))]
        return judged if before is None or len(texts) > MANY else self.with_keep(judged, before)

    def with_keep(self, judged: Sequence[Judged], before: Sequence[str]) -> list[Judged]:
        """The same in view of what was said before each, by the tuned model where the language has one: the odds that it lasts (a
        maybe counts half), that it leans on what was said, and its type and category, in which both models have a say."""
        import numpy as np

        judged = list(judged)
        for language in self.with_vectors:
            places = [place for place, own in enumerate(judged) if own.language == language]
            made = encoder.load(language, "keep") if places else None
            if made:
                summaries = np.array([judged[place].summary for place in places])
                read = made.read([(before[place], judged[place].text) for place in places], summaries)
                for row, place in enumerate(places):
                    own = judged[place]
                    both = {head: np.sqrt(own.odds[head] * read[head][row]) for head in ("type", "category")}
                    odds = own.odds | {head: product / product.sum() for head, product in both.items()}
                    lasting = float(read["keep"][row, 2] + read["keep"][row, 1] / 2)
                    leans = float(read["leans"][row, 1])
                    judged[place] = replace(own, odds=odds, lasting=lasting, leans=leans)
        return judged

    def meant(self, texts: Sequence[str]) -> list[Statement]:
        """What sentences mean, without judging them: enough to compare what is remembered with something new."""
        languages = [language_of(text) for text in texts]
        vectors: dict[str, Vectors | None] = {}
        for language in LANGUAGES:
            own = dict.fromkeys(text for text, written in zip(texts, languages, strict=True) if written == language)
            rows = self._vectors(list(own), language) if own else None
            vectors |= dict.fromkeys(own) if rows is None else zip(own, rows, strict=True)
        return [statement(text, language, vectors[text]) for text, language in zip(texts, languages, strict=True)]

    def relation_odds(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, float, float] | None]:
        """The odds that the newer of two statements says the same, replaces the older one, or stands beside it; none where the models
        are missing or the languages differ."""
        texts = [text for pair in pairs for text in pair]
        meant = dict(zip(texts, self.meant(texts), strict=True))
        result: list[tuple[float, float, float] | None] = [None] * len(pairs)
        for language in LANGUAGES:
            places = [at for at, pair in enumerate(pairs) if all(meant[text].language == language for text in pair)]
            rows = relation.label_odds([(meant[pairs[at][0]], meant[pairs[at][1]]) for at in places], language)
            for at, row in zip(places, rows if rows is not None else (), strict=False):
                same, replaces, adds, exception, _ = row.tolist()
                result[at] = same, replaces, adds + exception
        return result

    def _judge(self, texts: Sequence[str], language: str, *, plain: bool) -> list[Judged]:
        import numpy as np

        vectors = None if plain else self._vectors(texts, language)
        weights = classifier.load(language, "bare" if vectors is None else "full")
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

    def _vectors(self, texts: Sequence[str], language: str) -> Vectors | None:
        model = self._models.get(language)
        if model is None or self._embedder is None:
            return None
        return self.kept.embed(self._embedder, model, texts) if self.kept else self._embedder.embed(model, texts)

    def save(self) -> None:
        """Keep what the sentences of this run mean for the next."""
        if self.kept:
            self.kept.save()
