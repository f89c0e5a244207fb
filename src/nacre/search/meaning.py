"""The embedder and the vectors that search by meaning uses, and whether they are complete."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from nacre.config.settings import Config, EmbedSettings
from nacre.errors import ModelUnusable
from nacre.i18n import say
from nacre.index.store import Store

if TYPE_CHECKING:
    from nacre.embed.models import Embedder
    from nacre.index.vectors import Scanner


# What was just written is to be found by meaning too: a search embeds a few passages itself, and goes on for as long as nobody
# minds waiting, so that searches alone complete an index in the end.
_EMBED_AT_ONCE = 8
_PATIENCE = 0.7  # seconds


class Meaning(NamedTuple):
    """What is needed to search by meaning, or why it cannot be; `stale` when part of it is still to be made."""

    embedder: Embedder | None
    scanner: Scanner | None
    reason: str | None = None
    stale: bool = False


def words_only(trouble: ModelUnusable) -> str:
    """The note beside what was found by words, where vectors could not be made."""
    return say(f"search by words only: {trouble}", f"仅按文字搜索：{trouble}")


class MeaningSource:
    """Holds the embedder and the scanner of one memory for as long as it is open."""

    def __init__(self, config: Config, store: Store, embedder: Embedder | None = None) -> None:
        self._config = config
        self._store = store
        self._given = embedder
        self._lock = threading.RLock()
        self._chosen: tuple[Embedder | None, str | None] | None = None
        self._made_scanner: Scanner | None = None

    def over(self, store: Store) -> MeaningSource:
        """The same embedder with the vectors of another index."""
        other = MeaningSource(self._config, store)
        other._chosen = self.chosen
        return other

    @property
    def chosen(self) -> tuple[Embedder | None, str | None]:
        """Who makes the vectors and, where something is missing or sent away, a line about it."""
        with self._lock:
            if self._chosen is None:
                if self._given:
                    self._chosen = (self._given, None)
                else:
                    from nacre.embed.choose import choose

                    self._chosen = choose(self._config)
            return self._chosen

    def close(self) -> None:
        """Let go of a service's connection; the next use opens it again."""
        if self._chosen and not self._given and (close := getattr(self._chosen[0], "close", None)):
            close()

    @property
    def _scanner(self) -> Scanner:
        with self._lock:
            if self._made_scanner is None:
                from nacre.index.vectors import Scanner

                self._made_scanner = Scanner(self._store)
            return self._made_scanner

    def now(self) -> Meaning:
        """What can answer at this moment. A few passages that have no vector yet get theirs first."""
        embedder, reason = self.chosen
        if embedder is None:
            return Meaning(None, None, reason)
        from nacre.index import embedding

        store = self._store
        batch = embedding.batch_for(store, embedder)
        live = embedding.live_batch(store)
        if live and live.id != batch.id:
            before = self._reopened(live.provider)
            if before:  # the settings changed: the vectors that are complete go on answering
                return Meaning(before, self._scanner, stale=True)
        waiting = embedding.waiting(store.db, batch, 1)
        until = time.monotonic() + _PATIENCE
        try:
            with self._lock:
                while waiting and time.monotonic() < until:
                    embedding.fill(store, embedder, most=_EMBED_AT_ONCE, hurry=True)
                    waiting = embedding.waiting(store.db, batch, 1)
        except ModelUnusable as trouble:  # the question would fail in the same way
            return Meaning(None, None, words_only(trouble), stale=True)
        if waiting and not store.db.execute("select 1 from vectors limit 1").fetchone():
            missing = say(
                'search by words only: no vectors have been made yet; run "nacre embed"',
                "仅按文字搜索：尚未生成向量；请运行“nacre embed”",
            )
            return Meaning(None, None, missing, stale=True)
        return Meaning(embedder, self._scanner, stale=bool(waiting))

    def _reopened(self, provider: str) -> Embedder | None:
        """The local models, when they made the vectors which still answer.

        Never a service: an index may have come with a clone, and must not choose where questions and keys are sent.
        """
        if provider != "local":
            return None
        from nacre.embed.choose import choose

        return choose(dataclasses.replace(self._config, embed=EmbedSettings(provider="local")))[0]
