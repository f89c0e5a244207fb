"""Which checkpoints lie in the layers, what belongs together, and how a checkpoint that has sunk comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.storage import file_bytes, put_file, take_file

from nacre.clock import Clock
from nacre.config.settings import Config, TierSettings
from nacre.disk import digest
from nacre.errors import ChangedOutside
from nacre.model import Context, Workspace
from nacre.vault import checkpoints
from nacre.vault.checkpoints import (
    Checkpoint,
    Family,
    LayerPlaces,
    checkpoint_bytes,
    families,
    list_checkpoints,
    place_of,
    survey_checkpoints,
)
from nacre.vault.history import operation, read_history
from nacre.vault.undo import undo
from nacre.vault.writing import move_file

CONFIG = Config()


def put(workspace: Workspace, *places: str, text: str = "# x\n") -> None:
    for place in places:
        path = workspace.tiers(None) / place
        put_file(path, text)


def places(workspace: Workspace) -> list[str]:
    return [one.place for one in list_checkpoints(workspace, CONFIG)]


def of(*given: str) -> list[Family]:
    return families(at(place) for place in given)


def at(place: str) -> Checkpoint:
    layer, _, name = place.partition("/")
    return Checkpoint(layer, name, Path("/") / place)


def told(found: list[Family]) -> list[tuple[str, str, str | None, str | None]]:
    def place(one: Checkpoint | None) -> str | None:
        return one.place if one else None

    return [(one.stem, one.layer, place(one.original), place(one.summary)) for one in found]


def test_markdown_of_the_four_layers_is_listed_hot_first_and_nothing_else(workspace: Workspace) -> None:
    put(workspace, "warm/b.md", "warm/a.md", "hot/深/c.md", "gist/a.md", "forgotten/d.gist.md")
    put(workspace, "hot/.hidden.md", "hot/.git/x.md", "hot/x.txt", "cold/x.md", "x.md")
    assert places(workspace) == ["hot/深/c.md", "warm/a.md", "warm/b.md", "gist/a.md", "forgotten/d.gist.md"]


def test_without_layers_there_is_nothing(workspace: Workspace) -> None:
    assert survey_checkpoints(workspace, CONFIG) == ([], [])


@pytest.mark.parametrize("layer", ["hot", "warm", "gist", "forgotten"])
@pytest.mark.parametrize("stem", ["x", "深/支付", "x.gist.y", "a b"])
def test_a_place_tells_what_lies_there(layer: str, stem: str) -> None:
    for summary in (True, False):
        place = place_of(layer, stem, summary=summary)
        one = at(place)
        assert (one.stem, one.is_summary) == (stem, summary)


def test_a_checkpoint_and_its_summary_are_one_family_in_every_layer() -> None:
    assert told(of("hot/x.md", "hot/x.gist.md")) == [("x", "hot", "hot/x.md", "hot/x.gist.md")]
    assert told(of("warm/x.md", "warm/x.gist.md")) == [("x", "warm", "warm/x.md", "warm/x.gist.md")]
    assert told(of("warm/x.md", "gist/x.md")) == [("x", "gist", "warm/x.md", "gist/x.md")]
    assert told(of("gist/x.md")) == [("x", "gist", None, "gist/x.md")]


def test_a_summary_that_was_left_behind_belongs_to_its_original() -> None:
    assert told(of("hot/x.gist.md", "warm/x.md")) == [("x", "warm", "warm/x.md", "hot/x.gist.md")]
    assert told(of("gist/x.md", "hot/x.md")) == [("x", "hot", "hot/x.md", "gist/x.md")]


def test_files_of_one_name_in_two_layers_are_two_checkpoints() -> None:
    assert told(of("hot/x.md", "warm/x.md", "gist/x.md")) == [
        ("x", "hot", "hot/x.md", None),
        ("x", "gist", "warm/x.md", "gist/x.md"),
    ]


def test_of_two_summaries_the_other_stands_for_itself() -> None:
    assert told(of("warm/x.md", "warm/x.gist.md", "gist/x.md")) == [
        ("x", "gist", "warm/x.md", "gist/x.md"),
        ("x", "warm", None, "warm/x.gist.md"),
    ]


def test_nothing_is_moved_over_what_came_meanwhile(workspace: Workspace, clock: Clock) -> None:
    put(workspace, "hot/x.md")
    (family,) = families(list_checkpoints(workspace, CONFIG))
    _, ((piece, to),) = LayerPlaces(workspace, CONFIG).place(family, "warm")
    put(workspace, "warm/x.md", text="# another\n")
    with operation(Context(workspace, Config(), clock), "test") as op, pytest.raises(ChangedOutside):
        move_file(op, piece.path, to, read=digest(checkpoint_bytes(workspace, piece)))
    take_file(workspace.tiers(None) / "warm/x.md")
    put_file(workspace.tiers(None) / "hot/x.md", "# x\n")
    with operation(Context(workspace, Config(), clock), "test") as op, pytest.raises(ChangedOutside):
        move_file(op, piece.path, to, read=digest(checkpoint_bytes(workspace, piece)))
    assert places(workspace) == ["hot/x.md"]


@pytest.mark.on_disk
def test_a_folder_in_the_place_of_a_file_is_in_the_way(workspace: Workspace) -> None:
    put(workspace, "hot/x.md", "warm/x.md/inner.txt")
    (family,) = families(list_checkpoints(workspace, CONFIG))
    assert LayerPlaces(workspace, CONFIG).place(family, "warm")[0].lead.place == "warm/x-2.md"


# A talk that goes on after its checkpoint has sunk.


def test_a_talk_that_goes_on_brings_its_checkpoint_back_with_its_summary_and_counts(
    workspace: Workspace, clock: Clock
) -> None:
    put(workspace, "warm/x.md", "gist/x.md")
    counts = workspace.refcount(None)
    put_file(counts, '{"warm/x.md": {"total": 3}, "other": 1}')
    path, changed = checkpoints.write_checkpoint(Context(workspace, CONFIG, clock), "x.md", "# x\n\nand more\n")
    assert (path, changed) == (workspace.tiers(None) / "hot/x.md", True)
    assert file_bytes(path).decode() == "# x\n\nand more\n"
    assert places(workspace) == ["hot/x.gist.md", "hot/x.md"]
    assert json.loads(file_bytes(counts).decode()) == {"hot/x.md": {"total": 3}, "other": 1}
    assert [one.command for one in read_history(workspace).operations] == ["checkpoint"]
    undo(Context(workspace, Config(), clock))
    assert places(workspace) == ["warm/x.md", "gist/x.md"]
    assert json.loads(file_bytes(counts).decode()) == {"warm/x.md": {"total": 3}, "other": 1}


def test_the_same_again_stays_where_it_has_sunk_to_but_not_in_forgotten(workspace: Workspace, clock: Clock) -> None:
    put(workspace, "warm/x.md")
    assert checkpoints.write_checkpoint(Context(workspace, CONFIG, clock), "x.md", "# x\n") == (
        workspace.tiers(None) / "warm/x.md",
        False,
    )
    assert places(workspace) == ["warm/x.md"]
    put(workspace, "forgotten/y.md")
    put_file(workspace.refcount(None), '{"forgotten/y.md": {"forgotten": 5, "total": 1}}')
    assert checkpoints.write_checkpoint(Context(workspace, CONFIG, clock), "y.md", "# x\n") == (
        workspace.tiers(None) / "hot/y.md",
        True,
    )
    assert json.loads(file_bytes(workspace.refcount(None)).decode()) == {"hot/y.md": {"total": 1}}


def test_with_broken_counts_a_checkpoint_is_written_all_the_same(workspace: Workspace, clock: Clock) -> None:
    put(workspace, "warm/x.md")
    put_file(workspace.refcount(None), "{")
    checkpoints.write_checkpoint(Context(workspace, CONFIG, clock), "x.md", "# new\n")
    assert places(workspace) == ["hot/x.md"]
    assert file_bytes(workspace.refcount(None)).decode() == "{"


def test_layers_elsewhere(workspace: Workspace, clock: Clock, tmp_path: Path) -> None:
    config = replace(CONFIG, tiers=TierSettings(path=str(tmp_path / "fs")))
    path, _ = checkpoints.write_checkpoint(Context(workspace, config, clock), "x.md", "# x\n")
    assert [one.path for one in list_checkpoints(workspace, config)] == [path] == [tmp_path / "fs/hot/x.md"]
