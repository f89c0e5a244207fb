"""Requests not to be remembered ("don't save this", "off the record", 别记), and the messages of a session that they cover.

They are told by what the verb is about: the session and the person, or files, logs and code, which are no request for privacy.
The expressions stand in privacy.tsv.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from nacre.model import Message, Speaker
from nacre.text.tables import expression
from nacre.text.tokens import STOP_WORDS, language_of, tokens

Spans = Iterator[tuple[int, int]]
_form = partial(expression, "guard/privacy.tsv")


def asks_for_privacy(text: str) -> bool:
    """Whether a text has the plain words for it, about itself: "don't save this", not "don't save temporary files"."""
    return any(_requests(text))


def forbids_things(text: str) -> bool:
    """Whether a text is a rule about keeping files, logs or data, which no classifier may take for a request for privacy."""
    if language_of(text) == "zh":
        asked = filter(None, map(_form("zh asked").search, _form("zh clause").findall(text)))
        return not any(_requests_zh(text)) and any(
            _has("zh thing", match.string)
            or _has("zh perhaps", match.string)
            or not _has("zh only words", match["object"])
            for match in asked
            if not _has("zh talk", match["object"])
        )
    return not any(_requests_en(text)) and any(
        not match["none"] or _has("en thing", sentence)
        for sentence in _form("en sentence").findall(text)
        for match in _form("en asked").finditer(sentence)
    )


def tells_nothing_else(text: str) -> bool:
    """Whether a text that asks for privacy says nothing besides, so that what came before it is meant."""
    rest = list(text)
    for begin, end in _requests(text):
        rest[begin:end] = " " * (end - begin)
    return sum(map(str.isalnum, rest)) < (8 if language_of(text) == "zh" else 14)


def _requests(text: str) -> Spans:
    yield from _requests_en(text)
    for match in _form("marks").finditer(text):
        yield match.span()
    for sentence in _form("other sentence").finditer(text) if _has("other hint", text) else ():
        for language in ("de", "fr", "es", "ja", "ko") if _has("other hint", sentence[0]) else ():
            if not _has(f"{language} otherwise", sentence[0]):
                for match in _form(f"{language} asks").finditer(sentence[0]):
                    yield sentence.start() + match.start(), sentence.start() + match.end()
    if _has("han", text):
        yield from _requests_zh(text)


def _has(name: str, text: str) -> bool:
    return _form(name).search(text) is not None


# Which messages a request covers


def means_what_was_said(text: str) -> bool:
    """Whether a request for privacy says that it is about an earlier message, whatever else stands beside it."""
    return _has("just said", text) and not _has("to come", text)


def reach(text: str) -> tuple[int, int]:
    """How many messages of the owner before and after it a request for privacy means, besides its own."""
    words = _asking(text)
    to_come = _has("to come", words)
    earlier = means_what_was_said(words) or (not to_come and (tells_nothing_else(text) or points_back(text)))
    return 3 if _has("all of it", words) else int(earlier), 2 if to_come else 0


def points_back(text: str) -> bool:
    """Whether a request for privacy means an earlier message that it names, and tells nothing besides: "that thing about the theatre"."""
    clauses = _form("part of a clause").findall(_asking(text))
    rest = [clause for clause in clauses if not _has("points back", clause)]
    return len(rest) < len(clauses) and tells_nothing_else("\n".join(rest))


def named(text: str, earlier: Sequence[str]) -> int | None:
    """The place of the earlier message that a request for privacy names by its words, the later of two that fit as well; none where
    it names none of them, or says where what it means stands."""
    words = _asking(text)
    points = points_back(text)
    of_a_place = any(_has(name, words) for name in ("last said", "all of it", "to come"))
    if of_a_place or not (points or tells_nothing_else(text)):
        return None
    names = frozenset(_names(words))
    shared = [names & frozenset(tokens(message)) for message in earlier]
    # What most of them speak of names none of them.
    common = Counter(token for tokens_ in shared for token in tokens_)
    fit = [sum(1 / common[token] for token in tokens_) for tokens_ in shared]
    best = max(reversed(range(len(fit))), key=lambda place: fit[place], default=None)
    if best is None or not shared[best]:
        return None
    # "Don't keep my home address" need not mean the message about the home page.
    return best if points or best == len(fit) - 1 or 2 * len(shared[best]) > len(names) else None


def _names(words: str) -> Iterator[str]:
    """The tokens of a request that may name what it means."""
    for token in tokens(_form("only points").sub(" ", words)):
        if token not in STOP_WORDS and len(token) > (2 if token.isascii() and token.isalpha() else 1):
            yield token


def _asking(text: str) -> str:
    """The sentences of a text that ask for privacy. What it says besides has no say in what they mean; all of it where the request is
    only felt."""
    spans = sorted(_requests(text), reverse=True)
    asking: list[str] = []
    for sentence in _form("clause of any language").finditer(text):
        while spans and spans[-1][1] <= sentence.start():
            spans.pop()
        if spans and spans[-1][0] < sentence.end():
            asking.append(sentence.group())
    return "\n".join(asking) or text


def promises_silence(text: str) -> bool:
    """Whether an agent begins its answer with keeping nothing of what was just said: then its owner asked for it, however."""
    beginning = _form("sentence").findall(text)[:2]
    return any(_has("promises", sentence.strip()) and not _is_of_a_thing(sentence) for sentence in beginning)


def _is_of_a_thing(sentence: str) -> bool:
    if language_of(sentence) == "zh":
        return _has("zh program", sentence) or _is_a_thing_zh(sentence, personal=False)
    return _has("en thing", sentence)


def drop_private(messages: Sequence[Message]) -> list[Message]:
    """The messages without those that are not to be kept: the one that asks, the one that it is about, and the answers to them.

    By the plain words alone, for where whole messages are kept and nothing judges their sentences.
    """
    private: set[int] = set()
    owners = [place for place, message in enumerate(messages) if message.speaker is Speaker.OWNER]
    ends = [*owners[1:], len(messages)]  # of what follows each, up to the owner's next message
    for at, (place, end) in enumerate(zip(owners, ends, strict=True)):
        text = messages[place].text
        if asks_for_privacy(text):
            back, forward = reach(text)
            meant = named(text, [messages[earlier].text for earlier in owners[:at]])
            if meant is not None:
                private.update(range(owners[meant], ends[meant]))
            first = place if meant is not None else owners[max(at - back, 0)]
            private.update(range(first, ends[min(at + forward, len(ends) - 1)]))
        elif any(promises_silence(m.text) for m in messages[place + 1 : end] if m.speaker is Speaker.AGENT):
            private.update(range(place, end))
    return [message for place, message in enumerate(messages) if place not in private]


# English


def _requests_en(text: str) -> Spans:
    for whole in _form("en sentence").finditer(text) if _has("en hint", text) else ():
        sentence = whole[0]
        if not _has("en hint", sentence):
            continue
        matches = [m for part in ("en sayings", "en none of it", "en wished") for m in _form(part).finditer(sentence)]
        for match in _form("en left out").finditer(sentence):
            place, thing = match["place"].lower(), match["object"]
            of_agent = place.startswith(("your", "my", "anything", "whatever")) or place.endswith(("notes", "diary"))
            of_agent = of_agent or match[0][:5].lower() in {"keep ", "leave"}
            stays = not thing.strip() and _has("en subject is meant", sentence[: match.start()])
            if stays or _has("en meant", thing) or (of_agent and not _has("en thing", thing)):
                matches.append(match)
        asked = (match for match in _form("en asked").finditer(sentence) if match["object"] is not None)
        for match in (*matches, *(match for match in asked if _is_asked_en(match, sentence))):
            yield whole.start() + match.start(), whole.start() + match.end()


def _is_asked_en(match: re.Match[str], sentence: str) -> bool:
    """Whether what is not to be kept is the session, what was said in it, or somebody's own affairs."""
    before, after = sentence[: match.start()], sentence[match.start("object") :]
    wanted = _has("en wanted", sentence[match.start() : match.start("verb")])
    if _has("en subject is another", before) and not wanted:
        return False
    if sentence.rstrip().endswith("?") and not _has("en politely", sentence):
        return False
    # "Don't put this on one line", "don't add me to the list": these keep something only where they say where.
    if _form("en somewhere").match(match["verb"]) and not _has("en into memory", after):
        return False
    if match["person"]:
        waits = match["person"].lower() == "me" and _form("en keep me").match(match["verb"])
        return not waits and not _has("en thing", after[:60])
    if match["this"] and _has("en this in memory", after):
        return not _has("en thing", sentence)
    in_yours = (match["place"] or "").lower().startswith("in your")
    if match["none"] is None or in_yours or _has("en subject is meant", before):
        return True
    return _has("en begins", before) and _has("en plain none", match["verb"]) and not _has("en thing", sentence)


