"""Every setting with its default, and what is in force: defaults < user file < workspace file < environment.

Their meanings, choices and bounds are in settings.tsv. A workspace file may have come with a clone, so it can set only what is marked
`shared` there: nothing that redirects networks, keys, commands or the limits of memory.
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
from functools import cache, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nacre.errors import BadSetting
from nacre.i18n import say
from nacre.model import Problem, problem

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
        self.__dict__[name] = values.get(name, default)


def _refuse(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


@settings
class MemorySettings:
    max_lines: int = 80
    max_bytes: int = 5120


@settings
class TierSettings:
    auto: bool = True
    path: str | None = None
    hot: str = "3h"
    warm: str = "7d"
    gist: str = "30d"
    forget_after: str = "14d"
    delete_after: str = "30d"


@settings
class PromoteSettings:
    week: int = 3
    fortnight: int = 5
    total: int = 8


@settings
class StateSettings:
    max_entries: int = 20
    max_chars: int = 500


@settings
class CacheSettings:
    path: str | None = None
    max_age: str = "24h"


@settings
class ContextSettings:
    enabled: bool = True
    budget: int = 6000


@settings
class FlushSettings:
    enabled: bool = True
    soft_threshold_tokens: int = 4000
    reserve_tokens: int = 20_000
    prompt: str | None = None
    system_prompt: str | None = None


@settings
class HookSettings:
    enabled: bool = True
    session_start: bool = True
    session_tokens: int = 2400
    prompt: bool = True
    prompt_tokens: int = 600
    prompt_score: float = 0.4
    capture: bool = True
    start_daemon: bool = True
    timeout_ms: int = 1500


@settings
class DecaySettings:
    max_lines: int = 200
    max_files: int = 50
    keep_days: int = 90


@settings
class SyncSettings:
    lookback: str = "4h"
    times: list[str] = field(default_factory=lambda: ["10:00", "14:00", "18:00", "22:00"])
    first: str = "30d"
    min_user_messages: int = 2
    min_bullets: int = 3
    max_bullets: int = 10


@settings
class TidySettings:
    time: str = "03:00"
    retention: str = "weekly"
    daily_days: int = 7


@settings
class ArchiveSettings:
    layout: str = "year"
    compress: bool = False
    backups: list[int] = field(default_factory=lambda: [7, 5, 12])


@settings
class SourceSettings:
    enabled: bool = True
    path: str | None = None
    exclude: list[str] = field(default_factory=list)


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
    extra_paths: list[dict[str, str]] = field(default_factory=list)
    chunk_tokens: int = 400
    chunk_overlap: int = 80
    sessions: bool = False


@settings
class SearchSettings:
    max_results: int = 10
    min_score: float | None = None
    decay: str = "tie"
    half_life_days: float = 30.0
    mmr_lambda: float = 0.7
    vector_weight: float | None = None
    text_weight: float | None = None
    snippet_chars: int = 700


@settings
class EmbedSettings:
    provider: str = "auto"
    model: str | None = None
    base_url: str | None = None
    key_file: str | None = None
    fallback: list[str] = field(default_factory=list)
    batch: int = 64


@settings
class BrainCommandSettings:
    preset: str | None = None
    argv: list[str] = field(default_factory=list)
    timeout: str = "3min"


@settings
class BrainApiSettings:
    kind: str = "openai"
    base_url: str | None = None
    model: str | None = None
    key_env: str | None = None


@settings
class BrainSettings:
    extract: str = "local"
    digest: str = "local"
    distil: str = "local"
    summarise: str = "local"
    private: list[str] = field(default_factory=list)
    calls_per_day: int = 40
    tokens_per_day: int = 300_000
    turn_wait: str = "12h"
    offered: bool = False
    command: BrainCommandSettings = field(default_factory=BrainCommandSettings)
    api: BrainApiSettings = field(default_factory=BrainApiSettings)

    @property
    def by_turn(self) -> bool:
        """Whether any kind of work waits for the user's agent."""
        return "turn" in vars(self).values()


@settings
class HistorySettings:
    enabled: bool = True


@settings
class JobsSettings:
    sync: str | None = None
    tidy: str | None = None
    organise: str = "7 * * * *"
    heartbeat: str = "*/30 * * * *"
    adaptive: bool = True
    silence: str = "10min"
    retries: int = 3
    notify: bool = True
    on_demand: bool = False


