"""Settings in layers: defaults < user file < workspace file (allow-listed keys only) < environment < flags.

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
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nacre.config.settings import Config
from nacre.errors import BadSetting
from nacre.i18n import say
from nacre.model.report import Problem


class Known(typing.NamedTuple):
    """One setting as `nacre config` lists it."""

    key: str
    kind: Any
    default: Any
    meaning: str
    shared: bool
    choices: tuple[str, ...]
    least: float = 0
    most: float | None = None

    @property
    def variable(self) -> str:
        return "NACRE_" + self.key.upper().replace(".", "_")


@cache
def _kinds(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@cache
def known_settings() -> Mapping[str, Known]:
    """Every setting by its dotted key."""
    found: dict[str, Known] = {}

    def collect(cls: type, prefix: str) -> None:
        kinds = _kinds(cls)
        for part in dataclasses.fields(cls):
            kind = kinds[part.name]
            if part.metadata.get("derived"):
                continue
            if dataclasses.is_dataclass(kind):
                collect(typing.cast("type", kind), f"{prefix}{part.name}.")
                continue
            default = part.default_factory() if callable(part.default_factory) else part.default
            found[prefix + part.name] = Known(
                prefix + part.name,
                kind,
                default,
                part.metadata["meaning"],
                part.metadata["shared"],
                part.metadata["choices"],
                part.metadata["least"],
                part.metadata["most"],
            )

    collect(Config, "")
    return found


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
    except OSError as trouble:
        raise BadSetting(
            f"The settings in {path} cannot be read: {trouble.strerror}.", f"无法读取设置 {path}:{trouble.strerror}。"
        ) from trouble
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as trouble:
        raise BadSetting(
            f"The settings in {path} are not valid TOML: {trouble}. Mend or remove the file.",
            f"设置 {path} 不是有效的 TOML:{trouble}。请修正或删除该文件。",
        ) from trouble


def load(
    workspace: Path | None = None, *, env: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Config:
    """The settings in force, with the origin of each."""
    env = os.environ if env is None else env
    known = known_settings()
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    problems: list[Problem] = []

    def take(key: str, value: Any, origin: str) -> None:
        values[key] = checked(known[key], value, origin)
        origins[key] = origin

    user_file = user_config_file(env)
    layers = [(user_file, False)] + ([(workspace / ".nacre" / "config.toml", True)] if workspace else [])
    for path, from_workspace in layers:
        for key, value in _flat(read_toml(path), known):
            if key not in known:
                problems.append(
                    Problem(
                        "unknown setting",
                        say(f'"{key}" is not a setting of Nacre.', f"“{key}”不是 Nacre 的设置。"),
                        str(path),
                        remedy="nacre config",
                    )
                )
            elif from_workspace and not known[key].shared:
                problems.append(
                    Problem(
                        "setting not allowed here",
                        say(
                            f'"{key}" is ignored in a workspace\'s own file; set it for the user.',
                            f"工作区文件中的“{key}”被忽略；请在用户设置中设定。",
                        ),
                        str(path),
                        remedy=f"nacre config set --user {key} …",
                    )
                )
            else:
                take(key, value, "workspace" if from_workspace else "user")
    for key, known_one in known.items():
        if raw := env.get(known_one.variable):
            take(key, _from_text(known_one, raw), "environment")
    for key, value in (flags or {}).items():
        if value is not None:
            take(key, value, "flag")
    made: Config = _build(Config, values, "", origins=origins, problems=tuple(problems))
    return made


def _flat(table: Mapping[str, Any], known: Mapping[str, Known], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and key not in known:
            rows += _flat(value, known, f"{key}.")
        else:
            rows.append((key, value))
    return rows


def _from_text(known: Known, raw: str) -> Any:
    """A value from the environment or the command line: TOML, or plain text where text is meant."""
    plain = _plain_kinds(known.kind)
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
    known = known_settings().get(key)
    if known is None:
        raise BadSetting(
            f'"{key}" is not a setting; "nacre config" lists them.', f"“{key}”不是设置项；“nacre config”会列出全部。"
        )
    return checked(known, _from_text(known, raw), "flag")


def _plain_kinds(kind: Any) -> tuple[Any, ...]:
    if isinstance(kind, types.UnionType):
        return tuple(part for part in typing.get_args(kind) if part is not type(None))
    return (typing.get_origin(kind) or kind,)


def checked(known: Known, value: Any, origin: str) -> Any:
    """The value if it is of the right kind, else an error that names the setting and where it came from."""
    kinds = _plain_kinds(known.kind)
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if known.key == "index.extra_paths" and isinstance(value, list):
        value = [{"path": one} if isinstance(one, str) else one for one in value]
    right = isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)
    right = right and _plain_inside(value) and _right_items(known, value)
    if not right or (known.choices and value not in known.choices) or not _in_bounds(known, value):
        wanted = " | ".join(known.choices) or " | ".join(_kind_in_words(kind, known.default) for kind in kinds)
        wanted += f" >= {known.least:g}" if isinstance(value, int | float) else ""
        wanted += f" <= {known.most:g}" if isinstance(value, int | float) and known.most is not None else ""
        place = "" if origin == "flag" else say(f" (from {origin})", f"（来自 {origin}）")
        raise BadSetting(
            f'"{known.key}" cannot be {value!r}{place}; it wants {wanted}.',
            f"“{known.key}”不能是 {value!r}{place}；应为 {wanted}。",
        )
    if known.key == "timezone" and value:
        from nacre.clock import zone

        zone(value)
    if isinstance(value, str) and value != known.default and _is_length(known.default):
        _must_be_length(known.key, value)
    return value


def _is_length(default: Any) -> bool:
    """Whether a setting is a length of time: its default is written as one."""
    return isinstance(default, str) and default[:1].isdigit() and default.rstrip("smindhw").isdigit()


def _must_be_length(key: str, value: str) -> None:
    from nacre.clock import duration

    try:
        duration(value)
    except BadSetting as trouble:
        raise BadSetting(f'"{key}": {trouble}', f"“{key}”：{trouble}") from trouble


def _kind_in_words(kind: Any, default: Any) -> str:
    if kind is list:
        example = json.dumps(default or ["~/notes"])
        return say(f"a list, such as {example}", f"列表，例如 {example}")
    names: dict[Any, str] = {
        int: say("a whole number", "整数"),
        float: say("a number", "数字"),
        bool: "true | false",
        str: say("text", "文字"),
    }
    return names.get(kind) or str(kind.__name__)


def _plain_inside(value: Any) -> bool:
    """Whether a list holds texts, whole numbers or tables of text, and a table text: what ours are made of."""
    if isinstance(value, list):
        return all(type(one) in (str, int, dict) and _plain_inside(one) for one in value)
    if isinstance(value, dict):
        return all(isinstance(one, str) and "\0" not in one for one in value.values())
    return not isinstance(value, str) or "\0" not in value


def _right_items(known: Known, value: Any) -> bool:
    """Whether what a list holds is of the kind that it is to hold; numbers as many as there are by default."""
    if not isinstance(value, list):
        return True
    (item,) = typing.get_args(known.kind)
    if item is int and len(value) != len(known.default):
        return False
    return all(isinstance(one, typing.get_origin(item) or item) and _in_bounds(known, one) for one in value)


def _in_bounds(known: Known, value: Any) -> bool:
    return (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or known.least <= value <= (known.most or sys.maxsize)
    )


def _build(cls: type, values: Mapping[str, Any], prefix: str, **more: Any) -> Any:
    kinds = _kinds(cls)
    given: dict[str, Any] = dict(more)
    for part in dataclasses.fields(cls):
        kind = kinds[part.name]
        if dataclasses.is_dataclass(kind):
            given[part.name] = _build(typing.cast("type", kind), values, f"{prefix}{part.name}.")
        elif prefix + part.name in values:
            given[part.name] = values[prefix + part.name]
    return cls(**given)
