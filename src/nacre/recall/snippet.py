"""The part of a chunk that is shown: all of it when short, else the stretch where the question's words stand."""

from __future__ import annotations

from nacre.text.tokens import tokens


def snippet(text: str, asked: frozenset[str], most: int) -> str:
    text = text.strip()
    if len(text) <= most:
        return text
    lines = text.split("\n")
    best, best_score = 0, -1
    for at, line in enumerate(lines):
        score = len(asked.intersection(tokens(line)))
        if score > best_score:
            best, best_score = at, score
    shown = lines[best]
    if len(shown) > most:
        return _within(shown, asked, most)
    first = last = best
    while True:  # take in the lines around it while there is room
        after = lines[last + 1] if last + 1 < len(lines) else None
        before = lines[first - 1] if first > 0 else None
        if after is not None and len(shown) + 1 + len(after) <= most:
            shown, last = f"{shown}\n{after}", last + 1
        elif before is not None and len(shown) + 1 + len(before) <= most:
            shown, first = f"{before}\n{shown}", first - 1
        else:
            return shown.strip()


def _within(line: str, asked: frozenset[str], most: int) -> str:
    """The window of a long line that holds most of what was asked."""
    step = max(1, most // 4)
    starts = range(0, max(1, len(line) - most + step), step)
    start = max(starts, key=lambda at: (len(asked.intersection(tokens(line[at : at + most - 2]))), -at))
    window = line[start : start + most - 2].strip()
    return ("…" if start else "") + window + ("…" if start + most - 2 < len(line) else "")
