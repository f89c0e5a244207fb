"""Names of people, places and things in a text, in English and Chinese, without a dictionary of either language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nacre.text.tokens import STOP_WORDS, compiled, language_of, sentences

LATIN = r"[A-Za-z][A-Za-z'’]*(?:-[A-Za-z]+)*"
_SURNAMES = "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕张孔曹严华金魏陶姜谢邹苏潘葛范彭鲁韦马苗方俞任袁柳史唐费薛雷贺倪汤罗毕郝安常于傅齐康伍余顾孟黄穆萧尹姚邵汪毛戴宋庞纪舒屈项祝董梁杜阮蓝闵贾江郭梅林钟徐邱骆高夏蔡田樊胡凌霍卢莫丁邓叶程陆段侯曾廖欧阳刘龙温熊"
_HAN_NAME = (
    rf"(?:(?<=[由找给跟和问叫让请向与])|(?<=联系)|(?<=交给)|(?<=[，。、：；@ ])(?<!\d\s)|\A)([{_SURNAMES}][\u4e00-\u9fff]{{1,2}})"
    r"(?=负责|说|是|喜欢|要求|会|在|管|批|觉得|认为|建议|决定|来|审|接|做|写|也|和|、|，|的|去|已|。|\Z)"
    r"|([王李刘陈赵吴徐孙郭郑韩冯萧曹袁邓傅沈彭吕卢蒋蔡贾魏薛潘杜戴][\u4e00-\u9fff])"
    rf"|([{_SURNAMES}](?:总|工|姐|哥|老师|经理|医生|主任|律师|教授))|([小老阿][{_SURNAMES}])(?!序|[\u4e00-\u9fff]?[板师家])"
    r"|((?:北京|上海|天津|重庆|广州|深圳|杭州|南京|苏州|成都|武汉|西安|长沙|郑州|青岛|大连|厦门|宁波|合肥|济南|福州|昆明|香港|澳门|台北|东京|首尔|新加坡|伦敦|巴黎|柏林|纽约|美国|日本|德国|法国|英国|韩国)"
    r"|[\u4e00-\u9fff]{2,4}(?:公司|大学|银行|医院))"
)
# Words that English sentences of a log begin with, and that are no names.
_OPENERS = frozenset(
    """user owner agent assistant use uses used run runs keep keeps never always avoid write writes prefer prefers call send ask add adds deploy put set commit merge tag decided
    agreed chose switched moved fixed found added removed updated changed built made wants likes needs works plans asked told learned learnt lesson rule decision note project team
    server deployment release releases tests test bug issue cause root when while before after during since until because if for from with without in on at by as to every each all
    both only no not new old next last first second one two three there here today tomorrow now then also however instead still already currently weekly daily monthly please
    production staging database customer client customers clients people everyone nobody meeting meetings work task fix check make create
    update remove move rename start stop open close install upgrade rebase review""".split()
) | STOP_WORDS  # fmt: skip
_AFTER_PLURALS = frozenset(
    "are were have need go live run will should can must do lie stay".split()
)  # "Application logs are"
# Capitals that are no names.
_NO_NAMES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november
    december mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec none null nil nan true false undefined
    api url id ip ui ux pr ci cd db ai ok pdf html css json yaml sql http https cli sdk todo faq pm qa hr it am utc i'm i've i'd i'll
    kb mb gb tb vat usd eur pref proj tech lesson people temp importance md
    admin root late localhost www com cn org net py js ts sh""".split()
) | STOP_WORDS  # fmt: skip

# What was taken out, addresses, hosts (also by an id with digits) and files; of Node.js, README.md the ending alone.
_PLACES = (
    r"\[redacted[^\]]*\]|(?a:(?<!\w)\w+://\S+|(?<![\w.+-])[\w.+-]+@[\w.-]+|(?<![\w.-])[a-z0-9_][\w-]*(?:\.[\w-]+)+|(?<=[a-zA-Z])\.[a-z]\w*"
    r"|(?<![\w-])[a-z]+(?:-[a-z]+)*-[a-z]*\d[\w-]*)"
)


def han_names(text: str) -> Iterator[str]:
    """People, places and companies. One of three signs may have caught the first sign of the next word."""
    return (next(filter(None, match.groups())) for match in compiled(_HAN_NAME).finditer(text))


def latin_names(sentence: str) -> Iterator[re.Match[str]]:
    """The words of an English sentence that are names, or parts of one: its first word only where it is somebody who does something."""
    words = list(compiled(LATIN).finditer(sentence))
    following = [word[0] for word in words[1:3]] + ["", ""]
    for place, match in enumerate(words):
        word = match[0]
        if word[0].islower() or word in ("I", "I'm", "I've", "OK"):
            continue
        is_label = sentence.startswith((f"{word}:", f"{word},"))
        if place or word.isupper() or (not is_label and _is_subject(word, following[0], following[1])):
            yield match


def _is_subject(word: str, following: str, third: str) -> bool:
    """Whether the first word of a sentence is somebody's name: what follows is a part of it, or what somebody does."""
    if word.casefold() in _OPENERS or third in _AFTER_PLURALS:
        return False
    acts = following.endswith("s") or following in ("never", "always", "had", "will", "said", "and", "joined", "left")
    verbal = len(word) > 5 and word.endswith(("ed", "ing"))
    return acts or (following[:1].isupper() and not following.isupper() and not verbal) or word.endswith(("'s", "’s"))


def names(text: str) -> list[str]:
    """The names in a text, each once, as they are written; parts that stand side by side are one."""
    text = compiled(_PLACES).sub(" ", text)
    collected: list[str] = []
    if language_of(text) == "zh":
        # What ends like a company may begin with the words before it.
        people = [name for name in han_names(text) if not name.endswith(("公司", "大学", "银行", "医院"))]
        collected = [name for name in people if len(name) != 3 or name[:2] not in people] + compiled(LATIN).findall(
            text
        )
    parts = sentences(text) if not collected else []
    for part in (part.strip() for sentence in parts for part in compiled(r"[:;→]\s").split(sentence)):
        end = -1
        for match in latin_names(part):
            if match[0].casefold().removesuffix("s") in _NO_NAMES or (not match.start() and match[0].endswith("ing")):
                continue
            if part[end : match.start()] == " " and collected:
                collected[-1] += f" {match[0]}"
            else:
                collected.append(match[0])
            end = match.end()
    bare = (compiled(r"['’]s?\Z").sub("", name) for name in collected)
    return list(dict.fromkeys(name for name in bare if len(name) > 1 and name.casefold() not in _NO_NAMES))
