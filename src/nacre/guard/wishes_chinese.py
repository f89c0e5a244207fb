"""Wishes not to be remembered, in Chinese: told by what the verb is about, the talk and the person or files, logs and code."""

from __future__ import annotations

import re
from collections.abc import Iterator

_C = r"[^，。！？；：,!?;:—…\n]"  # anything within a clause
_SAYINGS = re.compile(
    rf"(?:忘掉|忘记|抹掉|删掉|删除|清掉|清除|去掉|剔除|划掉|拿掉|忽略|隐去){_C}{{0,8}}(?:记忆|上一条|刚才|刚刚|前面(?!的)|这段|这句|那段|那句|那条消息|我说的|我刚)|(?:上一条|刚才|刚刚|前面|这段|这句|那段|那句|这几句|那几句|记忆里?|笔记里?|备忘里?){_C}{{0,16}}(?:忘掉|忘了吧|忘了|抹掉|抹了|删掉|删除|删了|清掉|去掉|拿走|剔除|掐掉)"
    rf"|把{_C}{{1,16}}(?:忘了吧|忘掉|忘光)|(?:算完|说完|看完|用完|讲完|听完|问完|聊完|转完){_C}{{0,6}}(?:忘|抹掉|清空|当没)|说完(?:就|即)忘|听过就(?:算|忘)|过后清掉|从(?:你)?(?:脑子|记忆|长期记忆|总结|纪要|记录|日志|笔记|备忘)(?:里|中)?(?:去掉|删|抹|清|拿|剔)"
    r"|烂(?:在)?(?:你)?肚子里|出了这(?:个)?门|当(?:作|你|我)*没(?:听见|听到|看见|见过|收到|这回事|这事|发生|说过?|讲过?|提过?)|当(?:作)?(?:不知道|耳旁风|梦话)|(?:你我|咱俩|我们俩|咱们俩?)(?:之间|俩)?(?:[^，。！？,!?]{0,4}(?:说说|知道就|聊聊))"
    rf"|说漏嘴|悄悄话|谁(?:都|也)(?:别|不要)(?:说|讲|提)|跟谁都别|(?:别|不要){_C}{{0,6}}(?:往外|跟(?:任何|别)人|对外){_C}{{0,4}}(?:说|讲|提|传)|(?:别|不要|勿)外?传(?=$|[，。！？,!?])"
    r"|(?<!说好)(?:要|请|得|务必|替我|帮我|给我|先|事|是|此|^|[，。！？,!?])保密(?!协议|局|条款|级|性|工作|柜|员|措施|要求|费|办|[^，。！？,!?]{0,3}(?:还是|吗))|这条忘了"
    r"|你知我知|(?:咱|你|我)(?:俩|们|我)?(?:两个)?(?:俩)?知道就(?:行|好|可以)|天知地知|仅限(?:我|咱|你|这次聊天)|不入档|不留(?:记录|痕|案底|存)(?!功能)|阅后即焚|不落(?:纸|笔)|不作记录|不进记忆|不形成文字|到你这(?:儿)?为止|左耳进右耳出|无痕模式"
)
_NOT = r"(?P<not>(?<![分区特级性识])(?<!(?<![这那])个)[别別](?!的|人|名|处|墅|扭|致|看|样|针|称|家|国|字)|不要|不用|不必|不需要|不许|不准|不能|不得|不可以?|不该|不应该?|不想|不希望|不允许|勿|(?<![莫])莫(?!名)|甭|无需|无须|唔好|唔使|憋|不予|不做|禁止|严禁|不(?=[记入进留存写录落]))"
_VERB = (
    r"(?P<verb>(?<![忘标登日笔书手周传牢])[记記](?![错账仇混恨名号分工性者忆事载成仔])(?:录下来|录|下来?|住|着|得|入|进去?|到|在)*|保存|保留|存储|存(?!量|活|在(?!\s*[A-Za-z]|[^，。]{1,12}[里中上]))(?:下来?|进去?|到|入|着|起来|档|成|为)*|留(?![言意学神心给])(?:存|底|档|痕迹?|着|下来?|案底)*|"
    r"(?<![重改编手填抄代续缩大小简拼])写(?:下来?|进去?|到|入|在|成)*|录(?:入|下来|音)|收录|归档|入库|入档|建档|存档|落(?:库|盘|纸|笔|到)|登记|备注|持久化|沉淀|进(?=(?:你的?|任何)?(?:记忆|摘要|库|记录|笔记))|出现在|提(?:到|起|及))"
)
_ASKED = re.compile(rf"{_NOT}(?P<between>(?:(?![忘只按照]){_C}){{0,16}}?){_VERB}(?P<object>{_C}*)")
_TALK = re.compile(
    r"(?:这|那|此)(?:个|件|条|段|句|些|次|种|点|几句|一段|一条|部分|番|茬)?(?:秘密|内容|事儿?|话|聊天|对话|谈话|八卦|消息|破事|信息|经过|东西|情况)?(?=$|[就也都可你请先真我给千绝一统全麻]|[别不勿]|说|的)|(?:这|那)(?:个|种)?(?:事|秘密|八卦)"
    r"|刚才|刚刚|方才|刚(?:说|提|贴|骂|发|漏)|以上|上面|前面|上述|下面|以下|接下来|(?:我|他|她)(?!们)|我们(?:俩|这次|的对话|聊)|咱|妈|爸|爷|奶|家人|孩子|女儿|儿子|老婆|老公|同事|老板(?!娘)|小[王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗郑梁谢宋唐许韩冯邓曹彭曾肖董潘袁蔡蒋余杜叶程魏苏吕丁卢姚沈钟姜崔谭陆范汪廖贾邹熊孟秦邱侯尹薛闫雷史陶贺顾郝龚邵钱严戴]|私事|隐私|秘密|八卦|闲话|气话|牢骚|悄悄|私下|[的那]事(?:$|[别不你也])|的话|对话|谈话|聊天|"
    r"今[天晚][^，。]{0,6}(?:说|聊|讲)|(?:聊|说|讲|谈)的|病情|病历|体检|薪资|工资|体重|怀孕|离婚|感情|信仰"
)
_MEMORY = re.compile(
    r"记忆|笔记|备忘|小本|本子|日记|画像|档案|任何(?:地方|记录|痕迹|备份)|哪里|长期记|你的(?:日志|记录|库|文件)|一个字|摘要"
)
# Either the agent's or a program's: a thing unless the talk or somebody's affairs are meant.
_PERHAPS = re.compile(r"更新日志|日志|总结|周报|日报|纪要|记录|摘要|档|复盘|用户|客户|照片|[A-Za-z]{2,}")
_THING = re.compile(
    r"更新日志|日志|文件|请求|响应|返回|接口|内存|缓存|数据|字段|[张个]表|旧表|列名|索引|代码|仓库|分支|提交|配置|函数|变量|常量|字符串|浮点|构造|类里|模块|组件|模板|控制器|状态|视图|页面|登录页|表单|按钮|浏览器|前端|后端|客户端|服务(?!员)|服务器|进程|线程|循环|队列|会话|令牌|密钥|磁盘|分区|目录|"
    r"机器|主机|容器|镜像|集群|环境|生产|上线|构建|编译|产物|依赖|迁移|脚本|测试|单元|用例|断言|备份|快照|副本|向量|模型|参数|图片|原图|水印|视频|录屏|上传|下载|附件|草稿|文档|注释|变更|版本|工单|埋点|指标|监控|堆栈|报错|错误|异常|调试|级别|爬虫|网页|键盘|滚动|搜索|换行|编码|时区|时间戳|金额|订单|"
    r"会员|访客|域名|标准输出|响应头|根目录|中间结果|状态码|消息队列|插件|软件|系统|程序|账本|相册|空行|冗余|明文|主线程|键值|值存|大对象|合并|冲突|小程序",
)
_ONLY_WORDS = re.compile(
    r"^[别不]|^[\s了啦哦啊哈吧呀呢嘛的着喔昂谢]*$|^(?:任何|它|这|那|什么|下来|进去|起来|到|在|住|谢谢|行吗|好吗|好不好)"
)
_TELLS = re.compile(r"(?:[我他她们]|自己|怎么|为什么|从来|还)\||记得$")
_ELSEWHERE = re.compile(
    r"(?:报告|邮件|标题|简历|文章|稿子?|回答|回复|答案|合同|方案|信|简介|名单|邀请函?)[里中上]|给(?:客户|别人|对方)"
)
_PROGRAM = re.compile(r"[A-Za-z]{2,}")
_MANNER = re.compile(r"^(?:成|为|作)")
_FOR_ME = re.compile(r"[替给帮跟为对]我")
_FILLER = re.compile(
    r"^(?:请|麻烦|拜托|你|您|那边|那儿|也|更|可|都|就|先|千万|绝对|一定|一概|统统|一个|一点|真的?|所以|但|删了|嘱咐|要求|用户|注明|说明|讲明|[\s、，])*$"
)
# No sentence is longer; what is, is read in pieces, so that a pasted file costs no more than its length.
_CLAUSE = re.compile(rf"{_C}{{1,200}}")
_SENTENCE = re.compile(r"[^。！？!?\n]{1,200}")


