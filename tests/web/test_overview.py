"""The views that look over everything tell what really happened, on the page and to programs; and history takes it back."""

from __future__ import annotations

import datetime as dt
import html
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.mcp.conftest import nacre
from tests.web.conftest import Page

from nacre.brain.journal import note, note_asked
from nacre.brain.orders import Item, Order
from nacre.jobs import journal
from nacre.memory import Memory
from nacre.vault.refcount import new_recall, write_recalls

LOG = """# 2026-03-20

## 09:00 session:aaaa1111 | 4 messages | project:shop
- [PEOPLE] Mara Olsen checks every invoice, and Ingrid Solberg signs it
- [TECH] The shop runs on PostgreSQL, says Mara Olsen
- [PEOPLE] 周敏负责核对发票
- [PEOPLE] 小满海鲜过敏
- [PEOPLE] 小满数学考了 98，高兴
- [TEMP] 小问题不少
- [TEMP] 小问题改完了
"""


@pytest.fixture
def named(root: Path) -> Path:
    (root / "memory" / "2026-03-20.md").write_text(LOG, "utf8")
    return root


def test_people_and_things_have_profiles_with_days_sources_and_relations(named: Path, page: Page) -> None:
    shown, data = page.html("/about"), page.data("about")
    known = {row["name"]: row for row in data["names"]}
    assert known["Mara Olsen"] == {"name": "Mara Olsen", "kind": "name", "entries": 2, "last": "2026-03-20"}
    assert known["shop"]["kind"] == "project"
    assert {"周敏", "小满"} <= known.keys()
    assert not {"小问", "高兴"} & known.keys()
    assert all(f">{html.escape(name)} <" in shown for name in known)

    profile = page.data("about?name=mara+olsen")
    assert (profile["name"], profile["count"], profile["first"]) == ("Mara Olsen", 2, "2026-03-20")
    assert {entry["session"] for entry in profile["entries"]} == {"aaaa1111"}
    assert {"Ingrid Solberg", "PostgreSQL", "shop"} <= {row["name"] for row in profile["relations"]}
    own = page.html("/about/mara%20olsen")
    for entry in profile["entries"]:
        assert html.escape(entry["text"]) in own
        assert f"{entry['path']}:{entry['startLine']}" in own
        assert f'href="/entry?id={entry["id"]}"' in own
    # Of a project also what does not name it.
    assert any("versioned by header" in entry["text"] for entry in page.data("about?name=shop")["entries"])
    assert page.client.get("/about/Nobody").status_code == 404
    assert "周敏负责核对发票" in page.html("/about/周敏")


def test_about_on_the_command_line_in_both_languages(named: Path) -> None:
    def told(*words: str, language: str = "en") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "NACRE_LANGUAGE": language}
        command = [*nacre(named), "about", *words]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)

    asked = told("Ingrid", "Solberg")
    assert asked.stdout.startswith("2026-03-20\tMara Olsen checks every invoice")
    assert "Ingrid Solberg: 1 entry" in asked.stderr
    assert "Mentioned with: " in asked.stderr
    chinese = told("周敏", language="zh")
    assert "memory/2026-03-20.md:6" in chinese.stdout
    assert "周敏：1 条" in chinese.stderr
    with Memory.open(named) as memory:
        assert json.loads(told("Mara Olsen", "--json").stdout) == memory.about("Mara Olsen").as_plain()
        assert json.loads(told("--json").stdout) == [known._asdict() for known in memory.names()]
    missing = told("Nobody")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "Nothing in memory mentions" in missing.stderr


def test_what_was_said_of_a_name_and_no_longer_holds_says_what_does(root: Path) -> None:
    for day, text in (("04-01", "We deploy with Fabric, always"), ("04-08", "We moved from Fabric to Ansible")):
        with Memory.open(root, now=f"2026-{day}T12:00") as memory:
            memory.remember(f"Remember: {text}", "PREF", project="*")
    with Memory.open(root, now="2026-04-09T03:00") as memory:
        memory.tidy()
        ended = [mention for mention in memory.about("Fabric").mentions if mention.ended]
        assert all(mention.now and "Ansible" in mention.now for mention in ended)


