"""Which embedder is in force, by the settings, the models installed and the keys at hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from nacre.config.settings import Config, EmbedSettings
from nacre.embed.local import LocalEmbedder
from nacre.embed.models import LocalModel
from nacre.embed.protocol import Embedder
from nacre.embed.remote import PROVIDERS, Provider, find_key, host_of, is_address, is_here, key_file_problem
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
    if settings.provider == "local":
        return _local(env)
    if settings.provider != "auto":
        return _remote(PROVIDERS[settings.provider], settings, env)
    embedder, line = _local(env)
    if embedder:
        return embedder, line
    for name in _AUTO:
        provider = PROVIDERS[name]
        if any(env.get(variable, "").strip() for variable in provider.key_variables):
            # The model and address that are set belong to OpenAI's own format, not to whichever key is found.
            fitting = settings if name == "openai" else EmbedSettings(batch=settings.batch)
            return _remote(provider, fitting, env)
    return None, line


def embedding_problems(config: Config, env: Mapping[str, str] | None = None) -> tuple[Problem, ...]:
    """What is doubtful about the settings, for `nacre doctor`."""
    from nacre.embed.remote import RemoteEmbedder

    embedder, line = choose(config, env)
    found = []
    if embedder is None and line and config.embed.provider != "none":
        found.append(Problem("no vectors", line, remedy="nacre models install"))
    if isinstance(embedder, LocalEmbedder) and line:
        found.append(Problem("model missing", line, remedy="nacre models install"))
    if isinstance(embedder, RemoteEmbedder):
        trouble = key_file_problem(config.embed.key_file)
        found += [trouble] if trouble else []
        if urlsplit(embedder.base_url).scheme == "http" and not is_here(embedder.base_url):
            found.append(
                Problem(
                    "texts sent in the clear",
                    say(
                        f"Memories and the key are sent to {embedder.host} without encryption.",
                        f"记忆和密钥以未加密方式发送到 {embedder.host}。",
                    ),
                    remedy="nacre config set --user embed.base_url https://…",
                )
            )
    return tuple(found)


def _local(env: Mapping[str, str]) -> tuple[Embedder | None, str | None]:
    embedder = LocalEmbedder(env=env)
    missing = embedder.missing
    if not embedder.models():
        return None, say(
            'search by words only: the embedding models are not installed; run "nacre models install"',
            "仅按文字搜索：尚未安装向量模型；请运行“nacre models install”",
        )
    if missing:
        names = ", ".join(model.name for model in missing)
        return embedder, say(
            f'{_text_in(missing)} text is searched by words only: {names} is not installed; run "nacre models install"',
            f"{_text_in(missing)}文本仅按文字搜索：尚未安装 {names}；请运行“nacre models install”",
        )
    return embedder, None


def _text_in(missing: tuple[LocalModel, ...]) -> str:
    return say("Chinese", "中文") if missing[0].script == "Han" else say("English", "英文")


def _remote(provider: Provider, settings: EmbedSettings, env: Mapping[str, str]) -> tuple[Embedder | None, str | None]:
    address = settings.base_url or provider.base_url
    if not is_address(address):
        return None, say(
            "search by words only: embed.base_url is not an http(s) address",
            "仅按文字搜索：embed.base_url 不是 http(s) 地址",
        )
    try:
        key = find_key(provider, settings.key_file, env)
    except ModelUnusable as trouble:
        return None, str(trouble)
    if not key and provider.key_variables and not is_here(address):
        variables = say(" or ", "或").join(provider.key_variables)
        return None, say(
            f"search by words only: {provider.name} wants a key; set {variables}, or embed.key_file",
            f"仅按文字搜索：{provider.name} 需要密钥；请设置 {variables} 或 embed.key_file",
        )
    from nacre.embed.remote import RemoteEmbedder

    embedder = RemoteEmbedder(provider, key=key, base_url=settings.base_url, model=settings.model, batch=settings.batch)
    if is_here(address):
        return embedder, None
    return embedder, say(
        f"texts are sent to {provider.name} at {host_of(address)} ({embedder.model}) to make vectors",
        f"文本会发送到 {provider.name}({host_of(address)},{embedder.model})以生成向量",
    )
