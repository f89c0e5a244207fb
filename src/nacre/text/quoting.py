"""Whose words a text holds: what its speaker says, and what is pasted, quoted or reported, which is nobody's word.

A message is split line by line into parts that are the speaker's own or quoted; a sentence is looked at for reported speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, islice, pairwise
from typing import NamedTuple

from nacre.text.tokens import compiled, sentences

LONGEST = 6000  # characters that people type; what is longer is pasted, and its beginning and end say what it is for
_LEAD_IN = 200  # characters of a paragraph that may introduce what follows it, or remark on what stands before it
_LEAST = 24  # characters that a pasted text has at least; a Han character counts as two


class Part(NamedTuple):
    """Lines of a message that belong together; `quoted`: somebody else wrote them."""

    text: str
    quoted: bool


# Marks within a line or over several: comments, elements on one line, chat templates.
_COMMENT = r"(?s)<!--.*?(?:-->|\Z)"
_ELEMENT = r"<([a-zA-Z][\w-]{0,30})(?:\s[^<>\n]{0,500})?>[^\n]{0,2000}?</\1>"
_OPENS = r"\s*<([a-zA-Z][\w-]{0,30})(?:\s[^<>]{0,500})?>"
_TEMPLATE = r"(?i)<\|(?:im_start|system|user|assistant)\|>|\[INST\]|<<SYS>>|\A\s*#{1,4}\s*(?:Instruction|System)\b"
_TEMPLATE_END = r"(?i)<\|(?:im_end|end\w*)\|>|\[/INST\]|<</SYS>>|\A\s*#{1,4}\s*(?:Response|Output)\b"
_FENCE = r"\s*(`{3,}|~{3,})"
_BLOCK_QUOTE = r"\s*>|\s*\|.*\|\s*\Z"
_MENTION = r"\A(?:@[\w.-]+[\s,，:：]*)+"

# Lines that no one types in a chat, by what they come from.
_LOG = r"\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:ERROR|WARN|INFO|DEBUG|TRACE)\b|Traceback |File \"|at [\w.$]+\(|\$ |#!|[{}\[\]]|</?\w)"
_OUTPUT = r"\s*(?:[$%] \w|>>> |Traceback \(most recent)"  # a command, and what it printed up to a blank line
_CODE = (
    r"\s*(?://|/\*|\*/|(?:async )?def \w+\(|class \w+.*[:{]\s*\Z|import \w|from [\w.]+ import |(?:const|let|var) \w+ =|(?:public|private) \w|return\b"
    r"|\"[^\"\n]{1,80}\"\s*:\s|\"\"\"|[\w.]{1,60}\(.{0,200}\);?\s*\Z|.{0,200}[=(].{0,200}[;{]\s*\Z|[{}]\s*\Z)"
)
_DIFF = r"(?:@@ |--- \S|\+\+\+ \S|diff --git |commit [0-9a-f]{7,}\b|Author: |index [0-9a-f]{6,}\.\.)"
_CHANGED = r"[+-](?![ \t])\S| {1,4}\S"
_YAML = r"(?m)^[a-z][\w-]{0,40}:[ \t]*\n(?:[ \t]+(?:-|\w).*\n?)+[a-z][\w-]{0,40}:"
_INDENTED = r"(?: {4,}|\t)\S"
_HEADER = (
    r"(?i)\s*\**(?:from|to|cc|bcc|subject|date|sent|reply-to|发件人|收件人|主题|抄送|发送时间|日期)\**\s*[:：]\s*\S"
)
_ENVELOPE = r"(?i)\s*-{2,}\s*(?:Forwarded|Original) message|\s*On .{4,80} wrote:\s*\Z|\s*Begin forwarded message|-+\s*(?:转发|原始)邮件|\s*BEGIN:V"
_SPEAKER = r"\s*(?:\[?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?\]?[ ,-]*)?<?(?P<who>(?:Speaker \d|[A-Z][\w'’.-]{1,20}(?: [A-Z][\w'’.-]{1,20})?|[\u4e00-\u9fff]{2,4}|[QA]\d?))>?\s*[:：]\s*\S"
_STAMPED = r"\s*\[?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?\]?[ ,-]+<?[\w\u4e00-\u9fff]"
_ROLES = frozenset("user assistant system human ai bot speaker q a 用户 助手 系统 客服".split())
_RECORD = r"(?i)\s*\**(?:minutes|present|attendees|agenda|action items?|next meeting|apologies|会议纪要|参会|出席|议题|下次会议)\**\s*[:：,，]"
_PAGE = (
    r"(?i)accept (?:all )?cookies|subscribe to|read more|all rights reserved|privacy policy|terms of (?:service|use)|unsubscribe|©"
    r"|\bclick here\b|sign up (?:now|for)|apply now|related (?:articles|posts)|minutes? read\b|阅读(?:原文|更多)|版权所有|点击关注|(?:#[\w\u4e00-\u9fff]+\s*){2,}\Z"
)
_CHAPTER = r"(?i)\s*#{1,4}\s*(?:installation|usage|getting started|quick ?start|licen[sc]e|contributing|table of contents|troubleshooting|安装|使用方法|用法|快速开始|许可证?|贡献)\s*\Z"
_SENDER = r"\s*(?:[A-Z][\w'’.-]+(?: [A-Z][\w'’.-]+)?|[\u4e00-\u9fff]{2,4})[ \t,]{1,4}\d{1,2}:\d{2}(?: ?[AP]M)?\s*\Z"
_BADGE = r"\s*\[?!\[[^\]]*\]\("
_CLAUSE = r"(?i)\s*(?:(?:section|article|clause) \d|§ ?\d|第[一二三四五六七八九十\d]+条|\d{1,2}\. [A-Z]\w+\. )"
_VERSION = r"\s*#*\s*\[?v?\d+\.\d+(?:\.\d+)?\]?(?: .{0,30})?\Z"
_GREETING = r"(?i)\s*(?:dear|hello|hi|hey|good (?:morning|day))\b[^.!?\n]{0,40}[,!:]\s*\Z"
_TO_MANY = r"(?i)\s*(?:dear|hello|hi|hey)\b[^.!?,\n]{0,20}\b(?:all|team|everyone|everybody|colleagues|friends?|customers?|folks|members)\b[,!:]\s*\Z|\s*(?:各位|尊敬的|亲爱的)[^。！？\n]{0,12}[:：]"
_SIGN_OFF = r"(?i)\s*(?:(?:(?:best|kind|warm|many) )?(?:regards|wishes|greetings)|best|cheers|sincerely|yours\b.{0,20}|many thanks|thanks|此致|祝好|顺颂.{0,6}|敬上|谢谢)[,，.!！]?\s*\Z"
_TO_MACHINES = (
    r"(?i)\b(?:AI|LLM|language model)s?\b[^.\n]{0,30}\b(?:must|should|reading|read this|remember)\b|\bassistants? reading\b|\b(?:AI )?assistants?\b[:,]? (?:must|your user|the user)"
    r"|\bignore (?:all |any |the )?(?:previous|prior|above|earlier)\b|\b(?:remember|note|store|record) that the user\b|\bthe user (?:always|prefers|likes|wants|has asked|agreed)\b|system prompt"
    r"|忽略(?:以上|之前|前面|上述)|(?:记住|记录)[^，。]{0,4}用户(?:喜欢|偏好|想要|要求|总是)|(?:AI|人工智能|大模型)[^，。]{0,10}(?:必须|应当|应该|请记住)"
)

# What people write that others read: a line that names one of these and ends in a colon, or brings one along, is followed by it.
_TEXTS = (
    r"(?:articles?|pages?|web ?sites?|posts?|blogs?|e?-?mails?|messages?|threads?|docs?|documentation|readme|contributing|wiki|manual|handbook|guide|runbook|logs?|output|errors?"
    r"|trace(?:back)?|transcripts?|snippets?|text|quotes?|letters?|repl(?:y|ies)|comments?|issues?|tickets?|reviews?|notes?|notice|minutes|pdf|paper|chat|channel|invite|bio|prompt"
    r"|newsletter|changelog|release notes|terms|tutorial|answers?|advert|discussion|story|poem|lines|file)"
)
_TEXTS_CHINESE = r"(?:文章|网页|网站|页面|官网|邮件|日志|报错|输出|原文|聊天记录|帖子|来信|通知|公告|回复|文档|手册|说明书?|注释|教程|报告|评论|群里|消息|博客|介绍|README|CONTRIBUTING)"
_A_TEXT = rf"(?:\b(?:this|that|an?|their|his|her|its|the|another|old)\b|\w['’]s\b)[^.!?:\n]{{0,30}}\b{_TEXTS}\b|\b{_TEXTS}\b (?:#\d+|from|by|of|on)\b"
_A_TEXT_CHINESE = (
    rf"(?:这|那|的|某|条|收到|看到|群里)[^，。：:\n]{{0,8}}{_TEXTS_CHINESE}|{_TEXTS_CHINESE}(?:内容|原文|如下|里|上|中)"
)
_BRINGS = (
    rf"(?i)\b(?:here(?:'s| is| are)|this is|pasted?|below is|forwarded|(?:got|found|see|look at) (?:this|these))\b(?: [\w'’.-]+){{0,5}}? {_TEXTS}\b"
    rf"|(?:{_A_TEXT})[^.!?\n]{{0,60}}:\s*\Z|\bhere(?:'s| is) what (?:they|he|she|it|somebody)\b|\bwhat I got\b|\A\W*from (?:slack|teams|discord|reddit|twitter|x|linkedin|whatsapp|telegram|the (?:web|internet|channel))\b"
    rf"|(?<!I )(?<!we )\b(?:sent|forwarded|gave|showed|posted|shared) (?:me|us|this|these)\b|\bfound (?:this )?in\b.{{0,40}}:\s*\Z"
    rf"|(?:{_A_TEXT_CHINESE})[^。！？\n]{{0,14}}[:：]\s*\Z|(?:如下|下面(?:是|这)|以下是|贴(?:给你|一下|过来)|转发)[^。！？\n]{{0,24}}[:：]?\s*\Z|(?<!我)(?:发了这|发了一|发来|转来|发给我|转给我)"
)
# Asking for something to be done to a text, or about "this": it stands beside the question.
_WORK_ON = (
    r"(?i)\b(?:summari[sz]e|proofread|translate|shorten|paraphrase|rephrase|reword|polish|tl;?dr|convert to|(?:turn|make|sort|put) (?:it|them|this|these)\b[\w ]{0,30}\b(?:into|by|in|sound)|clean up this"
    r"|(?<!for )feedback on|what(?:'s| is) your (?:opinion|take|view)|what do you (?:think|make)|do you agree)\b"
    r"|\A\W*(?:(?:please|pls|can you|could you) )*(?:correct|grade|answer|reply to|respond to)\b|翻译|翻成|译成|润色|总结|概括|缩写|校对|改写|压缩到|提炼|精简|整理成|怎么看|什么意思|有没有问题"
)
_DEICTIC = (
    r"(?i)\b(?:this|these|here|below|the following)\b(?! (?:repo\w*|project|week|month|year|time|morning|afternoon|evening|branch|session|machine|server|folder|app|service"
    r"|feature|bug|release|sprint|quarter|team|company|job|task|way|module|function|test|build|point|moment|one|rule|convention)\b)"
    r"|\b(?:they|he|she|somebody|someone)\b (?:wants?|wrote|says?|said|means?|changed?|asks?)|\A(?:review|explain|thoughts|anything)\b"
    r"|(?:这|以下|下面|如下)(?!个(?:项目|仓库|分支|月|周|功能|版本)|次|样|边|里|周|几天|两天)"
)
_ASKS = (
    r"(?i)[?？:：]\s*\Z|\A\W*(?:lol |hey |ok |please |pls |can you |could you )*(?:look|read|check|see|explain|review|make|turn|sort|put|give|compare|fix|edit|describe|rate|judge|comment|what|which|who|why|how|is|are|does)\b"
    r"|\bplease\s*\Z|看看|看下|看一下|帮我|解释|怎么样|靠谱"
)
# Announcing what one has to say oneself.
_OWN_LIST = (
    r"(?i)\b(?:rules?|conventions?|preferences?|principles|requirements|things|points|steps|tasks|to-?dos?|remember|keep in mind|from now on|decisions?|how we|we|our|take|keep only)\b"
    r"|规矩|规则|约定|要求|几点|几条|事项|偏好|习惯|以后|我们|只记|只取|记一条"
)
_LETTER = 3  # lines from the greeting to the good wishes
_URL = r"https?://"
# A paragraph behind a pasted text in which the speaker takes the word again.
_REMARK = (
    rf"(?i)[?？]\s*\Z|\b(?:can|could|would|will) you\b|\A\W*(?:please|pls)\b|\b(?:from|of|on|about|in|with) (?:this|that|it)\b|\b(?:this|that|the) {_TEXTS}\b|\bthe above\b"
    r"|\b(?:for|as for) (?:us|me)\b|\bin our case\b|\bmy (?:rule|take|view|decision|answer|opinion)\b"
    r"|帮我|你(?:觉得|看|同意|怎么)|这(?:封|篇|段|条|份)|上面|以上|我的(?:规矩|意见|看法|决定)|我们这(?:边|里)|只记|只取"
)


def _has(expression: str, text: str) -> bool:
    return compiled(expression).search(text) is not None


def _is(expression: str, text: str) -> bool:
    """Whether a text begins with an expression."""
    return compiled(expression).match(text) is not None


def parts(text: str, *, typed: bool = True) -> list[Part]:
    """A message split into the speaker's own lines and quoted ones. Not `typed`: an agent's, which is written in Markdown and
    tells of pages in its own words; only what is plainly set apart is quoted there."""
    text = compiled(_MENTION).sub("", compiled(_COMMENT).sub("\n", text.strip()))
    lines = [compiled(_ELEMENT).sub(" ", line) for line in text.splitlines()]
    quoted = _set_apart(lines)
    own = [at for at, was in enumerate(quoted) if not was]
    total = sum(len(lines[at]) for at in own)
    if total > LONGEST:  # all lines but the first and the last are pasted
        head, tail = (_LEAD_IN, _LEAD_IN) if typed else (LONGEST // 2, LONGEST // 4)
        for at, reached in zip(own, accumulate(len(lines[at]) for at in own), strict=True):
            quoted[at] = reached > head and total - reached + len(lines[at]) > tail
    if typed:
        _mark_documents(lines, quoted)
        _mark_announced(lines, quoted)
    marked = list(zip(lines, quoted, strict=True))
    if typed:
        marked = [part for line, was in marked for part in ([(line, was)] if was else _in_line(line))]
    runs = groupby(marked, lambda marked_line: marked_line[1])
    return [Part("\n".join(line for line, _ in run), is_quoted) for is_quoted, run in runs]


def own_words(text: str, *, typed: bool = True) -> str:
    return "\n".join("" if part.quoted else part.text for part in parts(text, typed=typed))


def _in_line(line: str) -> Iterator[tuple[str, bool]]:
    """A line, cut where it goes on with what it says that another says: "it says: always X. Never Y." The sentence that says so
    stays, as the report that it is, and so does a remark behind it."""
    colons = (match.end() for match in islice(compiled(_COLON).finditer(line), 5))
    colon = next((end for end in colons if _reporting(line[:end])), None)
    said = compiled(_QUOTATION).match(line, colon) if colon else None
    stop = said or (compiled(_STOP).search(line, colon) if colon else None)
    end = stop.end() if stop else len(line)
    yield line[:end], False
    rest = line[end:].strip()
    if said:
        yield rest, False
        return
    for sentence in filter(None, (part.strip() for part in compiled(_STOP).split(rest))):
        is_asked = rest[rest.find(sentence) + len(sentence) :][:1] in "?？"
        yield sentence, not (is_asked or _has(_REMARK, sentence))


def _set_apart(lines: Sequence[str]) -> list[bool]:
    """Which lines are fenced, block-quoted, tables, markup, code, logs, or speak to machines."""
    quoted = [_is(_BLOCK_QUOTE, line) or _has(_TO_MACHINES, line) for line in lines]
    until: str | None = None
    tags = [re.findall(r"</([a-zA-Z][\w-]{0,30})>", line) for line in lines]
    closing = {name.lower(): at for at, names in enumerate(tags) for name in names}
    for at, line in enumerate(lines):
        if until is not None:
            quoted[at] = True
            until = None if re.search(until, line) else until
        elif fence := compiled(_FENCE).match(line):
            quoted[at], until = True, rf"\A\s*{fence[1][0]}{{{len(fence[1])},}}\s*\Z"
        elif _has(_TEMPLATE, line):
            quoted[at], until = True, None if _has(_TEMPLATE_END, line) else _TEMPLATE_END
        elif (opens := compiled(_OPENS).match(line)) and closing.get(opens[1].lower(), -1) > at:
            quoted[at], until = True, rf"(?i)</{re.escape(opens[1])}>"
    for at in range(1, len(lines)):
        before = lines[at - 1]
        if _is(_INDENTED, lines[at]) and (_is(_INDENTED, before) or _is(_CODE, before)):
            quoted[at] = quoted[at - 1] = True
    logged = [_is(_LOG, line) for line in lines]
    # A lone odd line may be a message; several are a log.
    return [was or log for was, log in zip(quoted, logged, strict=True)] if sum(logged) >= 3 else quoted


def _mark_documents(lines: Sequence[str], quoted: list[bool]) -> None:
    """Mark mails, chats of others, code, output and pages by their own lines: no announcement is needed."""
    if (begin := _document(lines, quoted)) is not None:
        _quote_from(begin, lines, quoted)
    for first, last in _paragraphs(lines, quoted):
        own = lines[first:last]
        yaml = compiled(_YAML).search("\n".join(own))
        named = {
            at: match["who"].rstrip("0123456789 ").lower()
            for at, line in enumerate(own)
            if (match := compiled(_SPEAKER).match(line))
        }
        stamped = sum(_is(_STAMPED, own[at]) for at in named)
        names = set(named.values())
        chat = stamped >= 2 or (len(named) >= 2 and names <= _ROLES)
        chat = chat or (len(named) >= 3 and len(named) > len(names) > 1)
        code = [at for at, line in enumerate(own) if _is(_CODE, line)]
        begins = [at for at, line in enumerate(own) if _is(_OUTPUT, line)][:1]
        begins += code[:1] if len(code) >= 2 else []
        begins += [yaml.string.count("\n", 0, yaml.start())] if yaml else []
        begins += [min(named)] if chat else []  # people other than the speaker talk with each other
        if begins:
            quoted[first + min(begins) : last] = [True] * (last - first - min(begins))
    if any(map(compiled(_DIFF).match, lines)):
        for at, line in enumerate(lines):
            quoted[at] |= _is(_DIFF, line) or _is(_CHANGED, line) or line.startswith("Date:")


def _document(lines: Sequence[str], quoted: Sequence[bool]) -> int | None:
    """Where a mail, a page, a manual, minutes or terms begin that the message holds."""
    free = [at for at, was in enumerate(quoted) if not was and lines[at].strip()]
    if (envelope := next((at for at in free if _is(_ENVELOPE, lines[at])), None)) is not None:
        return envelope
    for form, count in ((_HEADER, 2), (_CHAPTER, 1), (_BADGE, 1), (_CLAUSE, 2), (_RECORD, 2), (_SENDER, 2)):
        met = [at for at in free if _is(form, lines[at])]
        if len(met) >= count:
            titles = [at for at in free if at <= met[0] and lines[at].startswith("# ")]
            return (titles or met)[0]
    page = next((at for at in free if _has(_PAGE, lines[at])), None)
    if page is not None and len(free) >= 4:  # it begins behind a short first paragraph that asks, else with the message
        (first, last), *others = _paragraphs(lines, quoted)
        return others[0][0] if others and last <= page and _asks(" ".join(lines[first:last])) else first
    greeting = next((at for at in free if _is(_GREETING, lines[at]) or _is(_TO_MANY, lines[at])), None)
    if greeting is not None:
        # A letter of some lines ends with good wishes and a name; a short message that greets and signs is its writer's own.
        said = [line.strip() for line in lines[greeting:] if line.strip()]
        ends = enumerate(pairwise(said))
        names = ((at, name) for at, (wishes, name) in ends if _is(_SIGN_OFF, wishes))
        signed = (at for at, name in names if len(name) <= 40 and name[-1] not in ".?!。")
        if _is(_TO_MANY, lines[greeting]) or next(signed, 0) >= _LETTER:
            return greeting
    version = next((at for at in free if _is(_VERSION, lines[at])), None)
    return version if version is not None and sum(at > version for at in free) >= 2 else None


def _mark_announced(lines: Sequence[str], quoted: list[bool]) -> None:
    """Mark what follows a line that announces a text of somebody else, or asks for work on one."""
    blocks = list(_paragraphs(lines, quoted))
    for number, (first, last) in enumerate(blocks[:3]):
        announcing = next((at for at in range(first, min(last, first + 4)) if _announces(lines[at])), None)
        if announcing is not None and announcing + 1 < last:
            return _quote_from(announcing + 1, lines, quoted)
        text = " ".join(lines[first:last])
        if number + 1 == len(blocks) or blocks[number + 1][0] != last + 1:
            continue
        begin = blocks[number + 1][0]
        following = "\n".join(lines[begin:])
        # More than the sentence by which one goes on after a question.
        passage = number == 0 and _width(following) >= 60 and len(compiled(_STOP).split(following.strip())) > 1
        if announcing is not None or ((passage or _has(_WORK_ON, text)) and _asks(text)):
            return _quote_from(begin, lines, quoted)
    closing = " ".join(lines[slice(*blocks[-1])]) if len(blocks) > 1 else ""
    works_on = len(closing) <= _LEAD_IN and _has(_WORK_ON, closing)
    if works_on and _has(_DEICTIC, closing):  # "proofread this" below a text
        for first, last in blocks[:-1]:
            quoted[first:last] = [True] * (last - first)
    return None


def _announces(line: str) -> bool:
    if len(line) > _LEAD_IN or _has(_URL, line):
        return False
    if line.rstrip().endswith((":", "：")) and _reporting(line):
        return True
    return _has(_BRINGS, line) and not (_has(_OWN_LIST, line) and not _has(_TEXT_NOUN, line))


def _asks(paragraph: str) -> bool:
    """Whether a paragraph asks about, or for work on, a text that must stand beside it."""
    if len(paragraph) > _LEAD_IN or _has(_URL, paragraph) or _has(_OWN_LIST, paragraph):
        return False
    return _has(_WORK_ON, paragraph) or (_has(_DEICTIC, paragraph) and _has(_ASKS, paragraph))


def _width(text: str) -> int:
    return sum(2 if character > "\u2e80" else 1 for character in text)


def _quote_from(begin: int, lines: Sequence[str], quoted: list[bool]) -> None:
    """Mark everything from a line on but a closing remark; where what follows is set apart already, that is all there is."""
    following = next((at for at in range(begin, len(lines)) if lines[at].strip()), None)
    if following is None or _width(" ".join(lines[begin:])) < _LEAST:
        return
    if quoted[following] and any(_is(mark, lines[following]) for mark in (_BLOCK_QUOTE, _FENCE, _OPENS)):
        return
    blocks = [block for block in _paragraphs(lines, quoted) if block[1] > begin]
    end = len(lines)
    if blocks:
        first, last = blocks[-1]
        closing = " ".join(lines[first:last]).strip()
        if first > begin and len(closing) <= _LEAD_IN and _has(_REMARK, closing) and not _has(_PAGE, closing):
            end = first
        elif last - 1 > max(first, begin) and len(lines[last - 1]) <= _LEAD_IN:
            # A last line of its own may be the remark, too.
            end = last - 1 if _has(_REMARK, lines[last - 1]) else end
    quoted[begin:end] = [True] * (end - begin)


def _paragraphs(lines: Sequence[str], quoted: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """First line and end of each run of own lines between blank or quoted ones."""
    inside = [not was and bool(line.strip()) for line, was in zip(lines, quoted, strict=True)]
    for is_inside, run in groupby(range(len(lines)), inside.__getitem__):
        if is_inside:
            places = list(run)
            yield places[0], places[-1] + 1


# Reported speech

_TEXT_NOUN = rf"(?i)\b{_TEXTS}\b|{_TEXTS_CHINESE}"
_SAYS = (
    r"(?i)(?<![\w'’.#()/-])(?P<who>[\w'’.#()/-]{1,40})(?: (?:also|just|always|once|even|still|clearly|now|used to|has|have|had|is|was))*"
    r" (?:says?|said|states?|stated|writes?|wrote|claims?|claimed|insists?|insisted|told (?:me|us)|tells (?:me|us)|commented|replied|answered|announced)\b(?! \w+ (?:it|them)\b| (?:so|no|goodbye)\b)"
)
_WANTS = (
    r"(?i)\b(?:the|this|that|their|its) (?:[\w-]+ ){0,2}?(?:readme|docs?|documentation|wiki|manual|handbook|guide|runbook|pages?|web ?site|article|tutorial|ticket|contributing|issue|paper)(?:\.\w+)?"
    r" (?:also )?(?:wants?|requires?|recommends?|suggests?|advises?|mentions?|explains?|asks?|demands?|tells?)\b"
)
_ACCORDING = r"(?i)\baccording to (?!(?:me|us|our|my)\b)|\bapparently\b|\bsupposedly\b|\ballegedly\b"
_LABELLED = (
    rf"(?i)(?:{_A_TEXT})[^.!?,:：\n]{{0,50}}[:：](?=\s|\Z|[\"“«])|(?:{_A_TEXT_CHINESE})[^。！？\n]{{0,14}}[:：]|(?:下面|以下)是[^。！？\n]{{0,24}}[:：]"
    r"|\b(?:I|we)(?:'m| am| just)? (?:get|got|getting|see|saw|read|found|received)\b[^.!?:\n]{0,40}:(?=\s)|(?:收到|看到|读到|弹出|提示)[^。！？\n]{0,10}[:：]"
)
# "Whatever the label says", "not when the radio says so": the speaker's own word, against somebody's.
_ANYHOW = r"(?i)\b(?:whatever|even (?:if|when)|unlike|not (?:when|like|as|what)|regardless of what)\b[^,.;]{0,30}\Z"
# Before these verbs: the speaker, who is spoken to ("please always write …"), or no one.
_FIRST = frozenset(
    "i we you i've we've i'd we'd you'd who as which that is are was were be been being get gets to not and or"
    " don't dont doesn't can't cant cannot never won't must should one me us nobody no so must"
    " please kindly always also just now then still first only simply rather instead again let let's will would can could may might shall do did"
    " does didn't need needs have has had of in on for with by when where what how if whenever".split()
)
_CHINESE = (
    rf"据[^，。]{{0,10}}(?:说|称|讲)|听说|{_TEXTS_CHINESE}(?:里|上|中)?面?(?:也|还|都|明确)?(?:说|写着|写了|写道|写明|要求|建议|规定|提到|显示|称)"
    r"|(?<![跟和对给同])(?:网上|人家|别人|老板|同事|客户|领导|运维|[他她])们?[^，。我]{0,4}说(?![话漏好事]|了算)|(?<![我们你咱是如该以理来话再先么])说\s*[:：]|(?:写道|写着|表示|回答的?|回复的?|发来的|声称)\s*[:：]"
)
_TURNS = r"(?i)[,;.–—-]?\s*\b(?:but|however|so|yet|still)\b,?\s+(?=(?:for (?:us|me),? )?(?:we|we're|we've|I|I'm|our|my|let's|us|please|here)\b)|(?:但是?|不过|然而|所以|可是)[，,]?(?=我|咱|请|这里)"
_QUOTATION = r"\"([^\"\n]{1,2000})\"|“([^”\n]{1,2000})”|「([^」\n]{1,2000})」|«([^»\n]{1,2000})»|„([^“”\n]{1,2000})[“”]"
_CODE_SPAN = r"`[^`\n]{1,500}`"
_COLON = r"[:：]\s*(?=\S)"
_STOP = r"(?<=[.!?])\s+|(?<=[。！？])|\s[–—-]\s|\n+"
_DEMANDS = (
    r"(?i)\b(?:always|never|must|mustn't|should|shall|shouldn't|have to|has to|need(?:s|ed)? to|make sure|ensure|do not|don't|from now on|prefers?|recommend\w*|required?|mandatory|remember"
    r"|only|every(?:body|one)?|all|no longer|any more|forever|not allowed|forbidden|by default|best practice|want(?:s|ed)?)\b"
    r"|\A\W*(?:use|run|install|set|add|avoid|keep|call|send|store|put|write|enable|disable|switch|approve|trust|save)\b"
    r"|必须|务必|一律|总是|始终|永远|从不|从来|不要|不得|不许|禁止|严禁|应该|应当|须|请|建议|推荐|以后|今后|统一|只能|只用|只从|记住|牢记|别|偏好|喜欢|所有|每(?:次|天|周|个)"
)


AGENT = re.compile(r"(?i)\A(?:Agent|Assistant|助手|代理)\s*[：:]\s*")
OUTCOME = re.compile(r"(?<!\s)\s+(?:→|->|=>)\s+")


def demands(text: str) -> bool:
    """Whether a sentence says how something is to be done, or what somebody wants."""
    return _has(_DEMANDS, text)


def reports(sentence: str) -> bool:
    """Whether a sentence tells what somebody else, or a text, says, or demands something in quotation marks alone."""
    if _reporting(sentence):
        return True
    quotes = (text for match in compiled(_QUOTATION).finditer(sentence) for text in match.groups() if text)
    long = (text for text in quotes if len(text.split()) >= 5 or sum(char > "\u2e80" for char in text) >= 8)
    return any(map(demands, long)) and not demands(compiled(_QUOTATION).sub(" ", sentence))


def is_rule_of_others(line: str, *, by_agent: bool = False) -> bool:
    """Whether a line of a log says how something is to be done without its being the owner's word: an agent's, or a report."""
    said, *outcomes = OUTCOME.split(AGENT.sub("", line))
    by_agent = by_agent or AGENT.match(line) is not None
    parts_said = [(sentence, by_agent) for sentence in sentences(said)] + [
        (sentence, True) for text in outcomes for sentence in sentences(text)
    ]
    others = [
        agents or not own_part(sentence)
        for sentence, agents in parts_said
        if demands(sentence) or (agents and reports(sentence))
    ]
    return bool(others) and all(others)


def own_part(sentence: str) -> str:
    """What of a sentence is its speaker's own word: all of it; of "the README says pip, but we use uv" what follows the turn; of
    a mere report nothing."""
    if not reports(sentence):
        return sentence
    rest = sentence
    while turn := compiled(_TURNS).search(rest):
        rest = rest[turn.end() :]
        if not reports(rest):
            return rest
    return ""


def _reporting(sentence: str) -> bool:
    sentence = compiled(_CODE_SPAN).sub("`", sentence)
    if _has(_ACCORDING, sentence) or _has(_WANTS, sentence) or _has(_CHINESE, sentence):
        return True
    said = (match for match in compiled(_SAYS).finditer(sentence) if not _has(_ANYHOW, sentence[: match.start()]))
    if any(match["who"].lower() not in _FIRST for match in said):
        return True
    lead, colon, rest = sentence.replace("：", ":").partition(":")
    if colon and rest.strip() and _has(_WORK_ON, lead) and not demands(lead):
        return True  # "translate to German: I never …"
    labelled = compiled(_LABELLED).search(sentence)
    own = r"(?i)\A\W*(?:for|into|put this in(?:to)?) the\b"  # "for the readme: …" is what the speaker wants to stand there
    return labelled is not None and not _has(_OWN_LIST, sentence[: labelled.end()]) and not _has(own, sentence)
