"""Who listens in a session of OpenClaw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.capture.cursors import session_heading
from nacre.sources.openclaw import database, scope_of
from nacre.sources.registry import chat_hash
from nacre.sources.transcript import Places

from .store import Store, agent, head, says, user


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        ("agent:main:main", "main"),
        ("agent:main:telegram:direct:4711", "main"),
        ("agent:work:main", "main"),
        ("agent:main:main:heartbeat", "main"),
        ("agent:main:cron:nightly", None),
        ("agent:main:telegram:group:-100", "group:group-5fb96b"),
        ("agent:main:telegram:group:-100:topic:7", "group:group-5fb96b"),
        ("agent:main:slack:channel:c012", f"group:group-{chat_hash('slack:channel:c012')}"),
        ("agent:main:subagent:0f2e", None),
        ("agent:main:acp:0f2e", None),
        ("", None),
        ("unknown", None),
        ("global", None),
        ("hook:gmail:1", None),
        ("agent:main:hook:gmail:1", None),
        ("agent:main:slack:room:1", None),
        ("agent:main:whatsapp:123@g.us", None),
        ("agent:main:matrix:!room:server", None),
        ("agent:main:telegram:supergroup:5", None),
        ("agent:main:discord:guild:5:thread:6", None),
        ("agent:main:thread:5", None),
        ("agent:main:incognito-1", None),
        ("agent:main:telegram:group:-100:incognito-1", None),
    ],
)
def test_where_nothing_is_known_the_key_decides_and_what_it_does_not_tell_is_nobodys(
    tmp_path: Path, key: str, scope: str | None
) -> None:
    assert scope_of(Places(tmp_path), key) == scope


def test_a_group_is_called_as_the_headings_of_its_talks_have_it(store: Store) -> None:
    key = "agent:main:telegram:group:-100"
    store.session("g1", key, chat_type="group")
    store.node(key, current_session_id="g1", entry_json='{"subject":"Garden Club"}')
    store.add("g1", head("g1"), user("The dinner is on Friday", 1))
    session = store.read("g1").session
    assert session is not None
    assert session.group == "Garden Club"
    (*_, stamp) = session_heading(session, "g1", session.messages[0].at, 1, "", continued=False).split(" | ")
    assert scope_of(store.places, key) == stamp == "group:garden-club-5fb96b"


def test_two_groups_of_the_same_name_are_two(store: Store) -> None:
    for name, chat in (("Board", "-100"), ("board!!", "-666"), ("", "-7"), ("", "-8")):
        store.node(f"agent:main:telegram:group:{chat}", entry_json=json.dumps({"subject": name}))
    scopes = [scope_of(store.places, f"agent:main:telegram:group:{chat}") for chat in ("-100", "-666", "-7", "-8")]
    assert len(set(scopes)) == 4
    assert all(scope and scope.startswith(("group:board-", "group:group-")) for scope in scopes)


def test_of_several_people_only_the_one_that_openclaw_calls_the_owner_is_told_anything(store: Store) -> None:
    mine, theirs, silent = (f"agent:main:telegram:direct:{number}" for number in (111, 222, 333))
    for name, key, flag in (("a", mine, True), ("b", theirs, False)):
        store.session(name, key, transcript_updated_at=5)
        store.node(key, current_session_id=name, created_via="channel")
        store.add(name, head(name), says("user", "hello", 1, __openclaw={"senderIsOwner": flag}), agent("hi", 2))
    store.node(silent, created_via="channel")
    assert [scope_of(store.places, key) for key in (mine, theirs, silent)] == ["main", None, None]
    store.session("c", mine)  # begun anew, and nothing written yet
    store.node(mine, current_session_id="c", created_via="channel")
    assert scope_of(store.places, mine) == "main"
    store.node("agent:main:subagent:1", created_via="spawn", parent_session_key=theirs)
    assert scope_of(store.places, "agent:main:subagent:1") is None


def test_where_nothing_tells_the_owner_the_only_person_who_writes_is_the_owner(store: Store) -> None:
    first, second = "agent:main:matrix:direct:@robin:home.org", "agent:main:matrix:direct:@robin:elsewhere.org"
    store.node(first)
    assert scope_of(store.places, first) == "main"
    assert scope_of(store.places, second) is None
    store.node(second)
    assert scope_of(store.places, first) is None


def test_what_the_owner_opened_at_the_gateway_is_the_owners_and_what_nobody_made_is_nobodys(store: Store) -> None:
    store.node("agent:main:dashboard:1", created_via="operator")
    store.node("agent:main:custom", created_via="spawn")
    store.node("agent:main:hook:gmail:1", created_via="operator")
    assert scope_of(store.places, "agent:main:dashboard:1") == "main"
    assert scope_of(store.places, "agent:main:custom") is None
    assert scope_of(store.places, "agent:main:hook:gmail:1") is None


def test_a_direct_chat_is_nobodys_while_its_database_cannot_be_read(store: Store) -> None:
    store.close()
    for one in store.path.parent.iterdir():
        one.unlink()
    store.path.write_bytes(b"no database" * 100)
    assert scope_of(store.places, "agent:main:telegram:direct:111") is None
    assert scope_of(store.places, "agent:main:main") == "main"


def test_a_direct_key_whose_session_is_shared_is_a_group(store: Store) -> None:
    store.session("s1", "agent:main:main", chat_type="group")
    store.node("agent:main:main", current_session_id="s1")
    assert scope_of(store.places, "agent:main:main") == f"group:group-{chat_hash('main')}"


def test_a_sub_agent_hears_what_the_session_hears_that_made_it(store: Store) -> None:
    group, below, deeper = "agent:main:telegram:group:-100", "agent:main:subagent:1", "agent:main:subagent:2"
    store.node(group, entry_json='{"subject":"Garden Club"}')
    store.node(below, created_via="spawn", parent_session_key=group)
    store.node(deeper, created_via="spawn", spawned_by=below)
    assert scope_of(store.places, deeper) == "group:garden-club-5fb96b"
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
