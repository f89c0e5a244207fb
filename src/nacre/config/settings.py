"""Every setting with its default and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError, field
from typing import TYPE_CHECKING, Any

from nacre.model.report import Problem

if TYPE_CHECKING:
    from dataclasses import dataclass as settings
else:

    def settings(**_how: bool) -> Callable[[type], type]:
        """A frozen dataclass whose constructor is not generated: that for so many classes would cost every command dearly."""
        return _made


def _made(kind: type) -> type:
    from dataclasses import dataclass

    kind.__doc__ = kind.__doc__ or kind.__name__  # else one is made of the constructor, at a price
    kind.__init__, kind.__setattr__ = _init, _refuse  # type: ignore[method-assign, assignment, misc]
    return dataclass(init=False, repr=False, eq=False)(kind)


def _init(self: Any, **values: Any) -> None:
    for name, about in self.__dataclass_fields__.items():
        default = about.default if about.default_factory is MISSING else about.default_factory()
        self.__dict__[name] = values.pop(name, default)
    if values:
        raise TypeError(f"{type(self).__name__} has no setting {next(iter(values))!r}")


def _refuse(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def setting(
    default: Any,
    meaning: str,
    *,
    shared: bool = False,
    choices: tuple[str, ...] = (),
    least: float = 0,
    most: float | None = None,
) -> Any:
    """A setting with its meaning; `shared` ones may also come from the workspace's own file. Numbers have bounds."""
    about = {"meaning": meaning, "shared": shared, "choices": choices, "least": least, "most": most}
    if isinstance(default, list | dict):
        return field(default_factory=lambda: type(default)(default), metadata=about)
    return field(default=default, metadata=about)


@settings(frozen=True)
class MemorySettings:
    max_lines: int = setting(80, "most lines of a MEMORY.md")
    max_bytes: int = setting(5120, "most bytes of a MEMORY.md")


@settings(frozen=True)
class TierSettings:
    path: str | None = setting(None, "where the checkpoint layers lie; default memory_fs in the workspace")
    hot: str = setting("3h", "how long a checkpoint stays in hot after it was made or last recalled", shared=True)
    warm: str = setting("7d", "at what age a checkpoint gets a summary in gist; until then it is warm", shared=True)
    gist: str = setting("30d", "the oldest that a summary in gist becomes before it is forgotten", shared=True)
    forget_after: str = setting("14d", "how long without a recall until a checkpoint is forgotten", shared=True)
    delete_after: str = setting("30d", "how long a forgotten checkpoint lies until it is deleted", shared=True)


@settings(frozen=True)
class PromoteSettings:
    week: int = setting(3, "recalls within 7 days that nominate a checkpoint for promotion", shared=True, least=1)
    fortnight: int = setting(5, "recalls within 14 days that nominate it", shared=True, least=1)
    total: int = setting(8, "recalls in all that nominate it", shared=True, least=1)


@settings(frozen=True)
class StateSettings:
    max_entries: int = setting(20, "most lines of each section of SESSION-STATE.md", shared=True, least=1, most=200)
    max_chars: int = setting(500, "most characters of one line of SESSION-STATE.md", shared=True, least=40, most=5000)


@settings(frozen=True)
class CacheSettings:
    path: str | None = setting(
        None, "where a session's cache lies, in a folder of its own; default the user's runtime or temp folder"
    )
    max_age: str = setting("24h", "how long what a session cached is kept")


@settings(frozen=True)
class ContextSettings:
    enabled: bool = setting(default=True, meaning="give new sessions what they should know")
    budget: int = setting(6000, "most tokens that a new session is given", shared=True, least=50, most=200_000)
    log: bool = setting(default=True, meaning="keep what was given last, for nacre context --last")


@settings(frozen=True)
class FlushSettings:
    enabled: bool = setting(
        default=True, meaning="ask the agent to write down what lasts before its context is compacted"
    )
    soft_threshold_tokens: int = setting(4000, "how many tokens before the reserve the flush begins", shared=True)
    reserve_tokens: int = setting(20_000, "tokens of the context window that are kept free for compaction", shared=True)
    prompt: str | None = setting(None, "the user prompt of the flush, instead of ours; the safety rules are added")
    system_prompt: str | None = setting(
        None, "the system prompt of the flush, instead of ours; the safety rules are added"
    )


