from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.errors import BadInput
from nacre.memory import Memory

Found = Callable[..., list[str]]


def test_a_question_in_english_finds_the_entry_and_its_exact_line(root: Path) -> None:
    hit = Memory.open(root).search("which package manager, pnpm or npm?", mode="text")[0]
    assert (hit.path, hit.start_line, hit.end_line) == ("MEMORY.md", 4, 4)
    assert hit.snippet == "- Use pnpm, never npm, in every repository"
    assert hit.heading == "Long-Term Memory > User Preferences"
    assert hit.layer == "longterm"
    assert hit.citation == "MEMORY.md#L4-L4"


def test_a_two_character_chinese_word_is_found(found: Found) -> None:
    assert found("持久") == ["memory/2026-02-10.md"]
    assert found("报告用什么排版")[0] == "MEMORY.md"


def test_inflected_words_find_each_other(found: Found) -> None:
    assert "memory/kitchen.md" in found("oven running hotter")


def test_rules_and_review_candidates_are_not_searched(found: Found) -> None:
    assert found("zeppelin") == []
    assert found("walrus") == []


def test_a_file_changed_before_the_search_is_seen_by_it(root: Path) -> None:
    memory = Memory.open(root)
    assert memory.search("giraffe", mode="text") == []
    for number in range(6):  # the later rounds go through the kernel's notes of changes instead of a scan
        note = root / "memory" / f"zoo-{number}.md"
        note.write_text(f"The giraffe house {number} opens at nine.\n", encoding="utf8")
        assert note.name in memory.search(f"giraffe house {number}", mode="text")[0].path
        note.write_text(f"The leopard house {number} opens at nine.\n", encoding="utf8")
        assert memory.search(f"leopard house {number}", mode="text")[0].path.endswith(note.name)
        assert memory.search("giraffe", mode="text") == []
        note.unlink()
        assert not any(note.name in hit.path for hit in memory.search(f"leopard house {number}", mode="text"))


def test_a_file_in_a_new_folder_is_seen(root: Path) -> None:
    memory = Memory.open(root)
    for _ in range(4):
        memory.search("oven", mode="text")
    deep = root / "memory" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "c.md").write_text("A heron stands in the pond.\n", encoding="utf8")
    assert [hit.path for hit in memory.search("heron", mode="text")] == ["memory/a/b/c.md"]


def test_where_nothing_answers_the_nearest_are_weak_and_the_report_says_that_it_abstained(root: Path) -> None:
    memory = Memory.open(root)
    assert memory.ask("quantum chromodynamics lattice", mode="text").hits == ()
    far = memory.ask("the deadline of quantum chromodynamics lattice simulations in the accelerator hall", mode="text")
    assert far.hits
    assert all(hit.weak for hit in far.hits)
    assert far.abstained


@pytest.mark.parametrize(
    "query",
    [
        "NEAR(deadline march)",
        '"deadline',
        "deadline*",
        "deadline AND NOT -x",
        "deadline:march",
        "{a b} : deadline",
        "deadline 🎉 ^",
        "x" * 100_000 + " deadline",
    ],
)
def test_operators_of_the_text_engine_are_only_words(root: Path, query: str) -> None:
    hits = Memory.open(root).search(query, mode="text", min_score=0)
    assert all(hit.path for hit in hits)


@pytest.mark.parametrize("query", ["", "   \n", "?!…,。", "🎉🎉", "\0"])
def test_a_question_without_words_is_refused_in_a_sentence(root: Path, query: str) -> None:
    with pytest.raises(BadInput, match="query"):
        Memory.open(root).search(query)


def test_a_question_of_stop_words_alone_still_answers(root: Path) -> None:
    assert isinstance(Memory.open(root).search("what is the", mode="text"), list)


