"""A year of checkpoints, recalls, checkouts and second thoughts: every file is always in exactly the layer that the rules say.

What the rules say is told here a second time, by a model that shares no code with what it checks.
"""

from __future__ import annotations

import copy
import datetime as dt
import os
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.layers.helpers import Layers, brief

from nacre.config.settings import Config, TierSettings

START = dt.datetime(2031, 1, 1, 8, tzinfo=dt.UTC)  # no file of the test machine is from then
HOUR, DAY = 3600, 86400
KINDS = ("front", "front day", "session", "name", "name day", "file")
RULES = (
    TierSettings(),
    TierSettings(hot="1h", warm="3d", gist="60d", forget_after="30d", delete_after="10d"),
    TierSettings(hot="12h", warm="7d", gist="10d", forget_after="40d", delete_after="60d"),
    TierSettings(hot="2h", warm="10d", forget_after="5d", delete_after="1d"),
)
SECONDS = (  # hot, warm, gist, forget, delete of each
    (3 * HOUR, 7 * DAY, 30 * DAY, 14 * DAY, 30 * DAY),
    (HOUR, 3 * DAY, 60 * DAY, 30 * DAY, 10 * DAY),
    (12 * HOUR, 7 * DAY, 10 * DAY, 40 * DAY, 60 * DAY),
    (2 * HOUR, 10 * DAY, 30 * DAY, 5 * DAY, DAY),
)
SHM = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
WARMTH = {"forgotten": 0, "gist": 1, "warm": 2, "hot": 3}


@dataclass
class Thing:
    """One checkpoint as the model knows it."""

    stem: str
    kind: str
    time: int  # what its content or its name says
    text: str
    layer: str = "hot"
    touched: int = 0  # the file time
    noted: int | None = None  # the file time when it was first seen, where nothing else is known
    counted: Counter[int] = field(default_factory=Counter)
    marked: bool = False
    forgotten: int | None = None
    summary: bool = False
    gone: bool = False

    def files(self) -> dict[str, bytes]:
        """Where its files must be, and what they must hold."""
        if self.gone:
            return {}
        found = {self.place(): self.text.encode()}
        if self.summary:
            end = ".md" if self.layer == "gist" else ".gist.md"
            found[f"{self.layer}/{self.stem}{end}"] = brief(self.text).encode()
        return found

    def place(self) -> str:
        """Where its original lies."""
        return f"{'warm' if self.layer == 'gist' else self.layer}/{self.stem}.md"

    def begun(self, now: int) -> int:
        """From when its content is; notes the file time where that is needed."""
        midnight = self.time - self.time % DAY
        if self.kind == "file":
            self.noted = min(self.touched, now) if self.noted is None else self.noted
            return self.noted
        return min(midnight + DAY - 1, now) if self.kind.endswith("day") else self.time


