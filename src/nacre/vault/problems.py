"""Problems in the files of a workspace, as rows for `doctor`: never raises for what users' files may hold."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import shlex
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from nacre import guard
from nacre.config.settings import Config
from nacre.errors import NacreError
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.text.blocks import unclosed_fences
from nacre.vault import disk, jsonl, ledger, refcount, writing
from nacre.vault.discover import check_own_files
from nacre.vault.disk import read_bytes, real
from nacre.vault.files import LARGEST, TIERS, largest, layer_of
from nacre.vault.history import operations_file
from nacre.vault.lock import lock_problem

_WORTH = 5_000  # files of which one more that had to be read is not worth writing all of them down
_RACY = 2_000_000_000  # nanoseconds in which a file may change once more without showing another time


class SeenFiles:
    """What is known of the files from the last look, and what this one adds."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = workspace.index / "looked.json"
        self._known = self._read()
        self._in_order: dict[str, list[int]] = {}
        self._added = 0
        self._now = time.time_ns()

    def is_in_order(self, path: str, about: os.stat_result) -> bool:
        """Whether a file is what it was when nothing was wrong with it."""
        signature = _signature(about)
        if self._known.get(path) != signature:
            return False
        self._in_order[path] = signature
        return True

    def note(self, path: str, about: os.stat_result) -> None:
        """Nothing is wrong with a file. One that was written just now may change again unseen, and is read again."""
        if self._now - max(about.st_mtime_ns, about.st_ctime_ns) > _RACY:
            self._in_order[path] = _signature(about)
            self._added += 1

    def keep(self) -> None:
        """Write it down beside the index, if it is worth it; where that cannot be, the next look reads again."""
        if self._added <= len(self._in_order) // _WORTH or not self._workspace.index.is_dir():
            return
        told = {"rules": _rules(), "files": self._in_order}
        with contextlib.suppress(NacreError):
            check_own_files(self._workspace)
            disk.write(self._path, json.dumps(told).encode("ascii"))

    def _read(self) -> dict[str, list[int]]:
        try:
            told = json.loads(disk.read_bytes(self._path) or b"{}")
        except (NacreError, ValueError, RecursionError):
            return {}
        if not isinstance(told, dict) or told.get("rules") != _rules():  # others may find other things
            return {}
        files = told.get("files")
        return files if isinstance(files, dict) else {}


def _signature(about: os.stat_result) -> list[int]:
    return [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]


def _rules() -> list[str]:
    """What files are looked through by: the rules of this very installation."""
    found: list[str] = []
    for folder in (*guard.__path__, os.path.dirname(__file__)):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            rules = [entry.stat() for entry in entries if entry.name.endswith(".py")]
            found.append(f"{len(rules)} {sum(one.st_size for one in rules)} {max(one.st_mtime_ns for one in rules)}")
    return found


# What stops a part of Nacre without a word: counts that cannot be read, working memory that is no longer written,
# lost history.

_OPERATIONS = 20  # the last ones, which are those that anybody undoes
_CONTENTS = 200
_LOADED = 100_000  # bytes, below which the rules of working memory need not be loaded to see that it is small enough
_NEEDED = ("rewrite", "delete")  # the kinds of change that are undone by what was there before


def count_problems(workspace: Workspace, config: Config) -> list[Problem]:
    """Counts that cannot be understood: nobody writes over them, so that the layers stay as they are."""
    from nacre.vault import refcount

    path = workspace.refcount(config.tiers.path)
    try:
        refcount.read_counts(workspace, config)
    except NacreError as trouble:
        reason = str(trouble)
    else:
        return []
    return [
        Problem(
            "counts unreadable",
            say(f"The layers are not organised: {reason}", f"各层无法整理：{reason}"),
            workspace.relative(path),
            remedy=f"mv {shlex.quote(str(path))} {shlex.quote(str(path) + '.broken')}",
            severity="error",
        )
    ]


