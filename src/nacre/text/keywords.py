"""The few words that a question or a text is about, in English and Chinese, without a dictionary of either language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple

from nacre.text.tokens import CJK, STOP_WORDS, compiled, tokens

LONGEST_QUESTION = 2000  # characters that are looked at; a pasted page says what it is about in its beginning
LONGEST_TEXT = 200_000  # characters of a text that tags are made of
_LONGEST_WORD = 40
QUOTED, NAMED, PLAIN, COMMON, FAINT = 3.0, 2.0, 1.0, 0.5, 0.3

_QUOTE = r"“([^”\n]{1,300})”|「([^」\n]{1,300})」|『([^』\n]{1,300})』|《([^》\n]{1,300})》|`([^`\n]{1,300})`|\"([^\"\n]{1,300})\"|(?<![\w'])'([^'\n]{1,300})'(?!\w)"
_MONTHS = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
_DATE = (
    r"(?i)\d{2,4}年(?:\d{1,2}月(?:\d{1,2}[日号])?)?|\d{1,2}月\d{1,2}[日号]?"
    rf"|\b(?:{_MONTHS})\.? \d{{1,2}}\b|\b\d{{1,2}}\.? (?:{_MONTHS})\b"
)
_WORD = rf"[^\W{CJK}]+(?:['’][^\W\d_{CJK}]+)?(?:[._/:@+-]+[^\W{CJK}]+)*"
_CODE = r"[_/@+]|\w[.:-]\w|[a-z][A-Z]|\d[A-Za-z]|[A-Za-z]\d"
_HAN = f"[{CJK}]+"
_HEADING = r"(?m)^#{1,6}\s+(.+)$"

# Words of asking, of talking about conversations, and of when it was: they stand in questions and not in what answers them.
_ASKING = STOP_WORDS | frozenset(
    """remember recall remind discuss discussed discussing discussion talk talked talking mention mentioned say said saying told
    speak spoke chat chatted conversation previous previously earlier before last time times yesterday today tomorrow tonight
    week weeks month months day days ago ever already yet still never always once thanks thank hello hi hey help find found look
    looking looked show give gave given get got getting want wanted wants need needed needs think thought wonder wondering
    whether because while during since until after between around through within without against under above ok okay yes
    now currently again really actually maybe perhaps something anything everything nothing someone anyone somebody anybody
    one two three first second next used kind sort called name named happen happened happens exactly much many often long
    let's lets i'm i've we've didn't doesn't don't isn't wasn't what's who's where's when's how's that's it's there's""".split()
)
# What nearly every question of the kind asks for: of use only where nothing better is said.
_FAINT = frozenset(
    """decision decisions decide decided decides agree agreed agreement settle settled conclusion conclusions concluded result
    results outcome problem problems issue issues thing things reason reasons plan plans planned detail details idea ideas
    question questions answer answers way ways choose chose chosen pick picked note notes topic point points info information""".split()
)
# Short forms in capitals that are no names.
_SHORT_FORMS = frozenset(
    "API URL ID IP UI UX PR CI CD DB AI OK PDF HTML CSS JSON YAML SQL HTTP CLI SDK TODO FAQ PM QA HR IT".split()
)
# Words so common in conversation that they say little about which one it was.
_USUAL = frozenset(
    """use uses using user users make makes made making work works worked working go goes going went gone come came do done run
    runs running ran set sets setting put try tried trying new old good bad better best big small great right wrong different same
    people person man woman place part case side end start started begin began stop stopped keep kept change changed changes
    add added remove removed move moved take took taken bring brought call calls ask asked asks like see saw seen read write
    wrote written send sent open opened close closed turn turned check checked test tested fix fixed build built update updated
    create created file files line lines code agent assistant system number list back well also even however every all none
    pay pays paid paying cost costs charge charged price prices own owns owner maintain maintains maintainer lead leads join joins
    still sure fine please ok okay yes no morning evening hour hours minute minutes year years left feel seems seem
    http https www com org html md txt todo true false null none""".split()
)

