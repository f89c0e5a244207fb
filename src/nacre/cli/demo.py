"""nacre up --demo: what Nacre makes of two example weeks."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nacre.cli.base import echo, note, progress_bar, shown_path
from nacre.i18n import language, say, use_language

if TYPE_CHECKING:
    from nacre.demo.stage import Stage
    from nacre.demo.story import Answer, Story


_LONGEST = 118  # characters of a line that is shown


def demo(program: str, wanted: str | None, *, keep: bool) -> None:
    """Live through the two weeks in a folder of their own, tell about it, and remove the folder unless it is to be kept."""
    from nacre.demo.stage import live_through, prepare
    from nacre.demo.story import tell_story

    use_language(wanted or language())
    folder = Path(tempfile.mkdtemp(prefix="nacre-demo-"))
    begun = time.monotonic()
    finished = False
    try:
        stage = prepare(folder, language())
        note(
            f"{stage.talks} invented talks with Claude Code and OpenClaw, two weeks, in {shown_path(folder)}. Nothing of yours is read.",
            f"{stage.talks} 段虚构的对话（Claude Code 与 OpenClaw，为期两周），位于 {shown_path(folder)}。不会读取您的任何内容。",
        )
        with progress_bar(say("Two weeks", "两周")) as bar, live_through(stage, bar) as memory:
            story = tell_story(stage, memory)
        _show(story)
        seconds = time.monotonic() - begun
        note(f"Two weeks took {seconds:.0f} s.", f"两周共用时 {seconds:.0f} 秒。")
        finished = True
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        if not finished:
            note(say("The demo's folder is removed.", "演示文件夹已删除。") if not keep else shown_path(folder))
    _farewell(program, stage if keep else None)


def _show(story: Story) -> None:
    path, lines = story.log
    _title(say(f"What one day left in its log ({path})", f"某一天的日志（{path}）"))
    _list(lines)
    path, lines = story.week
    _title(say(f"The week that older days were pressed into ({path})", f"更早的日子压缩成的周报（{path}）"))
    _list(lines[:3], more=len(lines) - 3)
    _title(say("What lasts: MEMORY.md, at most 80 lines", "长期保留：MEMORY.md，最多 80 行"))
    _list(story.entries[:5], more=len(story.entries) - 5)
    if why := story.reason:
        _title(say("Why one of them is there", "其中一条为什么在那里"))
        _list((why.words, say(f"without it {why.without_it}", f"没有它，{why.without_it}")))
        _list((say(f"{why.day}: “{why.said}”", f"{why.day}：“{why.said}”"),))
    if story.changed:
        old, until, new = story.changed
        _title(say("A fact that changed", "发生变化的事实"))
        _list((say(f"{old}: held until {until}, then: {new}", f"{old}：有效至 {until}，之后：{new}"),))
    _title(
        say(
            f"What was not admitted: {story.refusals} lines, each with the tests that it failed",
            f"未被收录：{story.refusals} 行，各有未通过的测试",
        )
    )
    _list(f"{text}  ({_failed(failed)})" for text, failed in story.refused)
    _title(say("What was written nowhere", "哪里都没有写入的内容"))
    _list(_unwritten(story))
    _title(say("Asking", "提问"))
    _list(_answer(one) for one in story.answers)
    _title(say("The same from within the group chat", "在群聊中提问"))
    _list(_answer(one) for one in (story.private, story.shared))
    _title(say("What the next session is given", "下一次会话会得到"))
    tokens, parts = story.context_tokens, ", ".join(story.context_parts)
    layers = ", ".join(f"{count} {layer}" for layer, count in story.layers.items())
    _list((say(f"about {tokens} tokens: {parts}", f"约 {tokens} 个 token：{parts}"),))
    _list((say(f"whole talks, fading by layer: {layers}", f"完整对话，逐层淡去：{layers}"),))


def _unwritten(story: Story) -> list[str]:
    """The secret and the aside: looked for in every file, not merely believed to be absent."""
    found = [*story.secret_in, *story.unsaid_in]
    proof = (
        say(f"STILL FOUND IN {', '.join(found)}", f"仍存在于 {'、'.join(found)}")
        if found
        else say(
            f"the password, and what was not to be remembered: looked for in all {story.searched} files, in none of them",
            f"密码，以及要求不要记住的内容：已查遍全部 {story.searched} 个文件，均不存在",
        )
    )
    return [story.redacted, proof]


def _failed(tests: str) -> str:
    meaning = {
        "prevents_error": say("without it nothing goes wrong", "没有它也不会出错"),
        "broad": say("holds for this one talk", "只与这一次对话有关"),
        "self_contained": say("cannot be understood alone", "脱离上下文无法理解"),
        "novel": say("known already", "已经知道"),
    }
    return say(", ", "，").join(meaning.get(test.strip(), test) for test in tests.split(","))


def _answer(one: Answer) -> str:
    if one.hit is None:
        return say(f"{one.question} → nothing", f"{one.question} → 无结果")
    first = one.hit.snippet.strip().splitlines()[0].removeprefix("- ")
    return f"{one.question} → {first}  ({one.hit.layer}, {one.hit.date}, {one.hit.score:.2f})"


def _title(text: str) -> None:
    click.echo(click.style(text, bold=True))


def _list(lines: Iterable[str], *, more: int = 0) -> None:
    for line in lines:
        text = line.strip()
        click.echo("  " + (text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"))
    if more > 0:
        echo(f"  … and {more} more", f"  …… 另有 {more} 行")


def _farewell(program: str, stage: Stage | None) -> None:
    if stage is None:
        echo(
            f'\nAll of that was worked out just now; nothing was kept. "{program} up --demo --keep" keeps the folder to look around in,\n"{program} up" does the same with what you said to your own agents.',
            f"\n以上全部为刚才实际运行的结果，未保留任何文件。“{program} up --demo --keep”会保留文件夹供您查看，\n“{program} up”则处理您与自己的代理的对话。",
        )
        return
    from nacre.demo.stage import NOW
    from nacre.demo.story import QUESTIONS

    place = f"--workspace {stage.workspace.root} --now {NOW}"
    echo(
        f'\nKept in {stage.folder}; delete it whenever you like. Look around:\n  {program} search "{QUESTIONS["en"][0]}" {place}\n  {program} why MEMORY.md:8 {place}\n  {program} tidy --dry-run --verbose {place}',
        f'\n已保留在 {stage.folder}，可随时删除。可以试试：\n  {program} search "{QUESTIONS["zh"][0]}" {place}\n  {program} why MEMORY.md:8 {place}\n  {program} tidy --dry-run --verbose {place}',
    )
