"""Every setting with its default and its meaning, and what is in force: defaults < user file < workspace file < environment.

A workspace file may have come with a clone, so it can set only what is marked `shared`: nothing that redirects networks,
keys, commands or the limits of memory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, FrozenInstanceError, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.errors import BadSetting
from nacre.i18n import say
from nacre.model.report import Problem, problem

if TYPE_CHECKING:
    from dataclasses import dataclass as settings
else:

    def settings(kind: type) -> type:
        """A frozen dataclass whose constructor is not generated: that for so many classes would cost every command dearly."""
        kind.__doc__ = kind.__name__  # else one is made of the constructor, at a price
        kind.__init__, kind.__setattr__ = _init, _refuse
        return dataclasses.dataclass(init=False, repr=False, eq=False)(kind)


def _init(self: Any, **values: Any) -> None:
    for name, about in self.__dataclass_fields__.items():
        default = about.default if about.default_factory is MISSING else about.default_factory()
        self.__dict__[name] = values.pop(name, default)
    if values:
        raise TypeError(f"{type(self).__name__} has no setting {next(iter(values))!r}")


def _refuse(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def setting(default: Any, english: str, chinese: str, choices: tuple[str, ...] = (), **about: Any) -> Any:
    """A setting with its meaning and, where it is one of a few words or a number, its choices or bounds (`least`, `most`)."""
    about = {
        "shared": False,
        "least": 0,
        "most": None,
        "english": english,
        "chinese": chinese,
        "choices": choices,
    } | about
    if isinstance(default, list | dict):
        return field(default_factory=lambda: type(default)(default), metadata=about)
    return field(default=default, metadata=about)


shared = partial(setting, shared=True)  # one that may also come from the workspace's own file


@settings
class MemorySettings:
    max_lines: int = setting(80, "maximum number of lines in a MEMORY.md", "MEMORY.md 的最大行数")
    max_bytes: int = setting(5120, "maximum size of a MEMORY.md in bytes", "MEMORY.md 的最大字节数")


@settings
class TierSettings:
    auto: bool = setting(True, "save a captured session as a checkpoint once it is over", "会话结束后自动存为检查点")
    path: str | None = setting(
        None,
        "folder for the checkpoint layers; default: memory_fs in the workspace",
        "检查点各层所在的文件夹；默认为工作区中的 memory_fs",
    )
    hot: str = shared(
        "3h",
        "how long a checkpoint stays in hot after it was created or last recalled",
        "检查点在创建或最近一次召回后，在 hot 层停留多久",
    )
    warm: str = shared(
        "7d",
        "age at which a checkpoint leaves warm and is summarised in gist",
        "检查点满多久后离开 warm 层，在 gist 层保留摘要",
    )
    gist: str = shared(
        "30d",
        "maximum age of a summary in gist before it is forgotten",
        "gist 层的摘要最多保留多久，之后转入 forgotten 层",
    )
    forget_after: str = shared(
        "14d",
        "how long a checkpoint can go without a recall before it is forgotten",
        "检查点多久未被召回就转入 forgotten 层",
    )
    delete_after: str = shared(
        "30d", "how long a forgotten checkpoint is kept before it is deleted", "检查点在 forgotten 层保留多久后删除"
    )


@settings
class PromoteSettings:
    week: int = shared(
        3, "recalls within 7 days that nominate a checkpoint for promotion", "7 天内召回多少次即成为晋升候选", least=1
    )
    fortnight: int = shared(5, "recalls within 14 days that nominate it", "14 天内召回多少次即成为晋升候选", least=1)
    total: int = shared(8, "total recalls that nominate it", "总共召回多少次即成为晋升候选", least=1)


@settings
class StateSettings:
    max_entries: int = shared(
        20,
        "maximum number of lines per section of SESSION-STATE.md",
        "SESSION-STATE.md 每一节的最大行数",
        least=1,
        most=200,
    )
    max_chars: int = shared(
        500,
        "maximum number of characters per line of SESSION-STATE.md",
        "SESSION-STATE.md 每一行的最大字符数",
        least=40,
        most=5000,
    )


@settings
class CacheSettings:
    path: str | None = setting(
        None,
        "folder for the session caches; default: the user's runtime or temp folder",
        "会话缓存所在的文件夹；默认为用户的运行时目录或临时目录",
    )
    max_age: str = setting("24h", "how long cached values of a session are kept", "会话缓存的保留时间")


@settings
class ContextSettings:
    enabled: bool = setting(True, "give new sessions the context they need", "为新会话提供所需的上下文")
    budget: int = shared(
        6000, "maximum number of tokens given to a new session", "提供给新会话的最大 token 数", least=50, most=200_000
    )


@settings
class FlushSettings:
    enabled: bool = setting(
        True,
        "ask the agent to save what matters before its context is compacted",
        "上下文压缩前，让智能体保存重要的内容",
    )
    soft_threshold_tokens: int = shared(
        4000,
        "the flush starts this many tokens before the reserve is reached",
        "距离预留空间还有多少 token 时，开始压缩前保存",
    )
    reserve_tokens: int = shared(
        20_000, "tokens of the context window reserved for compaction", "上下文窗口中为压缩预留的 token 数"
    )
    prompt: str | None = setting(
        None,
        "user prompt for the flush, instead of the built-in one; the safety rules are added",
        "压缩前保存所用的用户提示词，代替内置的；安全规则会自动附上",
    )
    system_prompt: str | None = setting(
        None,
        "system prompt for the flush, instead of the built-in one; the safety rules are added",
        "压缩前保存所用的系统提示词，代替内置的；安全规则会自动附上",
    )


@settings
class HookSettings:
    enabled: bool = setting(
        True, "respond to the agents' hooks; if off, hooks do nothing", "响应智能体的钩子；关闭后钩子不做任何事"
    )
    session_start: bool = setting(
        True, "give a session its context when it starts and after compaction", "会话开始或压缩之后，为它提供上下文"
    )
    session_tokens: int = setting(
        2400,
        "maximum number of tokens in this context; agents show only the beginning of anything over 10,000 characters",
        "此上下文的最大 token 数；超过 10,000 个字符时，智能体只显示开头部分",
        least=50,
        most=200_000,
    )
    prompt: bool = setting(True, "add related memories to each prompt", "为每条提示附上相关记忆")
    prompt_tokens: int = setting(
        600, "maximum number of tokens in these memories", "所附记忆的最大 token 数", least=50, most=20_000
    )
    prompt_score: float = setting(
        0.4,
        "minimum score for memories added to a prompt; stricter than for searches, as they are added automatically",
        "记忆附到提示中所需的最低分；这些记忆是自动附上的，所以门槛比搜索时高",
        most=1,
    )
    capture: bool = setting(
        True,
        "queue a session for capture after each turn, before compaction and when it ends",
        "每轮之后、压缩之前和会话结束时，将会话排入采集队列",
    )
    start_daemon: bool = setting(
        True, "let a hook start the daemon if none is running", "没有守护进程时，允许钩子启动一个"
    )
    timeout_ms: int = setting(
        1500,
        "milliseconds after which a hook gives up without an answer",
        "钩子超过多少毫秒即放弃，不返回内容",
        least=50,
        most=60_000,
    )


@settings
class DecaySettings:
    max_lines: int = shared(
        200, "lines of MEMORY.md above which nacre decay starts", "MEMORY.md 超过多少行时 nacre decay 开始生效", least=1
    )
    max_files: int = shared(
        50, "number of daily logs above which nacre decay starts", "每日日志超过多少个时 nacre decay 开始生效", least=1
    )
    keep_days: int = shared(
        90, "days before nacre decay archives a daily log", "每日日志保留多少天后由 nacre decay 归档", least=1
    )


@settings
class SyncSettings:
    lookback: str = setting(
        "4h",
        "how long Nacre waits for a session to continue after a single message; each run looks back at least this far",
        "会话只有一条消息时等待其继续的时间；每次采集也至少回溯这么久",
    )
    times: list[str] = setting(
        ["10:00", "14:00", "18:00", "22:00"], "times of day at which sessions are captured", "每天采集会话的时间"
    )
    first: str = setting(
        "30d",
        "how far back the first run looks, unless --since says otherwise",
        "首次采集回溯多久（未指定 --since 时）",
    )
    min_user_messages: int = shared(
        2, "minimum number of user messages for a session to be captured", "会话中至少有多少条用户消息才会采集", least=1
    )
    min_bullets: int = shared(
        3,
        "minimum number of lines per session, if there is enough content",
        "每个会话最少写几行（内容足够时）",
        least=1,
        most=10,
    )
    max_bullets: int = shared(10, "maximum number of lines per session", "每个会话最多写几行", least=1, most=50)


@settings
class TidySettings:
    time: str = setting("03:00", "when the nightly tidying starts", "每晚整理的开始时间")
    retention: str = shared(
        "weekly",
        "what happens to old daily logs: condensed into weekly digests, or kept and archived by nacre decay",
        "旧的每日日志如何处理：压缩成每周摘要，或保留并由 nacre decay 归档",
        choices=("weekly", "decay"),
    )
    daily_days: int = shared(
        7, "days before a daily log is condensed into its weekly digest", "每日日志保留多少天后压缩进每周摘要", least=1
    )


@settings
class ArchiveSettings:
    layout: str = shared(
        "year",
        "where archived logs go: archive/2026/ or archive/2026-02/",
        "归档日志的存放方式：archive/2026/ 或 archive/2026-02/",
        choices=("year", "month"),
    )
    compress: bool = shared(
        False, "whether nacre decay compresses the logs it archives", "nacre decay 归档时是否压缩文件"
    )
    backups: list[int] = setting(
        [7, 5, 12],
        "how many daily, weekly and monthly backups of each MEMORY.md are kept",
        "每个 MEMORY.md 的备份按日、周、月各保留多少份（每段取最后一份）",
    )


@settings
class SourceSettings:
    enabled: bool = setting(True, "whether this agent's sessions are captured", "是否采集此智能体的会话")
    path: str | None = setting(
        None,
        "where this agent keeps its transcripts; default: its usual place",
        "此智能体存放会话记录的位置；默认为其通常位置",
    )
    exclude: list[str] = setting(
        [],
        "projects, folders or chats to exclude; * and ? are wildcards",
        "要排除的项目、文件夹或聊天；* 和 ? 为通配符",
    )


@settings
class SourcesSettings:
    openclaw: SourceSettings = field(default_factory=SourceSettings)
    claude_code: SourceSettings = field(default_factory=SourceSettings)
    codex: SourceSettings = field(default_factory=SourceSettings)
    cursor: SourceSettings = field(default_factory=SourceSettings)
    gemini: SourceSettings = field(default_factory=SourceSettings)
    opencode: SourceSettings = field(default_factory=SourceSettings)


@settings
class IndexSettings:
    extra_paths: list[dict[str, str]] = setting(
        [],
        "folders or files to search besides the workspace: ['~/notes'] or [{path, pattern}]",
        "工作区之外还要搜索的文件夹或文件：['~/notes'] 或 [{path, pattern}]",
    )
    chunk_tokens: int = shared(
        400, "approximate length of a passage in tokens", "每个片段的大致长度（token）", least=50
    )
    chunk_overlap: int = shared(80, "tokens shared by neighbouring passages", "相邻片段重叠的 token 数")
    sessions: bool = setting(
        False,
        "also index redacted transcripts, searched with --corpus sessions",
        "同时索引去除敏感信息后的会话记录，用 --corpus sessions 搜索",
    )


@settings
class SearchSettings:
    max_results: int = shared(10, "maximum number of search results", "搜索返回的最大结果数", least=1, most=1000)
    min_score: float | None = shared(
        None,
        "lowest score shown; unset: weak hits are shown too, marked as such",
        "显示结果的最低分；未设置时也显示弱结果，并加以标明",
    )
    decay: str = shared("tie", "how age affects the score", "时间远近如何影响得分", choices=("tie", "multiply", "off"))
    half_life_days: float = shared(
        30.0, "half-life of the recency weighting, in days", "时间权重的半衰期（天）", least=0.01
    )
    mmr_lambda: float = shared(
        0.7, "relevance (1) versus variety (0) of the results", "结果的相关性（1）与多样性（0）之间的权衡", most=1
    )
    vector_weight: float | None = shared(
        None, "weight of the vector score; unset: learned", "向量得分的权重；未设置时使用训练得到的值"
    )
    text_weight: float | None = shared(
        None, "weight of the text score; unset: learned", "文本得分的权重；未设置时使用训练得到的值"
    )
    snippet_chars: int = shared(700, "maximum number of characters in a snippet", "摘录的最大字符数")


@settings
class EmbedSettings:
    provider: str = setting(
        "auto",
        "provider that computes the vectors",
        "由谁生成向量",
        choices=("auto", "local", "openai", "gemini", "voyage", "mistral", "ollama", "none"),
    )
    model: str | None = setting(None, "model name, for providers accessed over HTTP", "模型名称（用于 HTTP 服务）")
    base_url: str | None = setting(None, "address of an OpenAI-compatible server", "兼容 OpenAI 的服务器地址")
    key_file: str | None = setting(
        None,
        "file with the provider's key, if it is not in the environment",
        "存放服务密钥的文件（未在环境变量中提供时）",
    )
    fallback: list[str] = setting(
        [],
        "providers to use, in this order, if the main one fails",
        "主要服务不可用时，依次改用的服务",
        choices=("local", "openai", "gemini", "voyage", "mistral", "ollama"),
    )
    batch: int = setting(64, "number of texts processed together", "一次发送或计算的文本数", least=1)
    batch_api: bool = setting(
        False,
        "send a thousand texts or more to the batch service of openai, gemini or voyage: cheaper, but takes hours",
        "一千段以上的文本交给 openai、gemini 或 voyage 的批处理服务：更便宜，但要等几个小时",
    )


@settings
class BrainCommandSettings:
    preset: str | None = setting(
        None,
        "the agent whose program answers requests",
        "由哪个智能体的程序处理请求",
        choices=("claude-code", "codex", "gemini", "opencode", "openclaw"),
    )
    argv: list[str] = setting(
        [],
        "your own program, which reads a request from stdin and prints the answer",
        "自定义程序：从标准输入读取请求，输出回答",
    )
    timeout: str = setting("3min", "maximum time for one answer", "单次回答的最长等待时间")


@settings
class BrainApiSettings:
    kind: str = setting(
        "openai", "the type of API that the service provides", "服务使用的接口类型", choices=("openai", "anthropic")
    )
    base_url: str | None = setting(
        None,
        "address of the service, such as http://localhost:11434/v1; default: the vendor's own",
        "服务地址，例如 http://localhost:11434/v1；默认为厂商的地址",
    )
    model: str | None = setting(None, "the model to use", "使用的模型")
    key_env: str | None = setting(
        None,
        "environment variable that holds the key; default with the vendor's own address: the vendor's usual variable",
        "存放密钥的环境变量；使用厂商地址时，默认为该厂商常用的变量",
    )


BRAINS = ("local", "hybrid", "command", "api", "turn")


@settings
class BrainSettings:
    extract: str = setting(
        "local",
        "who writes the lines of a daily log: this machine, your own model, your model for long sessions only, or your agent in a separate turn",
        "由谁写每日日志：本机、你自己的模型、仅长会话用你的模型，或由你的智能体在单独的一轮中处理",
        choices=BRAINS,
    )
    digest: str = setting(
        "local", "who condenses old days into the weekly digest", "由谁把旧日志压缩成每周摘要", choices=BRAINS
    )
    distil: str = setting(
        "local",
        "who decides what enters MEMORY.md from the logs, and what it replaces",
        "由谁决定日志中的哪些内容进入 MEMORY.md，以及取代什么",
        choices=BRAINS,
    )
    summarise: str = setting("local", "who writes the summaries of checkpoints", "由谁写检查点的摘要", choices=BRAINS)
    private: list[str] = setting(
        [],
        "projects, folders, chats and agents that no model may see; * and ? are wildcards",
        "任何模型都不得查看的项目、文件夹、聊天和智能体；* 和 ? 为通配符",
    )
    calls_per_day: int = setting(40, "maximum number of requests sent per day", "每天最多发出的请求数")
    tokens_per_day: int = setting(
        300_000, "maximum number of tokens per day, for requests and answers", "每天请求和回答最多使用的 token 数"
    )
    turn_wait: str = setting(
        "12h",
        "how long a request waits for your agent before this machine handles it",
        "请求等待你的智能体多久后改由本机处理",
    )
    offered: bool = setting(
        False,
        "whether you have been asked if one of your agents may write your memory",
        "是否已问过你：能否让你的智能体来写记忆",
    )
    command: BrainCommandSettings = field(default_factory=BrainCommandSettings)
    api: BrainApiSettings = field(default_factory=BrainApiSettings)

    @property
    def by_turn(self) -> bool:
        """Whether any kind of work waits for the user's agent."""
        return "turn" in vars(self).values()


