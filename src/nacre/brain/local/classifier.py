"""Small linear classifiers over a sentence's structure, its words and, where the models are installed, its embedding."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from nacre.embed import tuned

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]


# Each feature is one expression; its name says what it looks for. Order is part of the weights: append, never insert.
_COMMON = {
    "question mark": r"[?？]",
    "exclamation": r"[!！]",
    "number": r"\d",
    "clock time": r"\b\d{1,2}[:：]\d\d\b|\b\d{1,2}\s?(?:am|pm)\b|[\d一二两三四五六七八九十]{1,3}点(?:半|钟|以?[前后])?",
    "version": r"\bv?\d+\.\d+(?:\.\d+)?\b",
    "address": r"https?://|\b\d{1,3}(?:\.\d{1,3}){3}\b|@[\w.-]+\.\w+",
    "code": r"`|\b\w+\(\)|\b\w+[/_]\w+|\b\w+\.(?:py|js|ts|md|json|ya?ml|toml|go|rs|java|sh|sql|csv|txt|lock|conf|ini)\b|--?\w+=",
    "ticket": r"\b[A-Z]{2,}-\d+\b|#\d+\b",
    "unit": r"\d\s?(?:%|ms|s|min|h|kb|mb|gb|tb|k|万|元|块|秒|分钟|小时|天|次|条|个|€|\$|£|kg|g|km|m)\b|[$€£¥]\s?\d",
    "capitals": r"\b[A-Z]{2,}\b",
    "colon": r"[:：]",
    "quoted": r"[\"“”「『《]",
}
_ENGLISH = {
    "first person": r"\b(?:i|i'm|im|i've|i'd|i'll|my|me|mine|myself)\b",
    "first plural": r"\b(?:we|we're|we've|we'd|our|us|ours)\b",
    "second person": r"\b(?:you|your|you're|u|ur)\b",
    "third person": r"\b(?:he|she|his|her|him|they|their|them)\b",
    "starts vague": r"\A\W*(?:it|this|that|these|those|he|she|they|him|her|them|there|same)\b",
    "vague object": r"\b(?:it|that one|this one|that thing|the other one|the usual|as before|like last time)\b",
    "lasting": r"\b(?:always|never|every|each|whenever|any ?time|from now on|going forward|in future|by default|as a rule"
    r"|usually|generally|anymore|any more|no longer|forever|for good|all (?:the|our|my))\b",
    "passing": r"\b(?:now|right now|today|tonight|tomorrow|yesterday|this (?:morning|afternoon|evening|week|time|once)|at the"
    r" moment|currently|just|for now|still|until|already|later|soon|in a (?:bit|sec|minute)|back in|brb)\b",
    "weekday": r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?\b",
    "month": r"\b(?:jan(?:uary)?|feb(?:ruary)?|march|april|june|july|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\b",
    "deadline": r"\b(?:by|before|until|due|deadline|no later than|end of)\b",
    "negation": r"\b(?:no|not|never|none|nothing|without|don'?t|doesn'?t|didn'?t|won'?t|isn'?t|aren'?t|can'?t|cannot|shouldn'?t"
    r"|wasn'?t|nor)\b",
    "duty": r"\b(?:must|has to|have to|needs? to|should|shall|ought|required?|mandatory|make sure|ensure|only)\b",
    "ban": r"\b(?:never|don'?t (?:ever|use|put|send|book|touch|add)|no more|stop|avoid|hate|can'?t stand|forbid|banned|off limits)\b",
    "liking": r"\b(?:prefer\w*|like[sd]?|love[sd]?|rather|favou?rite|fan of|allergic|want(?:s|ed)?|wish|enjoy|fond|please)\b",
    "disliking": r"\b(?:hate[sd]?|dislike[sd]?|annoy\w*|can'?t stand|sick of|tired of|allergic|not a fan)\b",
    "hedge": r"\b(?:maybe|perhaps|might|could|possibly|some ?day|one day|eventually|wonder\w*|thinking (?:of|about)|not sure"
    r"|would be (?:nice|cool|fun)|if i ever|toying|in theory|probably|i guess|who knows|at some point)\b",
    "decided": r"\b(?:decid\w+|settled?|agreed|chose|choose|going with|go with|went with|let'?s (?:use|go|do|keep|stick)|switch\w*"
    r"|mov(?:e|ed|ing) to|stick with|it is then|final|approved|instead of|rather than|dropped?|replac\w+)\b",
    "cause": r"\b(?:because|since|due to|caused?|root cause|so that|thanks to|the reason|which is why|as it|turns? out|turned out)\b",
    "consequence": r"\b(?:otherwise|or else|so|therefore|that'?s why|next time|otherwise|instead|first)\b",
    "condition": r"\b(?:if|when|whenever|unless|after|before|once|while)\b",
    "found": r"\b(?:found|noticed|discovered|turns? out|turned out|traced|it was|the culprit|root cause|realis\w+|realiz\w+|shows?"
    r"|measured|confirmed|saw)\b",
    "trouble": r"\b(?:broke\w*|fail\w*|lost|wrong|bug|error|crash\w*|leak\w*|outage|stuck|wast\w+|bitten|burn(?:t|ed)|mistake|forgot\w*"
    r"|corrupt\w*|wiped|deleted|locked|hung|missing|bit us|the hard way)\b",
    "work done": r"\b(?:done|finished|fixed|merged|deployed|sent|booked|opened|closed|added|wrote|created|updated|moved|removed|renamed"
    r"|paid|ordered|scheduled|passed|green|rerun|restarted|uploaded|filed|signed|set up|installed|upgraded|rolled)\b",
    "asks to act": r"\A\W*(?:please|pls|can you|could you|would you|will you|go ahead|let'?s|lets|i need you to|help me|kindly)\b",
    "starts with verb": r"\A\W*(?:add|make|write|fix|check|look|run|open|close|send|book|find|show|tell|give|put|move|remove|delete|rename|create"
    r"|update|set|use|keep|stop|start|draft|order|remind|read|list|change|turn|try|test|rerun|deploy|merge|push|pull|install|call|ask"
    r"|schedule|print|translate|summari[sz]e|explain|compare|convert|get|take|leave|drop|do|prepare|clean|reply|answer|cancel)\b",
    "starts with wh": r"\A\W*(?:what|why|how|when|where|who|which|whose|is|are|do|does|did|has|have|any)\b",
    "assent": r"\A\W*(?:ok(?:ay)?|yes|yeah|yep|yup|sure|fine|right|good|great|perfect|agreed|sounds good|do it|go|works|cool|nice|k|lgtm"
    r"|exactly|correct|got it|understood|noted)\b",
    "refusal": r"\A\W*(?:no|nope|nah|not|wrong|wait|actually|hmm+|hold on|scratch that|never mind|sorry)\b",
    "thanks": r"\b(?:thanks?|thx|ty|cheers|bye|hello|hi|hey|morning|good night|lol|haha|lmao|wow|ugh|phew|yay)\b",
    "off the record": r"\b(?:off the record|don'?t (?:save|store|note|log|remember|write|keep|record|put)|forget (?:that|this|what|i said)|between us"
    r"|not for the (?:log|notes|record)|delete that|keep (?:this|that|it) (?:out|to yourself|between)|no notes|unsaid)\b",
    "role": r"\b(?:manager|boss|wife|husband|partner|sister|brother|mum|mom|dad|mother|father|son|daughter|kid|cousin|aunt|uncle|friend"
    r"|colleague|contractor|freelancer|client|customer|accountant|lawyer|dentist|doctor|teacher|landlord|neighbou?r|lead|head of|owner"
    r"|designer|developer|engineer|intern|assistant|director|ceo|cto|vendor|supplier|contact|team|nanny|coach|editor|nurse)s?\b",
    "person does": r"\b(?:works? (?:at|for|on|in)|lives? in|handles?|runs|owns|is (?:the|our|my|a|an)|looks after|in charge|took over|responsible"
    r"|reports to|married|joined|signs? off|does (?:our|my|the)|reachable|goes by)\b",
    "name inside": r"(?<=[a-z,] )[A-Z][a-z]{2,}\b",
    "name first": r"\A[A-Z][a-z]{2,}(?: [A-Z][a-z]+)? (?:is|was|does|has|runs|owns|works|handles|from|at|took|lives|wants|likes|reads|signs)\b",
    "past": r"\b(?:was|were|had|did|went|took|\w{3,}ed)\b",
    "progressive": r"\b\w{3,}ing\b",
    "plan": r"\b(?:phase|milestone|roadmap|launch\w*|release\w*|version|scope|beta|mvp|sprint|quarter|q[1-4]|project|plan|product|app|site|shop"
    r"|startup|business|customers|budget|repo|platform|service)\b",
    "system": r"\b(?:server|database|db|table|index|port|cache|queue|api|endpoint|cluster|config\w*|docker|linux|postgres|redis|nginx|kubernetes"
    r"|python|node|java|typescript|react|token|header|schema|column|timeout|driver|kernel|router|wifi|sensor|firmware|dns|cron|backup|log)s?\b",
    "stored as": r"\b(?:stored?|kept|runs? on|listens?|uses?|using|built (?:with|on)|written in|lives? in|hosted|configured|set to|points to|accepts"
    r"|returns|expects|supports|limited|capped|defaults? to|sits behind|proxies|caches)\b",
    "format wish": r"\b(?:format|short|brief|long|lines?|bullets?|table|tone|emoji|markdown|language|english|spell\w*|answer\w*|repl(?:y|ies)|style"
    r"|font|dark|light|seat|window|aisle|coffee|tea|vegetarian|vegan|gluten|metric|24-hour|dates?|names?|titles?|comments?|commit)\b",
    "starts with a deed": r"\A\W*(?:\w{3,}ed|sent|wrote|made|took|got|went|bought|built|gave|put|ran|told|met|paid|left|cut|drew|sold|found|began|held)\b",
    "starts with a choice": r"\A\W*(?:chose|picked|settled|agreed|decided|dropped|switched|went with|opted|selected|moved|kept|approved|rejected|going with|no more)\b",
    "recurring": r"\b(?:every|each|weekly|monthly|nightly|daily|yearly|quarterly|(?:first|last|second) \w+ of)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b",
    "says how a thing behaves": r"\A\W{0,8}(?:(?:the|our|my|this|a|an)\s+)?[\w./-]+(?:\s[\w./-]+){0,2}\s(?!was|is|has|this)\w{2,}s\b",
    "only": r"\bonly\b|\balone\b|\bnothing but\b|\bexclusively\b",
    "person wants": r"\b[A-Z]?[a-z]+ (?:does(?: not|n't)|doesn't|wants?|likes?|hates?|prefers?|expects?|finds|asks?|insists?|needs?|would rather)\b",
    "two errands": r"\A\W*\w+\b.*\band (?:then )?(?:send|ask|remind|book|check|call|tell|write|order|pay|move|add|update|fix|book|bring|clean|return|test)\b",
    "passive rule": r"\b(?:is|are|gets?|must be|to be) (?:\w+ed|kept|sent|written|built|shown|paid|done|made|set|stored|cut|read|put)\b",
}
_CHINESE = {
    "first person": r"我|咱|俺",
    "first plural": r"我们|咱们|我家|我司",
    "second person": r"你|您",
    "third person": r"他|她|它|他们",
    "starts vague": r"\A\W*(?:这|那|它|他|她|就|还是|同上|前面|刚才|上次)",
    "vague object": r"这个|那个|上次|刚才|之前说|那边|这边|那样|这样|照旧|老样子|前两|后面那",
    "lasting": r"以后|一律|统一|都要|永远|从来|每次|每周|每天|每月|每个|总是|默认|一直|再也不|所有|凡是|长期|今后|往后|只要|固定|全部|任何",
    "passing": r"现在|今天|今晚|明天|昨天|刚刚|刚才|暂时|目前|这会儿|等会|等下|待会|马上|先别|先这样|这次|正在|一会|稍后|今早|下午|上午|晚上|临时",
    "weekday": r"(?:周|星期|礼拜)[一二三四五六日天末]",
    "month": r"[\d一二三四五六七八九十]{1,2}月",
    "deadline": r"之前|以前|截止|到期|前交|ddl|deadline|最晚|不晚于|期限",
    "negation": r"不|没|别|勿|无|莫",
    "duty": r"必须|要先|得先|务必|应该|只能|只用|一定|需要|记得|不能|不许|禁止|确保",
    "ban": r"不要|别用|别再|不许|禁止|千万别|不能|不准|杜绝|少用|不用",
    "liking": r"喜欢|偏好|习惯|希望|想要|爱|倾向|宁可|宁愿|更愿意|最好|麻烦|请|要求",
    "disliking": r"讨厌|烦|受不了|不喜欢|过敏|忌口|不吃|不爱|恶心",
    "hedge": r"也许|可能|或许|说不定|大概|哪天|有空|有机会|想试|再说吧|考虑|要不要|不一定|没准|好像|估计|以后有|万一|感觉",
    "decided": r"决定|定了|就用|就按|敲定|改用|换成|改成|确定|选了|选定|统一用|不做了|放弃|拍板|同意|改名|迁到|切到|砍掉|停用|那就|代替|而不是",
    "cause": r"因为|由于|原因|根因|导致|所以|原来|是因为|结果是|引起|怪不得|难怪",
    "consequence": r"否则|不然|要不然|下次|以免|免得|防止|避免|才行|先",
    "condition": r"如果|要是|的话|时候|只要|一旦|遇到|之前|之后|以后|凡",
    "found": r"发现|查到|原来|定位|看出|测出|排查|确认了|证实|是因为|结果",
    "trouble": r"坑|报错|失败|挂|崩|丢|坏|卡死|锁|泄漏|出错|翻车|事故|搞错|忘|误|超时|白干|吃亏|教训|出问题|异常|延误",
    "work done": r"好了|完成|搞定|修好|已经|已|合并|上线|部署|发了|订好|建好|补了|写好|改完|跑完|提交|发出|装好|迁完|弄好|处理完|通过|预约",
    "asks to act": r"\A\W*(?:请|帮|麻烦|给我|能不能|可以.{0,6}吗|你.{0,3}(?:看|查|改|写|跑|帮)|来|把|再|去)",
    "starts with verb": r"\A\W*(?:查|看|改|写|加|删|跑|发|订|建|补|修|做|开|关|试|测|列|找|提醒|更新|整理|生成|翻译|总结|部署|重启|合并|上传|下载|记|算|画|安排)",
    "starts with wh": r"什么|怎么|为什么|为啥|咋|哪|谁|几|多少|吗|呢|是不是|有没有|能不能|要不要|行不行",
    "assent": r"\A\W*(?:好|行|可以|嗯|对|是的|没问题|ok|OK|同意|就这样|就这么|赞|收到|明白|了解|没错|得|成)",
    "refusal": r"\A\W*(?:不|别|错|等等|等下|算了|慢着|哎|不是|没有)",
    "thanks": r"谢|多谢|辛苦|你好|哈|嘻|晚安|早上好|早啊|拜|呜|唉|哇|牛|加油",
    "off the record": r"别记|不要记|不用记|别存|不要存|不要保存|别保存|别写进|不要写进|保密|别外传|就当没说|当我没说|别留|不要留|私下|别往外说|仅限你我|忘掉|删掉这",
    "role": r"老板|经理|同事|老婆|老公|妻子|丈夫|媳妇|儿子|女儿|孩子|爸|妈|哥|姐|弟|妹|姑|姨|舅|叔|朋友|同学|客户|会计|律师|医生|牙医|老师|房东|邻居"
    r"|负责人|设计师|实习生|产品经理|运营|供应商|联系人|总监|合伙人|主任|班主任|师傅|阿姨|教练|编辑|护士|店长",
    "person does": r"负责|是我|是我们|在.{1,8}(?:做|工作|上班|住)|管|对接|接手|带队|主管|专管|住在|归.{1,6}管|找.{1,4}就行|叫",
    "name inside": r"(?:老|小|阿)[\u4e00-\u9fff](?=[^\u4e00-\u9fff]|[是在负管说要的])|[\u4e00-\u9fff]{1,2}(?:总|工|姐|哥|老师|经理|医生|律师)",
    "name first": r"\A[\u4e00-\u9fff]{2,3}(?:是|在|负责|管|说|做|从|住)",
    "past": r"了|过|曾|当时|那时|去年|上周|上个月|上回",
    "progressive": r"正在|在跑|在看|在改|在弄|着呢|ing",
    "plan": r"项目|产品|计划|里程碑|上线|版本|一期|二期|阶段|范围|需求|目标|路线|预算|发布|门店|店铺|课程|公司|平台|小程序|网站|改版|立项|排期",
    "system": r"服务器|数据库|表|索引|端口|缓存|队列|接口|集群|配置|容器|域名|证书|网关|日志|线程|内存|磁盘|路由器|传感器|固件|备份|字段|协议|超时|并发|脚本|参数",
    "stored as": r"存|放在|跑在|部署在|监听|使用|用的是|基于|托管|配置为|设为|指向|返回|支持|上限|默认是|走的是|采用|位于",
    "format wish": r"格式|简短|长|几句|行|表格|语气|表情|中文|英文|回复|回答|风格|字体|深色|浅色|靠窗|靠过道|咖啡|素|清真|称呼|叫我|注释|命名|标题|日期|排版",
    "starts with a deed": r"\A\W*(?:把|给|已|订|发|写|建|补|修|改|跑|交|付|买|联系|约|提交|合并|上线|整理|更新|安排|寄|打印|预约)",
    "starts with a choice": r"\A\W*(?:决定|定|选|敲定|改用|换成|统一|一律|同意|放弃|取消|保留|商定|确定|不再|停用|砍)",
    "recurring": r"每(?:天|周|月|年|晚|次|个|季|隔|逢)|逢|(?:周|星期)[一二三四五六日天末]都|按月|按周|例行|定期",
    "rule": r"一律|统一|只(?:用|做|能|许|准|在|收|认|发|存|走)|必须|不准|不许|全部|不得|固定|上限|默认|不建|不做|不用|不回|不超过",
    "only": r"只|仅|光是|唯独",
    "person wants": r"(?:要求|希望|想要|不想|不要|喜欢|不喜欢|嫌|习惯|偏好|爱|讨厌|怕|受不了|更愿意|觉得)",
    "two errands": r"[，,、；;](?:再|并|顺便|同时|然后)?(?:提醒|发|找|问|查|补|改|订|约|交|打|联系|确认|更新|加|催|付)",
    "found cause": r"是因为|原因(?:是|在)|导致|造成|源于|出在|查(?:明|出|到)|原来|其实是|根因|拖(?:慢|的)|引起|由于",
}


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], ...]:
    own = _CHINESE if language == "zh" else _ENGLISH
    with_case = ("capitals", "name inside", "name first", "ticket")
    return tuple(
        re.compile(text, 0 if name in with_case else re.IGNORECASE) for name, text in {**_COMMON, **own}.items()
    )


def structure(text: str, language: str) -> list[float]:
    size, full = (len(text), 60) if language == "zh" else (len(text.split()), 30)
    held = [float(pattern.search(text) is not None) for pattern in _patterns(language)]
    return [*held, min(size / full, 1.0), float(size < full / 7), min(len(text) / 200, 1.0)]


_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[\u3400-\u9fff]|[?!？！]")


def grams(text: str, language: str) -> set[str]:
    """The words and pairs of neighbours of a sentence, digits made alike; where it begins and ends counts too."""
    words = ["<", *("0" if word[0].isdigit() else word for word in _WORD.findall(text.lower())), ">"]
    result = {*words[1:-1], *(f"{left} {right}" for left, right in itertools.pairwise(words))}
    if language == "zh":
        result |= {" ".join(words[i : i + 3]) for i in range(len(words) - 2)}
    return result


TYPES = ("PREF", "PROJ", "TECH", "LESSON", "PEOPLE", "TEMP")
CATEGORIES = ("decision", "discovery", "preference", "task", "-")
ACTS = tuple("request question inform instruct decide agree correct report speculate social offrecord".split())
YES_NO = ("no", "yes")
HEADS = {"type": TYPES, "category": CATEGORIES, "act": ACTS, "a": YES_NO, "b": YES_NO, "c": YES_NO}


@dataclass(frozen=True)
class Weights:
    """What training left behind for one language and one set of features."""

    vocabulary: dict[str, int]
    matrix: Array  # features × outputs of all heads
    bias: Array
    center: Array  # mean of the embeddings seen in training
    scale: float  # how much the embedding weighs beside the rest
    model: str  # hash of the embedding model; empty when there is none
    corpus: str = ""  # digest of what they were trained on
    worth: Array | None = None  # of a sentence of a session: embedding, structure, odds, what stands around it, bias
    lasting: tuple[float, ...] = (1.0, 0.0)  # slope and offset that make the odds of passing all tests honest


def read_weights(name: str) -> tuple[dict[str, Any], dict[str, Array]]:
    return tuned.read_weights(resources.files("nacre.brain.local").joinpath("weights", f"{name}.npz"))


@cache
def load(language: str, variant: str) -> Weights:
    """The weights in the package: "full" with embeddings, "bare" without."""
    about, arrays = read_weights(f"{language}-{variant}")
    return Weights(
        {gram: place for place, gram in enumerate(about["vocabulary"])},
        arrays["matrix"] * arrays["step"],
        arrays["bias"],
        arrays["center"],
        float(about["scale"]),
        about["model"],
        about["corpus"],
        arrays.get("worth"),
        tuple(about["lasting"]),
    )


def design(texts: Sequence[str], language: str, weights: Weights, vectors: Array | None) -> Array:
    import numpy as np

    shape = np.array([structure(text, language) for text in texts], np.float32).reshape(len(texts), -1)
    words = np.zeros((len(texts), len(weights.vocabulary)), np.float32)
    for row, text in enumerate(texts):
        words[row, [weights.vocabulary[gram] for gram in grams(text, language) if gram in weights.vocabulary]] = 1.0
    words /= np.sqrt(np.maximum(words.sum(axis=1, keepdims=True), 1.0))
    parts = [shape, words]
    if vectors is not None:
        parts.insert(0, (vectors - weights.center) * weights.scale)
    return np.hstack(parts)


def by_head(logits: Array) -> dict[str, Array]:
    ends = itertools.accumulate(map(len, HEADS.values()))
    return {head: softmax(logits[:, end - len(HEADS[head]) : end]) for head, end in zip(HEADS, ends, strict=True)}


def softmax(logits: Array) -> Array:
    import numpy as np

    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float32)


def raw_lasting(odds: dict[str, Array]) -> Array:
    """How much speaks for keeping each sentence for good, before it is made honest: no test failed, and not of the passing kind."""
    import numpy as np

    passed = np.prod([odds[test][:, YES_NO.index("no")] for test in "abc"], axis=0)
    share = np.clip(passed * (1 - odds["type"][:, TYPES.index("TEMP")]), 1e-4, 1 - 1e-4)
    return np.asarray(np.log(share / (1 - share)), np.float32)
