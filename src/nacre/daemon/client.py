"""The client of a workspace's daemon and the messages between them.

A hook has its answer after 17 ms of CPU, 11 of them Python's own start; with json, socket and hashlib it would be 27. So their halves in C
are imported here, and in no other module.
"""

from __future__ import annotations

import os
import sys
import time
from _blake2 import blake2b
from _json import encode_basestring_ascii, make_encoder, make_scanner

from nacre import __version__

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    import _socket
    from typing import Any, Self

PROTOCOL_VERSION = 1  # of the messages; another one is not spoken to
LARGEST_REQUEST = 1_000_000  # bytes
LARGEST_ANSWER = 16_000_000
HEADER = 4  # bytes of length before each message
LONGEST_SOCKET_PATH = 100  # bytes; the system takes 108, some only 104
_ANSWER_WITHIN = 10.0  # seconds, then it is quicker to look oneself
_HELLO_WITHIN = 2.0
_CONNECT_WITHIN = 0.5
_HUNG_FOR = 60.0  # seconds in which a daemon that hung is not asked again by this process
_hung: dict[str, float] = {}  # when a daemon was last seen to hang, by workspace
_IRRELEVANT_VARIABLES = frozenset(
    f"NACRE_{name}" for name in ("WORKSPACE", "AGENT", "SCOPE", "NO_DAEMON", "NOW", "HOOK", "HOOK_DEBUG")
)
_FOLDERS = {  # variables that move a folder, and where it is without them; none of OpenClaw's others changes an answer
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
    "OPENCLAW_STATE_DIR": ".openclaw",
}
_API_KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY")


class NoDaemon(Exception):
    """Nobody answers, or nobody whose answer would be ours: the caller does the work itself."""


class Hung(NoDaemon):
    """A daemon is there and does not answer: another could not start beside it."""


class BadMessage(Exception):
    """Bytes that are no message of ours."""


class _DecoderRules:
    strict = True
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


_encode = make_encoder(None, None, encode_basestring_ascii, None, ":", ",", False, False, True)  # type: ignore[arg-type]


def dumps(value: Any) -> str:
    return "".join(_encode(value, 0))


def loads(text: str) -> Any:
    try:
        value, end = make_scanner(_DecoderRules)(text, 0)  # type: ignore[arg-type]
        if end == len(text):
            return value
    except (StopIteration, AttributeError, TypeError, SystemError):  # not JSON, or another Python's rules
        pass
    import json

    return json.loads(text)


def pack(message: dict[str, Any]) -> bytes:
    """A message as it goes over the socket: four bytes of length, then one JSON object."""
    body = dumps(message).encode("ascii")
    return len(body).to_bytes(HEADER, "big") + body


def body_length(header: bytes, most: int) -> int:
    size = int.from_bytes(header[:HEADER], "big")
    if size > most:
        raise BadMessage(f"{size} bytes are more than {most}")
    return size


def unpack(body: bytes) -> dict[str, Any]:
    try:
        message = loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadMessage("not JSON") from error
    if not isinstance(message, dict):
        raise BadMessage("not an object")
    return message


def is_switched_off() -> bool:
    return os.environ.get("NACRE_NO_DAEMON", "0") not in ("", "0") or not hasattr(os, "getuid")


def socket_paths(root: str) -> list[str]:
    """Where the socket of a workspace may lie, the best place first."""
    root, user = os.path.realpath(root), os.getuid()
    name = blake2b(os.fsencode(root), digest_size=8).hexdigest()  # the path may be too long for a socket's
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"  # a hook may be started without the variable
    paths = [f"{runtime}/nacre/{name}.sock"] if os.path.isabs(runtime) and os.path.isdir(runtime) else []
    paths.append(f"{root}/.nacre/daemon-{user}.sock")
    paths.append(f"{os.environ.get('TMPDIR', '/tmp').rstrip('/')}/nacre-{user}/{name}.sock")  # noqa: S108 - checked to be ours
    return [path for path in paths if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH]


def settings_print(root: str) -> str:
    """A hash of the files that settings come from, and of which models are installed."""
    return _digest([*_settings(root), *_models()])


def environment_print(root: str) -> str:
    """A hash of what else changes an answer: settings, folders, language, time zone, and keys where one may be used."""
    from nacre.i18n import language_of_environment

    env, home = os.environ, os.path.expanduser("~")
    parts = {key: env[key] for key in env if key.startswith("NACRE_") and key not in _IRRELEVANT_VARIABLES}
    parts |= {key: env.get(key) or os.path.join(home, usual) for key, usual in _FOLDERS.items()}
    parts["OPENCLAW_CONFIG_PATH"] = env.get("OPENCLAW_CONFIG_PATH") or f"{parts['OPENCLAW_STATE_DIR']}/openclaw.json"
    profile = env.get("OPENCLAW_PROFILE", "").strip()
    parts["OPENCLAW_PROFILE"] = "" if profile.lower() == "default" else profile
    if "NACRE_EMBED_PROVIDER" in env or not _models() or any(b"provider" in text for text in _settings(root)):
        parts |= {key: env.get(key, "") for key in _API_KEYS}
    parts |= {"HOME": home, "TZ": env.get("TZ", ""), "NACRE_LANGUAGE": language_of_environment()}
    return _digest([os.fsencode(f"{key}={value}") for key, value in sorted(parts.items())])


