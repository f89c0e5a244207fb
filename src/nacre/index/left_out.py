"""What the user leaves out of the index of sessions, as it stands for one run."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from nacre.config import Config
from nacre.index.transcripts import LEFT_OUT, NO_TALK, TAKEN, Known, Span
from nacre.model.session import Kind, Message, Session
from nacre.sources import consent


@dataclass(frozen=True)
class LeftOut:
    """Agents, projects and chats by the settings, folders by their own sign, spans of time by the pauses."""

    config: Config
    pauses: Sequence[consent.Pause]
    folders: Collection[str] = ()  # that we know of
    _signs: dict[str, bool] = field(default_factory=dict)  # whether a folder carries the sign: asked once in a run

    def state(self, session: Session | None) -> str:
        """What becomes of a session that was read."""
        if session is None or session.kind is Kind.ISOLATED:
            return NO_TALK
        return LEFT_OUT if self._holds(session) else TAKEN

    def holds(self, one: Known) -> bool:
        """Whether a session is left out now, by what is known of it."""
        return self._holds(Session(one.session, one.agent, Kind.MAIN, None, (), cwd=one.cwd, group=one.chat))

    def _holds(self, session: Session) -> bool:
        patterns = consent.settings_of(self.config, session.agent).exclude
        if patterns and consent.is_left_out(session, patterns):
            return True
        if self._signed(session.cwd):
            return True
        return consent.lacks_folder(session) and (bool(patterns) or any(map(self._signed, self.folders)))

    def _signed(self, folder: str) -> bool:
        if folder not in self._signs:
            self._signs[folder] = consent.opted_out(folder)
        return self._signs[folder]

    def outside_pauses(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        return consent.outside_pauses(messages, self.pauses)

    def pauses_in(self, span: Span | None) -> str:
        """The pauses that touch a span, as far as they do: where one begins before it or ends after it makes no difference."""
        if span is None or not self.pauses:
            return ""
        begun, ended = (dt.datetime.fromisoformat(moment) for moment in span)
        found = [
            (max(one.begin, begun).isoformat(), one.end.isoformat() if one.end and one.end <= ended else None)
            for one in self.pauses
            if one.begin <= ended and (one.end is None or one.end > begun)
        ]
        return json.dumps(found) if found else ""
