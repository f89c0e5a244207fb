"""Whatever comes between two nights (talk, edits, answers, undo, kill -9), no line of anybody's is lost and nothing is told twice."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.tidy.conftest import killed_at, room_at

from nacre.brain.local.judge import Judge
from nacre.clock import Clock
from nacre.config.settings import Config, MemorySettings
from nacre.errors import ChangedOutside, NacreError
from nacre.forget import apply
from nacre.forget.target import ForgetContext as ForgetRoom
from nacre.forget.target import MemoryLines, Target
from nacre.model import Workspace
from nacre.tidy import answers, distil, run
from nacre.tidy import answers as tidy_answers
from nacre.tidy.answers import Answer
from nacre.tidy.apply import DistilPlan
from nacre.tidy.collect import TidyContext
from nacre.vault import daily, ledger, longterm, review, weekly, writing
from nacre.vault.entries import Item, bullet_id, entry_id, open_document
from nacre.vault.history import last_id
from nacre.vault.storage import Disk
from nacre.vault.undo import undo

BEGIN = dt.datetime(2026, 3, 20, 3, 0, 0, tzinfo=dt.UTC)
JUDGE = Judge(None)
LOG = re.compile(r"\d{4}-\d{2}-\d{2}\.md")

_TOOLS = ("pnpm", "npm", "Vitest", "Jest", "PostgreSQL", "React", "Typst")
_FORMS = (
    "Always use {} in this repository, never {}",
    "We moved from {} to {} for every service",
    "I prefer {} over {} for reports",
    "[PREF] Use {} for the tests, not {}",
    "[TEMP] Restarted {} today because {} hung",
    "The release with {} is due on 2026-03-25; Maria owns {}",
    "Never deploy {} on Fridays: the last time {} broke, and nobody was there. Ask Maria first, she owns it.",
    "Fixed issue #41: {} failed when {} was empty",
    "以后都用{}，不要再用{}",
    "我们已经从{}换成了{}",
    "[决策] 报告一律用{}排版，{}不再使用",
    "今天修好了{}里的一个小问题，{}没有改",
)
_NAMES = ("You are called Pearl now", "From now on your name is Coral", "你以后就叫小明吧", "Call me Ada")
_ODD = (
    "* starred, with a [link](https://example.org)",
    "- outer\n  - inner\n  - second",
    "Prose that stands for itself.",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "<!-- a remark -->",
    "- [ ] a box to tick",
    "1. numbered",
    "```\n- not an entry\n```",
)
sayings = st.one_of(
    st.builds(str.format, st.sampled_from(_FORMS), st.sampled_from(_TOOLS), st.sampled_from(_TOOLS)),
    st.sampled_from(_NAMES),
)
projects = st.sampled_from((None, None, "shop", "site"))
places = st.integers(0, 10**6)


class Nights(RuleBasedStateMachine):
    """A workspace through many nights, and beside it what must still be found in it."""

    disk = Path()

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=self.disk))
        self.workspace = Workspace(self.root)
        self.moment = BEGIN
        self.config = Config()
        self.logged: Counter[str] = Counter()  # bullets of all logs, as written
        self.own: set[str] = set()  # lines that the user wrote into memory files and digests
        self.done: dict[int, tuple[Counter[str], set[str]]] = {}  # by operation: bullets added, or lines taken away
        self.largest: dict[Path, writing.Size] = {}  # what the user made of a MEMORY.md
        self.sessions = 0

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    @property
    def clock(self) -> Clock:
        return Clock(dt.UTC, self.moment)

    @property
    def room(self) -> TidyContext:
        return TidyContext(self.workspace, self.config, self.clock, judge=lambda: JUDGE)

    @initialize(
        small=st.booleans(),
        begun=st.sampled_from(("nothing", "template", "template", "template", "inherited", "windows")),
        identity_file=st.booleans(),
        said=st.lists(st.lists(sayings, min_size=2, max_size=6), min_size=1, max_size=4),
    )
    def opened(self, small: bool, begun: str, identity_file: bool, said: list[list[str]]) -> None:
        """A workspace with or without a MEMORY.md of its own, with usual limits or tight ones."""
        self.workspace.memory.mkdir(parents=True)
        self.workspace.machine.mkdir(mode=0o700)
        if small:
            self.config = Config(memory=MemorySettings(max_lines=22, max_bytes=1000))
        if begun == "template":
            self.workspace.longterm.write_text(longterm.template(self.config.memory))
        elif begun == "windows":
            self._write(self.workspace.longterm, b"\xef\xbb\xbf# Mine\r\n\r\n## Lessons\r\n- Check the oil first  \r\n")
            self.own.add("- Check the oil first  ")
        elif begun == "inherited":
            lines = [f"- inherited entry number {number}" for number in range(30 if small else 90)]
            self._write(self.workspace.longterm, "\n".join(["# Old", *lines, ""]).encode())
            self.own.update(lines)
        if identity_file:
            (self.root / "IDENTITY.md").write_text("# Identity\n\n- **Name:** Nell\n")
            (self.root / "USER.md").write_text("# User\n\n- **What to call them:**\n- **Timezone:** UTC\n")
        for number, told in enumerate(said):
            self._section(told, None, 4 * number)

    # What comes in

    @rule(told=st.lists(sayings, min_size=1, max_size=5), project=projects, ago=st.sampled_from((0, 0, 0, 1, 3, 9, 15)))
    def syncs(self, told: list[str], project: str | None, ago: int) -> None:
        """A talk is captured, of today or of an earlier day."""
        self._section(told, project, ago)

    def _section(self, told: list[str], project: str | None, ago: int) -> None:
        self.sessions += 1
        heading = f"09:30 session:{self.sessions:08x} | 4 messages" + (f" | project:{project}" if project else "")
        day = self.clock.today() - dt.timedelta(days=ago)
        daily.append_section(self.room, heading, told, day=day)
        self._did(Counter(told))

    @rule(told=sayings, ago=st.integers(0, 12))
    def agent_writes(self, told: str, ago: int) -> None:
        """An agent appends to a living log without asking anybody."""
        path = self.workspace.day(self.clock.today() - dt.timedelta(days=ago))
        self.sessions += 1  # at a minute of its own: the same words at the same minute of a day are the same note
        hour, minute = divmod(self.sessions, 60)
        with path.open("ab") as log:
            log.write(f"## {hour % 24:02}:{minute:02} note\n- {told}\n".encode())
        self.logged[told] += 1

    @rule(told=sayings)
    def remembers(self, told: str) -> None:
        entry = daily.append_note(self.room, told)
        if not entry.already:
            self._did(Counter([told]))

    # What the user does

    @rule(told=st.one_of(sayings, st.sampled_from(_ODD)), at=places, ends=st.sampled_from(("\n", "\r\n")))
    def user_adds_to_memory(self, told: str, at: int, ends: str) -> None:
        """A line by hand at any place of MEMORY.md, under a heading of the user's own where there is none."""
        path = self.workspace.longterm
        text = self._text(path)
        line = told if told in _ODD else f"- {told}"
        if line in text:
            return
        lines = text.splitlines(keepends=True) or [f"# Mine{ends}", f"## Other{ends}"]
        if not lines[-1].endswith("\n"):
            lines[-1] += ends
        lines.insert(2 + at % max(1, len(lines) - 1), line.replace("\n", ends) + ends)
        self._write(path, "".join(lines).encode())
        self.own.update(line.split("\n"))

    @rule(at=places, how=st.sampled_from(("delete", "reword", "extend", "move")))
    def user_edits_memory(self, at: int, how: str) -> None:
        """One entry, whoever wrote it, is taken out, put in other words, or moved to the end."""
        path = self.workspace.longterm
        lines = self._text(path).splitlines(keepends=True)
        entries = [number for number, line in enumerate(lines) if line.startswith("- ")]
        if not entries:
            return
        number = entries[at % len(entries)]
        old = lines[number].rstrip("\r\n")
        ends = lines[number][len(old) :] or "\n"
        new = {"delete": "", "reword": f"- My own words {at}", "extend": f"{old.rstrip()}, always", "move": old}[how]
        del lines[number]
        if new:
            if how == "move" and lines and not lines[-1].endswith("\n"):
                lines[-1] += ends
            lines.insert(len(lines) if how == "move" else number, new + ends)
        self._write(path, "".join(lines).encode())
        if how != "move":
            self.own.discard(old)
            self.own.update([new] if new else [])

    @precondition(lambda self: self.workspace.weekly.is_dir())
    @rule(told=sayings, at=places)
    def user_edits_a_week(self, told: str, at: int) -> None:
        files = sorted(self.workspace.weekly.glob("*.md"))
        if not files:
            return
        path = files[at % len(files)]
        line = f"[Decision] {told} (by hand {at})"
        if line not in self._text(path):
            self._write(path, (self._text(path).rstrip("\n") + f"\n\n{line}\n").encode())
            self.own.add(line)

    @rule(at=places, keep=st.booleans())
    def user_edits_a_log(self, at: int, keep: bool) -> None:
        """A bullet of a living or archived log is reworded or taken out."""
        found = [(path, number) for path in self._logs() for number, _ in self._bullets(path)]
        if not found:
            return
        path, number = found[at % len(found)]
        lines = self._text(path).splitlines(keepends=True)
        old = lines[number].rstrip("\r\n")[2:]
        if old not in self.logged:
            return  # the note of a night: nobody's words
        new = f"{old} edited {at}" if keep else ""
        lines[number] = f"- {new}\n" if new else ""
        self._write(path, "".join(lines).encode())
        self.logged[old] -= 1
        if new:
            self.logged[new] += 1

    @precondition(lambda self: bool(review.read_review(self.workspace)))
    @rule(
        at=places,
        verb=st.sampled_from((answers.ACCEPT, answers.REFUSE, answers.PIN)),
        words=st.booleans(),
        which=st.one_of(st.none(), st.integers(1, 120)),
    )
    def user_answers(self, at: int, verb: str, words: bool, which: int | None) -> None:
        """The user's word on a question, also killed on the way: a line of the user's own leaves for a digest, never for nothing."""
        open_ones = review.read_review(self.workspace)
        one = open_ones[at % len(open_ones)]
        new = f"My word on it {at}" if words and verb != answers.REFUSE else None

        def answer() -> None:
            with contextlib.suppress(NacreError):
                answers.give_answers(self.room, [Answer(one.id, verb, new)])

        if which is None:
            answer()
        else:
            killed_at(which, answer)
        against = one.about.get("against")
        meant = {line for line in self.own if entry_id(line[2:]) in (one.id, against)}
        still = self._kept_text()
        gone = {line for line in meant if line not in still}
        if not new and not against:
            assert not [line for line in gone if line[2:].strip() not in still]
        self._did(Counter(), gone)

    @precondition(
        lambda self: any(writing.size_of(one.read_bytes()).over(self.config.memory) for one in self._memories())
    )
    @rule()
    def user_adopts(self) -> None:
        """A file over its limits is brought under them; what does not fit moves to a note."""
        try:
            planned = tidy_answers.plan_adopt(self.room)
        except NacreError:
            return
        tidy_answers.apply_adopt(self.room, planned)
        for one in planned:
            assert not writing.size_of(one.edit.path.read_bytes()).over(self.config.memory)

    @rule(at=places)
    def user_forgets(self, at: int) -> None:
        room = ForgetRoom(self.workspace, self.config, self.clock, keeper=_no_index, search=lambda _query, _limit: ())
        every = MemoryLines(self.workspace, self.config)
        lines = [line for line in every.every() if line.words]
        if not lines:
            return
        line = lines[at % len(lines)]
        made = apply.plan_forget(room, [Target(line.id, line.words, line)], every)
        logged, own = self._all_bullets(), {kept for kept in self.own if kept in self._kept_text()}
        apply.apply_forget(room, made)
        now = self._all_bullets()
        gone = Counter({text: now[text] - logged[text] for text in logged if now[text] != logged[text]})
        self._did(
            Counter({text: count for text, count in gone.items() if text in self.logged}),
            {kept for kept in own if kept not in self._kept_text()},
        )

    @rule()
    def user_undoes(self) -> None:
        try:
            made = undo(self.room)
        except NacreError:
            return
        for one in made.undoes:
            added, taken = self.done.pop(one, (Counter(), set()))
            self.logged.subtract(added)
            self.own |= taken

    # Nights

    @rule(days=st.sampled_from((0, 1, 1, 2, 5, 9, 30, -3, -20)))
    def tidies(self, days: int) -> None:
        """A night, which may come after many days, or before the last one: a clock can be wrong."""
        self.moment += dt.timedelta(days=days, minutes=7)
        try:
            run.run_tidy(self.room)
        except ChangedOutside:
            pytest.fail("nobody else was there")
        self._settled()

    @rule(told=st.lists(sayings, min_size=1, max_size=5), ago=st.sampled_from((0, 8)), which=st.integers(1, 160))
    def is_killed(self, told: list[str], ago: int, which: int) -> None:
        """A night that dies at some call into the operating system; the next one carries on at the same moment."""
        self._section(told, None, ago)
        killed_at(which, lambda: run.run_tidy(self.room))
        self.nothing_is_lost()
        self.limits_hold()
        run.run_tidy(self.room)
        self._settled()

    @rule(told=sayings)
    def user_edits_meanwhile(self, told: str) -> None:
        """MEMORY.md is changed after the night was planned: nothing is lost, and the next run succeeds."""

        def planned(room: TidyContext, **given: Any) -> DistilPlan:
            found = distil_plan(room, **given)
            _append(self, told)
            return found

        distil_plan = distil.plan
        with mock.patch.object(distil, "plan", planned), contextlib.suppress(ChangedOutside):
            run.run_tidy(self.room)
        self.nothing_is_lost()
        run.run_tidy(self.room)
        self._settled()

    def _settled(self) -> None:
        """After a night: the ledger knows every line, and the same night again changes nothing."""
        self.ledger_tells_what_the_files_tell()
        before = self._everything()
        again = run.run_tidy(self.room)
        assert not again.steps, again.steps
        now = self._everything()
        changed = [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]
        assert not changed, changed

    def ledger_tells_what_the_files_tell(self) -> None:
        known = ledger.entry_states(ledger.read_ledger(self.workspace).records)
        told = {
            one.id for one in known.values() if one.in_memory and not any("field" in line.more for line in one.records)
        }
        here = {entry_id(entry.words): entry.words for path in self._memories() for entry in _entries(path)}
        amiss = [(here.get(one), known.get(one)) for one in told ^ set(here)]
        assert not amiss, amiss

    # What always holds

    @invariant()
    def nothing_is_lost(self) -> None:
        bullets = self._all_bullets()
        amiss = {text: (bullets[text], count) for text, count in self.logged.items() if bullets[text] != count}
        assert not amiss, amiss
        kept = self._kept_text()
        lost = [line for line in self.own if line not in kept]
        assert not lost, lost

    @invariant()
    def limits_hold(self) -> None:
        for path in self._memories():
            size, free = writing.size_of(path.read_bytes()), self.largest.get(path)
            if size.over(self.config.memory):
                assert free is not None
                assert size.lines <= max(free.lines, self.config.memory.max_lines)
                assert size.bytes <= max(free.bytes, self.config.memory.max_bytes)

    @invariant()
    def no_bullet_stands_twice(self) -> None:
        for path in self.workspace.weekly.glob("*.md"):
            doc = open_document(self.workspace, path)
            assert doc is not None
            told = Counter((line.day, line.project, bullet_id(line.text)) for line in weekly.digest_lines(doc))
            twice = [line for line, count in told.items() if count > 1]
            assert not twice, (path.name, twice)

    # The files

    def _did(self, added: Counter[str], taken: set[str] | None = None) -> None:
        """What the last operation did to what is owed, so that undoing it can be followed."""
        self.logged.update(added)
        self.own -= taken or set()
        before, gone = self.done.get(last_id(Disk(self.workspace)), (Counter(), set()))
        before.update(added)
        self.done[last_id(Disk(self.workspace))] = before, gone | (taken or set())

    def _write(self, path: Path, data: bytes) -> None:
        if path == self.workspace.longterm:
            was, size = writing.size_of(path.read_bytes() if path.exists() else b""), writing.size_of(data)
            free = self.largest.get(path, writing.Size(0, 0))
            # What was brought under the limits may be undone, and then stands beside what the user wrote since.
            grown = [max(now, most + max(0, now - then)) for now, most, then in zip(size, free, was, strict=True)]
            self.largest[path] = writing.Size(*grown)
        path.write_bytes(data)

    def _text(self, path: Path) -> str:
        return path.read_bytes().decode() if path.exists() else ""

    def _logs(self) -> list[Path]:
        found = [*self.workspace.memory.glob("*.md"), *self.workspace.archive.glob("*/*.md")]
        return sorted(path for path in found if LOG.fullmatch(path.name))

    def _bullets(self, path: Path) -> list[tuple[int, str]]:
        lines = self._text(path).splitlines()
        return [(number, line[2:]) for number, line in enumerate(lines) if line.startswith("- ")]

    def _all_bullets(self) -> Counter[str]:
        return Counter(text for path in self._logs() for _, text in self._bullets(path))

    def _memories(self) -> list[Path]:
        found = [self.workspace.longterm, *self.workspace.projects.glob("*/MEMORY.md")]
        return [path for path in found if path.exists()]

    def _kept_text(self) -> str:
        notes = self.workspace.memory.glob("*-from-memory.md")
        return "\n".join(self._text(path) for path in (*self._memories(), *self.workspace.weekly.glob("*.md"), *notes))

    def _everything(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and path != self.workspace.lock
        }


