"""The agents that people have logged in already, each made a pure function: what is called, and a home of ours in the place of the user's."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nacre import disk
from nacre.errors import BrainFailed, NacreError
from nacre.model import ORDER_MARK
from nacre.text import json5

SYSTEM = "You carry out the order that you are given and answer with one JSON object, nothing else."


@dataclass(frozen=True)
class Home:
    """What stands in the place of the folders that an agent reads for every session: how it is logged in and which model it takes."""

    env: Mapping[str, str]
    settings: Mapping[str, str] = field(default_factory=dict)  # files of ours
    login: Mapping[str, Path] = field(default_factory=dict)  # the user's files, which the agent may renew


@dataclass(frozen=True)
class Preset:
    """How an agent's program is made a pure function: no tools, no hooks, no memory, no rules of the user's, no stored session.

    In `argv` and `env`, {schema} is the schema of the answer, {schema_file}, {answer_file} and {system_file} are files, {order} is the
    order, which else comes on stdin.
    """

    argv: tuple[str, ...]
    answer: tuple[str, ...] = ()  # where it stands in the JSON that is printed; empty: what is printed is the answer
    tokens: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    home: Callable[[Path], Home] = lambda _folder: Home({})


def _codex_home(folder: Path) -> Home:
    import tomlkit

    own = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    text = _text(own / "config.toml")
    try:
        settings = {name: value for name, value in tomllib.loads(text).items() if name in _CODEX_KEPT}
    except ValueError as error:
        raise _malformed(own / "config.toml") from error
    login = {name: own / name for name in ("auth.json", ".env")}
    return Home({"CODEX_HOME": str(folder)}, {"config.toml": tomlkit.dumps({**settings, **_CODEX})}, login)


def _gemini_home(folder: Path) -> Home:
    own = Path(os.environ.get("GEMINI_CLI_HOME") or Path.home())
    settings = _json(own / ".gemini" / "settings.json")
    kept = {"model": settings.get("model") or {}, "security": {"auth": at(settings, "security.auth") or {}}}
    names = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json", ".env")
    login = {f".gemini/{name}": own / ".gemini" / name for name in names} | {".env": own / ".env"}
    return Home({"GEMINI_CLI_HOME": str(folder)}, {".gemini/settings.json": json.dumps({**kept, **_GEMINI})}, login)


def _opencode_home(folder: Path) -> Home:
    """Its login and its latest model lie beside its sessions, and stay in use where they are."""
    own = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "opencode"
    places = [own / name for name in ("config.json", "opencode.json", "opencode.jsonc")]
    if folder_set := os.environ.get("OPENCODE_CONFIG_DIR"):
        places += [Path(folder_set) / name for name in ("opencode.json", "opencode.jsonc")]
    if file_set := os.environ.get("OPENCODE_CONFIG"):
        places.append(Path(file_set))
    kept: dict[str, Any] = {"provider": {}}
    for place in places:
        settings = _json(place)
        kept["provider"] |= settings["provider"] if isinstance(settings.get("provider"), dict) else {}
        kept |= {name: settings[name] for name in _OPENCODE_KEPT if name in settings}
    config = folder / "opencode"
    return Home(
        {
            **dict.fromkeys(("OPENCODE_TEST_HOME", "XDG_CONFIG_HOME"), str(folder)),
            "OPENCODE_CONFIG_DIR": str(config),
            "OPENCODE_DB": str(config / "sessions.db"),
        },
        {
            "opencode/opencode.json": json.dumps({**kept, **_OPENCODE}),
            "opencode/package-lock.json": '{"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}',
            "opencode/node_modules/.keep": "",  # with the line before: it need not load its library for plugins from the network
        },
    )


def _json(path: Path) -> dict[str, Any]:
    """The user's settings of an agent. What they take from a file beside them is taken from there."""
    text = re.sub(
        r"\{file:(?!~)([^}]+)\}", lambda match: f"{{file:{(path.parent / match[1]).as_posix()}}}", _text(path)
    )
    try:
        settings = json5.loads(text) if text.strip() else {}
    except ValueError as error:
        raise _malformed(path) from error
    return settings if isinstance(settings, dict) else {}


def _text(path: Path) -> str:
    return (read(path) or b"").decode("utf-8-sig", "replace")


def read(path: Path) -> bytes | None:
    """The bytes of a file of the user's; None when there is none."""
    try:
        return disk.read_bytes(path)
    except NacreError as error:
        raise BrainFailed(str(error)) from error


