"""What is wrong with a daemon and the sockets of daemons, with its remedy; and clearing away what one left behind."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from nacre.checks.doctor import MEND, correct_it, is_own
from nacre.daemon.fast import socket_paths
from nacre.daemon.process import ask_status, daemon_process
from nacre.i18n import say
from nacre.memory import Memory
from nacre.model import Problem, Workspace, problem


def daemon_problems(memory: Memory) -> Iterator[Problem]:
    """A socket that nobody listens on, and what is wrong with a daemon: silent, of another version, not watching, open."""
    if daemon_process(memory.workspace) is None:
        for path in _sockets(memory.workspace):
            yield problem(
                "stale socket",
                "A daemon exited without removing its socket; the next daemon will replace it.",
                "守护进程退出时没有移除套接字；下次启动时会替换它。",
                path,
                remedy=MEND,
            )
        return
    status = ask_status(memory, within=5.0) or {"answers": True}  # of another moment nothing is said
    if not status["answers"]:
        yield problem(
            "daemon silent",
            f"The daemon is not responding: {status['trouble']}.",
            f"守护进程没有响应：{status['trouble']}。",
            remedy="nacre serve --stop",
        )
    if status.get("skew"):
        skew = skew_words(status["skew"])
        yield problem(
            "daemon skew",
            f"This command cannot use the daemon: {skew}. Everything works without it.",
            f"本命令无法使用守护进程：{skew}。没有守护进程也能正常使用。",
            remedy="nacre serve --stop && nacre serve --background",
        )
    if status.get("watching") == "scanning":
        yield problem(
            "watch limit",
            f"The daemon scans files periodically instead of watching them: {status.get('watchingReason')}.",
            f"守护进程无法监视文件变化，改为定时扫描：{status.get('watchingReason')}。",
            remedy="sudo sysctl fs.inotify.max_user_watches=524288",
        )
    if error := status.get("settings"):
        yield problem(
            "daemon settings",
            f"The daemon is still using its previous settings: {error}",
            f"守护进程仍在使用之前的设置：{error}",
            remedy=correct_it(),
        )
    http = status.get("http") or {}
    if error := http.get("trouble"):
        yield problem(
            "no http",
            f"MCP is not served over HTTP: {error}",
            f"未能通过 HTTP 提供 MCP：{error}",
            remedy="nacre config set --user serve.port 6227",
        )
    if not http.get("local", True):
        yield problem(
            "open http",
            f"Other machines on the network can reach {http['url']}, and the traffic is not encrypted.",
            f"网络上的其他设备可以访问 {http['url']}，且传输内容未加密。",
            remedy="nacre config set --user serve.host 127.0.0.1",
        )


def skew_words(skew: str) -> str:
    """Why the daemon cannot answer for this command, from what it says itself."""
    words = {
        "another version": ("it runs a different version of Nacre", "它运行的是另一个版本的 Nacre"),
        "other settings": ("its settings are out of date", "它的设置不是最新的"),
        "another environment": ("it was started with different environment variables", "它启动时的环境变量不同"),
    }
    return say(*words.get(skew, (skew, skew)))


def _sockets(workspace: Workspace) -> list[str]:
    """The sockets of ours that lie about for this workspace; nothing else that has the name of one."""
    paths = socket_paths(str(workspace.root)) if hasattr(os, "getuid") else ()
    return [path for path in paths if is_own(path, stat.S_ISSOCK)]


def clear_sockets(memory: Memory) -> list[str]:
    """Remove the sockets that nobody listens on; a sentence for each."""
    done = []
    for path in _sockets(memory.workspace) if daemon_process(memory.workspace) is None else ():
        with contextlib.suppress(OSError):
            os.unlink(path)
            done.append(say(f"The stale socket {path} was removed.", f"已移除失效的套接字 {path}。"))
    return done