_ASKING_HAN = """请问 麻烦 帮我 帮忙 告诉我 告诉 知不知道 知道 还记不记得 记不记得 还记得 记得 想起 回忆 查一下 查下 找一下 找找 看看 看一下
是不是 有没有 能不能 可不可以 可以 能否 是否 要不要 会不会 对不对 好不好 行不行 怎么样 怎么办 怎么 怎样 如何 什么时候 什么时间 什么
为什么 为何 有什么 有哪些 有多少 有几个 那么 这么 哪里 哪儿 哪些 哪 谁 多少钱 多少 多久 多大 多长 最多 最少 至少 叫什么名字 叫什么 叫啥 姓什么 姓啥 啥
上一次 上次 上回 之前 以前 曾经 当时 那时候 那时 那天 那次 刚才 刚刚 昨天 昨晚 今晚 前天 今天 明天 现在 目前 最近 后来 最后 最终 最初 一开始
上周 上个月 上个星期 这周 本周 前几天 前阵子 时候 之后 以后 以来 已经 一直
讨论过 讨论到 讨论 聊过 聊到 聊了 聊的 说过 说到 说的 说了 谈过 谈到 谈了 提过 提到 提起 写过 写到 写了 记过 记下 问过 做过 定下来 定下 定了 定的 敲定
我们 你们 他们 她们 它们 咱们 大家 自己 人家 这个 那个 这些 那些 这样 那样 这里 那里 这边 那边 这次 这种 那种 一下 一个 一些 一种 一点
关于 对于 有关 为了 因为 所以 但是 不过 如果 以及 还是 或者 而且 然后 并且 没有 还有 只有 应该 必须 需要 里面 上面 下面 其中 负责 为 请 由谁 归谁
的 了 吗 呢 吧 啊 呀 嘛 啦 哦 我 你 他 她 它 您 咱 这 那 和 与 跟 是 在 把 被 就 也 都 很 还 给 从 到 让 又 么""".split()
_FAINT_HAN = frozenset(
    "结论 决定 结果 问题 事情 事 情况 内容 原因 东西 办法 想法 细节 话题 意见 共识 计划 安排 选择 答案 信息".split()
)
# What is asked of a thing rather than the thing: the answer often stands without it.
_USUAL_HAN = frozenset(
    """名字 名称 地址 编号 时间 日期 地点 电话 号码 偏好 价格 费用 多少钱 进度 状态 版本 任务 文件 时长 含义 意思 特点 特征 作用 地区
    开始 结束 表示 具有 属于 位于 成立 担任 分布 使用 选择 喜欢 重要 主要 部分 价值 习惯 爱好 区别 步骤 方法 方式 要求 规定 标准 限制""".split()
)
_UNITS = "公斤|公里|厘米|毫米|千米|平米|小时|分钟|毫秒|万元|欧元|美元|英镑|卢布"
_MEASURES = "秒个点号次天位级条本台人件年月周岁章页层楼元块分秒名种家届轮遍回只张份套款间座段所"
# Words that hold one of the little words above and must not be torn by it.
_WHOLE_HAN = """目的地 目的 的确 的士 了解 为了解 明了 自我 我国 其他 他人 吉他 维他 什么样 和平 总和 和解 和谐 共和 饱和 参与 与会 赠与 给予 供给
补给 是非 国是 存在 在线 在职 在库 所在 潜在 内在 外在 把握 把关 被动 棉被 就业 就绪 成就 就诊 就餐 也门 首都 成都 都市 京都 还款 偿还 归还 还原 退还 返还
从业 主从 服从 从属 跟踪 跟进 跟单 到期 达到 到达 到账 到货 到岗 收到 签到 报到 迟到 转让 让利 出让 吧台 酒吧 贴吧 为准 为止 作为 行为 认为 成为 人为 华为 那曲
请求 申请 请假 邀请 聘请 负责人 哪吒""".split()
# Words that compounds are made of: where a long run holds one, it is cut beside it.
_PARTS_HAN = frozenset(
    """数据库 数据 服务器 服务 接口 支付 订单 用户 客户 会员 账号 账户 密码 登录 注册 权限 配置 部署 发布 上线 回滚 迁移 备份 恢复 升级 版本
    测试 监控 日志 告警 报警 缓存 队列 消息 通知 邮件 短信 重试 超时 限流 熔断 降级 策略 方案 规则 流程 机制 架构 设计 模块 组件 框架 前端 后端 页面
    按钮 图片 文件 文档 报告 报表 周报 月报 日报 模板 格式 排版 字体 颜色 代码 分支 仓库 提交 合并 评审 审批 审核 合同 发票 报销 预算 采购 供应商 库存 物流
    仓储 门店 价格 折扣 优惠券 退款 结算 对账 财务 人事 招聘 面试 培训 考勤 会议 纪要 周会 例会 项目 任务 需求 排期 进度 里程碑 截止 日期 时间 地点 地址
    名称 名字 编号 电话 号码 联系人 负责人 团队 部门 公司 经理 同事 老师 学生 医生 医院 体检 保险 机票 酒店 行程 旅行 签证 护照 装修 房租 租房 贷款 车票 高铁
    生日 礼物 餐厅 咖啡 健身 跑步 登山 摄影 相机 电脑 手机 键盘 打印机 路由器 网络 域名 证书 加密 令牌 端口 内存 磁盘 索引 查询 搜索 推荐 模型 训练 评估 指标
    算法 参数 性能 优化 故障 事故 复盘 修复 排查 原因 风险 安全 合规 隐私 导出 导入 同步 定时 脚本 插件 工具 环境 容器 集群 网关 微服务 含义 特点 特征 地区 国家 开始 结束 表示 具有 属于 位于 成立 担任 分布
    生活 使用 喜欢 管理 重要 主要 部分 价值 习惯 爱好 区别 步骤 方法 方式""".split()
)


