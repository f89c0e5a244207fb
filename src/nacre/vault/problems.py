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

import nacre
from nacre.config.settings import Config
from nacre.errors import NacreError
from nacre.i18n import say
from nacre.model.report import Problem
from nacre.model.workspace import DAY_NAME, Workspace
from nacre.text.blocks import unclosed_fences
from nacre.vault import disk, jsonl, ledger, refcount, writing
from nacre.vault.discover import check_own_files
from nacre.vault.files import LARGEST, TIERS, largest, layer_of
from nacre.vault.history import DELETE, REWRITE, operations_file
from nacre.vault.lock import lock_problem

_NEARLY_FULL = 0.9
_OPERATIONS = 20  # the last ones, which are those that anybody undoes
_CONTENTS = 200
_LOADED = 100_000  # bytes, below which the rules of working memory need not be loaded to see that it is small enough
_WORTH = 5_000  # files of which one more that had to be read is not worth writing all of them down
_RACY = 2_000_000_000  # nanoseconds in which a file may change once more without showing another time


def file_problems(workspace: Workspace, config: Config | None = None, *, every_file: bool = False) -> list[Problem]:
    """Everything in the workspace that wants the user's eye, by path and line.

    What was in order and has not changed since is not read again, unless every file is asked for.
    """
    config = config or Config()
    problems: list[Problem] = []
    seen = _SeenFiles(workspace)
    for entry in _walk(workspace, config):
        path = Path(entry.path)
        about = None
        try:
            about = entry.stat(follow_symlinks=False)
            if not every_file and seen.is_in_order(entry.path, about):
                if writing.is_longterm(workspace, path):  # but the limits may be others
                    problems += _fullness(workspace.relative(path), path.read_bytes(), config)
                continue
            in_file = list(_in_file(workspace, path, config))
        except OSError as error:
            if not os.path.lexists(entry.path):
                continue  # moved or deleted since the folder was listed
            shown, reason = workspace.relative(path), error.strerror or str(error)
            message = say(f"{shown} cannot be read: {reason}.", f"{shown} 无法读取：{reason}。")
            remedy = say("check its permissions", "请检查其权限")
            in_file = [Problem("unreadable", message, shown, remedy=remedy, severity="error")]
        problems += in_file
        if about and not in_file:
            seen.add(entry.path, about)
    counts = workspace.refcount(config.tiers.path)
    if os.path.lexists(counts) and not seen.is_in_order(str(counts), counts.lstat()):
        unreadable = count_problems(workspace, config)
        problems += unreadable
        if not unreadable:
            seen.add(str(counts), counts.lstat())
    seen.save()
    problems += ledger.read_ledger(workspace).problems
    problems += refcount.read_recalls(workspace).problems
    problems += jsonl.read_rows(workspace.trail, workspace.relative(workspace.trail)).problems
    operations = jsonl.read_rows(operations_file(workspace), workspace.relative(operations_file(workspace)))
    problems += operations.problems
    problems += _history_problems(workspace, config, operations.rows)
    problems += _journal_problems(workspace)
    problems += _layer_problems(workspace, config)
    problems += _state_problems(workspace)
    problems += filter(None, [lock_problem(workspace)])
    for extra in config.index.extra_paths:
        path_name = extra.get("path")
        if path_name and not (workspace.root / Path(path_name).expanduser()).exists():
            message = say(
                f"{path_name} of index.extra_paths does not exist.", f"index.extra_paths 中的 {path_name} 不存在。"
            )
            remedy = "nacre config set index.extra_paths"
            problems.append(Problem("extra path missing", message, path_name, remedy=remedy))
    return sorted(problems, key=lambda problem: (problem.path, problem.line or 0))


# Which files were in order when they were last looked at, kept beside the index.


