"""The client of a workspace's daemon and the messages between them, with little of the standard library: hooks pay for each import."""

from __future__ import annotations

import os
import sys
import time

from nacre import __version__

TYPE_CHECKING = False  # as in typing, without its cost

if TYPE_CHECKING:
    import _socket
    from typing import Any, Self


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

        value, end = make_scanner(_DecoderRules())(text, 0)  # type: ignore[arg-type]  # any object with these names
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


class _DecoderRules:
    """What the scanner asks of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


# How client and daemon speak: four bytes of length, then one JSON object; every question gets one answer, in turn.

PROTOCOL_VERSION = 1  # of the messages; another one is not spoken to
LARGEST_REQUEST = 1_000_000  # bytes of a question
LARGEST_ANSWER = 16_000_000  # bytes of an answer
HEADER = 4


class BadMessage(Exception):
    """Bytes that are no message of ours."""


def pack(message: dict[str, Any]) -> bytes:
    """A message as it goes over the socket."""
    body = dumps(message).encode("ascii")
    return len(body).to_bytes(HEADER, "big") + body


def body_length(header: bytes, most: int) -> int:
    """How many bytes follow; an error when nobody may send as many."""
    size = int.from_bytes(header[:HEADER], "big")
    if size > most:
        message = f"{size} bytes are more than {most}"
        raise BadMessage(message)
    return size


def unpack(body: bytes) -> dict[str, Any]:
    """The message of a body."""
    try:
        message = loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as trouble:
        raise BadMessage("not JSON") from trouble
    if not isinstance(message, dict):
        raise BadMessage("not an object")
    return message


# Ask the daemon of a workspace, with nothing but the standard library: a hook must not pay for what it does not use.

LONGEST_SOCKET_PATH = 100  # bytes; the system takes 108, some only 104
_ANSWER_WITHIN = 10.0  # seconds, then it is quicker to look oneself
_HELLO_WITHIN = 2.0  # seconds; a daemon that is well says hello in a thousandth of that
_CONNECT_WITHIN = 0.5
_HUNG_FOR = 60.0  # seconds in which one that hung is not asked again by this process
_hung: dict[str, float] = {}  # when it was found so, by the workspace
_IRRELEVANT_VARIABLES = (
    *(
        "NACRE_WORKSPACE",
        "NACRE_AGENT",
        "NACRE_SCOPE",
        "NACRE_NO_DAEMON",
        "NACRE_NOW",
        "NACRE_HOOK",
        "NACRE_HOOK_DEBUG",
    ),
)
_FOLDERS = {  # variables that move a folder, and where it is without them; of OpenClaw's many others none changes an answer
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
    "OPENCLAW_STATE_DIR": ".openclaw",
}
_API_KEYS = (
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "VOYAGE_API_KEY",
    "MISTRAL_API_KEY",
)  # of embed.providers


class NoDaemon(Exception):
    """Nobody answers, or nobody whose answer would be ours: whoever asks does the work itself."""


class Hung(NoDaemon):
    """One is there and does not answer: another would not be let in beside it."""


def is_switched_off() -> bool:
    """Whether the user wants no daemon asked or started."""
    return os.environ.get("NACRE_NO_DAEMON", "0") not in ("", "0") or not hasattr(os, "getuid")


def name_of(root: str) -> str:
    """A short name for a workspace: a path may be longer than the place of a socket may be."""
    from _blake2 import blake2b

    return blake2b(os.fsencode(os.path.realpath(root)), digest_size=8).hexdigest()


def socket_paths(root: str) -> list[str]:
    """Where the socket of a workspace may lie, the best place first."""
    name, user = name_of(root), os.getuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"  # a hook may be started without the variable
    found = [f"{runtime}/nacre/{name}.sock"] if os.path.isabs(runtime) and os.path.isdir(runtime) else []
    found.append(f"{os.path.realpath(root)}/.nacre/daemon-{user}.sock")
    found.append(f"{os.environ.get('TMPDIR', '/tmp').rstrip('/')}/nacre-{user}/{name}.sock")  # noqa: S108 - checked to be ours
    return [place for place in found if len(os.fsencode(place)) <= LONGEST_SOCKET_PATH]


def settings_print(root: str) -> str:
    """A hash of the files that settings come from, and of which models are there."""
    return _digest([*_settings(root), *_models()])


def environment_print(root: str) -> str:
    """A hash of what else changes an answer: settings, places, language, time zone, and keys where one may be used."""
    from nacre.i18n import language_of_environment

    env = os.environ
    home = os.path.expanduser("~")
    chosen = {
        name: value for name, value in env.items() if name.startswith("NACRE_") and name not in _IRRELEVANT_VARIABLES
    }
    chosen |= {name: env.get(name) or os.path.join(home, usual) for name, usual in _FOLDERS.items()}
    chosen["HOME"] = home
    chosen["TZ"] = env.get("TZ", "")
    chosen["OPENCLAW_CONFIG_PATH"] = env.get("OPENCLAW_CONFIG_PATH") or os.path.join(
        chosen["OPENCLAW_STATE_DIR"], "openclaw.json"
    )
    profile = env.get("OPENCLAW_PROFILE", "").strip()
    chosen["OPENCLAW_PROFILE"] = "" if profile.lower() == "default" else profile
    if "NACRE_EMBED_PROVIDER" in env or not _models() or any(b"provider" in text for text in _settings(root)):
        chosen |= {name: env.get(name, "") for name in _API_KEYS}
    chosen["NACRE_LANGUAGE"] = language_of_environment()
    return _digest([os.fsencode(f"{name}={value}") for name, value in sorted(chosen.items())])


def _settings(root: str) -> list[bytes]:
    named = os.environ.get("NACRE_CONFIG_FILE") or os.path.join(config_folder(), "config.toml")
    return [_file_content(os.path.expanduser(named)), _file_content(os.path.join(root, ".nacre", "config.toml"))]


def _models() -> list[bytes]:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    try:
        with os.scandir(os.environ.get("NACRE_MODELS_PATH") or os.path.join(cache, "nacre", "models")) as entries:
            return sorted(f"{entry.name} {entry.stat().st_mtime_ns}".encode() for entry in entries)
    except OSError:
        return []


def config_folder() -> str:
    """Where the user's settings lie; only told, on all systems alike."""
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/nacre")
    return os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "nacre")