def state_problems(workspace: Workspace) -> Iterator[Problem]:
    """Working memory that "nacre wal" refuses to write."""
    path = workspace.state
    shown = workspace.relative(path)
    if path.is_symlink():
        yield Problem(
            "working memory is a link",
            say(
                f'{shown} is a link; "nacre wal" writes only to the file itself.',
                f"{shown} 是链接；“nacre wal”只写入真正的文件。",
            ),
            shown,
            remedy=say("put the file itself in the place of the link", "请用真正的文件替换该链接"),
        )
        return
    try:
        size = path.stat().st_size
    except OSError:
        return
    if size < _LOADED:
        return
    from nacre.vault import working

    if size > working.LARGEST:
        yield Problem(
            "working memory too large",
            say(
                f'{shown} has {size / 1e6:.1f} MB; "nacre wal" writes to none over {working.LARGEST // 1_000_000} MB.',
                f"{shown} 有 {size / 1e6:.1f} MB；超过 {working.LARGEST // 1_000_000} MB 时“nacre wal”不再写入。",
            ),
            shown,
            remedy=say("shorten it, or move it away", "请精简，或将其移走"),
            severity="error",
        )


def layer_problems(workspace: Workspace, config: Config) -> Iterator[Problem]:
    """Layers that are links: nothing of them is organised."""
    root = workspace.tiers(config.tiers.path)
    if not config.tiers.path and root.is_symlink():
        target = real(root)
        if real(workspace.root) not in target.parents:
            shown = workspace.relative(root)
            yield Problem(
                "layers are a link",
                say(
                    f"{shown} is a link that leads out of the workspace; nothing in it is organised.",
                    f"{shown} 是指向工作区之外的链接；其中的内容不会整理。",
                ),
                shown,
                remedy=f"nacre config set --user tiers.path {shlex.quote(str(target))}",
            )
            return
    for layer in TIERS:
        folder = root / layer
        if folder.is_symlink():
            shown, place = workspace.relative(folder), shlex.quote(str(folder))
            yield Problem(
                "layer is a link",
                say(
                    f"{shown} is a link, no layer of its own; nothing in it is organised.",
                    f"{shown} 是链接，不是独立的层；其中的内容不会整理。",
                ),
                shown,
                remedy=f"rm {place} && mkdir {place}",
            )


def journal_problems(workspace: Workspace) -> list[Problem]:
    """A journal of the jobs with lines that say nothing; one row for all of them: it is no memory."""
    path = workspace.machine / "jobs.jsonl"
    shown = workspace.relative(path)
    broken = jsonl.read_rows(path, shown).problems
    if not broken:
        return []
    lines = len(broken)
    return [
        Problem(
            "journal of jobs broken",
            say(
                f"{lines} lines of {shown} cannot be read: when these jobs ran is not known.",
                f"{shown} 有 {lines} 行无法读取：相关任务何时运行过已不可知。",
            ),
            shown,
            broken[0].line,
            remedy=f"mv {shlex.quote(str(path))} {shlex.quote(str(path) + '.broken')}",
        )
    ]


def history_problems(workspace: Workspace, rows: Sequence[jsonl.Row]) -> Iterator[Problem]:
    """Contents that the last operations need to be undone, and that are gone. What was forgotten is gone on purpose."""
    undone = {one for row in rows for one in _listed(row.value.get("undoes")) if isinstance(one, int)}
    last = [row.value for row in rows if _listed(row.value.get("changes")) and row.value.get("id") not in undone]
    wanted = [
        (value["id"], name)
        for value in last[-_OPERATIONS:]
        for change in _listed(value["changes"])
        if isinstance(value.get("id"), int)
        and isinstance(change, dict)
        and change.get("kind") in _NEEDED
        and isinstance(name := change.get("before"), str)
    ][-_CONTENTS:]
    kept = workspace.history / "blobs"
    lost = sorted({number for number, name in wanted if not os.path.exists(kept / name[:2] / name[2:])})
    if lost and not (kept.is_dir() and b'"forgotten"' in (read_bytes(workspace.ledger) or b"")):
        numbers = ", ".join(map(str, lost))
        yield Problem(
            "history lost",
            say(
                f"History has lost what operations {numbers} need to be undone.",
                f"历史缺少撤销操作 {numbers} 所需的内容。",
            ),
            workspace.relative(kept),
            remedy=say(
                f"bring {workspace.relative(kept)} back from a backup; what is changed from now on can be undone",
                f"请从备份恢复 {workspace.relative(kept)}；此后的更改可以撤销",
            ),
        )


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


