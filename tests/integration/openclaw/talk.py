"""What is done with OpenClaw, and what must be seen: installing, tools, turns, /new, /refresh, a group."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.integration.openclaw.claw import Claw
from tests.integration.openclaw.stub import Stub, since_answer, text_of

from nacre.sources.chats import sign_of

PLUGIN = Path(__file__).resolve().parents[3] / "src" / "nacre" / "plugins" / "openclaw"
GROUP = "agent:main:telegram:group:-100123"
TODAY = dt.datetime.now().astimezone()
YESTERDAY = (
    f"{TODAY - dt.timedelta(days=1):%Y-%m-%d}"  # what is older, the jobs of the daemon may press into weeks meanwhile
)
LOG = f"""\
# {YESTERDAY}

## 14:05 session:61871d67 | 12 messages
- [PREF] Use pnpm, never npm, in the shop repository
- [决策] 青梧平台的备份密钥存放在三楼的档案柜里

## 15:00 session:71871d67 | 4 messages | group:group-{sign_of(GROUP)}
- The garden club meets at Rosa's on Friday
"""
RULE = (
    "The shop repository is released by Ada alone"  # stands in MEMORY.md, which OpenClaw itself puts before its model
)
TASK = "Move the shop to the new host"
_WITHIN = 150.0


def install(claw: Claw) -> None:
    """The workspace, the plugin in its slot, and what OpenClaw says about it."""
    claw.nacre_run("init", str(claw.workspace))
    (claw.workspace / "memory" / f"{YESTERDAY}.md").write_text(LOG, "utf8")
    longterm = claw.workspace / "MEMORY.md"
    text = longterm.read_text("utf8")
    longterm.write_text(text.replace("## Key Decisions\n", f"## Key Decisions\n- {RULE}\n"), "utf8")
    claw.nacre_run("wal", "task", TASK)
    claw.nacre_run("sync")  # the first capture is the user's own
    show(claw, "plugins", "install", "--link", str(PLUGIN), "--force", "--accept-capabilities")
    settings = {"hooks.allowConversationAccess": True, "config.command": claw.nacre}
    told = [{"path": f"plugins.entries.nacre.{name}", "value": value} for name, value in settings.items()]
    show(claw, "config", "set", "--batch-json", json.dumps(told))
    seen = show(claw, "plugins", "inspect", "nacre", "--runtime")
    assert "Status: loaded" in seen
    assert all(
        name in seen for name in ("memory_search", "memory_state", "before_prompt_build", "agent_end", "refresh")
    )
    assert "configuration checks passed" in show(claw, "plugins", "doctor")
    assert "Config valid" in show(claw, "config", "validate")
    chosen = json.loads((claw.home / "openclaw.json").read_text("utf8"))["plugins"]["slots"]["memory"]
    assert chosen == "nacre"
    assert "daily" in show(claw, "nacre", "search", "pnpm")


def talk(claw: Claw, model: Stub) -> None:
    """The gateway runs: everything a user would notice."""
    _tools(claw)
    _turns(claw, model)
    _group(claw, model)
    _new(claw)
    _refresh(claw)
    _flush(claw, model)
    _daemon_goes(claw)


def _tools(claw: Claw) -> None:
    heading("POST /tools/invoke")
    for query, words in (("pnpm or npm in the shop repository", "pnpm"), ("备份密钥在哪里", "三楼的档案柜")):
        found = claw.invoke("memory_search", query=query)
        print(f"memory_search {query}: {found['content'][0]['text'][:300]}")
        assert words in found["details"]["results"][0]["snippet"]
    got = claw.invoke("memory_get", path=f"memory/{YESTERDAY}.md#L4-L4")
    assert got["details"]["text"].startswith("- [PREF] Use pnpm")
    claw.invoke("memory_write", text="The deploy key is changed on the first Monday of each month", type="TECH")
    found = claw.invoke("memory_search", query="when is the deploy key changed")
    assert "first Monday" in found["details"]["results"][0]["snippet"]
    refused = claw.invoke("memory_write", text="the password of the router is hunter2-Xk93mPq7")
    print(f"memory_write of a password: {refused['content'][0]['text']}")
    assert "results" not in refused["details"]
    assert "error" in refused["details"]


def _turns(claw: Claw, model: Stub) -> None:
    heading("agent turns")
    asked = turn(claw, model, "Do we use pnpm or npm in the shop repository?")
    system, user = text_of(asked["messages"][0]), now(asked)
    print(f"the model was given:\n{user}\n")
    assert "Your memory is kept by Nacre" in system
    # Told by our section or by AGENTS.md, to which the section then points, and not by both.
    assert system.count("Write it down in the moment: decisions") == 1
    assert "## Memory Recall" not in system
    assert "Use pnpm, never npm" in user
    assert TASK in user
    everything = json.dumps(asked["messages"], ensure_ascii=False)
    assert everything.count(RULE) == 1  # OpenClaw's own injection of MEMORY.md, and no second one
    assert {"memory_search", "memory_get", "memory_write"} <= {one["function"]["name"] for one in asked["tools"]}
    asked = turn(claw, model, "We decided that the release train leaves every second Thursday, from now on.")
    fresh = since_answer(asked["messages"])
    earlier = [text_of(one) for one in asked["messages"][1:] if one not in fresh]
    assert any("pnpm or npm" in one for one in earlier)
    assert not any("nacre-memory" in one for one in earlier), "what was given stays out of the transcript"
    asked = turn(claw, model, 'CALL memory_search {"query": "备份密钥存放在哪里"}', until_tool=True)
    print(f"the model called memory_search and read: {now(asked)[:300]}")
    assert "三楼的档案柜" in now(asked)


def _group(claw: Claw, model: Stub) -> None:
    heading("a group")
    found = claw.invoke("memory_search", GROUP, query="pnpm shop repository package manager")
    assert found["details"]["results"] == []
    found = claw.invoke("memory_search", GROUP, query="where does the garden club meet")
    assert "Rosa" in found["details"]["results"][0]["snippet"]
    refused = claw.invoke("memory_write", GROUP, text="The club has a new treasurer")
    print(f"memory_write in a group: {refused['content'][0]['text']}")
    assert "error" in refused["details"]
    asked = turn(
        claw, model, "Do we use pnpm or npm in the shop repository? And where does the garden club meet?", GROUP
    )
    print(f"the model was given:\n{now(asked)}\n")
    assert "garden club meets" in now(asked)
    assert "Use pnpm" not in now(asked)
    assert TASK not in json.dumps(asked["messages"], ensure_ascii=False)
    assert "memory_write" not in text_of(asked["messages"][0]).partition("kept by Nacre")[2][:2000]


def _new(claw: Claw) -> None:
    heading("/new")
    log = claw.workspace / "memory" / f"{TODAY:%Y-%m-%d}.md"
    assert "session:" not in log.read_text("utf8")
    print(claw.command("/new"))
    until(lambda: "session:" in log.read_text("utf8"), "the talk is captured")
    print(log.read_text("utf8"))
    assert "release train" in log.read_text("utf8")


def _refresh(claw: Claw) -> None:
    heading("/refresh")
    hot = claw.workspace / "memory_fs" / "hot"
    claw.say("/refresh")
    until(lambda: any(hot.glob("*.md")), "the talk is put away")
    print(*sorted(path.name for path in hot.glob("*.md")))


def _flush(claw: Claw, model: Stub) -> None:
    heading("the flush before compaction")
    turn(claw, model, "FULL now, says the stub.")
    before = len(model.asked)
    claw.say("And what do we do next?")

    def flushed() -> list[dict[str, Any]]:
        told = [one for one in model.asked[before:] if "about to be compacted" in json.dumps(one["messages"])]
        return [one for one in told if "Write only into memory/" in json.dumps(one["messages"])]

    until(lambda: bool(flushed()), "the model is asked to write down what lasts")
    print(
        f"the model was told:\n{now(flushed()[0])}\nwith the tools {[one['function']['name'] for one in flushed()[0]['tools']]}\n"
    )


def _daemon_goes(claw: Claw) -> None:
    heading("the daemon ends, and the next question finds another")
    claw.nacre_run("serve", "--stop")
    found = claw.invoke("memory_search", query="pnpm or npm in the shop repository")
    assert found["details"]["results"], found


def turn(
    claw: Claw, model: Stub, message: str, session: str = "agent:main:main", *, until_tool: bool = False
) -> dict[str, Any]:
    """Say something; the request that the model was sent for it, or the one with what its tool call returned."""
    before = len(model.asked)
    claw.say(message, session)

    def sent() -> list[dict[str, Any]]:
        fresh = [(one, since_answer(one["messages"])) for one in model.asked[before:]]
        if until_tool:
            return [one for one, last in fresh if any(part["role"] == "tool" for part in last)]
        return [one for one, last in fresh if any(message in text_of(part) for part in last)]

    until(lambda: bool(sent()), "the model is asked")
    until(lambda: _is_at_rest(claw, session), "the turn ends")
    return sent()[-1]


def now(asked: dict[str, Any]) -> str:
    """What a request holds beyond what was said before."""
    return "\n".join(text_of(one) for one in since_answer(asked["messages"]))


def _is_at_rest(claw: Claw, session: str) -> bool:
    """Whether the answer stands in OpenClaw's own transcript."""
    path = claw.state / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    try:
        rows = connection.execute(
            "select e.event_json from transcript_events e join session_nodes n on n.current_session_id = e.session_id"
            " where n.session_key = ? order by e.seq desc limit 3",
            (session,),
        ).fetchall()
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return any('"role":"assistant"' in (row[0] or "") for row in rows[:2])


def until(happened: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _WITHIN
    while not happened():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.3)


def heading(title: str) -> None:
    print(f"== {title}", flush=True)


def show(claw: Claw, *arguments: str) -> str:
    """Run a command of OpenClaw and show what it prints."""
    heading(f"openclaw {' '.join(arguments)}")
    told = claw.run(*arguments)
    print(told, flush=True)
    return told