def test_filters_narrow_the_search(found: Found) -> None:
    assert set(found("deadline")) == {"memory/2026-02-10.md", "memory/2026-03-01.md"}
    assert found("deadline", since="2026-03-01") == ["memory/2026-03-01.md"]
    assert found("deadline", until="2026-02-28") == ["memory/2026-02-10.md"]
    assert found("deadline", type="proj", project="blog") == ["memory/2026-03-01.md"]
    assert found("deadline", tag="writing") == ["memory/2026-03-01.md"]
    assert found("knot", tag="safety") == ["memory/handbook.md"]
    assert found("server room Oslo", layers=["weekly"]) == ["memory/weekly/2026-01-05.md"]
    assert found("deadline", path="memory/2026-02-*") == ["memory/2026-02-10.md"]
    assert found("deadline", layers=["longterm"]) == []


def test_an_unknown_layer_or_mode_is_refused(root: Path) -> None:
    with pytest.raises(BadInput, match="layer"):
        Memory.open(root).search("x", layers=["cellar"])
    with pytest.raises(BadInput, match="mode"):
        Memory.open(root).search("x", mode="magic")


def test_a_project_sees_itself_and_the_global_memory_never_another(found: Found) -> None:
    assert "projects/blog/MEMORY.md" in found("Eleventy built", project="blog")
    assert found("Eleventy built", project="shop-api") == []
    assert "memory/2026-02-10.md" not in found("deadline", project="blog")


def test_a_question_as_of_a_day_knows_nothing_of_later_days(root: Path) -> None:
    memory = Memory.open(root)
    for now in ("2026-02-20", dt.date(2026, 2, 20), dt.datetime(2026, 2, 20, 12, tzinfo=dt.UTC)):
        assert [hit.path for hit in memory.search("deadline", mode="text", now=now)] == ["memory/2026-02-10.md"]
    assert len(memory.search("deadline", mode="text", now="2026-03-01")) == 2


