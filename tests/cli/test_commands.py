from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import forked

import nacre as nacre_package
from nacre.i18n import use_language
from nacre.model import Step

Done = subprocess.CompletedProcess[str]
Nacre = Callable[..., Done]


@pytest.fixture
def nacre(tmp_path: Path) -> Nacre:
    """Runs the program in a process of its own, on a workspace of its own, without embedding models."""
    workspace = tmp_path / "ws"

    def run(*arguments: str, stdin: str | None = None, **env: str) -> Done:
        surroundings = {
            **os.environ,
            "NACRE_MODELS_PATH": str(tmp_path / "none"),
            "NACRE_WORKSPACE": str(workspace),
            **env,
        }
        return forked.run(arguments, env=surroundings, input=stdin, cwd=tmp_path)

    assert run("init").returncode == 0
    return run


def test_a_note_is_written_found_read_and_taken_back(nacre: Nacre, tmp_path: Path) -> None:
    written = nacre(
        "remember", "The", "ferry", "leaves at nine", "--type", "TEMP", "--json", "--now", "2026-02-14T14:05"
    )
    assert written.returncode == 0
    entry = json.loads(written.stdout)
    assert entry["path"] == "memory/2026-02-14.md"
    found = json.loads(nacre("search", "when does the ferry leave", "--json").stdout)
    (hit,) = found["results"]
    assert hit["snippet"] == "- [TEMP] The ferry leaves at nine"
    assert hit["citation"] == f"memory/2026-02-14.md#L{hit['startLine']}-L{hit['endLine']}"
    assert found["mode"] == "text"
    assert "nacre models install" in found["fallback"]
    assert nacre("get", f"{hit['path']}:{hit['startLine']}", "-l", "1").stdout == "- [TEMP] The ferry leaves at nine\n"
    assert "ferry" in nacre("diff").stdout
    assert nacre("undo").returncode == 0
    assert json.loads(nacre("search", "ferry", "--json").stdout)["results"] == []
    history = json.loads(nacre("history", "--json").stdout)
    assert [one["command"] for one in history][:2] == ["undo", "remember"]


def test_global_options_stand_before_or_after_the_verb(nacre: Nacre, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert nacre("init", str(other)).returncode == 0
    assert nacre("--workspace", str(other), "remember", "A note of the other one").returncode == 0
    assert nacre("search", "other note", "--workspace", str(other), "--mode", "text").stdout.startswith("memory/")
    assert nacre("search", "other note", "--mode", "text").stdout == ""


def test_results_go_to_stdout_and_notes_to_stderr(nacre: Nacre) -> None:
    nothing = nacre("search", "unicorn")
    assert nothing.returncode == 0
    assert nothing.stdout == ""
    assert "Nothing in memory" in nothing.stderr


def test_a_terminal_is_given_no_control_characters_of_a_note(nacre: Nacre, tmp_path: Path) -> None:
    note = "## 10:00 \x1b]1;note\n- Use pnpm \x1b]0;owned\x07always, never npm, in every repository\n"
    path = tmp_path / "ws" / "memory" / "2026-02-09.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(note, "utf8")
    for command in ("get memory/2026-02-09.md", "why memory/2026-02-09.md:2", "search pnpm --mode text"):
        printed = re.sub(
            r"\x1b\[[\d;]*[mK]|\r", "", at_terminal(*shlex.split(command), home=tmp_path)
        )  # our own colours
        assert "]0;owned" in printed
        assert not re.search(r"[\x00-\x08\x0b-\x1f]", printed)
    assert nacre("get", "memory/2026-02-09.md").stdout == note
    assert json.loads(nacre("get", "memory/2026-02-09.md", "--json").stdout)["text"] == note.removesuffix("\n")


def at_terminal(*arguments: str, home: Path) -> str:
    """What a command prints on a terminal."""
    control, terminal = pty.openpty()
    given = {
        "NACRE_MODELS_PATH": str(home / "none"),
        "NACRE_WORKSPACE": str(home / "ws"),
        "NACRE_NOW": "2026-02-10T12:00",
    }
    command, stdin = [sys.executable, "-m", "nacre", *arguments], subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=stdin, stdout=terminal, stderr=terminal, env={**os.environ, **given})
    os.close(terminal)
    printed = b""
    with contextlib.suppress(OSError):  # the terminal is gone with the program
        while piece := os.read(control, 65_536):
            printed += piece
    os.close(control)
    assert process.wait() == 0
    return printed.decode().replace("\r\n", "\n")


