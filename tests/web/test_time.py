"""Timeline, sessions and layers: what they show is what happened, and their twins tell the same."""

from __future__ import annotations

import datetime as dt
import html
import json
import re
from pathlib import Path

import pytest
from tests.web.conftest import Page

from nacre import hooks
from nacre.context.pack import tokens, weight
from nacre.memory import Memory
from nacre.vault import history, provenance
from nacre.vault.entries import bullet_id

SESSION = "61871d67-0b1c-4a55-9d3e-0123456789ab"
EVIL = '<script>alert(1)</script> & "quotes"'
LAUNCH = "The launch is on 3 May"


def test_timeline_shows_the_days_of_a_range_with_what_was_said_and_what_became_of_it(root: Path, page: Page) -> None:
    with Memory.open(root, now="2026-03-20T09:00") as memory:
        memory.remember(EVIL, "TECH", project="*")
        memory.tidy()  # the lines of MEMORY.md are known from now on
        memory.pin(memory.longterm()[0].entries[0].id)
    with (root / "memory/ledger.jsonl").open("a", encoding="utf8") as file:  # of a newer version, or of a clone
        file.write(json.dumps({"id": "0", "at": "2026-03-20T10:00:00", "verdict": EVIL, "text": EVIL}) + "\n")
    query = "timeline?since=2026-03-14&until=2026-03-20"
    data, shown = page.data(query), page.html(f"/{query}")
    assert [day["day"] for day in data["days"]] == ["2026-03-20", "2026-03-19"]
    assert data["counts"] == {"2026-03-19": 2, "2026-03-20": 1}
    (section,) = data["days"][1]["sections"]
    assert (section["session"], section["messages"], section["time"]) == ("61871d67", 12, "14:05")
    assert [(entry["text"], entry["type"], entry["verdict"]) for entry in section["entries"]] == [
        (LAUNCH, "PROJ", "adopted"), ("Use pnpm, never npm, in every repository", "PREF", "adopted"),
    ]  # fmt: skip
    assert LAUNCH in [change["text"] for change in data["days"][0]["changes"] if change["kind"] == "written"]
    for day in data["days"]:
        for text in [entry["text"] for one in day["sections"] for entry in one["entries"]]:
            assert html.escape(text).replace("&quot;", "&#34;") in shown
    assert "<script>alert" not in shown
    kinds = [
        change["kind"] for change in page.data(f"timeline?id={bullet_id(section['entries'][1]['text'])}")["changes"]
    ]
    assert kinds == ["said", "written", "pinned"]
    # A range leaves out what lies outside; the bars still lead there.
    narrow = page.html("/timeline?since=2026-03-20&until=2026-03-20")
    assert 'id="d2026-03-20"' in narrow
    assert 'id="d2026-03-19"' not in narrow
    assert "/timeline?since=2026-03-19&amp;until=2026-03-19" in narrow


def test_a_fact_is_followed_from_what_was_said_to_what_replaced_it_and_beyond(root: Path, page: Page) -> None:
    (root / "MEMORY.md").write_text("# Long-Term Memory\n\n## User Preferences\n", encoding="utf8")
    (root / "memory/2026-03-19.md").unlink()
    words = ["Use pnpm, never npm, in every repository", "We moved from pnpm to Bun in every repository"]
    for day, text in zip(("2026-04-02", "2026-04-09"), words, strict=True):
        with Memory.open(root, now=f"{day}T10:00") as memory:
            memory.remember(text, "PROJ", project="*")
        with Memory.open(root, now=f"{day}T23:00") as memory:
            memory.tidy()
    with Memory.open(root, now="2026-04-10T08:00") as memory:
        (file,) = [file for file in memory.longterm() if file.path == "MEMORY.md"]
        entry = next(entry for entry in file.entries if "Bun" in entry.text)
        memory.edit(file.path, entry.id, "Bun is the package manager in every repository", read=file.hash)
    with Memory.open(root, now="2026-04-11T08:00") as memory:
        memory.forget("Bun is the package manager in every repository")

    def told(id_: str) -> list[tuple[str, str]]:
        return [(change["kind"], change["at"][:10]) for change in page.data(f"timeline?id={id_}")["changes"]]

    expected = [
        ("said", "2026-04-02"), ("kept", "2026-04-02"),
        ("said", "2026-04-09"), ("replaced", "2026-04-09"), ("corrected", "2026-04-10"), ("forgotten", "2026-04-11"),
    ]  # fmt: skip
    story = told(entry.id)
    assert story == expected
    assert told(bullet_id(words[0])) == story  # from the first line of the log as well
    shown = page.html(f"/timeline?id={entry.id}")
    kinds = re.findall(r"<b>([\w ]+)</b> <time", shown)
    assert len(kinds) == len(story)


