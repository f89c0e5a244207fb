"""Codex: one JSONL file for each session below ~/.codex/sessions, by day (CODEX_HOME moves it).

Every prompt and every answer stands twice: as an event, which is what was on the screen, and as an item of what the
model was sent, where files and notes of the program stand amid it. Items are taken only until there are events.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from nacre.model import Session, Speaker
from nacre.sources import transcript as reading
from nacre.sources.transcript import Mark, Notes, Places, Reading, Source, Transcript, as_text, parse_time

AGENT = "codex"
_SPEAKERS = {"user": Speaker.OWNER, "assistant": Speaker.AGENT}
_EVENTS = {"user_message": Speaker.OWNER, "agent_message": Speaker.AGENT}
_COMPLETED = {"UserMessage": Speaker.OWNER, "AgentMessage": Speaker.AGENT}
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
    root = places.root(AGENT)
    files = [*root.glob("sessions/*/*/*/rollout-*.jsonl"), *root.glob("archived_sessions/rollout-*.jsonl")]
    for transcript in reading.list_files(AGENT, sorted(files, key=lambda path: path.name)):
        yield replace(transcript, key=f"{root}#{transcript.path.name}")


def read(transcript: Transcript, mark: Mark | None, until: dt.datetime | None) -> Reading:
    def make(notes: Notes) -> Session:
        name = str(notes.facts.get("id") or transcript.path.stem[-36:])  # the name of a file ends in a UUID
        return notes.session(name, AGENT, isolated=notes.facts.get("isolated"))

    skip, time = partial(_OUTPUT.search, endpos=400), reading.time_field("timestamp")
    return reading.follow(transcript.path, mark, until, _take, make, skip=skip, time=time)


def _take(entry: dict[str, Any], at: dt.datetime | None, start: str, notes: Notes) -> None:
    kind = entry.get("type")
    payload = entry["payload"]
    if kind == "session_meta":
        _note_session(payload, at, notes.facts)
        return
    what = payload.get("type")
    if at and _is_copy(at, notes.facts):
        return
    if kind == "event_msg" and what in _EVENTS:
        if payload.get("kind") not in ("user_instructions", "environment_context"):
            _add(_EVENTS[what], "event", payload["message"], at, start, notes)
    elif kind == "event_msg" and what == "item_completed":
        if speaker := _COMPLETED.get(payload["item"].get("type")):
            _add(speaker, "completed", _joined(payload["item"].get("content")), at, start, notes)
    elif kind == "event_msg" and what == "thread_rolled_back" and (turns := max(0, int(payload["num_turns"]))):
        # The user went back: what was said from the last so many prompts on is no longer part of the session.
        prompts = [place for place, message in enumerate(notes.messages) if message.speaker is Speaker.OWNER]
        if turns > len(prompts) and notes.resumed:
            raise reading.TakenBack
        del notes.messages[prompts[-turns] if turns <= len(prompts) else 0 :]
    elif kind == "response_item" and what == "message":
        speaker = _SPEAKERS.get(payload.get("role", ""))
        if speaker and not notes.facts.get(f"events {speaker}"):
            _add(speaker, "item", _joined(payload.get("content")), at, start, notes)


def _add(speaker: Speaker, channel: str, content: str, at: dt.datetime | None, start: str, notes: Notes) -> None:
    """Add a message unless another channel had the same text just before."""
    text, facts = _own_text(content, speaker), notes.facts
    if channel != "item":
        facts[f"events {speaker}"] = True
    if not text:
        return
    digest = reading.digest_of((text,))
    last, channels = facts.get(f"last {speaker}") or ("", [])
    is_echo = digest == last and channel not in channels
    facts[f"last {speaker}"] = [digest, [*channels, channel] if is_echo else [channel]]
    if not is_echo:
        notes.add(start, at, speaker, text)


def _note_session(about: dict[str, Any], at: dt.datetime | None, facts: dict[str, Any]) -> None:
    """Note the facts in the first such entry; later ones were copied by a fork or a sub-agent."""
    if "id" in facts:
        return
    source = about.get("source")
    by_program = isinstance(source, dict) and bool({"subagent", "sub_agent", "internal"} & source.keys())
    # `codex exec` is somebody's own prompt; through `mcp` another agent is talking.
    by_program = by_program or source in ("subagent", "mcp") or about.get("thread_source") == "subagent"
    facts["id"] = as_text(about.get("id"))
    facts["isolated"] = by_program or bool(about.get("parent_thread_id"))
    facts["cwd"] = as_text(about.get("cwd"))

    # Since 0.166 a fork names the entry of its parent where it branched off, and copies nothing.
    if about.get("forked_from_id") and "forked_from_ordinal_exclusive" not in about and at:
        facts["copied until"] = max(at, parse_time(about.get("timestamp")) or at).isoformat()


def _is_copy(at: dt.datetime, facts: dict[str, Any]) -> bool:
    """Whether a fork copied an entry from its origin: those at its beginning, stamped with its moment or earlier."""
    last = parse_time(facts.pop("copied until", None))
    if last is None or at > last + _BURST:
        return False
    facts["copied until"] = max(at, last).isoformat()
    return True


def _joined(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = (block.get("text") for block in content or ())
    return "\n".join(part for part in parts if part and not part.lstrip().startswith(_INJECTED))


def _own_text(text: str, speaker: Speaker) -> str:
    text = text.strip()
    if speaker is Speaker.OWNER and text.startswith(_INJECTED):
        return ""
    if speaker is Speaker.OWNER and text.startswith(_IDE):
        request = _REQUEST.search(text)
        return text[request.end() :].strip() if request else ""
    return text


SOURCE = Source(AGENT, find, read)
