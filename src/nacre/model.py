"""The values that all packages share: what a command reports, an entry of memory, a session, a workspace. None reads a clock."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nacre.errors import BadInput, PathEscape
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.clock import Clock
    from nacre.config.settings import Config

# What an operation would do or has done: steps with reasons, problems, counts.


def fields(value: object, names: str, **computed: Any) -> dict[str, Any]:
    """The named attributes of a value by their names in JSON (start_line is startLine), in this order; what is computed takes the
    place of the attribute of that name, or comes last."""

    def camel(name: str) -> str:
        first, *rest = name.split("_")
        return first + "".join(map(str.capitalize, rest))

    keys = {camel(name): name for name in names.split()}
    return {key: computed[key] if key in computed else getattr(value, keys[key]) for key in [*keys, *computed]}


@dataclass(frozen=True)
class Problem:
    """What is wrong, where, and what to do about it."""

    kind: str
    message: str
    path: str = ""
    line: int | None = None
    remedy: str = ""
    severity: str = "warning"  # "error" when Nacre cannot do its work because of it
    id: str = ""  # of the entry that it is about

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path

    def as_plain(self) -> dict[str, object]:
        """As status and doctor give it to programs."""
        return fields(self, "kind message path line remedy severity")


def problem(
    kind: str,
    english: str,
    chinese: str,
    path: str = "",
    line: int | None = None,
    *,
    remedy: str | tuple[str, str] = "",
    severity: str = "warning",
) -> Problem:
    """A problem in the user's language; a remedy that is a command is the same in both."""
    return Problem(
        kind, say(english, chinese), path, line, remedy if isinstance(remedy, str) else say(*remedy), severity
    )


@dataclass(frozen=True)
class Step:
    action: str
    path: str
    reason: str
    detail: str = ""

    @property
    def word(self) -> str:
        """What the step does, in the user's language."""
        return say(_ENGLISH.get(self.action, self.action), _CHINESE.get(self.action, self.action))


_ENGLISH = {"bring back": "recreate", "cut": "truncate", "rise": "move up"}  # of all others the action itself
_CHINESE = dict(
    re.findall(
        r"([a-z ]+) ([^|\s]+)",
        """add 新增|adopt 采纳|append 追加|ask 询问|bring back 重建|capture 采集|change 修改|close 关闭|compress 压缩|create 新建|cut 截断|delete 删除|demote 移出|drop 略过
edit 修改|expire 到期|forget 遗忘|keep 保留|log 记入日志|merge 合并|move 移动|move back 移回|pin 固定|propose 建议|refuse 拒绝|remove 移除|replace 取代|restore 恢复
rise 回升|say once 不重复|set 设置|skip 跳过|summarise 摘要|supersede 取代|withdraw 撤回""",
    )
)


@dataclass(frozen=True)
class Plan:
    steps: tuple[Step, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)


class Note(str):
    """A line among those of a report that is not the result: it goes to stderr."""

    __slots__ = ()


@dataclass(frozen=True)
class Report:
    """What a command did or would do: for programs the facts, for people everything else, in this order."""

    facts: Any = ...  # none where only people are told something
    problems: Sequence[Problem] = ()
    heading: Sequence[str] = ()  # sentences before the result
    columns: Sequence[str] = ()  # headings of its table, for terminals
    lines: Sequence[str | Sequence[str]] = ()  # the result: lines, and rows of a table
    notes: Sequence[str] = ()  # sentences after it
    left: Sequence[Problem] = ()  # what was not done: the command ends with exit code 3
    code: int = 0  # of the exit


# What is remembered: an entry of a log or of MEMORY.md, what the four-way test says of a statement, what a search returns.


LONGEST = {"en": 240, "zh": 110}  # characters of an entry in long-term memory, which has 5 KB for everything
TYPES = ("PREF", "PROJ", "TECH", "LESSON", "PEOPLE", "TEMP")
EVERYWHERE = "*"  # in place of a project: it holds in all of them


