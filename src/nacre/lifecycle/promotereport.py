"""promote_report.md: who is nominated for promotion, by which rule, and where each line would go."""

from __future__ import annotations

from collections.abc import Iterator

from nacre.brain.local.pieces import pieces
from nacre.lifecycle.promote import Promoted, PromotePlan
from nacre.model.plan import Step
from nacre.tidy.words import word
from nacre.vault import atomic
from nacre.vault.append import REDACT, guarded
from nacre.vault.operation import Operation
from nacre.vault.rewrite import rewrite
from nacre.vault.skills import must_be_itself
from nacre.vault.workspace import Workspace
from nacre.words import say


def report(made: PromotePlan, workspace: Workspace, when: str, *, applied: bool) -> str:
    """The report as Markdown."""
    lines = [f"# {say('Promotion report', '晋升报告')}", "", f"{when} | {_count(len(made.promoted))}"]
    if made.promoted:
        lines[-1] += " | " + (
            say("carried out", "已执行")
            if applied
            else say("nothing is carried out yet: nacre promote --apply", "尚未执行：nacre promote --apply")
        )
    if not made.promoted:
        lines += ["", nobody()]
    by_words = {step.detail: step for step in made.distilled.steps if step.detail}
    for one in made.promoted:
        lines += ["", f"## {one.path}", ""]
        lines += _about(one)
        lines += _where(one, by_words, workspace, applied=applied)
    return guarded("\n".join(lines) + "\n", REDACT)


def nobody() -> str:
    return say(
        "Nobody is nominated: no checkpoint was recalled often enough, or marked.",
        "没有候选：没有检查点被足够频繁地调用或标记。",
    )


def _count(number: int) -> str:
    return say(f"{number} candidate{'' if number == 1 else 's'}", f"{number} 个候选")


def _about(one: Promoted) -> Iterator[str]:
    who = one.nominee
    marked = say("yes", "是") if who.marked else say("no", "否")
    yield f"- {say('title', '标题')}: {one.title}"
    yield "- " + say(
        f"recalls: {who.total} in all, {who.week} in 7 days, {who.fortnight} in 14 days; user_marked: {marked}",
        f"调用：共 {who.total} 次，7 天内 {who.week} 次，14 天内 {who.fortnight} 次；user_marked：{marked}",
    )
    yield f"- {say('rule', '规则')}: {who.rule}"


def _where(one: Promoted, by_words: dict[str, Step], workspace: Workspace, *, applied: bool) -> Iterator[str]:
    goes = say("goes to", "写入") if not applied else say("went to", "已写入")
    for lesson in one.lessons:
        place = workspace.relative(workspace.root / "skills" / lesson.skill / "docs" / "retrospect.md")
        there = say(" (stands there already)", "（已存在）") if lesson.known else ""
        yield f"- {goes} {place}: {lesson.text}{there}"
    for step in _steps(one, by_words):
        yield f"- {word(step.action)} {step.path}: {step.detail} ({step.reason})"
    if not one.lessons and not any(True for _ in _steps(one, by_words)):
        yield "- " + say(
            "nothing in it passes into long-term memory that was not decided before",
            "其中没有尚未决定的内容可进入长期记忆",
        )


def _steps(one: Promoted, by_words: dict[str, Step]) -> Iterator[Step]:
    """The steps of the tests that speak of this checkpoint's lines: whole, or a statement of one."""
    said = [piece.text.casefold() for line in one.lines for piece in pieces(line.words)]
    for words, step in by_words.items():
        told = words.casefold()
        if any(text in told or told in text for text in said):
            yield step


def write(op: Operation, text: str) -> None:
    """Put the report where users and agents look for it; the same again, but for its time, is not written."""
    path = op.workspace.root / "promote_report.md"
    must_be_itself(op.workspace, path)
    before = atomic.read_bytes(path)
    if before is None or _without_time(before.decode("utf-8", "replace")) != _without_time(text):
        rewrite(op, path, text.encode(), read=None if before is None else atomic.digest(before))


def _without_time(text: str) -> str:
    return "\n".join(line.partition(" | ")[2] if number == 2 else line for number, line in enumerate(text.split("\n")))
