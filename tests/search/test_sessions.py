"""Sessions as a corpus of search: only where wanted, only for the owner, never after now; a hit leads to its message."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.talks import META, ClaudeTalk, openclaw_talk

from nacre.errors import BadInput, NotFound
from nacre.memory import Memory

if TYPE_CHECKING:
    from tests.conftest import FakeEmbedder

SECRET = "sk-ant-" + "api03-" + "Zq8Kd73hfLs02mXwPv91bnTyRe45uGcJ" * 2


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NACRE_TIMEZONE", "UTC")
    home = Path.home()
    talk = ClaudeTalk(home, "aaaa")
    talk.say("Which colour should the lighthouse have?", "12:00:00").answer(
        "Red and white stripes, as before.", "12:01:00"
    )
    talk.say("周五的发布推迟到下周一", "12:02:00").answer("好的，已经改期。", "12:03:00")
    talk.say("The ferry to Helsinki leaves at nine", "18:00:00")
    return home


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("NACRE_INDEX_SESSIONS", "true")


def words(memory: Memory, query: str, corpus: str = "sessions", **more: object) -> list[str]:
    return [hit.snippet for hit in memory.search(query, mode="text", corpus=corpus, **more)]  # type: ignore[arg-type]


def test_unless_the_user_wants_it_nothing_is_indexed_and_asking_is_refused(root: Path, home: Path) -> None:
    memory = Memory.open(root)
    memory.index()
    assert memory.search("ferry Helsinki", mode="text", min_score=0) == []
    for corpus in ("sessions", "all"):
        with pytest.raises(BadInput, match=r"nacre config set --user index\.sessions true"):
            memory.search("ferry", corpus=corpus)
    with pytest.raises(BadInput, match="memory, sessions or all"):
        memory.search("ferry", corpus="everything")
    with pytest.raises(NotFound):
        memory.get("sessions/claude-code/aaaa.md")
    assert not any(b"Helsinki" in path.read_bytes() for path in (root / ".nacre").rglob("*") if path.is_file())


def test_turned_off_again_the_next_index_deletes_it(root: Path, wanted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(root) as memory:
        assert words(memory, "ferry Helsinki")
    monkeypatch.setenv("NACRE_INDEX_SESSIONS", "false")
    Memory.open(root).update()
    assert not any(b"Helsinki" in path.read_bytes() for path in (root / ".nacre").rglob("*") if path.is_file())


def test_a_message_is_found_by_its_words_in_english_and_chinese(root: Path, wanted: None) -> None:
    memory = Memory.open(root)
    assert words(memory, "ferry Helsinki")[0] == "The ferry to Helsinki leaves at nine"
    assert words(memory, "发布推迟到什么时候")[0] == "周五的发布推迟到下周一"


def test_a_message_is_found_by_its_meaning(root: Path, wanted: None, fake_embedder: type[FakeEmbedder]) -> None:
    memory = Memory.open(root, embedder=fake_embedder())
    for question, answer in (("lighthouse stripes colour", "lighthouse"), ("发布推迟", "发布")):
        report = memory.ask(question, 2, mode="vector", corpus="sessions")
        assert report.mode == "vector"
        assert any(answer in hit.snippet.lower() for hit in report.hits)
    memory.index()
    assert not memory.ask("lighthouse", corpus="sessions").stale


def test_memory_and_sessions_are_searched_apart_or_together(root: Path, wanted: None) -> None:
    ClaudeTalk(Path.home(), "bbbb").say("I said: Use pnpm, never npm")
    memory = Memory.open(root)
    memory.index()
    sources = {
        corpus: {hit.source for hit in memory.search("pnpm never npm", mode="text", corpus=corpus)}
        for corpus in ("memory", "sessions", "all")
    }
    assert sources == {"memory": {"memory"}, "sessions": {"sessions"}, "all": {"memory", "sessions"}}
    together = memory.search("pnpm never npm", 2, mode="text", corpus="all")
    assert [hit.score for hit in together] == sorted((hit.score for hit in together), reverse=True)
    assert len(memory.search("pnpm never npm", 1, mode="text", corpus="all")) == 1


def test_a_search_of_memory_is_the_same_with_sessions_and_without(
    root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, fake_embedder: type[FakeEmbedder]
) -> None:
    def asked() -> object:
        with Memory.open(root, now="2026-03-05", embedder=fake_embedder()) as memory:
            memory.index()
            return memory.search("the deadline of the lighthouse", min_score=0)

    before = asked()
    monkeypatch.setenv("NACRE_INDEX_SESSIONS", "true")
    assert asked() == before


def test_a_hit_says_who_speaks_and_leads_to_its_message(root: Path, wanted: None) -> None:
    memory = Memory.open(root)
    (hit,) = memory.search("red and white stripes", 1, mode="text", corpus="sessions")
    assert (hit.layer, hit.source, hit.date, hit.project) == ("session", "sessions", "2026-03-02", "shop-api")
    assert hit.heading == "claude-code session:aaaa | project:shop-api > 2026-03-02 12:01 Agent"
    assert hit.provenance["speaker"] == "agent"
    assert hit.provenance["time"] == "2026-03-02T12:01:00+00:00"
    assert hit.citation == "sessions/claude-code/aaaa.md#L6-L7"
    excerpt = memory.get(hit.citation)
    assert excerpt.text == "## 2026-03-02 12:01 Agent\nRed and white stripes, as before."
    around = memory.get(hit.path, 1, lines=8)
    assert around.text.startswith("# claude-code session:aaaa")
    assert "Which colour" in around.text
    assert around.more
    with pytest.raises(NotFound, match="lines"):
        memory.get(hit.path, 500)


def test_a_new_message_is_found_at_once_and_shown_redacted(root: Path, wanted: None) -> None:
    memory = Memory.open(root)
    words(memory, "ferry")
    ClaudeTalk(Path.home(), "cccc").say(f"the walrus key is {SECRET}\nremember the walrus")
    (hit,) = memory.search("remember the walrus", 1, mode="text", corpus="sessions")
    assert SECRET not in hit.snippet
    shown = memory.get(hit.path, hit.start_line).text
    assert "remember the walrus" in shown
    assert SECRET not in shown


def test_as_of_an_earlier_moment_later_messages_do_not_exist(root: Path, wanted: None) -> None:
    Memory.open(root).index()
    then = Memory.open(root, now="2026-03-02T12:02:30+00:00")
    assert words(then, "ferry Helsinki", min_score=0) == []
    assert "好的，已经改期。" not in words(then, "好的，已经改期", min_score=0)
    assert words(then, "发布推迟")[0] == "周五的发布推迟到下周一"
    whole = then.get("sessions/claude-code/aaaa.md", 1, 100)
    assert whole.text.endswith("周五的发布推迟到下周一")
    assert not whole.more
    with pytest.raises(NotFound):
        then.get("sessions/claude-code/aaaa.md", 100)
    assert words(Memory.open(root), "ferry Helsinki", now="2026-03-01", min_score=0) == []


def test_in_a_group_sessions_do_not_exist(root: Path, wanted: None) -> None:
    talk = [("user", META.format("111", "Lin", "the climbers rest on Monday"))]
    openclaw_talk(Path.home(), "d1", "agent:main:telegram:direct:111", [("user", "my own chat")])
    openclaw_talk(Path.home(), "g1", "agent:main:telegram:group:-100", talk)
    assert words(Memory.open(root), "climbers rest Monday", min_score=0)
    memory = Memory.open(root, scope="group:team")
    memory.index()
    assert words(memory, "climbers rest Monday", min_score=0) == []
    assert {hit.source for hit in memory.search("climbers wall", corpus="all", min_score=0)} == {"memory"}
    with pytest.raises(NotFound):
        memory.get("sessions/openclaw/g1.md")


def test_filters_work_on_sessions(root: Path, wanted: None) -> None:
    memory = Memory.open(root)
    agent = memory.search("lighthouse colour stripes", mode="text", corpus="sessions", type="agent", min_score=0)
    assert {hit.provenance["speaker"] for hit in agent} == {"agent"}
    assert words(memory, "lighthouse", project="blog", min_score=0) == []
    assert words(memory, "lighthouse", project="shop-api", min_score=0)
    assert words(memory, "lighthouse", since="2026-03-03", min_score=0) == []
    both = memory.search("lighthouse deadline", mode="text", corpus="all", layers=["session"], min_score=0)
    assert {hit.layer for hit in both} == {"session"}


def test_deleting_the_index_loses_nothing(root: Path, wanted: None) -> None:
    with Memory.open(root) as memory:
        before = memory.search("ferry Helsinki", mode="text", corpus="sessions")
    shutil.rmtree(root / ".nacre" / "index")
    memory = Memory.open(root)
    assert memory.search("ferry Helsinki", mode="text", corpus="sessions") == before
    shutil.rmtree(root / ".nacre" / "index")
    assert memory.search("ferry Helsinki", mode="text", corpus="sessions") == before


def test_an_index_of_everything_reports_the_sessions_too(root: Path, wanted: None) -> None:
    memory = Memory.open(root)
    report = memory.index()
    assert report.text
    assert report.text.sessions
    assert (report.text.sessions.files, report.text.sessions.changed) == (1, 1)
    again = memory.update()
    assert again.sessions
    assert (again.sessions.files, again.sessions.read) == (1, 0)
    assert memory.waiting()[0] == 0


def test_a_file_of_the_users_own_in_a_folder_of_that_name_is_still_read(root: Path, wanted: None) -> None:
    (root / "sessions").mkdir()
    (root / "sessions" / "mine.md").write_text("my own\n", "utf8")
    assert Memory.open(root).get("sessions/mine.md").text == "my own"