class _SeenFiles:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = workspace.index / "looked.json"
        self._in_order: dict[str, list[int]] = {}
        self._added = 0
        self._now = time.time_ns()
        self._before: dict[str, list[int]] = {}
        with contextlib.suppress(NacreError, ValueError, RecursionError, KeyError, TypeError):
            content = json.loads(disk.read_bytes(self._path) or b"{}")
            if content["version"] == nacre.__version__:  # another one may find other things
                self._before = dict(content["files"])

    def is_in_order(self, path: str, about: os.stat_result) -> bool:
        """Whether an ordinary file is what it was when nothing was wrong with it."""
        signature = _signature(about)
        if not stat.S_ISREG(about.st_mode) or self._before.get(path) != signature:
            return False
        self._in_order[path] = signature
        return True

    def add(self, path: str, about: os.stat_result) -> None:
        """Nothing is wrong with a file. One that was written just now may change again unseen, and is read again."""
        if stat.S_ISREG(about.st_mode) and self._now - max(about.st_mtime_ns, about.st_ctime_ns) > _RACY:
            self._in_order[path] = _signature(about)
            self._added += 1

    def save(self) -> None:
        """Write it down, if it is worth it; where that cannot be, the next look reads again."""
        if self._added > len(self._in_order) // _WORTH and self._workspace.index.is_dir():
            with contextlib.suppress(NacreError):
                check_own_files(self._workspace)
                disk.write(
                    self._path, json.dumps({"version": nacre.__version__, "files": self._in_order}).encode("ascii")
                )


def _signature(about: os.stat_result) -> list[int]:
    return [about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino]


# Single files.


def _walk(workspace: Workspace, config: Config) -> Iterator[os.DirEntry[str]]:
    """Markdown files and what pretends to be one, where memory lies; links are shown, not followed."""
    folders = [workspace.memory, workspace.projects, workspace.tiers(config.tiers.path), workspace.root]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.lower().endswith(".md") and (folder == workspace.root or entry.name[0] != "."):
                yield entry
            elif folder == workspace.root or entry.name[0] == ".":
                continue
            elif entry.is_symlink():
                yield entry
            elif entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))


def _in_file(workspace: Workspace, path: Path, config: Config) -> Iterator[Problem]:
    shown = workspace.relative(path)
    tiers = workspace.tiers(config.tiers.path)
    if path.is_symlink() and not _inside(path, workspace.root, tiers):
        if path != workspace.state and path.parent != tiers:  # which are told as what they stop
            message = say(
                f"{shown} is a link that leads out of the workspace; it is neither read nor written.",
                f"{shown} 是指向工作区之外的链接；不会读取也不会写入。",
            )
            remedy = say("name the folder in index.extra_paths instead", "请改在 index.extra_paths 中列出该文件夹")
            yield Problem("link out of the workspace", message, shown, remedy=remedy)
        return
    about = path.stat()
    is_markdown = path.suffix.lower() == ".md"
    if stat.S_ISDIR(about.st_mode):
        if is_markdown:
            message = say(f"{shown} is a folder, not a file.", f"{shown} 是文件夹，不是文件。")
            yield Problem("folder named as a file", message, shown)
        return
    if not stat.S_ISREG(about.st_mode):
        message = say(f"{shown} is no ordinary file; it is skipped.", f"{shown} 不是普通文件，已跳过。")
        yield Problem("no ordinary file", message, shown)
        return
    if not is_markdown:
        return
    day = DAY_NAME.fullmatch(path.name)
    if day and path.parent in (workspace.memory, workspace.weekly):
        try:
            dt.date.fromisoformat(day[1])
        except ValueError:
            message = say(f"{shown} is named for a day that does not exist.", f"{shown} 的文件名不是真实日期。")
            remedy = say("rename it to the day it is about", "请改名为对应的日期")
            yield Problem("no real date", message, shown, remedy=remedy)
    if about.st_size > LARGEST:
        size = about.st_size // 1_000_000
        if shown.startswith("memory/") and about.st_size <= largest(layer_of(shown)):
            message = say(
                f"{shown} has {size} MB: it is searched, slowly, and not tidied.",
                f"{shown} 有 {size} MB：仍可搜索，但较慢，且不会被整理。",
            )
        else:
            message = say(f"{shown} has {size} MB and is not searched.", f"{shown} 有 {size} MB,不会被搜索。")
        yield Problem("too large", message, shown, remedy=say("split it into smaller files", "请拆分成较小的文件"))
        return
    data = path.read_bytes()
    text = data.decode("utf-8", "replace")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = say(f"{shown} is not valid UTF-8 in line {line}.", f"{shown} 第 {line} 行不是有效的 UTF-8。")
        yield Problem("not UTF-8", message, shown, line, remedy=say("save the file as UTF-8", "请将文件另存为 UTF-8"))
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    yield from _frontmatter(shown, lines)
    is_longterm = writing.is_longterm(workspace, path)
    # A note may hold a whole session with fences of its own; the log of a day or a weekly digest does not.
    if (path == workspace.state or is_longterm or (day and not day[2])) and ("```" in text or "~~~" in text):
        for line in sorted(unclosed_fences(lines)):
            message = say(
                f"The code fence that begins in line {line} of {shown} is never closed: what follows, up to the next section that "
                "Nacre wrote, counts as code and is no memory.",
                f"{shown} 第 {line} 行开始的代码块没有闭合：其后直到 Nacre 写入的下一节为止的内容都算作代码，不算记忆。",
            )
            remedy = say("close it with a line of its own", "请另起一行将其闭合")
            yield Problem("code fence never closed", message, shown, line, remedy=remedy)
    if is_longterm:
        yield from _fullness(shown, data, config)
    from nacre.guard.secrets import redact

    line, at = 1, 0
    for finding in sorted(redact(text).findings, key=lambda finding: finding.start):
        line, at = line + text.count("\n", at, finding.start), finding.start
        message = say(
            f"Line {line} of {shown} seems to hold a secret ({finding.kind}).",
            f"{shown} 第 {line} 行疑似包含机密（{finding.kind}）。",
        )
        remedy = say("remove it from the file and change it", "请从文件中删除并更换该机密")
        yield Problem("secret", message, shown, line, remedy=remedy)


