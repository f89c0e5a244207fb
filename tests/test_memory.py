from __future__ import annotations

import gc
import json
import multiprocessing
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nacre.errors import BadInput, NoWorkspace, PathEscape, SecretRefused
from nacre.memory import Memory
from nacre.vault import provenance

if TYPE_CHECKING:
    from tests.conftest import FakeEmbedder


def entries(root: Path) -> list[str]:
    return [
        line
        for path in (root / "memory").glob("????-??-??.md")
        for line in path.read_text("utf8").splitlines()
        if line.startswith("- ")
    ]


def write_many(root: str, name: int, count: int) -> None:
    memory = Memory.open(root)
    for number in range(count):
        memory.remember(f"writer {name} saw bird {number}")


def test_init_makes_a_workspace_and_may_be_repeated(tmp_path: Path) -> None:
    root = Memory.init(tmp_path / "ws").workspace.root
    (root / "MEMORY.md").write_text("mine\n", "utf8")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    Memory.init(root)
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_open_never_makes_a_workspace(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace, match="nacre init"):
        Memory.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_what_is_remembered_is_found_at_once(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path, now="2026-02-14T14:05")
    entry = memory.remember("Use pnpm, never npm", type="PREF")
    assert (tmp_path / entry.path).read_text("utf8").splitlines()[entry.line - 1] == "- [PREF] Use pnpm, never npm"
    assert entry.path == "memory/2026-02-14.md"
    hit = memory.search("pnpm", mode="text")[0]
    assert (hit.path, hit.start_line) == (entry.path, entry.line)
    assert memory.remember("Use pnpm, never npm", type="PREF").already
    assert len(entries(tmp_path)) == 1


def test_what_is_remembered_in_a_log_over_ten_megabytes_is_found_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    with Memory.init(tmp_path / "ws", now="2026-02-10T14:05:00+00:00") as memory:
        log = memory.workspace.day(memory.clock.today())
        log.write_bytes(b"# 2026-02-10\n\n" + b" " * 10_000_001 + b"\n")
        entry = memory.remember("The pump house key hangs behind the door")
        (hit,) = memory.search("pump house key")
        assert (hit.path, hit.start_line) == (entry.path, entry.line)
        assert memory.get(entry.path, entry.line, lines=1).text == "- The pump house key hangs behind the door"


def test_a_secret_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path)
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    with pytest.raises(SecretRefused) as refused:
        memory.remember(f"the token is {secret}")
    assert secret not in str(refused.value)
    assert entries(tmp_path) == []
    assert memory.redact(f"token {secret} of the bot").text == "token [redacted: github token] of the bot"


def test_many_processes_remember_at_once_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    Memory.init(tmp_path)
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=write_many, args=(str(tmp_path), name, 25)) for name in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = entries(tmp_path)
    assert len(found) == len(set(found)) == 200


def test_threads_share_one_memory(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path)
    trouble: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(8):
                memory.remember(f"thread {name} caught fish {number}")
                assert memory.search(f"thread {name} caught fish {number}", mode="text")
        except BaseException as error:  # noqa: BLE001 - handed to the test
            trouble.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []
    assert len(entries(tmp_path)) == 48


def test_meaning_joins_words_when_there_is_an_embedder(tmp_path: Path, fake_embedder: type[FakeEmbedder]) -> None:
    memory = Memory.init(tmp_path, embedder=fake_embedder())
    memory.remember("The red boat needs a new sail")
    report = memory.ask("a boat with a sail")
    assert report.mode == "hybrid"
    assert report.model == "fake-latin"
    assert report.hits[0].vector_score > 0
    assert memory.ask("a boat with a sail", mode="vector").mode == "vector"


def test_without_a_model_search_is_by_words_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    memory = Memory.init(tmp_path / "ws")
    memory.remember("The red boat needs a new sail")
    report = memory.ask("red boat")
    assert (report.mode, report.hits[0].layer) == ("text", "daily")
    assert report.fallback
    assert "nacre models install" in report.fallback


def test_deleting_the_index_loses_nothing_also_while_it_is_open(
    tmp_path: Path, fake_embedder: type[FakeEmbedder]
) -> None:
    memory = Memory.init(tmp_path, embedder=fake_embedder())
    memory.remember("The lamp stands on the left")
    assert memory.search("lamp")
    shutil.rmtree(tmp_path / ".nacre" / "index")
    assert memory.search("lamp")
    assert Memory.open(tmp_path, embedder=fake_embedder()).search("lamp")


def test_a_changed_setting_keeps_answering_until_the_new_index_is_whole(
    tmp_path: Path, fake_embedder: type[FakeEmbedder]
) -> None:
    Memory.init(tmp_path)
    (tmp_path / "memory" / "long.md").write_text("The heron waits in the reeds. " * 80, "utf8")
    with Memory.open(tmp_path, embedder=fake_embedder()) as memory:
        memory.index()
        assert not memory.ask("heron reeds").stale
    (tmp_path / ".nacre" / "config.toml").write_text("[index]\nchunk_tokens = 100\n", "utf8")
    memory = Memory.open(tmp_path, embedder=fake_embedder())
    (tmp_path / "memory" / "new.md").write_text("The kingfisher dives.\n", "utf8")
    report = memory.ask("heron reeds")
    assert report.stale
    assert report.hits
    assert memory.search("kingfisher dives")  # what is written meanwhile is seen too
    memory.update()
    memory.embed()
    assert not memory.ask("heron reeds").stale
    assert not memory.keeper.outdated()