def test_every_kind_of_trouble_has_its_exit_code_and_one_sentence(nacre: Nacre, tmp_path: Path) -> None:
    secret = "sk-ant-" + "api03-" + "Zq8Kd73hfLs02mXwPv91bnTyRe45uGcJ" * 2
    cases = {
        10: nacre("status", "--workspace", str(tmp_path / "nowhere")),
        2: nacre("search", "?!"),
        13: nacre("remember", f"the key is {secret}"),
        1: nacre("get", "memory/none.md"),
    }
    for code, done in cases.items():
        assert done.returncode == code, done.stderr
        assert done.stderr.startswith("nacre: ")
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr
    assert secret not in cases[13].stderr + cases[13].stdout
    assert nacre("get", "../../etc/passwd").returncode == 2
    assert nacre("search").returncode == 2
    assert nacre("no-such-command").returncode == 2
    assert nacre("search", "x", "--now", "yesterday").returncode == 2


def test_a_change_outside_is_told_by_exit_code_12(nacre: Nacre, tmp_path: Path) -> None:
    day = tmp_path / "ws" / "memory" / "2026-02-14.md"
    nacre("remember", "The ferry leaves at nine", "--now", "2026-02-14T14:05")
    day.write_text(day.read_text("utf8").replace("ferry leaves at nine", "ferry leaves at ten"), "utf8")
    undone = nacre("undo")
    assert undone.returncode == 12
    assert "2026-02-14.md" in undone.stderr
    assert "ferry leaves at ten" in day.read_text("utf8")


def test_text_from_a_pipe_is_remembered(nacre: Nacre) -> None:
    assert nacre("remember", "-", stdin="The tide table hangs\nby the door\n").returncode == 0
    assert "tide table hangs by the door" in nacre("search", "tide table").stdout


def test_settings_are_listed_read_and_set_with_their_origin(nacre: Nacre, tmp_path: Path) -> None:
    assert nacre("config", "get", "search.max_results").stdout == "10\n"
    assert nacre("config", "set", "search.max_results", "3").returncode == 0
    assert (tmp_path / "ws" / ".nacre" / "config.toml").read_text("utf8") == "[search]\nmax_results = 3\n"
    rows = {row["key"]: row for row in json.loads(nacre("config", "--json").stdout)}
    assert (rows["search.max_results"]["value"], rows["search.max_results"]["origin"]) == (3, "workspace")
    assert nacre("config", "get", "search.max_results", NACRE_SEARCH_MAX_RESULTS="7").stdout == "7\n"
    assert nacre("config", "set", "search.max_results", "many").returncode == 2
    assert nacre("config", "set", "no.such", "1").returncode == 2
    assert nacre("config", "get", "no.such").returncode == 2
    assert nacre("config", "set", "memory.max_lines", "90").returncode == 0  # not for a workspace's own file
    assert nacre("config", "get", "memory.max_lines").stdout == "90\n"
    assert "max_lines" not in (tmp_path / "ws" / ".nacre" / "config.toml").read_text("utf8")


@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        ("tidy.time", "25:99", "02:30"),
        ("sync.times", '["10:00", "26:00"]', '["10:00", "22:00"]'),
        ("sync.lookback", "four hours", "6h"),
        ("jobs.organise", "61 * * * *", "17 * * * *"),
        ("jobs.tidy", "at night", "off"),
        ("timezone", "Mars/One", "Europe/London"),
    ],
)
def test_a_time_that_cannot_be_understood_is_refused_when_it_is_set(
    nacre: Nacre, key: str, wrong: str, right: str
) -> None:
    refused = nacre("config", "set", key, wrong)
    assert (refused.returncode, key in refused.stderr) == (2, True)
    assert nacre("config", "set", key, right).returncode == 0
    assert nacre("doctor").returncode == 0


def test_a_setting_that_came_with_a_clone_cannot_redirect_anything(nacre: Nacre, tmp_path: Path) -> None:
    (tmp_path / "ws" / ".nacre" / "config.toml").write_text(
        '[embed]\nbase_url = "http://evil.example"\nprovider = "openai"\n', "utf8"
    )
    assert nacre("config", "get", "embed.provider").stdout == "auto\n"
    assert "ignored" in nacre("doctor").stdout


def test_status_and_doctor_know_the_workspace(nacre: Nacre, tmp_path: Path) -> None:
    nacre("remember", "A fact")
    status = json.loads(nacre("status", "--deep", "--json").stdout)
    assert status["longterm"]["maxLines"] == 80
    assert status["files"]["daily"] == 1
    assert status["index"]["check"] == "ok"
    (tmp_path / "ws" / "memory" / "broken.md").write_bytes(b"\xff\xfe\xfa")
    rows = json.loads(nacre("doctor", "--json").stdout)
    assert "memory/broken.md" in {row["path"] for row in rows}
    assert nacre("doctor").returncode == 0


