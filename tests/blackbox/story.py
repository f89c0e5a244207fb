"""Stories: shell sessions with what they printed, run again in real processes and compared to the letter.

    .venv/bin/python -m tests.blackbox.story            compare every story; --record writes what is printed now

A story is a text file. A line that begins with `$ ` is run by sh, with `nacre` on the PATH, in a home folder of its own; lines that begin with
`> ` go on with it; what it printed (both streams) follows, indented, and `[3]` where the exit code is not 0. Lines that begin with `# ` are comments.
What differs from run to run is written as a name: the story's folder as TMP, the environment as VENV, durations, the version.
Nothing here imports nacre: behaviour alone is compared, whatever the code beneath looks like.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

STORIES = Path(__file__).parent / "stories"
HOME = Path(__file__).parent / "home"  # transcripts of several agents, copied into the home of each story

VARYING = [
    (re.compile(r'("tookMs": ?)[\d.]+'), r"\1TIME"),
    (re.compile(r"\b\d+(\.\d+)? (ms|MB|KB|s)\b"), r"SIZE \2"),
    (re.compile(r'("version": ?|"nacre[Vv]ersion": ?|version )"?\d+\.\d+\.\d+[^",\s]*"?'), r"\1VERSION"),
    (re.compile(r"process \d+"), "process PID"),
    (re.compile(r"(VENV/bin/nacre)((?!VENV)[^…\n])*…"), r"\1…"),  # a long line is cut by its real length
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r'("next": ?)"[^"]+"'), r'\1"TIME"'),  # jobs begin some seconds late, by the name of the folder
]


def run_story(text: str) -> str:
    """The story as it reads when it is run now."""
    folder = Path(tempfile.mkdtemp(prefix="nacre-story-"))
    try:
        return _run_in(folder, text)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_in(folder: Path, text: str) -> str:
    home, bin_folder = folder / "home", folder / "bin"
    shutil.copytree(HOME, home)
    for path in home.rglob("*.jsonl"):
        os.utime(path, (1772820000, 1772820000))  # 6 March 2026: after everything that was said
    (home / "work").mkdir()
    bin_folder.mkdir()
    program = bin_folder / "nacre"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nacre "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    python = bin_folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name in {"PYTHONPATH", "LANG", "TZ", "PYTHONHASHSEED"}}
    env = kept | {
        "HOME": str(home),
        "STORIES": str(STORIES),
        "PATH": f"{bin_folder}:/usr/local/bin:/usr/bin:/bin",
        "NACRE_WORKSPACE": str(home / "ws"),
        "NACRE_TIMEZONE": "Europe/Berlin",
        "NACRE_LANGUAGE": "en",
        "NACRE_MODELS_PATH": str(folder / "no-models"),
        "NACRE_CACHE_PATH": str(folder),
        "NACRE_HOOKS_TIMEOUT_MS": "60000",  # a hook gives up after 1.5 s, which a busy machine takes to start it
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }
    lines = []
    for kind, command in _parts(text):
        lines.append(command)
        if kind == "command":
            script = "\n".join(line[2:] for line in command.splitlines())
            done = subprocess.run(
                ["sh", "-c", script],
                cwd=home / "work",
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
            output = done.stdout.decode("utf-8", "replace").replace(str(folder), "TMP").replace(sys.prefix, "VENV")
            for pattern, name in VARYING:
                output = pattern.sub(name, output)
            lines.extend(f"  {line}".rstrip() for line in output.splitlines())
            if done.returncode:
                lines.append(f"[{done.returncode}]")
    return "\n".join(lines) + "\n"


def _parts(text: str) -> list[tuple[str, str]]:
    """The commands and comments; outputs are left out."""
    parts: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            parts.append(("command", line))
        elif line.startswith("> "):
            parts[-1] = ("command", f"{parts[-1][1]}\n{line}")
        elif line.startswith("# "):
            parts.append(("comment", line))
    return parts


def main() -> None:
    record = "--record" in sys.argv
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    stories = [path for path in sorted(STORIES.glob("*.txt")) if not names or path.stem in names]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda path: run_story(path.read_text(encoding="utf-8")), stories))
    differing = 0
    for path, result in zip(stories, results, strict=True):
        differing += result != path.read_text(encoding="utf-8")
        if record:
            path.write_text(result, encoding="utf-8")
    print(f"{len(stories)} stories, {differing} differ")
    if differing and not record:
        sys.exit(1)


if __name__ == "__main__":
    main()