def _inside(path: Path, *roots: Path) -> bool:
    parents = disk.real(path).parents
    return any(disk.real(root) in parents for root in roots)


def _frontmatter(shown: str, lines: Sequence[str]) -> Iterator[Problem]:
    if lines[0].rstrip() != "---":
        return
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return  # a rule at the top, as Markdown has it
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        YAML(typ="safe", pure=True).load("\n".join(lines[1:end]))
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = (mark.line + 2) if mark else 1
        message = say(
            f"The frontmatter of {shown} is not valid YAML in line {line}; it is ignored.",
            f"{shown} 的 frontmatter 第 {line} 行不是有效的 YAML,已忽略。",
        )
        yield Problem("broken frontmatter", message, shown, line, remedy=say("mend the line", "请修正该行"))


def _fullness(shown: str, data: bytes, config: Config) -> Iterator[Problem]:
    size, limits = writing.size_of(data), config.memory
    lines, size_bytes = f"{size.lines}/{limits.max_lines}", f"{size.bytes}/{limits.max_bytes}"
    if size.over(limits):
        message = say(
            f"{shown} is over its limits ({lines} lines, {size_bytes} bytes) and takes nothing new.",
            f"{shown} 已超出上限（{lines} 行，{size_bytes} 字节）,不再接受新内容。",
        )
        remedy = say('run "nacre review --adopt"', "请运行“nacre review --adopt”")
        yield Problem("over the limits", message, shown, remedy=remedy, severity="error")
    elif size.lines >= _NEARLY_FULL * limits.max_lines or size.bytes >= _NEARLY_FULL * limits.max_bytes:
        message = say(
            f"{shown} is nearly full ({lines} lines, {size_bytes} bytes).",
            f"{shown} 即将写满（{lines} 行，{size_bytes} 字节）。",
        )
        remedy = say('run "nacre tidy", then "nacre review"', "请运行“nacre tidy”，再运行“nacre review”")
        yield Problem("nearly full", message, shown, remedy=remedy)


# What stops a part of Nacre without a word: counts that cannot be read, working memory that is no longer written, lost history.


def count_problems(workspace: Workspace, config: Config) -> list[Problem]:
    """Counts that cannot be understood: nobody writes over them, so that the layers stay as they are."""
    path = workspace.refcount(config.tiers.path)
    try:
        refcount.read_counts(workspace, config)
    except NacreError as error:
        message = say(f"The layers are not organised: {error}", f"各层无法整理：{error}")
    else:
        return []
    shown = workspace.relative(path)
    return [Problem("counts unreadable", message, shown, remedy=_move_away(path), severity="error")]


def _move_away(path: Path) -> str:
    return f"mv {shlex.quote(str(path))} {shlex.quote(str(path) + '.broken')}"


def _state_problems(workspace: Workspace) -> Iterator[Problem]:
    """Working memory that "nacre wal" refuses to write."""
    path, shown = workspace.state, workspace.relative(workspace.state)
    if path.is_symlink():
        message = say(
            f'{shown} is a link; "nacre wal" writes only to the file itself.',
            f"{shown} 是链接；“nacre wal”只写入真正的文件。",
        )
        remedy = say("put the file itself in the place of the link", "请用真正的文件替换该链接")
        yield Problem("working memory is a link", message, shown, remedy=remedy)
        return
    size = path.stat().st_size if path.exists() else 0
    if size < _LOADED:
        return
    from nacre.vault import working

    if size > working.LARGEST:
        most = working.LARGEST // 1_000_000
        message = say(
            f'{shown} has {size / 1e6:.1f} MB; "nacre wal" writes to none over {most} MB.',
            f"{shown} 有 {size / 1e6:.1f} MB；超过 {most} MB 时“nacre wal”不再写入。",
        )
        remedy = say("shorten it, or move it away", "请精简，或将其移走")
        yield Problem("working memory too large", message, shown, remedy=remedy, severity="error")


