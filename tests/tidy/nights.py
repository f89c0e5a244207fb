"""A workspace over several nights: what was said by day, and what tidying made of it. Without embedding models, so that every
machine judges alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nacre.memory import Memory
from nacre.tidy.answers import Answer
from nacre.tidy.collect import TidyContext
from nacre.tidy.run import TidyReport
from nacre.vault.entries import entry_id
from nacre.vault.review import Question
from nacre.vault.undo import undo

TODAY = "2026-03-20"
RULE = "Use pnpm, never npm, in every repository"
SAFETY = "Never store passwords in plain text"
BACKUP = "Back up the database before every migration, otherwise data is lost"
JEST = "Unit tests are written with Jest in every project"
VITEST = "We moved from Jest to Vitest: unit tests are written with Vitest in every project, no longer with Jest"
CONTACT = "Maria Lopez leads the billing team and signs every invoice"
CHINESE_RULE = "以后所有报告一律用 Typst 排版，不要用 LaTeX"
CHINESE_SAFETY = "每次上线之前必须先备份数据库"
VUE = "前端统一用 Vue 开发"
REACT = "前端从 Vue 换成 React 了，以后统一用 React 开发，不再用 Vue"
ERRAND = "Fixed the typo on line 12 of this page today"
CHINESE_ERRAND = "刚刚把这个页面的错别字改好了"
HEAD = "# Long-Term Memory\n\n"


class Nights:
    """One user's workspace."""

    def __init__(self, root: Path) -> None:
        self.root = root
        Memory.init(root, now=f"{TODAY}T02:00:00+00:00").close()

    # What is there before

    def lay(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def log(self, day: str, *bullets: str, session: str | None = "61871d67", stamp: str = "") -> None:
        """A section of a day's log; without a session it is a note."""
        path = self.root / "memory" / f"{day}.md"
        heading = f"## 14:05 session:{session} | 12 messages{stamp}" if session else "## 14:05 note"
        before = path.read_text("utf8") if path.exists() else f"# {day}\n"
        path.write_text(before + "\n" + heading + "\n" + "".join(f"- {one}\n" for one in bullets), "utf8")

    def entries(self, *words: str, file: str = "MEMORY.md", section: str = "Key Decisions", **about: Any) -> None:
        """Entries of ours, as an earlier night left them: in the file and in the ledger."""
        self.lay(file, HEAD + f"## {section}\n" + "".join(f"- {one}\n" for one in words))
        more = {} if file == "MEMORY.md" else {"file": file}
        for one in words:
            self.tell(
                one, "admitted", **({"section": section, "confidence": 0.8, "valid_from": "2026-02-01"} | more | about)
            )

    def tell(self, words: str, verdict: str, **about: Any) -> None:
        """A line of the ledger."""
        line = {"id": entry_id(words), "at": "2026-02-01T03:00:00+00:00", "verdict": verdict, "text": words} | about
        path = self.root / "memory" / "ledger.jsonl"
        with path.open("a", encoding="utf8") as file:
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")

    # A night

    def memory(self, day: str = TODAY, time: str = "03:00:00") -> Memory:
        return Memory.open(self.root, now=f"{day}T{time}+00:00")

    def room(self, day: str = TODAY, time: str = "03:00:00") -> TidyContext:
        return self.memory(day, time)._tidying()

    def tidy(self, day: str = TODAY, time: str = "03:00:00", *, dry_run: bool = False) -> TidyReport:
        with self.memory(day, time) as memory:
            return memory.tidy(dry_run=dry_run)

    def answer(self, verb: str, words: str, other: str | None = None, day: str = TODAY) -> None:
        """The user's word on the question about a text."""
        with self.memory(day, "09:00:00") as memory:
            (item,) = [one for one in memory.questions() if one.text == words]
            memory.answer([Answer(item.id, verb, other)])

    def undo(self, day: str = TODAY) -> None:
        memory = self.memory(day)
        undo(memory.opened)

    # What there is after

    def text(self, name: str = "MEMORY.md") -> str:
        return (self.root / name).read_bytes().decode()

    def kept(self, name: str = "MEMORY.md") -> list[str]:
        """The entries of a MEMORY.md."""
        path = self.root / name
        return (
            [line[2:] for line in path.read_text("utf8").splitlines() if line.startswith("- ")] if path.exists() else []
        )

    def ledger(self, words: str | None = None) -> list[dict[str, Any]]:
        """The lines of the ledger, of one text or all."""
        path = self.root / "memory" / "ledger.jsonl"
        told = [json.loads(line) for line in path.read_text("utf8").splitlines()] if path.exists() else []
        return [one for one in told if words is None or one["id"] == entry_id(words)]

    def verdicts(self, words: str) -> list[str]:
        return [one["verdict"] for one in self.ledger(words)]

    def questions(self) -> dict[str, Question]:
        return {one.text: one for one in self.memory().questions()}

    def files(self) -> dict[str, bytes]:
        """Every file of the user's, without the trail's lines on entries that an undo took out."""
        found = {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".nacre" not in path.relative_to(self.root).parts
        }
        lines = found.pop("memory/trail.jsonl", b"").splitlines(keepends=True)
        trail = b"".join(line for line in lines if b'"undone:' not in line)
        return found | ({"memory/trail.jsonl": trail} if trail else {})


def actions(report: TidyReport, phase: str = "distil") -> list[tuple[str, str]]:
    """What a night did, as action and text."""
    return [(step.action, step.detail) for which, step in report.steps if which == phase]


def filler(count: int, size: int = 24) -> list[str]:
    """So many entries that share no word with anything."""
    letters = "bcdfghjklmnpqrstvwxz"
    names = [f"{one}a{two}o{three}u" for one in letters for two in letters for three in letters]
    each = max(1, size // 7)
    lines = (" ".join(names[place * each + word] for word in range(each)) for place in range(count))
    return [
        line.capitalize().replace(" ", ",", 1) for line in lines
    ]  # twelve words in a row would look like a recovery phrase
