"""The prompts of the turn before compaction, in English and Chinese; a prompt of the user's own keeps the safety rules."""

from __future__ import annotations

from typing import NamedTuple

from nacre.text.tokens import language_of

SILENCE = "NO_REPLY"
MOST_LINES = 30
LONGEST = 500  # characters of one line
REFERENCE = ("MEMORY.md", "SOUL.md", "TOOLS.md", "AGENTS.md", "IDENTITY.md", "USER.md")
_DATE = "YYYY-MM-DD"


class Prompts(NamedTuple):
    system: str
    user: str


def flush_prompts(path: str, language: str, *, system: str | None = None, user: str | None = None) -> Prompts:
    """Ours, or the user's own with the safety rules. `path` is the day's log, relative to the workspace."""
    day = path.rpartition("/")[2].removesuffix(".md")

    def with_rules(own: str | None, ours: str) -> str:
        if own and own.strip():
            tongue = language_of(own)
            rules, text = [*_SAFETY[tongue], _SILENT[tongue]], own.rstrip()
        else:
            rules, text = [*_SAFETY[language], _VARIANTS[language], _SECRETS[language], _SILENT[language]], ours
        text += "\n\n" + "\n".join(f"- {rule}" for rule in rules)
        return text.replace("{path}", path).replace(_DATE, day)

    return Prompts(with_rules(system, _SYSTEM[language]), with_rules(user, _USER[language]))


_SYSTEM = {
    "en": (
        "The context of this talk is almost full and is about to be compacted. This turn comes first, and the user sees nothing of "
        "it: put on disk what should outlive the talk, then stop."
    ),
    "zh": "这次对话的上下文快满了，马上就要压缩。压缩之前先走这一轮，用户看不到：把对话之后仍有用的内容存到磁盘，然后结束。",
}
_USER = {
    "en": (
        "Look back over this talk and keep what a later session would miss: preferences, decisions with their reasons, facts about "
        "projects and people, lessons from what went wrong, work that is still open. Leave out small talk and what memory holds "
        "already.\n\n"
        'Write under a heading "## HH:MM note" with the time it is now, one line for each thing:\n\n'
        "- [TYPE] text\n\n"
        "TYPE is PREF, PROJ, TECH, LESSON, PEOPLE or TEMP. Every line stands on its own, in the language of the talk; no more than "
        f"{MOST_LINES} lines of {LONGEST} characters. If you have no tool that writes files, answer with these lines and nothing else."
    ),
    "zh": (
        "回顾这次对话，留下以后的会话会用得上的内容：偏好、决定及其理由、项目和人物的事实、出错后的教训、尚未完成的工作。"
        "闲聊和记忆里已有的内容不用写。\n\n"
        "写在标题“## HH:MM note”（填当前时间）之下，一件事一行：\n\n"
        "- [TYPE] 内容\n\n"
        f"TYPE 为 PREF、PROJ、TECH、LESSON、PEOPLE 或 TEMP。每行都能单独看懂，用对话所用的语言；最多 {MOST_LINES} 行，每行最多 {LONGEST} 个字符。"
        "如果没有写文件的工具，就只用这些行作答，不要写别的。"
    ),
}
_NAMES = {"en": ", ".join(REFERENCE[:-1]) + f" and {REFERENCE[-1]}", "zh": "、".join(REFERENCE)}
_SAFETY = {
    "en": (
        "Write only into {path}; make the folder memory/ if it is missing.",
        "That file is append-only: add at its end, and never overwrite, reorder or take out what stands there.",
        f"{_NAMES['en']} are read-only in this turn: no edit, no replacement, no new copy.",
    ),
    "zh": (
        "只写入 {path}；没有 memory/ 文件夹就先建。",
        "该文件只追加：新内容加在末尾，已有内容不得覆盖、重排或删除。",
        f"{_NAMES['zh']} 在这一轮中只读：不编辑、不替换、不另建副本。",
    ),
}
_VARIANTS = {
    "en": f"The day has this one file: no second one with a time in its name, such as {_DATE}-HHMM.md.",
    "zh": f"一天只有这一个文件：不要另建带时间的文件，例如 {_DATE}-HHMM.md。",
}
_SECRETS = {
    "en": "No passwords, keys, tokens or other secrets.",
    "zh": "不要写密码、密钥、令牌等敏感信息。",
}
_SILENT = {
    "en": f"With nothing to keep, answer exactly {SILENCE}.",
    "zh": f"没有要留下的内容时，只回答 {SILENCE}。",
}
