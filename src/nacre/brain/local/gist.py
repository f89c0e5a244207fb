"""A checkpoint in a few lines: its title, its tags, and the sentences of it that tell what was asked, settled, found and left."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nacre.brain.local.settled import (
    SETTLED,
    THANKS,
    Utterance,
    decisions,
    list_items,
    split_turns,
    without_speakers,
)
from nacre.brain.local.wording import LONGEST, only_blacked_out
from nacre.guard.sanitise import clean, one_line
from nacre.model import Speaker
from nacre.text.blocks import project_in_head
from nacre.text.quoting import demands, own_words, reports
from nacre.text.tokens import language_of, sentences, tokens

if TYPE_CHECKING:
    from nacre.brain.local.judge import Judge

LEAST, MOST = 3, 8  # lines of a summary
FEW = 4  # sentences up to which a text is its own summary
_SENTENCES_A_LINE = 2  # of which one line comes, as long as there are few
_TITLE = 80  # characters
_WHOLE = 90_000  # characters that are read whole; of a longer text both ends
_JUDGED = 40  # sentences that the classifiers are asked about: the likeliest ones
_FEW_WORDS = 4  # below which a sentence tells nothing, unless it settles something
_NEVER = -10.0  # the weight of what is not told
_SAME = 0.7  # share of words by which a sentence repeats another

_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_ABOUT = re.compile(r"(?m)^session:\S+ \| .*$\n?")
_HEADING = re.compile(r"(?m)^#{1,6}[ \t]+(\S.*)$")
_NOT_PROSE = re.compile(r"(?m)^[^\S\n]*(?:\||>|<!--|\[?\^?\w+\]?:[^\S\n]*http|[-=*_]{3,}[^\S\n]*$|!\[).*$")
_MARKS = re.compile(r"\A[#>*\s-]+")
_FENCE = re.compile(r"(?m)^[^\S\n]*(?:```|~~~).*$")
# A long line that goes on in the next was wrapped for width, not ended.
_WRAPPED = re.compile(r"(?<=\S)(?<![。！？.!?:：|])\n(?=[^\s#>|*+`~-])(?!\d{1,2}[.)])")
_NO_TAGS = frozenset("user users agent agents assistant human other 用户 助手 他人".split())
_CLAUSE = re.compile(
    r"[,，;；:：、](?=\s|[^\x00-\x7f])|(?<!\s)\s+[-–—]+\s+|(?<!\s)\s+(?=(?:but|because|so|and|which|otherwise)\b)"
)
_CLOSING = re.compile(r"(?<![.。…])[.。;；]\s*\Z")

_FOUND = re.compile(
    r"\b(?:done|finished|fixed|solved|works now|passes|passed|deployed|released|merged|root cause|the cause|because|turned out|caused by|found|failed|crashed"
    r"|measured|result\w*|completed|shipped|freed|broke)\b"
    r"|完成|修好|修复|解决|通过|上线|部署好|发布|原因|因为|结果|发现|导致|失败|崩|测得|查到|搞定|腾出|已经",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"\b(?:todo|to do|next step|next up|pending|still (?:need|open|to)|open question|remaining|blocked|waiting (?:for|on)|not yet|deadline|by (?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|due|follow[- ]up|tomorrow|needs? to)\b"
    r"|待办|待定|还没|尚未|下一步|接下来|未完成|未解决|等待|截止|明天|下周|之前要|需要|跟进|遗留",
    re.IGNORECASE,
)
_CUES = (SETTLED, _FOUND, _LEFT)
_FIGURE = re.compile(r"\d{2,}|\d[.:]\d|(?<!\w)[A-Za-z]\w*[_/.]\w+|`[^`]+`")


class Gist(NamedTuple):
    """A summary; every line is a sentence of the original, or the beginning of a long one."""

    title: str
    tags: tuple[str, ...]
    lines: tuple[str, ...]
    language: str
    project: str = ""


def summary(text: str, judge: Judge | None) -> Gist:
    """The gist of a checkpoint or of any Markdown. Without classifiers the structure of the sentences decides."""
    from nacre.text.keywords import tags as tags_of

    bare = _FRONT.sub("", clean(text).lstrip("\ufeff"), count=1)
    project = project_in_head(bare.split("\n", 6)) or ""
    bare = _ABOUT.sub("", bare, count=1)
    title, body = _split_title(bare)
    body = _shortened(body)
    said = _utterances(body)
    language = language_of(" ".join(remark.text for remark in said[:200]) or title)
    plain = without_speakers(body)
    tags = [tag for tag in tags_of(f"# {title}\n\n{plain}", 6 + len(_NO_TAGS)) if tag not in _NO_TAGS]
    if said:
        chosen = _of_substance(said) if len(said) <= FEW else _chosen(said, _weights(said, judge), title)
        lines = [_line(remark.text) for remark in chosen]
    else:
        lines = _any_lines(plain)
    cut = tuple(_cut(line, language) for line in lines)
    return Gist(title or "checkpoint", tuple(tags[:6]), cut, language, project)


def _of_substance(said: Sequence[Utterance]) -> list[Utterance]:
    """The sentences without thanks and without short ones that settle nothing; all of them where nothing would be left."""
    settled = decisions(said)
    least = {remark: 2 * _FEW_WORDS if THANKS.search(remark.text) else _FEW_WORDS for remark in said}
    telling = [remark for remark in said if remark in settled or _size(remark.text) >= least[remark]]
    return telling or list(said)


def rendered(gist: Gist) -> str:
    """The summary as the file of its layer."""
    label = "标签" if gist.language == "zh" else "Tags"
    parts = [f"# {gist.title}", ""]
    parts += [f"project:{gist.project}", ""] if gist.project else []
    if gist.tags:
        parts += [f"{label}: {', '.join(gist.tags)}", ""]
    return "\n".join([*parts, *(f"- {line}" for line in gist.lines)]).rstrip("\n") + "\n"


def _split_title(body: str) -> tuple[str, str]:
    """The title, and the text without it where it was a heading: the first one, or else the first line."""
    first, _, rest = body.lstrip("\n").partition("\n")
    heading = _HEADING.match(first) or _HEADING.search(body[:2000])
    title = heading[1] if heading else next(iter(_any_lines(body[:20_000])), "")
    title = one_line(title).strip("#* ")
    title = title if len(title) <= _TITLE else title[: _TITLE - 1].rstrip() + "…"
    return title, rest if _HEADING.match(first) else body


def _shortened(body: str) -> str:
    """A text that can be read in a moment: of a very long one its beginning and its end."""
    third = _WHOLE // 3
    return body if len(body) <= _WHOLE else f"{body[:third]}\n{body[-third:]}"


def _utterances(body: str) -> list[Utterance]:
    """The sentences of a session with who says them; of any other text as if one person did."""
    turns = split_turns(body)
    if not turns:
        prose = _HEADING.sub("", _NOT_PROSE.sub("", body))
        if max(len(line) for line in prose[:20_000].split("\n")) >= 60:  # shorter ones are a list, a poem or notes
            prose = _WRAPPED.sub(lambda match: "" if match.string[match.start() - 1] > "\u3000" else " ", prose)
        texts = [text for text in sentences(prose) if _is_worthy(text, _FEW_WORDS)]
        return [Utterance(text, Speaker.OWNER, place, place) for place, text in enumerate(texts)]
    utterances: list[Utterance] = []
    for number, turn in enumerate(turns):
        by_owner = turn.speaker is Speaker.OWNER
        words = own_words(turn.text, typed=by_owner)
        items = list_items(words)
        for text in sentences(_HEADING.sub("", words)):
            if not _is_worthy(text, 1 if by_owner else _FEW_WORDS):
                continue
            if by_owner or not (demands(text) and reports(text)):  # no rule that stands elsewhere
                utterances.append(Utterance(text, turn.speaker, number, len(utterances), items.get(text, "")))
    return utterances


def _is_worthy(text: str, least: int) -> bool:
    return _size(text) >= least and text[0] != "|" and not only_blacked_out(text)


def _size(text: str) -> int:
    """About how many words a sentence has; a Han character is half a word."""
    return len(text.split()) if text.isascii() else len(tokens(text)) // 3 + text.count(" ")


def _any_lines(body: str) -> list[str]:
    """The first lines of a text without a sentence: a list of names, a piece of code."""
    lines = (one_line(_MARKS.sub("", line)) for line in _FENCE.sub("", body).splitlines())
    return [line for line in lines if any(sign.isalnum() for sign in line)][:LEAST]


def _line(text: str) -> str:
    bare = one_line(text)
    if bare.count("**") % 2:  # a sentence taken out of what was set in bold
        bare = bare.replace("**", "")
    return _CLOSING.sub("", bare) or bare


def _cut(text: str, language: str) -> str:
    """A sentence as it was said; of one that is too long as many whole clauses as fit."""
    limit = LONGEST[language]
    if len(text) <= limit:
        return text
    ends = [match.start() for match in _CLAUSE.finditer(text, limit // 3, limit)]
    return text[: ends[-1] if ends else limit - 1].rstrip() + "…"


def _weights(said: Sequence[Utterance], judge: Judge | None) -> list[float]:
    """How much each sentence tells: by its cues, and for the likeliest ones by the classifiers."""
    weights: list[float] = []
    for remark in said:
        weight = sum(1.0 for cue in _CUES if cue.search(remark.text))
        weight += min(len(_FIGURE.findall(remark.text)), 3) * 0.3
        weight += 0.5 if remark.speaker is Speaker.OWNER else 0.0
        weight -= 0.8 if remark.asks else 0.0
        weight -= 1.0 if remark.speaker is Speaker.OTHER else 0.0
        weight -= 0.0 if 6 <= _size(remark.text) <= 60 else 0.6
        weights.append(weight + (0.3 if remark.place in (0, len(said) - 1) else 0.0))
    if judge is None:
        return weights
    from nacre.brain.local.dialogue import Sentence, off_record, worth
    from nacre.guard.privacy import asks_for_privacy

    # A wish for silence is always among them: what it covers must not be told.
    settled = {remark.place for remark in decisions(said)}
    best = sorted(
        range(len(said)),
        key=lambda place: (not asks_for_privacy(said[place].text), place > 0 and place not in settled, -weights[place]),
    )
    distinct = list({said[place].text: place for place in reversed(best)}.values())[::-1]
    likely = [said[place] for place in sorted(distinct[:_JUDGED])]
    session = [
        Sentence(remark.text, remark.speaker, remark.turn, 0, 1, str(remark.turn), to_owner=True) for remark in likely
    ]
    judged = judge.read([remark.text for remark in likely])
    hidden = off_record(session, judged)
    final = [_NEVER] * len(said)
    for number, (remark, chance) in enumerate(zip(likely, worth(session, judged), strict=True)):
        if number not in hidden:
            final[remark.place] = weights[remark.place] + 2 * chance
    return final


def _chosen(said: Sequence[Utterance], weights: Sequence[float], title: str) -> list[Utterance]:
    """What the title is taken from, or else the beginning, the best of what was settled, found and left open, then the best of the rest; in the text's order."""
    settled = decisions(said)
    most = min(MOST, max(1 + len(_CUES), len(said) // _SENTENCES_A_LINE + 1, 1 + len(settled) + len(_CUES)))
    ranked = sorted(_of_substance(said), key=lambda remark: (-weights[remark.place], remark.place))
    owners = [remark for remark in said if remark.speaker is Speaker.OWNER and weights[remark.place] > _NEVER]
    subject = set(tokens(title.rstrip("…")))
    named = (remark for remark in owners if subject and subject <= set(tokens(remark.text)))
    leading = [next(named, owners[0] if owners else said[0]), *settled]
    for cue in _CUES:
        with_cue = [remark for remark in ranked if cue.search(remark.text) and weights[remark.place] >= 0]
        # Of what is left open the last word counts: the rest may have been done since.
        leading += sorted(with_cue[:3], key=lambda remark: -remark.place)[:1] if cue is _LEFT else with_cue[:1]
    kept: list[tuple[Utterance, set[str]]] = []
    for remark in (*leading, *ranked):
        words = set(tokens(remark.text))
        if len(kept) >= most:
            break
        if weights[remark.place] > _NEVER and not any(len(words & other) >= _SAME * len(words) for _, other in kept):
            kept.append((remark, words))
    return sorted((remark for remark, _ in kept), key=lambda remark: remark.place)