@settings
class ServeSettings:
    auto: bool = False
    idle: str = "30min"
    watch_debounce_ms: int = 1500
    host: str = "127.0.0.1"
    port: int = 0
    max_memory_mb: int = 1500


@settings
class Config:
    timezone: str | None = None
    language: str = "auto"
    workspace: str | None = None
    agents: dict[str, str] = field(default_factory=dict)
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
def known_settings() -> Mapping[str, Setting]:
    """Every setting by its dotted key."""
    with open(os.path.join(os.path.dirname(__file__), "settings.tsv"), encoding="utf-8") as file:
        rows = {key: about for key, *about in (line.rstrip("\n").split("\t") for line in file)}
    return {setting.key: setting for setting in _collect(Config, "", rows)}


def _collect(cls: Any, prefix: str, rows: Mapping[str, list[str]]) -> Iterator[Setting]:
    kinds = typing.get_type_hints(cls)
    for part in dataclasses.fields(cls):
        key, kind = prefix + part.name, kinds[part.name]
        if dataclasses.is_dataclass(kind):
            yield from _collect(kind, f"{key}.", rows)
        elif key not in ("origins", "problems"):
            default = part.default_factory() if callable(part.default_factory) else part.default
            shared, values, english, chinese = rows.get(key) or rows[f"sources.*.{part.name}"]
            least, is_range, most = values.partition("..")
            bounds = (float(least or 0), float(most) if most else None) if is_range else (0.0, None)
            choices = () if is_range or not values else tuple(values.split("|"))
            yield Setting(key, kind, default, english, chinese, shared == "shared", choices, *bounds)


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
                ignored = problem(
                    "setting not allowed here",
                    f'"{key}" is ignored in the workspace\'s settings; set it in your user settings.',
                    f"工作区设置中的“{key}”已被忽略；请改在用户设置中设定。",
                    str(path),
                    remedy=f"nacre config set --user {key} …",
                )
                problems.append(ignored)
            else:
                values[key], origins[key] = checked(settings[key], value, origin), origin
    for key, setting in settings.items():
        if raw := env.get(setting.variable):
            values[key], origins[key] = checked(setting, _from_text(setting, raw), "environment"), "environment"
    config = Config(origins=origins, problems=tuple(problems))
    for key, value in values.items():
        *sections, name = key.split(".")
        vars(reduce(getattr, sections, config))[name] = value
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
        space = " " if expected[0].isascii() else ""
        raise BadSetting(
            f'"{setting.key}" cannot be {value!r}{place}; it must be {expected}.',
            f"“{setting.key}”不能是 {value!r}{place}；应为{space}{expected}。",
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
        if isinstance(inner, int | float) and not setting.least <= inner <= (setting.most or sys.maxsize):
            return False
    return True


def _kind_in_words(kind: Any, default: Any) -> str:
    example = json.dumps(default or ["~/notes"])
    return {
        int: say("a whole number", "整数"),
        float: say("a number", "数字"),
        str: say("text", "文本"),
        bool: "true | false",
        list: say(f"a list, such as {example}", f"列表，例如 {example}"),
    }.get(kind, str(kind.__name__))


# One key of a settings file is set, and every other byte left as it was, comments too.


def changed(path: Path, key: str, value: Any) -> str:
    """The text of the file with the key set; None takes it out."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from nacre import disk

    *tables, name = key.split(".")
    try:
        text = (disk.read_bytes(path) or b"").decode("utf-8")
        document = tomlkit.parse(text)
        place: Any = document
        for table in tables:
            if table not in place:
                if value is None:
                    return text
                place[table] = tomlkit.table()
            place = place[table]
        if value is None:
            place.pop(name, None)
        else:
            place[name] = _item(value)
        after = tomlkit.dumps(document)
    except (TOMLKitError, UnicodeDecodeError, RecursionError, TypeError, AttributeError) as error:
        raise BadSetting(
            f"{path} could not be changed safely ({error}); edit it by hand.",
            f"无法安全修改 {path}（{error}）；请手动编辑。",
        ) from error
    return after.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else after


def _item(value: Any) -> Any:
    """Lists and tables are written on one line."""
    import tomlkit

    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        array.extend(_item(inner) for inner in value)
        return array
    return value


def set_key(path: Path, key: str, value: Any) -> None:
    from nacre import disk

    with disk.hold(path.with_name("config.lock")):
        disk.write(path, changed(path, key, value).encode())
