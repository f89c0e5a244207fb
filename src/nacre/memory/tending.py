"""Looking after what is in memory: tidying, deciding, forgetting, fading, taking back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nacre.memory.reading import Reading
from nacre.words import say

if TYPE_CHECKING:
    from nacre.lifecycle.flush import Flush
    from nacre.lifecycle.flushanswer import Taken
    from nacre.lifecycle.flushcheck import Checked
    from nacre.lifecycle.forgetting import Choose, ForgetReport
    from nacre.lifecycle.organise import OrganiseReport
    from nacre.lifecycle.pin import PinPlan
    from nacre.lifecycle.promote import PromotePlan
    from nacre.lifecycle.target import Room
    from nacre.lifecycle.why import Why
    from nacre.model.plan import Step
    from nacre.model.verdict import Verdict
    from nacre.tidy.adopt import AdoptPlan
    from nacre.tidy.answers import Answer
    from nacre.tidy.decay import DecayReport
    from nacre.tidy.room import Room as Desk
    from nacre.tidy.run import TidyReport
    from nacre.vault.review import Item
    from nacre.vault.undo import UndoPlan


class Tending(Reading):
    """What is done with memories afterwards."""

    def judge(self, text: str, existing: Sequence[str] | None = None) -> Verdict:
        """The four-way test alone: would this text be admitted to long-term memory beside what exists? Writes nothing.

        Without `existing`, what stands in MEMORY.md counts.
        """
        from nacre.tidy.admit import judged_alone
        from nacre.vault import longterm

        if existing is None and self.scope.group is not None:
            existing = []
        if existing is None:
            here = longterm.read(self.workspace.longterm)
            existing = [entry.words for entry in here.entries] if here else []
        return judged_alone(self.brain, text, existing)

    def _desk(self) -> Desk:
        from nacre.tidy.room import Room as Desk

        self._must_be_private()
        return Desk(self.workspace, self.clock, self.config, lambda: self.brain)

    def tidy(self, *, dry_run: bool = False) -> TidyReport:
        """Press old days into weeks, distil what lasts into MEMORY.md, archive; then bring the index up to date."""
        from nacre.tidy.run import run

        report = run(self._desk(), dry_run=dry_run)
        if report.changed and not dry_run:
            self.index()
        return report

    def organise(self, *, dry_run: bool = False) -> OrganiseReport:
        """Bring every checkpoint into the layer where its age and its recalls put it; then bring the index up to date."""
        from nacre.lifecycle.organise import by_brain, organise

        self._must_be_private()
        summarise = by_brain(lambda: self.brain)
        report = organise(self.workspace, self.clock, self.config, summarise, dry_run=dry_run)
        if report.steps and not dry_run:
            self.index()
        return report

    def questions(self) -> list[Item]:
        """What long-term memory could not decide alone; `answer` takes the user's word on it."""
        from nacre.vault import review

        self._must_be_private()
        return review.read(self.workspace)

    def answer(self, answers: list[Answer], *, dry_run: bool = False) -> tuple[Step, ...]:
        """Carry out the user's answers to `questions`."""
        from nacre.tidy.answers import give

        steps = give(self._desk(), answers, dry_run=dry_run)
        if not dry_run:
            self.index()
        return steps

    def adopting(self) -> list[AdoptPlan]:
        """For each MEMORY.md that is over its limits: what would move where. Writes nothing."""
        from nacre.tidy.adopt import plan

        return plan(self._desk())

    def adopt(self, planned: Sequence[AdoptPlan]) -> None:
        """Carry out what `adopting` planned, with the user's consent."""
        from nacre.tidy.adopt import apply

        apply(self._desk(), planned)
        self.index()

    def undo(self, number: int | None = None, *, last: int = 1, dry_run: bool = False) -> UndoPlan:
        """Take an operation back by its number in `history`, or the last ones. What leaves long-term memory with it is not added
        again unasked."""
        from nacre.vault.undo import plan, undo

        self._must_be_private()
        return (plan if dry_run else undo)(self.workspace, self.clock, self.config, number, last=last)

    def forget(
        self,
        id_or_query: str,
        *,
        purge: bool = False,
        dry_run: bool = False,
        similar: bool = False,
        choose: Choose | None = None,
    ) -> ForgetReport:
        """Take a fact out of memory, with every line that says it: by the id of a hit, by its words, or by `path:line` and its words.
        `choose` is asked about everything else: a line number alone, a query, words that fit several things."""
        from nacre.lifecycle.forgetting import forgetting

        report = forgetting(self._room(), id_or_query, choose=choose, similar=similar, purging=purge, dry_run=dry_run)
        if report.purged and report.purged.rebuilt:
            self.index()
        return report

    def pin(self, id: str, *, off: bool = False, dry_run: bool = False) -> PinPlan:  # noqa: A002 - the word users know
        """Keep an entry of a MEMORY.md whatever happens, or no longer."""
        from nacre.lifecycle import pin
        from nacre.lifecycle.forgetting import one_target

        lines, target = one_target(room := self._room(), id)
        made = pin.plan(room, target, lines, off=off)
        if not dry_run:
            pin.apply(room, made)
        return made

    def why(self, id: str) -> Why:  # noqa: A002 - the word users know
        """Where a memory comes from: the lines, the session and the message behind it, and what the ledger tells."""
        from nacre.lifecycle.forgetting import one_target
        from nacre.lifecycle.why import why

        lines, target = one_target(room := self._room(), id)
        return why(room, target, lines)

    def flush(
        self,
        tokens: int | None = None,
        window: int | None = None,
        *,
        session: str = "default",
        compactions: int | None = None,
        dry_run: bool = False,
    ) -> Flush:
        """Whether the turn before compaction is due, with the prompts for it; without counts only the prompts. Never for a group."""
        from nacre.lifecycle import flush

        if self.scope.group is not None:
            return flush.Flush(flush.GROUP, say("In a group nothing is written down.", "群组范围内不作记录。"))
        place = self.workspace, self.clock, self.config
        if tokens is None or window is None:
            return flush.hindrance(*place) or flush.Flush("prompts", "", 0, *flush.handed_out(*place))
        return flush.ask(*place, tokens, window, session=session, compactions=compactions, dry_run=dry_run)

    def flush_answer(self, text: str, *, session: str = "default", dry_run: bool = False) -> Taken:
        """Take the agent's answer to the turn before compaction into today's log."""
        from nacre.lifecycle.flushanswer import take

        self._must_be_private()
        return take(self.workspace, self.clock, self.config, text, session=session, dry_run=dry_run)

    def flush_check(self, *, session: str = "default", restore: bool = False) -> tuple[Checked, tuple[str, ...]]:
        """Which reference files changed since a session got the prompts; those that were brought back, where asked for."""
        from nacre.lifecycle import flushcheck

        self._must_be_private()
        checked = flushcheck.check(self.workspace, self.clock, session)
        back = flushcheck.restore(self.workspace, self.clock, self.config, checked.touched) if restore else ()
        return checked, back

    def decay(self, *, promote_only: bool = False, dry_run: bool = False) -> DecayReport:
        """Promote what lasts in the oldest logs and archive them, where `tidy.retention` is "decay"."""
        from nacre.tidy.decay import run

        report = run(self._desk(), promote_only=promote_only, dry_run=dry_run)
        if report.changed and not dry_run:
            self.index()
        return report

    def promote(self, *, apply: bool = False, dry_run: bool = False) -> PromotePlan:
        """Nominate checkpoints that were recalled often, and write promote_report.md; with `apply`, carry out what it proposes."""
        from nacre.lifecycle import promote, promotereport

        desk = self._desk()
        if dry_run:
            return promote.plan(desk)
        made = promote.promote(
            desk,
            lambda op, made: promotereport.write(op, self.promote_report(made, applied=apply)),
            applying=apply,
        )
        if apply and made.promoted:
            self.index()
        return made

    def promote_report(self, made: PromotePlan, *, applied: bool = False) -> str:
        """What `promote` found, as Markdown."""
        from nacre.lifecycle.promotereport import report

        when = self.clock.now().isoformat(sep=" ", timespec="minutes")[:16]
        return report(made, self.workspace, when, applied=applied)

    def _room(self) -> Room:
        """What forgetting, pinning and asking why work with; none of it is for a group."""
        from nacre.lifecycle.target import Room

        self._must_be_private()
        return Room(self.workspace, self.clock, self.config, lambda: self.keeper, self.search)