# Little verbs and places that cling to the end or the beginning of a word, and words that only look as if.
_LAST = r"(?<=..)[里过放叫租挂住吃买用没查找要有对选办定出做写排取去来修考订搬说带设学退换想当]\Z"
_FIRST = r"\A[不没有要会能想用对喝吃买去来取写做排选找办修订叫](?=..)"
_EDGES_HAN = frozenset(
    """适当 恰当 正当 应当 担当 便当 相当 妥当 叫车 叫号 叫醒 用途 用量 用例 用法 对接 对账 对象 对比 对话 对手 对外 会计 会话 会场 能力 能源 能量 有效 有限 有机 买卖 吃饭 要求 要点 要素 不同 不良 不动
    不足 没收 想法 会所 去年 去向 去重 来源 来电 来访 来信 取消 取款 取样 取景 写作 写法 写字 做法 做账 排期 排队 排名 排查 排版 排序 排班 选择 选型 选址 选题 选项 选手
    找零 办公 办法 办理 办事 修复 修改 修理 修订 订单 订阅 订金 订票 订房 会议 会员 会谈 会费 能耗 能效 有关 要闻 用户 用品 用水 用电 用药 用工 用车 对策 对联 对标 对岸
    租用 借用 费用 使用 应用 采用 信用 通用 启用 停用 专用 公用 作用 引用 调用 食用 药用 家用 商用 军用 试用 占用 复用 滥用 录用 聘用 耐用 实用 常用 备用 共用 私用 所有 没有 拥有 持有 国有 私有 还有 占有 含有 特有 独有 现有 公有
    绝对 相对 针对 反对 核对 校对 面对 应对 配对 挑选 筛选 候选 首选 精选 竞选 当选 人选 入选 评选 优选 主办 承办 举办 协办 代办 待办 创办 停办 督办 确定 规定 决定 约定 协定 鉴定 指定 锁定 稳定 固定 限定 认定 设定 特定 否定 肯定 预定 制定
    支出 导出 输出 退出 进出 付出 突出 演出 提出 超出 日出 外出 杰出 卖出 发出 转出 叫做 当做 编写 改写 手写 填写 书写 重写 速写 听写 读写 缩写 安排 彩排 牛排 猪排 编排 领取 读取 获取 提取 收取 抽取 录取 争取 爬取 选取 截取 过去 失去 上去 下去
    未来 往来 原来 将来 从来 外来 维修 装修 检修 返修 进修 翻修 报修 自修 选修 必修 抢修 高考 中考 备考 报考 参考 思考 招考 补考 预订 修订 签订 装订 制订 增订 校订 居住 入住 记住 公里 邻里 家里 经过 通过 超过 难过 错过 释放 发放 开放 存放 投放 播放 停放 摆放
    出租 房租 招租 合租 整租 月租 年租 悬挂 倒挂 小吃 好吃 购买 采购 检查 审查 调查 抽查 巡查 复查 排查 普查 侦查 搜查 寻找 查找 重要 主要 必要 需要 纪要 摘要 概要 提要 首要 紧要 沉没 淹没 埋没
    宽带 磁带 胶带 热带 地带 皮带 领带 小说 学说 传说 解说 大学 中学 小学 开学 留学 数学 科学 文学 化学 医学 同学 教学 辞退 后退 清退 更换 兑换 交换 转换 切换 替换 建设 假设 开设 预设 重设 不锈""".split()
)
_AMOUNT = f"[一二两三四五六七八九十百千万亿几每半](?:{_UNITS}|[{_MEASURES}行十百千万])|\\A[个张条万亿日月号]"
_BETWEEN = frozenset("的了是在和与或被把给到从")  # what stands beside words in every sentence
_SEEN = 50  # places of a word that are looked at
_ENDING = r"[库表室器员费率量者机部店厅站证卡组师队房](?=..)"  # of a compound, before its next word
_KNOWN = _PARTS_HAN | _EDGES_HAN


