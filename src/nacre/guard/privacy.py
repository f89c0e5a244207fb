"""Requests not to be remembered ("don't save this", "off the record", 别记), and the messages of a session that they cover.

They are told by what the verb is about: the session and the person, or files, logs and code, which are no request for privacy.
Expressions are compiled when they are first needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nacre.guard.values import pattern
from nacre.model.session import Message, Speaker
from nacre.text.tokens import language_of

Spans = Iterator[tuple[int, int]]


def asks_for_privacy(text: str) -> bool:
    """Whether a text has the plain words for it, about itself: "don't save this", not "don't save temporary files"."""
    return any(_requests(text))


def forbids_things(text: str) -> bool:
    """Whether a text is a rule about keeping files, logs or data, which no classifier may take for a request for privacy."""
    if language_of(text) == "zh":
        asked = filter(None, map(pattern(_ZH_ASKED).search, pattern(_ZH_CLAUSE).findall(text)))
        return not any(_requests_zh(text)) and any(
            _has(_ZH_THING, match.string)
            or _has(_ZH_PERHAPS, match.string)
            or not _has(_ZH_ONLY_WORDS, match["object"])
            for match in asked
            if not _has(_ZH_TALK, match["object"])
        )
    return not any(_requests_en(text)) and any(
        not match["none"] or _has(_EN_THING, sentence)
        for sentence in pattern(_EN_SENTENCE).findall(text)
        for match in pattern(_EN_ASKED).finditer(sentence)
    )


def tells_nothing_else(text: str) -> bool:
    """Whether a text that asks for privacy says nothing besides, so that what came before it is meant."""
    rest = list(text)
    for begin, end in _requests(text):
        rest[begin:end] = " " * (end - begin)
    return sum(map(str.isalnum, rest)) < (8 if language_of(text) == "zh" else 14)


def _requests(text: str) -> Spans:
    yield from _requests_en(text)
    for match in pattern(_MARKS).finditer(text):
        yield match.span()
    for sentence in pattern(_OTHER_SENTENCE).finditer(text) if _has(_OTHER_HINT, text) else ():
        for asks, tells_or_things in _LANGUAGES if _has(_OTHER_HINT, sentence[0]) else ():
            if not pattern(tells_or_things, re.IGNORECASE).search(sentence[0]):
                for match in pattern(asks, re.IGNORECASE).finditer(sentence[0]):
                    yield sentence.start() + match.start(), sentence.start() + match.end()
    if _has("[\u4e00-\u9fff]", text):
        yield from _requests_zh(text)


def _has(expression: str, text: str) -> bool:
    return pattern(expression).search(text) is not None


# Which messages a request covers


_ALL_OF_IT = r"(?i)\b(?:any|all|none|everything) of (?:this|that|it)\b|\beverything i\b|这些|以上|刚才说的|前面说的|(?<!哪儿)(?<!哪里)(?<!哪边)都(?:别|不要)"
_TO_COME = r"(?i)\bthe following\b|\bwhat (?:i say|comes) next\b|\bnext (?:thing|bit|message|part)\b|接下来|下面(?:说|这|的)|以下"
# What was said some time ago may be anywhere; what was just said is the message before.
_JUST_SAID = (
    r"(?i)\b(?:what|all|anything) i(?: have|['’]ve)? just \w+|\b(?:that|the|my) (?:last|previous) (?:bit|part|message|remark|comment|paragraph|one|line)\b"
    r"|刚才|刚刚|方才|上一[条句段]|\bwas ich (?:gerade|eben)\b|\bce que je viens\b|\blo que acabo\b|さっき|今の話|방금|아까"
)


def means_what_was_said(text: str) -> bool:
    """Whether a request for privacy says that it is about an earlier message, whatever else stands beside it."""
    return _has(_JUST_SAID, text) and not _has(_TO_COME, text)


def reach(text: str) -> tuple[int, int]:
    """How many messages of the owner before and after it a request for privacy means, besides its own."""
    # What a message says besides has no say in what its request means; all of it where the request is only felt.
    spans = sorted(_requests(text), reverse=True)
    asking: list[str] = []
    for sentence in pattern(r"[^.!?。！？\n]+(?:\.(?=\w)[^.!?。！？\n]*)*").finditer(text):
        while spans and spans[-1][1] <= sentence.start():
            spans.pop()
        if spans and spans[-1][0] < sentence.end():
            asking.append(sentence.group())
    words = "\n".join(asking) or text
    to_come = _has(_TO_COME, words)
    earlier = means_what_was_said(words) or (tells_nothing_else(text) and not to_come)
    return 3 if _has(_ALL_OF_IT, words) else int(earlier), 2 if to_come else 0


_PROMISES = (
    r"(?i)\bi(?: will not| won['’]?t|['’]?ll (?:not|never)| shall not|['’]?m not going to)(?: be)? (?:(?:note|noting|remember|remembering|record|recording|sav(?:e|ing)|stor(?:e|ing)|log(?:ging)?|keep(?:ing)?|"
    r"mak(?:e|ing) (?:a |any )?notes? of|keep(?:ing)? (?:a |any )?(?:note|record)s? of) (?:any of )?(?:that|this|it)|(?:writ(?:e|ing)|put(?:ting)?) (?:any of )?(?:that|this|it) (?:down|anywhere|(?:in|into) (?:my |your |the |any )?(?:notes?|memory|logs?|records?)))"
    r"(?: down| anywhere)?(?=\s*(?:$|[.,;!–—]))|\bstays between us\b"
    r"|(?:^|[，,。！!~\s]|好的?|明白|收到|知道|放心)(?:我|这个?|那个?|此事|这[事条句段]|那[事条句段]|这个我|这条我|就|绝对|肯定|也|都){0,3}不(?:会|再)?(?:记下来?|记录|写下来?|写进(?:记忆|笔记|备忘|日记)|留下?记录|做记录|记)(?=[了的]?\s*(?:[。，,！!.~；;]|$))"
)


def promises_silence(text: str) -> bool:
    """Whether an agent begins its answer with keeping nothing of what was just said: then its owner asked for it, however."""
    beginning = pattern(r"[^.!?。！？\n]+[.!?。！？]?").findall(text)[:2]
    return any(_has(_PROMISES, sentence.strip()) and not _is_of_a_thing(sentence) for sentence in beginning)


def _is_of_a_thing(sentence: str) -> bool:
    if language_of(sentence) == "zh":
        return _has(_ZH_PROGRAM, sentence) or _is_a_thing_zh(sentence, personal=False)
    return _has(_EN_THING, sentence)


def drop_private(messages: Sequence[Message]) -> list[Message]:
    """The messages without those that are not to be kept: the one that asks, the one that it is about, and the answers to them.

    By the plain words alone, for where whole messages are kept and nothing judges their sentences.
    """
    private: set[int] = set()
    owners = [place for place, message in enumerate(messages) if message.speaker is Speaker.OWNER]
    for at, place in enumerate(owners):
        until = (*owners[at + 1 :], len(messages))[0]
        if asks_for_privacy(messages[place].text):
            back, forward = reach(messages[place].text)
            end = (*owners[at + 1 + forward :], len(messages))[0]
            private.update(range(owners[max(at - back, 0)], end))
        elif any(promises_silence(m.text) for m in messages[place + 1 : until] if m.speaker is Speaker.AGENT):
            private.update(range(place, until))
    return [message for place, message in enumerate(messages) if place not in private]


# Marks that any language has ("#nomemory", "incognito:"), and requests in German, French, Spanish, Japanese and Korean

_STOP = r"(?=\s{0,3}(?:$|[.,!?:;)–—]))"
_MARKS = (
    r"(?i)(?<!\S)[\[(]?#(?:(?:no|do-?not|don['’]?t|never)[-_]?(?:memory|mem|logs?|record|remember|sav(?:e|ing)|store|notes?|memori[sz]e|keep|trace)|off-?the-?record|otr|incognito)\b(?![-/])"
    r"|(?:^|\n)\W{0,3}(?:incognito(?: mode)?(?:,? please)?|off[ -]the[ -]record|otr|no[ -]?memory)\s{0,2}[\])]?\s{0,2}(?:[:：–—-]|(?<=[\])]))"
    r"|(?:^|[\n。！？])\W{0,3}(?:无痕|隐身)(?:模式)?\s?[:：]"
)
# For each language: who asks, who only tells of remembering, and the things that a rule of work is about.
_LANGUAGES = (
    (
        r"\b(?:merke?|behalte?|behältst|notiere?|speichere?|schreibe?|vermerke?|protokolliere?|merkst|speicherst|notierst|aufschreibst)\b[^.!?\n]{0,30}\bnicht\b(?: (?:auf|mit|ab|fest|weiter))?"
        + _STOP
        + r"|\bnicht\b[^.!?\n]{0,12}\b(?:merken|speichern|abspeichern|behalten|notieren|aufschreiben|mitschreiben|aufzeichnen|protokollieren|festhalten|merkst|speicherst|behältst|aufschreibst)\b"
        + _STOP
        + r"|\bvergiss\b(?! nicht)[^.!?\n]{0,12}\b(?:was ich|(?:das|es)(?: wieder| bitte)?"
        + _STOP
        + r")|\bbleib(?:t|en)? unter uns\b|\bunter uns(?: gesagt)?\s?[:,]|\bunter vier augen\b|\bim vertrauen\b|\bvertraulich"
        + _STOP
        + r"|\bnicht (?:fürs|für das) protokoll\b",
        r"\b(?:ich|er|wir|man) (?:kann|konnte|können|habe|hatte)\b|\b(?:kann|konnte) (?:ich|er|man)\b|\b(?:datei\w*|logs?|logfile\w*|daten\w*|passw\w+|readme|code|cache|tabelle\w*|server|repo\w*|ordner\w*|token\w*)\b",
    ),
    (
        r"\bn(?:e |['’])(?:\w{1,3} )?(?:retiens|retenez|retenir|gardes?|gardez|enregistres?|enregistrez|notes?|notez|mémorises?|mémorisez|écris|écrivez|conserves?|conservez|sauvegardes?|sauvegardez) (?:pas|rien)"
        r"(?: (?:ça|cela|ceci|tout ça|ce que je [^.!?\n]{1,30}?))?(?: en mémoire| s['’]il (?:te|vous) plaît| dans (?:ta|votre) mémoire)?"
        + _STOP
        + r"|\bne pas (?:le |la |l['’])?(?:mémoriser|enregistrer|retenir|garder|noter|conserver|sauvegarder)\b(?: (?:ceci|cela|ça))?(?: s['’]il (?:te|vous) plaît)?"
        + _STOP
        + r"|(?<!['’])\boublie[zr]? (?:ce que j|ça|cela)|\breste(?:ra)? entre nous\b|\bentre nous ?[:,]|\bconfidentiel(?:lement)?"
        + _STOP,
        r"\b(?:je|j|il|elle|on|nous|ils) n(?:e|['’])|\b(?:fichiers?|logs?|données|mots? de passe|readme|code|cache|serveur|dépôt|jetons?)\b",
    ),
    (
        r"\bno (?:lo |la |me |te )?(?:guard(?:es|e|ar|aras|ases)|recuerd(?:es|e)|memori(?:ces|ce|zar|zaras)|anot(?:es|e|ar|aras)|registr(?:es|e|ar|aras)|apunt(?:es|e|ar|aras)|almacen(?:es|e|ar)|escribas?|conserv(?:es|e|ar))\b"
        r"(?: (?:esto|eso|nada(?: de (?:esto|eso))?|lo que (?:te )?\w+))?(?:,? por favor| en tu memoria)?"
        + _STOP
        + r"|\bolvid(?:a|e) (?:esto|eso|lo que (?:acabo|he|te|dije))\b|\bolvídalo\b|\bqued[ae] entre (?:nosotros|nosotras|tú y yo)\b|\bentre (?:nosotros|tú y yo) ?[:,]|\bextraoficial(?:mente)?\b|\bconfidencial(?:mente)?"
        + _STOP,
        r"\b(?:archivos?|ficheros?|logs?|datos|contraseñas?|readme|código|caché|servidor|repositorio|tokens?)\b",
    ),
    (
        r"(?:覚え|記憶し|記録し|保存し|メモし|書き留め|書か|残さ)ないで|(?:覚え|記憶し|記録し|保存し|メモし)なくて(?:いい|良い|よい|結構)|(?:記憶|記録|保存|メモ)は?(?:不要|禁止|なし)で|オフレコ|ここだけの話|内緒(?:で|に|の話|だ)|秘密にし|(?:さっき|今|いま)の[^。！？\n]{0,8}忘れて(?!い)",
        r"パスワード|ファイル|ログ|データ|平文|コード|キャッシュ|トークン|リポジトリ|テーブル|サーバ",
    ),
    (
        r"(?:기억|저장|기록|메모|보관)[은는을를]? ?하지 ?(?:마|말|않)|(?:적|남기)지 ?(?:마|말)|오프 ?더 ?레코드|우리끼리|비밀(?:이야|이에요|로 ?해)|(?:방금|아까)[^.!?\n]{0,12}잊어",
        r"비밀번호|파일|로그|데이터|평문|(?<!레)코드|캐시|토큰|저장소|서버|테이블",
    ),
)
_OTHER_HINT = r"(?i)nicht|vergiss|unter (?:uns|vier)|vertrau|\bn(?:e |['’])|oubli|entre (?:n|t)|confiden|\bno |olvid|extraofic|ないで|なくて|(?:記憶|記録|保存|メモ)は?[不禁な]|オフレコ|ここだけ|内緒|秘密|忘れ|지 ?(?:마|말|않)|오프|우리끼리|비밀|잊어"
# No sentence is longer; what is, is read in pieces, so that a pasted file costs no more than its length.
_OTHER_SENTENCE = r"[^.!?。！？\n]{1,300}[.!?。！？]?"


# English

# What is the same whatever it is about: nobody writes these of software.
_EN_SAYINGS = (
    r"(?i)\boff[ -](?:the )?(?:record|books)\b(?! mean)"
    r"|\b(?:un)?(?:forget|remember) (?:that )?(?:i|we) (?:(?:ever|just|even) )?(?:said|told|mentioned|asked|brought|wrote)\b|\bforget what (?:i|we|he|she) (?:(?:just|ever) )?(?:said|told|mentioned|wrote|typed|talked)\b|\bforget (?:all|everything) (?:i|about (?:my|me|him|her))\b"
    r"|\b(?:you can |just |please |let['’]?s )?forget (?:this|that|(?:that|the) last (?:bit|part|message|one|thing|paragraph))(?=\s*(?:[,.!?)]|$|please|again))"
    r"|\b(?:between|just) (?:you and me|us\b|ourselves)|\bbetween (?:these|the) four walls\b"
    r"|\b(?:delete|erase|forget|scratch|ignore|disregard|scrap|purge|wipe|unlearn|lose|drop)\b[^.!?]{0,14}\b(?:what|everything|all|anything) (?:that )?i (?:just )?(?:said|told|wrote|mentioned|say)\b"
    r"|\b(?:wipe|scratch|erase|delete|purge|redact|skip|strike|disregard|forget) (?:that|this|it|my|the)\b (?:(?:last|previous|whole|earlier) )?(?:bit|message|messages|part|remark|comment|paragraph|keep|please)\b|\bstrike (?:that|this|my) line\b"
    r"|\b(?:please|pls|just) (?:wipe|erase|purge|unsee) (?:that|this|it)\b(?=\s*(?:[,.!?)]|$))|\b(?:wipe|erase|unsee|purge) (?:this|that|it),? (?:please|pls)\b|\bi shouldn['’]?t have (?:said|told|typed)[^.!?]{0,20}\b(?:erase|remove|delete|forget)\b"
    r"|\b(?:strike|remove|delete|drop|leave) (?:that|this|it)\b[^.!?]{0,20}\bfrom (?:the |your )?(?:record|memory|notes?)\b"
    r"|\byou (?:(?:did|have)n['’]?t|never) (?:hear|heard|see|saw|seen|read|get|got)\b(?: (?:this|that|it|any|me)|[:.,]| from)|\b(?:this|that) never happened\b|\bpretend (?:that )?i (?:never|did ?n['’o]?t)\b"
    r"|\bwe (?:never had|(?:did ?n['’]?t|never) (?:have|discuss(?:ed)?|talk\w*|sp[eo]ak)) (?:this|about)\b|\bnever heard (?:this|that|it)\b"
    r"|\b(?:for )?(?:my|your) (?:ears|eyes) only\b|\bfor my eyes\b|\bmum['’]?s the word\b|\bkeep (?:schtum|shtum|mum|(?:it|this|that) quiet)\b|\bkeep quiet (?:about|on)\b|\bkeep (?:this|that|it)[^.!?]{0,12} to yourself\b|\b(?:this|that|it)(?: one| part| bit)? you (?:better )?keep to yourself\b|\b(?:this|that|it|what i (?:say|tell you)(?: now| next)?) goes no further\b"
    r"|\b(?:as|treat \w+ as|consider it) (?:unsaid|never sa(?:id|nt))\b|\bslip your mind\b|\bnot a word (?:of|about|in|to)\b|\bin (?:strict |strictest )?confidence\b|\bconfidentially\b|\bstrictly confidential\b|\bconfidential,? (?:so|please|don['’]?t|keep)\b"
    r"|\b(?:this|that|it|which) (?:(?:one|part|bit) )?(?:is|was|stays?)(?: strictly| very| just| all)? (?:private|confidential|a secret|between)\b(?! \w+ing)|\b(?:this|that)(?: one)?['’]s (?:private|confidential|a secret|between)\b"
    r"|\b(?:this|that|it) (?:all )?stays (?:here|in this (?:room|chat)|out of)\b|\bi['’]?d rather (?:this|that|it) (?:wasn|isn|not)"
    r"|\bno (?:(?:written|paper) )?(?:record|trace|trail|notes?|memory|mention) (?:of|on|about) (?:this|that|it|any of|what i|my|me|him|her|our talk)\b|\bleave no (?:note|trace|record)s?\b(?=\s*(?:[,.!?:)]|$|please|of (?:this|that|it|our|my)))"
    r"|\b(?:go|goes|stays?|remains?) (?:unrecorded|unsaved|unremembered)\b|\bno (?:notes?|record|trace) (?:please|pls|plz)\b|(?:\bnot|n['’]?t|\bnothing|\bnever) (?:meant )?for (?:the |your |my |any )?(?:notes?|minutes|memory|record|logs?|files?|diary|posterity|keeping|saving)\b|\bfor the record\b[^.!?]{0,10}\bignore\b|\bignore it for the record"
    r"|\bnot? (?:in|on) (?:the|your|any) (?:notes?|record|file|memory|diary)\b(?=\s*(?:[,.!?:]|$|please))|\bburn after reading\b|\bwithout you taking notes\b"
    r"|\b(?:what i (?:say|tell you) next|the (?:following|next (?:bit|part))) (?:is|stays) (?:private|confidential|between)\b"
)
_EN_TALK = r"(?:talks?|chats?|conversations?|convos?|messages?|remarks?|comments?|paragraphs?|bits?|parts?|things?|stuff|one|story|secret|rant|confession|exchange|discussion|gossip|name)"
_EN_ABOUT_TALK = rf"(?:(?:this|that|these|those|our|the|my) (?:(?:last|previous|whole|entire|little|following|next) ){{0,2}}{_EN_TALK}\b|the following\b|what (?:follows|comes next)\b)"
_EN_TOLD = r"(?:said|say|saying|told|tell|telling|wrote|write|mention\w*|typed|shared|confess\w*|think|thought|did|do|earn\w*|make|feel|felt|ask(?:ed)?|am|was|were|have|had|pasted|sent|just|like|weigh|read out)"
_EN_SAID = rf"(?:(?:what|anything|everything|whatever|something|all|things|how much|who|where) (?:that )?(?:i|we|he|she|they|(?:my|his|her) \w+|(?-i:[A-Z])\w+)\b(?: \w+){{0,2}}? {_EN_TOLD}\b|(?:anything|everything|something|whatever|the \w+)(?: personal| private| else)? (?:about|on|of|concerning) (?:my|me|him|her|his|our|us|(?-i:[A-Z][a-z])\w+)\b|(?:(?:any|the) )?\w+ (?:about|concerning) (?:my|me|him|her|his)\b|anything (?:personal|private)\b)"
_EN_THAT_SOMEBODY = (
    r"(?:that|how|about (?:how|the fact)) (?:i\b|i['’]|he\b|she\b|we\b|they\b|my\b|our\b|(?-i:[A-Z][a-z])\w+)"
)
_EN_THIS = (
    r"(?:(?:a word of|any ?(?:thing|more)? of|all of|anything of|none of|much of) )?(?:this|that|it|these|those|them)\b"
)
_EN_AGENTS_PLACE = (
    r"(?:your|my|any|the|our|this|some|every)? ?(?:daily |weekly |long[- ]?term |permanent |user )?(?:memory|memories|notes?|diary|journal|minutes|summary|summaries|recaps?|records?|log|file|"
    r"profile|archive|brain|head|notebook)\b(?! (?:limit|file|table|column|field|folder|format|level|line|usage|pool|map|leak|store|rotation))"
)
# What may follow "this" without making it the name of a thing or the place of a file.
_EN_ENDS = (
    rf"(?=\s*(?:$|[.,!?;:)\"”…–—-]|(?:down|up|away|anywhere|either|again|at all|though|too|please|pls|plz|thanks|thx|ok|okay|lol|haha|anymore|any more|for later|forever|on record|on file|for me|ever|written|saved|about me|alright|because|cause|cuz|since|but|so|and|or|it['’]?s|i|he|she|we|if|when you|nor|rn|yourself)\b"
    rf"|(?:in|into|to|on|from|within) {_EN_AGENTS_PLACE}|(?:in|to) memory\b))"
)
_EN_PERSONS = r"(?:my|his|her|me|(?-i:[A-Z][a-z]+)['’]s)\b"
_EN_THING = (
    r"(?i)\b(?:files?|code|repos?|repository|branch(?:es)?|commits?|config(?:uration|s)?|settings?|databases?|db|tables?|columns?|fields?|rows?|index(?:es)?|cach\w+|quer(?:y|ies)|requests?|responses?|headers?|bod(?:y|ies)|"
    r"payloads?|tokens?|sessions?|cookies?|logs?|logger|logging|metrics?|endpoints?|apis?|servers?|services?|workers?|daemons?|jobs?|cron|queues?|buffers?|buckets?|disks?|drives?|memory (?:limit|leak|usage)|ram|heap|threads?|process(?:es)?|"
    r"functions?|class(?:es)?|methods?|modules?|variables?|globals?|strings?|floats?|json|yaml|toml|csv|html|xml|sql|redis|postgres\w*|mysql|sqlite|s3|git|github|docker|kubernetes|k8s|ci|builds?|artefacts?|artifacts?|deploy\w*|"
    r"migrations?|tests?|fixtures?|snapshots?|backups?|replicas?|embeddings?|vectors?|models?|epochs?|checkpoints?|images?|videos?|uploads?|downloads?|attachments?|documents?|drafts?|forms?|buttons?|pages?|screens?|browsers?|frontend|"
    r"backend|clients?|customers?|users?|visitors?|apps?|extensions?|plugins?|parsers?|scrapers?|crawlers?|exporters?|importers?|templates?|controllers?|views?|components?|states?|stack traces?|errors?|warnings?|debug|production|prod|staging|"
    r"timestamps?|time zones?|utf-?\w*|crlf|tabs?|bytes?|objects?|references?|connections?|sockets?|handles?|locks?|secrets?|credentials?|env(?:ironment)?|desktop|folders?|director(?:y|ies)|partitions?|hosts?|wizard|extension|cart|records?|"
    r"release|changelog|tickets?|linter|cli|ui|cd|edits?|changes|layouts?|windows?|results?|entries|pdfs?|spreadsheets?|invoices?|data|datasets?|sheets?|arrays?|dicts?|localstorage|scroll|position|reports?|letters?|headlines?|titles?|articles?|posts?|repl(?:y|ies)|answers?|contracts?|proposals?|slides?|deck|cv|resume|subject|calendar|invitations?|hours|meetings?|calls?|expenses|mileage|quotes?|pii|emails?|passwords?|noise|spam)\b"
)
_EN_NOT = r"(?:\b(?:do|should|must|need|ought|can|could|would|shall|may|might|wo|ca|sha|doesn|won)n['’]?t\b|\b(?:do|should|must|can|could|would|may|to|and|or|but|rather|better|please|you) not\b|\bnot to\b|\blet['’]?s not\b|^\W{0,3}not\b|(?<=[,:;(] )not\b|\bnever\b|\b(?:no need|not need|needn['’]?t|refrain|skip|stop|avoid)(?: to| from)?\b|\bmind not\b|\b(?:rather|prefer|appreciate|grateful|glad|nice|great|good|happier|love)\b[^.!?]{0,24}\b(?:did ?n['’o]{0,2}t|do ?n['’o]{0,2}t|would ?n['’o]{0,2}t|could ?n['’o]{0,2}t|not)\b|\bif you (?:didn['’]?t|could not)\b)"
_EN_KEEP = (
    r"(?P<verb>re?me?mber(?:ing|ed)?|memori[sz]\w+|retain(?:ing|ed)?|record(?:ing|ed)?|not(?:e|ing|ed)|jot(?:ting)?|log(?:ging|ged)?|sav(?:e|ing|ed)|stor(?:e|ing|ed)|keep(?:ing)?|kept|writ(?:e|ing|ten)|put(?:ting)?|fil(?:e|ing|ed)|"
    r"archiv(?:e|ing|ed)|persist(?:ing|ed)?|includ(?:e|ing|ed)|mention(?:ing|ed)?|add(?:ing|ed)?|captur(?:e|ing|ed)|h(?:o|a)(?:ld|ng)(?:ing)? on ?to|hold(?:ing)?|held|bring(?:ing)?|learn(?:ing)?|repeat(?:ing)?|quote|carry|summari[sz]e|tak(?:e|ing) notes?|mak(?:e|ing) (?:a )?notes?)"
)
_EN_WITH = r"(?:\s+(?:down|up|away|back|on to|onto|over|track|notes?|records?|copies|a (?:note|record|copy|word|trace)|any (?:notes?|records?|cop(?:y|ies)|trace|memory))\b)?(?:\s+(?:of|on|about)\b)?"
_EN_ASKED = (
    "(?i)"
    + _EN_NOT
    + r"(?P<between>(?:[ ,]+(?!forget|fail|hesitate|only|just\b)[\w'’]+){0,4}?)\s+"
    + _EN_KEEP
    + _EN_WITH
    + rf"\s*(?P<object>{_EN_ABOUT_TALK}|{_EN_SAID}|{_EN_THAT_SOMEBODY}|(?P<this>{_EN_THIS}){_EN_ENDS}|(?P<person>{_EN_PERSONS})|(?P<none>(?:(?:anywhere|please|pls|plz|ok|okay|thanks|either|at all|yourself)\b,?\s*){{0,3}}(?P<place>in {_EN_AGENTS_PLACE})?\s*(?:$|[.,!?;:)–—])))?"
)
_EN_SOMEWHERE = r"(?i)(?:hold|held|add|bring|learn|put|includ|mention|carry|quote)(?!.* on ?to)\w*$|fil(?:e|ing)$"
_EN_INTO_MEMORY = rf"(?i)\b(?:in|into|to|on|from) {_EN_AGENTS_PLACE}|\b(?:anywhere|away|down|on record|about me)\b"
_EN_PLAIN_NONE = r"(?i)^(?:re?me?mber|memori[sz]|record|not(?:e|ing)|sav(?:e|ing)|stor(?:e|ing)|log|writ(?:e|ten|ing)|kept|recorded|noted|stored|saved|logged|remembered|retained?|tak|mak)"
_EN_SUBJECT_IS_ANOTHER = r"(?i)\b(?:i|we|they|he|she|who|people|nobody|it|why|if you|when you|because you|since you|that you|which you|in case you)\s+(?:(?:really|just|also|still|simply|probably|would|will|could|can|did|do|have)\s+)*$"
_EN_SUBJECT_IS_MEANT = rf"(?i)(?:^|[,;:–—(]\s*|\b(?:so|but|and|because|that|sure|please|wish|hope|want|rather|prefer)\s+)(?:{_EN_ABOUT_TALK}[^,;:]{{0,40}}|{_EN_SAID}[^,;:]{{0,40}}|{_EN_THIS}|(?:nothing|none|no part) (?:of (?:this|that|it|tonight|today|what)|i\b|we\b|here)[^,;:]{{0,30}}|{_EN_PERSONS}[^,;:]{{0,40}})\s*$"
# "Nothing I said should be kept": the negation stands in the subject. "Make sure none of this is recorded."
_EN_NONE_OF_IT = rf"(?i)\b(?:nothing|none|no part) (?:(?:of (?:this|that|it|tonight|today|what i|our)|i|we|here)\b[^.!?]{{0,40}}?|about (?:my|me|him|her)[^.!?]{{0,30}}?)(?:\b(?:kept|saved|stored|recorded|remembered|noted|written|logged|retained|summari[sz]ed|keeping|in(?:to)? {_EN_AGENTS_PLACE}))"
# "I don't want this written down", "make sure it isn't saved", "this must not end up in your notes".
_EN_DONE = r"(?:written(?: down)?|saved|stored|recorded|kept|noted(?: down)?|logged|remembered|retained|memori[sz]ed|archived|on record)"
_EN_WISHED = (
    rf"(?i)\b(?:\w+n['’]?t want|not want|rather|prefer|make sure|\w+n['’]?t like|wish|(?:nice|great|good|better|grateful|glad) if)\b[^.!?]{{0,14}}\b(?:{_EN_THIS}|{_EN_ABOUT_TALK}|{_EN_PERSONS}(?: [\w'’]+){{1,3}})[^.!?]{{0,14}}\b(?:{_EN_DONE}|in {_EN_AGENTS_PLACE}){_EN_ENDS}"
    rf"|\b(?:{_EN_THIS}|{_EN_ABOUT_TALK}|{_EN_SAID}[^.!?,;:]{{0,30}}|{_EN_PERSONS}(?: [\w'’]+){{1,3}}) (?:must|should|may|can|shall|is|are|need|does|do|has)(?: ?n['’]?o?t| never)(?: (?:to|be|get|have|need|ever|something i want)){{0,3}} (?:{_EN_DONE}{_EN_ENDS}|(?:end up|show up|appear|turn up|pop up|go|land|be|belong|come up) (?:anywhere|(?:in|into|on) {_EN_AGENTS_PLACE}))"
    rf"|(?:n['’]?t|\bnot|\bnever)\b[^.!?]{{0,12}}\b(?:let|have|see|find)\b[^.!?]{{0,6}}\b{_EN_THIS}[^.!?]{{0,6}}\b(?:(?:end|show|turn|pop)(?:ing)? up|appear|resurface|slip|go)\b"
    rf"|\bnot to be {_EN_DONE}{_EN_ENDS}"
    r"|\b(?:this|that|it)(?: is|['’]s) (?:not|nothing)(?: something)?(?: for you)? (?:to|you (?:need|have|should)(?: to)?) (?:remember|keep|write down|note|record|store|save)\b"
    r"|\b(?:remember|keep|save|store|hold|record|write|retain|note|log) (?:down )?(?:nothing|none) (?:of|about|from) (?:this|that|it|what|today|tonight|my|me|him|her|our)\b"
)
_EN_LEFT_OUT = rf"(?i)\b(?:keep|leave|stay(?:s|ed)?|kept|take|pull|drop|remove|delete|erase|wipe|scrub|exclude|omit|strike|clear|purge)\b(?P<object>[^.!?]{{0,50}}?)\b(?:out of|from) (?P<place>{_EN_AGENTS_PLACE}|anything you\b|whatever you\b)"
_EN_MEANT = rf"(?i)^\s*(?:{_EN_ABOUT_TALK}|{_EN_SAID}|{_EN_THIS}|(?:the|that) (?:part|bit|thing|stuff|line|story|entry)\b|{_EN_PERSONS}(?! (?:files?|logs?)\b))"
# No sentence is longer; what is, is read in pieces, so that a pasted file costs no more than its length.
_EN_SENTENCE = r"[^.!?\n]{1,400}(?:[.](?=\w)[^.!?\n]{0,200}){0,4}[.!?]?"
_EN_HINT = r"(?i)n['’]?t\b|\bno|\bnever\b|\bforget|\bpretend|\brecord\b|confiden|private|secret|\bbetween\b|\bjust us|eyes only|\bears only|mum|quiet|schtum|shtum|unsaid|yourself|stays|rather|wipe|scratch|erase|delete|purge|strike|remove|leave|keep|drop|scrub|exclude|omit|unsee|skip|stop|redact|disregard|ignore|burn after|off[ -]the|refrain|avoid|prefer|pull|without you|books|unremember|unrecorded|unsaved|happened"


def _requests_en(text: str) -> Spans:
    for whole in pattern(_EN_SENTENCE).finditer(text) if _has(_EN_HINT, text) else ():
        sentence = whole[0]
        if not _has(_EN_HINT, sentence):
            continue
        matches = [m for part in (_EN_SAYINGS, _EN_NONE_OF_IT, _EN_WISHED) for m in pattern(part).finditer(sentence)]
        for match in pattern(_EN_LEFT_OUT).finditer(sentence):
            place, thing = match["place"].lower(), match["object"]
            of_agent = place.startswith(("your", "my", "anything", "whatever")) or place.endswith(("notes", "diary"))
            of_agent = of_agent or match[0][:5].lower() in {"keep ", "leave"}
            stays = not thing.strip() and _has(_EN_SUBJECT_IS_MEANT, sentence[: match.start()])
            if stays or _has(_EN_MEANT, thing) or (of_agent and not _has(_EN_THING, thing)):
                matches.append(match)
        asked = (match for match in pattern(_EN_ASKED).finditer(sentence) if match["object"] is not None)
        for match in (*matches, *(match for match in asked if _is_asked_en(match, sentence))):
            yield whole.start() + match.start(), whole.start() + match.end()


def _is_asked_en(match: re.Match[str], sentence: str) -> bool:
    """Whether what is not to be kept is the session, what was said in it, or somebody's own affairs."""
    before, after = sentence[: match.start()], sentence[match.start("object") :]
    wanted = _has(
        r"(?i)\b(?:want|need|like|wish|rather|prefer|appreciate|grateful|glad|nice|great|good|happier|love)\b",
        sentence[match.start() : match.start("verb")],
    )
    if _has(_EN_SUBJECT_IS_ANOTHER, before) and not wanted:
        return False
    if sentence.rstrip().endswith("?") and not _has(r"(?i)\b(?:can|could|would|will|please)\b", sentence):
        return False
    # "Don't put this on one line", "don't add me to the list": these keep something only where they say where.
    if pattern(_EN_SOMEWHERE).match(match["verb"]) and not _has(_EN_INTO_MEMORY, after):
        return False
    if match["person"]:
        waits = match["person"].lower() == "me" and pattern(r"(?i)keep|kept|writ").match(match["verb"])
        return not waits and not _has(_EN_THING, after[:60])
    if match["this"] and _has(r"(?i)^\S+(?: of \S+)?\s+(?:in|to) memory\b", after):
        return not _has(_EN_THING, sentence)
    in_yours = (match["place"] or "").lower().startswith("in your")
    if match["none"] is None or in_yours or _has(_EN_SUBJECT_IS_MEANT, before):
        return True
    alone = _has(r"(?i)(?:^|[,;:.–—-]|\b(?:please|pls|so|but|and|you|just|plz|ok))\W*$", before)
    return alone and _has(_EN_PLAIN_NONE, match["verb"]) and not _has(_EN_THING, sentence)


