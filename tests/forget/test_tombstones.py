"""A tombstone knows again what was forgotten, and tells nobody what it was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.forget.conftest import BULLET, FACT, NOW, OLDER, ledger_of, take

from nacre.capture.dedupe import are_forgotten, vectors_of
from nacre.embed.local import LocalEmbedder
from nacre.memory import Memory
from nacre.vault.entries import normal_words
from nacre.vault.ledger import THRESHOLDS, Tombstone, Tombstones, load_tombstones, new_tombstone
from nacre.vault.undo import undo

MODEL = "5bea14a83e7f5b72"


def stones(root: Path) -> Tombstones:
    return load_tombstones(Memory.open(root).workspace)


@pytest.mark.parametrize(
    "text",
    [
        FACT,
        f"- [PREF] {FACT.lower()}.",
        f"[Preference] {FACT} (src: 2026-02-10)",
        f"  * {FACT}!  <!-- importance: 8 -->",
        f"User asked: {FACT}",
        f"The tests were slow; {FACT.lower()}",
        f"The lockfile broke. {FACT}. Then it worked.",
        f"User asked to clean up → {FACT}",
    ],
)
def test_the_same_words_are_known_in_any_dress(memory: Memory, root: Path, text: str) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    assert stones(root).matches([text, "Use tabs, never spaces"]) == [True, False]


def test_letters_of_another_width_are_the_same() -> None:
    assert normal_words("- ＡＰＩ 用 ８０８０ 端口。") == normal_words("api 用 8080 端口")


def test_where_nothing_was_forgotten_nothing_is_loaded(root: Path) -> None:
    empty = stones(root)
    assert not empty
    assert empty.matches([FACT]) == [False]
    assert empty.models == frozenset()


def near(vector: np.ndarray, share: float) -> np.ndarray:
    """A vector whose signs are the same but for some."""
    turned = vector.copy()
    turned[: round(len(vector) * (1 - share))] *= -1
    return turned


def test_a_vector_is_known_by_the_share_of_its_signs() -> None:
    key = bytes(range(32))
    vector = np.random.default_rng(1).normal(size=384).astype(np.float32)
    told = new_tombstone(key, FACT, entry="0123456789", fact="0123456789", vectors={MODEL: vector})
    known = Tombstones([Tombstone("0123456789", "0123456789", told["words"], told["signs"])], key)
    texts = ["something else entirely"] * 3
    enough, less = THRESHOLDS[MODEL] + 0.01, THRESHOLDS[MODEL] - 0.01
    vectors = [{MODEL: near(vector, enough)}, {MODEL: near(vector, less)}, {"another model": vector}]
    assert known.matches(texts, vectors) == [True, False, False]


def test_the_signs_cannot_be_read_without_the_key() -> None:
    vector = np.random.default_rng(1).normal(size=384).astype(np.float32)
    plain = np.packbits(vector > 0).tobytes()
    shares = []
    for first in range(20):
        told = new_tombstone(bytes([first] * 32), FACT, entry="a", fact="a", vectors={MODEL: vector})
        masked = bytes.fromhex(told["signs"][MODEL])
        shares.append(1 - sum((one ^ other).bit_count() for one, other in zip(plain, masked, strict=True)) / 384)
    assert 0.45 < sum(shares) / len(shares) < 0.55


def test_without_its_key_the_exact_words_are_still_known(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    for damage in (b"", b"not a key"):
        (root / ".nacre" / "key").write_bytes(damage)
        assert stones(root).matches([FACT, "Use tabs"]) == [True, False]
        assert stones(root).models == frozenset()


def test_remembering_it_again_lifts_it_in_all_its_wordings(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    assert stones(root).matches([FACT, BULLET]) == [True, True]
    memory.remember(FACT, type="PREF")
    assert stones(root).matches([FACT, BULLET]) == [False, False]
    assert {line["verdict"] for line in ledger_of(root)[-2:]} == {"restored"}


def test_undoing_that_puts_the_tombstone_back(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    memory.remember(FACT)
    undo(memory.opened)
    assert stones(root).matches([FACT]) == [True]


def test_remembering_something_else_lifts_nothing(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    memory.remember("The hedge is cut in autumn")
    assert stones(root).matches([FACT]) == [True]


CODE = "The office floor is 1234"


@pytest.mark.parametrize(
    "correction",
    [
        "The office floor is 5678",
        "the office floor is 5678 now",
        "The office floor changed: the office floor is 1234 → the office floor is 5678",
        "The office floor is 1234; that was the old one",
        "The office floor is not 1234",
    ],
)
def test_remembering_a_correction_leaves_the_tombstone_and_is_kept(memory: Memory, root: Path, correction: str) -> None:
    (root / "MEMORY.md").write_text(f"# Long-Term Memory\n\n## Key Decisions\n- {CODE}\n", "utf8")
    memory.forget(CODE)
    memory.remember(correction, type="TECH")
    assert stones(root).matches([CODE]) == [True]
    with Memory.open(root, now="2026-03-29T10:00:00+00:00") as later:
        later.tidy()
    assert CODE not in (root / "MEMORY.md").read_text("utf8").splitlines()
    memory.remember(f"- {CODE.upper()}.")
    assert stones(root).matches([CODE]) == [False]


def test_what_only_looked_like_it_is_lifted_by_its_own_words_alone(memory: Memory, root: Path) -> None:
    other = f"Reminder: {FACT}, says Lin"
    (root / "memory" / "2026-03-19.md").write_text(f"# 2026-03-19\n\n## 08:00 note\n- {other}\n", "utf8")
    memory.forget(FACT, similar=True)
    assert stones(root).exactly([FACT, other, OLDER]) == [True, True, True]
    memory.remember(other)
    memory.remember(OLDER)
    assert stones(root).exactly([FACT, other, OLDER]) == [True, False, False]


def test_forgetting_again_what_was_lifted_buries_it_again(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    memory.remember(FACT)
    memory.forget(FACT)
    assert stones(root).matches([FACT]) == [True]


def test_damaged_lines_are_passed_over(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    with (root / "memory" / "ledger.jsonl").open("a", encoding="utf8") as file:
        for stone in ("x", {"words": 3, "signs": []}, {"signs": {MODEL: "zz"}}):
            file.write(json.dumps({"id": "aaaaaaaaaa", "at": NOW, "verdict": "forgotten", "tombstone": stone}) + "\n")
        file.write('{"id":"torn","at"')
    vector = np.ones(384, np.float32)
    assert stones(root).matches([FACT, "other"], [{MODEL: vector}, {MODEL: vector}]) == [True, False]


@pytest.mark.skipif(not LocalEmbedder().models(), reason="needs the local models")
def test_with_the_local_models_nearly_the_same_words_are_known_and_others_are_not(memory: Memory, root: Path) -> None:
    memory.forget("MEMORY.md:4", choose=take)
    memory.forget("MEMORY.md:4", choose=take)  # the Chinese one has moved up
    texts = [
        "Please use pnpm and never npm in every repository",
        "用户要求：报告一律用 Typst 排版",
        "Use Go 1.22 everywhere",
        "周报发邮件",
    ]
    assert are_forgotten(stones(root), texts) == [True, True, False, False]


@pytest.mark.skipif(not LocalEmbedder().models(), reason="needs the local models")
def test_models_that_were_installed_meanwhile_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
        assert vectors_of([FACT]) == [{}]
    assert set(vectors_of([FACT])[0]) == {MODEL}
