"""Thousands of operations in random order, many of them with a fault, and beside them a simple model of what must still be there."""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.faults import calls, trial
from tests.faults.commands import environment, nacre
from tests.talks import ClaudeTalk

_BEGIN = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)
_SYLLABLES = ("ka", "lo", "mi", "ter", "ven", "dor", "sul", "pan", "rix", "zu", "hem", "bor", "quil", "yst")
_FORMS = (
    "The backups of {} are kept in {}",
    "Always ask {} before the release of {}",
    "[PREF] I prefer {} over {} for reports",
    "We moved the billing of {} to {}",
    "{}的数据库放在{}",
    "Never restart {} while {} is running",
)
_HEADING = re.compile(r"^## \d\d:\d\d session:(\S+) .*$", re.MULTILINE)


class Broken(Exception):
    """The files are not what the model says."""


class Model:
    """A home in which anything may happen, and what must be found in it afterwards."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home = home
        self.root = home / trial.WORKSPACE
        self.chance = random.Random(seed)
        self.moment = _BEGIN
        self.notes: set[str] = set()  # each stands in exactly one line of the logs
        self.gone: set[str] = set()  # forgotten or undone: nowhere
        self.own: set[str] = set()  # lines that the user wrote into MEMORY.md
        self.talks: list[ClaudeTalk] = []
        self.done: list[str] = []  # what happened, for whoever has to look for the cause
        self.faults: Counter[str] = Counter()
        home.mkdir(parents=True)
        self.run("init", fault=False)

    def step(self) -> None:
        """One operation, and a look at everything."""
        self.moment += dt.timedelta(minutes=self.chance.choice((1, 7, 90)))
        kinds = (self.note, self.note, self.agent_writes, self.hand_edit, self.talk, self.tidy, self.decide)
        self.chance.choice((*kinds, self.checkpoint, self.organise, self.forget, self.undo))()
        wrong = list(self.wrong())
        if wrong:
            raise Broken(f"{wrong[0]}\nafter: " + "\n       ".join(self.done[-12:]))

    def words(self) -> str:
        names = ["".join(self.chance.choices(_SYLLABLES, k=3)).capitalize() for _ in range(2)]
        return self.chance.choice(_FORMS).format(*names)

    def run(self, *command: str, fault: bool = True) -> calls.Outcome:
        """The command, perhaps with a fault; then it is run again, as whoever asked for it would."""
        now = self.moment.isoformat()
        kind, at = self.chance.choice(calls.FAULTS), int(200 ** self.chance.random())
        with environment(self.home):
            if fault and self.chance.random() < 0.6:
                outcome = calls.run(lambda: nacre(command, now), kind, at)
                self.done.append(f"{now} {' '.join(command)}: {kind} {at}, exit {outcome.status}")
                if "Traceback" in outcome.err:
                    raise Broken(f"{self.done[-1]}\n{outcome.err}")
                if not outcome.reached:
                    return outcome
                self.faults[kind] += 1
                if outcome.status == 0:
                    return outcome
            outcome = calls.run(lambda: nacre(command, now))
        self.done.append(f"{now} {' '.join(command)}: exit {outcome.status}")
        if "Traceback" in outcome.err or outcome.status < 0:
            raise Broken(f"{self.done[-1]}\n{outcome.err}")
        return outcome

    # What happens

    def note(self) -> None:
        words = self.words()
        if self.run("remember", words).status == 0:
            self.notes.add(words)

    def agent_writes(self) -> None:
        words = self.words()
        day = (self.moment - dt.timedelta(days=self.chance.choice((0, 0, 1, 3)))).date()
        path = self.root / "memory" / f"{day}.md"
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as log:
            log.write(f"## {self.moment:%H:%M} note\n- {words}\n".encode())
        self.notes.add(words)
        self.done.append(f"an agent appends to {path.name}")

    def hand_edit(self) -> None:
        path = self.root / "MEMORY.md"
        text = path.read_text("utf8") if path.exists() else "# Mine\n"
        if len(text) < 3000:
            line = f"- {self.words()}"
            path.write_text(text.rstrip("\n") + f"\n{line}\n", "utf8")
            self.own.add(line)
            self.done.append("the user adds to MEMORY.md")

    def talk(self) -> None:
        if not self.talks or self.chance.random() < 0.6:
            self.talks.append(ClaudeTalk(self.home, f"{len(self.talks):08x}-talk"))
        talk = self.talks[-1]
        for second in range(3):
            at = f"{self.moment - dt.timedelta(seconds=30 - second):%H:%M:%S}"
            talk.say(f"{self.words()}.", at, f"{self.moment:%Y-%m-%d}")
            talk.answer("Understood.", at, f"{self.moment:%Y-%m-%d}")
        self.run("sync", "--since", "all")

    def tidy(self) -> None:
        self.moment += dt.timedelta(days=self.chance.choice((0, 0, 1, 1, 2, 9, -1)))
        self.run("tidy")

    def decide(self) -> None:
        self.run("wal", "decide", self.words())

    def checkpoint(self) -> None:
        if self.talks:
            self.run("checkpoint", self.chance.choice(self.talks).session[:8])

    def organise(self) -> None:
        self.run("organise")

    def forget(self) -> None:
        if self.notes:
            words = self.chance.choice(sorted(self.notes)).removeprefix("[PREF] ")
            self.run("forget", words)
            self._takes(words)

    def undo(self) -> None:
        """A note that is taken back at once."""
        words = self.words()
        self.run("remember", words, fault=False)
        last = json.loads(self.run("history", "-n", "1", "--json", fault=False).out)[0]
        if last["command"] == "remember":
            self.run("undo", "--only", str(last["id"]), fault=False)
            self._takes(words)

    def _takes(self, words: str) -> None:
        self.gone.add(words)
        self.notes = {note for note in self.notes if note.removeprefix("[PREF] ") != words}
        self.own.discard(f"- {words}")

    # What must hold

    def wrong(self) -> Iterator[str]:
        memory = self.root / "memory"
        logs = {path: path.read_text("utf8") for path in memory.rglob("????-??-??.md") if path.parent.name != "weekly"}
        found = Counter(line[2:] for text in logs.values() for line in text.splitlines() if line.startswith("- "))
        for note in self.notes:
            if found[note] != 1:
                yield f"{note!r} stands {found[note]} times in the logs"
        texts = {path: path.read_text("utf8") for path in self.root.rglob("*.md")}
        everything = "\n".join(texts.values())
        lines = set(everything.splitlines())
        for words in self.gone:
            if f"- {words}" in lines:
                yield f"{words!r} is still there"
        for line in self.own:
            if line[2:].removeprefix("[PREF] ") not in everything:
                yield f"the user's own line {line!r} is lost"
        sections = Counter((session, heading) for text in logs.values() for heading, session in _headings(text))
        if doubled := [heading for (_, heading), count in sections.items() if count > 1]:
            yield f"captured twice: {doubled[0]}"
        for path in (memory / "ledger.jsonl", memory / "trail.jsonl"):
            rows = path.read_text("utf8").splitlines() if path.exists() else []
            if twice := [row for row, count in Counter(rows).items() if count > 1]:
                yield f"{path.name} says it twice: {twice[0][:150]}"
            for row in rows:
                try:
                    json.loads(row)
                except ValueError:
                    yield f"{path.name} has a broken line: {row[:100]}"
        kept = self.root / "MEMORY.md"
        if kept.exists() and (kept.stat().st_size > 5120 or len(kept.read_text("utf8").splitlines()) > 80):
            yield "MEMORY.md is over its limits"


def _headings(text: str) -> Iterator[tuple[str, str]]:
    for match in _HEADING.finditer(text):
        yield match[0], match[1]