def test_growth_counts_what_was_written_and_when_it_was_recalled(root: Path, page: Page) -> None:
    with Memory.open(root) as memory:
        memory.remember("Invoices go out on the 25th", "PROJ", project="*")
        recall = new_recall(memory.clock, "MEMORY.md", "x", (1, 2), "get")
        write_recalls(memory.workspace, [recall, recall])
        now = memory.clock.now()
    shown, data = page.html("/growth"), page.data("growth?days=30")
    assert (data["period"], len(data["days"])) == (30, 30)
    today = data["days"][-1]
    assert (today["day"], today["entries"]) == (now.date().isoformat(), 1)
    assert today["bytes"] == len(b"- [PROJ] Invoices go out on the 25th")
    assert data["categories"] == [{"name": "PROJ", "entries": 1}]
    assert sum(map(sum, data["recalls"])) == 2
    assert data["recalls"][now.weekday()][now.hour] == 2
    assert f"<title>{today['day']}: 1</title>" in shown
    assert re.search(r"<title>\w+ \d\d:00: 2</title>", shown)
    assert page.client.get("/api/growth?days=31").status_code == 400


def test_the_brain_shows_orders_their_cost_and_what_the_gates_dropped(root: Path, page: Page) -> None:
    assert "at no cost" in page.html("/brain")
    workspace, now = Memory.open(root).workspace, dt.datetime.now(dt.UTC)
    order = Order("extract", "en", (Item("m1", "Invoices are <b>due</b>"),))
    note_asked(workspace, order, "claude-code", now)
    note(workspace, order, "answered", now, answer='{"entries": []}', tokens=1321)
    claims = [("number", "It costs <i>40</i> euros")]
    note(workspace, order, "checked", now, kept=2, dropped={"number": 1}, claims=claims)
    shown, data = page.html(f"/brain?order={order.key[:8]}"), page.data(f"brain?order={order.key[:8]}")
    (row,) = data["orders"]
    assert (row["work"], row["tokens"], row["kept"], row["dropped"]) == ("extract", 1321, 2, {"number": 1})
    assert data["days"][-1]["tokens"] == data["brain"]["tokens"] == 1321
    assert data["dropped"] == {"number": 1}
    assert data["order"]["text"] == order.text
    assert "&lt;data " in shown  # as the model was told where it begins
    assert "It costs &lt;i&gt;40&lt;/i&gt; euros" in shown
    page.post("/preferences", language="zh")
    assert "数字无出处" in page.html("/brain")


