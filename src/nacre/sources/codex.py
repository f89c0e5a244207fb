"""Codex: one JSONL file for each session below ~/.codex/sessions, by day (CODEX_HOME moves it).

Every prompt and every answer stands twice: as an event, which is what was on the screen, and as an item of what the
model was sent, where files and notes of the program stand amid it. The events are taken, the items only without them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from nacre.model.session import Kind, Message, Session, Speaker
from nacre.sources.reading import (
    Mark,
    Notes,
    Places,
    Reading,
    Source,
    Transcript,
    as_text,
    digest_of,
    follow,
    list_files,
    parse_time,
    time_field,
)

AGENT = "codex"
_NOT_TALK = frozenset(
    {"turn_context", "world_state", "compacted", "inter_agent_communication", "inter_agent_communication_metadata"}
    | {"token_usage_record"}
    | {"function_call", "function_call_output", "function_result", "reasoning", "state"}  # the last: older files
)
_EVENTS = frozenset(
    "agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break background_event "
    "collab_agent_interaction_end collab_agent_spawn_end collab_close_end collab_resume_end collab_waiting_end "
    "context_compacted deprecation_notice dynamic_tool_call_request dynamic_tool_call_response entered_review_mode "
    "error exec_command_begin exec_command_end exited_review_mode guardian_assessment guardian_warning "
    "image_generation_end item_started mcp_tool_call_begin mcp_tool_call_end patch_apply_begin patch_apply_end "
    "plan_update session_configured stream_error sub_agent_activity task_complete task_started thread_goal_updated "
    "thread_name_updated thread_settings_applied token_count turn_aborted turn_complete turn_diff turn_started "
    "undo_completed undo_started view_image_tool_call warning web_search_begin web_search_end".split()
)
_ITEMS = frozenset(
    "additional_tools agent_message compaction compaction_summary context_compaction custom_tool_call "
    "custom_tool_call_output function_call function_call_output ghost_snapshot image_generation_call "
    "local_shell_call other reasoning tool_call tool_result tool_search_call tool_search_output "
    "web_search_call".split()
)
_TURN_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted"})
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<user_action>",
    "<skill>",
    "<hook_prompt",
    "<subagent_notification>",
    "<codex_internal_context",
    "<goal_context>",
    "<recommended_plugins>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<model_switch>",
    "<personality_spec>",
)
_IDE = ("# Context from my IDE setup:", "# Files mentioned by the user:")
_REQUEST = re.compile(r"^## My request(?: for [^\n:]{1,40})?:[ \t]*$", re.MULTILINE)
_OUTPUT = re.compile(
    rb'"payload":\s?\{"type":\s?"(?:(?:custom_tool|function)_call_output|tool_search_output|exec_command_end'
    rb'|mcp_tool_call_end|patch_apply_end|reasoning|image_generation_(?:end|call)|web_search_end|turn_diff)"'
    rb'|"type":\s?"(?:compacted|world_state)"'
)
_BURST = dt.timedelta(seconds=1)  # a fork copies what was said before in one go; the next turn comes later


def find(places: Places) -> Iterator[Transcript]:
    """The sessions, archived ones too. The name alone is the key: archiving a session moves its file."""
    root = places.root(AGENT, "CODEX_HOME", ".codex")
    files = [*root.glob("sessions/*/*/*/rollout-*.jsonl"), *root.glob("archived_sessions/rollout-*.jsonl")]
    for transcript in list_files(AGENT, iter(sorted(files, key=lambda path: path.name))):
        yield replace(transcript, key=f"{root}#{transcript.path.name}")


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    """What was said after the mark and not after the moment."""
    take = _Taker()

    def session(notes: Notes) -> Session:
        take.settle(notes)
        facts = notes.facts
        kind = Kind.ISOLATED if facts.get("isolated") else Kind.MAIN
        name = str(facts.get("id") or _id_of(transcript.path))
        started, cwd = parse_time(facts.get("started")), str(facts.get("cwd", ""))
        return Session(name, AGENT, kind, started, tuple(notes.messages), cwd=cwd)

    when = time_field("timestamp", "created_at")
    return follow(transcript.path, mark, until, take, session, uninteresting=_tool_output, time=when)


def _id_of(path: Path) -> str:
    """The id in the name of a file: it ends in a UUID."""
    return path.stem[-36:]


def _tool_output(head: bytes) -> bool:
    return bool(_OUTPUT.search(head, 0, 400))


class _Doubtful(NamedTuple):
    """Words of an item, while it is not known whether an event tells them too."""

    message: Message
    digest: str


class _Taker:
    def __init__(self) -> None:
        self.doubtful: dict[Speaker, _Doubtful] = {}

    def __call__(self, entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
        kind, payload = entry.get("type"), entry.get("payload")
        if kind == "session_meta" and isinstance(payload, dict):
            _about(payload, at, notes)
            return True
        if "payload" not in entry:
            return self._older(entry, at, start, notes)
        if not isinstance(payload, dict) or not at:
            return False
        if _is_copy(at, notes):
            return True
        if kind not in ("event_msg", "response_item"):
            return kind in _NOT_TALK
        what = payload.get("type")
        if not isinstance(what, str):
            return False
        if kind == "event_msg":
            return self._event(what, payload, at, start, notes)
        if what == "message":
            return self._item(payload, at, start, notes)
        if what in _ITEMS:
            self.settle(notes)  # the agent is at work: nothing more will be told of the words before
        return what in _ITEMS

    def settle(self, notes: Notes) -> None:
        """Take the doubtful words: no event told them. If one follows in the next reading, it is known for an echo."""
        for speaker, (message, known) in self.doubtful.items():
            notes.messages.append(message)
            notes.facts[f"echo {speaker}"] = known
        self.doubtful.clear()

    def _event(self, what: str, payload: dict[str, Any], at: dt.datetime, start: int, notes: Notes) -> bool:
        if what == "user_message":
            if payload.get("kind") not in ("user_instructions", "environment_context"):
                self._told(Speaker.OWNER, "event", payload.get("message"), at, start, notes)
        elif what == "agent_message":
            self._told(Speaker.AGENT, "event", payload.get("message"), at, start, notes)
        elif what == "item_completed":
            item = payload.get("item")
            if not isinstance(item, dict):
                return False
            speaker = {"UserMessage": Speaker.OWNER, "AgentMessage": Speaker.AGENT}.get(as_text(item.get("type")))
            if speaker:
                self._told(speaker, "item", _text(item.get("content")), at, start, notes)
        elif what == "thread_rolled_back":
            self._take_back(payload.get("num_turns"), notes)
        elif what not in _EVENTS:
            return False
        elif what in _TURN_ENDS:
            self.settle(notes)
        return True

    def _told(self, speaker: Speaker, channel: str, text: object, at: dt.datetime, start: int, notes: Notes) -> None:
        words = _own(text, speaker) if isinstance(text, str) else ""
        known, facts = digest_of((words,)), notes.facts
        doubtful = self.doubtful.pop(speaker, None)
        echo = facts.pop(f"echo {speaker}", None)
        facts[f"events {speaker}"] = True
        # Newer files tell a message as an item that was completed; should one hold both kinds, the second is an echo.
        twice = facts.get(f"last {speaker}") == ["item" if channel == "event" else "event", known]
        facts[f"last {speaker}"] = None if twice else [channel, known]
        if doubtful and doubtful.digest == known:
            notes.messages.append(doubtful.message)
        elif words and known != echo and not twice:
            notes.messages.append(Message(str(start), at, speaker, words))

    def _item(self, payload: dict[str, Any], at: dt.datetime, start: int, notes: Notes) -> bool:
        role = payload.get("role")
        if role in ("developer", "system", "tool"):
            return True
        if role not in ("user", "assistant"):
            return False
        speaker = Speaker.OWNER if role == "user" else Speaker.AGENT
        words = _own(_text(payload.get("content")), speaker)
        if words and not notes.facts.get(f"events {speaker}"):
            self.settle(notes)
            self.doubtful[speaker] = _Doubtful(Message(str(start), at, speaker, words), digest_of((words,)))
        return True

    def _older(self, entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
        """An entry of a file of mid-2025 or before: the items alone, only the first of them with a time."""
        kind, role = entry.get("type"), entry.get("role")
        if kind is None and role is None:
            if isinstance(entry.get("id"), str):
                _about(entry, at, notes)
            return "id" in entry or "record_type" in entry
        if role is None or kind not in (None, "message"):
            return kind in _NOT_TALK
        if role in ("developer", "system", "tool"):
            return True
        if role not in ("user", "assistant") or not at:
            return False
        speaker = Speaker.OWNER if role == "user" else Speaker.AGENT
        if words := _own(_text(entry.get("content", entry.get("message"))), speaker):
            notes.messages.append(Message(str(start), at, speaker, words))
        return True

    def _take_back(self, turns: object, notes: Notes) -> None:
        """The user went back: what was said from the last so many prompts on is no longer part of the talk."""
        self.settle(notes)
        prompts = [place for place, one in enumerate(notes.messages) if one.speaker is Speaker.OWNER]
        if not isinstance(turns, int) or turns <= 0:
            return
        notes.taken_back = notes.taken_back or turns > len(prompts)
        del notes.messages[prompts[-turns] if turns <= len(prompts) else 0 :]


def _about(told: dict[str, Any], at: dt.datetime | None, notes: Notes) -> None:
    """What the first such entry tells of the session. Later ones stand in what a fork or a sub-agent copied."""
    facts = notes.facts
    if "id" in facts:
        return
    source, started = told.get("source"), parse_time(told.get("timestamp")) or at
    by_program = isinstance(source, dict) and bool({"subagent", "sub_agent", "internal"} & source.keys())
    # `codex exec` is somebody's own prompt; through `mcp` another agent is talking.
    by_program = by_program or source in ("subagent", "mcp") or told.get("thread_source") == "subagent"
    facts["id"] = told["id"] if isinstance(told.get("id"), str) else ""
    facts["isolated"] = by_program or bool(told.get("parent_thread_id"))
    if isinstance(cwd := told.get("cwd"), str):
        facts["cwd"] = cwd
    if started:
        facts["started"] = started.isoformat()
    # Since 0.166 a fork names the entry of its parent where it branched off, and copies nothing.
    if told.get("forked_from_id") and "forked_from_ordinal_exclusive" not in told and at:
        facts["copied until"] = max(at, started or at).isoformat()


def _is_copy(at: dt.datetime, notes: Notes) -> bool:
    """Whether an entry of a fork stands in the session it was forked from.

    A fork begins with what was said before, all of it stamped with the moment of the fork, or still with its own times.
    """
    last = parse_time(notes.facts.get("copied until"))
    if last is None:
        return False
    if at > last + _BURST:
        del notes.facts["copied until"]
        return False
    notes.facts["copied until"] = max(at, last).isoformat()
    return True


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (block.get("text") for block in content if isinstance(block, dict))
    return "\n".join(part for part in parts if isinstance(part, str) and not part.lstrip().startswith(_INJECTED))


def _own(text: str, speaker: Speaker) -> str:
    """The speaker's own words in a text, without what the program or an editor put around them."""
    text = text.strip()
    if speaker is not Speaker.OWNER:
        return text
    if text.startswith(_INJECTED):
        return ""
    if text.startswith(_IDE):
        request = _REQUEST.search(text)
        return text[request.end() :].strip() if request else ""
    return text


SOURCE = Source(AGENT, find, read)