def wishes(text: str) -> Iterator[tuple[int, int]]:
    """Where a text asks not to be remembered."""
    for sentence in _SENTENCE.finditer(text):
        start = sentence.start()
        for found in _SAYINGS.finditer(sentence.group()):
            yield start + found.start(), start + found.end()
        for clause in _CLAUSE.finditer(sentence.group()):
            found_one = _ASKED.search(clause.group())
            if found_one and _is_asked(found_one, sentence.group(), clause.start()):
                begin = start + clause.start()
                kept = found_one["object"] if _is_content(found_one) else ""
                yield (
                    begin + (found_one.start("not") if _is_told(_topic(found_one)) else 0),
                    begin + found_one.end() - len(kept),
                )


def forbids_things(text: str) -> bool:
    """Whether a sentence says how files, logs, memory or data are not to be treated, and asks for no silence."""
    if any(wishes(text)):
        return False
    return any(
        _THING.search(one.string) or _PERHAPS.search(one.string) or not _ONLY_WORDS.match(one["object"])
        for one in map(_ASKED.search, _CLAUSE.findall(text))
        if one and not _TALK.search(one["object"])
    )


def _topic(found: re.Match[str]) -> str:
    """What stands in the clause before the wish."""
    return found.string[: found.start()]


def _is_told(topic: str) -> bool:
    """Whether what stands before the wish is a statement of its own rather than the matter that is meant."""
    return len(topic) > 10