@dataclass(frozen=True)
class Entry:
    """A line of memory and where it stands. `already` says that it was there before."""

    text: str
    path: str
    line: int
    type: str | None = None
    already: bool = False
    project: str = ""  # that its section is stamped with


@dataclass(frozen=True, slots=True)
class Bullet:
    """What was worth a line: the words, the kind of memory, and the entries of the transcript that it rests on."""

    text: str
    type: str | None = None
    sources: tuple[str, ...] = ()
    by_agent: bool = False  # the agent's word alone: it never becomes a rule, a preference or a decision

    @property
    def line(self) -> str:
        return f"[{self.type}] {self.text}" if self.type else self.text


KEEP, ASK, REFUSE = "keep", "ask", "refuse"


@dataclass(frozen=True)
class Verdict:
    """Keep, ask or refuse; where it is not kept, the tests that it failed, the worst first. `scores` are the odds of passing each."""

    decision: str
    failed: tuple[str, ...]
    without_it: str | None
    scores: Mapping[str, float] = field(default_factory=dict)
    worth: float = 0.0  # the odds that it should be kept, everything taken together

    @property
    def admitted(self) -> bool:
        return self.decision == KEEP


class Relation(NamedTuple):
    """How a new statement stands to a remembered one: same, replaces, adds, exception or ask; and how sure that is."""

    label: str
    confidence: float


LAYERS = ("longterm", "daily", "weekly", "archive", "note", "hot", "warm", "gist", "forgotten", "extra", "session")


def citation(path: str, first: int, last: int) -> str:
    return f"{path}#L{first}-L{last}"


@dataclass(frozen=True)
class Hit:
    """A passage with its exact lines (both counted from 1, both included) and how it was found."""

    id: str
    path: str
    start_line: int
    end_line: int
    score: float
    snippet: str
    heading: str
    layer: str
    date: str | None
    project: str | None = None
    weak: bool = False  # it hardly answers
    superseded: bool = False  # a newer statement takes its place
    also: tuple[str, ...] = ()  # where else the same is said, as citations
    text_score: float = 0.0
    vector_score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The corpus: "memory", or "sessions" for what stands in a transcript."""
        return "sessions" if self.layer == "session" else "memory"

    @property
    def citation(self) -> str:
        return citation(self.path, self.start_line, self.end_line)

    @property
    def places(self) -> list[tuple[str, int, int]]:
        """Where this is said, itself first: path, first and last line."""
        places = [(self.path, self.start_line, self.end_line)]
        for place in self.also:
            path, _, lines = place.rpartition("#L")
            first, _, last = lines.partition("-L")
            places.append((path, int(first), int(last)))
        return places

    def as_plain(self) -> dict[str, Any]:
        """By the names that agents know; how the score was come by is left out."""
        names = "id path start_line end_line heading score vector_score text_score snippet source layer date citation weak superseded"
        project = {"project": self.project} if self.project else {}
        return fields(self, names, also=list(self.also), provenance=dict(self.provenance), **project)


@dataclass(frozen=True)
class SearchReport:
    """The hits of one question and how they were come by."""

    hits: tuple[Hit, ...]
    mode: str
    model: str | None
    provider: str | None
    fallback: str | None = None  # why vectors took no part, when they were asked for
    abstained: bool = False
    stale: bool = False  # part of the index is still being made
    took_ms: float = 0.0

    def as_plain(self) -> dict[str, Any]:
        """By the names that agents know."""
        return fields(
            self,
            "results mode model provider fallback abstained disabled stale",
            results=[hit.as_plain() for hit in self.hits],
            disabled=False,
            tookMs=round(self.took_ms, 2),
        )


# A session between a person and an agent, as a transcript tells it: whose words, when, in which order.


# How every order to the user's own model begins: the session that it leaves behind is nobody's.
ORDER_MARK = "nacre-order v1"


class Speaker(StrEnum):
    """Whose words they are. Only the owner's become preferences and decisions; tools and pages never speak here."""

    OWNER = "owner"
    AGENT = "agent"
    OTHER = "other"  # somebody else in a group


class Kind(StrEnum):
    """What kind of session it is. Isolated ones (cron, hooks, sub-agents, internal runs) are nobody's."""

    MAIN = "main"
    GROUP = "group"
    ISOLATED = "isolated"


