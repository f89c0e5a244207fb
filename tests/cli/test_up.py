"""nacre up as a user meets it: what it says first, what it asks, what it leaves, when it is interrupted, when it is run again."""

from __future__ import annotations

import os
import pty
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.talks import ClaudeTalk, openclaw_talk

Done = subprocess.CompletedProcess[str]
Up = Callable[..., Done]
COMMAND = [sys.executable, "-m", "nacre"]
NOW = "2026-03-03T12:00"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A machine with two agents, whose user has said something to each."""
    home = tmp_path / "home"
    home.mkdir()
    talk = ClaudeTalk(home, "5e551011-0000-4000-8000-000000000001")
    talk.say("Please find out why the export of the ledger dies.", "09:00:00").answer("The spool was full.", "09:01:00")
    talk.say("From now on always use pnpm, never npm, in every repository.", "09:02:00").answer("Noted.", "09:03:00")
    said = [
        ("user", "Can you sort the invoices of the bakery?"),
        ("assistant", "There are eleven of them."),
        ("user", "Mara Olsen checks every invoice before it goes out."),
    ]
    openclaw_talk(home, "6f662022-0000-4000-8000-000000000002", "agent:main:main", said)
    crontab = home / "bin" / "crontab"  # so that something here can run jobs
    crontab.parent.mkdir()
    crontab.write_text("#!/bin/sh\n")
    crontab.chmod(0o755)
    for path in home.rglob("*.jsonl"):
        os.utime(path, (1_772_450_000, 1_772_450_000))  # 2 March 2026
    return home


def surroundings(home: Path, **env: str) -> dict[str, str]:
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    given = {
        "HOME": str(home),
        "PATH": path,
        "NACRE_TIMEZONE": "UTC",
        "NACRE_MODELS_PATH": str(home / "none"),
        "NACRE_NOW": NOW,
    }
    return {**os.environ, **given, **env}


@pytest.fixture
def up(home: Path) -> Up:
    def run(*arguments: str, **env: str) -> Done:
        return subprocess.run(
            [*COMMAND, *arguments],
            capture_output=True,
            encoding="utf8",
            env=surroundings(home, **env),
            stdin=subprocess.DEVNULL,
            cwd=home,
            check=False,
        )

    return run


def tree(home: Path) -> dict[str, bytes]:
    """Every file of the user's that is no machine file."""
    root = home / ".nacre" / "workspace"
    files = (path for path in root.rglob("*") if path.is_file() and ".nacre" not in path.relative_to(root).parts)
    return {str(path): path.read_bytes() for path in files}


def test_a_dry_run_says_in_five_lines_what_will_be_done_and_read_and_does_nothing(up: Up, home: Path) -> None:
    before = sorted(home.rglob("*"))
    done = up("up", "--dry-run")
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert len(lines) == 5
    assert "claude-code (1, ~/.claude/projects/-srv-shop-api)" in lines[2]
    assert "openclaw (1, ~/.openclaw/agents/main/sessions)" in lines[2]
    assert "from the last 30 days:" in lines[2]
    assert "Nothing leaves this machine" in lines[3]
    assert lines[4].startswith("5. Ask before setting anything up to run automatically")
    assert "5. Set this up to run automatically" in up("up", "--dry-run", "--yes").stderr
    chinese = up("up", "--dry-run", NACRE_LANGUAGE="zh").stderr
    assert "最近 30 天" in chinese
    assert "claude-code（1 个，~/.claude/projects/-srv-shop-api）" in chinese
    assert sorted(home.rglob("*")) == before


def test_one_command_leads_to_a_memory_that_answers(up: Up, home: Path) -> None:
    done = up("up", "--no-models")
    assert done.returncode == 0, done.stderr
    assert "Sessions   2 read" in done.stderr
    assert "pnpm" in (home / ".nacre" / "workspace" / "memory" / "2026-03-02.md").read_text("utf8")
    lines = done.stdout.splitlines()
    assert "  - From now on always use pnpm, never npm, in every repository" in lines
    assert "  - Mara Olsen checks every invoice before it goes out" in lines
    assert "next session starts with MEMORY.md, " in done.stdout
    assert len(lines) + len(done.stderr.splitlines()) <= 40
    why = next(line for line in lines if " why MEMORY.md:" in line).split()
    assert "2026-03-02" in up(*why[1:]).stdout
    search = shlex.split(next(line for line in lines if " search " in line))
    assert "MEMORY.md" in up(*search[1:]).stdout
    assert "pnpm" in up("search", "pnpm", "--all-projects").stdout


