"""Our lines in a crontab stand between markers, and no other line is touched. The crontab program is a stand-in with a real file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.jobs.standins import World

from nacre.errors import ChangedOutside, NacreError
from nacre.jobs.schedulers import apply_plan, plan_install, plan_remove
from nacre.memory import Memory
from nacre.model import Context, Workspace

lines = st.lists(
    st.sampled_from(
        [b"5 4 * * * backup", b"# nacre", b"MAILTO=me", b"", b"CRON_TZ=Europe/Paris", b"* * * * * \xff\xfe", b"\r"]
    ),
    max_size=5,
)


@pytest.fixture
def tab(here: World) -> World:
    return here.has("crontab")


def put(here: World, data: bytes | None) -> None:
    file = here.kept / "crontab"
    file.unlink(missing_ok=True) if data is None else file.write_bytes(data)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(above=lines, below=lines)
def test_whatever_stands_in_a_crontab_comes_back_byte_for_byte(
    tab: World, above: list[bytes], below: list[bytes]
) -> None:
    """Also when the user writes more lines below ours before they are taken out."""
    data, more = (b"".join(line + b"\n" for line in some) for some in (above, below))
    put(tab, data)
    apply_plan(plan_install(tab.setup, "cron"))
    put(tab, (tab.crontab() or b"") + more)
    assert not plan_install(tab.setup, "cron").changed
    apply_plan(plan_remove(tab.setup))
    assert tab.crontab() == (data + more or None)


def test_a_last_line_without_an_end_is_given_one(tab: World) -> None:
    put(tab, b"5 4 * * * backup")
    apply_plan(plan_install(tab.setup, "cron"))
    apply_plan(plan_remove(tab.setup))
    assert tab.crontab() == b"5 4 * * * backup\n"


def test_where_there_was_no_crontab_there_is_none_again(tab: World) -> None:
    apply_plan(plan_install(tab.setup, "cron"))
    assert tab.crontab() is not None
    apply_plan(plan_remove(tab.setup))
    assert tab.crontab() is None


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


def test_below_a_marker_without_its_other_half_lines_of_others_stay(tab: World) -> None:
    put(tab, f"# nacre {tab.setup.mark} begin\n1 1 * * * x\n".encode())
    apply_plan(plan_install(tab.setup, "cron"))
    apply_plan(plan_remove(tab.setup))
    assert tab.crontab() == b"1 1 * * * x\n"


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
