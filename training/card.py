"""The model card: what the classifiers are, what they were trained on, how they do."""

from __future__ import annotations

from collections import Counter

from data import dialogues, marked, pairs, statements
from nacre.brain.local.judge import LANGUAGES

NAMES = {
    "type": "type (6)",
    "category": "weekly category (5)",
    "act": "what the speaker does (11)",
    "a": "prevents a mistake",
    "b": "holds for many talks",
    "c": "stands alone",
    "lasting": "belongs into long-term memory",
}
TESTS = {
    "a": "fails *prevents an error*",
    "b": "fails *broad*",
    "c": "fails *self-contained*",
    "lasting": "belongs into long-term memory",
    "same": "says the same as an entry",
    "clash": "clashes with an entry",
    "beside": "holds beside an entry",
}


def card(scores: dict[tuple[str, str], dict[str, float]], hands: dict[tuple[str, str], dict[str, float]]) -> str:
    lines = [
        "# Model card: the local classifiers",
        "",
        "Written by `training/train.py`; do not edit.",
        "",
        (
            "Linear classifiers over a sentence's structure, its words and, in the variant *full*, its embedding by the local model of its language"
            " (all-MiniLM-L6-v2 for English, bge-small-zh-v1.5 for Chinese). *Bare* is used where the models are not installed. They say what kind of memory"
            " a sentence is, what the speaker does with it, which of three tests it would fail, and in a talk whether it is worth a line."
        ),
        "",
        "## Trained on",
        "",
        "| | statements | by hands | marked parts of talks | talks | pairs |",
        "|---|---|---|---|---|---|",
    ]
    for language in LANGUAGES:
        rows = statements(language)
        counts = (
            len(rows),
            len(Counter(row.hand for row in rows)),
            len(marked(language)),
            len(dialogues(language)),
            len(pairs(language)),
        )
        lines.append(f"| {language} | " + " | ".join(map(str, counts)) + " |")
    lines += [
        "",
        (
            "All of it was written for this purpose (`training/`); nothing comes from a public data set or from anybody's talk."
        ),
        "",
        "## Figures",
        "",
        (
            "*fifth*: right on the fifth that training never saw. *other hand*: right on sentences of a writer none of whose sentences were trained on,"
            " which is the better guess for people we do not know. Many borders are soft: two careful people would not agree on every line."
        ),
        "",
        "| | en full fifth | other hand | en bare fifth | other hand | zh full fifth | other hand | zh bare fifth | other hand |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for head, name in NAMES.items():
        cells = [f"{100 * scores[key][head]:.0f}% | {100 * hands[key][head]:.0f}%" for key in scores]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    for name, key, form in (
        ("gap between sure and right, type", "gap", "{:.0%}"),
        ("worth a line: ranks a marked sentence above an unmarked one", "worth", "{:.0%}"),
        ("marked parts told by a line, talks never seen", "covered", "{:.0%}"),
        ("lines for a talk", "lines", "{:.1f}"),
    ):
        cells = [f"{form.format(scores[one][key])} | " for one in scores]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "## The tests of long-term memory: precision and recall on the held-out fifth",
        "",
        (
            "How a new statement stands to a remembered one is learnt from the pairs, an update and a contradiction counting as one clash. These pairs are hard on"
            " purpose: paraphrases without a word in common, and neighbours that differ in one."
        ),
        "",
        "| | en full | en bare | zh full | zh bare |",
        "|---|---|---|---|---|",
    ]
    for test, name in TESTS.items():
        cells = [f"{scores[one][f'{test} precision']:.2f} / {scores[one][f'{test} recall']:.2f}" for one in scores]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [
        "",
        "## Limits",
        "",
        (
            "English and Chinese only; other languages are judged as English, by structure and words that do not fit them. The corpus is about software work, small"
            " business, family and daily life; talk of other kinds is judged less well. Sarcasm, and what only a shared past explains, is not understood. The classifiers"
            " propose; what may be written, and where, is decided by rules that they cannot overrule."
        ),
        "",
    ]
    return "\n".join(lines)