# Trouble in a workspace as rows for `doctor`: never raises for what users' files may hold.

NEARLY_FULL = 0.9


def file_problems(workspace: Workspace, config: Config | None = None, *, every_file: bool = False) -> list[Problem]:
    """Everything in the workspace that wants the user's eye, by path and line.

    What was in order and has not changed since is not read again, unless every file is asked for.
    """
    config = config or Config()
    found: list[Problem] = []
    looked = SeenFiles(workspace)
    for entry in _walk(workspace, config):
        about = _plain(entry)
        known = about and not every_file and looked.is_in_order(entry.path, about)
        if known and entry.name.casefold() != "memory.md":
            continue
        path = Path(entry.path)
        try:
            if known:  # but the limits may be others
                found += _fullness(workspace, path, workspace.relative(path), path.read_bytes(), config)
                continue
            wrong = list(_in_file(workspace, path, config))
        except OSError as trouble:
            if not os.path.lexists(entry.path):
                continue  # moved or deleted since the folder was listed, which is nobody's trouble
            wrong = [_unreadable(workspace.relative(path), trouble)]
        found += wrong
        if about and not wrong:
            looked.note(entry.path, about)
    found += _counts(workspace, config, looked)
    looked.keep()
    found += ledger.read_ledger(workspace).problems
    found += refcount.read_recalls(workspace).problems
    found += jsonl.read_rows(workspace.trail, workspace.relative(workspace.trail)).problems
    operations = jsonl.read_rows(operations_file(workspace), workspace.relative(operations_file(workspace)))
    found += operations.problems
    found += history_problems(workspace, operations.rows)
    found += journal_problems(workspace)
    found += layer_problems(workspace, config)
    found += state_problems(workspace)
    found += _set_up(workspace, config)
    found += [
        Problem(
            "extra path missing",
            say(
                f"{given['path']} of index.extra_paths does not exist.",
                f"index.extra_paths 中的 {given['path']} 不存在。",
            ),
            given["path"],
            remedy="nacre config set index.extra_paths",
        )
        for given in config.index.extra_paths
        if given.get("path") and not (workspace.root / Path(given["path"]).expanduser()).exists()
    ]
    return sorted(found, key=lambda one: (one.path, one.line or 0))


def _counts(workspace: Workspace, config: Config, looked: SeenFiles) -> list[Problem]:
    """Whether the counts can be understood; they are read again only when they have changed."""
    path = workspace.refcount(config.tiers.path)
    try:
        about = path.lstat()
    except OSError:
        return []
    plain = stat.S_ISREG(about.st_mode)
    if plain and looked.is_in_order(str(path), about):
        return []
    wrong = count_problems(workspace, config)
    if plain and not wrong:
        looked.note(str(path), about)
    return wrong


def _plain(entry: os.DirEntry[str]) -> os.stat_result | None:
    """How a file stands, if it is an ordinary one: then it alone says what is wrong with it."""
    try:
        about = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return about if stat.S_ISREG(about.st_mode) else None


