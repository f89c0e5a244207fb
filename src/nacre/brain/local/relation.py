"""How a new statement stands to one that is already remembered: it says the same, it clashes, or both hold side by side."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.brain.local import encoder
from nacre.brain.local.classifier import read_weights, softmax
from nacre.brain.local.likeness import (
    CHANGE,
    FOR_ONCE,
    Statement,
    adds_a_code_word,
    adds_a_value,
    compare,
    cues,
    differ,
    have_in_common,
    is_reversed,
    says,
    shares_a_value,
    statement,
    tells_of_a_change,
)
from nacre.brain.local.quantities import same_and_other
from nacre.model import Relation

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]

LABELS = ("same", "replaces", "adds", "exception", "ask")
SAME, REPLACES, ADDS, EXCEPTION, ASK = range(len(LABELS))
RELATIONS = ("same", "clash", "beside")
VECTOR_SCALE = 3.0
APART = {"en": 0.45, "zh": 0.6}  # likeness of meaning under which two statements are of different matters
CLOSE = {"en": 0.6, "zh": 0.72}  # the same from which even what is said in passing may change an entry
CLASH = 0.6  # odds from which two statements cannot both hold, by their words alone
NEAREST = 6  # how many remembered statements a new one is compared with in full
_SHARED, _RARE = 0.65, 0.7  # of the words of the shorter statement; how rare a word is that names the matter


@dataclass(frozen=True)
class Weights:
    """What training left behind for one language, with embeddings or without."""

    matrix: Array  # features and embedding of the new statement × relations
    bias: Array
    mean: Array
    spread: Array
    rarity: dict[str, float]
    rarest: float
    corpus: str = ""


class Near(NamedTuple):
    """The odds of each relation between a new statement and a remembered one."""

    place: int  # of the remembered one
    same: float
    clash: float


@cache
def load(language: str, variant: str) -> Weights:
    """The weights in the package: "full" with embeddings, "bare" without."""
    about, arrays = read_weights(f"relation-{language}-{variant}")
    return Weights(**arrays, rarity=about["rarity"], rarest=about["rarest"], corpus=about["corpus"])


def odds(pairs: Sequence[tuple[Statement, Statement]], language: str, weights: Weights | None = None) -> Array:
    """The odds of each relation for (remembered, new) pairs of one language."""
    import numpy as np

    if not pairs:
        return np.zeros((0, len(RELATIONS)), np.float32)
    if weights is None:
        meant = all(side.vector is not None for pair in pairs for side in pair)
        weights = load(language, "full" if meant else "bare")
    return softmax(design(pairs, weights) @ weights.matrix + weights.bias)


def design(pairs: Sequence[tuple[Statement, Statement]], weights: Weights) -> Array:
    import numpy as np

    rows = np.array([compare(old, new, weights.rarity, weights.rarest) for old, new in pairs], np.float32)
    rows = (rows - weights.mean) / weights.spread
    if weights.matrix.shape[0] == rows.shape[1]:
        return rows
    vectors = np.array([new.vector for _, new in pairs], np.float32) * VECTOR_SCALE
    return np.hstack([rows, vectors])


# What an answer costs where something else is true: a fact destroyed for good most, then a change that nobody sees; a needless question
# as much as a mistake that harms nothing.
_LOST, _UNSEEN, _ASKED = 5.0, 1.5, 1.0
# When memory is tidied, what is taken for a repetition stays in the log, and the newest wording of the same is as good as the older one.
_NOT_ADDED, _REWORDED = 3.0, 0.2
_SIDE_BY_SIDE = 0.4  # how much less likely both of two statements hold that somebody puts side by side than any two that a tidy run compares


def _costs(reworded: float = 1.0, not_added: float = _LOST) -> Array:
    """By what is true (rows) and what is answered (columns), in the order of `LABELS`."""
    import numpy as np

    return np.array(
        [
            [0, reworded, 1, 1, _ASKED],
            [_LOST, 0, _UNSEEN, _UNSEEN, _ASKED],
            [not_added, _LOST, 0, 1, _ASKED],
            [1, _LOST, 1, 0, _ASKED],
            [_LOST, 1, 1, 1, 0],
        ],
        np.float32,
    )


_SURE_OF_CHANGE = 0.9  # how sure it is that a statement which gives up what the other names does not say the same


def compare_pairs(pairs: Sequence[tuple[Statement, Statement]]) -> list[Relation]:
    """How each new statement stands to the remembered one that somebody puts beside it: (remembered, new)."""
    result: list[Relation | None] = [None] * len(pairs)
    for language in ("en", "zh"):
        places = [p for p, pair in enumerate(pairs) if all(side.language == language for side in pair)]
        some = [pairs[place] for place in places]
        if (rows := label_odds(some, language)) is not None:
            rows[:, ADDS] *= _SIDE_BY_SIDE
            given_up = [_gives_up(*pair) for pair in some]
            for place, relation in zip(places, _answers(rows, some, given_up, _costs()), strict=True):
                result[place] = relation
    return [relation or _by_words(*pair) for pair, relation in zip(pairs, result, strict=True)]


def compare_nearest(new: Statement, near: Sequence[tuple[int, Statement]], lasting: float) -> list[Relation]:
    """How a new statement stands to the remembered ones that are nearest to it, each with the number of its entry. Most are of other
    matters: how near they are, and how near others, is weighed with the odds of each pair. `lasting`: the odds that what is said
    lasts; what does is no exception."""
    own = [place for place, (_, old) in enumerate(near) if old.language == new.language]
    pairs = [(near[place][1], new) for place in own]
    rows = label_odds(pairs, new.language)
    result = {}
    if rows is not None:
        alone = rows
        entries = [near[place][0] for place in own]
        weights = nearest_weights(new.language)
        least = weights.mean[[CLOSEST, RIVAL]] if len(set(entries)) < FEW else None
        rows = weights.weigh(nearest_features(rows, [likeness(*pair) for pair in pairs], entries, least))
        rows[:, EXCEPTION] *= 2 * (1 - lasting)
        given_up = [_gives_up(*pair) for pair in pairs]
        rows[given_up, ADDS] *= _SIDE_BY_SIDE
        answers = _answers(rows, pairs, given_up, _costs(_REWORDED, _NOT_ADDED))
        for at, (relation, pair) in enumerate(zip(answers, pairs, strict=True)):
            beside = float(rows[at, ADDS])
            repeats = rows[at, SAME] > rows[at, REPLACES] and not given_up[at] and not differ(*pair)
            result[own[at]] = relation
            if relation.label == "ask" and repeats:
                # What rather says the same is not worth a question, nor to lose the older one by its answer.
                result[own[at]] = Relation("adds", beside)
            elif relation.label == "replaces" and _is_far_fetched(*pair, float(alone[at, REPLACES])):
                result[own[at]] = Relation("ask", 1 - beside)
    return [result.get(place) or _by_words(old, new) for place, (_, old) in enumerate(near)]


def _answers(
    rows: Array, pairs: Sequence[tuple[Statement, Statement]], given_up: Sequence[bool], costs: Array
) -> list[Relation]:
    """The relation of each pair whose error costs least by the odds. Never "same" where the pair differs in what a repetition never
    differs in, and rarely where the new statement gives up something that the older one names."""
    rows = rows.copy()
    rows[given_up, SAME] *= 1 - _SURE_OF_CHANGE
    rows /= rows.sum(axis=1, keepdims=True)
    answers: list[Relation] = []
    for place, pair in enumerate(pairs):
        row, never_both = rows[place], given_up[place]
        answer = int((row @ costs).argmin())
        if answer == SAME and ((tells_who := _tells_who(*pair)) or differ(*pair)):
            row[SAME] = 0
            row /= row.sum()
            answer, never_both = int((row @ costs).argmin()), not tells_who
        label = "ask" if never_both and answer == ADDS else LABELS[answer]  # never both without a word
        answers.append(Relation(label, 1 - float(row[ADDS]) if label == "ask" else float(row[answer])))
    return answers


# "Joe is our neighbour", 老周就是我先生.
_WHO = {
    "en": re.compile(
        r"\W*[A-Z][\w'-]*(?: [A-Z][\w'-]*)? (?:is|was) (?:my|our|his|her|their|an?|the|from) (?P<who>[\w' -]{2,30})\W*"
    ),
    "zh": re.compile(r"[^，。；、\s]{1,6}?(?:就|也)?是(?P<who>[^，。；、\s]{1,10})[。！\s]*"),
}


def _tells_who(old: Statement, new: Statement) -> bool:
    """Whether a statement says nothing but who somebody is, and the older one nothing of that."""
    match = _WHO[new.language].fullmatch(new.text)
    return match is not None and not statement(match["who"], new.language).word_set & old.word_set


_SURE_OF_CLASH, _BESIDE = 0.8, 0.4


def _is_far_fetched(old: Statement, new: Statement, odds_: float) -> bool:
    """Whether it is unsure that one statement replaces another: they have at most one word in common besides names, no amounts of one
    kind and no word of change, and compared the other way round they seem to stand side by side."""
    if odds_ >= _SURE_OF_CLASH or have_in_common(old, new) > 1 or tells_of_a_change(old, new):
        return False
    rows = label_odds([(new, old)], new.language)
    return rows is not None and float(rows[0][ADDS]) >= _BESIDE


@dataclass(frozen=True)
class NearestWeights:
    """What the odds of a pair are worth among the nearest of a whole memory, as training/nights.py learned it."""

    matrix: Array
    mean: Array
    spread: Array

    def weigh(self, features: Array) -> Array:
        import numpy as np

        clipped = np.clip((features - self.mean) / self.spread, -3, 3)
        return softmax(np.hstack([clipped, np.ones((len(features), 1), np.float32)]) @ self.matrix)


@cache
def nearest_weights(language: str) -> NearestWeights:
    import numpy as np

    table = learned_nearest()[language]
    return NearestWeights(*(np.array(table[name], np.float32) for name in ("matrix", "mean", "spread")))


def learned_nearest() -> Any:
    text = resources.files("nacre.brain.local").joinpath("weights", "nearest.json").read_text(encoding="utf-8")
    return json.loads(text)


CLOSEST, RIVAL = 1, 2  # places of two features of `nearest_features`
FEW = 4  # entries among the nearest: of fewer, what lies nearest to them elsewhere is taken for granted


def nearest_features(rows: Array, cosines: Sequence[float], entries: Sequence[int], least: Array | None) -> Array:
    """What is weighed of each pair: how near it is, how near the closest of the other entries is, how likely one of those is meant,
    whether it is nearer than all others, and its odds. `least`: of a memory with few entries, what the second and third would be in
    one with many."""
    import numpy as np

    logs = np.log(np.clip(rows, 1e-3, 1))
    meant = np.log(np.clip(1 - rows[:, ADDS], 1e-3, 1))
    features = []
    for place, entry in enumerate(entries):
        others = [other for other, number in enumerate(entries) if number != entry]
        closest = max([cosines[other] for other in others] + ([] if least is None else [least[0]]))
        rival = max([meant[other] for other in others] + ([] if least is None else [least[1]]))
        near, row = cosines[place], logs[place]
        features.append([near, closest, rival, near >= closest, *row, row[REPLACES] * near])
    return np.array(features, np.float32)


# "We switched from X to Y", 从 X 换成 Y: what is given up is named.
_GIVES_UP = re.compile(
    r"(?i)\b(?:switch|mov|migrat|chang|go|went|upgrad|convert)\w*\b[^.;]{0,40}?\bfrom (?:the |our )?(\S+)|从\s*(\S+?)\s*(?:换|改|迁|搬|切|升|转|移)"
)


def _gives_up(old: Statement, new: Statement) -> bool:
    """Whether the new statement tells that something is given up which the old one names."""
    words = {word.strip(".,;") for match in _GIVES_UP.findall(new.text) for word in match if word}
    return any(re.search(rf"(?i)(?<!\w){re.escape(word)}(?!\w)", old.text) for word in words if word)


def likeness(old: Statement, new: Statement) -> float:
    """How near two statements of one language are by meaning; 0 where there are no embeddings, or in two languages."""
    if old.language != new.language or old.vector is None or new.vector is None:
        return 0.0
    return float(old.vector @ new.vector)


def is_close(old: Statement, new: Statement) -> bool:
    """Whether a new statement may change an old one however little it is worth by itself: "I do eat fish again"."""
    return likeness(old, new) >= CLOSE[new.language]


def _by_words(old: Statement, new: Statement) -> Relation:
    """The same without the models, or across languages: by the words alone, and more careful."""
    if new.language != old.language:
        old, new = statement(old.text, "zh"), statement(new.text, "zh")
    same, clash, _ = odds([(old, new)], new.language)[0].tolist()
    if says_the_same(old, new, Near(0, same, clash)):
        return Relation("same", same)
    if clash < CLASH:
        return Relation("adds", 1 - clash)
    if says(FOR_ONCE, new.text, new.language):
        return Relation("exception", clash)
    changes = says(CHANGE, new.text, new.language) or is_reversed(old, new)
    return Relation("replaces" if changes else "ask", clash)


_BOTH_HOLD = 0.9  # odds from which the tuned model is sure that two statements stand side by side


def bears_out(old: Statement, new: Statement, label: str) -> bool:
    """Whether the words of two statements bear out what another brain says of them. Both must be of one matter; for one to go, the local
    models must not be sure that both hold; to say the same, they must not differ in a value or be each other's reverse."""
    equal, other, added = same_and_other(old.text, new.text)
    if not (likeness(old, new) >= APART[new.language] or equal or old.word_set & new.word_set):
        return False
    by_words = old.language != new.language or old.vector is None or new.vector is None
    if by_words and label != "adds":  # without the models as careful as the local brain
        return _by_words(old, new).label == label
    rows = None if label == "adds" else label_odds([(old, new)], new.language)
    if rows is not None and rows[0][ADDS] > _BOTH_HOLD:
        return False
    return label != "same" or not (other or added or adds_a_code_word(old, new) or is_reversed(old, new))