def test_problems_are_shown_with_what_mends_them(root: Path, page: Page) -> None:
    before = page.data("problems")["problems"]
    assert ("No problems found." in page.html("/problems")) == (not before)
    (root / "MEMORY.md").write_text(
        "# L\n\n## Key Decisions\n- It was <b>decided</b>\n- Use pnpm\n- Use pnpm\n", "utf8"
    )
    (root / "memory" / "2026-03-21.md").write_bytes(b"# 2026-03-21\n\n- \xff\xfe\n")
    root.chmod(0o777)
    shown, data = page.html("/problems?deep=1"), page.data("problems?deep=1")
    assert "open to others" in {problem["kind"] for problem in data["problems"]}
    assert {"duplicate", "dangling"} <= {finding["kind"] for finding in data["health"]["findings"]}
    for problem in data["problems"]:
        assert html.escape(problem["message"], quote=False) in shown.replace("&#34;", '"').replace("&#39;", "'")
        assert problem["remedy"]
    assert "<b>decided" not in shown
    assert f'<span class="grade">{data["health"]["grade"]}</span>' in shown
    command = [*nacre(root), "health", "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True, env=os.environ).stdout)
    assert {name: told[name] for name in ("grade", "points", "findings")} == {
        name: data["health"][name] for name in ("grade", "points", "findings")
    }


def test_jobs_show_their_last_runs_and_the_next(root: Path, page: Page) -> None:
    assert "No runs yet." in page.html("/jobs")
    workspace, now = Memory.open(root).workspace, dt.datetime.now(dt.UTC)
    run = journal.begin_run(workspace, "memory-tidy", now, window=now, attempt=1, why="time")
    journal.end_run(workspace, run, now, "failed", seconds=1.25, said="The disk <full>.")
    shown, data = page.html("/jobs"), page.data("jobs")
    states = {state["name"]: state for state in data["states"]}
    assert states["memory-tidy"]["failures"] == 1
    assert states["memory-sync"]["next"]
    assert (data["runs"][0]["job"], data["runs"][0]["said"]) == ("memory-tidy", "The disk <full>.")
    assert "The disk &lt;full&gt;." in shown
    assert "failing since" in shown


def test_history_shows_every_change_as_a_difference_and_takes_it_back(root: Path, page: Page) -> None:
    with Memory.open(root) as memory:
        entry = memory.remember("Invoices <b>go</b> out on the 25th", "PROJ", project="*")
    log = root / entry.path
    data = page.data("history")
    last = data["operations"][0]
    assert (last["command"], last["files"], last["undo"]) == ("remember", [entry.path], True)
    assert not data["operations"][-1]["undo"]  # the making of the workspace
    diff = page.data(f"history?operation={last['id']}")["diff"]
    assert "+- [PROJ] Invoices <b>go</b> out on the 25th" in diff["lines"]
    shown = page.html(f"/history?operation={last['id']}")
    assert "<ins>+- [PROJ] Invoices &lt;b&gt;go&lt;/b&gt; out on the 25th</ins>" in shown
    assert f'name="operation" value="{last["id"]}"' in shown
    assert page.client.post("/undo", data={"operation": str(last["id"])}).status_code == 403
    assert "25th" in log.read_text("utf8")
    answer = page.post("/undo", operation=str(last["id"]), back="/history")
    assert answer.headers["location"].startswith("/history?did=undo")
    assert not log.exists() or "25th" not in log.read_text("utf8")
    newest, before, *_ = page.data("history")["operations"]
    assert (newest["undoes"], before["state"], before["undo"]) == ([last["id"]], "undone", False)
    assert page.client.get("/api/history?operation=999").status_code == 404


def test_history_is_read_page_by_page(root: Path, page: Page) -> None:
    with Memory.open(root) as memory:
        for number in range(35):
            memory.remember(f"Note number {number}", project="*")
    first, second = page.data("history"), page.data("history?page=2")
    assert (len(first["operations"]), first["older"], second["older"]) == (30, True, False)
    assert first["operations"][-1]["id"] == second["operations"][0]["id"] + 1
    assert 'href="/history?page=2"' in page.html("/history")


@pytest.mark.parametrize("place", ["/about", "/growth", "/brain", "/problems", "/jobs", "/history"])
def test_every_view_speaks_both_languages_and_executes_nothing(named: Path, page: Page, place: str) -> None:
    hostile = '<script>alert(1)</script> "><img src=x onerror=alert(2)> Bobby Tables says javascript:alert(3)'
    with Memory.open(named) as memory:
        memory.remember(hostile, "PEOPLE", project="<img src=x>")
    number = page.data("history")["operations"][0]["id"]
    for shown in (page.html(place), page.html("/about/Bobby Tables"), page.html(f"/history?operation={number}")):
        assert len(re.findall(r"<script[^>]*>", shown)) == 2
        assert "<img" not in shown
        assert not re.search(r'href="(?!/|#|https?://|mailto:)', shown)
        assert " style=" not in shown
    page.post("/preferences", language="zh")
    assert '<html lang="zh-CN"' in page.html(place)
