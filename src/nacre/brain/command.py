"""A program as a brain: it takes the order on stdin and prints the answer."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from nacre import disk
from nacre.brain.orders import LARGEST_ANSWER, Order
from nacre.brain.presets import PRESETS, SYSTEM, Home, Preset, at, read
from nacre.errors import BrainFailed, NacreError
from nacre.guard.secrets import legible

_LAST_WORDS = 65_536  # bytes at the end of what a program says when it fails


class Reply(NamedTuple):
    """What a model said, and what it cost where the program or service tells."""

    text: str
    tokens: int | None = None


def installed(path: str | None = None) -> list[str]:
    """The presets whose program is there."""
    return [name for name, preset in PRESETS.items() if shutil.which(preset.argv[0], path=path)]


def ask_command(preset: str | None, argv: Sequence[str], order: Order, timeout: float) -> Reply:
    """What the program answers. It runs in an empty folder, so that it finds no project, with our hooks switched off."""
    chosen = Preset(tuple(argv)) if argv or not preset else PRESETS[preset]
    if not chosen.argv:
        raise BrainFailed(
            "No program is configured. Set brain.command.preset or brain.command.argv.",
            "尚未配置程序：请设置 brain.command.preset 或 brain.command.argv。",
        )
    with tempfile.TemporaryDirectory(prefix="nacre-order-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        for name in ("empty", "home"):
            (folder / name).mkdir()
        values = {"schema": json.dumps(order.schema), "order": order.text, "answer_file": str(folder / "answer.json")}
        for name, text in (("schema_file", values["schema"]), ("system_file", SYSTEM)):
            values[name] = str(folder / name)
            (folder / name).write_text(text, encoding="utf-8")
        command = [_filled(part, values) for part in chosen.argv]
        home = chosen.home(folder / "home")
        own = {name: _filled(value, values) for name, value in chosen.env.items()} | dict(home.env)
        env = {**os.environ, **own, "PWD": str(folder / "empty"), "NACRE_HOOKS_ENABLED": "false"}
        env |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), made)  # what it leaves there goes with it
        with _furnished(home, folder / "home"):
            printed = _run(command, "" if "{order}" in chosen.argv else order.text, folder / "empty", env, timeout)
        if "{answer_file}" in chosen.argv:
            printed = _content(folder / "answer.json", os.path.basename(command[0]))
    return _reply(printed, chosen)


@contextlib.contextmanager
def _furnished(home: Home, folder: Path) -> Iterator[None]:
    """The files of a home in their folder. A login is a link to the user's; where it cannot be one, or is no more, what the agent renewed is taken over."""
    for name, text in home.settings.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    login = {name: data for name, path in home.login.items() if (data := read(path)) is not None}
    for name, data in login.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            (folder / name).symlink_to(home.login[name].absolute())
        except OSError:  # not allowed on Windows
            disk.write(folder / name, data)
    try:
        yield
    finally:
        for name, data in login.items():
            now = None if (folder / name).is_symlink() else read(folder / name)
            if now is None or now == data or not _is_json(now):  # half written by a program that was ended
                continue
            try:
                disk.replace(home.login[name], now, data)
            except NacreError as error:
                raise BrainFailed(str(error)) from error


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _filled(part: str, values: Mapping[str, str]) -> str:
    return values.get(part[1:-1], part) if part[:1] == "{" and part[-1:] == "}" else part


def _run(command: Sequence[str], given: str, folder: Path, env: Mapping[str, str], timeout: float) -> str:
    """What the program prints; its input and output are files beside the folder that it runs in."""
    name = os.path.basename(command[0])
    order, printed, said = (folder.with_name(part) for part in ("stdin", "stdout", "stderr"))
    order.write_bytes(given.encode("utf-8", "replace"))
    with order.open("rb") as stdin, printed.open("wb") as stdout, said.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=folder, env=dict(env), start_new_session=True
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise BrainFailed(f"{name} could not be started: {reason}.", f"无法启动 {name}：{reason}。") from error
        with process:
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired as error:
                english = f"{name} did not answer within {timeout:g} s."
                raise BrainFailed(english, f"{name} 在 {timeout:g} 秒内没有响应。") from error
            finally:
                _stop(process)
    text = _content(printed, name)
    if code:
        last_words = said.read_bytes()[-_LAST_WORDS:].decode("utf-8", "replace")
        lines = legible(last_words or text).strip().splitlines() or [""]
        telling = (line for mark in ('"message":', "error") for line in lines if mark in line.casefold())
        why = next(telling, lines[-1]).strip()[:200]
        raise BrainFailed(f"{name} exited with code {code}: {why}", f"{name} 异常退出（退出码 {code}）：{why}")
    return text


def _content(path: Path, name: str) -> str:
    if not path.is_file():
        return ""
    if path.stat().st_size > LARGEST_ANSWER:
        raise BrainFailed(f"{name} returned an answer that is too long.", f"{name} 的回答过长。")
    return path.read_text("utf-8", "replace")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a program with all that it started."""
    if hasattr(os, "killpg"):  # not on Windows
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _reply(printed: str, preset: Preset) -> Reply:
    """The answer in what was printed: a JSON object, or one for each event."""
    if not preset.answer:
        return Reply(printed)
    texts: list[str] = []
    spent: list[int] = []
    for value in _objects(printed):
        if at(value, "is_error") is True:
            why = " ".join(legible(str(at(value, "result") or "")).split())[:200]
            raise BrainFailed(f"{preset.argv[0]} reported an error: {why}", f"{preset.argv[0]} 报告了错误：{why}")
        answers = (at(value, place) for place in preset.answer)
        answer = next((answer for answer in answers if answer not in (None, "")), None)
        if answer is not None:
            texts.append(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
        spent += [count for place in preset.tokens if is_count(count := at(value, place))]
    return Reply("".join(texts), sum(spent) or None)


def is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _objects(printed: str) -> list[Any]:
    """The JSON that was printed: one object in all, else one a line."""
    whole = printed[printed.find("{") : printed.rfind("}") + 1]
    for texts in ([whole], printed.splitlines()):
        values = []
        for text in texts:
            with contextlib.suppress(ValueError, RecursionError):
                values.append(json.loads(text))
        if values:
            return values
    return []
