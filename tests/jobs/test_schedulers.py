"""Installing writes what it showed, once; removing takes back exactly that; a failure or a kill leaves nothing half done.

The schedulers are stand-ins (see standins.py): no test machine has all of them, and none may be changed by a test.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest
from tests.jobs.conftest import NOW
from tests.jobs.standins import World
from tests.vault.conftest import run_in_child

from nacre.config.settings import SyncSettings
from nacre.errors import BadInput, ChangedOutside, NacreError
from nacre.jobs import installer, journal, schedulers
from nacre.jobs.installer import Step
from nacre.jobs.schedulers import ServicePlan, apply_plan, choose_scheduler, plan_install, plan_remove

KINDS = ["systemd", "launchd", "cron", "openclaw"]


def ready(here: World, kind: str) -> World:
    """The machine with that scheduler, and things of others in it."""
    program = {"systemd": "systemctl", "launchd": "launchctl", "cron": "crontab", "openclaw": "openclaw"}[kind]
    here = here.has(program)
    (here.kept / "crontab").write_bytes(b"MAILTO=me\n5 4 * * * backup\n")
    (here.home / ".config/systemd/user").mkdir(parents=True)
    (here.home / ".config/systemd/user/mine.timer").write_bytes(b"[Timer]\n")
    (here.home / ".openclaw").mkdir()
    (here.home / ".openclaw" / "workspace").symlink_to(here.workspace.root)
    return here.on(platform="darwin") if kind == "launchd" else here


def updated(here: World) -> World:
    """With other times, and called by another Python: every scheduler has to be told anew."""
    return here.configured(sync=SyncSettings(times=["09:30"])).on(python="/opt/new/python")


def install(here: World, kind: str = "auto", **how: Any) -> ServicePlan:
    made = plan_install(here.setup, kind, **how)
    apply_plan(made)
    return made


def remove(here: World) -> ServicePlan:
    made = plan_remove(here.setup)
    apply_plan(made)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_removing_leaves_the_machine_byte_for_byte_as_it_was(here: World, kind: str) -> None:
    here = ready(here, kind)
    before = here.everything()
    made = install(here, kind, with_heartbeat=True)
    assert made.kind == kind
    assert here.everything() != before
    assert installer.installed_kinds(here.workspace) == (kind,)
    remove(here)
    assert here.everything() == before
    assert installer.read_installed(here.workspace) == {}
    assert not remove(here).changed


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_installed_runs_only_what_is_due(here: World, kind: str) -> None:
    """Beside a daemon, or another scheduler, a time that was run for is not run for again."""
    here = ready(here, kind)
    install(here, kind, with_heartbeat=True)
    files = [path for path in here.home.rglob("*") if path.is_file()]
    told = [path.read_text("utf-8") for path in files if path.suffix in (".service", ".plist")]
    told += (here.crontab() or b"").decode().splitlines()
    told += [one["payload"]["message"] for one in here.openclaw_jobs()]
    told.append((here.workspace.root / "HEARTBEAT.md").read_text("utf-8"))
    runs = [text for text in told if re.search(r"jobs\W+(?:string\W+)*run\b", text)]
    assert len(runs) == {"systemd": 2, "launchd": 2, "cron": 2, "openclaw": 3}[kind]
    assert all("--due" in text for text in runs)


def test_what_a_timer_calls_runs_a_time_once_whoever_else_ran_it(here: World) -> None:
    env = {**os.environ, "NACRE_NOW": NOW.isoformat(), "TZ": "UTC"}

    def runs() -> list[str]:
        return [one.job for one in journal.read_journal(here.workspace).runs]

    for job in ("memory-sync", "", "", "memory-tidy"):
        subprocess.run(here.setup.command(job), env=env, check=True, stdout=subprocess.DEVNULL)
    assert sorted(runs()) == ["heartbeat", "memory-sync", "memory-tidy", "organise"]


@pytest.mark.parametrize("kind", KINDS)
def test_installing_twice_equals_installing_once(here: World, kind: str) -> None:
    here = ready(here, kind)
    install(here, kind, with_heartbeat=True)
    after = here.everything()
    again = plan_install(here.setup, kind, with_heartbeat=True)
    assert not again.changed
    assert again.shown == ()
    apply_plan(again)
    assert here.everything() == after


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_changes_nothing(here: World, kind: str) -> None:
    here = ready(here, kind)
    before = here.everything()
    assert plan_install(here.setup, kind, with_heartbeat=True).shown
    plan_remove(here.setup)
    assert here.everything() == before


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_new_takes_the_place_of_the_old(here: World, kind: str) -> None:
    here = ready(here, kind)
    before = here.everything()
    install(here, kind)
    first = here.everything()
    here = updated(here)
    assert install(here, kind).changed
    assert here.everything() != first
    assert not plan_install(here.setup, kind).changed
    remove(here)
    assert here.everything() == before


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        ("systemd", "enable"),
        ("systemd", "daemon-reload"),
        ("launchd", "bootstrap"),
        ("cron", "-"),
        ("openclaw", "memory-tidy"),
    ],
)
def test_a_command_that_fails_is_told_with_its_words_and_nothing_half_done_remains(
    here: World, kind: str, broken: str
) -> None:
    here = ready(here, kind)
    before = here.everything()
    here.fails(broken)
    with pytest.raises(NacreError, match=r"failed \(exit code 5\): \w+: something broke with two lines\. Nothing"):
        install(here, kind)
    (here.kept / "failing").unlink()
    assert here.everything() == before
    remove(here)
    assert here.everything() == before
    install(here, kind)
    assert installer.read_installed(here.workspace)[kind]["complete"]


@pytest.mark.parametrize(("kind", "broken"), [("systemd", "daemon-reload"), ("cron", "-"), ("openclaw", "30 9 * * *")])
def test_an_update_that_fails_is_taken_back_whole(here: World, kind: str, broken: str) -> None:
    here = ready(here, kind)
    before = here.everything()
    install(here, kind)
    here.fails(broken)
    with pytest.raises(NacreError):
        install(updated(here), kind)
    (here.kept / "failing").unlink()
    remove(here)
    assert here.everything() == before
    assert install(updated(here), kind).changed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("updating", [False, True])
def test_killed_after_any_step_it_can_be_repeated_or_taken_back(here: World, kind: str, *, updating: bool) -> None:
    here = ready(here, kind)
    before = here.everything()
    later = updated(here) if updating else here
    if updating:
        install(here, kind)
    steps = len(plan_install(later.setup, kind).changes[kind].steps)
    if updating:
        remove(here)
    install(later, kind)
    wanted = shape(here)
    remove(here)
    for survived in range(steps + 1):
        if updating:
            install(here, kind)
        killed(later, kind, survived)
        if (survived + updating) % 2:
            install(later, kind)
            assert shape(here) == wanted
            assert not plan_install(later.setup, kind).changed
        remove(later)
        assert here.everything() == before


def shape(here: World) -> dict[str, bytes]:
    """Everything but the order and ids of OpenClaw's jobs."""
    jobs = sorted(repr({**one, "id": ""}) for one in here.openclaw_jobs())
    return {**here.everything(), "openclaw": repr(jobs).encode()}


