"""Purging leaves no byte of what was forgotten in anything that is Nacre's, and says where else it stands."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest
from tests.capture.talks import Desk
from tests.conftest import FakeEmbedder
from tests.forget.conftest import BULLET, FACT, NOW, OLDER, bytes_below, everything, take

from nacre.checks.status import findings
from nacre.embed.local import LocalEmbedder
from nacre.errors import NotFound
from nacre.forget import purge
from nacre.forget.purge import Words
from nacre.memory import Memory
from nacre.vault import cache as vault_cache
from nacre.vault import longterm
from nacre.vault.entries import entry_id, open_document
from nacre.vault.history import read_history
from nacre.vault.undo import undo

ALL = (FACT, BULLET, OLDER, "the agent would run npm and break the lockfile")


def held(root: Path) -> list[str]:
    return sorted({trace.path.relative_to(root).as_posix() for trace in purge.scan([root], Words(ALL))})


@pytest.fixture
def busy(root: Path, memory: Memory) -> Memory:
    """A memory with a history: edits that kept the words, a backup, an index with vectors, a torn temporary file."""
    path = memory.workspace.longterm
    doc = open_document(memory.workspace, path)
    data, _ = longterm.with_entry(memory.workspace, path, doc, "The hedge is cut in autumn", type="TECH")
    longterm.apply_edit(memory.opened, longterm.Edit(path, doc.hash if doc else None, data))
    memory.remember(f"{FACT}, said once more")
    memory.forget("memory/2026-03-20.md:4", choose=take)
    undo(memory.opened)
    (root / ".nacre-1-ab.tmp").write_text(FACT, "utf8")
    os.utime(next(root.glob(".nacre-*.tmp")), (0, 0))
    memory.index()
    return memory


def test_forgetting_alone_leaves_it_in_history_and_backups(busy: Memory, root: Path) -> None:
    busy.forget("MEMORY.md:4", similar=True, choose=take)
    left = held(root)
    assert any("history/blobs" in name for name in left)
    assert "memory/archive/MEMORY.md.bak-2026-03-20" in left


def test_purging_leaves_no_byte_of_it(busy: Memory, root: Path) -> None:
    report = busy.forget("MEMORY.md:4", similar=True, purge=True, choose=take)
    assert report.purged
    assert report.purged.left == ()
    assert held(root) == []
    backup = (root / "memory" / "archive" / "MEMORY.md.bak-2026-03-20").read_text("utf8")
    assert "The billing team is led by Maria" in backup
    assert "pnpm" not in backup
    assert not list(root.glob(".nacre-*.tmp"))
    assert busy.search("billing", mode="text")[0].path == "MEMORY.md"


def test_the_index_holds_no_byte_of_it_and_keeps_its_vectors(root: Path) -> None:
    with Memory.open(root, now=NOW, embedder=FakeEmbedder()) as memory:
        memory.index()
        report = memory.forget("MEMORY.md:4", purge=True, choose=take)
        assert report.purged
        assert not report.purged.rebuilt
        assert memory.waiting()[1] <= 2  # the notes that lost a line
    data = bytes_below(root / ".nacre" / "index").decode("utf8", "replace").casefold()
    assert FACT.casefold() not in data
    assert "npm" not in data


def test_an_index_that_cannot_be_cleaned_is_made_anew(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    with Memory.open(root, now=NOW) as memory:
        memory.index()
        monkeypatch.setattr("nacre.index.store.Store.scrub", busy)
        report = memory.forget("MEMORY.md:4", purge=True, similar=True, choose=take)
        assert report.purged
        assert report.purged.left == ()
        assert held(root) == []
        assert memory.search("billing", mode="text")[0].path == "MEMORY.md"


def test_what_was_purged_cannot_be_undone_and_undo_says_so(busy: Memory, root: Path) -> None:
    report = busy.forget("MEMORY.md:4", similar=True, purge=True, choose=take)
    assert report.purge_plan
    before = everything(root)
    assert {one.id for one in read_history(busy.workspace).operations} >= set(report.purge_plan.undoes) != set()
    with pytest.raises(NotFound, match="what it changed was purged"):
        undo(busy.opened, number=report.purge_plan.undoes[-1])
    assert everything(root) == before


def test_something_forgotten_earlier_is_purged_by_its_id(busy: Memory, root: Path) -> None:
    busy.forget("MEMORY.md:4", similar=True, choose=take)
    report = busy.forget(entry_id(FACT), purge=True)
    assert report.purge_plan
    assert {FACT, BULLET, OLDER} <= set(report.purge_plan.words)
    assert report.purged
    assert report.purged.left == ()
    assert held(root) == []


def test_purging_again_finds_nothing_more(busy: Memory, root: Path) -> None:
    busy.forget("MEMORY.md:4", similar=True, purge=True, choose=take)
    before = everything(root)
    report = busy.forget(entry_id(FACT), purge=True)
    assert report.purge_plan
    assert report.purge_plan.words == ()
    assert report.purged
    assert report.purged.left == ()
    assert everything(root) == before


def test_a_dry_run_counts_and_touches_nothing(busy: Memory, root: Path) -> None:
    before = everything(root), held(root)
    report = busy.forget("MEMORY.md:4", purge=True, dry_run=True)
    assert report.purge_plan
    assert report.purge_plan.blobs
    assert [path.name for path, _ in report.purge_plan.backups] == ["MEMORY.md.bak-2026-03-20"]
    assert report.purged is None
    assert (everything(root), held(root)) == before


def test_places_that_are_the_users_are_named_and_not_touched(memory: Memory, root: Path) -> None:
    (root / "notes").mkdir()
    (root / "notes" / "mine.txt").write_text(f"one\n{FACT}\n", "utf8")
    with (root / "AGENTS.md").open("a", encoding="utf8") as file:
        file.write(f"\n- {FACT}\n")
    (root / "memory" / "2026-03-19.md").write_text(f"# 2026-03-19\n\n- Reminder: {FACT}, says Lin\n", "utf8")
    report = memory.forget("MEMORY.md:4", purge=True, choose=take)
    assert report.purged
    reasons = {one.path: one.reason for one in report.purged.left}
    assert reasons.pop("notes/mine.txt") == "one of your own files: edit it yourself"
    assert reasons.pop("AGENTS.md") == "one of your own files: edit it yourself"
    assert "--similar" in reasons.pop("memory/2026-03-19.md")
    assert not reasons
    assert FACT in (root / "notes" / "mine.txt").read_text("utf8")


CODE = "The office code at Harbour Street is 1234"
TALK = "**User** 2026-02-10 14:05\n\n{line}\n\n**Agent** 2026-02-10 14:06\n\nUnderstood.\n"
GIST = "# {title}\n\nTags: {tags}\n\n- {line}\n- The shed was painted\n"


def laid(root: Path, title: str, line: str = CODE, name: str = "2026-02-10-1405-61871d67") -> None:
    """A checkpoint and its summary, as capture and organising write them."""
    for path, text in {
        f"memory_fs/warm/{name}.md": f"# {title}\n\nsession:61871d67 | codex | 2026-02-10 14:05\n\n{TALK.format(line=line)}",
        f"memory_fs/gist/{name}.md": GIST.format(title=title, tags="1234, shed, office code", line=line),
        "memory/2026-02-10.md": f"# 2026-02-10\n\n## 14:05 session:61871d67 | 3 messages\n- [TECH] {CODE}\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf8")


@pytest.mark.parametrize("title", [CODE, f"{CODE[:30]}…", f"**{CODE}**"])
def test_titles_and_tags_made_of_the_words_go_with_them(memory: Memory, root: Path, title: str) -> None:
    laid(root, title)
    memory.index()
    report = memory.forget(CODE, purge=True)
    assert report.purged
    assert report.purged.left == ()
    gist = (root / "memory_fs" / "gist" / "2026-02-10-1405-61871d67.md").read_text("utf8")
    assert gist == "# …\n\nTags: shed\n\n- The shed was painted\n"
    assert (root / "memory_fs" / "warm" / "2026-02-10-1405-61871d67.md").read_text("utf8").startswith("# …\n\nsession:")
    assert b"1234" not in bytes_below(root)
    assert "memory_fs" not in {
        hit.path.split("/")[0] for hit in memory.search("office code Harbour Street", mode="text")
    }


def test_a_checkpoint_loses_what_says_it_among_other_things(memory: Memory, root: Path) -> None:
    laid(root, f"Please note: {CODE}", f"Please note: {CODE}")
    report = memory.forget(CODE, purge=True)
    assert report.purged
    assert report.purged.left == ()
    assert b"1234" not in bytes_below(root)


def test_a_message_of_a_checkpoint_keeps_its_other_sentences(memory: Memory, root: Path) -> None:
    laid(root, "The shed", f"The shed is blue. Please note: {CODE}")
    memory.forget(CODE)
    warm = (root / "memory_fs" / "warm" / "2026-02-10-1405-61871d67.md").read_text("utf8")
    assert "1234" not in warm
    assert "The shed is blue." in warm


def test_titles_that_only_look_like_it_are_taken_with_similar(memory: Memory, root: Path) -> None:
    laid(root, f"Please note: {CODE}", f"Please note: {CODE}")
    report = memory.forget(CODE, similar=True, purge=True)
    assert report.purged
    assert report.purged.left == ()
    assert b"1234" not in bytes_below(root)
    gist = root / "memory_fs" / "gist" / "2026-02-10-1405-61871d67.md"
    assert gist.read_text("utf8") == "# …\n\nTags: shed\n\n- The shed was painted\n"


def test_of_a_paragraph_only_the_line_goes_that_says_it(memory: Memory, root: Path) -> None:
    (root / "memory" / "plan.md").write_text(f"# Plan\n\n{CODE}\nThe shed was painted\n", "utf8")
    memory.forget(CODE, similar=True)
    assert (root / "memory" / "plan.md").read_text("utf8") == "# Plan\n\nThe shed was painted\n"


@pytest.mark.skipif(not LocalEmbedder().models(), reason="needs the local models")
def test_what_stands_below_a_title_that_says_it_is_not_like_it(memory: Memory, root: Path) -> None:
    (root / "memory" / "plan.md").write_text(f"# Please note: {CODE}\n\n- The shed was painted\n", "utf8")
    laid(root, CODE)
    memory.index()
    memory.forget(CODE, similar=True)
    assert (root / "memory" / "plan.md").read_text("utf8") == "# …\n\n- The shed was painted\n"


def test_undo_brings_titles_and_tags_back(memory: Memory, root: Path) -> None:
    laid(root, CODE)
    before = everything(root)
    memory.forget(CODE)
    undo(memory.opened)
    assert everything(root) == before


def test_a_note_whose_title_alone_says_it_can_be_forgotten_by_the_id_of_the_hit(memory: Memory, root: Path) -> None:
    (root / "memory" / "gate.md").write_text(f"{CODE}\n=====\n", "utf8")
    (hit,) = (one for one in memory.search(CODE, mode="text") if one.path == "memory/gate.md")
    memory.forget(hit.id)
    assert (root / "memory" / "gate.md").read_text("utf8") == "…\n=====\n"


def test_names_of_files_that_say_it_are_told(memory: Memory, root: Path) -> None:
    bus = "The night bus to Harbour Street is the 1234"
    memory.checkpoint(text=f"{bus}\nThe shed was painted\n")
    (name,) = (path.name for path in (root / "memory_fs" / "hot").iterdir())
    assert name.endswith("-the-night-bus-to-harbour-street-is-the-1.md")
    report = memory.forget(bus, purge=True)
    assert report.purged
    told = {one.path: one.reason for one in report.purged.left}
    assert told[f"memory_fs/hot/{name}"] == "the file name contains it: rename the file"
    assert "kept in history" in told[".nacre/history/operations.jsonl"]
    assert set(told) <= {f"memory_fs/hot/{name}", ".nacre/history/operations.jsonl", "refcount.json"}


def test_what_a_session_keeps_in_its_cache_is_told(
    memory: Memory, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_CACHE_PATH", str(tmp_path / "cache"))
    with Memory.open(root, now=NOW) as again:
        cache = vault_cache.open_cache("s1", again.config.cache, again.clock)
        vault_cache.put_value(cache, "code", FACT)
        report = again.forget(FACT, purge=True)
    assert report.purged
    assert [one.reason for one in report.purged.left] == ["a session cache: run nacre cache clear"]


def test_the_agents_own_transcripts_are_named(memory: Memory) -> None:
    report = memory.forget("MEMORY.md:4", purge=True, choose=take)
    assert report.purge_plan
    (session,) = report.purge_plan.sessions
    assert (session.agent, session.session) == ("claude-code", "61871d67-1111-4222-8333-444455556666")


def test_texts_of_other_entries_that_hold_the_words_are_redacted(memory: Memory, root: Path) -> None:
    with (root / "memory" / "ledger.jsonl").open("a", encoding="utf8") as file:
        file.write(
            f'{{"id":"2222222222","at":"{NOW}","verdict":"refused","text":"He said: {FACT}","failed":"novel"}}\n'
        )
    memory.forget("MEMORY.md:4", purge=True, choose=take)
    text = (root / "memory" / "ledger.jsonl").read_text("utf8")
    assert '"id":"2222222222"' in text
    assert "pnpm" not in text
    assert "Rain all day" in text


def test_the_index_of_sessions_is_told_from_our_own_files(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NACRE_INDEX_SESSIONS", "true")
    Desk(tmp_path).claude(("2026-03-18 14:00", "user", f"{FACT}, please"), ("2026-03-18 14:01", "user", "and thanks"))
    with Memory.open(root, now=NOW) as memory:
        memory.index()
        report = memory.forget("MEMORY.md:4", purge=True, choose=take)
    assert report.purged
    assert {Path(one.path).name.partition("-")[0] for one in report.purged.left} == {"sessions.sqlite"}
    assert all("transcript" in one.reason for one in report.purged.left)


def test_words_between_marks_and_short_words_within_a_line_are_told(memory: Memory, root: Path) -> None:
    path = root / "memory" / "2026-03-10.md"
    path.write_text(
        "# 2026-03-10\n\n- The Zanzibar vault opens with kestrel-77\n- The [Zanzibar](http://z) **vault** opens with `kestrel-77`\n"
        "- PIN is 4711\n- note to self: the PIN is 4711, keep it\n",
        "utf8",
    )
    for place, left in (("memory/2026-03-10.md:3", 3), ("memory/2026-03-10.md:4", 4)):
        report = memory.forget(place, purge=True, choose=take)
        assert report.purged
        assert [(one.path, one.line) for one in report.purged.left] == [("memory/2026-03-10.md", left)]
        assert ("memory/2026-03-10.md", "mentions it among other things") in {
            (one.line.path, one.reason) for one in report.plan.alike
        }


def test_an_item_with_nested_lines_is_purged_later_by_its_id(memory: Memory, root: Path) -> None:
    path = root / "memory" / "2026-03-10.md"
    path.write_text("# 2026-03-10\n\n- Done\n  - moved the billing database\n- Stays\n", "utf8")
    memory.forget("memory/2026-03-10.md:3", choose=take)
    assert b"moved the billing" in b"".join(traces_of(root))
    report = memory.forget(entry_id("Done - moved the billing database"), purge=True)
    assert report.purged
    assert report.purged.left == ()
    assert b"moved the billing" not in b"".join(traces_of(root))


def traces_of(root: Path) -> list[bytes]:
    """Everything that stands below the workspace, unpacked."""
    return [content for path in purge.files_below(root) for content in purge.contents(path.read_bytes())]


LONG = f"{FACT}, because the lockfile of the workspace names every package and the pipeline of the billing team refuses to build without it"


@pytest.mark.parametrize("purging", [False, True])
def test_what_was_derived_from_it_is_gone(root: Path, purging: bool) -> None:
    with Memory.open(root, now=NOW) as memory:
        path = memory.workspace.longterm
        path.write_text(f"# Long-Term Memory\n\n## User Preferences\n- {LONG}\n- {LONG}\n", "utf8")
        memory.index()
        assert any(problem.kind == "duplicate" for problem in findings(memory))
        memory.brain.save()
        kept = memory.workspace.index / "findings.json"
        assert "names every package" in kept.read_text("utf8")
        assert LONG not in kept.read_text("utf8")
        report = memory.forget(LONG, purge=purging)
        assert report.purged is None or report.purged.left == ()
    assert b"names every package" not in bytes_below(root / ".nacre" / "index")
    assert purging is False or not list((root / ".nacre" / "index").glob("*.npz"))


@pytest.mark.parametrize(
    ("text", "copy", "is_found"),
    [
        (LONG, f"“{LONG[:60]}…” (MEMORY.md:4)", True),
        (LONG, json.dumps(f"{LONG[:61]}…"), True),
        (LONG, f"**{LONG[:60]}** ...", True),
        (LONG, f"{LONG[:60]} and so on", False),
        ("门口的备用钥匙放在左边花盆下面，请不要告诉任何人", "# 门口的备用钥匙放在左边花盆…", True),
        ("门口的备用钥匙放在左边花盆“下面”，请不要告诉人", "# 门口的备用钥匙放在左边花盆…", True),
        ("门口的备用钥匙放在左边花盆下面，请不要告诉任何人", "# 门口的备用钥匙放在右边…", False),
        ("The gate opens at nine every day", "The gate opens…", False),
    ],
)
def test_the_proof_finds_a_copy_that_was_cut_short(text: str, copy: str, is_found: bool) -> None:
    assert bool(Words([text]).matches(copy.encode())) is is_found
