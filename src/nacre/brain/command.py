"""A program as a brain: it takes the order on stdin and prints the answer. Presets for the agents that people have logged in already."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeGuard

from nacre.brain.orders import LARGEST_ANSWER, BrainFailed, Order
from nacre.guard.secrets import legible
from nacre.model.session import ORDER_MARK

_SYSTEM = "You carry out the order that you are given and answer with one JSON object, nothing else."


@dataclass(frozen=True)
class Reply:
    """What a model said, and what it cost where the program or service tells."""

    text: str
    tokens: int | None = None


@dataclass(frozen=True)
class Preset:
    """How an agent's program is made a pure function: no tools, no hooks, no memory, no stored session where it can do without.

    In `argv` and `env`, {schema} is the schema of the answer, {schema_file}, {answer_file} and {system_file} are files, {order} is the
    order, which else comes on stdin.
    """

    argv: tuple[str, ...]
    answer: tuple[
        str, ...
    ] = ()  # where the answer stands in the JSON that is printed; empty: what is printed is the answer
    tokens: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


_NO_TOOLS = {"agent": {"nacre": {"mode": "primary", "prompt": _SYSTEM, "tools": {"*": False}}}, "share": "disabled"}
PRESETS = {
    "claude-code": Preset(
        (
            *"claude -p --output-format json --json-schema {schema} --no-session-persistence --safe-mode".split(),
            *("--strict-mcp-config", "--tools", "", "--system-prompt", _SYSTEM),
        ),
        ("structured_output", "result"),
        (
            *("usage.input_tokens", "usage.output_tokens"),
            *("usage.cache_creation_input_tokens", "usage.cache_read_input_tokens"),
        ),
    ),
    "codex": Preset(
        (
            *"codex exec --ephemeral --ignore-user-config --ignore-rules --skip-git-repo-check -s read-only".split(),
            *"--disable hooks --disable plugins --disable apps --disable shell_tool --disable multi_agent".split(),
            *"--disable view_image --disable goals -c web_search=disabled".split(),
            *"--output-schema {schema_file} -o {answer_file} -".split(),
        )
    ),
    "gemini": Preset(
        (
            *("gemini", "-p", f"{ORDER_MARK}: {_SYSTEM}", "-o", "json"),
            *"--approval-mode plan --extensions none --allowed-mcp-server-names none".split(),
        ),
        ("response",),
        env={"GEMINI_SYSTEM_MD": "{system_file}"},
    ),
    "opencode": Preset(
        tuple("opencode run --format json --pure --agent nacre --title nacre-order".split()),
        ("part.text",),
        env={"OPENCODE_CONFIG_CONTENT": json.dumps(_NO_TOOLS)},
    ),
    "openclaw": Preset(tuple("openclaw infer model run --json --local --prompt {order}".split()), ("outputs.0.text",)),
}


def installed(path: str | None = None) -> list[str]:
    """The presets whose program is there."""
    return [name for name, preset in PRESETS.items() if shutil.which(preset.argv[0], path=path)]


def ask_command(preset: str | None, argv: Sequence[str], order: Order, timeout: float) -> Reply:
    """What the program answers. It runs in an empty folder, so that it finds no project, with our hooks switched off."""
    chosen = Preset(tuple(argv)) if argv or not preset else PRESETS[preset]
    if not chosen.argv:
        raise BrainFailed(
            "No program is set: name one with brain.command.preset or brain.command.argv.",
            "没有设定程序：请设置 brain.command.preset 或 brain.command.argv。",
        )
    with tempfile.TemporaryDirectory(prefix="nacre-order-") as folder:
        answer_file = Path(folder, "answer.json")
        values = {"schema": json.dumps(order.schema), "order": order.text, "answer_file": str(answer_file)}
        for name, text in (("schema_file", values["schema"]), ("system_file", _SYSTEM)):
            values[name] = os.path.join(folder, name)
            Path(values[name]).write_text(text, encoding="utf-8")
        command = [_filled(part, values) for part in chosen.argv]
        own = {name: _filled(value, values) for name, value in chosen.env.items()}
        env = {**os.environ, **own, "PWD": folder, "NACRE_HOOKS_ENABLED": "false"}
        printed = _run(command, "" if "{order}" in chosen.argv else order.text, folder, env, timeout)
        if "{answer_file}" in chosen.argv:
            printed = _content(answer_file, command[0])
    return _reply(printed, chosen)


def _filled(part: str, values: Mapping[str, str]) -> str:
    return values.get(part[1:-1], part) if part[:1] == "{" and part[-1:] == "}" else part


def _content(path: Path, name: str) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        data = file.read(LARGEST_ANSWER + 1)
    if len(data) > LARGEST_ANSWER:
        raise _too_long(os.path.basename(name))
    return data.decode("utf-8", "replace")


def _run(command: Sequence[str], given: str, folder: str, env: Mapping[str, str], timeout: float) -> str:
    name = os.path.basename(command[0])
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=dict(env),
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise BrainFailed(f"{name} cannot be started: {reason}.", f"无法启动 {name}：{reason}。") from error
    printed, said = bytearray(), bytearray()
    tasks = (
        threading.Thread(target=_give, args=(process.stdin, given.encode("utf-8", "replace")), daemon=True),
        threading.Thread(target=_take, args=(process.stdout, printed, lambda: _stop(process)), daemon=True),
        threading.Thread(target=_take, args=(process.stderr, said, said.clear), daemon=True),
    )
    end = time.monotonic() + timeout
    with process:
        try:
            for task in tasks:
                task.start()
            for task in tasks:
                task.join(max(0.0, end - time.monotonic()))
            process.wait(max(0.0, end - time.monotonic()))
            if any(task.is_alive() for task in tasks):
                raise subprocess.TimeoutExpired(name, timeout)
        except BaseException as error:
            _stop(process)
            if isinstance(error, subprocess.TimeoutExpired):
                seconds = f"{timeout:g}"
                raise BrainFailed(
                    f"{name} did not answer within {seconds} seconds.", f"{name} 在 {seconds} 秒内没有回答。"
                ) from None
            raise
    if len(printed) > LARGEST_ANSWER:
        raise _too_long(name)
    if process.returncode:
        lines = legible((said or printed).decode("utf-8", "replace")).strip().splitlines() or [""]
        why = next((line for line in lines if "error" in line.casefold()), lines[-1]).strip()[:200]
        code = process.returncode
        raise BrainFailed(f"{name} ended with exit code {code}: {why}", f"{name} 以退出码 {code} 结束：{why}")
    return printed.decode("utf-8", "replace")


def _give(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:  # it may not want to read
        while data:
            data = data[pipe.write(data) :]


def _take(pipe: IO[bytes], into: bytearray, too_much: Callable[[], None]) -> None:
    """Read to the end, or to what no answer is as long as."""
    with contextlib.suppress(OSError, ValueError):  # closed by who waited long enough
        while piece := pipe.read(65_536):
            into += piece
            if len(into) > LARGEST_ANSWER:
                too_much()
                del into[LARGEST_ANSWER + 1 :]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a program with all that it started."""
    if hasattr(os, "killpg"):  # not on Windows
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _too_long(name: str) -> BrainFailed:
    return BrainFailed(f"{name} answered more than any answer needs.", f"{name} 的回答过长。")


