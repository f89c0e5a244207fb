"""The services over HTTP that can make vectors, and the key that each wants."""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from nacre.errors import ModelUnusable
from nacre.model.problem import Problem
from nacre.words import say


@dataclass(frozen=True)
class Provider:
    """An OpenAI-compatible service. `takes_format`: it knows encoding_format; `takes_purpose`: it knows input_type."""

    name: str
    base_url: str
    model: str
    key_variables: tuple[str, ...] = ()
    takes_format: bool = True
    takes_purpose: bool = False


PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("openai", "https://api.openai.com/v1", "text-embedding-3-small", ("OPENAI_API_KEY",)),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-embedding-001",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ),
        Provider(
            "voyage",
            "https://api.voyageai.com/v1",
            "voyage-4",
            ("VOYAGE_API_KEY",),
            takes_format=False,
            takes_purpose=True,
        ),
        Provider("mistral", "https://api.mistral.ai/v1", "mistral-embed", ("MISTRAL_API_KEY",)),
        Provider("ollama", "http://localhost:11434/v1", "bge-m3"),
    )
}


def find_key(provider: Provider, key_file: str | None, env: Mapping[str, str]) -> str | None:
    """The key from the environment, else from the file; None when there is neither."""
    for variable in provider.key_variables:
        if key := env.get(variable, "").strip():
            return _checked(key, variable)
    if not key_file:
        return None
    path = Path(key_file).expanduser()
    try:
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as trouble:
        reason = getattr(trouble, "strerror", None) or say("it is not text", "不是文本")
        raise ModelUnusable(
            say(
                f"The key file {path} cannot be read: {reason}. Mend it, or set embed.key_file to another.",
                f"无法读取密钥文件 {path}:{reason}。请修正，或将 embed.key_file 设为其他文件。",
            )
        ) from None
    return _checked(key, str(path)) if key else None


def _checked(key: str, origin: str) -> str:
    """The key, if it can stand in a header at all; the sentence names where it came from, never the key."""
    if key.isascii() and key.isprintable() and " " not in key:
        return key
    raise ModelUnusable(
        say(
            f"What {origin} holds cannot be a key: it has spaces, line breaks or letters outside ASCII.",
            f"{origin} 中的内容不可能是密钥：含有空格、换行或非 ASCII 字符。",
        )
    )


def key_file_problem(key_file: str | None) -> Problem | None:
    """A key file that others on this machine can read."""
    if not key_file or os.name == "nt":
        return None
    path = Path(key_file).expanduser()
    try:
        open_to_others = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    except OSError:
        return None
    if not open_to_others:
        return None
    return Problem(
        "key file open to others",
        say(f"Others on this machine can read the key in {path}.", f"本机其他用户可以读取 {path} 中的密钥。"),
        str(path),
        remedy=f"chmod 600 {path}",
    )


def host_of(base_url: str) -> str:
    """Where texts are sent, without the user or password that an address may carry."""
    parts = urlsplit(base_url)
    host = parts.hostname or base_url
    return f"{host}:{parts.port}" if parts.port else host


def is_here(base_url: str) -> bool:
    """Whether the address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_address(base_url: str) -> bool:
    try:
        parts = urlsplit(base_url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that is not closed
        return False
