"""Wishes not to be remembered, in English: told by what the verb is about, the talk and the person or files, logs and code."""

from __future__ import annotations

import re
from collections.abc import Iterator

# What is the same whatever it is about: nobody writes these of software.
_SAYINGS = re.compile(
    r"\boff[ -](?:the )?(?:record|books)\b(?! mean)"
    r"|\b(?:un)?(?:forget|remember) (?:that )?(?:i|we) (?:(?:ever|just|even) )?(?:said|told|mentioned|asked|brought|wrote)\b|\bforget what (?:i|we|he|she) (?:(?:just|ever) )?(?:said|told|mentioned|wrote|typed|talked)\b|\bforget (?:all|everything) (?:i|about (?:my|me|him|her))\b"
    r"|\b(?:you can |just |please |let['’]?s )?forget (?:this|that|(?:that|the) last (?:bit|part|message|one|thing|paragraph))(?=\s*(?:[,.!?)]|$|please|again))"
    r"|\b(?:between|just) (?:you and me|us\b|ourselves)|\bbetween (?:these|the) four walls\b"
    r"|\b(?:delete|erase|forget|scratch|ignore|disregard|scrap|purge|wipe|unlearn|lose|drop)\b[^.!?]{0,14}\b(?:what|everything|all|anything) (?:that )?i (?:just )?(?:said|told|wrote|mentioned|say)\b"
    r"|\b(?:wipe|scratch|erase|delete|purge|redact|skip|strike|disregard|forget) (?:that|this|it|my|the)\b (?:(?:last|previous|whole|earlier) )?(?:bit|message|messages|part|remark|comment|paragraph|keep|please)\b|\bstrike (?:that|this|my) line\b"
    r"|\b(?:please|pls|just) (?:wipe|erase|purge|unsee) (?:that|this|it)\b(?=\s*(?:[,.!?)]|$))|\b(?:wipe|erase|unsee|purge) (?:this|that|it),? (?:please|pls)\b|\bi shouldn['’]?t have (?:said|told|typed)[^.!?]{0,20}\b(?:erase|remove|delete|forget)\b"
    r"|\b(?:strike|remove|delete|drop|leave) (?:that|this|it)\b[^.!?]{0,20}\bfrom (?:the |your )?(?:record|memory|notes?)\b"
    r"|\byou (?:(?:did|have)n['’]?t|never) (?:hear|heard|see|saw|seen|read|get|got)\b(?: (?:this|that|it|any|me)|[:.,]| from)|\b(?:this|that) never happened\b|\bpretend (?:that )?i (?:never|did ?n['’o]?t)\b"
    r"|\bwe (?:never had|(?:did ?n['’]?t|never) (?:have|discuss(?:ed)?|talk\w*|sp[eo]ak)) (?:this|about)\b|\bnever heard (?:this|that|it)\b"
    r"|\b(?:for )?(?:my|your) (?:ears|eyes) only\b|\bfor my eyes\b|\bmum['’]?s the word\b|\bkeep (?:schtum|shtum|mum|(?:it|this|that) quiet)\b|\bkeep quiet (?:about|on)\b|\bkeep (?:this|that|it)[^.!?]{0,12} to yourself\b"
    r"|\b(?:as|treat \w+ as|consider it) (?:unsaid|never sa(?:id|nt))\b|\bslip your mind\b|\bnot a word (?:of|about|in|to)\b|\bin (?:strict |strictest )?confidence\b|\bconfidentially\b|\bstrictly confidential\b|\bconfidential,? (?:so|please|don['’]?t|keep)\b"
    r"|\b(?:this|that|it|which) (?:(?:one|part|bit) )?(?:is|was|stays?)(?: strictly| very| just| all)? (?:private|confidential|a secret|between)\b(?! \w+ing)|\b(?:this|that)(?: one)?['’]s (?:private|confidential|a secret|between)\b"
    r"|\b(?:this|that|it) (?:all )?stays (?:here|in this (?:room|chat)|out of)\b|\bi['’]?d rather (?:this|that|it) (?:wasn|isn|not)"
    r"|\bno (?:(?:written|paper) )?(?:record|trace|trail|notes?|memory|mention) (?:of|on|about) (?:this|that|it|any of|what i|my|me|him|her|our talk)\b|\bleave no (?:note|trace|record)s?\b(?=\s*(?:[,.!?:)]|$|please|of (?:this|that|it|our|my)))"
    r"|\b(?:go|goes|stays?|remains?) (?:unrecorded|unsaved|unremembered)\b|\bno (?:notes?|record|trace) (?:please|pls|plz)\b|\bnot for (?:the |your |my )?(?:notes?|minutes|memory|record|files?|diary|posterity)\b|\bfor the record\b[^.!?]{0,10}\bignore\b|\bignore it for the record"
    r"|\bnot? (?:in|on) (?:the|your|any) (?:notes?|record|file|memory|diary)\b(?=\s*(?:[,.!?:]|$|please))|\bburn after reading\b|\bwithout you taking notes\b"
    r"|\b(?:what i (?:say|tell you) next|the (?:following|next (?:bit|part))) (?:is|stays) (?:private|confidential|between)\b",
    re.IGNORECASE,
)

