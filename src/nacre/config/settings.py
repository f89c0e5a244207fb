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


def setting(default: Any, meaning: str, choices: tuple[str, ...] = (), **about: Any) -> Any:
    """A setting with its meaning and, where it is one of a few words or a number, its choices or bounds (`least`, `most`)."""
    about = {"shared": False, "least": 0, "most": None, "meaning": meaning, "choices": choices} | about
    if isinstance(default, list | dict):
        return field(default_factory=lambda: type(default)(default), metadata=about)
    return field(default=default, metadata=about)


shared = partial(setting, shared=True)  # one that may also come from the workspace's own file


@settings
class MemorySettings:
    max_lines: int = setting(80, "most lines of a MEMORY.md")
    max_bytes: int = setting(5120, "most bytes of a MEMORY.md")


@settings
class TierSettings:
    auto: bool = setting(True, "put a captured session away as a checkpoint once it is over")
    path: str | None = setting(None, "where the checkpoint layers lie; default memory_fs in the workspace")
    hot: str = shared("3h", "how long a checkpoint stays in hot after it was made or last recalled")
    warm: str = shared("7d", "at what age a checkpoint gets a summary in gist; until then it is warm")
    gist: str = shared("30d", "the oldest that a summary in gist becomes before it is forgotten")
    forget_after: str = shared("14d", "how long without a recall until a checkpoint is forgotten")
    delete_after: str = shared("30d", "how long a forgotten checkpoint lies until it is deleted")


@settings
class PromoteSettings:
    week: int = shared(3, "recalls within 7 days that nominate a checkpoint for promotion", least=1)
    fortnight: int = shared(5, "recalls within 14 days that nominate it", least=1)
    total: int = shared(8, "recalls in all that nominate it", least=1)


@settings
class StateSettings:
    max_entries: int = shared(20, "most lines of each section of SESSION-STATE.md", least=1, most=200)
    max_chars: int = shared(500, "most characters of one line of SESSION-STATE.md", least=40, most=5000)


@settings
class CacheSettings:
    path: str | None = setting(
        None, "where a session's cache lies, in a folder of its own; default the user's runtime or temp folder"
    )
    max_age: str = setting("24h", "how long what a session cached is kept")


@settings
class ContextSettings:
    enabled: bool = setting(True, "give new sessions what they should know")
    budget: int = shared(6000, "most tokens that a new session is given", least=50, most=200_000)


@settings
class FlushSettings:
    enabled: bool = setting(True, "ask the agent to write down what lasts before its context is compacted")
    soft_threshold_tokens: int = shared(4000, "how many tokens before the reserve the flush begins")
    reserve_tokens: int = shared(20_000, "tokens of the context window that are kept free for compaction")
    prompt: str | None = setting(None, "the user prompt of the flush, instead of ours; the safety rules are added")
    system_prompt: str | None = setting(
        None, "the system prompt of the flush, instead of ours; the safety rules are added"
    )


@settings
class HookSettings:
    enabled: bool = setting(True, "answer the hooks of agents; off, they say and do nothing")
    session_start: bool = setting(True, "give a session its context when it begins or was compacted")
    session_tokens: int = setting(
        2400, "most tokens of that; above 10,000 characters agents show only the beginning", least=50, most=200_000
    )
    prompt: bool = setting(True, "add what memory knows about a prompt")
    prompt_tokens: int = setting(600, "most tokens of that", least=50, most=20_000)
    prompt_score: float = setting(
        0.4, "lowest score of what is added to a prompt; nobody asked for it, so a search may show more", most=1
    )
    capture: bool = setting(True, "queue a session for capture after each turn, before a compaction and at its end")
    start_daemon: bool = setting(True, "let a hook that finds no daemon start one for the next time")
    timeout_ms: int = setting(1500, "after how long a hook gives up and says nothing", least=50, most=60_000)


@settings
class DecaySettings:
    max_lines: int = shared(200, "lines of MEMORY.md from which nacre decay sets in", least=1)
    max_files: int = shared(50, "daily logs from which nacre decay sets in", least=1)
    keep_days: int = shared(90, "how many days daily logs stay before nacre decay archives them", least=1)