class Year:
    """The layers on disk and the model beside them; everything that can happen happens to both."""

    def __init__(self, root: Path) -> None:
        self.layers = Layers(root, START)
        self.which = 0
        self.things: dict[str, Thing] = {}
        self.told: list[tuple[str, int, str]] = []  # stem, second, way: the lines of recalls.jsonl
        self.past: list[tuple[dict[str, bytes], dict[str, Thing]]] = []  # before each operation that can be undone
        self.seen: Counter[str] = Counter()

    @property
    def now(self) -> int:
        return int(self.layers.now.timestamp())

    def alive(self) -> list[str]:
        return sorted(stem for stem, thing in self.things.items() if not thing.gone)

    def time_passes(self, hours: float) -> None:
        self.layers.now += dt.timedelta(hours=hours)

    def other_rules(self, which: int) -> None:
        self.which = which
        self.layers.config = Config(tiers=RULES[which])

    def write(self, kind: str, age: int, *, chinese: bool, touched: bool) -> None:
        """A checkpoint whose content is so many minutes old; its file is as old, or was written just now."""
        time = self.now - self.now % 60 - age * 60
        at = dt.datetime.fromtimestamp(time, dt.UTC)
        stem = f"支付/重试-{len(self.things)}号" if chinese else f"talk {len(self.things)}"
        text = f"# {stem}\n\nWe spoke of it.\n"
        if kind == "front":
            earlier = at - dt.timedelta(days=9)
            text = f"---\ncreated: {earlier:%Y-%m-%d}\nupdated: {at:%Y-%m-%dT%H:%M:%SZ}\n---\n{text}"
        elif kind == "front day":
            text = f"---\ndate: {at:%Y-%m-%d}\n---\n{text}"
        elif kind == "session":
            began = at - dt.timedelta(days=3)
            text = f"# {stem}\n\nsession:abc | codex | {began:%Y-%m-%d %H:%M} – {at:%Y-%m-%d %H:%M} | /work\n\nhello\n"
        elif kind == "name":
            stem = f"{at:%Y-%m-%d-%H%M}-{stem.replace('/', '-')}"
        elif kind == "name day":
            stem = f"{at:%Y-%m-%d}-{stem.replace('/', '-')}"
        thing = self.things[stem] = Thing(stem, kind, time, text)
        self.layers.put(f"hot/{stem}.md", text)
        self.touch(stem, time if touched else self.now)
        for tree, things in self.past:
            tree.update(thing.files())
            things[stem] = copy.deepcopy(thing)

    def touch(self, stem: str, at: int) -> None:
        self.things[stem].touched = at
        for place in self.things[stem].files():
            self.layers.touch(place, dt.datetime.fromtimestamp(at, dt.UTC))

    def read(self, stem: str, layer: str) -> None:
        """Also by a place where it lay once: what was found yesterday may be opened today."""
        self.layers.get(f"{layer}/{stem}.md")
        self.told.append((stem, self.now, "get"))

    def recall(self, stem: str, *, summary: bool) -> None:
        thing = self.things[stem]
        before = self.layers.tree(), copy.deepcopy(self.things)
        places = sorted(thing.files(), key=lambda place: place.startswith("gist/") or place.endswith(".gist.md"))
        self.layers.recall(places[-1 if summary else 0])
        self.told.append((stem, self.now, "recall"))
        if thing.layer == "forgotten":
            thing.layer, thing.marked, thing.forgotten = "warm", True, None
        elif thing.layer != "hot":
            thing.layer = "hot"
        if self.layers.tree() != before[0]:
            self.remember(before)

    def mark(self, stem: str) -> None:
        """By hand, in refcount.json; what was done before is then no longer undone here."""
        thing, counts = self.things[stem], self.layers.counts()
        counts.setdefault(thing.place(), {})["user_marked"] = True
        self.layers.count(counts)
        thing.marked = True
        self.past.clear()

    def organise(self) -> None:
        before = self.layers.tree(), copy.deepcopy(self.things)
        for thing in self.things.values():
            if not thing.gone:
                self.follow_the_rules(thing)
        report = self.layers.organise()
        self.seen.update(step.action for step in report.steps)
        assert not report.left
        after = self.layers.tree()
        if after != before[0]:
            self.remember(before)
        living = Counter(thing.layer for thing in self.things.values() if not thing.gone)
        assert {layer: count for layer, count in report.after.items() if count} == living
        self.counts_are_right()

    def organise_with_care(self) -> None:
        """Organise; what a dry run told is done, and doing it again changes nothing."""
        before = self.layers.tree()
        planned = self.layers.organise(dry_run=True)
        assert self.layers.tree() == before
        self.organise()
        assert self.layers.tree() == before or planned.changed
        after = self.layers.tree()
        assert not self.layers.organise().changed
        assert self.layers.tree() == after

    def follow_the_rules(self, thing: Thing) -> None:
        hot, warm, gist, forget, delete = SECONDS[self.which]
        begun = thing.begun(self.now)
        told = Counter(at for stem, at, _ in self.told if stem == thing.stem)
        is_new = any((thing.stem, at, "get") in self.told for at in told - thing.counted)
        thing.counted = told
        age = self.now - max([begun, *told])
        if age < hot:
            wanted = "hot"
        elif age >= forget:
            wanted = "forgotten"
        elif age < warm:
            wanted = "warm"
        else:
            wanted = "gist" if age < gist else "forgotten"
        if thing.layer == "forgotten":
            if thing.forgotten is not None and told and max(told) >= thing.forgotten:
                thing.marked = True
                thing.layer = min("warm", wanted, key=WARMTH.__getitem__)
        elif is_new:
            thing.layer = wanted
        else:
            thing.layer = min(thing.layer, wanted, key=WARMTH.__getitem__)
        if thing.layer != "forgotten":
            thing.forgotten = None
        elif thing.forgotten is None:
            thing.forgotten = self.now
        if thing.layer == "gist":
            thing.summary = True
        if thing.forgotten is not None and self.now - thing.forgotten >= delete and not thing.marked:
            thing.gone = True

    def counts_are_right(self) -> None:
        counts = self.layers.counts()
        places = {thing.place(): thing for thing in self.things.values() if not thing.gone}
        assert counts.keys() <= places.keys()
        for place, thing in places.items():
            entry: dict[str, Any] = counts.get(place, {})
            assert entry.get("total", 0) == thing.counted.total()
            assert Counter(entry.get("timestamps", [])) == thing.counted
            assert entry.get("7d", 0) == sum(n for at, n in thing.counted.items() if at > self.now - 7 * DAY)
            assert entry.get("user_marked", False) == thing.marked
            assert entry.get("forgotten") == thing.forgotten

    def remember(self, before: tuple[dict[str, bytes], dict[str, Thing]]) -> None:
        self.past = [*self.past[-5:], before]

    def undo(self) -> None:
        tree, things = self.past.pop()
        gone, now = {stem for stem, thing in self.things.items() if thing.gone}, self.things
        self.layers.undo()
        self.seen["undo"] += 1
        assert self.layers.tree() == tree
        self.things = things
        for stem, thing in things.items():
            thing.touched = now[stem].touched
            if stem in gone and not thing.gone:  # a deleted file comes back with its bytes, not with its time
                self.touch(stem, thing.touched)

    def check(self) -> None:
        """Every file is where the rules say with the bytes it had, nothing else is there, and nothing is lost but by the rules."""
        found = self.layers.tree()
        found.pop("refcount.json", None)
        assert found == {place: data for thing in self.things.values() for place, data in thing.files().items()}
        for thing in self.things.values():
            assert not (thing.gone and thing.marked)
            if not thing.gone:
                assert int((self.layers.folder / thing.place()).stat().st_mtime) == thing.touched