def test_questions_are_shown_and_where_they_are_answered(up: Up, home: Path) -> None:
    up("up", "--no-models")
    question = (
        '- Chen Wei takes bank transfers only <!-- nacre:{"id":"ba966da78%d","kind":"doubt","file":"MEMORY.md"} -->'
    )
    questions = "\n".join(question % number for number in range(3))
    (home / ".nacre" / "workspace" / "memory" / "review.md").write_text(f"# Review\n\n{questions}\n", "utf8")
    done = up("up", "--no-models")
    assert "  ? Chen Wei takes bank transfers only\n" in done.stdout
    assert "For you to decide (" in done.stdout
    assert "  … and 1 more\n" in done.stdout
    assert "nacre review\n" in done.stdout.split("Ready.")[1]


def test_the_command_is_linked_only_when_wanted_and_where_the_shell_does_not_find_it(up: Up, home: Path) -> None:
    link = home / ".local" / "bin" / "nacre"
    up("up", "--no-models", PATH="/usr/bin:/bin")
    assert not link.is_symlink()
    done = up("up", "--no-models", "--path", PATH="/usr/bin:/bin")
    assert link.resolve() == Path(sys.executable).with_name("nacre").resolve()
    assert 'export PATH="$HOME/.local/bin:$PATH"' in done.stderr
    before = link.lstat()
    assert up("up", "--no-models", "--path", PATH=f"{link.parent}:/usr/bin:/bin").returncode == 0
    assert link.lstat() == before


def test_nothing_that_outlives_the_command_is_begun_where_nobody_sits(up: Up, home: Path) -> None:
    done = up("up", "--no-models")
    assert 'run "nacre jobs install"' in done.stderr
    assert "serve" not in done.stderr  # one way, not two
    machine = home / ".nacre" / "workspace" / ".nacre"
    assert not (machine / "service.json").exists()
    assert not list(machine.glob("daemon*"))


def test_where_nothing_can_run_jobs_the_daemon_is_named_instead(up: Up, home: Path) -> None:
    nothing = home / "no-programs"
    nothing.mkdir()
    done = up("up", "--no-models", PATH=str(nothing))
    assert "jobs install" not in done.stderr
    assert done.stderr.count("nacre serve --background") == 1
    assert 'Jobs       nothing runs automatically yet; "nacre serve --background" captures new sessions' in done.stderr
    status = up("status", PATH=str(nothing)).stdout
    assert 'nothing runs automatically; run "nacre serve --background"' in status
    assert 'run "nacre jobs install"' in up("status").stdout


def test_the_index_is_told_by_what_can_be_searched(up: Up) -> None:
    assert "passages in" in up("up", "--no-models").stderr
    again = up("up", "--no-models", NACRE_LANGUAGE="zh").stderr
    assert "段内容，可按关键词搜索" in again
    columns = [line for line in again.splitlines() if line.startswith(("工作区", "自动运行", "搜索"))]
    assert {sum(2 if sign >= "一" else 1 for sign in line[: line.rindex("  ")]) < 12 for line in columns} == {True}


def test_running_it_again_changes_no_file(up: Up, home: Path) -> None:
    assert up("up", "--no-models").returncode == 0
    before = tree(home)
    again = up("up", "--no-models")
    assert again.returncode == 0
    assert "Sessions   nothing new" in again.stderr
    assert tree(home) == before


def test_what_is_left_out_is_not_captured(up: Up, home: Path) -> None:
    assert "Sessions   1 read" in up("up", "--no-models", "--exclude", "shop-api").stderr
    assert b"pnpm" not in b"".join(tree(home).values())
    assert "Read no sessions" in up("up", "--no-models", "--no-capture").stderr


def test_a_session_of_one_remark_is_not_read_and_that_is_said(up: Up, tmp_path: Path) -> None:
    talk = ClaudeTalk(tmp_path / "short", "5e551011-0000-4000-8000-000000000001")
    talk.say("Always use pnpm, never npm.", "09:00:00", day="2026-03-03")
    done = up("up", "--no-models", HOME=str(tmp_path / "short"))
    assert "Sessions   nothing new (sessions with fewer than 2 messages from you are skipped)" in done.stderr
    assert "Download" not in done.stderr


def test_what_is_kept_of_projects_alone_is_named(up: Up, home: Path) -> None:
    up("up", "--no-models", "--no-capture")
    longterm = home / ".nacre" / "workspace" / "projects" / "shop" / "MEMORY.md"
    longterm.parent.mkdir(parents=True)
    longterm.write_text("# Long-Term Memory: shop\n\n## Key Decisions\n- The shop runs on port 8181\n", "utf8")
    done = up("up", "--no-models", "--no-capture")
    assert "Your agent's next session in shop starts with projects/shop/MEMORY.md: about " in done.stdout
    assert "starts with :" not in done.stdout
    search = shlex.split(next(line for line in done.stdout.splitlines() if " search " in line))
    assert "8181" in up(*search[1:]).stdout