def test_another_embedder_takes_over_only_when_its_vectors_are_complete(
    tmp_path: Path, fake_embedder: type[FakeEmbedder]
) -> None:
    Memory.init(tmp_path)
    for number in range(30):
        (tmp_path / "memory" / f"n{number}.md").write_text(f"The heron number {number} waits in the reeds.\n", "utf8")
    with Memory.open(tmp_path, embedder=fake_embedder("one")) as memory:
        memory.index()
    with Memory.open(tmp_path, embedder=fake_embedder("two")) as memory:
        assert memory.ask("heron").hits
        memory.embed()
        assert not memory.ask("heron").stale


@pytest.mark.parametrize("limit", [0, -3])
def test_less_than_one_result_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(BadInput):
        Memory.init(tmp_path).search("x", limit)


def test_a_damaged_index_is_set_aside_and_rebuilt_by_the_search_that_meets_it(tmp_path: Path) -> None:
    with Memory.init(tmp_path) as memory:
        memory.remember("The bell rings at noon")
        memory.search("bell", mode="text")
    index = tmp_path / ".nacre" / "index" / "index.sqlite"
    data = bytearray(index.read_bytes())
    data[4096:] = b"\xaa" * (len(data) - 4096)
    index.write_bytes(bytes(data))
    memory = Memory.open(tmp_path)
    assert memory.search("bell", mode="text")
    assert list(index.parent.glob("index.sqlite.damaged-*"))


def test_an_index_that_came_along_cannot_choose_where_questions_are_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Trap(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.send_response(500)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Trap)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    monkeypatch.setenv("OPENAI_API_KEY", "the user's own")
    with Memory.init(tmp_path) as memory:
        memory.remember("The lamp stands on the left")
        memory.search("lamp")
        db = memory.keeper.store.db
        about = json.dumps({"names": ["text-embedding-3-small"], "base_url": address})
        db.execute("insert into batches(id, provider, models, settings) values(99, 'openai', '[]', ?)", (about,))
        db.execute("insert or replace into meta values('live batch', '99')")
    with Memory.open(tmp_path) as memory:
        assert memory.search("lamp")
    server.shutdown()
    server.server_close()
    assert asked == []


@pytest.mark.parametrize(
    "name", ["history/operations.jsonl", "history", "index", "index/index.sqlite", "config.toml", "lock"]
)
def test_a_link_among_our_own_files_is_refused_and_what_it_leads_to_stays_as_it_was(tmp_path: Path, name: str) -> None:
    root = Memory.init(tmp_path / "ws").workspace.root
    outside = tmp_path / "outside"
    target = root / ".nacre" / name
    if target.is_dir():
        shutil.rmtree(target)
        outside.mkdir()
    else:
        target.unlink(missing_ok=True)
        target.parent.mkdir(exist_ok=True)
        outside.write_text("mine\n", "utf8")
    target.symlink_to(outside)
    for use in (Memory.open, Memory.init):
        with pytest.raises(PathEscape, match="link"):
            use(root)
    assert outside.is_dir() or outside.read_text("utf8") == "mine\n"


def test_closing_while_other_threads_search_breaks_nothing(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path)
    for number in range(30):
        (tmp_path / "memory" / f"n{number}.md").write_text(f"The heron number {number} waits in the reeds.\n", "utf8")
    trouble: list[BaseException] = []
    ended = threading.Event()

    def work() -> None:
        try:
            while not ended.is_set():
                assert memory.search("heron reeds", mode="text")
        except BaseException as error:  # noqa: BLE001 - handed to the test
            trouble.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for turn in range(40):
        if turn % 4:
            memory.close()
        else:
            shutil.rmtree(tmp_path / ".nacre" / "index", ignore_errors=True)
    ended.set()
    for thread in threads:
        thread.join()
    assert trouble == []


def test_threads_that_end_leave_no_descriptor_open(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path)
    memory.remember("The lamp stands on the left")

    def ask() -> None:
        memory.search("lamp", mode="text")

    def run() -> int:
        for _ in range(10):
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    assert run() == run()


def test_two_texts_of_one_title_and_minute_are_two_checkpoints_and_the_same_again_is_none(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path / "ws", now="2026-06-01T09:00:00+00:00")
    first = memory.checkpoint(text="Talk A", title="Standup")
    second = memory.checkpoint(text="Talk B", title="Standup")
    later = Memory.open(tmp_path / "ws", now="2026-06-01T09:05:00+00:00").checkpoint(text="Talk A", title="Standup")
    assert (second.changed, later.changed, later.path) == (True, False, first.path)
    texts = {path.read_text("utf8") for path in (tmp_path / "ws" / "memory_fs" / "hot").iterdir()}
    assert texts == {"# Standup\n\nTalk A\n", "# Standup\n\nTalk B\n"}


def test_what_is_remembered_is_stamped_with_the_project_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "shop" / "src")
    with Memory.init(tmp_path / "ws", now="2026-03-02T14:05") as memory:
        assert memory.remember("The API moves to v2", dry_run=True).project == "shop"
        assert memory.remember("The API moves to v2").project == "shop"
        assert memory.remember("Tea at four", project="*").project == ""
        assert memory.remember("The logo is lilac", project="Blog").project == "blog"
        log = (tmp_path / "ws" / "memory" / "2026-03-02.md").read_text("utf8")
        headings = [line for line in log.splitlines() if line.startswith("## ")]
        assert headings == ["## 14:05 note | project:shop", "## 14:05 note", "## 14:05 note | project:blog"]
        monkeypatch.chdir(tmp_path / "ws")
        assert memory.remember("Said in the workspace").project == ""


def test_the_night_knows_the_folder_of_a_project_that_only_a_note_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    with Memory.init(tmp_path / "ws") as memory:
        memory.remember("The API moves to v2")
        assert [one.place for one in provenance.read_provenance(memory.workspace).captured] == [str(tmp_path / "shop")]
