"""Whose words a text holds: what its speaker says, and what is pasted, quoted or reported, which is nobody's word.

A message is split line by line into parts that are the speaker's own or quoted; a sentence is looked at for reported speech. The
expressions stand in quoting.tsv.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, groupby, islice, pairwise
from typing import NamedTuple

from nacre.text.blocks import AGENT
from nacre.text.tables import expression, words
from nacre.text.tokens import clauses, sentences

LONGEST = 6000  # characters that people type; what is longer is pasted, and its beginning and end say what it is for
_LEAD_IN = 200  # characters of a paragraph that may introduce what follows it, or remark on what stands before it
_LETTER = 3  # lines from the greeting to the good wishes
_LEAST = 24  # characters that a pasted text has at least; a Han character counts as two


_TABLE = "text/quoting.tsv"
_form = partial(expression, _TABLE)


class Part(NamedTuple):
    """Lines of a message that belong together; `quoted`: somebody else wrote them."""

    text: str
    quoted: bool


def _has(name: str, text: str) -> bool:
    return _form(name).search(text) is not None


def _is(name: str, text: str) -> bool:
    """Whether a text begins with an expression."""
    return _form(name).match(text) is not None


def parts(text: str, *, typed: bool = True) -> list[Part]:
    """A message split into the speaker's own lines and quoted ones. Not `typed`: an agent's, which is written in Markdown and
    tells of pages in its own words; only what is plainly set apart is quoted there."""
    text = _form("mention").sub("", _form("comment").sub("\n", text.strip()))
    lines = [_form("element").sub(" ", line) for line in text.splitlines()]
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
    marked = (
        part
        for line, was_quoted in zip(lines, quoted, strict=True)
        for part in ([(line, was_quoted)] if was_quoted or not typed else _in_line(line))
    )
    runs = groupby(marked, lambda marked_line: marked_line[1])
    return [Part("\n".join(line for line, _ in run), is_quoted) for is_quoted, run in runs]


def own_words(text: str, *, typed: bool = True) -> str:
    return "\n".join("" if part.quoted else part.text for part in parts(text, typed=typed))


def _in_line(line: str) -> Iterator[tuple[str, bool]]:
    """A line, cut where it goes on with what it says that another says: "it says: always X. Never Y." The sentence that says so
    stays, as the report that it is, and so does a remark behind it."""
    colons = (match.end() for match in islice(_form("colon").finditer(line), 5))
    colon = next((end for end in colons if _reporting(line[:end])), None)
    said = _form("quotation").match(line, colon) if colon else None
    stop = said or (_form("stop").search(line, colon) if colon else None)
    end = stop.end() if stop else len(line)
    yield line[:end], False
    rest = line[end:].strip()
    if said:
        yield rest, False
        return
    for sentence in filter(None, (part.strip() for part in _form("stop").split(rest))):
        is_asked = rest[rest.find(sentence) + len(sentence) :][:1] in "?？"
        yield sentence, not (is_asked or _has("remark", sentence))


def _set_apart(lines: Sequence[str]) -> list[bool]:
    """Which lines are fenced, block-quoted, tables, markup, code, logs, or speak to machines."""
    quoted = [_is("block quote", line) or _has("to machines", line) for line in lines]
    until: re.Pattern[str] | None = None
    tags = [re.findall(r"</([a-zA-Z][\w-]{0,30})>", line) for line in lines]
    closing = {name.lower(): at for at, names in enumerate(tags) for name in names}
    for at, line in enumerate(lines):
        if until is not None:
            quoted[at] = True
            until = None if until.search(line) else until
        elif fence := _form("fence").match(line):
            quoted[at], until = True, re.compile(rf"\A\s*{fence[1][0]}{{{len(fence[1])},}}\s*\Z")
        elif _has("template", line):
            quoted[at], until = True, None if _has("template end", line) else _form("template end")
        elif (opens := _form("opens").match(line)) and closing.get(opens[1].lower(), -1) > at:
            quoted[at], until = True, re.compile(rf"(?i)</{re.escape(opens[1])}>")
    for at in range(1, len(lines)):
        before = lines[at - 1]
        if _is("indented", lines[at]) and (_is("indented", before) or _is("code", before)):
            quoted[at] = quoted[at - 1] = True
    logged = [_is("log", line) for line in lines]
    # A lone odd line may be a message; several are a log.
    return [was or log for was, log in zip(quoted, logged, strict=True)] if sum(logged) >= 3 else quoted


def _mark_documents(lines: Sequence[str], quoted: list[bool]) -> None:
    """Mark mails, chats of others, code, output and pages by their own lines: no announcement is needed."""
    if (begin := _document(lines, quoted)) is not None:
        _quote_from(begin, lines, quoted)
    for first, last in _paragraphs(lines, quoted):
        own = lines[first:last]
        yaml = _form("yaml").search("\n".join(own))
        named = {
            at: match["who"].rstrip("0123456789 ").lower()
            for at, line in enumerate(own)
            if (match := _form("speaker").match(line))
        }
        stamped = sum(_is("stamped", own[at]) for at in named)
        names = set(named.values())
        of_roles = len(named) >= 2 and names <= words(_TABLE, "roles")
        chat = stamped >= 2 or of_roles or (len(named) >= 3 and len(named) > len(names) > 1)
        code = [at for at, line in enumerate(own) if _is("code", line)]
        begins = [at for at, line in enumerate(own) if _is("output", line)][:1]
        begins += code[:1] if len(code) >= 2 else []
        begins += [yaml.string.count("\n", 0, yaml.start())] if yaml else []
        begins += [min(named)] if chat else []  # people other than the speaker talk with each other
        if begins:
            quoted[first + min(begins) : last] = [True] * (last - first - min(begins))
    if any(map(_form("diff").match, lines)):
        for at, line in enumerate(lines):
            quoted[at] |= _is("diff", line) or _is("changed", line) or line.startswith("Date:")


def _document(lines: Sequence[str], quoted: Sequence[bool]) -> int | None:
    """Where a mail, a page, a manual, minutes or terms begin that the message holds."""
    free = [at for at, was in enumerate(quoted) if not was and lines[at].strip()]
    if (envelope := next((at for at in free if _is("envelope", lines[at])), None)) is not None:
        return envelope
    for form, count in (("header", 2), ("chapter", 1), ("badge", 1), ("clause", 2), ("record", 2), ("sender", 2)):
        met = [at for at in free if _is(form, lines[at])]
        if len(met) >= count:
            titles = [at for at in free if at <= met[0] and lines[at].startswith("# ")]
            return (titles or met)[0]
    page = next((at for at in free if _has("page", lines[at])), None)
    if page is not None and len(free) >= 4:  # it begins behind a short first paragraph that asks, else with the message
        (first, last), *others = _paragraphs(lines, quoted)
        return others[0][0] if others and last <= page and _asks(" ".join(lines[first:last])) else first
    greeting = next((at for at in free if _is("greeting", lines[at]) or _is("to many", lines[at])), None)
    if greeting is not None:
        # A letter of some lines ends with good wishes and a name; a short message that greets and signs is its writer's own.
        said = [line.strip() for line in lines[greeting:] if line.strip()]
        names = ((at, name) for at, (wishes, name) in enumerate(pairwise(said)) if _is("sign off", wishes))
        signed = (at for at, name in names if len(name) <= 40 and name[-1] not in ".?!。")
        if _is("to many", lines[greeting]) or next(signed, 0) >= _LETTER:
            return greeting
    version = next((at for at in free if _is("version", lines[at])), None)
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
        passage = number == 0 and _width(following) >= 60 and len(_form("stop").split(following.strip())) > 1
        if announcing is not None or ((passage or _has("work on", text)) and _asks(text)):
            return _quote_from(begin, lines, quoted)
    closing = " ".join(lines[slice(*blocks[-1])]) if len(blocks) > 1 else ""
    works_on = len(closing) <= _LEAD_IN and _has("work on", closing)
    if works_on and _has("deictic", closing):  # "proofread this" below a text
        for first, last in blocks[:-1]:
            quoted[first:last] = [True] * (last - first)
    return None


def _announces(line: str) -> bool:
    if len(line) > _LEAD_IN or _has("url", line):
        return False
    if line.rstrip().endswith((":", "：")) and _reporting(line):
        return True
    return _has("brings", line) and not (_has("own list", line) and not _has("text noun", line))


def _asks(paragraph: str) -> bool:
    """Whether a paragraph asks about, or for work on, a text that must stand beside it."""
    if len(paragraph) > _LEAD_IN or _has("url", paragraph) or _has("own list", paragraph):
        return False
    return _has("work on", paragraph) or (_has("deictic", paragraph) and _has("asks", paragraph))


def _width(text: str) -> int:
    return sum(2 if character > "\u2e80" else 1 for character in text)


def _quote_from(begin: int, lines: Sequence[str], quoted: list[bool]) -> None:
    """Mark everything from a line on but a closing remark; where what follows is set apart already, that is all there is."""
    following = next((at for at in range(begin, len(lines)) if lines[at].strip()), None)
    if following is None or _width(" ".join(lines[begin:])) < _LEAST:
        return
    if quoted[following] and any(_is(mark, lines[following]) for mark in ("block quote", "fence", "opens")):
        return
    blocks = [block for block in _paragraphs(lines, quoted) if block[1] > begin]
    end = len(lines)
    if blocks:
        first, last = blocks[-1]
        closing = " ".join(lines[first:last]).strip()
        if first > begin and len(closing) <= _LEAD_IN and _has("remark", closing) and not _has("page", closing):
            end = first
        elif last - 1 > max(first, begin) and len(lines[last - 1]) <= _LEAD_IN:
            # A last line of its own may be the remark, too.
            end = last - 1 if _has("remark", lines[last - 1]) else end
    quoted[begin:end] = [True] * (end - begin)


def _paragraphs(lines: Sequence[str], quoted: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """First line and end of each run of own lines between blank or quoted ones."""
    inside = [not was and bool(line.strip()) for line, was in zip(lines, quoted, strict=True)]
    for is_inside, run in groupby(range(len(lines)), inside.__getitem__):
        if is_inside:
            places = list(run)
            yield places[0], places[-1] + 1


# Reported speech


OUTCOME = re.compile(r"(?<!\s)\s+(?:→|->|=>)\s+")


def demands(text: str) -> bool:
    """Whether a sentence says how something is to be done, or what somebody wants."""
    return _has("demands", text)


def reports(sentence: str) -> bool:
    """Whether a sentence tells what somebody else, or a text, says, or demands something in quotation marks alone."""
    if _reporting(sentence):
        return True
    quotes = (text for match in _form("quotation").finditer(sentence) for text in match.groups() if text)
    long = (text for text in quotes if len(text.split()) >= 5 or sum(char > "\u2e80" for char in text) >= 8)
    return any(map(demands, long)) and not demands(_form("quotation").sub(" ", sentence))


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
    "leave the VAT off, Gerard says he claims it back" what stands before the report; of a mere report nothing."""
    if not reports(sentence):
        return sentence
    rest = sentence
    while turn := _form("turns").search(rest):
        rest = rest[turn.end() :]
        if not reports(rest):
            return rest
    return _before_report(sentence)