# Chinese

_ZH_C = r"[^，。！？；：,!?;:—…\n]"  # anything within a clause
_ZH_SAYINGS = (
    r"哪(?:儿|里|边)?[也都]{0,2}先?(?:别|不要|不用|甭)(?:再|给我)?(?:写|记|存|留)(?:下来?)?(?=[哈啊呀哦吧了]*\s*(?:[，。！!；;,.]|$))|(?:别|不要|不用|甭|不许)(?:让它|给我)?落(?:到|在|进)?(?:纸上|纸面|笔头|文字|字面)"
    r"|你(?:就)?听(?:听|过|完)(?:就)?(?:得了|算了|拉倒|完了|就好|就行|为止)|"
    rf"(?:忘掉|忘记|抹掉|删掉|删除|清掉|清除|去掉|剔除|划掉|拿掉|忽略|隐去){_ZH_C}{{0,8}}(?:记忆|上一条|刚才|刚刚|前面(?!的)|这段|这句|那段|那句|那条消息|我说的|我刚)|(?:上一条|刚才|刚刚|前面|这段|这句|那段|那句|这几句|那几句|记忆里?|笔记里?|备忘里?){_ZH_C}{{0,16}}(?:忘掉|忘了吧|忘了|抹掉|抹了|删掉|删除|删了|清掉|去掉|拿走|剔除|掐掉)"
    rf"|把{_ZH_C}{{1,16}}(?:忘了吧|忘掉|忘光)|(?:算完|说完|看完|用完|讲完|听完|问完|聊完|转完){_ZH_C}{{0,6}}(?:忘|抹掉|清空|当没)|说完(?:就|即)忘|听过就(?:算|忘)|过后清掉|从(?:你)?(?:脑子|记忆|长期记忆|总结|纪要|记录|日志|笔记|备忘)(?:里|中)?(?:去掉|删|抹|清|拿|剔)"
    r"|烂(?:在)?(?:你)?肚子里|出了这(?:个)?门|当(?:作|你|我)*没(?:听见|听到|看见|见过|收到|这回事|这事|发生|说过?|讲过?|提过?)|当(?:作)?(?:不知道|耳旁风|梦话)|(?:你我|咱俩|我们俩|咱们俩?)(?:之间|俩)?(?:[^，。！？,!?]{0,4}(?:说说|知道就|聊聊))"
    rf"|说漏嘴|悄悄话|谁(?:都|也)(?:别|不要)(?:说|讲|提)|跟谁都别|(?:别|不要){_ZH_C}{{0,6}}(?:往外|跟(?:任何|别)人|对外){_ZH_C}{{0,4}}(?:说|讲|提|传)|(?:别|不要|勿)外?传(?=$|[，。！？,!?])"
    r"|(?<!说好)(?:要|请|得|务必|替我|帮我|给我|先|事|是|此|^|[，。！？,!?])保密(?!协议|局|条款|级|性|工作|柜|员|措施|要求|费|办|[^，。！？,!?]{0,3}(?:还是|吗))|这条忘了"
    r"|你知我知|(?:咱|你|我)(?:俩|们|我)?(?:两个)?(?:俩)?知道就(?:行|好|可以)|天知地知|仅限(?:我|咱|你|这次聊天)|不入档|不留(?:记录|痕|案底|存)(?!功能)|阅后即焚|不落(?:纸|笔)|不作记录|不进记忆|不形成文字|到你这(?:儿)?为止|左耳进右耳出|无痕模式"
)
_ZH_NOT = r"(?P<not>(?<![分区特级性识])(?<!(?<![这那])个)[别別](?!的|人|名|处|墅|扭|致|看|样|针|称|家|国|字)|不要|不用|不必|不需要|不许|不准|不能|不得|不可以?|不该|不应该?|不想|不希望|不允许|勿|(?<![莫])莫(?!名)|甭|无需|无须|唔好|唔使|憋|不予|不做|禁止|严禁|不(?=[记入进留存写录落]))"
_ZH_VERB = (
    r"(?P<verb>(?<![忘标登日笔书手周传牢])[记記](?![错账仇混恨名号分工性者忆事载成仔])(?:录下来|录|下来?|住|着|得|入|进去?|到|在)*|保存|保留|存储|存(?!量|活|在(?!\s*[A-Za-z]|[^，。]{1,12}[里中上]))(?:下来?|进去?|到|入|着|起来|档|成|为)*|留(?![言意学神心给])(?:存|底|档|痕迹?|着|下来?|案底)*|"
    r"(?<![重改编手填抄代续缩大小简拼])写(?:下来?|进去?|到|入|在|成)*|录(?:入|下来|音)|收录|归档|入库|入档|建档|存档|落(?:库|盘|纸|笔|到)|登记|备注|持久化|沉淀|进(?=(?:你的?|任何)?(?:记忆|摘要|库|记录|笔记))|出现在|提(?:到|起|及))"
)
_ZH_ASKED = rf"{_ZH_NOT}(?P<between>(?:(?![忘只按照]){_ZH_C}){{0,16}}?){_ZH_VERB}(?P<object>{_ZH_C}*)"
_ZH_TALK = (
    r"(?:这|那|此)(?:个|件|条|段|句|些|次|种|点|几句|一段|一条|部分|番|茬)?(?:秘密|内容|事儿?|话|聊天|对话|谈话|八卦|消息|破事|信息|经过|东西|情况)?(?=$|[就也都可你请先真我给千绝一统全麻]|[别不勿]|说|的)|(?:这|那)(?:个|种)?(?:事|秘密|八卦)"
    r"|刚才|刚刚|方才|刚(?:说|提|贴|骂|发|漏)|以上|上面|前面|上述|下面|以下|接下来|(?:我|他|她)(?!们)|我们(?:俩|这次|的对话|聊)|咱|妈|爸|爷|奶|家人|孩子|女儿|儿子|老婆|老公|同事|老板(?!娘)|小[王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗郑梁谢宋唐许韩冯邓曹彭曾肖董潘袁蔡蒋余杜叶程魏苏吕丁卢姚沈钟姜崔谭陆范汪廖贾邹熊孟秦邱侯尹薛闫雷史陶贺顾郝龚邵钱严戴]|私事|隐私|秘密|八卦|闲话|气话|牢骚|悄悄|私下|[的那]事(?:$|[别不你也])|的话|对话|谈话|聊天|"
    r"今[天晚][^，。]{0,6}(?:说|聊|讲)|(?:聊|说|讲|谈)的|病情|病历|体检|薪资|工资|体重|怀孕|离婚|感情|信仰"
)
_ZH_MEMORY = r"记忆|笔记|备忘|小本|本子|日记|画像|档案|任何(?:地方|记录|痕迹|备份)|哪里|长期记|你的(?:日志|记录|库|文件)|一个字|摘要"
# Either the agent's or a program's: a thing unless the session or somebody's affairs are meant.
_ZH_PERHAPS = r"更新日志|日志|总结|周报|日报|纪要|记录|摘要|档|复盘|用户|客户|照片|[A-Za-z]{2,}"
_ZH_THING = (
    r"更新日志|日志|文件|请求|响应|返回|接口|内存|缓存|数据|字段|[张个]表|旧表|列名|索引|代码|仓库|分支|提交|配置|函数|变量|常量|字符串|浮点|构造|类里|模块|组件|模板|控制器|状态|视图|页面|登录页|表单|按钮|浏览器|前端|后端|客户端|服务(?!员)|服务器|进程|线程|循环|队列|会话|令牌|密钥|磁盘|分区|目录|"
    r"机器|主机|容器|镜像|集群|环境|生产|上线|构建|编译|产物|依赖|迁移|脚本|测试|单元|用例|断言|备份|快照|副本|向量|模型|参数|图片|原图|水印|视频|录屏|上传|下载|附件|草稿|文档|注释|变更|版本|工单|埋点|指标|监控|堆栈|报错|错误|异常|调试|级别|爬虫|网页|键盘|滚动|搜索|换行|编码|时区|时间戳|金额|订单|"
    r"会员|访客|域名|标准输出|响应头|根目录|中间结果|状态码|消息队列|插件|软件|系统|程序|账本|相册|空行|冗余|明文|主线程|键值|值存|大对象|合并|冲突|小程序"
)
_ZH_ONLY_WORDS = (
    r"^[别不]|^[\s了啦哦啊哈吧呀呢嘛的着喔昂谢]*$|^(?:任何|它|这|那|什么|下来|进去|起来|到|在|住|谢谢|行吗|好吗|好不好)"
)
_ZH_ELSEWHERE = (
    r"(?:报告|邮件|标题|简历|文章|稿子?|回答|回复|答案|合同|方案|信|简介|名单|邀请函?)[里中上]|给(?:客户|别人|对方)"
)
_ZH_PROGRAM = r"[A-Za-z]{2,}"
_ZH_FILLER = r"^(?:请|麻烦|拜托|你|您|那边|那儿|也|更|可|都|就|先|千万|绝对|一定|一概|统统|一个|一点|真的?|所以|但|删了|嘱咐|要求|用户|注明|说明|讲明|[\s、，])*$"
# No sentence is longer; what is, is read in pieces, so that a pasted file costs no more than its length.
_ZH_CLAUSE = rf"{_ZH_C}{{1,200}}"
_ZH_SENTENCE = r"[^。！？!?\n]{1,200}"


