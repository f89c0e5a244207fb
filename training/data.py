"""The labelled sentences, pairs and dialogues, read and checked."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from nacre.brain.local.classifier import ACTS, CATEGORIES, TYPES

HERE = Path(__file__).resolve().parent
RELATIONS = ("same", "update", "contradict", "unrelated")
_MARK = re.compile(r"⟦([A-Z]+)(?:/([a-z-]+))?[ :]\s*(.*?)⟧", re.DOTALL)


@dataclass(frozen=True)
class Statement:
    text: str
    type: str | None  # None where nobody said, as with the others
    category: str | None
    act: str | None
    fails: str | None  # letters among a, b, c; None where nobody said
    hand: str  # who wrote it: the file
    talk: str = ""  # the talk that it comes from: its lines are trained on or held out together

    @property
    def held_out(self) -> bool:
        return held_out(self.talk or self.text)


@dataclass(frozen=True)
class Pair:
    relation: str
    old: str
    new: str
    hand: str


@dataclass(frozen=True)
class Mark:
    """A part of a turn that is worth a line; type NEVER is what must be written nowhere."""

    type: str
    category: str
    text: str


@dataclass(frozen=True)
class Turn:
    who: str  # U, A, T, O
    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Dialogue:
    id: str
    language: str
    turns: tuple[Turn, ...] = field(default=())

    @property
    def held_out(self) -> bool:
        return held_out(self.id)


def digest(language: str) -> str:
    """A short digest of everything that the classifiers of a language learn from."""
    known = hashlib.sha256()
    for path in sorted((HERE / language).iterdir()):
        known.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return known.hexdigest()[:16]


# How the names of the files begin that the tuned model of a task learns from.
TUNED_ON = {"keep": ("alone", "lines", "talk"), "relation": ("families", "relations")}
TUNED_ON["further"] = ("nights", *TUNED_ON["relation"])


def tuned_digest(language: str, task: str) -> str:
    """The same of what the tuned model of a task learns from beside that."""
    known = hashlib.sha256(digest(language).encode())
    for path in sorted((HERE / "tuned" / language).iterdir()):
        if path.name.startswith(TUNED_ON[task]):
            known.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return known.hexdigest()[:16]


def weighed_digest(language: str) -> str:
    """The same of what is learned from of the nearest entries, and of the model whose odds are weighed."""
    known = hashlib.sha256(tuned_digest(language, "further").encode())
    for path in sorted((HERE / "tuned" / "weighed").glob(f"nights-{language}-*.txt")):
        known.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return known.hexdigest()[:16]


def question_digest(language: str) -> str:
    """What changes with anything that the models of search learn from."""
    known = hashlib.sha256()
    for path in sorted((HERE / "questions" / language).glob("*.txt")):
        known.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return known.hexdigest()[:16]


def held_out(key: str) -> bool:
    """Whether something belongs to the fifth that training never sees."""
    return hashlib.sha256(key.encode()).digest()[0] % 5 == 0


def statements(language: str) -> list[Statement]:
    found: list[Statement] = []
    for path in sorted((HERE / language).glob("statements-*.tsv")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            columns = line.split("\t")
            if len(columns) != 5:
                raise SystemExit(f"{path}:{number}: {len(columns)} columns instead of 5")
            kind, category, act, fails, text = columns
            if kind not in TYPES or category not in CATEGORIES or act not in ACTS or not set(fails) <= set("abc-"):
                raise SystemExit(f"{path}:{number}: a label is not known: {columns[:4]}")
            found.append(Statement(text.strip(), kind, category, act, fails.replace("-", ""), path.stem))
    return found


def lines(language: str) -> list[Statement]:
    """Lines that our own extraction made of the talks, whole and in parts, labelled for the tests alone: what logs really hold."""
    found: list[Statement] = []
    for path in sorted((HERE / language).glob("lines-*.tsv")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            columns = line.split("\t")
            if len(columns) != 3 or not set(columns[0]) <= set("abc-"):
                raise SystemExit(f"{path}:{number}: not the tests that fail, a talk and a line")
            fails, talk, text = columns
            hand = f"{path.stem} {talk.rpartition('-')[0]}"
            found.append(Statement(text, None, None, None, fails.replace("-", ""), hand, talk))
    return found


def marked(language: str) -> list[Statement]:
    """What dialogues teach about types and categories: their marked parts. Act and tests are not labelled there."""
    return [
        Statement(mark.text, mark.type, mark.category, None, None, f"dialogue {dialogue.id}")
        for dialogue in dialogues(language)
        if not dialogue.held_out
        for turn in dialogue.turns
        for mark in turn.marks
        if mark.type != "NEVER"
    ]


def pairs(language: str) -> list[Pair]:
    found: list[Pair] = []
    for path in sorted((HERE / language).glob("pairs-*.tsv")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            columns = line.split("\t")
            if len(columns) != 3 or columns[0] not in RELATIONS:
                raise SystemExit(f"{path}:{number}: not a relation and two statements")
            found.append(Pair(columns[0], columns[1].strip(), columns[2].strip(), path.stem))
    return found


def dialogues(language: str) -> list[Dialogue]:
    found: list[Dialogue] = []
    for path in sorted((HERE / language).glob("dialogues-*.txt")):
        name = ""
        turns: list[Turn] = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("=="):
                if name:
                    found.append(Dialogue(name, language, tuple(turns)))
                name, turns = line.strip("= ").split("|")[0].strip(), []
            elif line[:2] in ("U:", "A:", "T:", "O:"):
                turns.append(turn(line[0], line[2:].strip()))
            elif line.strip():
                if not turns:
                    raise SystemExit(f"{path}:{number}: neither a title nor a turn")
                last = turns.pop()
                turns.append(
                    Turn(last.who, f"{last.text}\n{turn('U', line.strip()).text}", last.marks + turn("U", line).marks)
                )
        if name:
            found.append(Dialogue(name, language, tuple(turns)))
    return found


def turn(who: str, text: str) -> Turn:
    marks = tuple(Mark(kind, category or "-", words.strip()) for kind, category, words in _MARK.findall(text))
    for mark in marks:
        if mark.type not in (*TYPES, "NEVER") or mark.category not in CATEGORIES:
            raise SystemExit(f"not a known mark: {mark}")
    return Turn(who, _MARK.sub(lambda found: found[3], text).strip(), marks)