def test_of_two_equal_statements_the_newer_comes_first(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for day in ("2026-01-10", "2026-03-10", "2026-02-10"):
        (tmp_path / "memory" / f"{day}.md").write_text(
            f"# {day}\n\n- The office door code changed to a new one\n", encoding="utf8"
        )
    dates = [hit.date for hit in Memory.open(tmp_path).search("office door code", mode="text", now="2026-03-20")]
    assert dates[0] == "2026-03-10"


def test_a_named_day_is_preferred(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for day in ("2026-01-10", "2026-01-11", "2026-01-12"):
        (tmp_path / "memory" / f"{day}.md").write_text(
            f"# {day}\n\n- We talked about the harbour crane and its motor\n", encoding="utf8"
        )
    memory = Memory.open(tmp_path)
    assert memory.search("harbour crane on 2026-01-11", mode="text")[0].date == "2026-01-11"
    assert memory.search("2026年1月10日 harbour crane", mode="text")[0].date == "2026-01-10"


def test_near_copies_do_not_fill_the_first_places(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    lines = [f"- The harvest robot needs a new battery pack number {n}" for n in range(6)] + [
        "- The harvest robot was built in Turin by hand"
    ]
    (tmp_path / "memory" / "2026-01-10.md").write_text("# 2026-01-10\n\n" + "\n".join(lines) + "\n", encoding="utf8")
    hits = Memory.open(tmp_path).search("harvest robot", 3, mode="text")
    assert any("Turin" in hit.snippet for hit in hits)


def test_scores_fall_and_explain_themselves(root: Path) -> None:
    hits = Memory.open(root).search("deadline of the blog", mode="text", min_score=0)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert {"bm25", "cosine", "coverage", "period"} <= set(hits[0].parts)
    assert hits[0].provenance["session"] == "77777777"


def test_a_long_passage_is_shown_around_the_words_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    text = (
        "filler words without meaning here. " * 40
        + "The otter sleeps in the boathouse. "
        + "more filler follows after it. " * 6
    )
    (tmp_path / "memory" / "long.md").write_text(text, encoding="utf8")
    hit = Memory.open(tmp_path).search("otter boathouse", mode="text")[0]
    assert "otter sleeps" in hit.snippet
    assert len(hit.snippet) <= 700


def test_each_line_of_a_weekly_digest_is_an_entry_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "memory" / "weekly").mkdir(parents=True)
    digest = "# 2026-02-09\n### 2026-02-10\n[决策] 切换到 PostgreSQL 作为持久化方案 (src: 2026-02-10)\n[Preference] Typst rather than LaTeX for reports (src: 2026-02-11)\n"
    (tmp_path / "memory" / "weekly" / "2026-02-09.md").write_text(digest, encoding="utf8")
    hit = Memory.open(tmp_path).search("Typst or LaTeX", mode="text")[0]
    assert (hit.start_line, hit.end_line, hit.date) == (4, 4, "2026-02-11")
    assert hit.provenance["type"] == "Preference"


def test_an_empty_section_of_long_term_memory_is_no_answer(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path)
    assert memory.search("user preferences", mode="text") == []


def test_searches_during_updates_by_another_process_never_fail(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path)
    for number in range(60):
        (tmp_path / "memory" / f"n{number}.md").write_text(
            f"The heron number {number} waits in the reeds.\n", encoding="utf8"
        )
    memory.search("heron", mode="text")
    writer = subprocess.Popen([sys.executable, "-c", _REWRITER, str(tmp_path)])
    searches = 0
    while writer.poll() is None or searches < 20:
        assert memory.search("heron reeds", mode="text", min_score=0)
        searches += 1
    assert writer.returncode == 0


_REWRITER = """
import sys, pathlib
from nacre import Memory
root = pathlib.Path(sys.argv[1])
memory = Memory.open(root)
for turn in range(25):
    for number in range(0, 60, 3):
        (root / "memory" / f"n{number}.md").write_text(f"The heron number {number} waits {turn} hours in the reeds.\\n", encoding="utf8")
    memory.update()
"""


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("what happened on 2026-02-05", "2026-02-05"),
        ("February 5", "2026-02-05"),
        ("what did I write on 6 February", "2026-02-06"),
        ("2月5日", "2026-02-05"),
        ("what happened yesterday", "2026-02-07"),
        ("昨天发生了什么", "2026-02-07"),
    ],
)
def test_a_question_for_a_day_alone_is_answered_by_what_was_written_then(
    tmp_path: Path, question: str, day: str
) -> None:
    (tmp_path / "memory").mkdir()
    for number in range(1, 9):
        text = f"# 2026-02-0{number}\n\n- Painted the {number}th fence of the north meadow\n"
        (tmp_path / "memory" / f"2026-02-0{number}.md").write_text(text, encoding="utf8")
    hits = Memory.open(tmp_path).search(question, mode="text", now="2026-02-08")
    assert hits
    assert hits[0].date == day


def test_a_neighbour_that_says_nothing_of_it_is_no_hit(tmp_path: Path) -> None:
    memory = Memory.init(tmp_path)
    for line in ("Mara runs the finance team", "Buy milk", "The cat sleeps", "The fence is green"):
        memory.remember(line)
    assert [hit.snippet for hit in memory.search("Mara", mode="text")] == ["- Mara runs the finance team"]


def test_what_was_said_twice_is_shown_once_and_the_newest(tmp_path: Path) -> None:
    for day in ("2026-01-10", "2026-01-20"):
        Memory.init(tmp_path, now=f"{day}T10:00").remember("The spare key hangs behind the clock")
    assert [hit.date for hit in Memory.open(tmp_path).search("spare key", mode="text")] == ["2026-01-20"]


def test_a_secret_written_by_hand_is_neither_indexed_nor_handed_out(tmp_path: Path) -> None:
    secret = "Sup3r" + "Secret" + "V4lue!"
    memory = Memory.init(tmp_path)
    (tmp_path / "memory" / "hosts.md").write_text(
        f"# Hosts\n\nThe staging host: password = {secret}\n", encoding="utf8"
    )
    hit = memory.search("staging host password", mode="text")[0]
    assert secret not in hit.snippet
    assert secret not in memory.get(hit.path).text
    assert secret in (tmp_path / "memory" / "hosts.md").read_text("utf8")
    memory.close()
    assert all(secret.encode() not in path.read_bytes() for path in (tmp_path / ".nacre" / "index").iterdir())


