"""What each written line rests on: a section as it stands in its log → the line of the trail that follows it to its messages."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.capture.cursors import Pending
from nacre.vault.markdown import words_of
from nacre.vault.trail import Captured, mark_of


def captured(section: Pending, log: bytes | None) -> Captured | None:
    """The entries of the transcript behind each bullet, by its words as they really stand in the log, where secrets are
    blacked out. None when the bullets are no longer there to be told apart."""
    bullets = _below(section.heading, section.before, (log or b"").decode("utf-8", errors="replace").splitlines())
    if not section.sources or len(bullets) < len(section.sources):
        return None
    found: dict[str, tuple[str, ...]] = {}
    for bullet, sources in zip(bullets, section.sources, strict=False):
        mark = mark_of(words_of(bullet))
        found[mark] = tuple(dict.fromkeys((*found.get(mark, ()), *sources)))
    agents = tuple(dict.fromkeys(mark_of(words_of(bullets[place])) for place in section.agents if place < len(bullets)))
    return Captured(section.day, section.name, section.agent, found, section.session, section.place, agents)


def _below(heading: str, before: int, lines: Sequence[str]) -> list[str]:
    """The bullets under a heading; `before` says how many like it stand above the one that is meant."""
    places = [place for place, line in enumerate(lines) if line.startswith("## ") and line[3:].strip() == heading]
    if len(places) <= before:
        return []
    found: list[str] = []
    for line in lines[places[before] + 1 :]:
        if line.startswith("#"):
            break
        if line.startswith("- "):
            found.append(line[2:])
    return found
