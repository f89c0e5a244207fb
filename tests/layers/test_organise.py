"""Checkpoints sink by age, rise when they were recalled, and go when they were forgotten for long; every step can be undone."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.forget.conftest import killed_at
from tests.layers.helpers import NOW, Layers, brief

from nacre.errors import BadInput, BadSetting
from nacre.i18n import use_language
from nacre.layers import organise as module
from nacre.layers.organise import organise


@pytest.fixture
def layers(memory_disk: Path) -> Layers:
    return Layers(memory_disk / "ws")


@pytest.mark.parametrize(
    ("age", "places"),
    [
        ("2.9h", ["hot/x.md"]),
        ("3h", ["warm/x.md"]),
        ("6.9d", ["warm/x.md"]),
        ("7d", ["gist/x.md", "warm/x.md"]),
        ("13.9d", ["gist/x.md", "warm/x.md"]),
        ("14d", ["forgotten/x.md"]),
        ("400d", ["forgotten/x.md"]),
    ],
)
def test_a_checkpoint_lies_where_its_age_puts_it(layers: Layers, age: str, places: list[str]) -> None:
    layers.put("hot/x.md", age=age)
    layers.organise()
    assert layers.places() == places


def test_a_summary_has_a_title_and_tags_and_the_original_stays_as_it_is(layers: Layers) -> None:
    layers.put("warm/支付/重试.md", "# 支付接口\r\n\n重试三次\n", age="8d")
    report = layers.organise()
    assert (layers.folder / "gist/支付/重试.md").read_text("utf8") == brief("# 支付接口\n")
    assert (layers.folder / "warm/支付/重试.md").read_bytes() == "# 支付接口\r\n\n重试三次\n".encode()
    assert (report.before["warm"], report.after["warm"], report.after["gist"]) == (1, 0, 1)
    assert layers.counts()["warm/支付/重试.md"]["summarized"] is True


def test_the_thirty_days_count_from_the_day_it_was_forgotten(layers: Layers) -> None:
    layers.put("hot/x.md", age="400d")
    layers.organise()
    assert layers.counts()["forgotten/x.md"]["forgotten"] == int(NOW.timestamp())
    layers.now += dt.timedelta(days=29, hours=23)
    assert not layers.organise().steps
    layers.now += dt.timedelta(hours=1)
    report = layers.organise()
    assert [(step.action, step.path) for step in report.steps] == [("delete", "memory_fs/forgotten/x.md")]
    assert "forgotten on 2031-03-20 10:00, 30 d ago: deleted after 30d" in report.steps[0].reason
    assert layers.tree() == {"refcount.json": b"{}\n"}


def test_a_file_that_others_put_into_forgotten_counts_from_the_day_it_is_first_seen(layers: Layers) -> None:
    layers.put("forgotten/x.md", age="90d")
    layers.organise()
    layers.now += dt.timedelta(days=29)
    layers.organise()
    assert layers.places() == ["forgotten/x.md"]
    layers.now += dt.timedelta(days=1)
    layers.organise()
    assert layers.places() == []


def test_what_was_forgotten_by_a_clock_that_went_ahead_counts_from_today_and_can_be_woken(layers: Layers) -> None:
    layers.put("forgotten/x.md", age="90d")
    layers.now += dt.timedelta(days=1500)
    layers.organise()
    layers.now = NOW
    layers.organise()
    assert layers.counts()["forgotten/x.md"]["forgotten"] == int(NOW.timestamp())
    layers.now += dt.timedelta(days=30)
    layers.organise()
    assert layers.places() == []


def test_what_its_user_marked_is_forgotten_but_never_deleted(layers: Layers) -> None:
    layers.put("warm/x.md", age="90d")
    layers.count({"warm/x.md": {"total": 1, "timestamps": [], "user_marked": True, "colour": "red"}})
    for _ in range(20):
        layers.organise()
        layers.now += dt.timedelta(days=31)
    assert layers.places() == ["forgotten/x.md"]
    assert layers.counts()["forgotten/x.md"]["colour"] == "red"


def test_original_and_summary_are_deleted_together_and_undo_brings_both_back(layers: Layers) -> None:
    layers.put("warm/x.md", age="8d")
    layers.organise()
    layers.now += dt.timedelta(days=10)
    layers.organise()
    assert layers.places() == ["forgotten/x.gist.md", "forgotten/x.md"]
    before = layers.tree()
    layers.now += dt.timedelta(days=30)
    steps = layers.organise().steps
    assert [step.action for step in steps] == ["delete", "delete"]
    assert layers.places() == []
    layers.undo()
    assert layers.tree() == before


def test_several_runs_are_undone_at_once_and_the_file_times_come_back(layers: Layers) -> None:
    path = layers.put("hot/x.md", age="1h")
    before, time = layers.tree(), path.stat().st_mtime_ns
    for days in (1, 8, 9):
        layers.now += dt.timedelta(days=days)
        layers.organise()
    assert layers.places() == ["forgotten/x.gist.md", "forgotten/x.md"]
    layers.undo(3)
    assert layers.tree() == before
    assert path.stat().st_mtime_ns == time


def test_every_deletion_is_listed_first_and_every_step_has_a_reason(layers: Layers) -> None:
    layers.put("hot/a.md", age="4h")
    layers.put("hot/b.md", age="9d")
    layers.put("warm/c.md", age="20d")
    layers.put("forgotten/d.md", age="90d")
    layers.count({"forgotten/d.md": {"forgotten": int(layers.ago("31d").timestamp()), "timestamps": []}})
    before = layers.tree()
    steps = layers.organise(dry_run=True).steps
    assert layers.tree() == before
    assert [(step.action, step.path, step.detail) for step in steps] == [
        ("delete", "memory_fs/forgotten/d.md", ""),
        ("forget", "memory_fs/warm/c.md", "memory_fs/forgotten/c.md"),
        ("summarise", "memory_fs/hot/b.md", "memory_fs/gist/b.md"),
        ("move", "memory_fs/hot/b.md", "memory_fs/warm/b.md"),
        ("move", "memory_fs/hot/a.md", "memory_fs/warm/a.md"),
    ]
    assert (
        steps[1].reason == "from 2031-02-28 10:00, 20 d ago: forgotten after 14d without a recall (tiers.forget_after)"
    )
    assert steps[4].reason == "from 2031-03-20 06:00, 4 h ago: stays in hot for only 3h (tiers.hot)"
    assert layers.organise().steps == steps
    layers.undo()
    assert layers.tree() == before


def test_the_reasons_in_chinese(layers: Layers) -> None:
    layers.put("hot/a.md", age="4h")
    use_language("zh")
    try:
        (step,) = layers.organise(dry_run=True).steps
    finally:
        use_language("en")
    assert step.reason == "内容来自 2031-03-20 06:00，距今 4 小时：在 hot 层只停留 3h（tiers.hot）"


def test_running_it_again_changes_nothing(layers: Layers) -> None:
    for number, age in enumerate(("1h", "4h", "8d", "20d", "90d")):
        layers.put(f"hot/{number}.md", age=age)
        layers.get(f"hot/{number}.md", layers.ago("9d"))
    assert layers.organise().changed
    after = layers.tree()
    assert not layers.organise().changed
    assert layers.tree() == after


def test_every_threshold_is_a_setting(layers: Layers) -> None:
    layers.set(hot="1m", warm="2m", gist="4m", forget_after="1d", delete_after="0s")
    for number, age in enumerate(("0.5m", "1m", "2m", "4m")):
        layers.put(f"hot/{number}.md", age=age)
    layers.organise()
    assert layers.places() == ["gist/2.md", "hot/0.md", "warm/1.md", "warm/2.md"]
    layers.set(warm="soon")
    with pytest.raises(BadSetting, match="soon"):
        layers.organise()


def test_forgetting_sooner_than_summaries_are_made_is_obeyed(layers: Layers) -> None:
    layers.set(forget_after="2d")
    layers.put("hot/x.md", age="3d")
    layers.organise()
    assert layers.places() == ["forgotten/x.md"]


# When the content is from.


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.md", "---\ndate: 2031-03-12 10:00\n---\n# A\n"),
        ("x.md", "---\ntitle: a\ncreated: 2031-03-01\nupdated: '2031-03-12T10:00:00Z'\n---\n# A\n"),
        ("x.md", "---\r\ndate: 2031-03-12T18:00:00+08:00 # when\r\n---\r\n# A\r\n"),
        ("x.md", "\ufeff# A\n\nsession:61871d67 | claude-code | 2031-03-12 10:00 | /work/shop\n\nhello\n"),
        ("x.md", "# A\n\nsession:61871d67 | codex | 2031-02-01 08:00 – 2031-03-12 10:00\n\nhello\n"),
        ("2031-03-12-1000-x.md", "# A\n"),
        ("deep/2031-03-12-支付.md", "# 甲\n"),
        ("session-2031-03-12.md", "# A\n"),
    ],
)
def test_a_checkout_does_not_make_old_things_young(layers: Layers, name: str, text: str) -> None:
    layers.put(f"hot/{name}", text)
    layers.organise()
    layers.touch(f"warm/{name}", NOW)
    layers.organise()
    assert layers.places() == [f"gist/{name}", f"warm/{name}"]


def test_where_only_the_file_time_tells_it_is_noted_once(layers: Layers) -> None:
    layers.put("hot/x.md", age="1d")
    layers.organise()
    assert layers.counts()["warm/x.md"]["created"] == int(layers.ago("1d").timestamp())
    layers.touch("warm/x.md", NOW + dt.timedelta(days=6))
    layers.now += dt.timedelta(days=6)
    layers.organise()
    assert layers.places() == ["gist/x.md", "warm/x.md"]


def test_a_time_that_cannot_be_is_not_believed(layers: Layers) -> None:
    layers.put("hot/2999-01-01-x.md", "---\ndate: 2999-01-01\ncreated: never\n---\n", age="4h")
    layers.put("hot/y.md", age="-50d")
    layers.put("hot/0001-01-01-z.md", "---\ndate: 0001-01-01 00:00\nupdated: -5\n---\n", age="4h")
    layers.put("hot/1969-01-01.md", age="40000d")
    layers.organise()
    assert layers.places() == [
        "forgotten/1969-01-01.md",
        "hot/y.md",
        "warm/0001-01-01-z.md",
        "warm/2999-01-01-x.md",
    ]


def test_times_without_a_zone_are_the_users(layers: Layers) -> None:
    layers.zone = ZoneInfo("Asia/Shanghai")
    layers.put("hot/2031-03-20-1559-x.md")  # 07:59 in London, where it is ten
    layers.put("hot/2031-03-20-0600-y.md")
    layers.organise()
    assert layers.places() == ["hot/2031-03-20-1559-x.md", "warm/2031-03-20-0600-y.md"]


# Recalls.


def test_what_was_read_is_young_again_and_rises(layers: Layers) -> None:
    layers.put("warm/x.md", age="8d")
    layers.put("warm/y.md", age="2d")
    layers.put("warm/z.md", age="8d")
    layers.organise()
    assert layers.places() == ["gist/x.md", "gist/z.md", "warm/x.md", "warm/y.md", "warm/z.md"]
    layers.get("gist/x.md", layers.ago("1h"))
    layers.get("warm/y.md", layers.ago("1h"))
    layers.get("warm/z.md", layers.ago("2d"))
    report = layers.organise()
    assert report.counted == 3
    assert "last recalled 2031-03-20 09:00, 1 h ago: a recall resets its age" in [step.reason for step in report.steps]
    assert layers.places() == ["hot/x.gist.md", "hot/x.md", "hot/y.md", "warm/z.gist.md", "warm/z.md"]
    entry = layers.counts()["hot/x.md"]
    assert (entry["total"], entry["7d"], entry["timestamps"]) == (1, 1, [int(layers.ago("1h").timestamp())])
    layers.now += dt.timedelta(days=8)
    layers.organise()
    assert layers.places() == ["gist/x.md", "gist/y.md", "gist/z.md", "warm/x.md", "warm/y.md", "warm/z.md"]
    assert layers.counts()["warm/x.md"]["7d"] == 0


def test_what_was_read_in_forgotten_returns_to_warm_and_is_marked(layers: Layers) -> None:
    layers.put("forgotten/x.md", age="90d")
    layers.organise()
    layers.now += dt.timedelta(days=29)
    layers.get("forgotten/x.md")
    layers.now += dt.timedelta(hours=1)
    layers.organise()
    assert layers.places() == ["warm/x.md"]
    entry = layers.counts()["warm/x.md"]
    assert entry["user_marked"] is True
    assert "forgotten" not in entry


def test_a_recall_that_nobody_noticed_in_time_still_saves_it(layers: Layers) -> None:
    layers.put("forgotten/x.md", age="90d")
    layers.organise()
    layers.get("forgotten/x.md", NOW + dt.timedelta(days=5))
    layers.now += dt.timedelta(days=60)
    layers.organise()
    assert layers.places() == ["forgotten/x.md"]
    assert layers.counts()["forgotten/x.md"]["user_marked"] is True


def test_a_summary_is_used_again_unless_the_original_has_changed(layers: Layers) -> None:
    layers.put("warm/x.md", "# One\n", age="8d")
    layers.put("warm/y.md", "# Two\n", age="8d")
    layers.organise()
    (layers.folder / "gist/x.md").write_text("# The user's own words\n", "utf8")
    layers.recall("warm/x.md", "warm/y.md")
    (layers.folder / "hot/y.md").write_text("# Three\n", "utf8")
    layers.now += dt.timedelta(days=8)
    layers.organise()
    assert (layers.folder / "gist/x.md").read_text("utf8") == "# The user's own words\n"
    assert (layers.folder / "gist/y.md").read_text("utf8") == brief("# Three\n")
    assert layers.places() == ["gist/x.md", "gist/y.md", "warm/x.md", "warm/y.md"]


# Names that are taken.


def test_another_checkpoint_by_the_same_name_gets_a_number_with_its_summary(layers: Layers) -> None:
    layers.put("hot/x.md", "# new\n", age="4h")
    layers.put("hot/x.gist.md", "# new in short\n", age="4h")
    layers.put("warm/x.md", "# old\n", age="4h")
    layers.count({"hot/x.md": {"total": 3}, "warm/x.md": {"total": 5}})
    layers.organise()
    assert layers.places() == ["warm/x-2.gist.md", "warm/x-2.md", "warm/x.md"]
    assert {key: entry["total"] for key, entry in layers.counts().items()} == {"warm/x-2.md": 3, "warm/x.md": 5}
    assert not layers.organise().changed


def test_what_leaves_a_layer_makes_room_for_what_comes(layers: Layers) -> None:
    layers.put("hot/x.md", "# new\n", age="4h")
    layers.put("warm/x.md", "# old\n", age="20d")
    layers.put("forgotten/x.md", "# oldest\n", age="90d")
    layers.count({"forgotten/x.md": {"forgotten": int(layers.ago("31d").timestamp())}})
    layers.organise()
    assert layers.tree().keys() == {"warm/x.md", "forgotten/x.md", "refcount.json"}
    assert (layers.folder / "warm/x.md").read_text("utf8") == "# new\n"
    assert (layers.folder / "forgotten/x.md").read_text("utf8") == "# old\n"


def test_a_summary_without_an_original_is_kept_and_sinks_too(layers: Layers) -> None:
    layers.put("gist/x.md", "# in short\n", age="8d")
    layers.put("gist/y.md", "# in short\n", age="20d")
    layers.organise()
    assert layers.places() == ["forgotten/y.gist.md", "gist/x.md"]
    assert list(layers.counts()) == ["forgotten/y.gist.md", "gist/x.md"]


# Trouble.


def test_broken_counts_are_never_written_over_and_nothing_moves(layers: Layers) -> None:
    layers.put("hot/x.md", age="20d")
    for broken in ("{", "[]", '{"a": 1}}', "\x00"):
        layers.refcount.write_text(broken, "utf8")
        before = layers.tree()
        (problem,) = layers.organise().left
        assert "refcount.json" in problem.message
        assert "Nothing was organised" in problem.message
        assert layers.tree() == before


def test_what_others_keep_in_the_counts_stays(layers: Layers) -> None:
    layers.put("hot/x.md", age="4h")
    layers.put("hot/y.md", age="4h")
    theirs = {"MEMORY.md": {"total": 9}, "note": [1], "warm/gone.md": {"total": 2}, "hot/y.md": "odd"}
    ours = {"hot/x.md": {"timestamps": ["2031-03-20T09:00:00+00:00", "once"], "mood": "good"}}
    layers.count(theirs | ours)
    report = layers.organise()
    after = layers.counts()
    assert theirs.items() <= after.items()
    completed = {"total": 2, "7d": 1, "created": int(layers.ago("4h").timestamp())}
    flags = dict.fromkeys(("user_marked", "summarized", "promoted"), False)
    assert after["hot/x.md"] == ours["hot/x.md"] | completed | flags
    assert layers.places() == ["hot/x.md", "warm/y.md"]
    assert report.left == ()


def test_files_of_other_kinds_and_hidden_ones_are_left_alone(layers: Layers) -> None:
    for name in ("a.txt", ".b.md", ".git/c.md", "d.MD"):
        layers.put(f"hot/{name}", age="90d")
    layers.put("e.md", age="90d")
    before = layers.tree()
    assert not layers.organise().changed
    assert layers.tree() == before


def test_links_and_strange_files_are_left_with_a_sentence(layers: Layers, memory_disk: Path) -> None:
    outside = memory_disk / "secret.md"
    outside.write_text("# not ours\n", "utf8")
    os.utime(outside, (0, 0))
    layers.put("hot/x.md", age="4h")
    (layers.folder / "hot/link.md").symlink_to(outside)
    (layers.folder / "hot/pipe").mkdir()
    os.mkfifo(layers.folder / "hot/pipe/p.md")
    (layers.folder / "hot/new\nline.md").write_text("# a\n", "utf8")
    (layers.folder / "warm").mkdir()
    (layers.folder / "forgotten").symlink_to(memory_disk / "elsewhere")
    (memory_disk / "elsewhere").mkdir()
    (memory_disk / "elsewhere/z.md").write_text("# not ours\n", "utf8")
    report = layers.organise()
    assert len(report.left) == 4
    assert all("memory_fs/" in problem.message for problem in report.left)
    assert (layers.folder / "warm/x.md").exists()
    assert outside.exists()
    layers.put("hot/old.md", age="90d")  # would be forgotten, where a link points outside the workspace
    assert any("old.md" in problem.message + problem.path for problem in layers.organise().left)
    assert (layers.folder / "hot/old.md").exists()
    assert os.listdir(memory_disk / "elsewhere") == ["z.md"]


def test_layers_that_a_link_puts_outside_are_not_touched(layers: Layers, memory_disk: Path) -> None:
    (memory_disk / "far/hot").mkdir(parents=True)
    (memory_disk / "far/hot/x.md").write_text("# theirs\n", "utf8")
    os.utime(memory_disk / "far/hot/x.md", (0, 0))
    layers.folder.symlink_to(memory_disk / "far")
    (problem,) = layers.organise().left
    assert "points outside the workspace" in problem.message
    assert (memory_disk / "far/hot/x.md").exists()


def test_layers_that_the_user_keeps_elsewhere_are_organised_with_the_counts_beside_them(
    layers: Layers, memory_disk: Path
) -> None:
    layers.set(path=str(memory_disk / ".openclaw/memory_fs"))
    layers.put("hot/x.md", age="90d")
    layers.get("hot/x.md", layers.ago("2d"))
    before = layers.tree()
    layers.organise()
    assert layers.places() == ["warm/x.md"]
    assert json.loads((memory_disk / ".openclaw/refcount.json").read_text("utf8"))["warm/x.md"]["total"] == 1
    layers.undo()
    assert layers.tree() == before


@pytest.mark.parametrize("space", ["\u3000", "\u00a0", "\u200d"])
def test_unusual_spaces_and_joiners_in_names_are_names_too(layers: Layers, memory_disk: Path, space: str) -> None:
    layers.set(path=str(memory_disk / f"外{space}部/fs"))
    layers.put(f"forgotten/a{space}a.md", age="90d")
    layers.put(f"warm/b{space}b.md", age="2d")
    layers.get(f"warm/b{space}b.md", layers.ago("1h"))
    layers.count({f"forgotten/a{space}a.md": {"forgotten": int(layers.ago("31d").timestamp())}})
    before = layers.tree()
    assert not layers.organise().left
    assert layers.places() == [f"hot/b{space}b.md"]
    layers.undo()
    assert layers.tree() == before


def test_what_history_could_not_name_is_not_touched(layers: Layers, memory_disk: Path) -> None:
    layers.set(path=str(memory_disk / "line\nbreak/fs"))
    layers.put("hot/x.md", age="4h")
    before = layers.tree()
    (problem,) = layers.organise().left
    assert "cannot be recorded in history" in problem.message
    assert layers.tree() == before


def test_where_no_summary_can_be_made_the_checkpoint_stays_warm_and_the_others_go_on(layers: Layers) -> None:
    path = layers.put("hot/a.md", age="8d")
    path.write_bytes(b"# caf\xe9\n")
    layers.touch("hot/a.md", layers.ago("8d"))
    layers.put("hot/b.md", "# b\n", age="8d")
    report = layers.organise()
    assert layers.places() == ["gist/b.md", "warm/a.md", "warm/b.md"]
    (problem,) = report.left
    assert "memory_fs/hot/a.md could not be summarised" in problem.message

    def refuses(text: str) -> str:
        raise BadInput("the brain is tired.")

    layers.put("warm/c.md", "# c\n", age="8d")
    left = organise(layers.context, refuses).left
    assert [problem.path for problem in left] == ["memory_fs/warm/a.md", "memory_fs/warm/c.md"]


def test_a_secret_does_not_reach_a_summary(layers: Layers) -> None:
    layers.put("warm/a.md", "password: hunter2-Tr0ub4dor\n", age="8d")
    layers.organise()
    assert "Tr0ub4dor" not in (layers.folder / "gist/a.md").read_text("utf8")


def test_a_name_that_looks_like_a_secret_does_not_stop_the_counting_of_others(layers: Layers) -> None:
    layers.put("hot/ghp_a8Kd03jfLq92hfYw71bXcZpR4tVn6mQs5uEo.md", age="20d")
    layers.put("hot/x.md", age="20d")
    layers.organise()
    assert list(layers.counts()) == ["forgotten/x.md"]


def test_a_file_that_changes_while_the_plan_is_carried_out_is_left_for_the_next_run(
    layers: Layers, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers.put("hot/x.md", "# x\n", age="4h")
    layers.put("hot/y.md", "# y\n", age="4h")
    layers.get("hot/y.md", layers.ago("3.5h"))
    planned = module.plan

    def plan_and_wait(*given: object) -> object:
        made = planned(*given)  # type: ignore[arg-type]
        (layers.folder / "hot/y.md").write_text("# y goes on\n", "utf8")
        return made

    monkeypatch.setattr(module, "plan", plan_and_wait)
    report = layers.organise()
    assert layers.places() == ["hot/y.md", "warm/x.md"]
    assert ["hot/y.md was changed" in problem.message for problem in report.left] == [True]
    assert "hot/y.md" not in layers.counts()


@pytest.mark.long
def test_killed_at_any_call_the_next_run_ends_in_the_same_state(layers: Layers) -> None:
    layers.put("hot/a.md", "# a\n", age="4h")
    layers.put("hot/a.gist.md", "# a in short\n", age="4h")
    layers.put("hot/b.md", "# b\n", age="9d")
    layers.put("hot/c.md", "# c new\n", age="20d")
    layers.put("warm/d.md", "# d\n", age="8d")
    layers.put("warm/d.gist.md", "# of an older d\n", age="8d")
    layers.put("warm/e.md", "# e\n", age="8d")
    layers.put("gist/e.md", "# e in short\n", age="8d")
    layers.put("forgotten/f.md", "# f\n", age="90d")
    layers.put("forgotten/f.gist.md", "# f in short\n", age="90d")
    layers.put("forgotten/g.md", "# g\n", age="90d")
    layers.put("warm/h.md", "# h\n", age="4h")
    layers.put("hot/h.md", "# h\n", age="4h")
    layers.put("forgotten/i.md", "# i\n", age="90d")
    mark = int(layers.ago("31d").timestamp())
    layers.count(
        {
            "forgotten/f.md": {"forgotten": mark, "timestamps": []},
            "forgotten/g.md": {"forgotten": mark, "timestamps": []},
            "forgotten/i.md": {"forgotten": mark, "timestamps": [], "user_marked": True},
            "warm/d.md": {"summary_of": "0123456789", "timestamps": []},
        }
    )
    layers.get("gist/e.md", layers.ago("1h"))
    layers.get("forgotten/g.md", layers.ago("1h"))
    root, start = layers.root, layers.root.with_name("start")
    shutil.copytree(root, start)
    before = layers.tree()
    layers.organise()
    wanted = layers.tree()
    assert len(wanted) == 14

    def work() -> None:
        layers.organise()

    call = 0
    while True:
        call += 1
        shutil.rmtree(root)
        shutil.copytree(start, root)
        died = killed_at(call, work)
        assert not layers.organise().left
        assert layers.tree() == wanted, call
        assert not layers.organise().changed
        layers.undo(9)  # the run that was killed, as far as it came, and the one after it
        assert layers.tree() == before, call
        if not died:
            break
    assert call > 30
