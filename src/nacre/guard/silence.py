"""Asking not to be remembered: the plain words for it, and which messages of a talk they cover."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nacre.model.session import Message, Speaker
from nacre.text.language import language_of

_PLAIN = re.compile(
    r"\boff[ -](?:the )?record\b|\bforget (?:i|that i|what i) (?:just )?(?:said|told|mentioned)\b|\b(?:between|just) (?:you and me|us|ourselves)\b"
    r"|(?:\bnot?\b|n['’]?t\b|\bnever\b|\bwithout\b)[^.!?]{0,25}\b(?:remember|memor\w+|(?:write|note|put|jot)[^.!?]{0,25}\bdown|on record"
    r"|(?:keep|save|store|log|note|record|remember|repeat)\w*[^.!?]{0,12}\b(?:this|that|it|any of (?:this|it)|a word|notes?|memory|anywhere|the following|what follows))\b"
    r"(?!\s+(?:(?:yet|until|unless|before|first|as|under|to|on|with)\b|in (?:the|a|our|my) (?!notes?|log\b|memory|record)))"
    r"|\b(?:stays?|leave|keep|kept)\b[^.!?]{0,20}\b(?:out of (?:the |your |my |any )?(?:notes?|log|memory|record|files?)|to yourself|between us|in this room)\b"
    r"|\bnot for (?:the |your )?(?:notes?|log|memory|record)\b|\bstrike (?:that|this)\b|\bno (?:record|trace|notes?) of\b|\bnever heard (?:this|that|it)\b",
    re.IGNORECASE,
)
_PLACE = r"(?:notes?|memory|minutes|summary|diary|records?|archive|anywhere|long[- ]term memory|your (?:log|files?))"
_MORE = re.compile(
    rf"(?:n['’]?t\b|\bnot\b|\bnever\b|\bno need to\b)[^.!?]{{0,40}}\b(?:put|writ\w+|sav\w+|stor\w+|log\w*|record\w*|not(?:e|ed|ing)|keep|kept|remember\w*|mention\w*"
    rf"|includ\w+|archiv\w+|end up|show up|appear)\b[^.!?]{{0,25}}\b{_PLACE}\b"
    rf"|\b(?:delete|erase|remove|wipe|drop|scrub|exclude|omit|strike|leave)\b[^.!?]{{0,30}}\b(?:from|out of) (?:your |the |any |my )?(?:{_PLACE}|log)\b"
    r"|\b(?:delete|erase|forget|scratch|ignore)\b[^.!?]{0,12}\b(?:what|everything|all) i (?:just )?(?:said|told|wrote|mentioned)\b"
    r"|\b(?:isn|wasn|aren|doesn|don)['’]?t (?:get )?(?:saved|stored|kept|written down|logged|recorded|remembered)\b|\bi['’]?d rather (?:this|that|it) (?:wasn|isn|not)"
    r"|\byou (?:didn['’]?t|never) (?:hear|heard|see|saw)\b|\bno (?:written )?trace\b|\bmy eyes only\b|\bfor your (?:ears|eyes) only\b|\b(?:strictly )?confidential\b|\b(?:this|that) never happened\b|\bpretend i (?:never|didn['’]?t)\b"
    r"|\bmum['’]?s the word\b|\bkeep (?:schtum|shtum|quiet|mum)\b|\b(?:as|treat \w+ as) unsaid\b|\bnot a word of\b|\b(?:n['’]?t|not|never) (?:persist|retain)\b|\bslip your mind\b|\beyes only\b"
    r"|\b(?:this|that) (?:one )?(?:is|['’]s|was) (?:private|sensitive|a secret|just between)\b|\bthis one['’]s private\b|\b(?:wipe|scratch|erase|delete) (?:that|this|it|the last)\b[^.!?]{0,20}\b(?:bit|message|part|keep|please)\b"
    r"|\bwhen you take notes\b|\b(?:n['’]?t|not|nobody|no one)\b[^.!?]{0,30}\b(?:pop up|find (?:this|that|it)|turn up|resurface)\b|\bfor the record\b[^.!?]{0,10}\bignore\b|\bignore it for the record",
    re.IGNORECASE,
)
_NOT_CHINESE = r"(?:别|不要|不用|不必|勿|莫|甭|不许|不能|唔好|不准)"
_PLAIN_CHINESE = re.compile(
    rf"{_NOT_CHINESE}[^，。！？,!?]{{0,8}}?记(?![错账仇混恨名号分工得性者])"
    rf"|(?:这|那|刚才|上面|以上|下面|以下|此)[^，。！？,!?]{{0,10}}{_NOT_CHINESE}[^，。！？,!?]{{0,6}}?(?:存|保存|写|留|录)(?!到|在(?!记忆|任何|哪))"
    rf"|{_NOT_CHINESE}[^，。！？,!?]{{0,6}}?(?:存|保存|写进|写到|写入|留存|录入|留下?)(?:下来|起来|进)?(?:记忆|笔记|备忘|任何地方|哪里|档案|小本|本子|底\b|痕|档\b|$)"
    r"|(?:不(?:要|用|必|许|准|能)?|别|勿)[^，。！？,!?]{0,6}(?:归档|入库|留档|存档|进记忆|写进(?:纪要|总结|记忆|笔记|备忘)|记(?:录|入)(?:在案|下来)?)"
    r"|(?:忘掉|抹掉|删掉|删除|清掉|清除|去掉|忽略)[^，。！？,!?]{0,8}(?:记忆|上一条|刚才|前面|这段|这条|那段|那条|我说的)|(?:上一条|刚才|前面|这段|这条|那段|那条|记忆)[^，。！？,!?]{0,10}(?:忘掉|忘了吧|抹掉|删掉|删除|清掉)"
    r"|烂在肚子里|出了这(?:个)?门|当(?:作)?没(?:听见|听到|看见)|(?:别|不(?:要|想|希望|会)?|勿)[^，。！？,!?]{0,14}(?:出现在|翻到|持久化|看到这(?:条|句|段))|(?:你我|咱俩|我们俩?|咱们)(?:之间|俩)?[^，。！？,!?]{0,4}(?:说说|知道就)"
    r"|说漏嘴|悄悄话|从(?:总结|纪要|记录|日志)里(?:去掉|删|抹)|谁(?:都|也)(?:别|不要|不能)说|(?:别|不要)[^，。！？,!?]{0,6}(?:往外|跟(?:任何|别)人|对外)[^，。！？,!?]{0,4}(?:说|讲|提)|(?:要|请|得|务必)?保密(?!协议|局|条款|级|性|工作|柜|员|措施|要求)|这条忘了"
    r"|这(?:个|条|段|事|件事)不记|(?:就?当(?:我)?没(?:说|讲|提))|你知我知|(?:咱|你)(?:俩|们|我)?(?:两个)?知道就(?:行|好|可以)|天知地知|仅限(?:我|咱|你)|不入档|别外传|不留(?:记录|痕)|阅后即焚|听过就(?:算|忘)|说完就忘|不落纸"
)


def asks_for_silence(text: str) -> bool:
    """Whether a text has the plain words for it. By words alone: "don't save it yet" is told apart, not everything is."""
    if language_of(text) == "zh":
        return _PLAIN_CHINESE.search(text) is not None
    return _PLAIN.search(text) is not None or _MORE.search(text) is not None


def tells_nothing_else(text: str) -> bool:
    """Whether a text that asks for silence says nothing besides, so that what came before it is meant."""
    chinese = language_of(text) == "zh"
    rest = _PLAIN_CHINESE.sub("", text) if chinese else _MORE.sub("", _PLAIN.sub("", text))
    return sum(character.isalnum() for character in rest) < (8 if chinese else 14)


_ALL_OF_IT = re.compile(
    r"\b(?:any|all|none|everything) of (?:this|that|it)\b|\beverything i\b|这些|以上|刚才说的|前面说的|都(?:别|不要)",
    re.IGNORECASE,
)
_TO_COME = re.compile(
    r"\bthe following\b|\bwhat (?:i say|comes) next\b|\bnext (?:thing|bit|message|part)\b|接下来|下面(?:说|这|的)|以下",
    re.IGNORECASE,
)


def reach(text: str) -> tuple[int, int]:
    """How many messages of the owner before and after it a wish for silence means, besides its own."""
    back = 3 if _ALL_OF_IT.search(text) else 1 if tells_nothing_else(text) and not _TO_COME.search(text) else 0
    return back, 2 if _TO_COME.search(text) else 0


def kept(messages: Sequence[Message]) -> list[Message]:
    """The messages without those that are not to be kept: the one that asks, the one that it is about, and the answers to them.

    By the plain words alone, for where whole messages are kept and nothing judges their sentences.
    """
    silent: set[int] = set()
    for place, message in enumerate(messages):
        if message.speaker is not Speaker.OWNER or not asks_for_silence(message.text):
            continue
        back, forward = reach(message.text)
        owners = [other for other, one in enumerate(messages) if one.speaker is Speaker.OWNER]
        mine = owners.index(place)
        begin = owners[max(mine - back, 0)]
        end = owners[mine + 1 + forward] if mine + 1 + forward < len(owners) else len(messages)
        silent.update(range(begin, end))
    return [message for place, message in enumerate(messages) if place not in silent]