AGES = st.integers(0, 20 * 24 * 60)
HOURS = (0.1, 1, 2.5, 5, 20, 30, 80, 200, 500, 1000)


class AnyYear(RuleBasedStateMachine):
    """Whatever may come, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = tempfile.TemporaryDirectory(dir=SHM, prefix="nacre-test-")
        self.year = Year(Path(self.disk.name) / "ws")

    def teardown(self) -> None:
        self.disk.cleanup()

    def some(self) -> bool:
        return bool(self.year.alive())

    def one(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self.year.alive()))

    @initialize(ages=st.lists(st.tuples(st.sampled_from(KINDS), AGES), min_size=3, max_size=6))
    def begin(self, ages: list[tuple[str, int]]) -> None:
        for number, (kind, age) in enumerate(ages):
            self.year.write(kind, age, chinese=number % 2 == 0, touched=number % 3 == 0)

    @rule(which=st.integers(0, len(RULES) - 1))
    def other_rules(self, which: int) -> None:
        self.year.other_rules(which)

    @rule(kind=st.sampled_from(KINDS), age=AGES, chinese=st.booleans(), touched=st.booleans())
    def write(self, kind: str, age: int, chinese: bool, touched: bool) -> None:
        self.year.write(kind, age, chinese=chinese, touched=touched)

    @precondition(some)
    @rule(data=st.data(), at=st.integers(-400 * 24, 400 * 24))
    def check_out(self, data: st.DataObject, at: int) -> None:
        for stem in data.draw(st.lists(st.sampled_from(self.year.alive()), unique=True)):
            self.year.touch(stem, self.year.now + at * HOUR)

    @precondition(some)
    @rule(data=st.data(), layer=st.sampled_from(tuple(WARMTH)), times=st.integers(1, 2))
    def read(self, data: st.DataObject, layer: str, times: int) -> None:
        stem = self.one(data)
        for _ in range(times):
            self.year.read(stem, layer)

    @precondition(some)
    @rule(data=st.data(), summary=st.booleans())
    def recall(self, data: st.DataObject, summary: bool) -> None:
        self.year.recall(self.one(data), summary=summary)

    @precondition(some)
    @rule(data=st.data())
    def mark(self, data: st.DataObject) -> None:
        self.year.mark(self.one(data))

    @rule(hours=st.sampled_from(HOURS))
    def time_passes(self, hours: float) -> None:
        self.year.time_passes(hours)

    @rule(hours=st.sampled_from((0, *HOURS)))
    def time_passes_and_the_layers_are_organised(self, hours: float) -> None:
        self.year.time_passes(hours)
        self.year.organise_with_care()

    @precondition(lambda self: self.year.past)
    @rule()
    def undo(self) -> None:
        self.year.undo()

    @invariant()
    def all_is_well(self) -> None:
        self.year.check()


TestAnyYear = AnyYear.TestCase
TestAnyYear.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.long
def test_a_whole_year_day_by_day(memory_disk: Path) -> None:
    chance = random.Random(1)
    year = Year(memory_disk / "ws")
    for _ in range(365):
        if chance.random() < 0.3:
            age = chance.choice((0, 30, 600, 20 * 24 * 60))
            year.write(chance.choice(KINDS), age, chinese=chance.random() < 0.5, touched=chance.random() < 0.5)
        alive = year.alive()
        if alive and chance.random() < 0.3:
            year.read(chance.choice(alive), chance.choice(tuple(WARMTH)))
        if alive and chance.random() < 0.2:
            year.recall(chance.choice(alive), summary=chance.random() < 0.5)
        if alive and chance.random() < 0.02:
            year.mark(chance.choice(alive))
        if chance.random() < 0.05:
            for stem in alive:
                year.touch(stem, year.now + chance.randrange(-90, 90) * DAY)
        if chance.random() < 0.02:
            year.other_rules(chance.randrange(len(RULES)))
        year.time_passes(chance.choice((1, 2, 20, 24, 24, 24, 60)))
        if chance.random() < 0.6:
            year.organise()
        while year.past and chance.random() < 0.1:
            year.undo()
        year.check()
    assert year.seen["delete"] > 10
    assert all(year.seen[action] > 10 for action in ("move", "summarise", "forget", "rise", "undo"))
    assert any(thing.marked for thing in year.things.values())
