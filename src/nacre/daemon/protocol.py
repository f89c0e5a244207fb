"""How client and daemon speak: four bytes of length, then one JSON object; every question gets one answer, in turn."""

from __future__ import annotations

from nacre.daemon import quick

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    from typing import Any

VERSION = 1  # of the messages; another one is not spoken to
MOST_IN = 1_000_000  # bytes of a question
MOST_OUT = 16_000_000  # bytes of an answer
HEADER = 4


class BadMessage(Exception):
    """Bytes that are no message of ours."""


def packed(message: dict[str, Any]) -> bytes:
    """A message as it goes over the socket."""
    body = quick.dumps(message).encode("ascii")
    return len(body).to_bytes(HEADER, "big") + body


def length(header: bytes, most: int) -> int:
    """How many bytes follow; an error when nobody may send as many."""
    size = int.from_bytes(header[:HEADER], "big")
    if size > most:
        message = f"{size} bytes are more than {most}"
        raise BadMessage(message)
    return size


def unpacked(body: bytes) -> dict[str, Any]:
    """The message of a body."""
    try:
        message = quick.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as trouble:
        raise BadMessage("not JSON") from trouble
    if not isinstance(message, dict):
        raise BadMessage("not an object")
    return message
