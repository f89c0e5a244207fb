"""Our lines in a crontab stand between markers, and no other line is touched. The crontab program is a stand-in with a real file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.jobs.standins import World

from nacre.errors import BadInput, ChangedOutside, NacreError
from nacre.jobs.schedulers import apply_plan, plan_install, plan_remove
from nacre.memory import Memory
from nacre.model.context import Context
from nacre.model.workspace import Workspace

lines = st.lists(
    st.sampled_from(
        [b"5 4 * * * backup", b"# nacre", b"MAILTO=me", b"", b"CRON_TZ=Europe/Paris", b"* * * * * \xff\xfe", b"\r"]
    ),
    max_size=5,
)


@pytest.fixture
def tab(here: World) -> World:
    return here.has("crontab")


@pytest.fixture
def _in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def put(here: World, data: bytes | None) -> None:
    file = here.kept / "crontab"
    file.unlink(missing_ok=True) if data is None else file.write_bytes(data)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(above=lines, below=lines, ended=st.booleans(), cronie=st.booleans())
def test_whatever_stands_in_a_crontab_comes_back_byte_for_byte(
    tab: World, above: list[bytes], below: list[bytes], *, ended: bool, cronie: bool
) -> None:
    """Also when the user writes more lines below ours before they are taken out."""
    (tab.kept / "cronie").touch() if cronie else (tab.kept / "cronie").unlink(missing_ok=True)
    tab = tab.configured(timezone="Asia/Shanghai") if cronie else tab
    data = b"\n".join(above) + (b"\n" if ended and above else b"")
    put(tab, data)
    apply_plan(plan_install(tab.setup, "cron"))
    more = b"".join(one + b"\n" for one in below)
    put(tab, (tab.crontab() or b"") + more)
    apply_plan(plan_remove(tab.setup))
    newline = b"\n" if more and data and not data.endswith(b"\n") else b""
    assert tab.crontab() == data + newline + more


def test_where_there_was_no_crontab_there_is_none_again(tab: World) -> None:
    apply_plan(plan_install(tab.setup, "cron"))
    assert tab.crontab() is not None
    apply_plan(plan_remove(tab.setup))
    assert tab.crontab() is None


def test_a_cron_that_knows_zones_is_told_the_users_and_other_lines_keep_theirs(tab: World) -> None:
    (tab.kept / "cronie").touch()
    put(tab, b"CRON_TZ=Europe/Paris\n5 4 * * * backup\n")
    tab = tab.configured(timezone="Asia/Shanghai")
    made = plan_install(tab.setup, "cron")
    apply_plan(made)
    told = (tab.crontab() or b"").decode().splitlines()
    assert told[2:4] == [f"# nacre {tab.setup.mark} begin", "CRON_TZ=Asia/Shanghai"]
    assert told[4].startswith("0 10,14,18,22 * * * ")
    assert told[-2:] == ["CRON_TZ=Europe/Paris", f"# nacre {tab.setup.mark} end"]
    assert made.notes == ()


@pytest.mark.usefixtures("_in_new_york")
def test_for_a_cron_without_zones_times_are_converted_and_it_is_said(tab: World) -> None:
    made = plan_install(tab.configured(timezone="Asia/Shanghai").setup, "cron")
    apply_plan(made)
    told = (tab.crontab() or b"").decode()
    assert "CRON_TZ" not in told
    assert "\n0 2,6,10,22 * * * " in told  # in March New York is twelve hours behind Shanghai
    assert "\n0 15 * * * " in told
    assert "the times of Asia/Shanghai were converted" in made.notes[0]
    assert "after a clock change" in made.notes[0]


def test_lines_that_the_user_put_between_our_markers_stay(tab: World) -> None:
    put(tab, b"5 4 * * * backup\n")
    apply_plan(plan_install(tab.setup, "cron"))
    end = f"# nacre {tab.setup.mark} end".encode()
    put(tab, (tab.crontab() or b"").replace(end, b"1 1 * * * mine\n" + end))
    apply_plan(plan_remove(tab.setup))
    assert tab.crontab() == b"5 4 * * * backup\n1 1 * * * mine\n"


def test_two_workspaces_share_a_crontab(tab: World) -> None:
    root = tab.folder / "other workspace"
    (root / ".nacre").mkdir(parents=True)
    other = replace(tab.setup, memory=Memory(Context(Workspace(root), tab.setup.memory.config, tab.setup.memory.clock)))
    apply_plan(plan_install(tab.setup, "cron"))
    alone = tab.crontab()
    apply_plan(plan_install(other, "cron"))
    apply_plan(plan_remove(other))
    assert tab.crontab() == alone
    apply_plan(plan_install(other, "cron"))
    apply_plan(plan_remove(tab.setup))
    assert str(root) in (tab.crontab() or b"").decode()
    assert tab.setup.mark not in (tab.crontab() or b"").decode()


def test_a_marker_without_its_other_half_is_left_to_the_user(tab: World) -> None:
    put(tab, f"# nacre {tab.setup.mark} begin\n1 1 * * * x\n".encode())
    with pytest.raises(BadInput, match="only one of the lines"):
        plan_install(tab.setup, "cron")


def test_a_crontab_that_changed_meanwhile_is_not_overwritten(tab: World) -> None:
    made = plan_install(tab.setup, "cron")
    put(tab, b"1 1 * * * mine\n")
    with pytest.raises(ChangedOutside):
        apply_plan(made)
    assert tab.crontab() == b"1 1 * * * mine\n"


def test_a_crontab_that_may_not_be_read_is_told(tab: World) -> None:
    tab.fails("-l")
    with pytest.raises(NacreError, match="something broke"):
        plan_install(tab.setup, "cron")
    assert not plan_remove(tab.setup).changed
