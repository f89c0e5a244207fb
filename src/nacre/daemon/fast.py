"""Hands a search or an agent's hook to the daemon before the command line is loaded: that alone costs more than they do.

The daemon gets the words, the folder, the environment and the input as they are, and finds out what they mean with the same code as
the command line. Where its answer would be another, or none runs, the ordinary way is taken. A hook never disturbs its agent: whatever
goes wrong, its exit code is 0, because with any other an agent may stop its user's turn.
"""

from __future__ import annotations

import os
import sys
import time
import zlib

from nacre import __version__

TYPE_CHECKING = False  # as in typing, without its cost
if TYPE_CHECKING:
    import socket

HEADER = 4  # bytes of length before each message
COMMAND = b"command\0"  # begins a message that is not JSON: fields between zero bytes, two of them, then the input
DONE = b"+"  # begins its answer: notes, a zero byte, the result
LARGEST_REQUEST = 1_000_000  # bytes
LARGEST_ANSWER = 16_000_000
SILENCE = "NACRE_HOOK"  # set in the environment of whatever Nacre starts: a hook fired from there says nothing
VALUES = {f"--{name}": name for name in ("limit", "mode", "workspace", "scope", "agent", "now")} | {"-n": "limit"}
PREFIXES = ("NACRE_", "XDG_", "LC_")
NAMES = frozenset(
    "HOME LANG LANGUAGE TZ CLAUDE_CONFIG_DIR CODEX_HOME CURSOR_VERSION OPENCLAW_WORKSPACE OPENCLAW_STATE_DIR OPENCLAW_CONFIG_PATH OPENCLAW_PROFILE"
    " OPENAI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY VOYAGE_API_KEY MISTRAL_API_KEY".split()
)  # variables that change an answer
_FOR_PEOPLE = frozenset(("--help", "-h", "--json", "--version"))
_LONGEST_SOCKET_PATH = 100  # bytes; the system takes 108, some only 104
_LARGEST_EVENT = 8_000_000
_EVENT_WITHIN = 5.0  # seconds until an agent has told its event
_HOOK_WITHIN, _SEARCH_WITHIN = 0.75, 5.0  # seconds; then it is quicker to do it ourselves
_CONNECT_WITHIN = 0.5


def run(arguments: list[str]) -> int | None:
    """The exit code of what was dealt with here; None when the command line has to."""
    options, words, others = parse(arguments)
    if words[:1] == ["search"]:
        is_utf8 = all(stream and stream.encoding.lower() == "utf-8" for stream in (sys.stdout, sys.stderr))
        is_plain = sys.stdout.isatty() and os.environ.get("NO_COLOR")  # the daemon answers in colour
        return 0 if is_utf8 and not is_plain and _forward(arguments, options, b"", _SEARCH_WITHIN) else None
    if words[:1] != ["hook"] or not _FOR_PEOPLE.isdisjoint(others) or sys.stdin is None or sys.stdin.isatty():
        return None
    try:
        if os.environ.get(SILENCE, "0") in ("", "0"):
            data = _read_event()
            if not _forward(arguments, options, data, _HOOK_WITHIN):
                from nacre.daemon.hook import run_hook

                run_hook(options, "".join(words[1:2]), data)
    except BaseException:  # noqa: BLE001, S110 - an agent must never hear of it
        pass
    return 0


def parse(arguments: list[str]) -> tuple[dict[str, str], list[str], list[str]]:
    """The values of options, the words, and options without a value."""
    options: dict[str, str] = {}
    words: list[str] = []
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, sign, value = argument.partition("=")
        if argument in VALUES:
            options[VALUES[argument]] = next(rest, "")
        elif sign and name in VALUES and name.startswith("--"):
            options[VALUES[name]] = value
        else:
            (others if argument.startswith("-") else words).append(argument)
    return options, words, others