def _walk(workspace: Workspace, config: Config) -> Iterator[os.DirEntry[str]]:
    """Markdown files and what pretends to be one, where memory lies; links are shown, not followed."""
    for entry in _entries(workspace.root):
        if entry.name.lower().endswith(".md"):
            yield entry
    todo = [workspace.memory, workspace.projects, workspace.tiers(config.tiers.path)]
    while todo:
        for entry in _entries(todo.pop()):
            if entry.name.startswith("."):
                continue
            if entry.name.lower().endswith(".md") or entry.is_symlink():
                yield entry
            elif entry.is_dir(follow_symlinks=False):
                todo.append(Path(entry.path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _in_file(workspace: Workspace, path: Path, config: Config) -> Iterator[Problem]:
    shown = workspace.relative(path)
    if path.is_symlink() and not _inside(workspace, config, path):
        if path == workspace.state or path.parent == workspace.tiers(config.tiers.path):
            return  # told as what it stops
        yield Problem(
            "link out of the workspace",
            say(
                f"{shown} is a link that leads out of the workspace; it is neither read nor written.",
                f"{shown} 是指向工作区之外的链接；不会读取也不会写入。",
            ),
            shown,
            remedy=say("name the folder in index.extra_paths instead", "请改在 index.extra_paths 中列出该文件夹"),
        )
        return
    about = path.stat()
    if stat.S_ISDIR(about.st_mode):
        if path.suffix.lower() == ".md":
            sentence = say(f"{shown} is a folder, not a file.", f"{shown} 是文件夹，不是文件。")
            yield Problem("folder named as a file", sentence, shown)
        return
    if not stat.S_ISREG(about.st_mode):
        sentence = say(f"{shown} is no ordinary file; it is skipped.", f"{shown} 不是普通文件，已跳过。")
        yield Problem("no ordinary file", sentence, shown)
        return
    if path.suffix == disk.COMPRESSED and path.parent.parent == workspace.archive:
        try:
            disk.read_log(path, shown)
        except NacreError as error:
            yield Problem("damaged archive", str(error), shown)
    if path.suffix.lower() != ".md":
        return
    yield from _name(workspace, path, shown)
    if about.st_size > LARGEST:
        size = about.st_size // 1_000_000
        searched = shown.startswith("memory/") and about.st_size <= largest(layer_of(shown))
        yield Problem(
            "too large",
            say(
                f"{shown} has {size} MB: it is searched, slowly, and not tidied.",
                f"{shown} 有 {size} MB：仍可搜索，但较慢，且不会被整理。",
            )
            if searched
            else say(f"{shown} has {size} MB and is not searched.", f"{shown} 有 {size} MB,不会被搜索。"),
            shown,
            remedy=say("split it into smaller files", "请拆分成较小的文件"),
        )
        return
    data = path.read_bytes()
    yield from _encoding(shown, data)
    yield from _frontmatter(shown, data)
    if path == workspace.state or writing.is_longterm(workspace, path) or _is_log(path):
        yield from _fences(shown, data)
    yield from _fullness(workspace, path, shown, data, config)
    yield from _secrets(shown, data)


def _inside(workspace: Workspace, config: Config, path: Path) -> bool:
    target = real(path)
    roots = (real(workspace.root), real(workspace.tiers(config.tiers.path)))
    return any(root in target.parents for root in roots)


def _name(workspace: Workspace, path: Path, shown: str) -> Iterator[Problem]:
    if path.parent not in (workspace.memory, workspace.weekly):
        return
    match = DAY_NAME.fullmatch(path.name)
    if match and not _is_date(match[1]):
        yield Problem(
            "no real date",
            say(f"{shown} is named for a day that does not exist.", f"{shown} 的文件名不是真实日期。"),
            shown,
            remedy=say("rename it to the day it is about", "请改名为对应的日期"),
        )


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _encoding(shown: str, data: bytes) -> Iterator[Problem]:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as trouble:
        line = data.count(b"\n", 0, trouble.start) + 1
        yield Problem(
            "not UTF-8",
            say(f"{shown} is not valid UTF-8 in line {line}.", f"{shown} 第 {line} 行不是有效的 UTF-8。"),
            shown,
            line,
            remedy=say("save the file as UTF-8", "请将文件另存为 UTF-8"),
        )


def _frontmatter(shown: str, data: bytes) -> Iterator[Problem]:
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    if lines[0].rstrip() != "---":
        return
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return  # a rule at the top, as Markdown has it
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        YAML(typ="safe", pure=True).load("\n".join(lines[1:end]))
    except (YAMLError, ValueError, RecursionError) as trouble:
        mark = getattr(trouble, "problem_mark", None)
        line = (mark.line + 2) if mark else 1
        yield Problem(
            "broken frontmatter",
            say(
                f"The frontmatter of {shown} is not valid YAML in line {line}; it is ignored.",
                f"{shown} 的 frontmatter 第 {line} 行不是有效的 YAML,已忽略。",
            ),
            shown,
            line,
            remedy=say("mend the line", "请修正该行"),
        )


def _is_log(path: Path) -> bool:
    """Whether a file is the log of a day or a weekly digest, rather than a note that may hold a whole session."""
    day = DAY_NAME.fullmatch(path.name)
    return day is not None and not day[2]


def _fences(shown: str, data: bytes) -> Iterator[Problem]:
    if b"```" not in data and b"~~~" not in data:
        return
    lines = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    for line in sorted(unclosed_fences(lines)):
        yield Problem(
            "code fence never closed",
            say(
                f"The code fence that begins in line {line} of {shown} is never closed: what follows, up to the next section that "
                "Nacre wrote, counts as code and is no memory.",
                f"{shown} 第 {line} 行开始的代码块没有闭合：其后直到 Nacre 写入的下一节为止的内容都算作代码，不算记忆。",
            ),
            shown,
            line,
            remedy=say("close it with a line of its own", "请另起一行将其闭合"),
        )


def _fullness(workspace: Workspace, path: Path, shown: str, data: bytes, config: Config) -> Iterator[Problem]:
    if not writing.is_longterm(workspace, path):
        return
    size, allowed = writing.size_of(data), config.memory
    figures = f"{size.lines}/{allowed.max_lines}", f"{size.bytes}/{allowed.max_bytes}"
    if size.over(allowed):
        yield Problem(
            "over the limits",
            say(
                f"{shown} is over its limits ({figures[0]} lines, {figures[1]} bytes) and takes nothing new.",
                f"{shown} 已超出上限（{figures[0]} 行，{figures[1]} 字节）,不再接受新内容。",
            ),
            shown,
            remedy=say('run "nacre review --adopt"', "请运行“nacre review --adopt”"),
            severity="error",
        )
    elif size.lines >= NEARLY_FULL * allowed.max_lines or size.bytes >= NEARLY_FULL * allowed.max_bytes:
        yield Problem(
            "nearly full",
            say(
                f"{shown} is nearly full ({figures[0]} lines, {figures[1]} bytes).",
                f"{shown} 即将写满（{figures[0]} 行，{figures[1]} 字节）。",
            ),
            shown,
            remedy=say('run "nacre tidy", then "nacre review"', "请运行“nacre tidy”，再运行“nacre review”"),
        )


def _secrets(shown: str, data: bytes) -> Iterator[Problem]:
    from nacre.guard.secrets import redact

    text = data.decode("utf-8", "replace")
    for finding in redact(text).findings:
        line = text.count("\n", 0, finding.start) + 1
        yield Problem(
            "secret",
            say(
                f"Line {line} of {shown} seems to hold a secret ({finding.kind}).",
                f"{shown} 第 {line} 行疑似包含机密（{finding.kind}）。",
            ),
            shown,
            line,
            remedy=say("remove it from the file and change it", "请从文件中删除并更换该机密"),
        )


def _set_up(workspace: Workspace, config: Config) -> Iterator[Problem]:
    if trouble := lock_problem(workspace):
        yield trouble
    shown = workspace.relative(workspace.history)
    if not config.history.enabled:
        yield Problem(
            "history off",
            say("History is switched off: changes cannot be undone.", "历史记录已关闭：更改无法撤销。"),
            shown,
            remedy="nacre config set history.enabled true",
        )
    elif (
        place := next(
            (one for one in (workspace.history, workspace.machine, workspace.root) if os.path.exists(one)), None
        )
    ) and (not place.is_dir() or not os.access(place, os.W_OK | os.X_OK)):
        yield Problem(
            "history not writable",
            say(f"{shown} cannot be written, so nothing can be changed.", f"{shown} 无法写入，因此无法进行任何更改。"),
            shown,
            remedy=say("check its permissions", "请检查其权限"),
            severity="error",
        )


def _unreadable(shown: str, trouble: OSError) -> Problem:
    reason = trouble.strerror or str(trouble)
    return Problem(
        "unreadable",
        say(f"{shown} cannot be read: {reason}.", f"{shown} 无法读取：{reason}。"),
        shown,
        remedy=say("check its permissions", "请检查其权限"),
        severity="error",
    )
