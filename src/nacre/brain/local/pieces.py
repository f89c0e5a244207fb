"""A line of a log as the statements it is made of, each with whose words it is."""

from __future__ import annotations

import re
from typing import NamedTuple

from nacre.brain.local.wording import tidy
from nacre.text.language import language_of
from nacre.text.quoting import AGENT, OUTCOME, own_part
from nacre.text.sentences import sentences

_ASKED = re.compile(r"\A(?:User asked(?: to)?\s*:?\s*|用户(?:要求|请求|问)\s*[：:]\s*)", re.IGNORECASE)
_LEAD = re.compile(
    r"\A(?:(?:one more|another|new|final|the)\s+)?(?:decision|rule|lesson(?: learn(?:ed|t))?|note(?: to self)?|reminder|heads[- ]up|fyi|ps|important"
    r"|background|remember|for the record|once more(?: for the record)?|policy)\s*[:,.-]\s*(?=\S)|\A(?:no|nope|yes|yeah|right|careful)\s*[.,!:]\s+(?=\S)",
    re.IGNORECASE,
)
_LEAD_CHINESE = re.compile(
    r"\A(?:(?:再|又|还有|另外)?(?:定|说)?(?:一个|一条|一下|个)?(?:规矩|规则|教训|决定|注意|提醒|备注|原则|约定|结论|重要|记一下|记住|背景|说明)?(?:一下)?)\s*[：:]\s*(?=\S)"
    r"|\A(?:哦对|对了|那定下来|那就定了|定了|定下来|还有|另外|注意|顺便)\s*[，,：:]\s*(?=\S)"
)


class Piece(NamedTuple):
    """One statement. `asked`: it was put as a request; `agents`: it is the agent's word, not the owner's; `announced`: it was
    called a rule, a decision or a lesson by who said it; `reported`: it is what somebody else or a text says."""

    text: str
    language: str
    asked: bool = False
    agents: bool = False
    announced: bool = False
    reported: bool = False


def pieces(line: str) -> list[Piece]:
    """The statements of a log's line, in order, without what the log put around them."""
    found: list[Piece] = []
    agents = bool(AGENT.match(line))
    said, *outcomes = OUTCOME.split(AGENT.sub("", line))
    asked = bool(_ASKED.match(said))
    for text, by_agent in ((_ASKED.sub("", said), agents), *((one, True) for one in outcomes)):
        for sentence in sentences(text):
            language = language_of(sentence)
            stripped = _without_lead(sentence, language)
            own = own_part(stripped)
            if bare := tidy(own or stripped, language):
                found.append(Piece(bare, language, asked and not by_agent, by_agent, stripped != sentence, not own))
    return found


def _without_lead(text: str, language: str) -> str:
    """Without "Rule:" or "定了：" in front: what was announced, not that it was."""
    pattern = _LEAD_CHINESE if language == "zh" else _LEAD
    bare = pattern.sub("", text, count=1)
    return bare if len(bare) > 3 else text
