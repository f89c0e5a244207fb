"""`memory/review.md`: questions as people read them, answered by id, everything else in the file left as it is."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from tests.storage import file_bytes, is_there, put_file, take_file

from nacre.clock import Clock
from nacre.config.settings import Config
from nacre.i18n import use_language
from nacre.model import Context, Workspace
from nacre.vault import review
from nacre.vault.history import operation
from nacre.vault.review import ADOPTED, CLASH, FADED, KINDS, Question, kind_title
from nacre.vault.undo import undo

ONE = Question(
    "7f3a9c41d2",
    CLASH,
    "Use Vitest, never Jest",
    "conflicts with “Use Jest” in MEMORY.md",
    {"file": "MEMORY.md", "against": "19c0ffee01", "source": {"day": "2026-02-10", "bullet": "b1946ac9"}},
)
TWO = Question(
    "19c0ffee02", FADED, "报税截止日期是2月28日", "其日期 2026-02-28 已过；要移除吗？", {"file": "MEMORY.md"}
)


def change(workspace: Workspace, clock: Clock, *add: Question, drop: tuple[str, ...] = ()) -> None:
    with operation(Context(workspace, Config(), clock), "tidy") as op:
        review.change_review(op, add=add, drop=drop)


def test_a_question_comes_back_as_it_was_put(workspace: Workspace, clock: Clock) -> None:
    assert review.read_review(workspace) == []
    change(workspace, clock, ONE, TWO)
    assert review.read_review(workspace) == [ONE, TWO]
    assert review.read_review(workspace)[0].said == ("2026-02-10", "b1946ac9")
    assert review.read_review(workspace)[1].said is None


def test_a_person_reads_the_text_and_the_reason(workspace: Workspace, clock: Clock) -> None:
    change(workspace, clock, TWO)
    shown = file_bytes(workspace.review).decode().splitlines()
    assert shown[0] == "# Review"
    assert shown[-2].startswith("- 报税截止日期是2月28日 <!-- nacre:")
    assert shown[-1] == f"  - {TWO.why}"


@pytest.mark.parametrize(
    "pair", [review.WORTH_KEEPING, review.BY_AGENT, review.REMOVED_BEFORE, review.no_room("MEMORY.md")]
)
def test_a_reason_that_names_no_line_is_told_in_the_language_of_the_reader(
    workspace: Workspace, clock: Clock, pair: tuple[str, str]
) -> None:
    for asked, (read, language) in zip(pair, ((pair[1], "zh"), (pair[0], "en")), strict=True):
        change(workspace, clock, ONE._replace(id=language, kind=review.DOUBT, why=asked))
        use_language(language)
        assert review.read_review(workspace)[-1].why == read
        assert asked in file_bytes(workspace.review).decode()


def test_the_same_question_is_put_once(workspace: Workspace, clock: Clock) -> None:
    change(workspace, clock, ONE)
    before = file_bytes(workspace.review)
    change(workspace, clock, ONE, ONE)
    assert file_bytes(workspace.review) == before


def test_answered_questions_go_and_every_other_byte_stays(workspace: Workspace, clock: Clock) -> None:
    change(workspace, clock, ONE, TWO)
    text = file_bytes(workspace.review).decode().replace("# Review", "# My review  ") + "\nmy own note\n- my own item\n"
    put_file(workspace.review, text)
    change(workspace, clock, drop=(ONE.id,))
    assert review.read_review(workspace) == [TWO]
    lines = text.splitlines()
    place = next(number for number, line in enumerate(lines) if ONE.id in line)
    assert file_bytes(workspace.review).decode().splitlines() == lines[:place] + lines[place + 2 :]


def test_dropping_what_is_not_there_touches_nothing(workspace: Workspace, clock: Clock) -> None:
    change(workspace, clock, drop=("0000000000",))
    assert not is_there(workspace.review)


def test_a_line_that_the_user_deleted_or_broke_is_no_question(workspace: Workspace, clock: Clock) -> None:
    change(workspace, clock, ONE, TWO)
    text = file_bytes(workspace.review).decode().replace('{"id":"7f3a9c41d2"', '{"id":7f3a9c41d2')
    put_file(workspace.review, text + '- x <!-- nacre:{"id":"a","kind":"other"} -->\n- y <!-- nacre:{} -->\n')
    assert review.read_review(workspace) == [TWO]


def test_a_secret_is_blacked_out_and_the_file_is_written(workspace: Workspace, clock: Clock) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    change(workspace, clock, Question("1234567890", ADOPTED, f"the token is {secret}", f"holds {secret}"))
    (item,) = review.read_review(workspace)
    assert item.text == "the token is [redacted: github token]"
    assert secret not in file_bytes(workspace.review).decode()


def test_a_change_can_be_undone(workspace: Workspace, clock: Clock) -> None:
    change(workspace, clock, ONE)
    before = file_bytes(workspace.review)
    change(workspace, clock, TWO, drop=(ONE.id,))
    undo(Context(workspace, Config(), clock))
    assert file_bytes(workspace.review) == before


def test_every_kind_has_a_name_in_both_languages() -> None:
    english = [kind_title(kind) for kind in KINDS]
    use_language("zh")
    assert len({*english, *(kind_title(kind) for kind in KINDS)}) == 2 * len(KINDS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(text=st.text(min_size=1, max_size=80), why=st.text(max_size=80), value=st.text(max_size=40))
def test_whatever_a_question_says_it_is_one_question_and_can_be_dropped(
    workspace: Workspace, clock: Clock, text: str, why: str, value: str
) -> None:
    take_file(workspace.review)
    odd = Question("abcdef0123", CLASH, f"{text} <!-- nacre:{{}} --> x", why, {"file": value})
    change(workspace, clock, ONE, odd)
    found = review.read_review(workspace)
    assert [one.id for one in found] == [ONE.id, odd.id]
    assert found[0] == ONE
    change(workspace, clock, drop=(odd.id,))
    assert review.read_review(workspace) == [ONE]


def test_a_note_that_nests_without_end_or_names_no_id_is_no_question(workspace: Workspace, clock: Clock) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    put_file(
        workspace.review,
        f'- x <!-- nacre:{{"id":"a","kind":"full","x":{deep}}} -->\n- y <!-- nacre:{{"id":[1],"kind":"full"}} -->\n',
    )
    before = file_bytes(workspace.review)
    assert review.read_review(workspace) == []
    change(workspace, clock, Question("b", CLASH, "text", "why"), drop=("a",))
    assert file_bytes(workspace.review).startswith(before)
    assert [one.id for one in review.read_review(workspace)] == ["b"]


def test_bytes_that_are_no_utf_8_stay_and_hide_no_question(workspace: Workspace, clock: Clock) -> None:
    put_file(workspace.review, b"- caf\xe9\r\n")
    assert review.read_review(workspace) == []
    change(workspace, clock, Question("a", CLASH, "one", "why"), Question("b", CLASH, "\u4e2d", "why"))
    assert [one.text for one in review.read_review(workspace)] == ["one", "\u4e2d"]
    change(workspace, clock, drop=("a", "b"))
    assert file_bytes(workspace.review) == b"- caf\xe9\r\n\n"


@pytest.mark.on_disk
def test_a_folder_in_the_place_of_the_file_asks_nothing(workspace: Workspace, clock: Clock) -> None:
    workspace.review.mkdir()
    assert review.read_review(workspace) == []
    change(workspace, clock)


def test_a_line_of_nothing_but_openings_is_read_at_once(workspace: Workspace) -> None:
    put_file(workspace.review, "- } --> " + "<!-- nacre:{" * 100_000)
    assert review.read_review(workspace) == []
