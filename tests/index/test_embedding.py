"""Filling in vectors: resumable, each text once, and the vectors of the old model stay until the new one is complete."""

from __future__ import annotations

from typing import Any

import pytest
from tests.index.conftest import memory_index

from nacre.config.settings import Config, IndexSettings
from nacre.index import embedding
from nacre.index.vectors import Scanner


@pytest.fixture
def notes(indexed: Any) -> Any:
    index = indexed()
    for number in range(40):
        index.write(f"memory/{number}.md", f"# Note {number}\n\nThe service {number} is owned by team {number % 7}.\n")
    index.write("memory/zh.md", "# 笔记\n\n数据库迁移到新的版本，由小明负责。\n")
    index.write("memory/mixed.md", "数据库迁移 the database migration 由小明负责 is owned by Ana\n")
    index.write("memory/none.md", "!!! ???\n")
    index.update()
    return index


def by_model(index: Any) -> dict[str, int]:
    return dict(index.rows("select m.hash, count(*) from vectors v join models m on m.id = v.model group by 1"))


def test_every_passage_is_embedded_by_the_models_for_its_script(notes: Any, fake_embedder: Any) -> None:
    embedder = fake_embedder()
    done = embedding.fill(notes.store, embedder)
    assert done == notes.rows("select count(*) from passages")[0][0]
    assert by_model(notes) == {"latin-one": 42, "han-one": 2}
    assert embedding.fill(notes.store, embedder) == 0
    assert embedding.waiting_count(notes.store.db, embedding.batch_for(notes.store, embedder)) == 0


def test_what_was_embedded_is_found_by_meaning(notes: Any, fake_embedder: Any) -> None:
    embedder = fake_embedder()
    embedding.fill(notes.store, embedder)
    (model,) = notes.rows("select id from models where hash = 'latin-one'")[0]
    question = embedder.embed(embedder.latin, ["Note 12\nThe service 12 is owned by team 5."])[0]
    key, score = Scanner(notes.store).nearest(model, question, 1)[0]
    assert score == pytest.approx(1.0, abs=0.01)
    assert notes.rows("select text from chunks join passages on chunk = id where hash = ?", key) == [
        ("The service 12 is owned by team 5.",)
    ]


def test_an_interrupted_run_is_carried_on_and_embeds_nothing_twice(
    notes: Any, fake_embedder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "_GROUP", 8)
    embedder = fake_embedder()
    embedder.fail_after = 20
    with pytest.raises(KeyboardInterrupt):
        embedding.fill(notes.store, embedder)
    embedder.fail_after = None
    seen: list[tuple[int, int]] = []
    embedding.fill(notes.store, embedder, progress=lambda done, total: seen.append((done, total)))
    assert embedder.asked == 44
    assert seen[-1][0] == seen[-1][1]


def test_at_most_as_many_as_asked_are_embedded(notes: Any, fake_embedder: Any) -> None:
    embedder = fake_embedder()
    assert embedding.fill(notes.store, embedder, most=5) == 5
    assert embedding.fill(notes.store, embedder, most=1000) == 38


def test_a_changed_file_costs_only_its_own_passages_and_a_moved_one_nothing(notes: Any, fake_embedder: Any) -> None:
    embedder = fake_embedder()
    embedding.fill(notes.store, embedder)
    embedder.asked = 0
    notes.write("memory/3.md", "# Note 3\n\nSomething else entirely.\n")
    (notes.workspace.memory / "5.md").rename(notes.workspace.memory / "moved.md")
    notes.update()
    embedding.fill(notes.store, embedder)
    assert embedder.asked == 1


def test_the_vectors_of_another_model_go_only_when_the_new_ones_are_complete(
    notes: Any, fake_embedder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "_GROUP", 8)
    old, new = fake_embedder("one"), fake_embedder("two", dims=100)
    embedding.fill(notes.store, old)
    new.fail_after = 20
    with pytest.raises(KeyboardInterrupt):
        embedding.fill(notes.store, new)
    held = by_model(notes)
    assert (held["latin-one"], held["han-one"]) == (42, 2)
    new.fail_after = None
    embedding.fill(notes.store, new)
    assert by_model(notes) == {"latin-two": 42, "han-two": 2}
    assert notes.rows("select count(distinct model) from signs") == [(2,)]


def test_going_back_to_the_old_model_halfway_costs_nothing_and_leaves_nothing(
    notes: Any, fake_embedder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "_GROUP", 8)
    old, new = fake_embedder("one"), fake_embedder("two")
    embedding.fill(notes.store, old)
    embedding.fill(notes.store, new, most=16)
    old.asked = 0
    embedding.fill(notes.store, old)
    assert old.asked == 0
    assert by_model(notes) == {"latin-one": 42, "han-one": 2}


def test_a_file_that_changed_while_its_text_was_embedded_is_embedded_again(notes: Any, fake_embedder: Any) -> None:
    embedder = fake_embedder()
    real = embedder.embed
    once: list[int] = []

    def change_meanwhile(model: Any, texts: Any, **how: bool) -> Any:
        if not once:
            once.append(1)
            notes.write("memory/0.md", "# Note 0\n\nWritten while the model was at work.\n")
            notes.update()
        return real(model, texts, **how)

    embedder.embed = change_meanwhile
    embedding.fill(notes.store, embedder)
    rows = notes.rows(
        "select count(*) from passages p join chunks c on c.id = p.chunk where c.text like 'Written while%' and exists"
        " (select 1 from vectors v where v.hash = p.hash)"
    )
    assert rows == [(1,)]


def test_a_changed_setting_reuses_the_vectors_of_texts_that_stayed_the_same(
    notes: Any, indexed: Any, fake_embedder: Any
) -> None:
    embedder = fake_embedder()
    embedding.fill(notes.store, embedder)
    config = Config(index=IndexSettings(chunk_tokens=300))
    keeper = memory_index(notes.workspace, config, notes.store)
    keeper.rebuild()
    embedder.asked = 0
    embedding.fill(notes.store, embedder)
    assert embedder.asked == 0
    assert notes.rows("select count(*) from passages where batch is null") == [(0,)]