def test_sessions_show_what_was_captured_and_how_many_tokens_of_memory_were_given(root: Path, page: Page) -> None:
    with Memory.open(root) as memory:
        with history.operation(memory.opened, "sync") as op:
            marks = {bullet_id(f"- [PROJ] {LAUNCH}"): ("m1",)}
            captured = provenance.Captured("2026-03-19", "61871d67", "claude-code", marks, SESSION)
            provenance.write_provenance(op, [captured])
        given = []
        for session in (SESSION, "feedbeef-not-captured"):
            event = {"hook_event_name": "SessionStart", "session_id": session, "cwd": str(root)}
            answer = hooks.answer(memory, "claude-code", event)
            assert answer
            given.append(tokens(weight(answer["hookSpecificOutput"]["additionalContext"])))
    data, shown = page.data("sessions"), page.html("/sessions")
    new, old = data["sessions"]
    assert (new["session"], new["sections"], new["given"]["tokens"]) == ("feedbeef", [], given[1])
    assert (old["session"], old["agent"], old["day"]) == ("61871d67", "claude-code", "2026-03-19")
    assert old["sections"][0]["entries"][0]["text"] == LAUNCH
    assert old["given"]["tokens"] == given[0] > 0
    assert LAUNCH in old["given"]["known"]
    for row in (new, old):
        assert f'id="s{row["session"]}"' in shown
        assert f"{row['given']['tokens']:,} tokens" in shown
    # What is forgotten cannot be recognised by what sessions were given; that they were given something stays known.
    with Memory.open(root) as memory:
        memory.forget(LAUNCH)
    after = {row["session"]: row["given"] for row in page.data("sessions")["sessions"]}
    assert after["feedbeef"] == {**new["given"], "lines": 0, "known": []}
    assert page.data("sessions?until=2026-03-01")["sessions"] == []


def test_layers_show_the_strip_and_restore_needs_the_word_of_the_form(root: Path, page: Page) -> None:
    now = dt.datetime.now(dt.UTC)
    for title, days in ((EVIL, 20), ("Ferry", 8), ("Bakery", 1)):
        with Memory.open(root, now=(now - dt.timedelta(days=days)).isoformat()) as memory:
            memory.checkpoint(text="words of it\n", title=f"{title} {days}")
    with Memory.open(root) as memory:
        memory.organise(local=True)
    data, shown = page.data("layers?layer=forgotten"), page.html("/layers?layer=forgotten")
    assert data["counts"] == {"hot": 0, "warm": 1, "gist": 1, "forgotten": 1}
    assert [(one["layer"], one["next"]) for one in data["next"]] == [
        ("gist", "forgotten"), ("warm", "gist"), ("forgotten", None),
    ]  # fmt: skip
    for one in data["next"]:
        assert html.escape(one["why"]) in shown
        assert one["at"][:16].replace("T", " ") in shown
    assert "<script>alert" not in shown
    (sunk,) = data["checkpoints"]
    assert page.client.post("/restore", data={"path": sunk["path"]}).status_code == 403
    assert page.data("layers")["counts"]["forgotten"] == 1
    response = page.post("/restore", path=sunk["path"], back="/layers?layer=forgotten")
    assert response.status_code == 303
    assert page.data("layers")["counts"] == {"hot": 0, "warm": 2, "gist": 1, "forgotten": 0}
    done = page.html(response.headers["location"])
    number = re.search(r'name="operation" value="(\d+)"', done)
    assert number
    page.post("/undo", operation=number[1])
    assert page.data("layers")["counts"] == data["counts"]
    assert page.post("/restore", path="../../etc/passwd").status_code == 404


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("timeline?since=2026-03-20&until=2026-03-01", 400), ("timeline?since=never", 400), ("timeline?id=nothing", 404),
        ("timeline?since=0001-01-02&until=9999-12-30", 200), ("sessions?until=0001-01-02", 200), ("layers?page=999999", 200),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_answered_in_a_sentence(page: Page, query: str, status: int) -> None:
    assert page.client.get(f"/api/{query}").status_code == status
    assert page.client.get(f"/{query}").status_code == status