@settings
class HistorySettings:
    enabled: bool = setting(
        True, "keep earlier versions, so that every change can be undone", "保留修改前的内容，以便撤销更改"
    )


@settings
class JobsSettings:
    sync: str | None = setting(
        None,
        "when sessions are captured, as a cron expression; unset: at sync.times",
        "采集会话的时间（cron 表达式）；未设置时按 sync.times",
    )
    tidy: str | None = setting(
        None,
        "when the nightly tidying runs, as a cron expression; unset: at tidy.time",
        "每晚整理的时间（cron 表达式）；未设置时按 tidy.time",
    )
    organise: str = setting("7 * * * *", "when the layers are organised", "整理各层的时间")
    heartbeat: str = setting("*/30 * * * *", "when a quick check for due work runs", "快速检查到期任务的时间")
    adaptive: bool = setting(
        True, "also capture a session soon after it ends or goes quiet", "会话结束或静默后不久也进行采集"
    )
    silence: str = setting("10min", "how long a session must be quiet to count as ended", "会话静默多久后视为结束")
    retries: int = setting(
        3,
        "number of retries after a failed run, each after a longer wait",
        "失败后重试的次数，间隔逐次加长",
        most=100,
    )
    notify: bool = setting(
        True,
        "show a desktop notification about the nightly tidying, unless OpenClaw reports it",
        "每晚整理后显示桌面通知（由 OpenClaw 告知时除外）",
    )
    on_demand: bool = setting(
        False,
        "let a daemon started by a hook, a plugin or a search run the jobs too",
        "由钩子、插件或搜索启动的守护进程也运行任务",
    )