# Chinese


def _requests_zh(text: str) -> Spans:
    for sentence in _form("zh sentence").finditer(text):
        start = sentence.start()
        for match in _form("zh sayings").finditer(sentence[0]):
            yield start + match.start(), start + match.end()
        for clause in _form("zh clause").finditer(sentence[0]):
            asked = _form("zh asked").search(clause[0])
            if asked and _is_asked_zh(asked, sentence[0], clause.start()):
                begin, end = start + clause.start(), start + clause.start() + asked.end()
                # A long topic is a statement of its own rather than the matter that is meant, and so is a long object.
                stated = asked.start() > 10
                content = len(asked["object"]) if len(asked["object"]) > 8 else 0
                yield begin + (asked.start("not") if stated else 0), end - content


def _is_asked_zh(match: re.Match[str], sentence: str, at: int) -> bool:
    """Whether what is not to be kept is the session, what was said in it, or somebody's own affairs."""
    topic, meant, verb = match.string[: match.start()], match["object"], match["verb"]
    between = _form("zh for me").sub("", match["between"])
    about = f"{topic} {between} {meant}"
    personal = any(_has("zh talk", part) for part in (topic, between, meant))
    if _has("zh as", meant) or _is_a_thing_zh(about, personal=personal):
        return False
    if verb.endswith("成") or _has("zh elsewhere", about):
        return False
    if verb[0] == "写" and _has("zh wording", sentence[: at + match.start()]):
        return False  # "这类说法统统不写": how a text is to be worded
    if _has("zh program", meant) and not (_has("zh talk", meant) or _has("zh memory", meant)):
        return False  # "这个不要存 Redis"
    filler = _has("zh filler", topic)
    if match["not"] == "不" and (_has("zh tells", topic + "|" + verb) or not (filler or _has("zh talk", topic[-8:]))):
        return False  # "he never writes anything down" tells, it does not ask
    in_memory = _has("zh memory", about)
    if verb[0] in "提出" and not (_has("zh perhaps", about) or in_memory):
        return False
    if in_memory:
        return True
    if not _has("zh only words", meant) and not _has("zh talk", meant) and not _has("zh perhaps", meant):
        return False
    if personal:
        return True
    if _has("zh perhaps", about):
        return _has("zh trace", meant)
    personal_before = _has("zh talk", sentence[:at])
    if verb[0] in "记記":
        return personal_before or not _is_a_thing_zh(sentence[:at], personal=False)
    # Without an object it is clear from what stands around it: "不用存档，git 里都有".
    of_a_program = not personal_before and _has("zh program", sentence)
    return filler and not of_a_program and not _is_a_thing_zh(sentence, personal=personal_before)


def _is_a_thing_zh(words: str, *, personal: bool) -> bool:
    """Whether files, logs or data are spoken of; where somebody's affairs are, a log may be the agent's."""
    rest = _form("zh memory").sub("", words)
    return _has("zh thing", _form("zh perhaps").sub("", rest) if personal else rest)