@settings(frozen=True)
class HookSettings:
    enabled: bool = setting(default=True, meaning="answer the hooks of agents; off, they say and do nothing")
    session_start: bool = setting(default=True, meaning="give a session its context when it begins or was compacted")
    session_tokens: int = setting(
        2400, "most tokens of that; above 10,000 characters agents show only the beginning", least=50, most=200_000
    )
    prompt: bool = setting(default=True, meaning="add what memory knows about a prompt")
    prompt_tokens: int = setting(600, "most tokens of that", least=50, most=20_000)
    prompt_score: float = setting(
        0.4, "lowest score of what is added to a prompt; nobody asked for it, so a search may show more", most=1
    )
    capture: bool = setting(
        default=True, meaning="queue a session for capture after each turn, before a compaction and at its end"
    )
    start_daemon: bool = setting(default=True, meaning="let a hook that finds no daemon start one for the next time")
    timeout_ms: int = setting(1500, "after how long a hook gives up and says nothing", least=50, most=60_000)


@settings(frozen=True)
class DecaySettings:
    max_lines: int = setting(200, "lines of MEMORY.md from which nacre decay sets in", shared=True, least=1)
    max_files: int = setting(50, "daily logs from which nacre decay sets in", shared=True, least=1)
    keep_days: int = setting(90, "how many days daily logs stay before nacre decay archives them", shared=True, least=1)


@settings(frozen=True)
class SyncSettings:
    lookback: str = setting(
        "4h", "how long a lone remark waits for the session to go on, and how far back a run looks at least"
    )
    times: list[str] = setting(["10:00", "14:00", "18:00", "22:00"], "when what was said is captured each day")
    first: str = setting("30d", "how far back the first run looks, when --since does not say")
    min_user_messages: int = setting(
        2, "how often the user must have spoken for a session to count", shared=True, least=1
    )
    min_bullets: int = setting(
        3, "fewest lines for a session, where there is enough to say", shared=True, least=1, most=10
    )
    max_bullets: int = setting(10, "most lines for a session", shared=True, least=1, most=50)


@settings(frozen=True)
class TidySettings:
    time: str = setting("03:00", "when the nightly tidying begins")
    retention: str = setting(
        "weekly",
        "what becomes of old daily logs: pressed into weeks, or kept and archived by nacre decay",
        shared=True,
        choices=("weekly", "decay"),
    )
    daily_days: int = setting(
        7, "how many days a daily log stays as it is before it is pressed into its week", shared=True, least=1
    )


@settings(frozen=True)
class ArchiveSettings:
    layout: str = setting(
        "year", "how pressed logs are filed: archive/2026/ or archive/2026-02/", shared=True, choices=("year", "month")
    )
    compress: bool = setting(default=False, meaning="whether nacre decay compresses the logs it archives", shared=True)
    backups: list[int] = setting(
        [7, 5, 12], "of how many days, weeks and months the last backup of each MEMORY.md is kept"
    )


@settings(frozen=True)
class SourceSettings:
    enabled: bool = setting(default=True, meaning="whether this agent's sessions are captured")
    path: str | None = setting(None, "where this agent keeps its transcripts; default its usual place")
    exclude: list[str] = setting([], "projects, folders or chats to leave out; * and ? stand for any letters")


@settings(frozen=True)
class SourcesSettings:
    openclaw: SourceSettings = field(default_factory=SourceSettings)
    claude_code: SourceSettings = field(default_factory=SourceSettings)
    codex: SourceSettings = field(default_factory=SourceSettings)
    cursor: SourceSettings = field(default_factory=SourceSettings)
    gemini: SourceSettings = field(default_factory=SourceSettings)
    opencode: SourceSettings = field(default_factory=SourceSettings)


