"""What the page shows and its twin tells, and what its forms change: the same data, through the vault, taken back at will."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.conftest import nacre
from tests.web.conftest import Page

from nacre.memory import Memory
from nacre.web import app, show
from nacre.web.routes import ACTIONS, VIEWS, openapi
from nacre.web.show import diff, linked

VENDORED = {
    "htmx-2.0.8.min.js": "22283ef68cb7545914f0a88a1bdedc7256a703d1d580c1d255217d0a50d31313",
    "htmx-LICENSE.txt": "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
}


def test_what_comes_from_others_is_byte_for_byte_what_they_published() -> None:
    folder = Path(app.__file__).parent / "vendor"
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()} == VENDORED


def first_entry(page: Page) -> dict[str, Any]:
    return dict(page.data("memory")["files"][0]["entries"][0])


def test_memory_shows_what_its_twin_tells(page: Page) -> None:
    shown, data = page.html("/memory"), page.data("memory")
    assert [file["path"] for file in data["files"]] == ["MEMORY.md", "projects/shop/MEMORY.md"]
    assert [entry["text"] for entry in data["files"][0]["entries"]] == [
        "Use pnpm, never npm, in every repository", "报告用 Typst 写", "The launch is on 3 May",
    ]  # fmt: skip
    for file in data["files"]:
        assert f"{file['size']['lines']}/{file['limits']['lines']}" in shown
        for entry in file["entries"]:
            assert f'id="e{entry["id"]}"' in shown
            assert html.escape(entry["text"]) in shown
    assert shown.count('action="/forget"') == sum(len(file["entries"]) for file in data["files"])


def test_search_shows_what_its_twin_tells_with_the_parts_of_each_score(root: Path, page: Page) -> None:
    query = "search?q=when+is+the+launch&limit=5"
    shown, data = page.html(f"/{query}"), page.data(query)
    assert data["results"]
    for hit in data["results"]:
        assert f"{hit['path']}:{hit['startLine']}" in shown
        assert f"{hit['score']:.2f}" in shown
        for name, value in hit["parts"].items():
            assert not value or f"{show.name(name)}</th>" in shown
    command = [*nacre(root), "search", "when is the launch", "-n", "5", "--all-projects", "--explain", "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, check=True, env=os.environ).stdout)
    assert told["results"] == data["results"]
    assert page.data("search?q=launch&layer=longterm")["results"][0]["layer"] == "longterm"
    assert page.client.get("/api/search?q=x&layer=nowhere").status_code == 400


def test_a_file_is_shown_around_the_lines_that_are_meant(page: Page) -> None:
    data = page.data("file?path=memory/2026-03-19.md&line=4")
    assert [line["number"] for line in data["lines"] if line["marked"]] == [4]
    assert 'id="L4" class="marked"' in page.html("/file?path=memory/2026-03-19.md&line=4")
    for path in ("/etc/passwd", "../../etc/passwd", "memory/none.md", ".nacre/config.toml"):
        assert page.client.get("/api/file", params={"path": path}).status_code in (400, 404), path


def test_provenance_leads_from_an_entry_to_the_log(page: Page) -> None:
    data = page.data(f"entry?id={first_entry(page)['id']}")
    assert {link["kind"] for link in data["chain"]} == {"longterm", "daily", "session"}
    assert "memory/2026-03-19.md:5" in page.html(f"/entry?id={first_entry(page)['id']}")
    refused = page.client.get(f"/api/conversation?id={first_entry(page)['id']}&message=none")
    assert (refused.status_code, refused.json()["error"]) == (404, "This memory does not come from that message.")


def test_decisions_about_an_entry_are_told_in_words(root: Path, page: Page) -> None:
    record = {"id": first_entry(page)["id"], "at": "2026-03-20T03:00:00+01:00", "verdict": "refused"}
    record |= {"failed": "broad", "without_it": "the agent would use npm"}
    with (root / "memory/ledger.jsonl").open("a", encoding="utf8") as file:
        file.write(json.dumps(record) + "\n")
    words = "rejected · too narrow for long-term memory · without it, the agent would use npm"
    assert f"2026-03-20 03:00 · {words}</p>" in page.html(f"/entry?id={record['id']}")


def test_a_line_is_edited_pinned_forgotten_and_all_is_taken_back(root: Path, page: Page) -> None:
    file, before = root / "MEMORY.md", (root / "MEMORY.md").read_bytes()
    entry, hash_ = first_entry(page), page.data("memory")["files"][0]["hash"]
    assert hash_ == hashlib.sha256(before).hexdigest()
    answer = page.post("/edit", path="MEMORY.md", id=entry["id"], text="Use bun", hash=hash_, back="/memory?x=1")
    assert answer.status_code == 303
    assert re.fullmatch(r"/memory\?x=1&did=edit&operation=\d+", answer.headers["location"])
    assert file.read_bytes() == before.replace(b"Use pnpm, never npm, in every repository", b"Use bun")
    notice = page.html(answer.headers["location"])
    assert "Changed." in notice
    operation = re.search(r'name="operation" value="(\d+)"', notice)
    assert operation

    assert page.post("/pin", id=first_entry(page)["id"]).status_code == 303
    assert first_entry(page)["pinned"]
    assert (
        page.post(
            "/edit",
            path="MEMORY.md",
            id=first_entry(page)["id"],
            text="Use bun always",
            hash=page.data("memory")["files"][0]["hash"],
        ).status_code
        == 303
    )
    assert first_entry(page)["pinned"]  # an edit keeps the pin

    gone = page.client.post("/api/forget", json={"id": first_entry(page)["id"]}, headers={"x-csrf-token": page.csrf})
    assert gone.status_code == 200
    assert b"bun" not in file.read_bytes()
    assert page.post("/undo", operation=str(gone.json()["operation"])).status_code == 303
    assert b"- Use bun always\n" in file.read_bytes()


def test_an_edit_of_a_file_that_changed_meanwhile_is_refused_with_a_notice(root: Path, page: Page) -> None:
    entry, hash_ = first_entry(page), page.data("memory")["files"][0]["hash"]
    with (root / "MEMORY.md").open("a", encoding="utf8") as file:
        file.write("- A line of an editor\n")
    after = (root / "MEMORY.md").read_bytes()
    answer = page.post("/edit", path="MEMORY.md", id=entry["id"], text="Use bun", hash=hash_, back="/memory")
    assert answer.status_code == 409
    assert "changed by another program" in answer.text
    assert (root / "MEMORY.md").read_bytes() == after


def test_a_secret_or_what_does_not_fit_is_refused_and_nothing_is_written(root: Path, page: Page) -> None:
    before = (root / "MEMORY.md").read_bytes()
    entry, hash_ = first_entry(page), page.data("memory")["files"][0]["hash"]
    for text in ("The key is sk-proj-" + "aB3" * 16, "  ", "x" * 6000):
        assert page.post("/edit", path="MEMORY.md", id=entry["id"], text=text, hash=hash_).status_code in (400, 409)
    assert (root / "MEMORY.md").read_bytes() == before


def test_the_morning_shows_the_night_and_takes_answers(root: Path, page: Page) -> None:
    assert "Nothing has been tidied yet" in page.html("/")
    with Memory.open(root, now="2026-03-20T03:00") as memory:
        memory.remember("Deploys happen on Tuesdays, never on Fridays", "PREF", project="*")
        memory.tidy()
    data, shown = page.data("morning"), page.html("/")
    told = [row for rows in data["decisions"].values() for row in rows]
    assert any("Tuesdays" in row["text"] for row in data["decisions"]["kept"])
    for row in told:
        assert html.escape(row["text"]) in shown
        assert html.escape(row["reason"]) in shown
    assert data["questions"]
    question = data["questions"][0]
    assert f'value="{question["id"]}"' in shown
    assert page.post("/answer", id=question["id"], answer="keep", back="/").status_code == 303
    assert question["id"] not in [left["id"] for left in page.data("morning")["questions"]]
    assert page.post("/answer", id=question["id"], answer="keep").status_code == 404
    assert page.post("/undo", operation=str(data["operation"])).status_code in (303, 409)


def test_the_person_chooses_language_and_theme(page: Page) -> None:
    assert '<html lang="en" data-theme="auto">' in page.html("/memory")
    page.post("/preferences", language="zh", theme="dark", back="/memory")
    shown = page.html("/memory")
    assert '<html lang="zh-CN" data-theme="dark">' in shown
    assert "忘记" in shown
    assert "没有这个页面" in page.client.get("/nowhere").text
    page.post("/preferences", language="fr", theme="neon")
    assert 'lang="zh-CN" data-theme="dark"' in page.html("/")


def test_the_first_load_is_small(page: Page) -> None:
    shown = page.client.get("/memory")
    loaded = re.findall(r'(?:href|src)="(/static/[^"]+)"', shown.text)
    assert len(loaded) == 4
    answers = [shown, *(page.client.get(name) for name in loaded)]
    assert sum(answer.num_bytes_downloaded for answer in answers) < 40_000  # bytes, packed; 150,000 are allowed
    assert len(page.client.get("/static/htmx-2.0.8.min.js").content) == 51_250


def test_a_browser_is_told_when_a_file_changes(root: Path, page: Page) -> None:
    with page.client.stream("GET", "/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": hello"
        (root / "memory" / "note.md").write_text("# Note\n\nnew\n", "utf8")
        assert next(line for line in lines if line.startswith("event")) == "event: changed"


def test_a_change_without_its_values_is_refused(page: Page) -> None:
    for action in ACTIONS:
        missing = page.client.post(f"/api/{action.name}", json={}, headers={"x-csrf-token": page.csrf})
        assert (missing.status_code, [*missing.json()]) == (400, ["error"])


HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "[x](javascript:alert(1))", "javascript:alert(1)",
    "{{ 7*7 }}{% raw %}", "</textarea><script>alert(2)</script>", "' onmouseover='alert(3)", 'https://x.example/"onclick=alert(4)',
]  # fmt: skip


@pytest.mark.parametrize(
    ("repeated", "entries"), [(2_000, 1_500), pytest.param(900_000, 20_000, marks=pytest.mark.long)]
)
def test_nothing_in_a_hostile_workspace_becomes_markup(root: Path, page: Page, repeated: int, entries: int) -> None:
    many = "".join(f"- {text}\n" for text in HOSTILE)
    (root / "MEMORY.md").write_text(
        f"# L\n\n## <script>alert(0)</script>\n{many}- \u202eevil 👩\u200d💻 مرحبا\n", "utf8"
    )
    (root / "memory" / "<img src=x onerror=alert(5)>.md").write_text(f"# <script>\n\n{many}\nalert", "utf8")
    (root / "memory" / "big.md").write_text("# Big\n\n" + "alert word " * repeated, "utf8")
    (root / "projects/shop/MEMORY.md").write_text("# L\n\n" + "".join(f"- entry {n}\n" for n in range(entries)), "utf8")
    files = page.data("memory")["files"]
    assert files[1]["left"] == entries - 500
    places = [
        "/",
        "/memory",
        "/search?q=alert",
        "/search?q=%3Cscript%3Ealert(9)%3C/script%3E",
        "/file?path=memory/big.md",
    ]
    places += [f"/entry?id={entry['id']}" for entry in files[0]["entries"]]
    for hit in page.data("search?q=alert&limit=20")["results"]:
        places.append(f"/file?path={hit['path'].replace('=', '%3D')}&line={hit['startLine']}")
    for place in places:
        shown = page.html(place)
        scripts = re.findall(r"<script[^>]*>", shown)
        assert len(scripts) == 2, place
        assert all("/static/" in script for script in scripts)
        assert not re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', shown)), place
        assert not re.search(r'href="(?!/|#|https?://|mailto:)', shown), place
        assert "<img" not in shown
        assert "\u202e" not in shown


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("see https://a.example/x?y=1, and more", ["https://a.example/x?y=1"]),
        ("javascript:alert(1) data:text/html,x file:///etc", []),
        ("mailto:a@b.example", ["mailto:a@b.example"]),
        ("见 https://a.example/文。", ["https://a.example/文"]),
    ],
)
def test_only_the_web_and_mail_are_linked(text: str, links: list[str]) -> None:
    assert re.findall(r'href="([^"]*)"', linked(text)) == links


def test_a_difference_shows_what_went_and_what_came_escaped() -> None:
    assert diff("Use <b>pnpm", "Use npm") == "Use <del>npm</del><ins>&lt;b&gt;pnpm</ins>"


def test_the_document_lists_every_view_and_action_with_its_parameters(page: Page) -> None:
    document = page.data("openapi.json")
    assert document == openapi()
    assert set(document["paths"]) == {"/api/openapi.json", *(f"/api/{one.name}" for one in (*VIEWS, *ACTIONS))}
    for view in VIEWS:
        given = document["paths"][f"/api/{view.name}"]["get"]["parameters"]
        assert [row["name"] for row in given] == [one.name for one in view.parameters]