@dataclass(frozen=True, slots=True)
class Message:
    """What one speaker said at one moment, without what the agent's program put around it."""

    id: str  # of its entry in the transcript; told apart from all others of the session
    at: dt.datetime  # aware
    speaker: Speaker
    text: str
    name: str = ""  # how a group calls the speaker; never an id or a phone number


@dataclass(frozen=True, slots=True)
class Session:
    """One session, or the part of it that was not read before."""

    id: str
    agent: str
    kind: Kind
    messages: tuple[Message, ...]
    cwd: str = ""
    group: str = ""  # what a group chat is called
    chat: str = ""  # a sign of that chat, made of its id, where that is known


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A transcript: when it last changed, and whether its agent said that it is over; `now` where it says so just now."""

    key: str
    changed: dt.datetime
    ended: bool = False
    now: bool = False


# A workspace: where each of its files lies, what a storage of them does, and one that was opened.


DAY_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-([^/]+))?\.md")
_SLUG = re.compile(r"[^\w-]+")
LINKED = ""  # in the place of a folder to watch: only another walk can tell what changed


class Stored(NamedTuple):
    """What stands under a name. Two equal ones mean that nothing was written in between."""

    name: str
    size: int
    modified: int  # nanoseconds since 1970
    changed: int = 0
    inode: int = 0
    is_plain: bool = True  # an ordinary file, or a link to one of the same workspace
    is_link: bool = False


class Storage(Protocol):
    """Memory as named byte strings, and the record of what was done to them.

    A name is a path as users see it: relative to the workspace, with "/"; in full for layers that lie elsewhere. `vault/storage.py`
    keeps the strings as files, `tests/storage.py` in a dictionary."""

    def walk(
        self, folder: str, endings: tuple[str, ...] = ("",), watched: set[str] | None = None, depth: int = 99
    ) -> Iterator[Stored]:
        """What stands below a folder, so many folders deep, in any order; what is hidden is left out. `watched` is given every
        place on the disk whose change could change that, and `LINKED` where only another walk can tell."""

    def about(self, name: str) -> Stored | None:
        """What stands there, also a folder or what cannot be read; None when there is nothing."""

    def real(self, name: str) -> str:
        """The name that it really goes by, where a link leads elsewhere."""

    def read(self, name: str, most: int = -1) -> bytes | None:
        """The bytes, or the first so many; None when there are none."""

    def end(self, name: str, size: int) -> bytes:
        """The last bytes, at most so many; none where nothing can be read."""

    def append(self, name: str, data: bytes, *, durable: bool = True) -> int:
        """Add whole lines in one write; returns where they begin."""

    def replace(self, name: str, data: bytes, before: bytes | None) -> bool:
        """Put new bytes in the place of `before` (None: of nothing); False when something else stands there. To a daily log
        others may have appended since: that stays at its end."""

    def remove(self, name: str, before: bytes) -> bool:
        """The same for taking it away."""

    def move(self, name: str, to: str) -> None:
        """Give it another name. The caller has seen that nothing stands there."""

    def hold(self, timeout: float = ...) -> AbstractContextManager[None]:
        """One writer at a time; `Locked` when another one does not come to an end."""

    def together(self) -> AbstractContextManager[None]:
        """Many changes, which need to last only when all are made."""

    def keep(self, data: bytes) -> None:
        """Keep a content under its hash, so that a change can be shown and taken back."""

    def content(self, digest: str) -> bytes:
        """A content that was kept; `NotFound` when it is gone."""

    def record(self, row: dict[str, Any], *, durable: bool = True) -> None:
        """Add a row to the record of operations."""

    def records(self) -> Iterator[dict[str, Any]]:
        """The rows, the last first; broken ones are skipped. Reads no more of them than is asked for."""


class Workspace:
    """The folders and files of one memory. Knows names, touches nothing; without a `storage` it lies on the disk."""

    def __init__(self, root: Path, storage: Storage | None = None) -> None:
        self.root = root
        self.storage = storage
        self.longterm = root / "MEMORY.md"
        self.state = root / "SESSION-STATE.md"
        self.projects = root / "projects"
        self.memory = memory = root / "memory"
        self.weekly = memory / "weekly"
        self.archive = memory / "archive"
        self.ledger = memory / "ledger.jsonl"
        self.recalls = memory / "recalls.jsonl"
        self.trail = memory / "trail.jsonl"
        self.review = memory / "review.md"
        self.machine = machine = root / ".nacre"  # everything of ours that is not memory
        self.settings = machine / "config.toml"
        self.index = machine / "index"
        self.history = machine / "history"
        self.lock = machine / "lock"
        self.cursors = machine / "cursors.json"
        self.pauses = machine / "pauses.json"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workspace) and self.root == other.root

    def __hash__(self) -> int:
        return hash(self.root)

    def day(self, date: dt.date) -> Path:
        return self.memory / f"{date.isoformat()}.md"

    def project(self, slug: str) -> Path:
        return self.projects / slug_of(slug) / "MEMORY.md"

    def tiers(self, setting: str | None) -> Path:
        """The layers. Where they lie outside, in full: one name by which everybody finds them, and every file in them."""
        given = Path(setting or "memory_fs").expanduser()
        if given.is_absolute() or ".." not in given.parts:
            return self.root / given
        root = os.path.realpath(self.root)  # what lies above a link is not what lies above the folder it leads to
        full = Path(os.path.normpath(os.path.join(root, given)))
        return self.root / full.relative_to(root) if Path(root) in full.parents else full

    def refcount(self, setting: str | None) -> Path:
        """How often each checkpoint was recalled: in the workspace, or beside layers that lie elsewhere."""
        layers = Path(os.path.normpath(self.tiers(setting)))
        return (self.root if self.root in layers.parents else layers.parent) / "refcount.json"

    def relative(self, path: Path) -> str:
        """The path as users see it: relative to the workspace, with "/"; an outside one in full."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.as_posix()

    def inside(self, relative: str) -> Path:
        """The file that a relative path names, or an error when it leads out of the workspace, also through a link."""
        if "\0" in relative:
            raise _escape(relative.replace("\0", "\\0"))
        path = Path(os.path.normpath(self.root / relative))
        # Unlike resolve, realpath raises nothing for a loop.
        real, inside = Path(os.path.realpath(path)), Path(os.path.realpath(self.root))
        for candidate, root in ((path, self.root), (real, inside)):
            if candidate != root and root not in candidate.parents:
                raise _escape(relative)
        return path


