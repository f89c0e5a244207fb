"""Which embedder is in force, by the settings, the models installed and the keys at hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from nacre.config.settings import Config, EmbedSettings
from nacre.embed.client import is_local
from nacre.embed.local import LocalEmbedder
from nacre.embed.models import Embedder
from nacre.embed.remote import PROVIDERS, RemoteEmbedder, find_key, is_address
from nacre.errors import ModelUnusable
from nacre.i18n import say
from nacre.model.report import Problem

_AUTO = ("openai", "gemini", "voyage")  # OpenClaw's order, after the local models


def choose(config: Config, env: Mapping[str, str] | None = None) -> tuple[Embedder | None, str | None]:
    """The embedder in force and a line about it: why there is none, what is missing, or to whom texts are sent."""
    env = os.environ if env is None else env
    settings = config.embed
    if settings.provider == "none":
        return None, say('search by words only: embed.provider is "none"', "仅按文字搜索：embed.provider 为“none”")
    if settings.provider not in ("auto", "local"):
        return _remote(settings.provider, settings, env)
    local = LocalEmbedder(env=env)
    if not local.models():
        for name in _AUTO if settings.provider == "auto" else ():
            if any(env.get(variable, "").strip() for variable in PROVIDERS[name].key_variables):
                # The model and address that are set belong to OpenAI's own format, not to whichever key is found.
                fitting = settings if name == "openai" else EmbedSettings(batch=settings.batch)
                return _remote(name, fitting, env)
        return None, say(
            'search by words only: the embedding models are not installed; run "nacre models install"',
            "仅按文字搜索：尚未安装向量模型；请运行“nacre models install”",
        )
    if not local.missing:
        return local, None
    names = ", ".join(model.name for model in local.missing)
    texts = say("Chinese", "中文") if local.missing[0].script == "Han" else say("English", "英文")
    return local, say(
        f'{texts} text is searched by words only: {names} is not installed; run "nacre models install"',
        f"{texts}文本仅按文字搜索：尚未安装 {names}；请运行“nacre models install”",
    )


def _remote(name: str, settings: EmbedSettings, env: Mapping[str, str]) -> tuple[Embedder | None, str | None]:
    provider = PROVIDERS[name]
    address = settings.base_url or provider.base_url
    if not is_address(address):
        return None, say(
            "search by words only: embed.base_url is not an http(s) address",
            "仅按文字搜索：embed.base_url 不是 http(s) 地址",
        )
    try:
        key = find_key(provider, settings.key_file, env)
    except ModelUnusable as error:
        return None, str(error)
    if not key and provider.key_variables and not is_local(address):
        variables = say(" or ", "或").join(provider.key_variables)
        return None, say(
            f"search by words only: {name} wants a key; set {variables}, or embed.key_file",
            f"仅按文字搜索：{name} 需要密钥；请设置 {variables} 或 embed.key_file",
        )
    embedder = RemoteEmbedder(provider, key=key, base_url=address, model=settings.model, batch=settings.batch)
    if is_local(address):
        return embedder, None
    return embedder, say(
        f"texts are sent to {name} at {embedder.host} ({embedder.model}) to make vectors",
        f"文本会发送到 {name}({embedder.host},{embedder.model})以生成向量",
    )


def embedding_problems(config: Config, env: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    """What is doubtful about the settings, for `nacre doctor`."""
    embedder, line = choose(config, env)
    if not isinstance(embedder, RemoteEmbedder):
        if not line or config.embed.provider == "none":
            return ()
        return (Problem("model missing" if embedder else "no vectors", line, remedy="nacre models install"),)
    problems = []
    path = Path(config.embed.key_file or "").expanduser()
    if config.embed.key_file and os.name != "nt" and path.exists() and path.stat().st_mode & 0o077:
        sentence = say(f"Others on this machine can read the key in {path}.", f"本机其他用户可以读取 {path} 中的密钥。")
        problems.append(Problem("key file open to others", sentence, str(path), remedy=f"chmod 600 {path}"))
    if embedder.base_url.startswith("http:") and not is_local(embedder.base_url):
        host, remedy = embedder.host, "nacre config set --user embed.base_url https://…"
        sentence = say(
            f"Memories and the key are sent to {host} without encryption.", f"记忆和密钥以未加密方式发送到 {host}。"
        )
        problems.append(Problem("texts sent in the clear", sentence, remedy=remedy))
    return tuple(problems)