class KeyWord(NamedTuple):
    """A word as it was written, and how much it tells."""

    text: str
    weight: float


def weighed(text: str, most: int = 5) -> list[KeyWord]:
    """The core words of a question, best first, with how much each tells: what was quoted, then names, code words and numbers, then the
    rest; none where it is made of asking alone."""
    plain = unicodedata.normalize("NFKC", text[:LONGEST_QUESTION])
    words = list(_of_question(plain))
    if not words:  # of one character, where nothing longer is said: the cat's name is asked for
        singles = (single for run in compiled(_HAN).findall(plain) for single in _cuts().sub(" ", run).split())
        words = [KeyWord(single, FAINT if single in _FAINT_HAN else PLAIN) for single in singles]
    best: dict[str, KeyWord] = {}
    for word in words:
        key = " ".join(tokens(word.text)) or word.text
        if key not in best or best[key].weight < word.weight:
            best[key] = word
    telling = [word for word in best.values() if word.weight > FAINT]
    if len(telling) < 2:
        telling += [word for word in best.values() if word.weight <= FAINT]
    return sorted(telling, key=lambda word: -word.weight)[:most]


def _of_question(text: str) -> Iterator[KeyWord]:
    for match in compiled(_QUOTE).finditer(text):
        phrase = " ".join(next(filter(None, match.groups())).split())
        if len(phrase) <= _LONGEST_WORD and any(map(str.isalnum, phrase)):
            yield KeyWord(phrase, QUOTED)
    text = compiled(_QUOTE).sub(" ", text)
    yield from (KeyWord(date, NAMED) for date in compiled(_DATE).findall(text))
    text = compiled(_DATE).sub(" ", text)
    for match in compiled(_WORD).finditer(text):
        before = text[: match.start()].rstrip(" \t\"'([*_-")
        if word := _latin(match[0], starts=not before or before[-1] in ".!?:\n。！？：；"):
            yield word
    for run in compiled(_HAN).findall(text):
        for han in _han_words(run):
            yield KeyWord(han, FAINT if han in _FAINT_HAN else COMMON if han in _USUAL_HAN else PLAIN)


def _latin(word: str, *, starts: bool) -> KeyWord | None:
    """A word of a question with its weight; None where it only asks."""
    word = re.sub(r"['’](?:s|re|ve|ll|d|m|t)$", "", word)[:_LONGEST_WORD].rstrip("_-.:/'’")
    lower = word.lower().replace("’", "'")
    parts = [part for part in re.split(r"[^\w']+|_", lower) if part]
    if not parts or all(part in _ASKING for part in parts):
        return None
    if word.isdigit():
        return KeyWord(word, NAMED) if len(word) > 1 else None
    if lower in _FAINT:
        return KeyWord(word, FAINT)
    if compiled(_CODE).search(word):
        plain = all(part.isalpha() for part in parts) and word.islower() and set(word) - set("-") == set("".join(parts))
        return KeyWord(word, PLAIN if plain else NAMED)
    if len(word) < 2:
        return None
    if word.isupper() or (word[0].isupper() and not starts):
        return KeyWord(word, PLAIN if word in _SHORT_FORMS else NAMED)
    return KeyWord(word, COMMON if lower in _USUAL else PLAIN)


@cache
def _cuts() -> re.Pattern[str]:
    """Whole words first, so that a little word inside one of them does not cut it; the longer before the shorter."""
    whole = "|".join(sorted(_WHOLE_HAN, key=len, reverse=True))
    asking = "|".join(sorted(_ASKING_HAN, key=len, reverse=True))
    return re.compile(f"({whole})|(?:几|哪一?|第几|多少)(?:{_UNITS}|[{_MEASURES}])|(?:{asking})")


def _han_words(run: str) -> Iterator[str]:
    """The words of a run of Han: what stands between the little words, long runs cut where a known part begins or ends."""
    for stretch in _cuts().sub(lambda match: match[1] or " ", run).split():
        bare = _bared(stretch)
        if len(bare) >= 2 or (bare and len(run) == 1):
            yield from map(_bared, _in_parts(bare))


