"""A statement that tells what is given up replaces what names it, or is asked about; it never stands beside it without a word."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.brain.local import relation
from nacre.brain.local.likeness import have_in_common, statement, tells_of_a_change

VECTORS = np.array([1, 0], np.float32), np.array([0.4, 0.9], np.float32)  # of different matters, by their meaning
BEFORE = "Use pnpm in this repo, never npm"


@pytest.mark.parametrize(
    ("old", "new", "odds", "labels"),
    [
        (BEFORE, "We switched from pnpm to Bun last weekend", (0.0, 0.71, 0.25), {"replaces", "ask"}),
        (BEFORE, "We switched from pnpm to Bun last weekend", (0.0, 0.3, 0.65), {"replaces", "ask"}),
        (BEFORE, "We switched from Jenkins to Actions", (0.0, 0.3, 0.65), {"adds"}),
        ("依赖管理一律用 pnpm", "上周末从 pnpm 换成 Bun 了", (0.4, 0.28, 0.3), {"replaces", "ask"}),
    ],
)
def test_what_is_given_up_by_name(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, odds: tuple[float, float, float], labels: set[str]
) -> None:
    row = [[*odds, 0.02, 0.02]]
    monkeypatch.setattr(relation, "label_odds", lambda pairs, _: np.array(row * len(pairs)) if pairs else None)
    language = "en" if old.isascii() else "zh"
    before, after = (statement(text, language, vector) for text, vector in zip((old, new), VECTORS, strict=True))
    (found,) = relation.compare_nearest(after, [(0, before)], 0.5)
    assert found.label in labels


def test_the_nearest_of_many_is_meant() -> None:
    """The same odds count for less where another entry is nearer, or where a memory has few entries."""
    rows = np.array([[0.02, 0.5, 0.44, 0.02, 0.02], *[[0.01, 0.05, 0.92, 0.01, 0.01]] * 4], np.float32)
    weights = relation.nearest_weights("en")

    def replaces(cosines: list[float], least: np.ndarray | None = None) -> float:
        features = relation.nearest_features(rows[: len(cosines)], cosines, range(len(cosines)), least)
        return float(weights.weigh(features)[0, 1])

    far_from_others = replaces([0.6, 0.1, 0.1, 0.1, 0.1])
    assert far_from_others > replaces([0.6, 0.7, 0.1, 0.1, 0.1])
    assert far_from_others > replaces([0.6], weights.mean[[relation.CLOSEST, relation.RIVAL]])


@pytest.mark.parametrize("parts", [3, 9])
def test_a_long_entry_that_is_alone_counts_as_one(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    """However many of the nearest statements are its parts."""
    row = [[0.0, 0.5, 0.46, 0.02, 0.02]]
    monkeypatch.setattr(relation, "label_odds", lambda pairs, _: np.array(row * len(pairs)) if pairs else None)
    old, new = (statement(text, "en", vector) for text, vector in zip((BEFORE, "Bun it is"), VECTORS, strict=True))
    found = relation.compare_nearest(new, [(0, old)] * parts, 0.5)
    assert {one.label for one in found} == {relation.compare_nearest(new, [(0, old)], 0.5)[0].label}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Guests may cancel three days ahead",
            "The rule for cancelling changes: two days ahead on weekdays, three days else",
        ),
        ("平时入住前三天可以全退", "退订的规矩改一改：平日提前一天说就全退，周末还是三天"),
        ("A loaf costs 4.20 pounds", "The loaf is 4.60 pounds"),
        ("自家豆腐每斤卖四块", "咱家豆腐一斤卖五块"),
        ("The primary database is db-north", "db-south is the primary database"),
        ("主库是 db-north", "db-south 才是主库"),
        ("No dogs in the café", "Dogs are fine in the café"),
        ("咖啡馆不让带宠物", "带宠物来咖啡馆没问题"),
    ],
)
def test_what_differs_in_a_value_or_in_what_is_allowed_is_never_dropped_as_the_same(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    assert compared(monkeypatch, old, new, (0.92, 0.06, 0.01, 0.005, 0.005)) in {"replaces", "ask"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The timeout is 90 seconds", "Requests time out after a minute and a half"),
        ("Dogs are not allowed in the café", "No dogs in the café"),
        ("Mum does the books, she can't open attachments", "Mum can't open files, she does the books"),
        ("宴会厅最多坐三百人", "宴会厅坐满是三百位"),
        ("打包镜像基于 Alpine 3.19", "镜像的底子是 alpine3.19"),
        ("投稿不能超过三千字", "投稿三千字封顶"),
    ],
)
def test_the_same_in_other_words_is_the_same(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    assert compared(monkeypatch, old, new, (0.92, 0.06, 0.01, 0.005, 0.005)) == "same"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Joe has a bad back, don't give him heavy work", "Joe is our neighbour"),
        ("老周腰不好，重活别派给他", "老周就是我先生"),
    ],
)
def test_who_somebody_is_stands_beside_what_else_is_known_of_them(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    assert compared(monkeypatch, old, new, (0.86, 0.02, 0.1, 0.01, 0.01)) == "adds"


def compared(monkeypatch: pytest.MonkeyPatch, old: str, new: str, odds: tuple[float, ...]) -> str:
    """How two statements relate by these odds of a pair."""
    monkeypatch.setattr(relation, "label_odds", lambda pairs, _: np.array([odds] * len(pairs)) if pairs else None)
    language = "en" if old.isascii() or "é" in old else "zh"
    before, after = (statement(text, language, vector) for text, vector in zip((old, new), VECTORS, strict=True))
    return relation.compare_pairs([(before, after)])[0].label


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We rent no rooms by the hour, Marge has no time for it", "Marge does the cleaning, six years long"),
        ("咱们不做钟点房，桂姨一个人翻房翻不过来", "桂姨管打扫，做了六年了"),
    ],
)
def test_what_has_only_a_name_in_common_with_an_entry_does_not_take_its_place_unasked(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    """The odds say that it does; the other way round they say that both stand."""
    rows = {old: (0.01, 0.79, 0.02, 0.01, 0.01), new: (0.08, 0.04, 0.84, 0.02, 0.02)}
    monkeypatch.setattr(
        relation, "label_odds", lambda pairs, _: np.array([rows[pair[0].text] for pair in pairs]) if pairs else None
    )
    monkeypatch.setattr(relation.NearestWeights, "weigh", lambda *_: np.array([rows[old]], np.float32))
    language = "en" if old.isascii() else "zh"
    before, after = (statement(text, language, VECTORS[0]) for text in (old, new))
    assert relation.compare_nearest(after, [(0, before)], 0.5)[0].label == "ask"
    rows[new] = rows[old]
    assert relation.compare_nearest(after, [(0, before)], 0.5)[0].label == "replaces"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Marge does the cleaning", "Marge retires, the Olsens do the cleaning from now on"),
        ("Breakfast ends at 9:30", "There is breakfast until 10:30"),
        ("The trailer is cut by Renzo", "Studio Kippe cuts the trailer, Renzo ghosted me"),
        ("桂姨管打扫", "桂姨下个月退休，保洁换成老吴两口子"),
        ("早餐只做到九点半", "早饭十点之前下来都有得吃"),
    ],
)
def test_words_of_change_values_of_one_kind_and_several_words_in_common_speak_for_a_change(old: str, new: str) -> None:
    language = "en" if old.isascii() else "zh"
    before, after = statement(old, language), statement(new, language)
    assert tells_of_a_change(before, after) or have_in_common(before, after) > 1


@pytest.mark.parametrize(("likeness", "is_close"), [(0.9, True), (0.5, False)])
def test_only_what_is_of_the_same_matter_may_change_an_entry_in_passing(likeness: float, is_close: bool) -> None:
    old = statement("No fish for me", "en", np.array([1, 0], np.float32))
    new = statement("I do eat fish again", "en", np.array([likeness, (1 - likeness**2) ** 0.5], np.float32))
    assert relation.is_close(old, new) == is_close
    assert not relation.is_close(old, statement("I do eat fish again", "en", None))