def _append(nights: Nights, told: str) -> None:
    path = nights.workspace.longterm
    text = nights._text(path)
    line = f"- {told} (meanwhile)"
    if line not in text:
        nights._write(path, (text + ("" if text.endswith("\n") or not text else "\n") + line + "\n").encode())
        nights.own.add(line)


def _entries(path: Path) -> tuple[Item, ...]:
    doc = open_document(Workspace(path.parent), path)
    return doc.entries if doc else ()


def _no_index() -> NoReturn:
    pytest.fail("the index is not needed")


def test_no_line_is_lost_whatever_comes_between_the_nights(memory_disk: Path) -> None:
    Nights.disk = memory_disk
    run_state_machine_as_test(
        Nights,
        settings=settings(
            max_examples=25,
            stateful_step_count=14,
            deadline=None,
            suppress_health_check=list(HealthCheck),  # forks and files are slow, and that is what is tested
        ),
    )


def test_what_waits_for_room_in_a_file_over_its_limits_is_not_refused_the_next_time(memory_disk: Path) -> None:
    room = room_at(memory_disk / "ws", Config(memory=MemorySettings(max_lines=2)))
    room.workspace.longterm.write_text("# Old\n- inherited\n- two\n")
    for session, told in enumerate(("[PREF] Use Jest for the tests, not Typst", "I prefer Jest over Jest for reports")):
        daily.append_section(room, f"09:30 session:{session:08x} | 4 messages", [told])
    run.run_tidy(room)
    assert not run.run_tidy(room).steps
