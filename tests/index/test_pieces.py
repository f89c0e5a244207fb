"""A long log is read anew only where it changed, and the index is then what a fresh one would be."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from nacre.guard import secrets
from nacre.guard.values import Redaction
from nacre.index import document

LINES = (
    "# 2026-02-10", "## 09:00 session:abc | group:team", "## 10:00 note", "### Inner", " ## Indented", "#tag", "Title", "===",
    "---", "```", "~~~", "    code", "- item {n}", "- item {n}", "- item {n}\n  goes on", "1. first {n}", "text {n}", "> quote {n}", "",
    "", "<!-- open", "closed -->", "- ```\n  in an item", "[Decision] label {n}", "#" * 7, "- ", "-", "##", "## " + "long " * 60,
)  # fmt: skip


def some_lines(rng: random.Random, count: int) -> list[str]:
    hostile = rng.random() < 0.5
    kinds = LINES if hostile else [line for line in LINES if line[:2] in ("# ", "##", "- ", "", "te")]
    return [rng.choice(kinds).format(n=rng.randrange(10_000)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(40))
def test_after_any_edit_the_index_is_what_a_fresh_one_would_be(
    indexed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(document, "_PIECE", 60)
    rng = random.Random(seed)
    index = indexed()
    lines = some_lines(rng, 60)
    if rng.random() < 0.3:
        lines = ["---", "title: Log", "---", *lines]
    for turn in range(12):
        index.write("memory/2026-02-10.md", "\n".join(lines) + "\n")
        index.update()
        fresh = indexed(None, tmp_path / f"fresh-{turn}.sqlite")
        fresh.update()
        now, wanted = index.dump(), fresh.dump()
        chunks = [(*row[:7], *row[8:]) for row in now["chunks"]]  # but for ids, where the same words come again
        assert chunks == [(*row[:7], *row[8:]) for row in wanted["chunks"]]
        assert len({row[7] for row in now["chunks"]}) == len(chunks)
        assert [now[name] for name in ("files", "words", "terms", "passages")] == [
            wanted[name] for name in ("files", "words", "terms", "passages")
        ]
        at = rng.randrange(len(lines))
        kind = rng.random()
        if kind < 0.4:
            lines += some_lines(rng, 2)
        elif kind < 0.7:
            lines[at:at] = some_lines(rng, 2)
        else:
            del lines[at : at + rng.randrange(1, 4)]


def test_a_line_added_to_a_long_log_costs_no_reading_of_the_rest(indexed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    index = indexed()
    text = "# 2026-02-10\n\n" + "".join(
        f"## 09:{at % 60:02d} session:s{at}\n\n- [Fact] statement number {at} of the day\n- another of {at}\n\n"
        for at in range(300)
    )
    text += "## 12:00 note\n\n" + "".join(f"- a line {at} of a section that goes on and on\n" for at in range(1000))
    index.write("memory/2026-02-10.md", text)
    index.update()
    before = dict(index.rows("select text, id from chunks"))
    redacted: list[str] = []

    def counted(words: str) -> Redaction:
        redacted.append(words)
        return secrets.redact(words)

    monkeypatch.setattr(document, "redact", counted)
    index.write("memory/2026-02-10.md", text + "- the kiln is called Bertha\n")
    index.update()
    assert len(redacted) < 800
    index.write("memory/2026-02-10.md", text.replace("another of 7\n", "another of 7, changed\n") + "- the kiln\n")
    redacted.clear()
    index.update()
    after = dict(index.rows("select text, id from chunks"))
    assert {words for words in before if before[words] != after.get(words)} == {"- another of 7"}
