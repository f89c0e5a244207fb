"""What the agent answers in the turn before compaction goes into the day's log, line by line, and nowhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nacre.clock import Clock
from nacre.config import Config
from nacre.errors import BadInput
from nacre.lifecycle import flushes
from nacre.lifecycle.flushwords import LONGEST, MOST_LINES, SILENCE
from nacre.model.entry import TYPES, Entry
from nacre.vault import daily
from nacre.vault.append import REDACT, guarded
from nacre.vault.workspace import Workspace
from nacre.words import say

MOST_CHARACTERS = 200_000  # an answer that is longer is no answer but the talk itself
_SILENT = re.compile(rf"[\W_]*{SILENCE}[\W_]*", re.IGNORECASE)
_TYPED = re.compile(rf"\[(?:{'|'.join(TYPES)})\]\s*\S")
_MARKER = re.compile(r"\A(?:[-*+>]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_FENCE = re.compile(r"\A(?:```|~~~)")
_HEADING = re.compile(r"\A#{1,6}(?:\s|\Z)")
_LABEL = re.compile(rf"\A\[(?:{'|'.join(TYPES)})\]\s+")
_SENTENCE = re.compile(r"[。！？；]|[.!?;](?=\s)")


@dataclass(frozen=True)
class Answer:
    """An answer taken apart: what is to be written, and what there was no room for."""

    lines: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    silent: bool = False


@dataclass(frozen=True)
class Taken:
    """What became of an answer."""

    path: str
    written: tuple[Entry, ...] = ()
    already: int = 0  # lines that stand in the log
    forgotten: int = 0  # lines that say what the user had forgotten
    over: tuple[str, ...] = ()  # lines beyond what one turn may write
    silent: bool = False


def parse(text: str) -> Answer:
    """The lines of an answer: secrets blacked out, headings and the signs of code left out, long ones folded.

    `NO_REPLY` as the whole, the first or the last line is silence, and then only lines that carry a type are taken: an agent that
    wrote some and closed with it meant both.
    """
    if len(text) > MOST_CHARACTERS:
        raise BadInput(
            say(
                f"The answer has {len(text)} characters; one turn may write {MOST_LINES} lines of {LONGEST}. Nothing was written.",
                f"回答有 {len(text)} 个字符；一轮最多写 {MOST_LINES} 行，每行 {LONGEST} 个字符。未写入任何内容。",
            )
        )
    whole = [line.strip() for line in guarded(text, REDACT).split("\n") if line.strip()]
    silent = any(_SILENT.fullmatch(line) for line in (*whole[:1], *whole[-1:]))
    said = [words for line in whole if not _SILENT.fullmatch(line) and (words := _words(line))]
    if silent:
        said = [words for words in said if _TYPED.match(words)]
    lines = [part for words in dict.fromkeys(said) for part in _folded(words)]
    return Answer(tuple(lines[:MOST_LINES]), tuple(lines[MOST_LINES:]), silent)


def _words(line: str) -> str:
    """What a line says, without its marker. Nothing where it is a heading, a rule, or opens or closes code: none of these could
    be told from the log's own."""
    while marker := _MARKER.match(line):
        line = line[marker.end() :]
    if _FENCE.match(line) or _HEADING.match(line) or not any(sign.isalnum() for sign in line):
        return ""
    return line


def _folded(words: str) -> list[str]:
    """A long line as several: cut behind a sentence, else between words, else where it must be. The type stands on the first."""
    label = _LABEL.match(words)
    head = label[0] if label else ""
    rest = words[len(head) :]
    parts: list[str] = []
    while len(head) + len(rest) > LONGEST:
        room = LONGEST - len(head) - 1
        ends = [found.end() for found in _SENTENCE.finditer(rest, 0, room)]
        space = rest.rfind(" ", room // 2, room)
        cut = ends[-1] if ends and ends[-1] >= room // 2 else space if space > 0 else room
        parts.append(head + rest[:cut].rstrip())
        head, rest = "…", rest[cut:].lstrip()
    return [*parts, head + rest] if rest else parts


def take(
    workspace: Workspace, clock: Clock, config: Config, text: str, *, session: str, dry_run: bool = False
) -> Taken:
    """Append the answer to today's log under `## HH:MM note`, as one operation. What stands there is not written again."""
    if paused := _paused(workspace, clock):
        raise paused
    answer = parse(text)
    path = workspace.relative(daily.place(workspace, clock.today()))
    lines = _not_forgotten(workspace, answer.lines)
    gone = len(answer.lines) - len(lines)
    if dry_run:
        shown = tuple(Entry(words, path, 0) for words in lines)
        return Taken(path, shown, 0, gone, answer.over, answer.silent)
    written = daily.notes(workspace, clock, "flush", lines, by_agent=True, config=config) if lines else ()
    flushes.settle(workspace, session, clock.now())
    return Taken(path, written, len(lines) - len(written), gone, answer.over, answer.silent)


def _paused(workspace: Workspace, clock: Clock) -> BadInput | None:
    """While the user wants nothing captured, an agent's summary of the talk is not wanted either."""
    from nacre.sources.consent import paused_at, pauses

    if paused_at(pauses(workspace), clock.now()) is None:
        return None
    return BadInput(
        say(
            'Nothing was written: capturing is paused; "nacre resume" ends that.',
            "未写入任何内容：记录已暂停；可用“nacre resume”恢复。",
        )
    )


def _not_forgotten(workspace: Workspace, lines: tuple[str, ...]) -> list[str]:
    """An agent does not know what its user had forgotten; what is in its context must not bring it back."""
    from nacre.vault import tombstones

    stones = tombstones.load(workspace) if lines else None
    if not stones:
        return list(lines)
    from nacre.capture.forgotten import are_forgotten

    met = are_forgotten(stones, list(lines))
    return [line for line, gone in zip(lines, met, strict=True) if not gone]
