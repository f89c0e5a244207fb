"""Hits for people at a terminal: the entry first with the matched words in colour, then where and when; what hardly answers last."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence

from nacre.i18n import say
from nacre.model import Hit
from nacre.text.layout import age, width_of, wrapped
from nacre.text.tokens import query_tokens, tokens

MATCHED, DIM, WARN, PLAIN = "\x1b[1;36m", "\x1b[2m", "\x1b[33m", "\x1b[0m"
_COPIES = ("archive", "weekly", "hot", "warm", "gist", "forgotten")  # layers that repeat what stands elsewhere
_MOST_LINES = 4  # of one hit
_MARKER = re.compile(r"^(?:[-*]|\d+\.)\s+(?:\[[ x]\]\s+)?")
_WORD = re.compile(r"[^\W\u2e80-\uffef]+|[\u2e80-\uffef]+")

Row = tuple[Hit, str | None]  # a hit, and the agent whose memory it is in


def hit_lines(rows: Sequence[Row], query: str, now: dt.datetime, width: int, *, explain: bool = False) -> list[str]:
    """Every hit; one that only repeats a better one is named there."""
    shown: list[tuple[Hit, str | None, int]] = []
    for hit, agent in rows:
        words = _words(hit)
        place = next((at for at, (better, *_) in enumerate(shown) if _words(better) in words), None)
        if place is not None and hit.layer in _COPIES and not explain:
            better, whose, copies = shown[place]
            shown[place] = better, whose, copies + 1 + len(hit.also)
        else:
            shown.append((hit, agent, len(hit.also)))
    emphasise = _emphasis(query)
    lines: list[str] = []
    has_answer = not all(hit.weak for hit, *_ in shown)
    for is_weak in (False, True):
        part = [row for row in shown if row[0].weak is is_weak]
        if part and is_weak and has_answer:
            lines += [f"{DIM}{say('Less likely:', '可能性较小：')}{PLAIN}", ""]
        for hit, agent, copies in part:
            lines += [*_hit(hit, agent, copies, emphasise, now, width, explain=explain), ""]
    return lines[:-1]


def _hit(
    hit: Hit,
    agent: str | None,
    copies: int,
    emphasise: Callable[[str], str],
    now: dt.datetime,
    width: int,
    *,
    explain: bool,
) -> list[str]:
    text = [line for part in _bare(hit) for line in wrapped(part, width)]
    text = [*text[: _MOST_LINES - 1], text[_MOST_LINES - 1] + " …"] if len(text) > _MOST_LINES else text
    heading = hit.heading.rpartition(" > ")[2] if hit.layer in ("longterm", "note", "extra") else ""
    places = say(f"also in {copies} other place{'' if copies == 1 else 's'}", f"另有 {copies} 处")
    project = hit.project if hit.project and f"projects/{hit.project}/" not in hit.path else None
    about = [
        f"{hit.path}:{hit.start_line}",
        age(dt.date.fromisoformat(hit.date), now) if hit.date else "",
        heading,
        agent or "",
        say(f"project {project}", f"项目 {project}") if project else "",
        f"{hit.score:.2f}" if explain else "",
        hit.id,
        (", ".join(hit.also) if explain else places) if copies else "",
    ]
    old = say("superseded", "已被取代")
    details = _joined([*[old] * hit.superseded, *filter(None, about)], width - 2)
    details[0] = details[0].replace(old, f"{PLAIN}{WARN}{old}{PLAIN}{DIM}", int(hit.superseded))
    lines = [*map(emphasise, text), *(f"  {DIM}{line}{PLAIN}" for line in details)]
    if explain:
        facts = ("= ", hit.parts), ("< ", hit.provenance)
        rows = (
            sign
            + "  ".join(
                f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in part.items()
            )
            for sign, part in facts
            if part
        )
        lines += [f"  {DIM}{line}{PLAIN}" for row in rows for line in wrapped(row, width - 2)]
    return lines


def _joined(parts: Sequence[str], width: int) -> list[str]:
    """Parts with dots between them, on as many lines as they need; none is broken."""
    lines = [parts[0]]
    for part in parts[1:]:
        if width_of(f"{lines[-1]} · {part}") <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def _bare(hit: Hit) -> list[str]:
    """The lines of a hit without the marks of Markdown."""
    lines = (_MARKER.sub("", line.strip()) for line in hit.snippet.splitlines())
    return [line for line in lines if line.strip("#-=`> ")]


def _words(hit: Hit) -> str:
    return "\n".join(_bare(hit)).casefold()


def _emphasis(query: str) -> Callable[[str], str]:
    """Puts the words of a text that the question names, in whatever form, into colour."""
    wanted = {*query_tokens(query)}
    pairs = {token for token in wanted if len(token) == 2 and not token.isascii()}

    def emphasise(match: re.Match[str]) -> str:
        word = match[0]
        if word.isascii() or not pairs:
            return f"{MATCHED}{word}{PLAIN}" if wanted.intersection(tokens(word)) else word
        return re.sub("|".join(sorted(map(re.escape, pairs))), lambda pair: f"{MATCHED}{pair[0]}{PLAIN}", word)

    return lambda line: _WORD.sub(emphasise, line)