_TALK = (
    "# The deadline of the shop\n\nsession:61871d67-1 | claude-code | 2026-02-10 14:00 – 2026-02-10 14:05 | project:shop-api | /srv/shop-api\n\n"
    "**User** 2026-02-10 14:00\n\nWhat is the deadline of shop-api?\n\n**Agent** 2026-02-10 14:05\n\nThe walnut desk costs 90 euros.\n"
)
_GIST = "# The deadline of the shop\n\nproject:shop-api\n\nTags: deadline, shop\n\n- The walnut desk costs 90 euros\n"


@pytest.mark.parametrize(("layer", "text"), [("warm", _TALK), ("gist", _GIST)])
def test_a_checkpoint_is_found_from_its_own_project_and_not_from_another(root: Path, layer: str, text: str) -> None:
    path = root / "memory_fs" / layer / "2026-02-10-1400-61871d67-1.md"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf8")
    memory = Memory.open(root)

    def found(**narrowing: str) -> bool:
        return any(hit.layer == layer for hit in memory.search("walnut desk", mode="text", **narrowing))  # type: ignore[arg-type]  # the filters of each case

    assert found()
    assert found(project="shop-api")
    assert not found(project="blog")


def test_an_entry_stands_above_a_checkpoint_that_says_the_same(root: Path) -> None:
    path = root / "memory_fs" / "hot" / "2026-02-10-1400-61871d67-1.md"
    path.parent.mkdir(parents=True)
    talk = "\n\n".join(
        f"**User** 2026-02-10 14:{at:02}\n\nThe deadline of shop-api is the end of March." for at in range(40)
    )
    path.write_text(f"# Deadline of shop-api\n\n{talk}\n", encoding="utf8")
    hits = Memory.open(root).search("what is the deadline of shop-api", mode="text")
    assert hits[0].path == "memory/2026-02-10.md"
    assert sum(hit.layer == "hot" for hit in hits) == 1


def test_entries_rank_as_if_there_were_no_checkpoints(root: Path) -> None:
    questions = ("what is the deadline of shop-api", "walnut desk", "who owns billing")

    def entries() -> list[list[tuple[str, float]]]:
        hits = [Memory.open(root).search(question, 10, mode="text", min_score=0) for question in questions]
        return [[(hit.id, hit.score) for hit in found if hit.layer != "warm"] for found in hits]

    before = entries()
    for number in range(30):
        path = root / "memory_fs" / "warm" / f"2026-02-10-14{number:02}-61871d67-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"# Deadline {number}\n\n**User** 2026-02-10 14:00\n\nthe deadline of shop-api, billing, {number}\n", "utf8"
        )
    assert [found[:4] for found in entries()] == [found[:4] for found in before]
    layers = [hit.layer for hit in Memory.open(root).search(questions[0], mode="text")]
    assert layers == sorted(layers, key=lambda layer: layer == "warm")


def test_how_hits_rank_and_rate_does_not_depend_on_how_many_are_asked_for(root: Path) -> None:
    for number in range(30):
        path = root / "memory_fs" / "warm" / f"2026-02-{10 + number % 3}-14{number:02}-61871d67-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        talk = "".join(f"**User** 2026-02-10 14:{at:02}\n\nThe oven of shop-api {at * number}\n\n" for at in range(40))
        path.write_text(
            f"# Talk {number}\n\n{talk}The ferry to Inchcolm runs until October, deadline {number}\n", "utf8"
        )
    lines = "".join(f"- The deadline of the blog moved to May {day}\n- Oven {day} is now hot\n" for day in range(1, 31))
    (root / "memory" / "2026-03-05.md").write_text(f"# 2026-03-05\n\n## 09:30 note\n{lines}", "utf8")
    memory = Memory.open(root)
    for question in ("when does the ferry to Inchcolm run", "deadline of the blog", "how hot is the oven", "who am I"):
        reports = {most: memory.ask(question, most, mode="text", min_score=0) for most in (1, 2, 3, 5, 8, 10, 15, 40)}
        for most, report in reports.items():
            assert report.hits == reports[40].hits[:most]
            assert report.abstained is reports[40].abstained
