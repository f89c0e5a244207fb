from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.config.settings import Config
from nacre.text import json5
from nacre.vault.discover import agent_workspaces


def openclaw(home: Path, text: str) -> Path:
    path = home / ".openclaw" / "openclaw.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_each_agent_of_openclaw_has_its_workspace(tmp_path: Path) -> None:
    openclaw(
        tmp_path,
        """{
          // the agents
          agents: {
            /* all of them */
            list: [ { id: 'main', default: true }, { id: "Work", workspace: "~/work" }, { id: "coder", }, ],
          },
        }""",
    )
    assert agent_workspaces(Config(), {}, tmp_path) == {
        "main": tmp_path / ".openclaw" / "workspace",
        "work": tmp_path / "work",
        "coder": tmp_path / ".openclaw" / "workspace-coder",
    }


def test_agents_of_the_current_openclaw_are_listed_by_their_ids(tmp_path: Path) -> None:
    openclaw(
        tmp_path,
        """{agents: {entries: {coder: {}, Work: {default: true, workspace: "~/work"}, broken: 3}, list: [{id: "old"}]}}""",
    )
    found = agent_workspaces(Config(), {}, tmp_path)
    assert list(found.items()) == [("work", tmp_path / "work"), ("coder", tmp_path / ".openclaw" / "workspace-coder")]


def test_a_default_workspace_holds_for_main(tmp_path: Path) -> None:
    openclaw(tmp_path, '{"agents":{"defaults":{"workspace":"${PLACE}/mine"},"list":[{"id":"main"},{"id":"b"}]}}')
    assert agent_workspaces(Config(), {"PLACE": "/srv"}, tmp_path) == {
        "main": Path("/srv/mine"),
        "b": Path("/srv/mine/b"),
    }


def test_openclaws_own_variables_move_its_files(tmp_path: Path) -> None:
    state, settings = tmp_path / "state", tmp_path / "settings.json"
    settings.write_text("{agents:{list:[{id:'a',default:true},{id:'b'}]}}")
    env = {"OPENCLAW_STATE_DIR": str(state), "OPENCLAW_CONFIG_PATH": str(settings)}
    assert agent_workspaces(Config(), env, tmp_path) == {"a": state / "workspace", "b": state / "workspace-b"}


def test_our_own_settings_win(tmp_path: Path) -> None:
    openclaw(tmp_path, "{}")
    found = agent_workspaces(Config(agents={"main": "~/elsewhere", "x": "/x"}), {}, tmp_path)
    assert found == {"main": tmp_path / "elsewhere", "x": Path("/x")}


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[1]", '{"agents": 3}', '{"agents":{"list":[3,{"id":4}]}}'])
def test_settings_beyond_us_do_no_harm(tmp_path: Path, text: str) -> None:
    openclaw(tmp_path, text)
    assert set(agent_workspaces(Config(), {}, tmp_path)) <= {"main"}
    (tmp_path / ".openclaw" / "openclaw.json").unlink()
    assert agent_workspaces(Config(), {}, tmp_path) == {}


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_json_is_read_as_json_also_with_comments(value: Any) -> None:
    text = json.dumps(value)
    assert json5.loads(text) == value
    assert json5.loads(f"// head\n{text} /* tail */") == value


@given(st.text(alphabet="{}[]:,'\"\\/*ab1 \n"))
def test_nonsense_is_a_value_error_at_worst(text: str) -> None:
    with contextlib.suppress(ValueError):
        json5.loads(text)


def test_escapes_numbers_and_bare_keys() -> None:
    assert json5.loads(r"{a: 'it\'s \x41', 'b': 0x1F, c: -1.5, d: [true, null,],}") == {
        "a": "it's A",
        "b": 31,
        "c": -1.5,
        "d": [True, None],
    }