def user_settings() -> bytes:
    named = os.environ.get("NACRE_CONFIG_FILE") or os.path.join(config_folder(), "config.toml")
    return read_file(os.path.expanduser(named))


def _settings(root: str) -> list[bytes]:
    return [user_settings(), read_file(os.path.join(root, ".nacre", "config.toml"))]


def _models() -> list[bytes]:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    try:
        with os.scandir(os.environ.get("NACRE_MODELS_PATH") or os.path.join(cache, "nacre", "models")) as entries:
            return sorted(f"{entry.name} {entry.stat().st_mtime_ns}".encode() for entry in entries)
    except OSError:
        return []


def config_folder() -> str:
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/nacre")
    return os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "nacre")


def _digest(parts: list[bytes]) -> str:
    return blake2b(b"\0".join(parts), digest_size=16).hexdigest()


def read_file(path: str) -> bytes:
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

    peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)  # pid, uid, gid
    return int.from_bytes(peer[4:8], sys.byteorder) == os.getuid()


class Connection:
    """A conversation with the daemon of a workspace, for one scope. `any_version` also speaks to a daemon that could
    not answer for us: to ask how it is, or to stop it. `plugin` names a caller without settings of its own: an agent's
    environment is not the user's."""

    def __init__(
        self,
        root: str,
        scope: str = "main",
        *,
        within: float = _ANSWER_WITHIN,
        any_version: bool = False,
        plugin: str | None = None,
    ) -> None:
        if not any_version and time.monotonic() - _hung.get(root, -_HUNG_FOR) < _HUNG_FOR:
            raise Hung("it did not answer a moment ago")
        self._root = root
        began = time.monotonic()
        self._socket = _connect(root)
        hello = {"kind": "hello", "protocol": PROTOCOL_VERSION, "version": __version__, "scope": scope}
        if plugin:
            hello["plugin"] = plugin
        else:
            hello |= {"settings": settings_print(root), "environment": environment_print(root)}
        try:
            self.daemon = self._exchange(hello, within if any_version else min(within, _HELLO_WITHIN))
            if refused := self.daemon.get("error") or (None if any_version else self.daemon.get("skew")):
                raise NoDaemon(refused)  # the caller meets the same error by itself
        except BaseException:
            self.close()
            raise
        self._within = max(0.01, within - (time.monotonic() - began))

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """The answer; an error of the daemon's is raised here as it would have been there."""
        answer = self._exchange({"kind": kind, **fields}, self._within)
        if "skew" in answer:
            raise NoDaemon(answer["skew"])
        if "error" in answer:
            from nacre import errors

            error = getattr(errors, str(answer.get("name")), None)
            if isinstance(error, type) and issubclass(error, errors.NacreError):
                raise error(answer["error"])
            raise NoDaemon(answer["error"])
        return answer

    def _exchange(self, message: dict[str, Any], within: float) -> dict[str, Any]:
        data = pack(message)
        if len(data) > LARGEST_REQUEST:
            raise NoDaemon("more than a daemon reads")
        until = time.monotonic() + within  # for all of it: a daemon that trickles is not waited for either
        try:
            self._socket.settimeout(within)
            self._socket.sendall(data)
            return unpack(self._read(body_length(self._read(HEADER, until), LARGEST_ANSWER), until))
        except TimeoutError as error:
            _hung[self._root] = time.monotonic()
            raise Hung(str(error)) from error
        except (OSError, BadMessage) as error:
            raise NoDaemon(str(error)) from error

    def _read(self, size: int, until: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._socket.settimeout(left)
            part = self._socket.recv(size - len(data))
            if not part:
                raise BadMessage("cut short")
            data += part
        return bytes(data)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connect(root: str) -> _socket.socket:
    if not hasattr(os, "getuid"):
        raise NoDaemon("no daemon on this system")
    import _socket

    for path in socket_paths(root):
        if not os.path.exists(path):
            continue
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.settimeout(_CONNECT_WITHIN)
            connection.connect(path)
            if is_ours(connection):
                return connection
        except OSError:
            pass  # nobody listens any more
        connection.close()
    raise NoDaemon("nobody listens")


def daemon_status(root: str) -> dict[str, Any] | None:
    try:
        with Connection(root, any_version=True) as daemon:
            return {**daemon.ask("status"), "skew": daemon.daemon.get("skew")}
    except NoDaemon:
        return None