def _reply(printed: str, preset: Preset) -> Reply:
    """The answer in what was printed: a JSON object, or one for each event."""
    if not preset.answer:
        return Reply(printed)
    found: list[str] = []
    spent: list[int] = []
    for value in _objects(printed):
        if _at(value, "is_error") is True:
            why = " ".join(legible(str(_at(value, "result") or "")).split())[:200]
            raise BrainFailed(f"{preset.argv[0]} tells of an error: {why}", f"{preset.argv[0]} 报告错误：{why}")
        answers = (_at(value, place) for place in preset.answer)
        answer = next((answer for answer in answers if answer not in (None, "")), None)
        if answer is not None:
            found.append(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
        spent += [count for place in preset.tokens if is_count(count := _at(value, place))]
    return Reply("".join(found), sum(spent) or None)


def is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _objects(printed: str) -> Iterator[Any]:
    whole = printed[printed.find("{") : printed.rfind("}") + 1]
    for texts in ([whole], printed.splitlines()):
        values = []
        for text in texts:
            with contextlib.suppress(ValueError, RecursionError):
                values.append(json.loads(text))
        if values:
            return iter(values)
    return iter(())


def _at(value: Any, place: str) -> Any:
    """What stands at a dotted place in JSON; None for nothing."""
    for name in place.split("."):
        if isinstance(value, list) and name.isdigit():
            value = value[int(name)] if int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value
