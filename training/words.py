"""Learns what single words tell of questions and entries, and writes `src/nacre/search/words.json`; after it `rank.py` must learn again.

    python training/words.py

Three tables: how seldom a word of a question stands in what answers it (`asking`), which words make a question a request for help, to which
what the user wishes may apply (`help`), and which words tell that somebody states how things are to be done (`wish`).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nacre.search.query import words_of
from nacre.text.tokens import query_tokens, sentences, tokens
from rank import fit_logistic
from worlds import HERE, read

WORDS = HERE.parent / "src/nacre/search/words.json"
SEEN = 40  # times that a word must have been asked with
DOUBT = 12.0  # times that count for the mean before anything was seen
LEAST = 0.2  # of its weight that a word keeps
COMMON = 5  # texts that a word must stand in to tell of them
AUTHORS = 6  # by whom it must be used
KEPT = 500  # words of a table


def worlds() -> list[Path]:
    return sorted((HERE / "recall").glob("*/*.tsv"))


def asking() -> dict[str, float]:
    """The share of its weight that a word keeps, by how often it stands in the passage that answers, beside the mean of all words."""
    asked, held, authors = Counter[str](), Counter[str](), defaultdict(set)
    for path in sorted((HERE / "questions").glob("*/*.txt")):
        passage: frozenset[str] = frozenset()
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("P "):
                passage = frozenset(tokens(line[2:]))
            elif line.startswith("q "):
                for token in query_tokens(line[2:]):
                    asked[token] += 1
                    held[token] += token in passage
                    authors[token].add(path)
    mean = sum(held.values()) / sum(asked.values())
    kept = {token: (held[token] + DOUBT * mean) / (count + DOUBT) / mean for token, count in asked.items()}
    telling = (token for token in kept if asked[token] >= SEEN and len(authors[token]) >= 2 and kept[token] < 0.8)
    return {token: round(max(LEAST, kept[token]), 2) for token in sorted(telling)}


def bag(labelled: Sequence[tuple[str, str, bool]]) -> dict[str, float]:
    """Words of texts with their authors, with what each speaks for a text being right, and the odds without any."""
    texts = [(frozenset(words_of(text)), right) for _, text, right in labelled]
    counts, authors = Counter(token for words, _ in texts for token in words), defaultdict(set)
    for (author, _, _), (words, _) in zip(labelled, texts, strict=True):
        for token in words:
            authors[token].add(author)
    known = sorted(token for token in counts if counts[token] >= COMMON and len(authors[token]) >= AUTHORS)
    vocabulary = {token: at for at, token in enumerate(known, 1)}
    rows = np.zeros((len(texts), len(vocabulary) + 1))
    rows[:, 0] = 1
    for row, (words, _) in zip(rows, texts, strict=True):
        row[[vocabulary[token] for token in words if token in vocabulary]] = 1
    labels = [label for _, label in texts]
    share = [1 / (labels.count(label) + 1) for label in labels]
    found = fit_logistic(rows.tolist(), labels, share, 5e-4)
    strongest = sorted(vocabulary, key=lambda token: -abs(found[vocabulary[token]]))[:KEPT]
    return {"": round(float(found[0]), 2)} | {
        token: round(float(found[vocabulary[token]]), 2) for token in sorted(strongest)
    }


def requests() -> list[tuple[str, str, bool]]:
    return [
        (path.stem, one.text, one.kind == "preference")
        for path in worlds()
        for one in read(path)[2]
        if one.kind != "none"
    ]


def wishes() -> list[tuple[str, str, bool]]:
    """The sentences of entries that a preference is asked of, beside all others; and labelled statements."""
    found: list[tuple[str, str, bool]] = []
    for path in worlds():
        entries, _, asked = read(path)
        wished = {name for one in asked if one.kind == "preference" for name in one.gold}
        for name, (_, _, text) in entries.items():
            if name in wished:
                found += [(path.stem, text, True)] if len(text) < 200 else []
            elif not path.stem.endswith("-pref"):
                found += [(path.stem, sentence, False) for sentence in sentences(text)]
    for path in sorted(HERE.glob("*/statements-*.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            kind, _, act, *_, text = line.split("\t")
            if act != "question":
                found.append((str(path), text, kind == "PREF"))
    return found


def main() -> None:
    tables = {"asking": asking(), "help": bag(requests()), "wish": bag(wishes())}
    lines = (f"{json.dumps(name)}: {json.dumps(table, ensure_ascii=False)}" for name, table in tables.items())
    WORDS.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    print({name: len(table) for name, table in tables.items()})


if __name__ == "__main__":
    main()
