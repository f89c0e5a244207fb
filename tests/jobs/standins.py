"""Stand-ins for schedulers that cannot be had where tests run: real programs on a PATH of their own that write down how they were
called and keep real files, as systemctl, crontab, openclaw and launchctl would. What they keep lies in one folder."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nacre.clock import Clock, zone
from nacre.config.settings import Config
from nacre.jobs.installer import Machine, Setup
from nacre.memory import Memory
from nacre.model import Context, Workspace

_SHELL = """\
#!/bin/sh
PATH=/usr/bin:/bin
kept=${0%/*}/../kept
name=${0##*/}
echo "$name $*" >> "$kept/calls"
if [ -e "$kept/failing" ]; then
    while read -r word; do
        for one in "$name" "$@"; do
            [ "$one" = "$word" ] && { echo "$name: something broke"; echo "with two lines"; } >&2 && exit 5
        done
    done < "$kept/failing"
fi
"""

_PYTHON = """\
import json, pathlib, sys
args = sys.argv[1:]
kept = pathlib.Path(sys.argv[0]).parent.parent / "kept"
failing = (kept / "failing").read_text("utf-8").splitlines() if (kept / "failing").exists() else []
if set(failing) & {"openclaw", *args}:
    sys.stderr.write("openclaw: something broke\\nwith two lines\\n")
    sys.exit(5)
"""

_PROGRAMS = {
    "systemctl": """\
verb=$2
shift 2
folder=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
wants=$folder/timers.target.wants
for unit in "$@"; do
    [ "$unit" = --now ] && continue
    case $verb in
        enable) [ -e "$folder/$unit" ] && mkdir -p "$wants" && ln -sf "$folder/$unit" "$wants/$unit" || exit 1 ;;
        disable) rm -f "$wants/$unit" ;;
    esac
done
exit 0
""",
    "launchctl": "exit 0\n",
    "crontab": """\
tab=$kept/crontab
case $1 in
    -l) [ -e "$tab" ] && cat "$tab" || { echo "no crontab for somebody" >&2; exit 1; } ;;
    -) cat > "$tab" ;;
    -r) rm "$tab" ;;
esac
""",
    "openclaw": """\
file = kept / "openclaw.json"
jobs = json.loads(file.read_text("utf-8")) if file.exists() else []
options = (kept / "help").read_text("utf-8") if (kept / "help").exists() else "--delivery <mode> --deliver"
if args[:3] == ["cron", "add", "--help"]:
    print(options)
elif args[:2] == ["cron", "list"]:
    print(json.dumps({"jobs": jobs}))
elif args[:2] == ["cron", "add"]:
    given, rest = {}, args[2:]
    while rest:
        option = rest.pop(0)
        if option.startswith("--deliver") or option in ("--announce", "--no-deliver"):
            if option not in options.replace("<", " ").split():
                sys.exit(f"unknown option {option}")
        given[option] = rest.pop(0) if rest and not rest[0].startswith("--") else True
    job = {"id": f"id-{len(jobs)}-{given['--name']}", "name": given["--name"], "agentId": given.get("--agent", "main")}
    job["schedule"] = {"kind": "cron", "expr": given["--cron"], "tz": given.get("--tz")}
    job["payload"] = {"kind": "agentTurn", "message": given["--message"]}
    job["delivery"] = {"mode": "none" if "--no-deliver" in given or given.get("--delivery") == "none" else "announce"}
    file.write_text(json.dumps([*jobs, job]), "utf-8")
    print(json.dumps(job))
elif args[:2] == ["cron", "rm"]:
    left = [job for job in jobs if job["id"] != args[2]]
    if len(left) == len(jobs):
        sys.exit("Automation not found")
    file.write_text(json.dumps(left), "utf-8")
""",
}


@dataclass(frozen=True)
class World:
    """A workspace on a machine with stand-ins."""

    folder: Path
    setup: Setup

    @property
    def kept(self) -> Path:
        return self.folder / "kept"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def machine(self) -> Machine:
        return self.setup.machine

    @property
    def workspace(self) -> Workspace:
        return self.setup.memory.workspace

    def has(self, *programs: str) -> World:
        """The machine with these programs, and no others."""
        for name, program in _PROGRAMS.items():
            path = self.folder / "bin" / name
            path.unlink(missing_ok=True)
            if name in programs:
                head = f"#!{sys.executable} -IS\n{_PYTHON}" if name == "openclaw" else _SHELL
                path.write_text(head + program, "utf-8")
                path.chmod(0o755)
        return self

    def on(self, **changes: Any) -> World:
        return replace(self, setup=replace(self.setup, machine=replace(self.machine, **changes)))

    def configured(self, **changes: Any) -> World:
        """With other settings."""
        config = Config(**{**self.setup.memory.config.__dict__, **changes})
        clock = Clock(zone(config.timezone), self.setup.memory.clock.fixed)
        memory = Memory(Context(self.workspace, config, clock))
        return replace(self, setup=replace(self.setup, memory=memory))

    def fails(self, *words: str) -> None:
        """Every program fails that has one of these names or arguments."""
        (self.kept / "failing").write_text("".join(f"{word}\n" for word in words), "utf-8")

    def calls(self) -> list[str]:
        file = self.kept / "calls"
        return file.read_text("utf-8").splitlines() if file.exists() else []

    def crontab(self) -> bytes | None:
        file = self.kept / "crontab"
        return file.read_bytes() if file.exists() else None

    def openclaw_jobs(self) -> list[dict[str, Any]]:
        file = self.kept / "openclaw.json"
        found: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else []
        return found

    def everything(self) -> dict[str, bytes]:
        """What lies in the home folder, the crontab and OpenClaw's jobs; without our locks."""
        places = [path for top in (self.home, self.workspace.root) for path in sorted(top.rglob("*"))]
        files = {str(path): path.read_bytes() for path in places if path.is_file() and path.suffix != ".lock"}
        files = {name: data for name, data in files.items() if "/.nacre/" not in name or name.endswith("service.json")}
        jobs = json.dumps(self.openclaw_jobs()).encode()
        return {**files, "crontab": self.crontab() or b"(none)", "openclaw": jobs}


def world(folder: Path, root: Path, clock: Clock) -> World:
    for name in ("bin", "kept", "home"):
        (folder / name).mkdir(parents=True)
    (root / ".nacre").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Long-Term Memory\n", "utf-8")
    env = {"PATH": str(folder / "bin"), "HOME": str(folder / "home")}
    machine = Machine(env, folder / "home", "linux", sys.executable)
    return World(folder, Setup(Memory(Context(Workspace(root), Config(), clock)), machine))
