"""Which embedder is in force, by the settings, the models installed, the keys at hand and what worked just now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, TypeVar

from nacre.config.settings import Config, EmbedSettings
from nacre.embed.local import LocalEmbedder
from nacre.embed.models import Embedder
from nacre.errors import ModelUnusable
from nacre.i18n import say
from nacre.model import Problem, problem

if TYPE_CHECKING:
    from nacre.embed.remote import RemoteEmbedder

Link = tuple[Embedder | None, str | None]  # one provider, and a line about it: why it cannot be used, or what to know
Result = TypeVar("Result")

_LEFT_ALONE = 300.0  # seconds
_AUTO = ("openai", "gemini", "voyage")  # OpenClaw's order, after the local models


class Chain:
    """The provider and its fallbacks. One that fails is left alone for some minutes while another can do its work."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._links = links
        self._failed: dict[Embedder, tuple[float, str]] = {}  # until when it is left alone, and why

    @property
    def embedders(self) -> list[Embedder]:
        return [embedder for embedder, _ in self._links if embedder]

    @property
    def chosen(self) -> Link:
        """The embedder in force and a line about it: why there is none, what is missing, or to whom texts are sent."""
        reasons: list[str] = []
        for embedder, line in self._links:
            if embedder is None:
                reasons.append(line or "")
            elif embedder is not self.embedders[-1] and self._failed.get(embedder, (0.0, ""))[0] > time.monotonic():
                reasons.append(self._failed[embedder][1])
            else:
                return embedder, self._about(embedder, line, reasons)
        return None, say(f"keyword search only: {reasons[0]}", f"只能按关键词搜索：{reasons[0]}")

    def run(self, work: Callable[[Embedder], Result]) -> Result:
        """The work, done by the first that can do it; there must be one."""
        while True:
            embedder = self.chosen[0] or self.embedders[0]
            try:
                return work(embedder)
            except ModelUnusable as error:
                if embedder is self.embedders[-1]:
                    raise
                self._failed[embedder] = time.monotonic() + _LEFT_ALONE, str(error).rstrip(".。")

    def close(self) -> None:
        for embedder in self.embedders:
            if close := getattr(embedder, "close", None):
                close()

    def _about(self, embedder: Embedder, line: str | None, reasons: list[str]) -> str | None:
        name = embedder.provider
        lines = [say(f"using {name} for now: {reasons[0]}", f"暂时使用 {name}：{reasons[0]}")] if reasons else []
        lines += [line] if line else []
        later = self.embedders[self.embedders.index(embedder) + 1 :]
        if hosts := [f"{other.provider} ({other.host})" for other in later if _sends_away(other)]:
            names = ", ".join(hosts)
            lines.append(say(f"if that fails, texts are sent to {names}", f"失败时，文本会发送到 {names}"))
        return "; ".join(lines) or None


def chain(config: Config, env: Mapping[str, str] | None = None) -> Chain:
    """What the settings name, each as far as it can be used."""
    env = os.environ if env is None else env
    settings = config.embed
    # The model, address and key file that are set belong to the provider.
    plain = EmbedSettings(batch=settings.batch)
    names = settings.fallback if settings.provider != "none" else ()
    others = [_local(env) if name == "local" else _remote(name, plain, env) for name in names]
    return Chain([_first(settings, env), *others])


def choose(config: Config, env: Mapping[str, str] | None = None) -> Link:
    """The embedder in force by the settings alone, and a line about it."""
    return chain(config, env).chosen


def _first(settings: EmbedSettings, env: Mapping[str, str]) -> Link:
    if settings.provider == "none":
        return None, say('embed.provider is "none"', "embed.provider 为“none”")
    if settings.provider not in ("auto", "local"):
        return _remote(settings.provider, settings, env)
    local = _local(env)
    if local[0] is None and settings.provider == "auto":
        from nacre.embed.remote import PROVIDERS

        for name in _AUTO:
            if any(env.get(variable, "").strip() for variable in PROVIDERS[name].key_variables):
                # The model and address that are set belong to OpenAI's own format, not to whichever key is found.
                return _remote(name, settings if name == "openai" else EmbedSettings(batch=settings.batch), env)
    return local


