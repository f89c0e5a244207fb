"""Runs a short session with the real command and draws it as a terminal window, light and dark, in both languages: docs/img/terminal-*.svg."""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

from rich.cells import cell_len
from rich.color import ColorType
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

HERE = Path(__file__).resolve().parent
NACRE = Path(sys.executable).with_name("nacre")
MODELS = Path(os.environ.get("NACRE_MODELS_PATH") or Path.home() / ".cache" / "nacre" / "models")
COLUMNS = 84
CELL, LINE, SIZE, WIDE, EDGE, BAR = 8.43, 20, 14, 15.5, 18, 34
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC','PingFang SC','Microsoft YaHei',monospace"

# What happened before the picture begins, what it shows, and how many lines of each answer.
BEFORE = {
    "en": [
        ("2026-11-12T09:30", 'remember "Use pnpm, never npm, in every repository" --type PREF'),
        ("2026-11-12T09:40", 'remember "Invoices go out on the 25th; Mara checks them first"'),
        ("2026-11-13T03:00", "tidy"),
    ],
    "zh": [
        ("2026-11-12T09:30", 'remember "所有仓库一律用 pnpm，不用 npm" --type PREF'),
        ("2026-11-12T09:40", 'remember "每月 25 号开发票，先由小王核对"'),
        ("2026-11-13T03:00", "tidy"),
    ],
}
SHOWN = {
    "en": [
        ("2026-11-16T10:00", 'remember "We moved from pnpm to Bun in every repository"', 2),
        ("2026-11-17T03:00", "tidy --verbose", 4),
        ("2026-11-17T09:00", 'search "which package manager do we use?" -n 2', 8),
        ("2026-11-17T09:01", "why MEMORY.md:8", 4),
        ("2026-11-17T09:02", 'remember "The staging password is tulip-Harbour-42"', 2),
    ],
    "zh": [
        ("2026-11-16T10:00", 'remember "所有仓库从 pnpm 换成 Bun 了"', 2),
        ("2026-11-17T03:00", "tidy --verbose", 4),
        ("2026-11-17T09:00", 'search "发票由谁核对？" -n 1', 4),
        ("2026-11-17T09:01", "why MEMORY.md:8", 4),
        ("2026-11-17T09:02", 'remember "测试库密码是 tulip-Harbour-42"', 2),
    ],
}

# Background, bar, border, text, dim text, then the sixteen colours of a terminal.
THEMES = {
    "light": (
        ("#ffffff", "#f3f4f6", "#d8dce2", "#1f2430", "#6b7280"),
        """#1f2430 #b3261e #18794e #8a5a00 #1f5fbf #8e3a9d #0b7285 #4b5563
        #6b7280 #c9302c #1f8a5b #a06a00 #2b6fd6 #a047b0 #0e8296 #1f2430""",
    ),
    "dark": (
        ("#14171f", "#1c202b", "#2b3140", "#dfe3ea", "#8b93a3"),
        """#5c6370 #ff7b72 #7ee2a8 #e8c16c #79b8ff #d2a8ff #76d9e6 #c9d1d9
        #8b93a3 #ff938b #96eab9 #f2d48b #97c8ff #e0c2ff #95e6f0 #ffffff""",
    ),
}


def session(language: str) -> list[Text]:
    """What a person would see: each command behind a prompt, and the first lines of its answer."""
    lines: list[Text] = []
    with tempfile.TemporaryDirectory() as home:
        run(home, language, "2026-11-12T09:00", "init")
        for moment, command in BEFORE[language]:
            run(home, language, moment, command)
        for moment, command, most in SHOWN[language]:
            answer = Text.from_ansi(run(home, language, moment, command)).split()
            lines += [Text.assemble(("$ ", "dim"), (f"nacre {command}", "bold")), *answer[:most], Text()]
    return lines[:-1]


def run(home: str, language: str, moment: str, command: str) -> str:
    """The output of one command, run in a pseudo-terminal so that it is what a person gets, colours included."""
    kept = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    named = {"LANGUAGE": language, "NOW": moment, "TIMEZONE": "UTC", "MODELS_PATH": str(MODELS), "NO_DAEMON": "1"}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [NACRE, *shlex.split(command)],
        cwd=home,
        env=kept | {"LANG": "C.UTF-8"} | {f"NACRE_{name}": value for name, value in named.items()},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    printed = b"".join(_until_closed(ours))
    os.close(ours)
    process.wait()
    return re.sub(r"[^\n]*\r(?!\n)", "", printed.decode().replace("\r\n", "\n")).rstrip("\n")


def _until_closed(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError:  # Linux reports the end of a terminal so
            return
        if not read:
            return
        yield read


def window(lines: list[Text], theme: str) -> str:
    """The lines as an SVG picture of a terminal window; long ones are wrapped."""
    (back, bar, border, plain, dim), table = THEMES[theme]
    colours = table.split()
    console = Console(width=COLUMNS, color_system="truecolor", force_terminal=True)
    rows = [row for line in lines for row in console.render_lines(line, pad=False)]
    width, height = round(COLUMNS * CELL + 2 * EDGE), BAR + len(rows) * LINE + EDGE
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="9" fill="{back}" stroke="{border}"/>',
        f'<path d="M.5 26.5v-17a9 9 0 0 1 9-9h{width - 19}a9 9 0 0 1 9 9v17z" fill="{bar}" stroke="{border}"/>',
        *(f'<circle cx="{18 + 16 * place}" cy="13.5" r="4.5" fill="{border}"/>' for place in range(3)),
        f'<g font-family="{FONT}" font-size="{SIZE}" xml:space="preserve">',
    ]
    for number, row in enumerate(rows):
        left = 0
        for piece, style in _runs(row):
            left += len(piece) - len(piece.lstrip(" "))
            text = piece.strip(" ")
            cells = cell_len(text)
            if text:
                fill = dim if style.dim else _colour(style, colours) or plain
                weight = ' font-weight="600"' if style.bold else ""
                size = f' font-size="{WIDE}"' if cells > len(text) else ""
                drawn.append(
                    f'<text x="{EDGE + left * CELL:.1f}" y="{BAR + (number + 1) * LINE - 5}" fill="{fill}"{weight}{size} '
                    f'textLength="{cells * CELL:.1f}" lengthAdjust="spacing">{escape(text)}</text>'
                )
            left += cell_len(piece.lstrip(" "))
    return "\n".join([*drawn, "</g>", "</svg>", ""])


def _runs(row: list[Segment]) -> Iterator[tuple[str, Style]]:
    """Pieces of one style and one width of letters, so that Chinese and Latin letters both stay on the grid."""
    for segment in row:
        for piece in re.findall(r"[\u1100-\uffff]+|[^\u1100-\uffff]+", segment.text.replace("\n", "")):
            yield piece, segment.style or Style.null()


def _colour(style: Style, colours: list[str]) -> str | None:
    colour = style.color
    if colour is None or colour.is_default:
        return None
    if colour.type is ColorType.STANDARD and colour.number is not None:
        return colours[colour.number]
    return colour.get_truecolor().hex


def main() -> None:
    for language in SHOWN:
        lines = session(language)
        for theme in THEMES:
            (HERE / "img" / f"terminal-{language}-{theme}.svg").write_text(window(lines, theme), encoding="utf-8")


if __name__ == "__main__":
    main()
