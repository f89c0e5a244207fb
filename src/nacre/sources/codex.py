"""Codex: one JSONL file for each session below ~/.codex/sessions, by day (CODEX_HOME moves it).

Every prompt and every answer stands twice: as an event, which is what was on the screen, and as an item of what the
model was sent, where files and notes of the program stand amid it. The events are taken, the items only without them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from nacre.model.session import Kind, Message, Speaker
from nacre.sources.reading import Notes, as_dict, as_text, digest_of, follow, list_files, parse_time, time_field
from nacre.sources.transcript import Mark, Places, Reading, Source, Transcript

AGENT = "codex"
_NO_MESSAGE = frozenset(
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
_SPEAKERS = {"user": Speaker.OWNER, "assistant": Speaker.AGENT}
_OTHER_ROLES = ("developer", "system", "tool")
_TURN_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted"})
_INJECTED = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>", "<turn_aborted>"),
    *("<user_shell_command>", "<user_action>", "<skill>", "<hook_prompt", "<subagent_notification>", "<goal_context>"),
    *("<codex_internal_context", "<recommended_plugins>", "<permissions instructions>", "<collaboration_mode>"),
    *("<model_switch>", "<personality_spec>"),
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
    for transcript in list_files(AGENT, sorted(files, key=lambda path: path.name)):
        yield replace(transcript, key=f"{root}#{transcript.path.name}")


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    take = _Taker()
    time = time_field("timestamp", "created_at")
    skip = partial(_OUTPUT.search, endpos=400)
    reading, notes = follow(transcript.path, mark, until, take, skip=skip, time=time)
    take.settle(notes)
    kind = Kind.ISOLATED if notes.facts.get("isolated") else Kind.MAIN
    name = str(notes.facts.get("id") or transcript.path.stem[-36:])  # the name of a file ends in a UUID
    return replace(reading, session=notes.session(name, AGENT, kind))


class _Taker:
    """Takes entries in; `pending` holds the message of an item while it is not known whether an event repeats it."""

    def __init__(self) -> None:
        self.pending: dict[Speaker, Message] = {}

    def __call__(self, entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
        kind, payload = entry.get("type"), entry.get("payload")
        if kind == "session_meta" and isinstance(payload, dict):
            _note_session(payload, at, notes.facts)
            return True
        if "payload" not in entry:
            return _take_older(entry, at, start, notes)
        if not isinstance(payload, dict) or not at:
            return False
        if _is_copy(at, notes.facts):
            return True
        what = as_text(payload.get("type"))
        if kind == "event_msg":
            return self._take_event(what, payload, at, start, notes)
        if kind != "response_item":
            return kind in _NO_MESSAGE
        if what == "message":
            role = as_text(payload.get("role"))
            speaker = _SPEAKERS.get(role)
            text = _own_text(_joined(payload.get("content")), speaker) if speaker else ""
            if speaker and text and not notes.facts.get(f"events {speaker}"):
                self.settle(notes)
                self.pending[speaker] = Message(str(start), at, speaker, text)
            return speaker is not None or role in _OTHER_ROLES
        if what in _ITEMS:
            self.settle(notes)  # the agent is at work: no event repeats the messages before
        return what in _ITEMS

    def settle(self, notes: Notes) -> None:
        """Take the pending messages: no event repeated them. If one follows in the next reading, it is known for an echo."""
        for speaker, message in self.pending.items():
            notes.messages.append(message)
            notes.facts[f"echo {speaker}"] = digest_of((message.text,))
        self.pending.clear()

    def _take_event(self, what: str, payload: dict[str, Any], at: dt.datetime, start: int, notes: Notes) -> bool:
        if what in ("user_message", "agent_message"):
            speaker = Speaker.OWNER if what == "user_message" else Speaker.AGENT
            if speaker is Speaker.AGENT or payload.get("kind") not in ("user_instructions", "environment_context"):
                self._add(speaker, "event", as_text(payload.get("message")), at, start, notes)
        elif what == "item_completed":
            if not (item := as_dict(payload.get("item"))):
                return False
            by = {"UserMessage": Speaker.OWNER, "AgentMessage": Speaker.AGENT}.get(as_text(item.get("type")))
            if by:
                self._add(by, "item", _joined(item.get("content")), at, start, notes)
        elif what == "thread_rolled_back":
            # The user went back: what was said from the last so many prompts on is no longer part of the session.
            self.settle(notes)
            turns = payload.get("num_turns")
            if isinstance(turns, int) and turns > 0:
                prompts = [place for place, message in enumerate(notes.messages) if message.speaker is Speaker.OWNER]
                notes.taken_back = notes.taken_back or turns > len(prompts)
                del notes.messages[prompts[-turns] if turns <= len(prompts) else 0 :]
        elif what in _TURN_ENDS:
            self.settle(notes)
        else:
            return what in _EVENTS
        return True

    def _add(self, speaker: Speaker, channel: str, content: str, at: dt.datetime, start: int, notes: Notes) -> None:
        text, facts = _own_text(content, speaker), notes.facts
        digest = digest_of((text,))
        pending = self.pending.pop(speaker, None)
        echo = facts.pop(f"echo {speaker}", None)
        facts[f"events {speaker}"] = True
        # Newer files hold a message as an item that was completed; should one hold both kinds, the second is an echo.
        twice = facts.get(f"last {speaker}") == ["item" if channel == "event" else "event", digest]
        facts[f"last {speaker}"] = None if twice else [channel, digest]
        if pending and pending.text == text:
            notes.messages.append(pending)
        elif text and digest != echo and not twice:
            notes.messages.append(Message(str(start), at, speaker, text))


def _take_older(entry: dict[str, Any], at: dt.datetime | None, start: int, notes: Notes) -> bool:
    """An entry of a file of mid-2025 or before: the items alone, only the first of them with a time."""
    kind, role = entry.get("type"), entry.get("role")
    if kind is None and role is None:
        if isinstance(entry.get("id"), str):
            _note_session(entry, at, notes.facts)
        return "id" in entry or "record_type" in entry
    if role is None or kind not in (None, "message"):
        return kind in _NO_MESSAGE
    speaker = _SPEAKERS.get(role)
    if speaker is None or not at:
        return role in _OTHER_ROLES
    if text := _own_text(_joined(entry.get("content", entry.get("message"))), speaker):
        notes.messages.append(Message(str(start), at, speaker, text))
    return True


def _note_session(about: dict[str, Any], at: dt.datetime | None, facts: dict[str, Any]) -> None:
    """Note what the first such entry says of the session. Later ones stand in what a fork or a sub-agent copied."""
    if "id" in facts:
        return
    source, started = about.get("source"), parse_time(about.get("timestamp")) or at
    by_program = isinstance(source, dict) and bool({"subagent", "sub_agent", "internal"} & source.keys())
    # `codex exec` is somebody's own prompt; through `mcp` another agent is talking.
    by_program = by_program or source in ("subagent", "mcp") or about.get("thread_source") == "subagent"
    facts["id"] = about["id"] if isinstance(about.get("id"), str) else ""
    facts["isolated"] = by_program or bool(about.get("parent_thread_id"))
    if isinstance(cwd := about.get("cwd"), str):
        facts["cwd"] = cwd
    if started:
        facts["started"] = started.isoformat()
    # Since 0.166 a fork names the entry of its parent where it branched off, and copies nothing.
    if about.get("forked_from_id") and "forked_from_ordinal_exclusive" not in about and at:
        facts["copied until"] = max(at, started or at).isoformat()


def _is_copy(at: dt.datetime, facts: dict[str, Any]) -> bool:
    """Whether an entry of a fork stands in the session it was forked from.

    A fork begins with what was said before, all of it stamped with the moment of the fork, or still with its own times.
    """
    last = parse_time(facts.get("copied until"))
    if last is None:
        return False
    if at > last + _BURST:
        del facts["copied until"]
        return False
    facts["copied until"] = max(at, last).isoformat()
    return True


def _joined(content: object) -> str:
    if not isinstance(content, list):
        return as_text(content)
    parts = (as_dict(block).get("text") for block in content)
    return "\n".join(part for part in parts if isinstance(part, str) and not part.lstrip().startswith(_INJECTED))


def _own_text(text: str, speaker: Speaker) -> str:
    text = text.strip()
    if speaker is Speaker.OWNER and text.startswith(_INJECTED):
        return ""
    if speaker is Speaker.OWNER and text.startswith(_IDE):
        request = _REQUEST.search(text)
        return text[request.end() :].strip() if request else ""
    return text


SOURCE = Source(AGENT, find, read)