def _digest(told: list[bytes]) -> str:
    from _blake2 import blake2b

    return blake2b(b"\0".join(told), digest_size=16).hexdigest()


def _file_content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST_REQUEST)
    except OSError:
        return b""


def is_ours(connection: Any) -> bool:
    """Whether the other end belongs to this user; where the system cannot tell, the folder of the socket has to."""
    if not sys.platform.startswith("linux"):
        return True
    import _socket

    told = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # pid, uid, gid
    return int.from_bytes(told[4:8], sys.byteorder) == os.getuid()


class Connection:
    """A conversation with the daemon of a workspace, for one listener."""

    def __init__(
        self,
        root: str,
        scope: str = "main",
        *,
        within: float = _ANSWER_WITHIN,
        any_version: bool = False,
        plugin: str | None = None,
    ) -> None:
        """`any_version` speaks to a daemon that could not answer for us too: to ask how it is, or to stop it. `plugin` names who has
        no settings of its own: an agent's environment is not the user's."""
        if not any_version and time.monotonic() - _hung.get(root, -_HUNG_FOR) < _HUNG_FOR:
            raise Hung("it did not answer a moment ago")
        self._root = root
        self._within = within if any_version else min(within, _HELLO_WITHIN)
        began = time.monotonic()
        self._socket = _connected(root)
        hello = {"kind": "hello", "protocol": PROTOCOL_VERSION, "version": __version__, "scope": scope}
        if plugin:
            hello["plugin"] = plugin
        else:
            hello |= {"settings": settings_print(root), "environment": environment_print(root)}
        try:
            self.daemon = self._exchange(hello)
        except BaseException:
            self.close()
            raise
        self._within = max(0.01, within - (time.monotonic() - began))  # who waits, waits for both together
        refused = self.daemon.get("error") or (None if any_version else self.daemon.get("skew"))
        if refused:  # who asks meets the same error, with its own words
            self.close()
            raise NoDaemon(refused)

    def ask(self, kind: str, **given: Any) -> dict[str, Any]:
        """The answer; an error of the daemon's is raised here as it would have been there."""
        answer = self._exchange({"kind": kind, **given})
        if "skew" in answer:
            raise NoDaemon(answer["skew"])
        if "error" in answer:
            raise _as_error(answer)
        return answer

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        data = pack(message)
        if len(data) > LARGEST_REQUEST:
            raise NoDaemon("more than a daemon reads")
        until = (
            time.monotonic() + self._within
        )  # for all of it: one that sends a byte now and then is not waited for either
        try:
            self._socket.settimeout(self._within)
            self._socket.sendall(data)
            size = body_length(self._read(HEADER, until), LARGEST_ANSWER)
            return unpack(self._read(size, until))
        except TimeoutError as trouble:
            _hung[self._root] = time.monotonic()
            raise Hung(str(trouble)) from trouble
        except (OSError, BadMessage) as trouble:
            raise NoDaemon(str(trouble)) from trouble

    def _read(self, size: int, until: float | None = None) -> bytes:
        until = until or time.monotonic() + self._within
        parts: list[bytes] = []
        while size:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._socket.settimeout(left)
            part = self._socket.recv(min(size, 1 << 20))
            if not part:
                raise BadMessage("cut short")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connected(root: str) -> _socket.socket:
    if not hasattr(os, "getuid"):
        raise NoDaemon("no daemon on this system")
    import _socket

    for place in socket_paths(root):
        if not os.path.exists(place):
            continue
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.settimeout(_CONNECT_WITHIN)
            connection.connect(place)
            if is_ours(connection):
                return connection
        except OSError:
            pass  # nobody listens any more
        connection.close()
    raise NoDaemon("nobody listens")


def _as_error(answer: dict[str, Any]) -> Exception:
    from nacre import errors

    known = getattr(errors, str(answer.get("name")), None)
    if isinstance(known, type) and issubclass(known, errors.NacreError):
        return known(str(answer["error"]))
    return NoDaemon(str(answer["error"]))


def daemon_status(root: str) -> dict[str, Any] | None:
    """How the daemon of a workspace is; None when there is none."""
    try:
        with Connection(root, any_version=True) as daemon:
            return {**daemon.ask("status"), "skew": daemon.daemon.get("skew")}
    except NoDaemon:
        return None
