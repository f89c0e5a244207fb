"""JSON for a client in a hurry: the C parts of the `json` module without the module, whose import takes ten milliseconds."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    from typing import Any


def dumps(value: Any) -> str:
    """A value as JSON: texts, numbers, lists and tables, which is all that a question is made of."""
    try:
        from _json import encode_basestring_ascii as text
    except ImportError:  # another Python than CPython
        import json

        return json.dumps(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(dumps, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{text(name)}:{dumps(one)}" for name, one in value.items()) + "}"
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(type(value).__name__)


def loads(text: str) -> Any:
    """The value of a text that is JSON and nothing else; `ValueError` when it is not."""
    try:
        from _json import make_scanner

        value, end = make_scanner(_Rules())(text, 0)  # type: ignore[arg-type]  # any object with these names
    except StopIteration as nothing:
        raise ValueError("not JSON") from nothing
    except (
        ImportError,
        AttributeError,
        TypeError,
        SystemError,
    ):  # its inside is not promised to stay, nor to say what is wrong
        import json

        return json.loads(text)
    if end != len(text):
        raise ValueError("more than JSON")
    return value


class _Rules:
    """What the scanner asks of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
