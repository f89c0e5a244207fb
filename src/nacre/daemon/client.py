"""The client of a workspace's daemon: JSON objects, each after four bytes with its length."""

from __future__ import annotations

import json
import time
from typing import Any, Self

from nacre import __version__, errors
from nacre.daemon import fast

PROTOCOL_VERSION = 1  # of the messages; another one is not spoken to
_ANSWER_WITHIN = 10.0  # seconds, then it is quicker to look oneself
_HELLO_WITHIN = 2.0
_HUNG_FOR = 60.0  # seconds in which a daemon that hung is not asked again by this process
hung: dict[str, float] = {}  # when one was last seen to hang, by workspace


class NoDaemon(Exception):
    """No daemon answers, or its answer could differ from ours: the caller does the work itself."""


class BadMessage(Exception):
    """Bytes that are no message of ours."""


def pack(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def unpack(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadMessage("not JSON") from error
    if not isinstance(message, dict):
        raise BadMessage("not an object")
    return message


class Connection:
    """A connection for one scope. `any_version` accepts a daemon of another version or other settings: to ask its status or stop it."""

    def __init__(
        self, root: str, scope: str = "main", *, within: float = _ANSWER_WITHIN, any_version: bool = False
    ) -> None:
        if not any_version and time.monotonic() - hung.get(root, -_HUNG_FOR) < _HUNG_FOR:
            raise NoDaemon("it did not respond a moment ago")
        self._root, self._within = root, within
        try:
            self._socket = fast.connect(root)
        except (OSError, AttributeError) as error:  # no such sockets on this system
            raise NoDaemon(str(error)) from error
        hello = {"kind": "hello", "protocol": PROTOCOL_VERSION, "version": __version__, "scope": scope}
        hello["environment"] = fast.environment()
        try:
            self.daemon = self._exchange(hello, within if any_version else min(within, _HELLO_WITHIN))
            if refused := self.daemon.get("error") or (None if any_version else self.daemon.get("skew")):
                raise NoDaemon(refused)  # the caller meets the same error by itself
        except BaseException:
            self._socket.close()
            raise

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """The answer; an error of the daemon's is raised here as it would have been there."""
        answer = self._exchange({"kind": kind, **fields}, self._within)
        if refused := answer.get("skew") or answer.get("error"):
            error = getattr(errors, str(answer.get("name")), NoDaemon)
            raise error(refused) if issubclass(error, errors.NacreError | NoDaemon) else NoDaemon(refused)
        return answer

    def _exchange(self, message: dict[str, Any], within: float) -> dict[str, Any]:
        try:
            return unpack(fast.exchange(self._socket, pack(message), within))
        except (OSError, ValueError, BadMessage) as error:
            if isinstance(error, TimeoutError):
                hung[self._root] = time.monotonic()
            raise NoDaemon(str(error)) from error

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def daemon_status(root: str, within: float = _ANSWER_WITHIN) -> dict[str, Any] | None:
    try:
        with Connection(root, within=within, any_version=True) as daemon:
            return {**daemon.ask("status"), "skew": daemon.daemon.get("skew")}
    except NoDaemon:
        return None
