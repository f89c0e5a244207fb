"""What the steps of tidying are called, for people."""

from __future__ import annotations

from nacre.words import say


def word(action: str) -> str:
    """What a step does, for people."""
    return {
        "add": say("add", "新增"),
        "say once": say("say once", "不重复"),
        "move": say("move", "移动"),
        "append": say("append", "追加"),
        "remove": say("remove", "移除"),
        "adopt": say("adopt", "采纳"),
        "close": say("close", "关闭"),
        "set": say("set", "设置"),
        "supersede": say("supersede", "取代"),
        "merge": say("merge", "合并"),
        "shorten": say("shorten", "精简"),
        "demote": say("demote", "移出"),
        "refuse": say("refuse", "拒绝"),
        "ask": say("ask", "询问"),
    }.get(action, action)