def _read_event() -> bytes:
    if os.name != "posix":  # where a pipe cannot be waited for
        return sys.stdin.buffer.read(_LARGEST_EVENT)
    import select

    data, until = b"", time.monotonic() + _EVENT_WITHIN
    while len(data) <= _LARGEST_EVENT and select.select([0], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(0, 1 << 20)
        if not part:
            return data
        data += part
    raise TimeoutError


def _forward(arguments: list[str], options: dict[str, str], data: bytes, within: float) -> bool:
    """Whether a daemon has done it, and all of it is printed. Who names a moment wants the same answer every time: none is asked."""
    if is_switched_off() or "" in arguments or options.get("now") or os.environ.get("NACRE_NOW"):
        return False
    try:
        here = os.getcwd()
        root = _likely_workspace(options.get("workspace"), here)
        facts = [__version__, here, str(_terminal_width()), str(len(arguments)), *arguments]
        fields = [*facts, *(f"{name}={value}" for name, value in environment().items())]
        answer = exchange(connect(root), COMMAND + os.fsencode("\0".join(fields)) + b"\0\0" + data, within)
    except (OSError, ValueError):
        return False
    if not answer.startswith(DONE):
        return False
    try:
        for descriptor, text in enumerate(reversed(answer[1:].split(b"\0", 1)), 1):  # the notes to 2, the result to 1
            rest = text
            while rest:
                rest = rest[os.write(descriptor, rest) :]
    except OSError as error:
        return isinstance(error, BrokenPipeError)  # the reader (head, less) has gone with what it wanted
    return True


def _terminal_width() -> int:
    """As shutil has it, without its cost."""
    if not sys.stdout.isatty():
        return 0
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) else os.get_terminal_size(1).columns or 80


def environment() -> dict[str, str]:
    """What of the environment may change an answer. Of a key only that there is one."""
    relevant = {name: value for name, value in os.environ.items() if name in NAMES or name.startswith(PREFIXES)}
    return relevant | {name: "set" for name in relevant if name.endswith("_API_KEY") and relevant[name]}


def is_switched_off() -> bool:
    return os.environ.get("NACRE_NO_DAEMON", "0") not in ("", "0") or not hasattr(os, "getuid")


def _likely_workspace(named: str | None, here: str) -> str:
    """Whose daemon to ask; whether the command means that workspace, the daemon finds out."""
    named = named or os.environ.get("NACRE_WORKSPACE") or os.environ.get("OPENCLAW_WORKSPACE")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    home, folder = os.path.expanduser("~"), here
    while folder not in (home, os.path.dirname(folder)):
        if os.path.isdir(f"{folder}/.nacre"):
            return folder
        folder = os.path.dirname(folder)
    openclaw = f"{home}/.openclaw/workspace"
    return openclaw if os.path.isdir(openclaw) else f"{home}/.nacre/workspace"


def socket_paths(root: str) -> list[str]:
    """Where the socket of a workspace may lie, the best place first."""
    root, user = os.path.realpath(root), os.getuid()
    path = os.fsencode(root)
    name = f"{zlib.crc32(path):08x}{zlib.adler32(path):08x}"  # the path may be too long for a socket's
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}"  # a hook may be started without the variable
    paths = [f"{runtime}/nacre/{name}.sock"] if os.path.isabs(runtime) and os.path.isdir(runtime) else []
    paths.append(f"{root}/.nacre/daemon-{user}.sock")
    paths.append(f"{os.environ.get('TMPDIR', '/tmp').rstrip('/')}/nacre-{user}/{name}.sock")  # noqa: S108 - checked to be ours
    return [path for path in paths if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH]


def connect(root: str) -> socket.socket:
    """A connection to the daemon of a workspace, which belongs to this user; OSError where there is none."""
    for path in filter(os.path.exists, socket_paths(root)):
        import socket

        about = os.lstat(os.path.dirname(path))
        is_private = about.st_uid == os.getuid() and about.st_mode & 0o170022 == 0o040000  # nobody else put it there
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_CONNECT_WITHIN)
        if is_private and not connection.connect_ex(path) and is_ours(connection):
            return connection
        connection.close()
    raise ConnectionRefusedError("nothing is listening")


def is_ours(connection: socket.socket) -> bool:
    """Whether the other end belongs to this user; where the system cannot tell, the folder of the socket did."""
    if not sys.platform.startswith("linux"):
        return True
    level, peer_of = 1, 17  # SOL_SOCKET, SO_PEERCRED: pid, uid, gid
    return int.from_bytes(connection.getsockopt(level, peer_of, 12)[4:8], sys.byteorder) == os.getuid()


def exchange(connection: socket.socket, body: bytes, within: float) -> bytes:
    """The answer to a message. The time is for all of it: a daemon that trickles is not waited for either."""
    if len(body) > LARGEST_REQUEST:
        raise ValueError("the request is too large")
    until = time.monotonic() + within

    def receive(size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            connection.settimeout(max(0.001, until - time.monotonic()))
            part = connection.recv(size - len(data))
            if not part:
                raise ConnectionError("the connection was closed")
            data += part
        return bytes(data)

    connection.settimeout(within)
    connection.sendall(len(body).to_bytes(HEADER, "big") + body)
    size = int.from_bytes(receive(HEADER), "big")
    if size > LARGEST_ANSWER:
        raise ValueError("the answer is too large")
    return receive(size)