def nearest(remembered: Sequence[Statement], new: Statement) -> list[int]:
    """The places of the remembered statements that a new one is compared with, in its own language and in the other."""
    return [place for own in (True, False) for place in _nearest(remembered, new, own=own)]


def features(old: Statement, new: Statement) -> list[float]:
    """What the tuned model is told of a pair beside its words."""
    weights = load(new.language, "bare")
    amounts = same_and_other(old.text, new.text)
    return [*compare(old, new, weights.rarity, weights.rarest), *cues(old, new), *map(float, amounts)]


# A tidy run compares the entries of a full file again for every candidate.
_KNOWN: dict[tuple[str, str, str], Array] = {}
_MOST_KNOWN = 20_000


def label_odds(pairs: Sequence[tuple[Statement, Statement]], language: str) -> Array | None:
    """The odds of each label for (remembered, new) pairs of one language, by the tuned model; none where it cannot run."""
    import numpy as np

    meant = pairs and all(side.vector is not None for pair in pairs for side in pair)
    made = encoder.load(language, "relation") if meant else None
    if made is None:
        return None
    keys = [(language, old.text, new.text) for old, new in pairs]
    missing = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in _KNOWN}
    if missing:
        if len(_KNOWN) + len(missing) > _MOST_KNOWN:
            _KNOWN.clear()
            missing = dict(zip(keys, pairs, strict=True))
        extra = np.array([features(old, new) for old, new in missing.values()], np.float32)
        rows = made.read([(old.text, new.text) for old, new in missing.values()], extra)["relation"]
        _KNOWN.update(zip(missing, rows, strict=True))
    return np.array([_KNOWN[key] for key in keys])


