"""Who listens in a session of OpenClaw."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.sources.openclaw.listener import database, scope_of
from nacre.sources.transcript import Places

from .store import Store, head, user


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        ("agent:main:main", "main"),
        ("agent:main:telegram:direct:4711", "main"),
        ("agent:main:cron:nightly", "main"),
        ("agent:main:telegram:group:-100", "group:group"),
        ("agent:main:slack:channel:c012", "group:group"),
        ("agent:main:subagent:0f2e", None),
        ("agent:main:acp:0f2e", None),
        ("", "main"),
    ],
)
def test_where_nothing_is_known_the_key_decides_and_a_sub_agent_hears_nothing(
    tmp_path: Path, key: str, scope: str | None
) -> None:
    assert scope_of(Places(tmp_path), key) == scope


def test_a_group_is_called_as_the_headings_of_its_talks_have_it(store: Store) -> None:
    key = "agent:main:telegram:group:-100"
    store.session("g1", key, chat_type="group")
    store.node(key, current_session_id="g1", entry_json='{"subject":"Garden Club"}')
    store.add("g1", head("g1"), user("The dinner is on Friday", 1))
    assert scope_of(store.places, key) == "group:garden-club"
    session = store.read("g1").session
    assert session is not None
    assert session.group == "Garden Club"


def test_a_direct_key_whose_session_is_shared_is_a_group(store: Store) -> None:
    store.session("s1", "agent:main:main", chat_type="group")
    store.node("agent:main:main", current_session_id="s1")
    assert scope_of(store.places, "agent:main:main") == "group:group"


def test_a_sub_agent_hears_what_the_session_hears_that_made_it(store: Store) -> None:
    group, below, deeper = "agent:main:telegram:group:-100", "agent:main:subagent:1", "agent:main:subagent:2"
    store.node(group, entry_json='{"subject":"Garden Club"}')
    store.node(below, created_via="spawn", parent_session_key=group)
    store.node(deeper, created_via="spawn", spawned_by=below)
    assert scope_of(store.places, deeper) == "group:garden-club"
    store.node(below, created_via="spawn", parent_session_key="agent:main:main")
    store.node("agent:main:main")
    assert scope_of(store.places, deeper) == "main"


def test_sub_agents_that_made_each_other_hear_nothing(store: Store) -> None:
    store.node("agent:main:subagent:1", parent_session_key="agent:main:subagent:2")
    store.node("agent:main:subagent:2", parent_session_key="agent:main:subagent:1")
    assert scope_of(store.places, "agent:main:subagent:1") is None


def test_a_key_cannot_lead_out_of_the_folder_of_agents(tmp_path: Path) -> None:
    places = Places(tmp_path)
    for key in ("agent:../../etc:main", "agent:..:main", "agent::main"):
        assert database(places, key).parent.parent.parent == tmp_path / ".openclaw" / "agents"