@settings
class SyncSettings:
    lookback: str = setting(
        "4h", "how long a lone remark waits for the session to go on, and how far back a run looks at least"
    )
    times: list[str] = setting(["10:00", "14:00", "18:00", "22:00"], "when what was said is captured each day")
    first: str = setting("30d", "how far back the first run looks, when --since does not say")
    min_user_messages: int = shared(2, "how often the user must have spoken for a session to count", least=1)
    min_bullets: int = shared(3, "fewest lines for a session, where there is enough to say", least=1, most=10)
    max_bullets: int = shared(10, "most lines for a session", least=1, most=50)


@settings
class TidySettings:
    time: str = setting("03:00", "when the nightly tidying begins")
    retention: str = shared(
        "weekly",
        "what becomes of old daily logs: pressed into weeks, or kept and archived by nacre decay",
        choices=("weekly", "decay"),
    )
    daily_days: int = shared(7, "how many days a daily log stays as it is before it is pressed into its week", least=1)


@settings
class ArchiveSettings:
    layout: str = shared(
        "year", "how pressed logs are filed: archive/2026/ or archive/2026-02/", choices=("year", "month")
    )
    compress: bool = shared(False, "whether nacre decay compresses the logs it archives")
    backups: list[int] = setting(
        [7, 5, 12], "of how many days, weeks and months the last backup of each MEMORY.md is kept"
    )


@settings
class SourceSettings:
    enabled: bool = setting(True, "whether this agent's sessions are captured")
    path: str | None = setting(None, "where this agent keeps its transcripts; default its usual place")
    exclude: list[str] = setting([], "projects, folders or chats to leave out; * and ? stand for any letters")


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
        [], "folders or files to search besides the workspace: ['~/notes'] or [{path, pattern}]"
    )
    chunk_tokens: int = shared(400, "about how long a passage is, in tokens", least=50)
    chunk_overlap: int = shared(80, "how many tokens neighbouring passages share")
    sessions: bool = setting(False, "index the redacted transcripts too, as corpus sessions of search")


@settings
class SearchSettings:
    max_results: int = shared(10, "how many results a search returns", least=1, most=1000)
    min_score: float | None = shared(None, "lowest score shown; unset: also weak hits, marked as such")
    decay: str = shared("tie", "what age does to a score", choices=("tie", "multiply", "off"))
    half_life_days: float = shared(30.0, "after how many days the weight of age has halved", least=0.01)
    mmr_lambda: float = shared(0.7, "relevance (1) against variety (0) of the results", most=1)
    vector_weight: float | None = shared(None, "weight of meaning; unset: learned")
    text_weight: float | None = shared(None, "weight of words; unset: learned")
    snippet_chars: int = shared(700, "most characters of a snippet")


@settings
class EmbedSettings:
    provider: str = setting(
        "auto",
        "who makes the vectors",
        choices=("auto", "local", "openai", "gemini", "voyage", "mistral", "ollama", "none"),
    )
    model: str | None = setting(None, "model name for a provider over HTTP")
    base_url: str | None = setting(None, "address of an OpenAI-compatible server")
    key_file: str | None = setting(None, "file that holds the provider's key, when it is not in the environment")
    fallback: list[str] = setting(
        [],
        "who makes them while the provider cannot, in this order",
        choices=("local", "openai", "gemini", "voyage", "mistral", "ollama"),
    )
    batch: int = setting(64, "texts sent or computed together", least=1)
    batch_api: bool = setting(
        False, "leave a thousand texts and more to the batch service of openai, gemini or voyage: cheaper, hours later"
    )


@settings
class BrainCommandSettings:
    preset: str | None = setting(
        None,
        "the agent whose program answers orders",
        choices=("claude-code", "codex", "gemini", "opencode", "openclaw"),
    )
    argv: list[str] = setting([], "a program of your own that takes an order on stdin and prints the answer")
    timeout: str = setting("3min", "how long it may take")


@settings
class BrainApiSettings:
    kind: str = setting("openai", "how the service is spoken to", choices=("openai", "anthropic"))
    base_url: str | None = setting(None, "its address, such as http://localhost:11434/v1; default the vendor's own")
    model: str | None = setting(None, "the model to ask")
    key_env: str | None = setting(
        None, "the environment variable that holds its key; at the vendor's own address by default the vendor's own"
    )


BRAINS = ("local", "hybrid", "command", "api", "turn")