# Odds above which it says the same: usually, with a value in common, with a new one.
SAME_FROM, SAME_VALUE, NEW_VALUE = 0.45, 0.32, 0.7


def says_the_same(old: Statement, new: Statement, near: Near) -> bool:
    """Whether a statement says nothing that the remembered one does not; with a value of its own only at higher odds."""
    if _swapped(old, new) or differ(old, new):
        return False
    needed = NEW_VALUE if adds_a_value(old, new) else SAME_VALUE if shares_a_value(old, new) else SAME_FROM
    return near.same >= needed and near.same >= near.clash


def _swapped(old: Statement, new: Statement) -> bool:
    """Whether two statements are one sentence about two things: nearly all words in common, and a rare one for a rare one."""
    before, after = old.word_set, new.word_set
    if new.language != "en" or len(before & after) < _SHARED * min(len(before), len(after)):
        return False
    weights = load(new.language, "bare")

    def rare(words: frozenset[str]) -> bool:
        least = _RARE * weights.rarest
        return any(len(word) > 2 and weights.rarity.get(word, weights.rarest) >= least for word in words)

    return rare(before - after) and rare(after - before)


def relations(remembered: Sequence[Statement], new: Statement) -> list[Near]:
    """How a statement stands to the remembered ones nearest to it; across languages words alone are compared."""
    result: list[Near] = []
    for own in (True, False):
        places = _nearest(remembered, new, own=own)
        pairs = [(remembered[place], new) for place in places]
        if not own:
            pairs = [(statement(old.text, "zh"), statement(new.text, "zh")) for old, _ in pairs]
        odd = odds(pairs, new.language if own else "zh")
        result += [Near(place, float(row[0]), float(row[1])) for place, row in zip(places, odd, strict=True)]
    return result


def is_repeated(remembered: Sequence[Statement], new: Statement) -> bool:
    """Whether one of the remembered statements tells all that a new one does."""
    return any(says_the_same(remembered[near.place], new, near) for near in relations(remembered, new))


def _nearest(remembered: Sequence[Statement], new: Statement, *, own: bool) -> list[int]:
    words = new.word_set
    nearness: dict[int, float] = {}
    for place, old in enumerate(remembered):
        shared = len(words & old.word_set)
        if (old.language == new.language) is own and (own or shared > 1):
            nearness[place] = likeness(old, new) + shared / max(len(words | old.word_set), 1)
    return sorted(nearness, key=lambda place: nearness[place], reverse=True)[:NEAREST]