_TALK = r"(?:talks?|chats?|conversations?|convos?|messages?|remarks?|comments?|paragraphs?|bits?|parts?|things?|stuff|one|story|secret|rant|confession|exchange|discussion|gossip|name)"
_ABOUT_TALK = rf"(?:(?:this|that|these|those|our|the|my) (?:(?:last|previous|whole|entire|little|following|next) ){{0,2}}{_TALK}\b|the following\b|what (?:follows|comes next)\b)"
_TOLD = r"(?:said|say|saying|told|tell|telling|wrote|write|mention\w*|typed|shared|confess\w*|think|thought|did|do|earn\w*|make|feel|felt|ask(?:ed)?|am|was|were|have|had|pasted|sent|just|like|weigh|read out)"
_SAID = rf"(?:(?:what|anything|everything|whatever|something|all|things|how much|who|where) (?:that )?(?:i|we|he|she|they|(?:my|his|her) \w+|(?-i:[A-Z])\w+)\b(?: \w+){{0,2}}? {_TOLD}\b|(?:anything|everything|something|whatever|the \w+)(?: personal| private| else)? (?:about|on|of|concerning) (?:my|me|him|her|his|our|us|(?-i:[A-Z][a-z])\w+)\b|(?:(?:any|the) )?\w+ (?:about|concerning) (?:my|me|him|her|his)\b|anything (?:personal|private)\b)"
_THAT_SOMEBODY = (
    r"(?:that|how|about (?:how|the fact)) (?:i\b|i['’]|he\b|she\b|we\b|they\b|my\b|our\b|(?-i:[A-Z][a-z])\w+)"
)
_THIS = (
    r"(?:(?:a word of|any ?(?:thing|more)? of|all of|anything of|none of|much of) )?(?:this|that|it|these|those|them)\b"
)
_AGENTS_PLACE = (
    r"(?:your|my|any|the|our|this|some|every)? ?(?:daily |weekly |long[- ]?term |permanent |user )?(?:memory|memories|notes?|diary|journal|minutes|summary|summaries|recaps?|records?|log|file|"
    r"profile|archive|brain|head|notebook)\b(?! (?:limit|file|table|column|field|folder|format|level|line|usage|pool|map|leak|store|rotation))"
)
# What may follow "this" without making it the name of a thing or the place of a file.
_ENDS = (
    rf"(?=\s*(?:$|[.,!?;:)\"”…–—-]|(?:down|up|away|anywhere|either|again|at all|though|too|please|pls|plz|thanks|thx|ok|okay|lol|haha|anymore|any more|for later|forever|on record|on file|for me|ever|written|saved|about me|alright|because|cause|cuz|since|but|so|and|or|it['’]?s|i|he|she|we|if|when you|nor|rn|yourself)\b"
    rf"|(?:in|into|to|on|from|within) {_AGENTS_PLACE}|(?:in|to) memory\b))"
)
_PERSONS = r"(?:my|his|her|me|(?-i:[A-Z][a-z]+)['’]s)\b"
_THING = re.compile(
    r"\b(?:files?|code|repos?|repository|branch(?:es)?|commits?|config(?:uration|s)?|settings?|databases?|db|tables?|columns?|fields?|rows?|index(?:es)?|cach\w+|quer(?:y|ies)|requests?|responses?|headers?|bod(?:y|ies)|"
    r"payloads?|tokens?|sessions?|cookies?|logs?|logger|logging|metrics?|endpoints?|apis?|servers?|services?|workers?|daemons?|jobs?|cron|queues?|buffers?|buckets?|disks?|drives?|memory (?:limit|leak|usage)|ram|heap|threads?|process(?:es)?|"
    r"functions?|class(?:es)?|methods?|modules?|variables?|globals?|strings?|floats?|json|yaml|toml|csv|html|xml|sql|redis|postgres\w*|mysql|sqlite|s3|git|github|docker|kubernetes|k8s|ci|builds?|artefacts?|artifacts?|deploy\w*|"
    r"migrations?|tests?|fixtures?|snapshots?|backups?|replicas?|embeddings?|vectors?|models?|epochs?|checkpoints?|images?|videos?|uploads?|downloads?|attachments?|documents?|drafts?|forms?|buttons?|pages?|screens?|browsers?|frontend|"
    r"backend|clients?|customers?|users?|visitors?|apps?|extensions?|plugins?|parsers?|scrapers?|crawlers?|exporters?|importers?|templates?|controllers?|views?|components?|states?|stack traces?|errors?|warnings?|debug|production|prod|staging|"
    r"timestamps?|time zones?|utf-?\w*|crlf|tabs?|bytes?|objects?|references?|connections?|sockets?|handles?|locks?|secrets?|credentials?|env(?:ironment)?|desktop|folders?|director(?:y|ies)|partitions?|hosts?|wizard|extension|cart|records?|"
    r"release|changelog|tickets?|linter|cli|ui|cd|edits?|changes|layouts?|windows?|results?|entries|pdfs?|spreadsheets?|invoices?|data|datasets?|sheets?|arrays?|dicts?|localstorage|scroll|position|reports?|letters?|headlines?|titles?|articles?|posts?|repl(?:y|ies)|answers?|contracts?|proposals?|slides?|deck|cv|resume|subject|calendar|invitations?|hours|meetings?|calls?|expenses|mileage|quotes?|pii|emails?|passwords?|noise|spam)\b",
    re.IGNORECASE,
)
_NOT = r"(?:\b(?:do|should|must|need|ought|can|could|would|shall|may|might|wo|ca|sha|doesn|won)n['’]?t\b|\b(?:do|should|must|can|could|would|may|to|and|or|but|rather|better|please|you) not\b|\bnot to\b|\blet['’]?s not\b|^\W{0,3}not\b|(?<=[,:;(] )not\b|\bnever\b|\b(?:no need|not need|needn['’]?t|refrain|skip|stop|avoid)(?: to| from)?\b|\bmind not\b|\b(?:rather|prefer|appreciate|grateful|glad|nice|great|good|happier|love)\b[^.!?]{0,24}\b(?:did ?n['’o]{0,2}t|do ?n['’o]{0,2}t|would ?n['’o]{0,2}t|could ?n['’o]{0,2}t|not)\b|\bif you (?:didn['’]?t|could not)\b)"
_KEEP = (
    r"(?P<verb>re?me?mber(?:ing|ed)?|memori[sz]\w+|retain(?:ing|ed)?|record(?:ing|ed)?|not(?:e|ing|ed)|jot(?:ting)?|log(?:ging|ged)?|sav(?:e|ing|ed)|stor(?:e|ing|ed)|keep(?:ing)?|kept|writ(?:e|ing|ten)|put(?:ting)?|fil(?:e|ing|ed)|"
    r"archiv(?:e|ing|ed)|persist(?:ing|ed)?|includ(?:e|ing|ed)|mention(?:ing|ed)?|add(?:ing|ed)?|captur(?:e|ing|ed)|h(?:o|a)(?:ld|ng)(?:ing)? on ?to|hold(?:ing)?|held|bring(?:ing)?|learn(?:ing)?|repeat(?:ing)?|quote|carry|summari[sz]e|tak(?:e|ing) notes?|mak(?:e|ing) (?:a )?notes?)"
)
_WITH = r"(?:\s+(?:down|up|away|back|on to|onto|over|track|notes?|records?|copies|a (?:note|record|copy|word|trace)|any (?:notes?|records?|cop(?:y|ies)|trace|memory))\b)?(?:\s+(?:of|on|about)\b)?"
_ASKED = re.compile(
    _NOT
    + r"(?P<between>(?:[ ,]+(?!forget|fail|hesitate|only|just\b)[\w'’]+){0,4}?)\s+"
    + _KEEP
    + _WITH
    + rf"\s*(?P<object>{_ABOUT_TALK}|{_SAID}|{_THAT_SOMEBODY}|(?P<this>{_THIS}){_ENDS}|(?P<person>{_PERSONS})|(?P<none>(?:anywhere|please|pls|plz|ok|okay|thanks|either|at all|yourself)?\s*(?P<place>in {_AGENTS_PLACE})?\s*(?:$|[.,!?;:)–—])))?",
    re.IGNORECASE,
)
_SOMEWHERE = re.compile(
    r"(?:hold|held|add|bring|learn|put|includ|mention|carry|quote)(?!.* on ?to)\w*$|fil(?:e|ing)$", re.IGNORECASE
)
_INTO_MEMORY = re.compile(
    rf"\b(?:in|into|to|on|from) {_AGENTS_PLACE}|\b(?:anywhere|away|down|on record|about me)\b", re.IGNORECASE
)
_IN_MEMORY = re.compile(r"^\S+(?: of \S+)?\s+(?:in|to) memory\b", re.IGNORECASE)
_WAITS = re.compile(r"keep|kept|writ", re.IGNORECASE)
_PLAIN_NONE = re.compile(r"^(?:re?me?mber|memori[sz]|record|not(?:e|ing)|sav(?:e|ing)|stor(?:e|ing)|log|writ(?:e|ten|ing)|kept|recorded|noted|stored|saved|logged|remembered|retained?|tak|mak)", re.IGNORECASE)  # fmt: skip
_SUBJECT_IS_ANOTHER = re.compile(
    r"\b(?:i|we|they|he|she|who|people|nobody|it|why|if you|when you|because you|since you|that you|which you|in case you)\s+(?:(?:really|just|also|still|simply|probably|would|will|could|can|did|do|have)\s+)*$",
    re.IGNORECASE,
)
_WANTED = re.compile(
    r"\b(?:want|need|like|wish|rather|prefer|appreciate|grateful|glad|nice|great|good|happier|love)\b", re.IGNORECASE
)
_SUBJECT_IS_MEANT = re.compile(
    rf"(?:^|[,;:–—(]\s*|\b(?:so|but|and|because|that|sure|please|wish|hope|want|rather|prefer)\s+)(?:{_ABOUT_TALK}[^,;:]{{0,40}}|{_SAID}[^,;:]{{0,40}}|{_THIS}|(?:nothing|none|no part) (?:of (?:this|that|it|tonight|today|what)|i\b|we\b|here)[^,;:]{{0,30}}|{_PERSONS}[^,;:]{{0,40}})\s*$",
    re.IGNORECASE,
)
# "Nothing I said should be kept": the negation stands in the subject. "Make sure none of this is recorded."
_NONE_OF_IT = re.compile(
    rf"\b(?:nothing|none|no part) (?:(?:of (?:this|that|it|tonight|today|what i|our)|i|we|here)\b[^.!?]{{0,40}}?|about (?:my|me|him|her)[^.!?]{{0,30}}?)(?:\b(?:kept|saved|stored|recorded|remembered|noted|written|logged|retained|summari[sz]ed|keeping|in(?:to)? {_AGENTS_PLACE}))",
    re.IGNORECASE,
)
# "I don't want this written down", "make sure it isn't saved", "this must not end up in your notes".
_DONE = r"(?:written(?: down)?|saved|stored|recorded|kept|noted(?: down)?|logged|remembered|retained|memori[sz]ed|archived|on record)"
_WISHED = re.compile(
    rf"\b(?:\w+n['’]?t want|not want|rather|prefer|make sure|\w+n['’]?t like|wish|(?:nice|great|good|better|grateful|glad) if)\b[^.!?]{{0,14}}\b(?:{_THIS}|{_ABOUT_TALK}|{_PERSONS}(?: [\w'’]+){{1,3}})[^.!?]{{0,14}}\b(?:{_DONE}|in {_AGENTS_PLACE}){_ENDS}"
    rf"|\b(?:{_THIS}|{_ABOUT_TALK}|{_SAID}[^.!?,;:]{{0,30}}|{_PERSONS}(?: [\w'’]+){{1,3}}) (?:must|should|may|can|shall|is|are|need|does|do|has)(?: ?n['’]?o?t| never)(?: (?:to|be|get|have|need|ever|something i want)){{0,3}} (?:{_DONE}{_ENDS}|(?:end up|show up|appear|turn up|pop up|go|land|be|belong|come up) (?:anywhere|(?:in|into|on) {_AGENTS_PLACE}))"
    rf"|(?:n['’]?t|\bnot|\bnever)\b[^.!?]{{0,12}}\b(?:let|have|see|find)\b[^.!?]{{0,6}}\b{_THIS}[^.!?]{{0,6}}\b(?:(?:end|show|turn|pop)(?:ing)? up|appear|resurface|slip|go)\b"
    rf"|\bnot to be {_DONE}{_ENDS}"
    r"|\b(?:this|that|it)(?: is|['’]s) (?:not|nothing)(?: something)?(?: for you)? (?:to|you (?:need|have|should)(?: to)?) (?:remember|keep|write down|note|record|store|save)\b"
    r"|\b(?:remember|keep|save|store|hold|record|write|retain|note|log) (?:down )?(?:nothing|none) (?:of|about|from) (?:this|that|it|what|today|tonight|my|me|him|her|our)\b",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(
    rf"\b(?:keep|leave|stay(?:s|ed)?|kept|take|pull|drop|remove|delete|erase|wipe|scrub|exclude|omit|strike|clear|purge)\b(?P<object>[^.!?]{{0,50}}?)\b(?:out of|from) (?P<place>{_AGENTS_PLACE}|anything you\b|whatever you\b)",
    re.IGNORECASE,
)
_MEANT = re.compile(
    rf"^\s*(?:{_ABOUT_TALK}|{_SAID}|{_THIS}|(?:the|that) (?:part|bit|thing|stuff|line|story|entry)\b|{_PERSONS}(?! (?:files?|logs?)\b))",
    re.IGNORECASE,
)
# No sentence is longer; what is, is read in pieces, so that a pasted file costs no more than its length.
_SENTENCE = re.compile(r"[^.!?\n]{1,400}(?:[.](?=\w)[^.!?\n]{0,200}){0,4}[.!?]?")
_HINT = re.compile(
    r"n['’]?t\b|\bno|\bnever\b|\bforget|\bpretend|\brecord\b|confiden|private|secret|\bbetween\b|\bjust us|eyes only|\bears only|mum|quiet|schtum|shtum|unsaid|yourself|stays|rather|wipe|scratch|erase|delete|purge|strike|remove|leave|keep|drop|scrub|exclude|omit|unsee|skip|stop|redact|disregard|ignore|burn after|off[ -]the|refrain|avoid|prefer|pull|without you|books|unremember|unrecorded|unsaved|happened",
    re.IGNORECASE,
)


def wishes(text: str) -> Iterator[tuple[int, int]]:
    """Where a text asks not to be remembered."""
    if not _HINT.search(text):
        return
    for sentence in _SENTENCE.finditer(text):
        if _HINT.search(sentence.group()):
            for begin, end in _in_sentence(sentence.group()):
                yield sentence.start() + begin, sentence.start() + end


def forbids_things(text: str) -> bool:
    """Whether a sentence says how files, logs, memory or data are not to be treated, and asks for no silence."""
    if any(wishes(text)):
        return False
    for sentence in _SENTENCE.finditer(text):
        thing = _THING.search(sentence.group()) is not None
        if any(thing or not one["none"] for one in _ASKED.finditer(sentence.group())):
            return True
    return False


def _in_sentence(sentence: str) -> Iterator[tuple[int, int]]:
    for pattern in (_SAYINGS, _NONE_OF_IT, _WISHED):
        for found in pattern.finditer(sentence):
            yield found.span()
    for found in _LEFT_OUT.finditer(sentence):
        place = found["place"].lower()
        of_agent = (
            place.startswith(("your", "my", "anything", "whatever"))
            or place.endswith(("notes", "diary"))
            or found.group()[:5].lower() in {"keep ", "leave"}
        )
        stays = not found["object"].strip() and _SUBJECT_IS_MEANT.search(sentence[: found.start()])
        if stays or _MEANT.match(found["object"]) or (of_agent and not _THING.search(found["object"])):
            yield found.span()
    for found in _ASKED.finditer(sentence):
        if _is_asked(found, sentence):
            yield found.span()


def _is_asked(found: re.Match[str], sentence: str) -> bool:
    """Whether what is not to be kept is the talk, what was said in it, or somebody's own affairs."""
    before = sentence[: found.start()]
    if found["object"] is None:
        return False
    wanted = _WANTED.search(sentence[found.start() : found.start("verb")])
    if _SUBJECT_IS_ANOTHER.search(before) and not wanted:
        return False
    if sentence.rstrip().endswith("?") and not re.search(r"(?i)\b(?:can|could|would|will|please)\b", sentence):
        return False
    after = sentence[found.start("object") :]
    # "Don't put this on one line", "don't add me to the list": these keep something only where they say where.
    if _SOMEWHERE.match(found["verb"]) and not _INTO_MEMORY.search(after):
        return False
    if found["person"]:
        waits = found["person"].lower() == "me" and _WAITS.match(found["verb"])
        return not waits and not _THING.search(after[:60])
    if found["this"] and _IN_MEMORY.search(after):
        return not _THING.search(sentence)
    if found["none"] is not None:
        if _SUBJECT_IS_MEANT.search(before) or (found["place"] or "").lower().startswith("in your"):
            return True
        alone = re.search(r"(?i)(?:^|[,;:.–—-]|\b(?:please|pls|so|but|and|you|just|plz|ok))\W*$", before)
        return bool(alone and _PLAIN_NONE.match(found["verb"]) and not _THING.search(sentence))
    return True