@settings
class BrainSettings:
    extract: str = setting(
        "local",
        "who writes the lines of a log: this machine, your own model, your model for long sessions only, or your agent in a turn of its own",
        choices=BRAINS,
    )
    digest: str = setting("local", "who presses old days into the weekly digest", choices=BRAINS)
    distil: str = setting(
        "local", "who decides what of the logs enters MEMORY.md, and what it replaces", choices=BRAINS
    )
    summarise: str = setting("local", "who writes the summaries of checkpoints", choices=BRAINS)
    private: list[str] = setting(
        [], "projects, folders, chats and agents that no model may see; * and ? stand for any letters"
    )
    calls_per_day: int = setting(40, "most orders that are sent in a day")
    tokens_per_day: int = setting(300_000, "most tokens that orders and answers may cost in a day")
    turn_wait: str = setting("12h", "how long an order waits for your agent until this machine does the work")
    offered: bool = setting(False, "whether you were asked if an agent of yours may write your memory")
    command: BrainCommandSettings = field(default_factory=BrainCommandSettings)
    api: BrainApiSettings = field(default_factory=BrainApiSettings)

    @property
    def by_turn(self) -> bool:
        """Whether any kind of work waits for the user's agent."""
        return "turn" in vars(self).values()


@settings
class HistorySettings:
    enabled: bool = setting(True, "keep preimages, so that every change can be undone")


@settings
class JobsSettings:
    sync: str | None = setting(None, "when what was said is captured, as a cron expression; unset: at sync.times")
    tidy: str | None = setting(None, "when the night's tidying runs, as a cron expression; unset: at tidy.time")
    organise: str = setting("7 * * * *", "when the layers are put in order")
    heartbeat: str = setting("*/30 * * * *", "when a light look is taken at what is due")
    adaptive: bool = setting(True, "also capture a session soon after it ended or fell silent")
    silence: str = setting("10min", "how long a session is silent until it counts as ended")
    retries: int = setting(3, "how often a failed run is tried again, each time after a longer wait", most=100)
    on_demand: bool = setting(False, "let a daemon that a hook, a plugin or a search started run the jobs too")


@settings
class ServeSettings:
    auto: bool = setting(False, "let searches start the daemon when none runs")
    idle: str = setting("30min", "after how long without a question a daemon that was started on demand ends")
    watch_debounce_ms: int = setting(
        1500, "how long the daemon waits for more changes before it reads them", most=60_000
    )
    host: str = setting(
        "127.0.0.1", "address on which the daemon serves MCP over HTTP; another than loopback opens it to others"
    )
    port: int = setting(0, "port of MCP over HTTP; 0: none", most=65_535)
    max_memory_mb: int = setting(1500, "memory above which the daemon starts anew", least=64)


@settings
class Config:
    timezone: str | None = shared(None, "the user's time zone, such as Asia/Shanghai; default the system's")
    language: str = shared("auto", "language of messages", choices=("auto", "en", "zh"))
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
    meaning: str
    shared: bool
    choices: tuple[str, ...]
    least: float
    most: float | None

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
            f"The settings in {path} cannot be read as TOML: {reason}. Mend or remove the file.",
            f"无法将设置 {path} 作为 TOML 读取：{reason}。请修正或删除该文件。",
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
                english, chinese = f'"{key}" is not a setting of Nacre.', f"“{key}”不是 Nacre 的设置。"
                problems.append(problem("unknown setting", english, chinese, str(path), remedy="nacre config"))
            elif origin == "workspace" and not settings[key].shared:
                english = f'"{key}" is ignored in a workspace\'s own file; set it for the user.'
                chinese = f"工作区文件中的“{key}”被忽略；请在用户设置中设定。"
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
            f'"{key}" is not a setting; "nacre config" lists them.', f"“{key}”不是设置项；“nacre config”会列出全部。"
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
        if isinstance(value, int | float):
            expected += f" >= {setting.least:g}" + ("" if setting.most is None else f" <= {setting.most:g}")
        place = "" if origin == "flag" else say(f" (from {origin})", f"（来自 {origin}）")
        raise BadSetting(
            f'"{setting.key}" cannot be {value!r}{place}; it wants {expected}.',
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
        str: say("text", "文字"),
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