def test_a_dry_run_changes_nothing(nacre: Nacre, tmp_path: Path) -> None:
    nacre("remember", "A fact")
    nacre("update")

    def state() -> dict[str, bytes]:
        files = (path for path in (tmp_path / "ws").rglob("*") if path.is_file() and "index" not in path.parts)
        return {str(path): path.read_bytes() for path in files}

    before = state()
    for arguments in (
        ("remember", "Another fact", "--dry-run"),
        ("undo", "--dry-run"),
        ("init", "--dry-run"),
        ("config", "set", "language", "zh", "--dry-run"),
        ("index", "--dry-run"),
        ("update", "--dry-run"),
        ("embed", "--dry-run"),
    ):
        assert nacre(*arguments).returncode == 0, arguments
    assert state() == before


def test_chinese_users_are_spoken_to_in_chinese(nacre: Nacre) -> None:
    assert "记忆中" in nacre("search", "独角兽", NACRE_LANGUAGE="zh").stderr
    assert "记忆文件" in nacre("get", "memory/none.md", NACRE_LANGUAGE="auto", LC_ALL="zh_CN.UTF-8").stderr
    nacre("remember", "报告一律用 Typst 排版", NACRE_LANGUAGE="zh")
    assert "\t已完成\t" in nacre("history", NACRE_LANGUAGE="zh").stdout
    taken_back = nacre("undo", NACRE_LANGUAGE="zh").stdout
    assert taken_back.startswith("移除  memory/")
    assert "  - 报告一律用 Typst 排版\n" in taken_back


def test_a_workspace_found_by_walking_up_must_be_trusted_first(nacre: Nacre, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    (clone / ".nacre").mkdir(parents=True)
    (clone / "memory").mkdir()
    (clone / "memory" / "x.md").write_text("The password hint is purple rain forest.\n", "utf8")

    def inside(*arguments: str) -> Done:
        env = {name: value for name, value in os.environ.items() if name != "NACRE_WORKSPACE"}
        return forked.run(arguments, env=env, cwd=clone)

    assert inside("search", "purple rain").returncode == 10
    assert not (clone / ".nacre" / "index").exists()
    refused = forked.run(["trust"], env=dict(os.environ), cwd=tmp_path)
    assert (refused.returncode, "There is no workspace" in refused.stderr) == (10, True)
    assert inside("trust").returncode == 0
    assert "purple rain" in inside("search", "purple rain", "--mode", "text").stdout


def test_the_home_folder_that_holds_the_default_workspace_cannot_be_trusted(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path)}
    assert forked.run(["init"], env=env, cwd=tmp_path).returncode == 0
    refused = forked.run(["trust"], env=env, cwd=tmp_path)
    assert refused.returncode == 10
    assert refused.stderr == f"nacre: There is no workspace at {tmp_path}; your memory is in ~/.nacre/workspace.\n"
    assert "~/." not in forked.run(["trust", "--remove"], env=env, cwd=tmp_path).stderr
    written = forked.run(["remember", "The ferry leaves at nine"], env=env, cwd=tmp_path)
    assert written.returncode == 0
    assert not (tmp_path / "memory").exists()


def test_a_reader_that_goes_away_is_no_error(nacre: Nacre, tmp_path: Path) -> None:
    for number in range(30):
        nacre_note = tmp_path / "ws" / "memory" / f"n{number}.md"
        nacre_note.write_text(f"The heron number {number} waits.\n" * 40, "utf8")
    env = {**os.environ, "NACRE_WORKSPACE": str(tmp_path / "ws")}
    command = f'{shlex.quote(sys.executable)} -m nacre search heron -n 30 --mode text --min-score 0 | head -1; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_a_hot_command_does_not_import_what_it_does_not_need() -> None:
    code = "import sys; from nacre.cli.main import run; run(['search', '--help']); import nacre.memory; print([m for m in ('numpy', 'onnxruntime', 'rich', 'httpx2', 'tokenizers', 'ruamel', 'platformdirs', 'pydantic', 'starlette', 'jinja2', 'uvicorn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_odd_input_gets_a_sentence_and_never_a_traceback(nacre: Nacre, tmp_path: Path) -> None:
    nacre("remember", "A fact")
    cases = [
        ("get", "memory/x.md:" + "9" * 5000),
        ("get", "m" * 5000 + ".md"),
        ("search", "a fact", "--since", "2026-03-01", "--until", "2026-02-01"),
        ("--workspace", "", "status"),
        ("status", "--workspace", ""),
        ("remember", "password:\nHunter2xyz!", "--dry-run"),
        ("--scope", "group:x", "diff"),
        ("--scope", "group:x", "undo"),
        ("--scope", "group:x", "remember", "x"),
        ("--scope", "group:x", "config"),
    ]
    for arguments in cases:
        done = nacre(*arguments)
        assert done.returncode in (1, 2, 13), arguments
        assert "Traceback" not in done.stderr, arguments
        assert done.stderr.startswith("nacre: "), done.stderr
    raw = [sys.executable.encode(), b"-m", b"nacre", b"search", b"\xff\xfe"]
    odd = subprocess.run(raw, capture_output=True, check=False, cwd=tmp_path)
    assert odd.returncode == 2
    assert b"Traceback" not in odd.stderr


