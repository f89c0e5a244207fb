"""Arguments that came from a model, checked against the tool's own schema: a wrong one is named, with what would be right."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nacre.errors import BadInput
from nacre.tools.schemas import Schema, Tool
from nacre.words import say

_KINDS = {
    "string": ("text", "文本"),
    "integer": ("a whole number", "整数"),
    "number": ("a number", "数字"),
    "boolean": ("true or false", "true 或 false"),
}


def checked(tool: Tool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, each of its kind and within its bounds. What is null was not given."""
    known: dict[str, Schema] = tool.takes["properties"]
    for name in given:
        if name not in known:
            names = ", ".join(known) or "-"
            raise BadInput(
                say(
                    f'{tool.name} takes no "{str(name)[:40]}"; it takes {names}.',
                    f"{tool.name} 没有“{str(name)[:40]}”这个参数；可用：{names}。",
                )
            )
    found = {name: value for name, value in given.items() if value is not None}
    for name in tool.takes.get("required", ()):
        if name not in found:
            raise BadInput(say(f'{tool.name} needs "{name}".', f"{tool.name} 需要参数“{name}”。"))
    return {name: _value(tool.name, name, value, known[name]) for name, value in found.items()}


def _value(tool: str, name: str, value: Any, schema: Schema) -> Any:
    kind = schema["type"]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON has one kind of number, and some clients write 3.0
    if not _is(kind, value):
        english, chinese = _KINDS[kind]
        raise BadInput(say(f'"{name}" of {tool} must be {english}.', f"{tool} 的“{name}”必须是{chinese}。"))
    if among := schema.get("enum"):
        if value not in among:
            raise BadInput(
                say(
                    f'"{name}" of {tool} is one of {", ".join(among)}, not "{value[:40]}".',
                    f"{tool} 的“{name}”可为 {'、'.join(among)}，不能是“{value[:40]}”。",
                )
            )
    elif kind == "string":
        _length(tool, name, value, schema)
    elif kind != "boolean":
        _bounds(tool, name, value, schema)
    return value


def _is(kind: str, value: Any) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return isinstance(value, int) if kind == "integer" else isinstance(value, int | float) and math.isfinite(value)


def _length(tool: str, name: str, value: str, schema: Schema) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as trouble:
        raise BadInput(
            say(f'"{name}" of {tool} is not valid Unicode text.', f"{tool} 的“{name}”不是有效的 Unicode 文本。")
        ) from trouble
    if not value.strip():
        raise BadInput(say(f'"{name}" of {tool} is empty.', f"{tool} 的“{name}”为空。"))
    if len(value) > schema["maxLength"]:
        raise BadInput(
            say(
                f'"{name}" of {tool} has {len(value)} characters; at most {schema["maxLength"]} are taken.',
                f"{tool} 的“{name}”有 {len(value)} 个字符；最多 {schema['maxLength']} 个。",
            )
        )


def _bounds(tool: str, name: str, value: float, schema: Schema) -> None:
    least, most = schema["minimum"], schema["maximum"]
    if not least <= value <= most:
        raise BadInput(
            say(
                f'"{name}" of {tool} lies between {least} and {most}; {value} does not.',
                f"{tool} 的“{name}”须在 {least} 到 {most} 之间，{value} 不在其中。",
            )
        )