def _layer_problems(workspace: Workspace, config: Config) -> Iterator[Problem]:
    """Layers that are links: nothing of them is organised."""
    root = workspace.tiers(config.tiers.path)
    if not config.tiers.path and root.is_symlink() and not _inside(root, workspace.root):
        shown = workspace.relative(root)
        message = say(
            f"{shown} is a link that leads out of the workspace; nothing in it is organised.",
            f"{shown} 是指向工作区之外的链接；其中的内容不会整理。",
        )
        remedy = f"nacre config set --user tiers.path {shlex.quote(str(disk.real(root)))}"
        yield Problem("layers are a link", message, shown, remedy=remedy)
        return
    for folder in (root / layer for layer in TIERS):
        if folder.is_symlink():
            shown, place = workspace.relative(folder), shlex.quote(str(folder))
            message = say(
                f"{shown} is a link, no layer of its own; nothing in it is organised.",
                f"{shown} 是链接，不是独立的层；其中的内容不会整理。",
            )
            yield Problem("layer is a link", message, shown, remedy=f"rm {place} && mkdir {place}")


def _journal_problems(workspace: Workspace) -> Iterator[Problem]:
    """A journal of the jobs with lines that say nothing; one row for all of them: it is no memory."""
    path = workspace.machine / "jobs.jsonl"
    shown = workspace.relative(path)
    if broken := jsonl.read_rows(path, shown).problems:
        message = say(
            f"{len(broken)} lines of {shown} cannot be read: when these jobs ran is not known.",
            f"{shown} 有 {len(broken)} 行无法读取：相关任务何时运行过已不可知。",
        )
        yield Problem("journal of jobs broken", message, shown, broken[0].line, remedy=_move_away(path))


def _history_problems(workspace: Workspace, config: Config, rows: Sequence[jsonl.Row]) -> Iterator[Problem]:
    """History that is off, cannot be written, or lost what the last operations need to be undone."""
    shown = workspace.relative(workspace.history)
    places = (workspace.history, workspace.machine, workspace.root)
    place = next((place for place in places if os.path.exists(place)), None)
    if not config.history.enabled:
        message = say("History is switched off: changes cannot be undone.", "历史记录已关闭：更改无法撤销。")
        yield Problem("history off", message, shown, remedy="nacre config set history.enabled true")
    elif place and (not place.is_dir() or not os.access(place, os.W_OK | os.X_OK)):
        message = say(
            f"{shown} cannot be written, so nothing can be changed.", f"{shown} 无法写入，因此无法进行任何更改。"
        )
        remedy = say("check its permissions", "请检查其权限")
        yield Problem("history not writable", message, shown, remedy=remedy, severity="error")
    values = [row.value for row in rows]
    undone = {number for value in values for number in _list(value.get("undoes")) if isinstance(number, int)}
    last = [value for value in values if _list(value.get("changes")) and value.get("id") not in undone]
    needed = [
        (value["id"], change["before"])
        for value in last[-_OPERATIONS:]
        for change in _list(value["changes"])
        if isinstance(value.get("id"), int)
        and isinstance(change, dict)
        and change.get("kind") in (REWRITE, DELETE)
        and isinstance(change.get("before"), str)
    ]
    blobs = workspace.history / "blobs"
    lost = sorted({number for number, name in needed[-_CONTENTS:] if not (blobs / name[:2] / name[2:]).exists()})
    # What was forgotten is gone on purpose.
    if lost and not (blobs.is_dir() and b'"forgotten"' in (disk.read_bytes(workspace.ledger) or b"")):
        numbers, shown = ", ".join(map(str, lost)), workspace.relative(blobs)
        message = say(
            f"History has lost what operations {numbers} need to be undone.",
            f"历史缺少撤销操作 {numbers} 所需的内容。",
        )
        remedy = say(
            f"bring {shown} back from a backup; what is changed from now on can be undone",
            f"请从备份恢复 {shown}；此后的更改可以撤销",
        )
        yield Problem("history lost", message, shown, remedy=remedy)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