@settings(frozen=True)
class IndexSettings:
    extra_paths: list[dict[str, str]] = setting(
        [],
        "folders or files to search besides the workspace: ['~/notes'] or [{path, pattern}]",
    )
    chunk_tokens: int = setting(400, "about how long a passage is, in tokens", shared=True, least=50)
    chunk_overlap: int = setting(80, "how many tokens neighbouring passages share", shared=True)
    sessions: bool = setting(default=False, meaning="index the redacted transcripts too, as corpus sessions of search")


@settings(frozen=True)
class SearchSettings:
    max_results: int = setting(10, "how many results a search returns", shared=True, least=1, most=1000)
    min_score: float | None = setting(
        None, "lowest score shown; unset: the learned point below which Nacre abstains", shared=True
    )
    decay: str = setting("tie", "what age does to a score", shared=True, choices=("tie", "multiply", "off"))
    half_life_days: float = setting(30.0, "after how many days the weight of age has halved", shared=True, least=0.01)
    mmr_lambda: float = setting(0.7, "relevance (1) against variety (0) of the results", shared=True, most=1)
    vector_weight: float | None = setting(None, "weight of meaning; unset: learned", shared=True)
    text_weight: float | None = setting(None, "weight of words; unset: learned", shared=True)
    snippet_chars: int = setting(700, "most characters of a snippet", shared=True)


@settings(frozen=True)
class EmbedSettings:
    provider: str = setting(
        "auto",
        "who makes the vectors",
        choices=("auto", "local", "openai", "gemini", "voyage", "mistral", "ollama", "none"),
    )
    model: str | None = setting(None, "model name for a provider over HTTP")
    base_url: str | None = setting(None, "address of an OpenAI-compatible server")
    key_file: str | None = setting(None, "file that holds the provider's key, when it is not in the environment")
    batch: int = setting(64, "texts sent or computed together", least=1)


@settings(frozen=True)
class HistorySettings:
    enabled: bool = setting(default=True, meaning="keep preimages, so that every change can be undone")


@settings(frozen=True)
class JobsSettings:
    sync: str | None = setting(None, "when what was said is captured, as a cron expression; unset: at sync.times")
    tidy: str | None = setting(None, "when the night's tidying runs, as a cron expression; unset: at tidy.time")
    organise: str = setting("7 * * * *", "when the layers are put in order")
    heartbeat: str = setting("*/30 * * * *", "when a light look is taken at what is due")
    adaptive: bool = setting(default=True, meaning="also capture a session soon after it ended or fell silent")
    silence: str = setting("10min", "how long a session is silent until it counts as ended")
    jitter: str = setting(
        "2min", "by how much a run may begin later than its time, so that machines do not all begin at once"
    )
    retries: int = setting(3, "how often a failed run is tried again, each time after a longer wait", most=100)
    on_demand: bool = setting(
        default=False, meaning="let a daemon that a hook, a plugin or a search started run the jobs too"
    )


@settings(frozen=True)
class ServeSettings:
    auto: bool = setting(default=False, meaning="let searches start the daemon when none runs")
    idle: str = setting("30min", "after how long without a question a daemon that was started on demand ends")
    watch_debounce_ms: int = setting(
        1500, "how long the daemon waits for more changes before it reads them", most=60_000
    )
    host: str = setting(
        "127.0.0.1", "address on which the daemon serves MCP over HTTP; another than loopback opens it to others"
    )
    port: int = setting(0, "port of MCP over HTTP; 0: none", most=65_535)
    max_memory_mb: int = setting(1500, "memory above which the daemon starts anew", least=64)


@settings(frozen=True)
class Config:
    timezone: str | None = setting(
        None, "the user's time zone, such as Asia/Shanghai; default the system's", shared=True
    )
    language: str = setting("auto", "language of messages", shared=True, choices=("auto", "en", "zh"))
    workspace: str | None = setting(None, "the workspace to use when none is named")
    agents: dict[str, str] = setting({}, "agents by name, each with the path of its workspace")
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
    history: HistorySettings = field(default_factory=HistorySettings)
    origins: Mapping[str, str] = field(default_factory=dict, metadata={"derived": True})
    problems: tuple[Problem, ...] = field(default=(), metadata={"derived": True})