def _bared(word: str) -> str:
    """A word without the little ones that cling to its ends, one after the other."""
    while len(word) > 2 and word[-2:] not in _KNOWN and compiled(_LAST).search(word):
        word = word[:-1]
    while len(word) > 2 and word[:2] not in _KNOWN and compiled(_FIRST).match(word):
        word = word[1:]
    return word


def _in_parts(run: str) -> list[str]:
    """A run in words of two to four characters, as far as its parts are known; what is unknown stays whole."""
    if len(run) <= 4:
        return [run]
    pieces = [""]  # every second one is a known part
    place = 0
    while place < len(run):
        part = next((run[place : place + size] for size in (3, 2) if run[place : place + size] in _PARTS_HAN), "")
        after = place + len(part)
        if part and compiled(_ENDING).match(run, after) and run[after : after + 2] not in _KNOWN:
            part = run[place : after + 1]
        if part:
            pieces += [part, ""]
        else:
            pieces[-1] += run[place]
        place += len(part) or 1
    joined: list[str] = []
    for piece in filter(None, pieces):
        # A lone character belongs to its neighbour; two short words make one that is likely to stand as it is.
        if joined and (len(joined[-1]) + len(piece) <= 4 or len(piece) == 1 or len(joined[-1]) == 1):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def tags(text: str, most: int = 6) -> list[str]:
    """What a long text is about: words that come again, headings and code words before others; lower case, best first."""
    text = unicodedata.normalize("NFKC", text[:LONGEST_TEXT])
    headings = " ".join(compiled(_HEADING).findall(text))
    scores = _latin_scores(text, headings) + _han_scores(text, headings)
    best: list[str] = []
    for word, _ in sorted(scores.items(), key=lambda pair: -pair[1]):
        part = any(word in other or other in word for other in best)
        if len(best) < most and not part and (word in headings or _is_whole(word, text)):
            best.append(word)
    return best


def _is_whole(word: str, text: str) -> bool:
    """Whether a Chinese word is one, and no piece of a longer: it begins and ends where words do, or in various company."""
    if not compiled(_HAN).fullmatch(word):
        return True
    if compiled(_AMOUNT).search(word):
        return False
    matches = list(islice(re.finditer(word, text), _SEEN))
    if len(matches) == 1 and len(word) > 4:
        return False
    before = {text[max(0, match.start() - 1) : match.start()] for match in matches}
    sides = (before, {text[match.end() : match.end() + 1] for match in matches})
    return all(
        len(side) > 2 or any(not compiled(_HAN).match(char) or char in _BETWEEN for char in side) for side in sides
    )


def _latin_scores(text: str, headings: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    kinds: dict[str, float] = {}
    dropped = _ASKING | _USUAL | _FAINT
    titled = {match.lower() for match in compiled(_WORD).findall(headings)}
    seen = Counter(compiled(_WORD).findall(text))
    for written, count in seen.items():
        lower = written.lower()
        if not 3 <= len(lower) <= 30 or lower in dropped or "://" in lower or not any(map(str.isalpha, lower)):
            continue
        stem = tokens(lower)[0] if lower.isalpha() and lower.isascii() else lower
        word = _latin(written, starts=lower in seen)
        if word and stem not in dropped:
            counts[stem] += count
            shown.setdefault(stem, word.text.lower())
            kinds[stem] = max(kinds.get(stem, 0), (word.weight + 1) / 2 + (2 if lower in titled else 0))
    return Counter({shown[stem]: round(100 * kinds[stem] * (count**0.7)) for stem, count in counts.items()})


def _han_scores(text: str, headings: str) -> Counter[str]:
    runs = Counter(compiled(_HAN).findall(text))
    counts = Counter(word for run, times in runs.items() for word in list(_han_words(run)) * times if len(word) > 1)
    titled = {word for run in compiled(_HAN).findall(headings) for word in _han_words(run)}
    telling = ((word, count) for word, count in counts.items() if len(word) <= 8 and word not in _FAINT_HAN)
    # A long stretch is half a sentence: its words count where they come alone elsewhere.
    lengths = ((word, count, 1 if len(word) <= 4 else len(word) / 2) for word, count in telling)
    return Counter({word: round(100 * (3.5 if word in titled else 1.5) * n**0.7 / size) for word, n, size in lengths})
