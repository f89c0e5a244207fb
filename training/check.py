"""Look for lines that are too alike: within the corpus, and against texts that must not be in it.

python training/check.py                       near-duplicates within the corpus
python training/check.py --against FOLDER      also everything close to any text in a folder of JSON, JSONL or Markdown files
python training/check.py --against FOLDER --drop     take the lines that are close out of the corpus
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from data import HERE, dialogues, lines, pairs, statements
from nacre.brain.local.judge import LANGUAGES
from nacre.text.tokens import language_of, sentences, tokens
from vectors import embed

NEAR = {"en": 0.80, "zh": 0.86}  # by meaning: above this two sentences say nearly the same; the models' scales differ
SHARED = 0.6  # by words: share of the smaller one's tokens
_SHORT = 12  # characters; greetings and "ok thanks" are everybody's


def outside(folder: Path) -> Iterator[str]:
    """Every sentence in the files of a folder."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or not re.search(r"\.(?:jsonl?|md|txt|gz)$", path.name):
            continue
        text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode(
            "utf-8", "replace"
        )
        for value in _values(text):
            yield from (one for one in sentences(value) if len(one) >= _SHORT // (1 + (language_of(one) == "zh")))


def _values(text: str) -> Iterator[str]:
    for line in [text, *text.splitlines()]:
        try:
            yield from _strings(json.loads(line))
        except ValueError:
            continue
        if line is text:
            return


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def corpus(language: str) -> list[str]:
    texts = [row.text for row in (*statements(language), *lines(language))]
    texts += [text for pair in pairs(language) for text in (pair.old, pair.new)]
    texts += [one for talk in dialogues(language) for turn in talk.turns for one in sentences(turn.text)]
    return [text for text in dict.fromkeys(texts) if len(text) >= (_SHORT if language == "en" else _SHORT // 2)]


def close(mine: list[str], others: list[str], language: str) -> list[tuple[str, str, float]]:
    """Lines of ours with the nearest of the others, where that is too near by meaning and shares words."""
    ours, theirs = embed(mine, language)[0], embed(others, language)[0]
    found: list[tuple[str, str, float]] = []
    words = [set(tokens(other)) for other in others]
    for place, text in enumerate(mine):
        likeness: npt.NDArray[np.float32] = theirs @ ours[place]
        for best in np.flatnonzero(likeness > NEAR[language]):
            shared = set(tokens(text)) & words[best]
            if text != others[best] and len(shared) >= SHARED * min(len(set(tokens(text))), len(words[best])):
                found.append((text, others[best], float(likeness[best])))
                break
    return found


def drop(unwanted: set[str]) -> int:
    """Take statements and pairs that hold one of the lines out of their files."""
    count = 0
    for path in sorted(HERE.glob("*/*.tsv")):
        rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [row for row in rows if not unwanted & {part.strip() for part in row.split("\t")}]
        count += len(rows) - len(kept)
        path.write_text("".join(kept), encoding="utf-8")
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, action="append", default=[])
    parser.add_argument("--drop", action="store_true")
    given = parser.parse_args()
    foreign = list(dict.fromkeys(one for folder in given.against for one in outside(folder)))
    for language in LANGUAGES:
        mine = corpus(language)
        others = [one for one in foreign if language_of(one) == language]
        print(f"{language}: {len(mine)} texts of ours, {len(others)} of others")
        near = close(mine, others, language) if others else []
        for text, other, likeness in near:
            print(f"  {likeness:.2f}  {text}  |  {other}")
        if given.drop:
            print(f"  {drop({text for text, _, _ in near})} lines taken out")


if __name__ == "__main__":
    main()