@settings
class ServeSettings:
    auto: bool = setting(False, "let searches start the daemon if none is running", "没有守护进程时，允许搜索启动一个")
    idle: str = setting(
        "30min", "how long a daemon started on demand stays idle before it exits", "按需启动的守护进程空闲多久后退出"
    )
    watch_debounce_ms: int = setting(
        1500,
        "milliseconds the daemon waits for further changes before it reads them",
        "守护进程读取文件改动前，等待后续改动的毫秒数",
        most=60_000,
    )
    host: str = setting(
        "127.0.0.1",
        "address on which the daemon serves MCP over HTTP; any address other than loopback can be reached from other machines",
        "守护进程提供 MCP over HTTP 的地址；回环以外的地址可被其他机器访问",
    )
    port: int = setting(0, "port for MCP over HTTP; 0: off", "MCP over HTTP 的端口；0 表示关闭", most=65_535)
    max_memory_mb: int = setting(
        1500, "memory use (MB) above which the daemon restarts", "守护进程内存占用超过多少 MB 时重启", least=64
    )


@settings
class Config:
    timezone: str | None = shared(
        None,
        "your time zone, such as Asia/Shanghai; default: the system's",
        "你的时区，例如 Asia/Shanghai；默认使用系统时区",
    )
    language: str = shared("auto", "language of messages", "消息的语言", choices=("auto", "en", "zh"))
    workspace: str | None = setting(None, "the workspace to use when none is named", "未指定时使用的工作区")
    agents: dict[str, str] = setting(
        {}, "agents by name, each with the path of its workspace", "智能体名称及其工作区路径"
    )
    memory: MemorySettings = field(default_factory=MemorySettings)
    sync: SyncSettings = field(default_factory=SyncSettings)
    tidy: TidySettings = field(default_factory=TidySettings)
    archive: ArchiveSettings = field(default_factory=ArchiveSettings)
    sources: SourcesSettings = field(default_factory=SourcesSettings)
    tiers: TierSettings = field(default_factory=TierSettings)
    promote: PromoteSettings = field(default_factory=PromoteSettings)
    state: StateSettings = field(default_factory=StateSettings)
    cache: CacheSettings = field(default_factory=CacheSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    flush: FlushSettings = field(default_factory=FlushSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    decay: DecaySettings = field(default_factory=DecaySettings)
    jobs: JobsSettings = field(default_factory=JobsSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    embed: EmbedSettings = field(default_factory=EmbedSettings)
    brain: BrainSettings = field(default_factory=BrainSettings)
    history: HistorySettings = field(default_factory=HistorySettings)
    origins: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


# What is in force here.


class Setting(typing.NamedTuple):
    """One setting as `nacre config` lists it."""

    key: str
    kind: Any
    default: Any
    english: str
    chinese: str
    shared: bool
    choices: tuple[str, ...]
    least: float
    most: float | None

    @property
    def meaning(self) -> str:
        return say(self.english, self.chinese)

    @property
    def variable(self) -> str:
        return "NACRE_" + self.key.upper().replace(".", "_")


@cache
def _kinds(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@cache
def known_settings() -> Mapping[str, Setting]:
    """Every setting by its dotted key."""
    return {setting.key: setting for setting in _collect(Config, "")}


def _collect(cls: Any, prefix: str) -> Iterator[Setting]:
    for part in dataclasses.fields(cls):
        key, kind = prefix + part.name, _kinds(cls)[part.name]
        if dataclasses.is_dataclass(kind):
            yield from _collect(kind, f"{key}.")
        elif part.metadata:
            default = part.default_factory() if callable(part.default_factory) else part.default
            yield Setting(key, kind, default, **part.metadata)


def user_config_file(env: Mapping[str, str] | None = None) -> Path:
    named = (os.environ if env is None else env).get("NACRE_CONFIG_FILE")
    return Path(named).expanduser() if named else user_config_folder() / "config.toml"


def user_folder(kind: str) -> Path:
    """The folder of this user in which Nacre keeps its "config" or "state"."""
    system: str = sys.platform
    if system == "linux":  # what platformdirs answers there, without the ten milliseconds of its import
        usual = {"config": ".config", "state": ".local/state"}[kind]
        return Path(os.environ.get(f"XDG_{kind.upper()}_HOME") or Path.home() / usual) / "nacre"
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("nacre", appauthor=False))


user_config_folder = partial(user_folder, "config")


def read_toml(path: Path) -> dict[str, Any]:
    """The settings in a file; none when it does not exist."""
    try:
        if not path.exists():
            return {}
        import tomllib

        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadSetting(
            f"The settings file {path} could not be read as TOML: {reason}. Fix or remove it.",
            f"无法按 TOML 读取设置文件 {path}：{reason}。请修正或删除该文件。",
        ) from error


def load(workspace: Path | None = None, *, env: Mapping[str, str] | None = None) -> Config:
    """The settings in force, with the origin of each."""
    env = os.environ if env is None else env
    settings = known_settings()
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    problems: list[Problem] = []

    files = [(user_config_file(env), "user")]
    if workspace:
        files.append((workspace / ".nacre" / "config.toml", "workspace"))
    for path, origin in files:
        for key, value in _flat(read_toml(path)):
            if key not in settings:
                english, chinese = f'"{key}" is not a Nacre setting.', f"“{key}”不是 Nacre 的设置。"
                problems.append(problem("unknown setting", english, chinese, str(path), remedy="nacre config"))
            elif origin == "workspace" and not settings[key].shared:
                english = f'"{key}" is ignored in the workspace\'s settings; set it in your user settings.'
                chinese = f"工作区设置中的“{key}”已被忽略；请改在用户设置中设定。"
                remedy = f"nacre config set --user {key} …"
                problems.append(problem("setting not allowed here", english, chinese, str(path), remedy=remedy))
            else:
                values[key], origins[key] = checked(settings[key], value, origin), origin
    for key, setting in settings.items():
        if raw := env.get(setting.variable):
            values[key], origins[key] = checked(setting, _from_text(setting, raw), "environment"), "environment"
    config: Config = _build(Config, values, "", origins=origins, problems=tuple(problems))
    return config


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and key not in known_settings():
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _from_text(setting: Setting, raw: str) -> Any:
    """A value from the environment or the command line: TOML, or plain text where text is meant."""
    plain = _plain_kinds(setting.kind)
    if str in plain:
        return raw
    if bool in plain and raw.lower() in _YES_OR_NO:
        return _YES_OR_NO[raw.lower()]
    import tomllib

    with contextlib.suppress(ValueError):
        return tomllib.loads(f"value = {raw}")["value"]
    with contextlib.suppress(ValueError):
        return json.loads(raw)  # as "nacre config get" prints it
    return [raw] if list in plain else raw


_YES_OR_NO = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def setting_named(key: str) -> Setting:
    if key not in known_settings():
        raise BadSetting(
            f'"{key}" is not a setting; "nacre config" lists them all.',
            f"“{key}”不是设置项；“nacre config”会列出全部。",
        )
    return known_settings()[key]


def parse_value(key: str, raw: str) -> Any:
    """The value of a setting as typed on the command line, checked."""
    setting = setting_named(key)
    return checked(setting, _from_text(setting, raw), "flag")


def _plain_kinds(kind: Any) -> tuple[Any, ...]:
    if isinstance(kind, types.UnionType):
        return tuple(part for part in typing.get_args(kind) if part is not type(None))
    return (typing.get_origin(kind) or kind,)


def checked(setting: Setting, value: Any, origin: str) -> Any:
    """The value if it is of the right kind, else an error that names the setting and where it came from."""
    kinds = _plain_kinds(setting.kind)
    if float in kinds and type(value) is int:
        value = float(value)
    if setting.key == "index.extra_paths" and isinstance(value, list):
        value = [{"path": path} if isinstance(path, str) else path for path in value]
    if not _fits(setting, kinds, value):
        expected = " | ".join(setting.choices or [_kind_in_words(kind, setting.default) for kind in kinds])
        if setting.choices and list in kinds:
            expected = f"[{expected}]"
        if isinstance(value, int | float) and not {int, float}.isdisjoint(kinds):
            expected += f" >= {setting.least:g}" + ("" if setting.most is None else f", <= {setting.most:g}")
        place = "" if origin == "flag" else say(f" (from {origin})", f"（来自 {origin}）")
        raise BadSetting(
            f'"{setting.key}" cannot be {value!r}{place}; it must be {expected}.',
            f"“{setting.key}”不能是 {value!r}{place}；应为 {expected}。",
        )
    # A setting is a length of time when its default is written as one.
    default = setting.default if isinstance(setting.default, str) else ""
    is_duration = default[:1].isdigit() and default.rstrip("smindhw").isdigit()
    if value != setting.default and (is_duration or setting.key == "timezone"):
        from nacre.clock import duration, zone

        try:
            duration(value) if is_duration else zone(value)
        except BadSetting as error:
            raise BadSetting(f'"{setting.key}": {error}', f"“{setting.key}”：{error}") from error
    return value


def _fits(setting: Setting, kinds: tuple[Any, ...], value: Any) -> bool:
    """Whether a value is of the right kind, one of the choices and within the bounds, and so is what a list or table holds."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        return False
    items = [value]
    if isinstance(value, list):
        (item,) = typing.get_args(setting.kind)
        kind = typing.get_origin(item) or item
        if any(type(inner) is not kind for inner in value) or (kind is int and len(value) != len(setting.default)):
            return False
        items = value
    if setting.choices and any(item not in setting.choices for item in items):
        return False
    for inner in items:
        texts = list(inner.values()) if isinstance(inner, dict) else [inner] if isinstance(inner, str) else []
        if any(not isinstance(text, str) or "\0" in text for text in texts):
            return False
        is_number = isinstance(inner, int | float) and not isinstance(inner, bool)
        if is_number and not setting.least <= inner <= (setting.most or sys.maxsize):
            return False
    return True


def _kind_in_words(kind: Any, default: Any) -> str:
    example = json.dumps(default or ["~/notes"])
    words = {
        int: say("a whole number", "整数"),
        float: say("a number", "数字"),
        str: say("text", "文本"),
        bool: "true | false",
        list: say(f"a list, such as {example}", f"列表，例如 {example}"),
    }
    return words.get(kind, str(kind.__name__))


def _build(cls: Any, values: Mapping[str, Any], prefix: str, **more: Any) -> Any:
    for part in dataclasses.fields(cls):
        kind, key = _kinds(cls)[part.name], prefix + part.name
        if dataclasses.is_dataclass(kind):
            more[part.name] = _build(kind, values, f"{key}.")
        elif key in values:
            more[part.name] = values[key]
    return cls(**more)