def test_without_any_agent_it_says_so_and_points_to_the_demo(up: Up, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = up("up", "--no-models", HOME=str(empty))
    assert done.returncode == 0
    assert "MEMORY.md is empty so far" in done.stdout
    assert "nightly tidying (03:00)" in done.stdout
    assert "up --demo" in done.stdout
    assert (empty / ".nacre" / "workspace" / "MEMORY.md").exists()


def test_chinese_users_are_led_in_chinese(up: Up) -> None:
    done = up("up", "--no-models", NACRE_LANGUAGE="zh")
    assert "任何内容都不会离开本机" in done.stderr
    assert "已就绪" in done.stdout
    assert "Ready" not in done.stdout


class Terminal:
    """A user at a terminal: waits for words on the screen, then types."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.screen = ""
        self.controller, terminal = pty.openpty()
        env = surroundings(home, TERM="dumb", COLUMNS="200")
        self.process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=terminal, stdout=terminal, stderr=terminal, env=env, cwd=home
        )
        os.close(terminal)

    def see(self, words: str) -> None:
        while words not in self.screen:
            assert select.select([self.controller], [], [], 60)[0], self.screen
            try:
                part = os.read(self.controller, 65536)
            except OSError:  # the other end is closed
                part = b""
            assert part, self.screen
            self.screen += part.decode("utf8", "replace")

    def type(self, words: str) -> None:
        os.write(self.controller, words.encode())

    def end(self, *, interrupt: bool = False) -> int:
        """Read until the program ends. An interruption that comes just before it waits for a key is lost on it, as on every
        Python program: a user presses Ctrl-C again, and so do we."""
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        silent = 0
        while silent < 30:
            if not select.select([self.controller], [], [], 2)[0]:
                silent += 1
                if interrupt:
                    self.process.send_signal(signal.SIGINT)
                continue
            silent = 0
            try:
                part = os.read(self.controller, 65536)
            except OSError:
                part = b""
            if not part:
                break
            self.screen += part.decode("utf8", "replace")
        os.close(self.controller)
        if silent:
            self.process.kill()
        return self.process.wait(300)


def test_a_person_is_asked_what_to_leave_out_and_what_may_run_by_itself(home: Path) -> None:
    terminal = Terminal(home, "up", "--no-models")
    terminal.see("Exclude any?")
    assert not (home / ".nacre").exists()  # nothing is made before the answer
    terminal.type("shop-api\n")
    terminal.see("starts with this memory?")
    terminal.type("n\n")
    terminal.see("automatically?")
    terminal.type("n\n")
    terminal.see("in the background")
    terminal.type("n\n")
    terminal.see("to your PATH")
    terminal.type("\n")
    assert terminal.end() == 0
    assert (home / ".local" / "bin" / "nacre").is_symlink()
    assert "Sessions   1 read" in terminal.screen
    assert b"pnpm" not in b"".join(tree(home).values())
    assert b"Mara Olsen" in b"".join(tree(home).values())


def test_an_interruption_at_the_question_leaves_nothing_and_says_how_to_go_on(home: Path, up: Up) -> None:
    terminal = Terminal(home, "up", "--no-models")
    terminal.see("Exclude any?")
    assert terminal.end(interrupt=True) == 130
    assert 'up" to continue' in terminal.screen
    assert not (home / ".nacre").exists()
    assert "Sessions   2 read" in up("up", "--no-models").stderr


def test_a_daemon_is_started_when_it_is_wanted_and_status_shows_it(up: Up, home: Path) -> None:
    try:
        done = up("up", "--no-models", "--serve", NACRE_NOW="")
        assert done.returncode == 0, done.stderr
        assert "on_demand = true" in (home / ".config" / "nacre" / "config.toml").read_text("utf8")
        status = up("status", "--all", NACRE_NOW="").stdout
        assert "daemon\trunning since" in status
        assert "by nacre serve" in status
        assert "already running" in up("up", "--no-models", "--no-jobs", "--yes", NACRE_NOW="").stderr
        assert "daemon\tnot running" in up("status", "--all").stdout  # another moment is no business of a daemon's
    finally:
        up("serve", "--stop", NACRE_NOW="")
    assert "daemon\tnot running" in up("status", "--all", NACRE_NOW="").stdout


def test_a_no_to_jobs_holds_for_the_daemon_too(up: Up, home: Path) -> None:
    try:
        done = up("up", "--no-models", "--no-jobs", "--serve", NACRE_NOW="")
        assert done.returncode == 0, done.stderr
        assert "nothing runs automatically" in up("status", "--all", NACRE_NOW="").stdout
        assert not (home / ".config" / "nacre" / "config.toml").exists()
    finally:
        up("serve", "--stop", NACRE_NOW="")
