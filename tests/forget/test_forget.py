"""Forgetting takes a fact from everywhere, leaves everything else as it was, and can be undone."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from tests.forget.conftest import (
    BULLET,
    FACT,
    FILES,
    NOW,
    OLDER,
    OVERTAKEN,
    WHERE,
    everything,
    killed_at,
    lay_out,
    ledger_of,
    take,
)
from tests.tidy.nights import Nights

from nacre.cli.main import run
from nacre.errors import BadInput, ChangedOutside, NotFound
from nacre.forget import apply
from nacre.forget.target import MemoryLines, find_targets
from nacre.memory import Memory
from nacre.vault import review
from nacre.vault.entries import bullet_id, entry_id
from nacre.vault.history import operation
from nacre.vault.review import Question
from nacre.vault.undo import undo


def places(report: apply.ForgetPlan) -> set[str]:
    return {one.line.place for one in report.going}


def test_a_fact_goes_from_every_place_in_every_wording(memory: Memory, root: Path) -> None:
    report = memory.forget("MEMORY.md:4", choose=take)
    assert places(report.plan) == WHERE
    after = everything(root)
    for name, text in FILES.items():
        if not name.endswith(".jsonl"):
            gone = {int(place.rpartition(":")[2]) for place in WHERE if place.startswith(f"{name}:")}
            kept = [line for number, line in enumerate(text.splitlines(keepends=True), 1) if number not in gone]
            assert after[name].decode() == "".join(kept)
    for words in (FACT, BULLET):
        assert memory.search(words, mode="text", min_score=0) == [] or all(
            words.casefold() not in hit.snippet.casefold() for hit in memory.search(words, mode="text", min_score=0)
        )


@pytest.mark.parametrize("purge", [False, True])
def test_the_open_questions_about_a_fact_go_with_it_and_others_stay(root: Path, memory: Memory, *, purge: bool) -> None:
    rain, about = "Rain is measured on the roof", {"file": "MEMORY.md"}
    questions = [
        Question(entry_id(FACT), review.FADED, FACT, f"may be superseded by “{rain}”. Keep it?", about),
        Question(entry_id(rain), review.CLASH, rain, f"conflicts with “{FACT}” in MEMORY.md.", about),
        Question("1111111111", review.DOUBT, "The billing team is led by Maria", "may be worth keeping.", about),
    ]
    with operation(memory.opened, "tidy") as op:
        review.change_review(op, add=questions)
    report = memory.forget(entry_id(FACT), purge=purge)
    assert [question.id for question in memory.questions()] == ["1111111111"]
    assert "pnpm" not in (root / "memory" / "review.md").read_text("utf8")
    assert report.purged is None or report.purged.left == ()
    assert entry_id(rain) not in report.plan.ids


def test_each_line_says_why_it_goes(memory: Memory) -> None:
    report = memory.forget(entry_id(FACT), dry_run=True, similar=True)
    reasons = {one.line.place: one.reason for one in report.plan.going}
    assert reasons["MEMORY.md:4"] == "the same words"
    assert reasons["memory/2026-03-18.md:4"] == "what it was derived from"
    assert reasons[OVERTAKEN] == "superseded by it"


def test_a_dry_run_touches_nothing(memory: Memory, root: Path) -> None:
    before = everything(root)
    memory.forget("MEMORY.md:4", dry_run=True)
    assert everything(root) == before
    assert not (root / ".nacre" / "key").exists()


def test_the_ledger_loses_the_words_and_keeps_a_tombstone_without_any(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", similar=True, choose=take)
    lines = ledger_of(root)
    text = json.dumps(lines, ensure_ascii=False)
    assert "pnpm" not in text
    assert "npm" not in text
    assert "yarn" not in text
    assert [line["text"] for line in lines if line["verdict"] == "refused"] == ["Rain all day"]
    buried = {line["id"]: line["tombstone"] for line in lines if line["verdict"] == "forgotten"}
    assert {entry_id(FACT), entry_id(BULLET), entry_id(OLDER)} <= buried.keys()
    assert {stone["fact"] for stone in buried.values()} == {entry_id(FACT)}
    assert (root / ".nacre" / "key").stat().st_mode & 0o777 == 0o600


def test_undo_brings_everything_back_with_the_ledger(memory: Memory, root: Path) -> None:
    before = everything(root)
    memory.forget("MEMORY.md:4", choose=take)
    undo(memory.opened)
    assert everything(root) == before


def test_forgetting_twice_is_forgetting_once(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    after = everything(root)
    with pytest.raises(NotFound, match="already been forgotten"):
        memory.forget(entry_id(FACT))
    assert everything(root) == after


def test_the_id_of_a_hit_names_its_line(memory: Memory) -> None:
    hit = next(hit for hit in memory.search("billing Maria", mode="text") if hit.path == "MEMORY.md")
    assert places(memory.forget(hit.id, dry_run=True).plan) == {"MEMORY.md:6"}


def test_the_mark_of_a_bullet_and_its_place_name_the_whole_fact(memory: Memory) -> None:
    assert places(memory.forget("memory/2026-03-18.md:4", dry_run=True).plan) == WHERE
    assert places(memory.forget("memory/2026-03-18.md#L4-L4", dry_run=True).plan) == WHERE


def test_the_very_words_name_a_fact_without_a_search(memory: Memory) -> None:
    assert places(memory.forget("use  PNPM, never npm, in every repository!", dry_run=True).plan) == WHERE


def test_words_that_fit_several_things_forget_none_of_them(memory: Memory, root: Path) -> None:
    (root / "memory" / "2026-03-12.md").write_text(
        "# 2026-03-12\n\n## 10:00 note\n- Maria is on leave until May\n", "utf8"
    )
    before = everything(root)
    with pytest.raises(BadInput, match=r"could mean any of these(?s:.*)MEMORY\.md:6"):
        memory.forget("Maria")
    assert everything(root) == before


def test_a_line_number_alone_names_no_fact(memory: Memory, root: Path) -> None:
    before = everything(root)
    with pytest.raises(BadInput, match=rf"specify one by its id(?s:.*){entry_id(FACT)}  MEMORY\.md:4  {FACT}"):
        memory.forget("MEMORY.md:4")
    assert everything(root) == before


def test_lines_that_say_the_same_fact_are_one_choice(memory: Memory) -> None:
    """Its bullet, its digest line and its entry are found by three hits and are one thing."""
    offered: list[str] = []

    def choose(targets, certain):  # type: ignore[no-untyped-def]
        offered.extend(target.words for target in targets)
        return targets[:1]

    memory.forget("pnpm npm", dry_run=True, choose=choose)
    assert len(offered) == 1


def test_what_only_looks_like_it_is_listed_and_stays(memory: Memory, root: Path) -> None:
    path = root / "memory" / "2026-03-19.md"
    path.write_text(f"# 2026-03-19\n\n## 08:00 note\n- Reminder: {FACT}, says Lin\n- Walk the dog\n", "utf8")
    report = memory.forget("MEMORY.md:4", choose=take)
    assert [one.line.place for one in report.plan.alike] == ["memory/2026-03-19.md:4", OVERTAKEN]
    assert FACT in path.read_text("utf8")


def test_similar_takes_what_looks_like_it_too(memory: Memory, root: Path) -> None:
    path = root / "memory" / "2026-03-19.md"
    path.write_text(f"# 2026-03-19\n\n## 08:00 note\n- Reminder: {FACT}, says Lin\n- Walk the dog\n", "utf8")
    memory.forget("MEMORY.md:4", similar=True, choose=take)
    assert path.read_text("utf8") == "# 2026-03-19\n\n## 08:00 note\n- Walk the dog\n"


def test_an_item_goes_with_what_is_nested_in_it_and_a_nested_one_alone(memory: Memory, root: Path) -> None:
    path = root / "MEMORY.md"
    path.write_text(
        "# M\n\n## A\n- Tools\n  - Hammers are in the shed\n  - Saws are in the attic\n- Other things\n", "utf8"
    )
    memory.forget("MEMORY.md:5", choose=take)
    assert path.read_text("utf8") == "# M\n\n## A\n- Tools\n  - Saws are in the attic\n- Other things\n"
    memory.forget("MEMORY.md:4", choose=take)
    assert path.read_text("utf8") == "# M\n\n## A\n- Other things\n"


def test_other_bytes_stay_as_they_were(memory: Memory, root: Path) -> None:
    path = root / "memory" / "2026-03-01.md"
    path.write_bytes(b"\xef\xbb\xbf- Gone with the wind today\r\n- Stays here  \r\n\r\n* bad \xff bytes\r\nno end")
    memory.forget("memory/2026-03-01.md:1", choose=take)
    assert path.read_bytes() == b"\xef\xbb\xbf- Stays here  \r\n\r\n* bad \xff bytes\r\nno end"


def test_a_heading_stays_when_nothing_is_left_under_it(memory: Memory, root: Path) -> None:
    path = root / "memory" / "2026-03-02.md"
    path.write_text("# 2026-03-02\n\n## 10:00 note\n- The only line of the day\n", "utf8")
    memory.forget("memory/2026-03-02.md:4", choose=take)
    assert path.read_text("utf8") == "# 2026-03-02\n\n## 10:00 note\n"


def test_a_line_that_was_edited_meanwhile_stops_it_before_anything_is_written(memory: Memory, root: Path) -> None:
    room = memory._forgetting()
    lines = MemoryLines(memory.workspace, memory.config)
    made = apply.plan_forget(room, find_targets(room, "MEMORY.md:4", lines)[0], lines)
    (root / "memory" / "tools.md").write_text("# Tools\n\nNothing of the kind.\n", "utf8")
    before = everything(root)
    with pytest.raises(ChangedOutside):
        apply.apply_forget(room, made)
    assert everything(root) == before


def test_a_line_that_was_added_below_meanwhile_stays(memory: Memory, root: Path) -> None:
    room = memory._forgetting()
    lines = MemoryLines(memory.workspace, memory.config)
    made = apply.plan_forget(room, find_targets(room, "MEMORY.md:4", lines)[0], lines)
    log = root / "memory" / "2026-03-18.md"
    with log.open("a", encoding="utf8") as file:
        file.write("- An agent wrote this just now\n")
    apply.apply_forget(room, made)
    assert log.read_text("utf8").endswith("- The shop was deployed on Monday\n- An agent wrote this just now\n")


def test_killed_at_any_moment_it_is_completed_by_doing_it_again(memory_disk: Path) -> None:
    for call in range(1, 200, 11):
        place = memory_disk / f"killed-{call}"
        Memory.init(place, now=NOW).close()
        lay_out(place, FILES)

        def work(place: Path = place) -> None:
            Memory.open(place, now=NOW).forget(FACT)

        died = killed_at(call, work)
        with Memory.open(place, now=NOW) as again, contextlib.suppress(NotFound):
            again.forget(entry_id(FACT))
        left = everything(place)
        assert left["MEMORY.md"].decode() == FILES["MEMORY.md"].replace(f"- {FACT}\n", "")
        notes = [data for name, data in left.items() if name.endswith(".md") and name != "AGENTS.md"]
        assert not any(b"pnpm" in data.lower() for data in notes)
        assert b"Maria may have left" in left["memory/review.md"]
        assert b"The shop was deployed" in left["memory/2026-03-18.md"]
        if not died:
            return
    raise AssertionError("it never came to its end")


def test_an_entry_that_was_merged_away_takes_its_entry_along_but_not_what_else_went_into_it(root: Path) -> None:
    ledger = root / "memory" / "ledger.jsonl"
    one, other, both = (
        "The gate code changes in May",
        "The shed needs new paint",
        "Gate code changes in May; shed needs paint",
    )
    lines = [
        {"id": entry_id(one), "at": NOW, "verdict": "merged", "text": one, "into": entry_id(both)},
        {"id": entry_id(other), "at": NOW, "verdict": "merged", "text": other, "into": entry_id(both)},
        {"id": entry_id(both), "at": NOW, "verdict": "admitted", "text": both},
    ]
    ledger.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf8")
    (root / "MEMORY.md").write_text(f"# M\n\n## A\n- {both}\n- Another entry\n", "utf8")
    (root / "memory" / "2026-03-10.md").write_text(f"# 2026-03-10\n\n## 10:00 note\n- {one}\n- {other}\n", "utf8")
    with Memory.open(root, now=NOW) as memory:
        report = memory.forget("memory/2026-03-10.md:4", choose=take)
    assert places(report.plan) == {"MEMORY.md:4", "memory/2026-03-10.md:4"}
    assert ("memory/2026-03-10.md:5", "became part of the same entry") in {
        (one.line.place, one.reason) for one in report.plan.alike
    }


def test_chinese_facts_are_forgotten_alike(memory: Memory, root: Path) -> None:
    (root / "memory" / "2026-03-11.md").write_text(
        "# 2026-03-11\n\n## 10:00 note\n- [偏好] 报告一律用 Typst 排版。\n", "utf8"
    )
    report = memory.forget("报告一律用 Typst 排版")
    assert places(report.plan) == {"MEMORY.md:5", "memory/2026-03-11.md:4"}


def test_what_is_not_nacres_is_left_alone_with_a_reason(memory: Memory, root: Path) -> None:
    with pytest.raises(BadInput, match="not a memory file kept by Nacre"):
        memory.forget("AGENTS.md:3")
    with pytest.raises(NotFound, match="empty or a heading"):
        memory.forget("MEMORY.md:3", choose=take)
    with pytest.raises(NotFound, match="has the id"):
        memory.forget("0123456789")
    with pytest.raises(NotFound, match="seems to be about"):
        memory.forget("the speed of zeppelins over Ulm")
    with pytest.raises(BadInput, match="Say which memory you mean"):
        memory.forget("   ")


def test_a_group_forgets_nothing(root: Path) -> None:
    with Memory.open(root, now=NOW, scope="group:climbers") as memory, pytest.raises(BadInput, match="group"):
        memory.forget("MEMORY.md:4", choose=take)


def test_a_file_that_goes_by_two_names_is_edited_once(memory: Memory, root: Path) -> None:
    (root / "memory" / "2026-03-13.md").write_text("# 2026-03-13\n\n- The well is deep and cold\n- Stays\n", "utf8")
    (root / "memory" / "linked.md").symlink_to("2026-03-13.md")
    memory.forget("memory/2026-03-13.md:3", choose=take)
    assert (root / "memory" / "2026-03-13.md").read_text("utf8") == "# 2026-03-13\n\n- Stays\n"
    undo(memory.opened)
    assert "well" in (root / "memory" / "linked.md").read_text("utf8")


def test_a_workspace_behind_a_link_is_the_same(root: Path, tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    root.rename(tmp_path / ".hidden" / "ws")
    (tmp_path / "way").symlink_to(tmp_path / ".hidden" / "ws")
    with Memory.open(tmp_path / "way", now=NOW) as memory:
        before = everything(tmp_path / ".hidden" / "ws")
        assert places(memory.forget("MEMORY.md:4", choose=take).plan) == WHERE
        undo(memory.opened)
    assert everything(tmp_path / ".hidden" / "ws") == before


def test_checkpoints_that_lie_elsewhere_are_reached_and_the_users_library_is_not(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers, library = tmp_path / "layers", tmp_path / "library"
    (root / "memory_fs").rename(layers)
    library.mkdir()
    (library / "own.md").write_text(f"- {FACT}\n", "utf8")
    monkeypatch.setenv("NACRE_TIERS_PATH", str(layers))
    monkeypatch.setenv("NACRE_INDEX_EXTRA_PATHS", json.dumps([str(library)]))
    with Memory.open(root, now=NOW) as memory:
        report = memory.forget("MEMORY.md:4", purge=True, choose=take)
    assert FACT not in (layers / "warm" / "talk.md").read_text("utf8")
    assert FACT in (library / "own.md").read_text("utf8")
    assert report.purged
    assert [(one.path, one.line) for one in report.purged.left] == [(str(library / "own.md"), 1)]


def test_what_a_fact_superseded_is_another_statement_and_stays_unless_similar_is_said(
    memory: Memory, root: Path
) -> None:
    report = memory.forget("MEMORY.md:4", choose=take)
    assert {one.line.place: one.reason for one in report.plan.alike} == {OVERTAKEN: "superseded by it"}
    assert OLDER in (root / "memory" / "weekly" / "2026-02-09.md").read_text("utf8")
    assert entry_id(OLDER) not in report.plan.ids


def test_a_statement_that_was_overtaken_by_an_entry_is_told_from_words_that_were_put_better(root: Path) -> None:
    fact, better, other = "The gate opens at nine", "Gate opens at nine sharp now", "The gate opens at eight o'clock"
    lines = [
        {"id": entry_id(fact), "at": NOW, "verdict": "merged", "text": fact, "into": entry_id(better)},
        {"id": entry_id(other), "at": NOW, "verdict": "superseded", "text": other, "by": entry_id(better)},
        {"id": entry_id(better), "at": NOW, "verdict": "admitted", "text": better, "supersedes": entry_id(fact)},
    ]
    (root / "memory" / "ledger.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf8")
    (root / "MEMORY.md").write_text(f"# M\n\n- {better}\n- {fact}\n- {other}\n", "utf8")
    with Memory.open(root, now=NOW) as memory:
        report = memory.forget("MEMORY.md:3", choose=take)
    assert places(report.plan) == {"MEMORY.md:3", "MEMORY.md:4"}
    assert ("MEMORY.md:5", "superseded by it") in {(one.line.place, one.reason) for one in report.plan.alike}


def test_an_item_with_nested_lines_is_the_same_only_with_the_same_nested_lines(memory: Memory, root: Path) -> None:
    day, other, flat = (root / "memory" / f"2026-03-{number}.md" for number in ("14", "15", "16"))
    day.write_text("# 2026-03-14\n\n- Done\n  - moved the billing database\n- Stays\n", "utf8")
    kept = "# 2026-03-15\n\n- Done\n  - signed the lease\n"
    other.write_text(kept, "utf8")
    flat.write_text("# 2026-03-16\n\n- Done - moved the billing database\n- Done\n", "utf8")
    report = memory.forget("memory/2026-03-14.md:3", choose=take)
    assert places(report.plan) == {"memory/2026-03-14.md:3", "memory/2026-03-16.md:3"}
    assert {one.line.place for one in report.plan.alike} == {"memory/2026-03-15.md:3", "memory/2026-03-16.md:4"}
    assert other.read_text("utf8") == kept
    assert entry_id("Done") not in report.plan.ids


@pytest.mark.parametrize("words", ["Done", "Use pnpm", "已完成", "用 pnpm"])
def test_few_words_are_forgotten_only_where_they_were_pointed_at(memory: Memory, root: Path, words: str) -> None:
    for number in ("14", "15"):
        (root / "memory" / f"2026-03-{number}.md").write_text(f"# 2026-03-{number}\n\n- {words}\n", "utf8")
    report = memory.forget("memory/2026-03-14.md:3", dry_run=True)
    assert places(report.plan) == {"memory/2026-03-14.md:3"}
    assert [one.line.place for one in report.plan.alike] == ["memory/2026-03-15.md:3"]
    with pytest.raises(BadInput, match="could mean any of these"):
        memory.forget(words)
    with pytest.raises(BadInput, match="could mean any of these"):
        memory.forget(entry_id(words))


def test_few_words_still_go_from_the_log_that_the_ledger_says_they_were_learned_from(root: Path) -> None:
    words = "Use pnpm"
    source = {"day": "2026-03-14", "bullet": bullet_id(f"- {words}")}
    entry = {"id": entry_id(words), "at": NOW, "verdict": "admitted", "text": words, "source": source}
    (root / "memory" / "ledger.jsonl").write_text(json.dumps(entry) + "\n", "utf8")
    (root / "MEMORY.md").write_text(f"# M\n\n- {words}\n", "utf8")
    for number in ("14", "15"):
        (root / "memory" / f"2026-03-{number}.md").write_text(f"# 2026-03-{number}\n\n- {words}\n", "utf8")
    with Memory.open(root, now=NOW) as memory:
        both = {"MEMORY.md:3", "memory/2026-03-14.md:3"}
        assert places(memory.forget("MEMORY.md:3", dry_run=True).plan) == both
        assert places(memory.forget("memory/2026-03-14.md:3", dry_run=True).plan) == both
        assert places(memory.forget("memory/2026-03-15.md:3", dry_run=True).plan) == {"memory/2026-03-15.md:3"}


@pytest.mark.parametrize("line", [0, 1])
def test_either_line_of_the_log_that_an_entry_was_joined_from_takes_it_along(tmp_path: Path, line: int) -> None:
    nights = Nights(tmp_path / "ws")
    said = (
        "Maria Lopez leads the billing team and signs every invoice",
        "She never reads mail, always ring her instead",
    )
    nights.log("2026-03-19", *said)
    first, second = map(bullet_id, said)
    source = {"day": "2026-03-19", "session": "61871d67", "bullet": second, "above": first}
    nights.entries(f"{said[0]}; {said[1]}", source=source)
    with nights.memory(time="05:00:00") as memory:
        memory.forget(said[line], choose=take)
    assert nights.kept() == []
    assert not [words for words in said if words in nights.text("memory/2026-03-19.md")]


def test_a_single_thing_that_only_a_search_found_is_not_taken(memory: Memory, root: Path) -> None:
    (root / "memory" / "review.md").unlink()
    before = everything(root)
    with pytest.raises(BadInput, match=r"could mean any of these(?s:.*)MEMORY\.md:6"):
        memory.forget("the billing team of Maria")
    assert everything(root) == before


def test_the_command_lists_a_lone_search_hit_and_takes_it_by_its_id(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NACRE_WORKSPACE", str(root))
    asked = ["forget", "the billing team of Maria", "--json"]
    (root / "memory" / "review.md").unlink()
    assert run(asked) == 2
    (candidate,) = json.loads(capsys.readouterr().out)["candidates"]
    assert candidate["path"] == "MEMORY.md"
    assert "Maria" in (root / "MEMORY.md").read_text("utf8")
    assert run(["forget", candidate["id"]]) == 0
    assert "Maria" not in (root / "MEMORY.md").read_text("utf8")