def _malformed(path: Path) -> BrainFailed:
    return BrainFailed(f"{path} could not be parsed; fix the file.", f"无法解析 {path}；请修正该文件。")


def at(value: Any, place: str) -> Any:
    """What stands at a dotted place in JSON; None for nothing."""
    for name in place.split("."):
        if isinstance(value, list) and name.isdigit():
            value = value[int(name)] if int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


# What tells that somebody is logged in: a variable, or a file in the home folder.
_LOGINS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "claude-code": (("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"), (".claude/.credentials.json", ".claude.json")),
    "codex": (("CODEX_API_KEY", "OPENAI_API_KEY"), (".codex/auth.json",)),
    "gemini": (("GEMINI_API_KEY", "GOOGLE_API_KEY"), (".gemini/oauth_creds.json", ".gemini/gemini-credentials.json")),
    "opencode": ((), (".local/share/opencode/auth.json",)),
    "openclaw": ((), (".openclaw/agents/main/agent/auth-profiles.json", ".openclaw/agents/main/agent/openclaw-agent.sqlite")),
}  # fmt: skip


def is_logged_in(name: str) -> bool:
    """Whether an agent's program seems to be logged in; only a call would tell for certain."""
    variables, files = _LOGINS[name]
    here = (Path.home() / file for file in files)
    return any(map(os.environ.get, variables)) or any(
        path.is_file() and (path.name != ".claude.json" or b'"oauthAccount"' in (read(path) or b"")) for path in here
    )


_CODEX_KEPT = """model model_provider model_providers model_reasoning_effort service_tier openai_base_url chatgpt_base_url
forced_login_method forced_chatgpt_workspace_id""".split()
_CODEX: dict[str, Any] = {
    "web_search": "disabled",
    "project_doc_max_bytes": 0,
    "include_environment_context": False,
    "include_permissions_instructions": False,
    "include_apps_instructions": False,
    "check_for_update_on_startup": False,
    "analytics": {"enabled": False},
    "skills": {"include_instructions": False, "bundled": {"enabled": False}},
    "tools": {"experimental_request_user_input": {"enabled": False}},
    "features": dict.fromkeys(
        "hooks plugins apps shell_tool multi_agent view_image goals daemon_auto_start".split(), False
    ),
}
_GEMINI = {
    "context": {"fileName": "nacre-order.md", "includeDirectoryTree": False},
    "tools": {"core": []},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
}
_OPENCODE_KEPT = ("model", "small_model", "enabled_providers", "disabled_providers")
_OPENCODE = {
    "agent": {"nacre": {"mode": "primary", "prompt": SYSTEM, "tools": {"*": False}}},
    "share": "disabled",
    "autoupdate": False,
}
_OPENCODE_OFF = "CLAUDE_CODE EXTERNAL_SKILLS PROJECT_CONFIG AUTOUPDATE LSP_DOWNLOAD".split()
PRESETS = {
    "claude-code": Preset(
        (
            *"claude -p --output-format json --json-schema {schema} --no-session-persistence --safe-mode".split(),
            *("--strict-mcp-config", "--tools", "", "--system-prompt", SYSTEM),
        ),
        ("structured_output", "result"),
        (
            *("usage.input_tokens", "usage.output_tokens"),
            *("usage.cache_creation_input_tokens", "usage.cache_read_input_tokens"),
        ),
    ),
    "codex": Preset(
        (
            *"codex exec --ephemeral --ignore-rules --skip-git-repo-check -s read-only".split(),
            *"--output-schema {schema_file} -o {answer_file} -".split(),
        ),
        home=_codex_home,
    ),
    "gemini": Preset(
        (
            *("gemini", "-p", f"{ORDER_MARK}: {SYSTEM}", "-o", "json"),
            *"--extensions none --allowed-mcp-server-names none".split(),
        ),
        ("response",),
        env={"GEMINI_SYSTEM_MD": "{system_file}", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        home=_gemini_home,
    ),
    "opencode": Preset(
        tuple("opencode run --format json --pure --agent nacre --title nacre-order".split()),
        ("part.text",),
        env={
            "OPENCODE_CONFIG": "",
            "OPENCODE_CONFIG_CONTENT": "",
            **{f"OPENCODE_DISABLE_{name}": "1" for name in _OPENCODE_OFF},
        },
        home=_opencode_home,
    ),
    "openclaw": Preset(tuple("openclaw infer model run --json --local --prompt {order}".split()), ("outputs.0.text",)),
}