def _requests_zh(text: str) -> Spans:
    for sentence in pattern(_ZH_SENTENCE).finditer(text):
        start = sentence.start()
        for match in pattern(_ZH_SAYINGS).finditer(sentence[0]):
            yield start + match.start(), start + match.end()
        for clause in pattern(_ZH_CLAUSE).finditer(sentence[0]):
            asked = pattern(_ZH_ASKED).search(clause[0])
            if asked and _is_asked_zh(asked, sentence[0], clause.start()):
                begin, end = start + clause.start(), start + clause.start() + asked.end()
                # A long topic is a statement of its own rather than the matter that is meant, and so is a long object.
                stated = asked.start() > 10
                content = len(asked["object"]) if len(asked["object"]) > 8 else 0
                yield begin + (asked.start("not") if stated else 0), end - content


def _is_asked_zh(match: re.Match[str], sentence: str, at: int) -> bool:
    """Whether what is not to be kept is the session, what was said in it, or somebody's own affairs."""
    topic, meant, verb = match.string[: match.start()], match["object"], match["verb"]
    between = pattern(r"[替给帮跟为对]我").sub("", match["between"])
    about = f"{topic} {between} {meant}"
    personal = any(_has(_ZH_TALK, part) for part in (topic, between, meant))
    if _has(r"^(?:成|为|作)", meant) or _is_a_thing_zh(about, personal=personal):
        return False
    if verb.endswith("成") or _has(_ZH_ELSEWHERE, about):
        return False
    if _has(_ZH_PROGRAM, meant) and not (_has(_ZH_TALK, meant) or _has(_ZH_MEMORY, meant)):
        return False  # "这个不要存 Redis"
    filler = _has(_ZH_FILLER, topic)
    if match["not"] == "不" and (
        _has(r"(?:[我他她们]|自己|怎么|为什么|从来|还)\||记得$", topic + "|" + verb)
        or not (filler or _has(_ZH_TALK, topic[-8:]))
    ):
        return False  # "he never writes anything down" tells, it does not ask
    in_memory = _has(_ZH_MEMORY, about)
    if verb[0] in "提出" and not (_has(_ZH_PERHAPS, about) or in_memory):
        return False
    if in_memory:
        return True
    if not _has(_ZH_ONLY_WORDS, meant) and not _has(_ZH_TALK, meant) and not _has(_ZH_PERHAPS, meant):
        return False
    if personal:
        return True
    if _has(_ZH_PERHAPS, about):
        return _has(r"^(?:任何)?(?:记录|痕迹)", meant)
    personal_before = _has(_ZH_TALK, sentence[:at])
    if verb[0] in "记記":
        return personal_before or not _is_a_thing_zh(sentence[:at], personal=False)
    # Without an object it is clear from what stands around it: "不用存档，git 里都有".
    of_a_program = not personal_before and _has(_ZH_PROGRAM, sentence)
    return filler and not of_a_program and not _is_a_thing_zh(sentence, personal=personal_before)


def _is_a_thing_zh(words: str, *, personal: bool) -> bool:
    """Whether files, logs or data are spoken of; where somebody's affairs are, a log may be the agent's."""
    rest = pattern(_ZH_MEMORY).sub("", words)
    return _has(_ZH_THING, pattern(_ZH_PERHAPS).sub("", rest) if personal else rest)
