"""OpenClaw is told by its own command, in the words of its version. Its program is a stand-in that keeps jobs in a file; the
options were read off OpenClaw 2026.9.6 and the documents of earlier versions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.jobs.standins import World

from nacre.config.settings import BrainSettings
from nacre.errors import NacreError
from nacre.jobs import installer
from nacre.jobs.openclaw import job_prompt, list_jobs
from nacre.jobs.schedulers import apply_plan, plan_install, plan_remove

CURRENT = "--announce Fallback-deliver --deliver Deprecated --no-deliver Disable --session <target>"


@pytest.fixture
def claw(here: World) -> World:
    (here.home / ".openclaw").mkdir()
    (here.home / ".openclaw" / "workspace").symlink_to(here.workspace.root)
    return here.has("openclaw").configured(timezone="Asia/Shanghai")


def commands(here: World) -> list[tuple[str, ...]]:
    return [one.command for one in plan_install(here.setup, "openclaw").shown]


def test_the_commands_are_those_of_the_memory_system_that_users_know(claw: World) -> None:
    sync, tidy = commands(claw)
    head = ("openclaw", "cron", "add", "--name")
    how = ("--tz", "Asia/Shanghai", "--session", "isolated", "--wake", "now")
    assert sync[:-1] == (*head, "memory-sync", "--cron", "0 10,14,18,22 * * *", *how, "--delivery", "none", "--message")
    assert tidy[:-1] == (*head, "memory-tidy", "--cron", "0 3 * * *", *how, "--deliver", "--message")


def test_a_current_version_is_told_in_its_own_options(claw: World) -> None:
    (claw.kept / "help").write_text(CURRENT, "utf-8")
    sync, tidy = commands(claw)
    assert sync[-3] == "--no-deliver"
    assert tidy[-3] == "--announce"
    apply_plan(plan_install(claw.setup, "openclaw"))
    assert [one["delivery"]["mode"] for one in claw.openclaw_jobs()] == ["none", "announce"]


@pytest.mark.parametrize(
    ("language", "permission"),
    [
        ("en", "explicitly permitted to read and change MEMORY.md in this isolated session"),
        ("zh", "明确授权在此隔离会话中读取和修改 MEMORY.md"),
    ],
)
def test_the_prompts_name_one_command_and_when_to_be_silent(claw: World, language: str, permission: str) -> None:
    claw = claw.configured(language=language)
    sync, tidy = (one[-1] for one in commands(claw))
    place = f"--workspace {claw.setup.root}\n"
    assert f"nacre jobs run memory-sync --due {place}" in sync
    assert f"nacre jobs run memory-tidy --due {place}" in tidy
    assert permission in tidy
    assert "MEMORY.md" not in sync
    assert all("ANNOUNCE_SKIP" in one for one in (sync, tidy))


def test_an_agent_that_is_not_the_first_is_named(here: World) -> None:
    state = here.home / ".openclaw"
    state.mkdir()
    settings = {"agents": {"list": [{"id": "main"}, {"id": "ops", "workspace": str(here.workspace.root)}]}}
    (state / "openclaw.json").write_text(json.dumps(settings), "utf-8")
    for command in commands(here.has("openclaw")):
        assert command[command.index("--agent") + 1] == "ops"


def others(here: World, *jobs: dict[str, Any]) -> None:
    (here.kept / "openclaw.json").write_text(json.dumps(jobs), "utf-8")


def test_a_job_of_the_user_keeps_its_name_and_stays(claw: World) -> None:
    mine = {"id": "mine", "name": "memory-sync", "payload": {"message": "Run nacre jobs run memory-sync by hand"}}
    others(claw, mine)
    made = plan_install(claw.setup, "openclaw")
    apply_plan(made)
    assert [one["name"] for one in claw.openclaw_jobs()] == [
        "memory-sync",
        f"memory-sync-{claw.setup.mark}",
        "memory-tidy",
    ]
    assert "is not Nacre's" in made.notes[0]
    assert not plan_install(claw.setup, "openclaw").changed
    apply_plan(plan_remove(claw.setup))
    assert claw.openclaw_jobs() == [mine]


def test_a_job_that_the_user_renamed_is_still_taken_back(claw: World) -> None:
    apply_plan(plan_install(claw.setup, "openclaw"))
    others(claw, *({**one, "name": f"my {one['name']}"} for one in claw.openclaw_jobs()))
    apply_plan(plan_remove(claw.setup))
    assert claw.openclaw_jobs() == []


def test_a_gateway_that_is_down_is_told_and_the_record_stays(claw: World) -> None:
    apply_plan(plan_install(claw.setup, "openclaw", with_heartbeat=True))
    claw.fails("list")
    with pytest.raises(NacreError, match="something broke"):
        apply_plan(plan_remove(claw.setup))
    assert [*installer.read_installed(claw.workspace)] == ["openclaw"]  # the heartbeat did not have to wait for it
    (claw.kept / "failing").unlink()
    apply_plan(plan_remove(claw.setup))
    assert claw.openclaw_jobs() == []


def test_an_openclaw_that_is_gone_does_not_hinder_another_scheduler(claw: World) -> None:
    apply_plan(plan_install(claw.setup, "openclaw"))
    claw.has("crontab")
    made = plan_install(claw.setup)
    assert made.kind == "cron"
    assert any("no longer installed on this machine" in one for one in made.notes)
    apply_plan(made)
    assert installer.installed_kinds(claw.workspace) == ("cron",)


@pytest.mark.parametrize("answer", ["", "nonsense", "[1]", '{"jobs": 3}', '{"jobs": [1, {"payload": 2}]}', "{broken"])
def test_an_answer_that_makes_no_sense_never_crashes(claw: World, answer: str) -> None:
    program = claw.folder / "bin" / "openclaw"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{answer}'\n", "utf-8")
    try:
        assert not any(job.message for job in list_jobs(claw.machine))
        plan_install(claw.setup, "openclaw")
    except NacreError as trouble:
        assert "did not return JSON" in str(trouble)  # noqa: PT017 - both ends are right


def test_where_work_is_left_to_the_agent_the_jobs_tell_it_to_answer_orders(claw: World) -> None:
    apply_plan(plan_install(claw.setup, "openclaw"))
    plain = claw.openclaw_jobs()
    turn = claw.configured(brain=BrainSettings(summarise="turn"))
    apply_plan(plan_install(turn.setup, "openclaw"))
    jobs = claw.openclaw_jobs()
    assert [job["name"] for job in jobs] == ["memory-sync", "memory-tidy"]
    for job in jobs:
        message = job["payload"]["message"]
        places = [message.index(f"{words} --workspace {claw.setup.root}\n") for words in ("--due", "brain orders --next", "brain answer ID", f"jobs run {job['name']}")]  # fmt: skip
        assert places == sorted(places)
    assert not plan_install(turn.setup, "openclaw").changed
    apply_plan(plan_install(claw.setup, "openclaw"))
    assert [job["payload"] for job in claw.openclaw_jobs()] == [job["payload"] for job in plain]


@pytest.mark.parametrize("brain", ["local", "turn"])
def test_both_languages_say_the_same_things(claw: World, brain: str) -> None:
    for job in ("memory-sync", "memory-tidy"):
        setups = [
            claw.configured(language=language, brain=BrainSettings(extract=brain)).setup for language in ("en", "zh")
        ]
        english, chinese = (job_prompt(setup, job) for setup in setups)
        commands = [line for line in english.splitlines() if line.startswith("    ")]
        assert commands == [line for line in chinese.splitlines() if line.startswith("    ")]
        assert len(commands) == (4 if brain == "turn" else 1)
        assert english.count("ANNOUNCE_SKIP") == chinese.count("ANNOUNCE_SKIP") == 1
        assert len(english.splitlines()) == len(chinese.splitlines())