_STATED = 24  # width that a statement before a report has at least


def _before_report(sentence: str) -> str:
    """What stands before the clause that reports, where that clause tells what is said: in "never npm, the README says" it does not."""
    end = 0
    for clause in clauses(sentence):
        begin = sentence.index(clause, end)
        if begin and _reporting(clause):
            own, said = sentence[:begin].rstrip(" ,，;；"), _form("says").search(clause)
            is_quoted = said is None or any(map(str.isalnum, clause[said.end() :]))
            return (
                own if is_quoted and _width(own) >= _STATED and not (own.endswith((":", "：")) or reports(own)) else ""
            )
        end = begin + len(clause)
    return ""


def _reporting(sentence: str) -> bool:
    sentence = _form("code span").sub("`", sentence)
    if _has("according", sentence) or _has("wants", sentence) or _has("reports in chinese", sentence):
        return True
    said = (match for match in _form("says").finditer(sentence) if not _has("anyhow", sentence[: match.start()]))
    if any(match["who"].lower() not in words(_TABLE, "first") for match in said):
        return True
    lead, colon, rest = sentence.replace("：", ":").partition(":")
    if colon and rest.strip() and _has("work on", lead) and not demands(lead):
        return True  # "translate to German: I never …"
    labelled = _form("labelled").search(sentence)
    if labelled is None or _has("for a text", sentence):
        return False
    return not _has("own list", sentence[: labelled.end()])