def _is_content(found: re.Match[str]) -> bool:
    return len(found["object"]) > 8


def _is_asked(found: re.Match[str], sentence: str, at: int) -> bool:
    """Whether what is not to be kept is the talk, what was said in it, or somebody's own affairs."""
    topic, meant, verb = _topic(found), found["object"], found["verb"]
    between = _FOR_ME.sub("", found["between"])
    about = f"{topic} {between} {meant}"
    personal = bool(_TALK.search(topic) or _TALK.search(between) or _TALK.search(meant))
    if _MANNER.match(meant) or _is_a_thing(about, personal=personal):
        return False
    if verb.endswith("成") or _ELSEWHERE.search(about):
        return False
    if _PROGRAM.search(meant) and not (_TALK.search(meant) or _MEMORY.search(meant)):
        return False  # "这个不要存 Redis"
    filler = bool(_FILLER.match(topic))
    if found["not"] == "不" and (_TELLS.search(topic + "|" + verb) or not (filler or _TALK.search(topic[-8:]))):
        return False  # "he never writes anything down" tells, it does not ask
    if verb[0] in "提出" and not (_PERHAPS.search(about) or _MEMORY.search(about)):
        return False
    if _MEMORY.search(about):
        return True
    if not _ONLY_WORDS.match(meant) and not _TALK.search(meant) and not _PERHAPS.search(meant):
        return False
    if personal:
        return True
    if _PERHAPS.search(about):
        return bool(re.match(r"^(?:任何)?(?:记录|痕迹)", meant))
    before = sentence[:at]
    told = bool(_TALK.search(before))
    if verb[0] in "记記":
        return told or not _is_a_thing(before, personal=False)
    # Without an object it is told by what stands around it: "不用存档，git 里都有".
    return filler and not _is_a_thing(sentence, personal=told) and (told or not _PROGRAM.search(sentence))


def _is_a_thing(words: str, *, personal: bool) -> bool:
    """Whether files, logs or data are spoken of; where somebody's affairs are, a log may be the agent's."""
    rest = _MEMORY.sub("", words)
    return bool(_THING.search(_PERHAPS.sub("", rest) if personal else rest))