def _local(env: Mapping[str, str]) -> Link:
    local = LocalEmbedder(tuned=True, env=env)
    if not local.models():
        return None, say(
            'the embedding models are not installed; run "nacre models install"',
            "尚未安装嵌入模型；请运行“nacre models install”",
        )
    if not local.missing:
        return local, None
    names = ", ".join(model.name for model in local.missing)
    texts = say("Chinese", "中文") if local.missing[0].script == "Han" else say("English", "英文")
    return local, say(
        f'{texts} text is searched by keywords only: {names} is not installed; run "nacre models install"',
        f"{texts}文本只能按关键词搜索：尚未安装 {names}；请运行“nacre models install”",
    )


def _remote(name: str, settings: EmbedSettings, env: Mapping[str, str]) -> Link:
    from nacre.embed.client import is_local
    from nacre.embed.remote import PROVIDERS, RemoteEmbedder, find_key, is_address

    provider = PROVIDERS[name]
    address = settings.base_url or provider.base_url
    if not is_address(address):
        return None, say("embed.base_url is not an http(s) address", "embed.base_url 不是 http(s) 地址")
    try:
        key = find_key(provider, settings.key_file, env)
    except ModelUnusable as error:
        return None, str(error)
    if not key and provider.key_variables and not is_local(address):
        variables = say(" or ", "或").join(provider.key_variables)
        return None, say(
            f"{name} needs a key; set {variables} or embed.key_file",
            f"{name} 需要密钥；请设置 {variables} 或 embed.key_file",
        )
    embedder = RemoteEmbedder(provider, key=key, base_url=address, model=settings.model, batch=settings.batch)
    if not _sends_away(embedder):
        return embedder, None
    return embedder, say(
        f"texts are sent to {name} at {embedder.host} ({embedder.model}) to compute vectors",
        f"文本会发送到 {name}（{embedder.host}，{embedder.model}）以生成向量",
    )


def _sends_away(embedder: Embedder) -> TypeGuard[RemoteEmbedder]:
    if isinstance(embedder, LocalEmbedder):
        return False
    from nacre.embed.client import is_local
    from nacre.embed.remote import RemoteEmbedder

    return isinstance(embedder, RemoteEmbedder) and not is_local(embedder.base_url)


def embedding_problems(config: Config, env: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    """What is doubtful about the settings, for `nacre doctor`."""
    from nacre.embed.client import is_local
    from nacre.embed.remote import RemoteEmbedder

    embedder, line = choose(config, env)
    if not isinstance(embedder, RemoteEmbedder):
        if not line or config.embed.provider == "none":
            return ()
        if config.embed.provider not in ("auto", "local"):
            return (Problem("provider unusable", line, remedy="nacre config"),)
        return (Problem("model missing" if embedder else "no vectors", line, remedy="nacre models install"),)
    problems = []
    path = Path(config.embed.key_file or "").expanduser()
    if config.embed.key_file and os.name != "nt" and path.exists() and path.stat().st_mode & 0o077:
        said = f"Other users of this machine can read the key in {path}.", f"本机其他用户可以读取 {path} 中的密钥。"
        problems.append(problem("key file open to others", *said, str(path), remedy=f"chmod 600 {path}"))
    if embedder.base_url.startswith("http:") and not is_local(embedder.base_url):
        english = f"Memories and the key are sent to {embedder.host} unencrypted."
        said = english, f"记忆和密钥会以未加密的方式发送到 {embedder.host}。"
        remedy = "nacre config set --user embed.base_url https://…"
        problems.append(problem("texts sent in the clear", *said, remedy=remedy))
    return tuple(problems)