def killed(here: World, kind: str, survived: int) -> None:
    """Install in a process that dies after some steps, with no chance to take anything back."""

    def cut_short(steps: Sequence[Step]) -> None:
        for step in steps[:survived]:
            step.do()
        os._exit(9)

    def work() -> None:
        schedulers.apply_steps = cut_short
        install(here, kind)

    assert run_in_child(work) == 9


def test_another_scheduler_takes_over_and_the_first_is_taken_back(here: World) -> None:
    here = ready(here, "systemd").has("systemctl", "crontab")
    before = here.everything()
    install(here, "systemd")
    install(here, "cron")
    assert installer.installed_kinds(here.workspace) == ("cron",)
    assert not list((here.home / ".config/systemd/user").glob("nacre*"))
    assert choose_scheduler(here.setup) == "cron"  # what is in use stays in use
    remove(here)
    assert here.everything() == before


def test_the_record_is_the_users_alone_and_what_came_with_a_clone_names_no_files(here: World) -> None:
    here = ready(here, "systemd")
    install(here, "systemd")
    record = installer.installed_path(here.workspace)
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    mine = here.home / "precious"
    mine.write_bytes(b"mine")
    text = record.read_text("utf-8").replace(f"nacre@{here.setup.mark}.timer", f"{mine}")
    record.write_text(text, "utf-8")
    remove(here)
    assert mine.read_bytes() == b"mine"


@pytest.mark.parametrize("kind", ["systemd", "launchd", "cron"])
@pytest.mark.parametrize(
    "record", [None, b"not json", b'{"installed": [1]}', b'{"installed": {"systemd": 3, "cron": {"lead": 7}}}']
)
def test_without_its_record_it_is_taken_back_by_its_name(here: World, kind: str, record: bytes | None) -> None:
    here = ready(here, kind)
    (here.kept / "crontab").write_bytes(b"5 4 * * * backup\n")
    before = here.everything()
    install(here, kind)
    file = installer.installed_path(here.workspace)
    file.unlink() if record is None else file.write_bytes(record)
    assert remove(here).changed
    file.unlink(missing_ok=True)
    assert here.everything() == before


def test_a_file_of_somebody_else_in_our_place_is_left_alone(here: World) -> None:
    here = ready(here, "systemd")
    foreign = here.home / ".config/systemd/user" / f"nacre@{here.setup.mark}.timer"
    foreign.write_bytes(b"[Timer]\nOnCalendar=daily\n")
    before = here.everything()
    with pytest.raises(ChangedOutside):
        install(here, "systemd")
    remove(here)
    assert here.everything() == before


def test_systemd_that_does_not_answer_any_more_does_not_hinder_removing(here: World) -> None:
    here = ready(here, "systemd")
    before = here.everything()
    install(here, "systemd")
    here.fails("systemctl")
    remove(here)
    (here.kept / "failing").unlink()
    assert here.everything() == before


def test_the_machine_decides_what_runs_the_jobs(here: World) -> None:
    here = ready(here, "systemd").has("systemctl", "launchctl", "crontab", "openclaw")
    assert choose_scheduler(here.setup) == "systemd"
    here.fails("show-environment")  # no session bus, as in a container
    assert choose_scheduler(here.setup) == "cron"
    assert choose_scheduler(here.on(platform="darwin").setup) == "launchd"
    assert choose_scheduler(here.has("openclaw").setup) == "openclaw"
    (here.home / ".openclaw" / "workspace").unlink()
    assert choose_scheduler(here.setup) is None


def test_where_nothing_can_run_jobs_nothing_is_written(here: World) -> None:
    made = install(here)
    assert (made.kind, made.changed) == (None, False)
    assert installer.read_installed(here.workspace) == {}


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("systemd", "does not respond"), ("launchd", "no launchd"), ("cron", "no cron"), ("openclaw", "no openclaw")],
)
def test_what_is_asked_for_and_not_there_is_said(here: World, kind: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        plan_install(here.setup, kind)


def test_openclaw_is_not_asked_to_run_the_jobs_of_a_workspace_that_is_not_its_own(here: World) -> None:
    with pytest.raises(BadInput, match="not the workspace of an OpenClaw agent"):
        plan_install(here.has("openclaw").setup, "openclaw")