def _escape(relative: str) -> PathEscape:
    return PathEscape(
        f"{relative} is outside the workspace; choose a file inside it.",
        f"{relative} 在工作区之外；请指定工作区内的文件。",
    )


def slug_of(name: str) -> str:
    """A folder name for a project: its own letters and digits, in any script, joined by "-"."""
    slug = _SLUG.sub("-", name.strip().lower()).strip("-_")
    if slug or not name.strip():
        return slug[:80] or "unnamed"
    import hashlib  # four milliseconds that hardly any name costs

    return f"unnamed-{hashlib.blake2b(name.encode(), digest_size=3).hexdigest()}"  # names of signs alone are names too


class Scope(NamedTuple):
    """Who listens: the owner alone, or a group, for which only its own sections and public files exist."""

    group: str | None = None

    @property
    def name(self) -> str:
        """As `parse` reads it."""
        return "main" if self.group is None else f"group:{self.group}"

    @classmethod
    def parse(cls, text: str) -> Scope:
        if text == "main":
            return cls()
        kind, _, name = text.partition(":")
        if kind == "group" and name.strip():
            return cls(name.strip())
        raise BadInput(
            f'"{text}" is not a scope; use main or group:NAME.', f"“{text}”不是有效范围；请用 main 或 group:名称。"
        )


@dataclass(frozen=True)
class Context:
    """An opened workspace: passed on whole instead of in parts."""

    workspace: Workspace
    config: Config
    clock: Clock
    scope: Scope = field(default_factory=Scope)
