"""How values are shown: moments, links in text, and the difference of two wordings. Every word is escaped."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from nacre.i18n import say
from nacre.memory import printable

_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>\"'`，。；、）】」]+[^\s<>\"'`.,;:!?)\]，。；、）】」]")
_WORD = re.compile(r"\s+|[\w.\-/@]+|[^\w\s]", re.ASCII)
_BARS = 366  # days
_ALIKE, _FEW = 0.6, 12  # how alike two wordings are that are shown in one, and how few pieces always are
_BAR = Markup(
    '<a href="/timeline?since={0}&amp;until={0}" aria-label="{1}: {2}"><rect class="hit-area" x="{3}" width="10" height="48"/>'
    '<rect class="{4}" x="{5}" y="{6}" width="8" height="{7}" rx="1"><title>{1}: {2}</title></rect></a>'
)


def plain(value: Any) -> Any:
    """A value as a template prints it: text without what the eye cannot see. What is markup already was made of such text."""
    return printable(value) if type(value) is str else value


def homely(path: str) -> str:
    """A path with the home folder as ~."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path


_NAMES = {
    "owner": ("you", "你"), "agent": ("agent", "智能体"), "other": ("somebody else", "他人"),
    "longterm": ("long-term memory", "长期记忆"), "daily": ("daily log", "每日日志"), "weekly": ("weekly digest", "每周摘要"),
    "archive": ("archived log", "归档日志"), "note": ("note", "笔记"), "hot": ("hot", "热"), "warm": ("warm", "温"),
    "gist": ("gist", "摘要"), "forgotten": ("forgotten", "遗忘"), "session": ("session", "会话"), "extra": ("other folder", "其他文件夹"),
    "state": ("working memory", "工作记忆"), "hybrid": ("words and meaning", "词语与语义"), "text": ("words only", "仅词语"),
    "vector": ("meaning only", "仅语义"),
    "words": ("matching words", "词语匹配"), "coverage": ("share of the question matched", "覆盖问题的比例"), "meaning": ("similar meaning", "语义相近"),
    "near": ("closer in meaning than most", "语义比多数更近"), "either": ("higher of the word and meaning scores", "词语与语义的较高者"), "phrase": ("adjacent words", "相邻词语"),
    "before": ("previous entry matches", "前一条相关"), "around": ("nearby entries match", "周围条目相关"), "filled": ("rest matched by neighbours", "由相邻条目补全"),
    "answers": ("follows a question", "紧接一个问题"), "question": ("is a question itself", "本身是问题"), "brief": ("short", "简短"),
    "when": ("mentions a time", "包含时间"), "amount": ("mentions an amount", "包含数量"), "period": ("from the period asked about", "属于所问时段"), "agents": ("said by the agent", "智能体所说"),
    "bm25": ("word score (BM25)", "词语得分（BM25）"), "cosine": ("meaning score (cosine)", "语义得分（余弦）"),
    "time": ("time", "时间"), "day": ("day", "日期"), "type": ("type", "类型"), "speaker": ("speaker", "说话人"), "group": ("group", "群组"),
    "sync": ("capture (sync)", "采集（sync）"), "tidy": ("tidy", "整理（tidy）"), "organise": ("organise layers", "整理各层（organise）"),
    "remember": ("remember", "记住"), "forget": ("forget", "忘记"), "pin": ("pin", "固定"), "edit": ("edit", "修改"), "undo": ("undo", "撤销"),
    "review": ("answer", "答复（review）"), "recall": ("restore", "恢复"), "checkpoint": ("checkpoint", "检查点"), "init": ("create workspace", "创建工作区"),
}  # fmt: skip


def name(value: str) -> str:
    """The name of a layer, a part of a score or a command in the user's language."""
    return say(*_NAMES.get(value, (value, value)))


def day(value: str | None) -> str:
    return (value or "")[:10]


def moment(value: str | None) -> str:
    return (value or "")[:16].replace("T", " ")


def day_name(value: str) -> str:
    """A day as people name it."""
    date = dt.date.fromisoformat(value[:10])
    return say(f"{date:%a} {date.day} {date:%b}", f"{date.month} 月 {date.day} 日 周{'一二三四五六日'[date.weekday()]}")


def day_bars(counts: Mapping[str, int], since: str, until: str) -> Markup:
    """A bar for each day, each leading to that day; those of the range are marked. Days behind the range stay, to choose another."""
    last = dt.date.fromisoformat(max(until, *counts) if counts else until).toordinal()
    first = max(1, last - _BARS + 1, min(dt.date.fromisoformat(day).toordinal() for day in (since, *counts)))
    days = [dt.date.fromordinal(number).isoformat() for number in range(min(first, last), last + 1)]
    most, bars = max(counts.values(), default=1) or 1, []
    for place, day in enumerate(days):
        if count := counts.get(day):
            height, inside, left = (
                max(3, round(46 * count / most)),
                "in" if since <= day <= until else "out",
                place * 10,
            )
            bars.append(_BAR.format(day, day_name(day), count, left, inside, left + 1, 48 - height, height))
    return Markup(
        '<svg class="days" viewBox="0 0 {} 48" preserveAspectRatio="none" role="group" data-first="{}">{}</svg>'
        '<p class="axis"><span>{}</span><span>{}</span></p>'
    ).format(len(days) * 10, days[0], Markup("").join(bars), day_name(days[0]), day_name(days[-1]))


def linked(text: str | None) -> Markup:
    """The text with links to the web and to mail addresses, and to nothing else."""
    parts, at, text = [], 0, printable(text or "")
    for match in _LINK.finditer(text):
        link = Markup('<a href="{0}" rel="noopener noreferrer" target="_blank">{0}</a>').format(match[0])
        parts += [escape(text[at : match.start()]), link]
        at = match.end()
    return Markup("").join([*parts, escape(text[at:])])


def diff(after: str, before: str) -> Markup:
    """The new wording, with removed and added words marked."""
    old, new = _WORD.findall(printable(before)), _WORD.findall(printable(after))
    matcher, parts = difflib.SequenceMatcher(None, old, new, autojunk=False), []
    # Where hardly a word stayed, two sentences are easier to read than their pieces.
    if min(len(old), len(new)) > _FEW and matcher.ratio() < _ALIKE:
        return Markup("<del>{}</del> <ins>{}</ins>").format("".join(old), "".join(new))
    for tag, first, last, start, end in matcher.get_opcodes():
        if tag != "equal" and first < last:
            parts.append(Markup("<del>{}</del>").format("".join(old[first:last])))
        if start < end:
            words = "".join(new[start:end])
            parts.append(escape(words) if tag == "equal" else Markup("<ins>{}</ins>").format(words))
    return Markup("").join(parts)
