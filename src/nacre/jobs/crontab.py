"""Lines in the user's crontab, between our markers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nacre.errors import BadInput, ChangedOutside
from nacre.i18n import say
from nacre.jobs.installer import Machine, Planned, Setup, Shown, command_failed, file_diff, must_run, run_command
from nacre.jobs.launchd import in_system_time
from nacre.jobs.schedule import shifted, zone_difference

_LIST = ("crontab", "-l")
_NONE = re.compile(r"no crontab|no such file", re.IGNORECASE)
_LONGEST = 990  # what classic crons read of a line


def answers(setup: Setup) -> bool:
    return setup.machine.has("crontab")


def knows_zones(machine: Machine) -> bool:
    """Whether this cron understands CRON_TZ: cronie does; Debian's, BSD's and busybox's do not."""
    ran = run_command(machine, ("crontab", "-V"), timeout=20)
    return "cronie" in (ran.out + ran.err).lower()


def markers(setup: Setup) -> tuple[str, str]:
    return f"# nacre {setup.mark} begin", f"# nacre {setup.mark} end"


def block(setup: Setup, before: str) -> str:
    """Our lines with their markers."""
    zone = setup.config.timezone if knows_zones(setup.machine) else None
    ahead = zone_difference(setup.clock)
    begin, end = markers(setup)
    lines = [begin, f"CRON_TZ={zone}"] if zone else [begin]
    for job in setup.jobs():
        for times in setup.times(job):
            lines += [f"{one.expression} {line(setup, job)}" for one in ((times,) if zone else shifted(times, ahead))]
    if too_long := next((one for one in lines if len(one.encode()) > _LONGEST), None):
        raise BadInput(
            say(
                f"A line for cron would be {len(too_long.encode())} bytes long, and cron reads {_LONGEST}; use a shorter path.",
                f"cron 的一行将有 {len(too_long.encode())} 字节，而 cron 只读取 {_LONGEST} 字节；请使用较短的路径。",
            )
        )
    # A variable holds for every line below it: the user's own lines get back what was in force.
    lines += [f"CRON_TZ={_zone_in(before)}"] if zone else []
    return "\n".join([*lines, end]) + "\n"


def line(setup: Setup, job: str) -> str:
    """The command as cron hands it to the shell; a bare % would end it. What came of it stands in the journal of runs."""
    carried = [f"{name}={value}" for name, value in setup.carried().items()]
    command = shlex.join([*(["env", *carried] if carried else []), *setup.command(job)])
    return f"{command} >/dev/null 2>&1".replace("%", "\\%")


def _zone_in(text: str) -> str:
    found = re.findall(r"^[ \t]*CRON_TZ[ \t]*=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    return found[-1] if found else ""


def read_crontab(machine: Machine) -> str | None:
    """The user's crontab; None when there is none."""
    ran = run_command(machine, _LIST, timeout=20)
    if ran.code == 0:
        return ran.out
    if not ran.out.strip() and _NONE.search(ran.err):
        return None
    raise command_failed(_LIST, ran)


def install(setup: Setup, entry: Mapping[str, Any], *, complete: bool) -> Planned:
    """The crontab with our block up to date, at the place where it stands, else at the end."""
    now = read_crontab(setup.machine)
    text = now or ""
    found = _span(setup, text)
    lead = _lead(entry)
    if found:
        head, rest = text[: found[0]], text[found[1] :]
        wanted = head + block(setup, head) + _foreign(setup, text[slice(*found)]) + rest
    else:
        lead = "\n" if text and not text.endswith("\n") else ""
        wanted = text + lead + block(setup, text)
    noted = {"lead": lead, "made": entry.get("made") is True or now is None}
    if wanted == text:
        return Planned((), noted, ready=complete)
    notes = () if knows_zones(setup.machine) and setup.config.timezone else in_system_time(setup)
    return Planned((CrontabStep(now, wanted),), noted, notes)


def remove(setup: Setup, entry: Mapping[str, Any]) -> Planned:
    """The crontab without our block: what the user added inside it stays, and no line of others is touched."""
    if not answers(setup):
        return Planned((), ready=True)
    now = read_crontab(setup.machine)
    found = _span(setup, now or "")
    if not now or not found:
        return Planned((), ready=True)
    head, rest = now[: found[0]], now[found[1] :]
    kept = _foreign(setup, now[slice(*found)])
    if not kept and not rest and (lead := _lead(entry)):
        head = head.removesuffix(lead)  # the last line had no end, and has none again
    after = head + kept + rest
    return Planned((CrontabStep(now, None if not after and entry.get("made") is True else after),))


@dataclass(frozen=True)
class CrontabStep:
    """The whole crontab put in the place of what was read; None: there is none."""

    before: str | None
    after: str | None

    def shown(self) -> Shown:
        before, after = (None if text is None else _bytes(text) for text in (self.before, self.after))
        return Shown("crontab", file_diff("crontab", before, after))

    def do(self, machine: Machine) -> None:
        if read_crontab(machine) != self.before:
            raise ChangedOutside(
                say(
                    "The crontab was changed by someone else meanwhile; nothing was written. Run the command again.",
                    "crontab 在此期间被他人修改；未写入任何内容。请重新运行命令。",
                )
            )
        _put(machine, self.after)

    def back(self, machine: Machine) -> None:
        if read_crontab(machine) == self.after:
            _put(machine, self.before)


def _put(machine: Machine, text: str | None) -> None:
    if text is None:
        must_run(machine, ("crontab", "-r"))
    else:
        must_run(machine, ("crontab", "-"), text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _span(setup: Setup, text: str) -> tuple[int, int] | None:
    """Where our block stands, from marker to marker."""
    begin, end = (re.escape(one) for one in markers(setup))
    found = re.search(rf"^{begin}[ \t]*\n(?:(?!{begin})[^\n]*\n)*?{end}[ \t]*(?:\n|\Z)", text, re.MULTILINE)
    if not found and re.search(rf"^(?:{begin}|{end})[ \t]*$", text, re.MULTILINE):
        raise BadInput(
            say(
                f'The crontab holds only one of the lines "{markers(setup)[0]}" and "{markers(setup)[1]}"; put it right with '
                f'"crontab -e", or take out the lines between them.',
                f"crontab 中只剩“{markers(setup)[0]}”和“{markers(setup)[1]}”之一；请用“crontab -e”改正，或删除其间的行。",
            )
        )
    return found.span() if found else None


def _foreign(setup: Setup, ours: str) -> str:
    """Lines that somebody put between our markers."""
    place = shlex.join(["--workspace", setup.root]).replace("%", "\\%")
    return "".join(
        line
        for line in ours.splitlines(keepends=True)
        if line.strip() not in markers(setup) and place not in line and not line.startswith("CRON_TZ=")
    )


def _lead(entry: Mapping[str, Any]) -> str:
    return "\n" if entry.get("lead") == "\n" else ""
