"""The dialogues as rows of sentences with what they are worth, for fitting and scoring."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data import Dialogue
from nacre.brain.local.dialogue import Sentence, context, inputs, sentences_of
from nacre.brain.local.extract import extract
from nacre.brain.local.judge import Judge, Judged
from nacre.model import Message, Speaker
from nacre.text.tokens import tokens

Array = npt.NDArray[np.float32]
_WHO = {"U": Speaker.OWNER, "A": Speaker.AGENT, "O": Speaker.OTHER}
_START = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Talk:
    dialogue: Dialogue
    sentences: list[Sentence]
    judged: list[Judged]
    worth: npt.NDArray[np.int64]
    never: npt.NDArray[np.int64]


def messages(dialogue: Dialogue) -> list[Message]:
    return [
        Message(str(place), _START + dt.timedelta(minutes=place), _WHO[turn.who], turn.text)
        for place, turn in enumerate(dialogue.turns)
        if turn.who in _WHO
    ]


def talk(dialogue: Dialogue, judge: Judge) -> Talk:
    said = messages(dialogue)
    row = sentences_of(said)
    worth, never = [], []
    for one in row:
        marks = dialogue.turns[int(one.message)].marks
        worth.append(int(any(mark.type != "NEVER" and _overlap(one.text, mark.text) for mark in marks)))
        never.append(int(any(mark.type == "NEVER" and _overlap(one.text, mark.text) for mark in marks)))
    return Talk(dialogue, row, judge.read([one.text for one in row]), np.array(worth), np.array(never))


def _overlap(sentence: str, mark: str) -> bool:
    """Whether a marked part and a sentence are the same words, or one holds the other."""
    plain = "".join(one for one in sentence.lower() if one.isalnum())
    marked = "".join(one for one in mark.lower() if one.isalnum())
    return bool(plain and marked) and (plain in marked or marked in plain or _shared(plain, marked) > 0.5)


def _shared(one: str, other: str) -> float:
    size = 6
    first = {one[i : i + size] for i in range(max(len(one) - size, 1))}
    second = {other[i : i + size] for i in range(max(len(other) - size, 1))}
    return len(first & second) / min(len(first), len(second))


def rows(talks: Sequence[Talk], center: Array, language: str) -> tuple[Array, npt.NDArray[np.int64]]:
    """The sentences of one language; a Chinese talk may hold English ones, which its weights do not judge."""
    made, told = [], []
    for one in talks:
        around = context(one.sentences, one.judged)
        places = [place for place, judged in enumerate(one.judged) if judged.language == language]
        made += [inputs(one.judged[place], around[place], center) for place in places]
        told += [one.worth[place] for place in places]
    return np.stack(made), np.array(told)


def fit_worth(x: Array, told: npt.NDArray[np.int64], decay: float = 3e-3, steps: int = 400) -> Array:
    """Logistic regression by gradient descent; the last input is the constant."""
    weights = np.zeros(x.shape[1], np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    penalty = np.full(x.shape[1], decay, np.float32)
    penalty[-1] = 0
    for step in range(1, steps + 1):
        odds = 1 / (1 + np.exp(-(x @ weights)))
        slope = x.T @ (odds - told) / len(x) + penalty * weights
        first = 0.9 * first + 0.1 * slope
        second = 0.99 * second + 0.01 * slope**2
        rate = 0.03 * min(1.0, 2 * (1 - step / (steps + 1)))
        weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return weights


def area(scores: Array, told: npt.NDArray[np.int64]) -> float:
    """The chance that a sentence worth a line scores higher than one that is not."""
    order = np.argsort(scores)
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    good = told.sum()
    return float((ranks[told == 1].sum() - good * (good + 1) / 2) / (good * (len(told) - good)))


def coverage(held: Sequence[Talk], judge: Judge) -> tuple[float, float]:
    """The share of marked parts that some line of the extraction tells, and the mean number of lines."""
    told = wanted = count = 0
    for one in held:
        bullets = extract(messages(one.dialogue), judge)
        count += len(bullets)
        words = [set(tokens(bullet.text)) for bullet in bullets]
        for turn in one.dialogue.turns:
            for mark in turn.marks:
                if mark.type != "NEVER":
                    mine = set(tokens(mark.text))
                    wanted += 1
                    told += any(len(mine & other) >= 0.7 * len(mine) for other in words)
    return told / wanted, count / len(held)
