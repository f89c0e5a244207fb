"""nacre up --demo: what Nacre makes of two example weeks."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli import ui
from nacre.i18n import language, say, use_language

if TYPE_CHECKING:
    from nacre.demo.story import Answer, Story


_LONGEST = 118  # characters of a line that is shown


def show_demo(program: str, spoken: str | None, *, keep: bool) -> None:
    """Live through the two weeks in a folder of their own, tell about it, and remove the folder unless it is to be kept."""
    from nacre.demo.stage import NOW, live_through, prepare
    from nacre.demo.story import QUESTIONS, tell_story

    use_language(spoken or language())
    folder, begun, finished = Path(tempfile.mkdtemp(prefix="nacre-demo-")), time.monotonic(), False
    try:
        stage = prepare(folder, language())
        ui.note(
            f"{stage.sessions} invented sessions with Claude Code and OpenClaw, two weeks, in {ui.shown_path(folder)}. Nothing of yours is read.",
            f"{stage.sessions} 段虚构的对话（Claude Code 与 OpenClaw，为期两周），位于 {ui.shown_path(folder)}。不会读取您的任何内容。",
        )
        with ui.progress_bar("Two weeks", "两周") as bar, live_through(stage, bar) as memory:
            story = tell_story(stage, memory)
        for title, lines in _sections(story):
            click.echo(click.style(title, bold=True))
            for line in map(str.strip, lines):
                click.echo("  " + (line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"))
        seconds = time.monotonic() - begun
        ui.note(f"Two weeks took {seconds:.0f} s.", f"两周共用时 {seconds:.0f} 秒。")
        finished = True
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        if not finished:
            ui.note(say("The demo's folder is removed.", "演示文件夹已删除。") if not keep else ui.shown_path(folder))
    place, (english, chinese) = (
        f"--workspace {stage.workspace.root} --now {NOW}",
        (QUESTIONS["en"][0], QUESTIONS["zh"][0]),
    )
    more = f"\n  {program} why MEMORY.md:8 {place}\n  {program} tidy --dry-run --verbose {place}"
    for line in ui.every(
        (
            not keep,
            f'\nAll of that was worked out just now; nothing was kept. "{program} up --demo --keep" keeps the folder to look around in,\n"{program} up" does the same with what you said to your own agents.',
            f"\n以上全部为刚才实际运行的结果，未保留任何文件。“{program} up --demo --keep”会保留文件夹供您查看，\n“{program} up”则处理您与自己的代理的对话。",
        ),
        (
            keep,
            f'\nKept in {stage.folder}; delete it whenever you like. Look around:\n  {program} search "{english}" {place}{more}',
            f'\n已保留在 {stage.folder}，可随时删除。可以试试：\n  {program} search "{chinese}" {place}{more}',
        ),
    ):
        click.echo(line)


def _sections(story: Story) -> list[tuple[str, list[str]]]:
    (day, day_lines), (week, week_lines), why = story.log, story.week, story.reason
    reasons = [why.words, *ui.every((True, f"without it {why.without_it}", f"没有它，{why.without_it}"))] if why else []
    reasons += ui.every((True, f"{why.day}: “{why.said}”", f"{why.day}：“{why.said}”")) if why else []
    old, until, new = story.changed or ("", "", "")
    found, count, tokens = [*story.secret_in, *story.unsaid_in], story.searched, story.context_tokens
    parts, layers = (
        ", ".join(story.context_parts),
        ", ".join(f"{count} {layer}" for layer, count in story.layers.items()),
    )
    proof = ui.every(
        (found, f"STILL FOUND IN {', '.join(found)}", f"仍存在于 {'、'.join(found)}"),
        (
            not found,
            f"the password, and what was not to be remembered: looked for in all {count} files, in none of them",
            f"密码，以及要求不要记住的内容：已查遍全部 {count} 个文件，均不存在",
        ),
    )
    given = ui.every(
        (True, f"about {tokens} tokens: {parts}", f"约 {tokens} 个 token：{parts}"),
        (True, f"whole sessions, fading by layer: {layers}", f"完整对话，逐层淡去：{layers}"),
    )
    sections = [
        (say(f"What one day left in its log ({day})", f"某一天的日志（{day}）"), [*day_lines]),
        (
            say(f"The week that older days were pressed into ({week})", f"更早的日子压缩成的周报（{week}）"),
            _beginning(week_lines, 3),
        ),
        (
            say("What lasts: MEMORY.md, at most 80 lines", "长期保留：MEMORY.md，最多 80 行"),
            _beginning(story.entries, 5),
        ),
        (say("Why one of them is there", "其中一条为什么在那里"), reasons),
        (
            say("A fact that changed", "发生变化的事实"),
            ui.every((new, f"{old}: held until {until}, then: {new}", f"{old}：有效至 {until}，之后：{new}")),
        ),
        (
            say(
                f"What was not admitted: {story.refusals} lines, each with the tests that it failed",
                f"未被收录：{story.refusals} 行，各有未通过的测试",
            ),
            [f"{text}  ({_failed(failed)})" for text, failed in story.refused],
        ),
        (say("What was written nowhere", "哪里都没有写入的内容"), [story.redacted, *proof]),
        (say("Asking", "提问"), [*map(_answer, story.answers)]),
        (say("The same from within the group chat", "在群聊中提问"), [_answer(story.private), _answer(story.shared)]),
        (say("What the next session is given", "下一次会话会得到"), given),
    ]
    return [section for section in sections if section[1]]


def _beginning(lines: Sequence[str], count: int) -> list[str]:
    rest = len(lines) - count
    return [*lines[:count], *ui.every((rest > 0, f"… and {rest} more", f"…… 另有 {rest} 行"))]


def _failed(tests: str) -> str:
    meaning = {
        "prevents_error": say("without it nothing goes wrong", "没有它也不会出错"),
        "broad": say("holds for this one session", "只与这一次对话有关"),
        "self_contained": say("cannot be understood alone", "脱离上下文无法理解"),
        "novel": say("known already", "已经知道"),
    }
    return say(", ", "，").join(meaning.get(test.strip(), test) for test in tests.split(","))


def _answer(answer: Answer) -> str:
    question, hit = answer.question, answer.hit
    if hit is None:
        return say(f"{question} → nothing", f"{question} → 无结果")
    line = hit.snippet.strip().splitlines()[0].removeprefix("- ")
    return f"{question} → {line}  ({hit.layer}, {hit.date}, {hit.score:.2f})"
