"""Settings in layers: defaults < user file < workspace file (allow-listed keys only) < environment.

A workspace file may have come with a clone, so it can set only what is marked `shared`: nothing that redirects networks,
keys, commands or the limits of memory.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nacre.config.settings import Config
from nacre.errors import BadSetting
from nacre.i18n import say
from nacre.model.report import Problem, problem


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


def _collect(cls: type, prefix: str) -> Iterator[Setting]:
    for part in dataclasses.fields(cls):
        key, kind, about = prefix + part.name, _kinds(cls)[part.name], part.metadata
        if dataclasses.is_dataclass(kind):
            yield from _collect(typing.cast("type", kind), f"{key}.")
        elif not about.get("derived"):
            default = part.default_factory() if callable(part.default_factory) else part.default
            yield Setting(key, kind, default, **about)


def user_config_file(env: Mapping[str, str] | None = None) -> Path:
    env = os.environ if env is None else env
    if named := env.get("NACRE_CONFIG_FILE"):
        return Path(named).expanduser()
    return user_config_folder() / "config.toml"


def user_config_folder() -> Path:
    system: str = sys.platform
    if system == "linux":  # what platformdirs answers there, without the ten milliseconds of its import
        return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "nacre"
    import platformdirs

    return Path(platformdirs.user_config_dir("nacre", appauthor=False))


def read_toml(path: Path) -> dict[str, Any]:
    """The settings in a file; none when it does not exist."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadSetting(
            f"The settings in {path} cannot be read: {error.strerror}.", f"无法读取设置 {path}:{error.strerror}。"
        ) from error
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSetting(
            f"The settings in {path} are not valid TOML: {error}. Mend or remove the file.",
            f"设置 {path} 不是有效的 TOML:{error}。请修正或删除该文件。",
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
        for key, value in _flat(read_toml(path), settings):
            if key not in settings:
                english, chinese = f'"{key}" is not a setting of Nacre.', f"“{key}”不是 Nacre 的设置。"
                problems.append(problem("unknown setting", english, chinese, str(path), remedy="nacre config"))
            elif origin == "workspace" and not settings[key].shared:
                english = f'"{key}" is ignored in a workspace\'s own file; set it for the user.'
                chinese, remedy = (
                    f"工作区文件中的“{key}”被忽略；请在用户设置中设定。",
                    f"nacre config set --user {key} …",
                )
                problems.append(problem("setting not allowed here", english, chinese, str(path), remedy=remedy))
            else:
                values[key], origins[key] = checked(settings[key], value, origin), origin
    for key, setting in settings.items():
        if raw := env.get(setting.variable):
            values[key], origins[key] = checked(setting, _from_text(setting, raw), "environment"), "environment"
    config: Config = _build(Config, values, "", origins=origins, problems=tuple(problems))
    return config


def _flat(table: Mapping[str, Any], settings: Mapping[str, Setting], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and key not in settings:
            rows += _flat(value, settings, f"{key}.")
        else:
            rows.append((key, value))
    return rows


def _from_text(setting: Setting, raw: str) -> Any:
    """A value from the environment or the command line: TOML, or plain text where text is meant."""
    plain = _plain_kinds(setting.kind)
    if str in plain:
        return raw
    if bool in plain and raw.lower() in _YES_OR_NO:
        return _YES_OR_NO[raw.lower()]
    import tomllib

    try:
        return tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        pass
    try:
        return json.loads(raw)  # as "nacre config get" prints it
    except ValueError:
        return [raw] if list in plain else raw


_YES_OR_NO = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def parse_value(key: str, raw: str) -> Any:
    """The value of a setting as typed on the command line, checked."""
    setting = known_settings().get(key)
    if setting is None:
        raise BadSetting(
            f'"{key}" is not a setting; "nacre config" lists them.', f"“{key}”不是设置项；“nacre config”会列出全部。"
        )
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
        if isinstance(value, int | float):
            expected += f" >= {setting.least:g}" + ("" if setting.most is None else f" <= {setting.most:g}")
        place = "" if origin == "flag" else say(f" (from {origin})", f"（来自 {origin}）")
        raise BadSetting(
            f'"{setting.key}" cannot be {value!r}{place}; it wants {expected}.',
            f"“{setting.key}”不能是 {value!r}{place}；应为 {expected}。",
        )
    if setting.key == "timezone" and value:
        from nacre.clock import zone

        zone(value)
    # A setting is a length of time when its default is written as one.
    default = setting.default if isinstance(setting.default, str) else ""
    if value != default and default[:1].isdigit() and default.rstrip("smindhw").isdigit():
        from nacre.clock import duration

        try:
            duration(value)
        except BadSetting as error:
            raise BadSetting(f'"{setting.key}": {error}', f"“{setting.key}”：{error}") from error
    return value


def _fits(setting: Setting, kinds: tuple[Any, ...], value: Any) -> bool:
    """Whether a value is of the right kind, one of the choices and within the bounds, and so is what a list or table holds."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        return False
    if setting.choices and value not in setting.choices:
        return False
    items = [value]
    if isinstance(value, list):
        (item,) = typing.get_args(setting.kind)
        kind = typing.get_origin(item) or item
        if any(type(inner) is not kind for inner in value) or (kind is int and len(value) != len(setting.default)):
            return False
        items = value
    for inner in items:
        texts = list(inner.values()) if isinstance(inner, dict) else [inner] if isinstance(inner, str) else []
        if any(not isinstance(text, str) or "\0" in text for text in texts):
            return False
        is_number = isinstance(inner, int | float) and not isinstance(inner, bool)
        if is_number and not setting.least <= inner <= (setting.most or sys.maxsize):
            return False
    return True


def _kind_in_words(kind: Any, default: Any) -> str:
    if kind is list:
        example = json.dumps(default or ["~/notes"])
        return say(f"a list, such as {example}", f"列表，例如 {example}")
    names = {int: ("a whole number", "整数"), float: ("a number", "数字"), str: ("text", "文字")}
    return say(*names[kind]) if kind in names else "true | false" if kind is bool else str(kind.__name__)


def _build(cls: type, values: Mapping[str, Any], prefix: str, **more: Any) -> Any:
    for part in dataclasses.fields(cls):
        kind, key = _kinds(cls)[part.name], prefix + part.name
        if dataclasses.is_dataclass(kind):
            more[part.name] = _build(typing.cast("type", kind), values, f"{key}.")
        elif key in values:
            more[part.name] = values[key]
    return cls(**more)