def test_settings_set_at_the_same_time_are_all_kept(nacre: Nacre, tmp_path: Path) -> None:
    values = {
        "search.max_results": "5",
        "search.snippet_chars": "400",
        "search.mmr_lambda": "0.5",
        "search.half_life_days": "10",
        "index.chunk_tokens": "300",
        "index.chunk_overlap": "60",
    }
    env = {**os.environ, "NACRE_WORKSPACE": str(tmp_path / "ws")}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "nacre", "config", "set", key, value], env=env, stderr=subprocess.DEVNULL
        )
        for key, value in values.items()
    ]
    assert [one.wait() for one in running] == [0] * len(values)
    rows = {row["key"]: row for row in json.loads(nacre("config", "--json").stdout)}
    assert {key: rows[key]["origin"] for key in values} == dict.fromkeys(values, "workspace")


def test_a_line_that_only_looks_like_a_setting_is_left_alone(nacre: Nacre, tmp_path: Path) -> None:
    path = tmp_path / "ws" / ".nacre" / "config.toml"
    path.write_text('note = """\n[search]\nmax_results = 1\n"""\n', "utf8")
    assert nacre("config", "set", "search.max_results", "4").returncode == 0
    assert path.read_text("utf8") == 'note = """\n[search]\nmax_results = 1\n"""\n\n[search]\nmax_results = 4\n'
    path.write_text("[search]\r\nmax_results = 1  # few\r\n", "utf8", newline="")
    assert nacre("config", "set", "search.max_results", "4").returncode == 0
    assert path.read_bytes() == b"[search]\r\nmax_results = 4  # few\r\n"


def test_a_note_names_its_project_or_holds_everywhere(nacre: Nacre, tmp_path: Path) -> None:
    def project(*options: str) -> str | None:
        told = json.loads(nacre("remember", f"Noted with {options}", "--json", *options).stdout)["project"]
        assert told is None or isinstance(told, str)
        return told

    assert [project(), project("--project")] == [tmp_path.name] * 2
    assert project("--project", "Shop API") == "shop-api"
    assert project("--global") is None
    assert nacre("remember", "Both", "--global", "--project", "shop").returncode == 2
    assert "(project shop)" in nacre("remember", "Told to people", "--project", "shop").stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("diff", "abc"), "'[NUMBER]' 的值无效：'abc' 不是整数。"),
        (("undo", "--last", "0"), "'--last' 的值无效：0 不在范围 x>=1 内。"),
        (("search", "x", "--layer", "长期"), "'--layer' 的值无效：'长期' 不在可选值之列：'longterm'"),
        (("wal", "任务"), "没有命令“任务”。"),
        (("status", "x"), "多余的参数：x。"),
        (("search", "x", "--since"), "选项 --since 后面缺少值。"),
        (("status", "--json=1"), "选项 --json 不带值。"),
        (("review", "--edit", "x"), "选项 --edit 后面缺少值。"),
    ],
)
def test_wrong_usage_is_told_in_chinese(nacre: Nacre, arguments: tuple[str, ...], said: str) -> None:
    done = nacre(*arguments, NACRE_LANGUAGE="zh")
    assert done.returncode == 2
    assert f"错误：{said}" in done.stderr


def test_what_a_step_does_is_told_in_chinese() -> None:
    source = Path(nacre_package.__file__).parent
    actions = {
        action
        for file in source.rglob("*.py")
        for action in re.findall(r'\b[Ss]tep\(\s*"([a-z ]+)"', file.read_text("utf8"))
    }
    assert {"refuse", "keep", "move back"} <= actions
    use_language("zh")
    assert not {action for action in actions if Step(action, "", "").word.isascii()}
