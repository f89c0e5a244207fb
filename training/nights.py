"""Scores how what somebody says later is compared with a whole memory: thirty entries of one person, and what they say afterwards.

    python training/nights.py [en|zh]

`tuned/frozen/nights-*.txt` is never trained on. An entry (`E`) has a number; a later statement (`N`) replaces the entry that it names (`>`), says the
same (`=`), adds to it (`+`), is an exception (`!`), leaves it open (`?`), or is about none of them (`-`). Counted is what a night would do.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from nacre.brain.local.judge import Judge
from nacre.embed.local import LocalEmbedder
from nacre.tidy.compare import compare_with, entry_parts

FROZEN = Path(__file__).parent / "tuned" / "frozen"
LASTING = 0.6  # odds that what is said lasts, as of a statement that is kept


def score(path: Path, judge: Judge) -> Counter[str]:
    counts: Counter[str] = Counter()
    for world in path.read_text(encoding="utf-8").split("\n# "):
        rows = [line.split(" ", 2) for line in world.splitlines() if line[:2] in ("E ", "N ")]
        entries = {number: text for kind, number, text in rows if kind == "E"}
        numbers, parts = list(entries), entry_parts(list(entries.values()), judge.meant)
        for _, sign, rest in (row for row in rows if row[0] == "N"):
            about, text = ("", rest) if sign == "-" else rest.split(" ", 1)
            (new,) = judge.meant([text])
            compared, _ = compare_with(new, parts, LASTING)
            kinds = {numbers[one.place]: one.kind for one in compared}
            replaced = next((numbers[one.place] for one in compared if one.kind == "replaces"), None)
            counts["statements"] += 1
            if sign == ">":
                counts["changes"] += 1
                counts["changes seen"] += replaced == about
                counts["changes asked about"] += kinds.get(about) == "ask" and replaced is None
            # To put a statement in the place of one that says the same harms nobody.
            counts["wrongly replaced"] += replaced is not None and (replaced != about or sign not in ">=")
            counts["wrongly dropped"] += any(
                kind == "same" and (n != about or sign != "=") for n, kind in kinds.items()
            )
            asks = "ask" in kinds.values() and replaced is None
            counts["asked needlessly"] += asks and not (sign in ">?" and kinds.get(about) == "ask")
    return counts


def main() -> None:
    judge = Judge(LocalEmbedder())
    for language in sys.argv[1:] or ["en", "zh"]:
        counts: Counter[str] = Counter()
        for path in sorted(FROZEN.glob(f"nights-{language}-*.txt")):
            counts += score(path, judge)
        print(language, ", ".join(f"{name} {count}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
