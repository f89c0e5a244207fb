"""Problems in the files of a workspace, as rows for `doctor`; no content of a user's file makes it raise an error."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import nacre
from nacre.config.settings import Config
from nacre.errors import NacreError
from nacre.model import DAY_NAME, Problem, Stored, Workspace, problem
from nacre.text.blocks import unclosed_fences
from nacre.vault import ledger, refcount, spool, writing
from nacre.vault.storage import LARGEST, largest, layer_of, operations_file, read_rows, storage_of

_NEARLY_FULL = 0.9
_SEEN = "looked.json"  # beside the index: the signatures of files with which nothing was wrong


def file_problems(workspace: Workspace, config: Config | None = None, *, every_file: bool = False) -> list[Problem]:
    """Every problem in the workspace, by path and line. Files that had none and have not changed since are not read again, unless
    `every_file` is set."""
    config = config or Config()
    problems = list(_changed_files(workspace, config, every_file=every_file))
    problems += [*count_problems(workspace, config), *_setting_problems(workspace, config)]
    return sorted(problems, key=lambda row: (row.path, row.line or 0))


def _changed_files(workspace: Workspace, config: Config, *, every_file: bool) -> Iterator[Problem]:
    storage, index = storage_of(workspace), str(workspace.index)
    content = spool.read_json(os.path.join(index, _SEEN))
    seen = content.get("files") if content.get("version") == nacre.__version__ else {}  # another may find other things
    before = seen if isinstance(seen, dict) and not every_file else {}
    in_order: dict[str, list[int]] = {}
    records = [workspace.ledger, workspace.recalls, workspace.trail]
    records += [operations_file(workspace)] if every_file else []
    folders = (workspace.memory, workspace.projects, workspace.tiers(config.tiers.path))
    files = [stored for folder in folders for stored in storage.walk(workspace.relative(folder))]
    files = [stored for stored in files if stored.name.lower().endswith(".md") or stored.is_link]
    files += [stored for stored in storage.walk("", depth=1) if stored.name.lower().endswith(".md")]
    files += filter(None, (storage.about(workspace.relative(path)) for path in records))
    for stored in files:
        signature = list(stored[1:5])
        if before.get(stored.name) == signature:
            in_order[stored.name] = signature
            continue
        in_file = list(_in_file(workspace, stored, config))
        yield from in_file
        # Limits are settings, which may change while the file stays.
        is_limited = (stored.is_link or stored.name.lower().endswith("memory.md")) and writing.is_longterm(
            workspace, workspace.root / stored.name
        )
        if not in_file and stored.is_plain and not is_limited:
            in_order[stored.name] = signature
    if in_order != before and os.path.isdir(index):
        try:
            spool.put_json(index, _SEEN, {"version": nacre.__version__, "files": in_order})
        except OSError:
            return  # a workspace that cannot be written


def _in_file(workspace: Workspace, stored: Stored, config: Config) -> Iterator[Problem]:
    storage, shown, path = storage_of(workspace), stored.name, workspace.root / stored.name
    if path.suffix == ".jsonl":
        if path == workspace.ledger:
            yield from ledger.read_ledger(workspace).problems
        elif path == workspace.recalls:
            yield from refcount.read_recalls(workspace).problems
        else:
            yield from read_rows(storage, shown).problems
        return
    layers = storage.real(workspace.relative(workspace.tiers(config.tiers.path)))
    real = storage.real(shown) if stored.is_link else shown
    if stored.is_link and os.path.isabs(real) and not real.startswith(f"{layers}/"):
        yield problem(
            "link out of the workspace",
            f"{shown} is a link that points outside the workspace; it is neither read nor written.",
            f"{shown} 是指向工作区之外的链接；不会读取也不会写入。",
            shown,
            remedy=("list the folder in index.extra_paths instead", "请改在 index.extra_paths 中列出该文件夹"),
        )
        return
    if path.suffix.lower() != ".md":
        return
    if not stored.is_plain:
        yield problem(
            "no ordinary file",
            f"{shown} is not a regular file and is skipped.",
            f"{shown} 不是普通文件，已跳过。",
            shown,
        )
        return
    if stored.size > LARGEST:
        size = stored.size // 1_000_000
        english, chinese = f"{shown} is {size} MB and is not searched.", f"{shown} 有 {size} MB，不会被搜索。"
        if shown.startswith("memory/") and stored.size <= largest(layer_of(shown)):
            english = f"{shown} is {size} MB: searching it is slow, and it is not tidied."
            chinese = f"{shown} 有 {size} MB：仍可搜索，但较慢，且不会被整理。"
        yield problem(
            "too large", english, chinese, shown, remedy=("split it into smaller files", "请拆分成较小的文件")
        )
        return
    try:
        data = storage.read(shown)
    except NacreError as error:
        reason = getattr(error.__cause__, "strerror", "") or str(error)
        yield problem(
            "unreadable",
            f"{shown} could not be read: {reason}.",
            f"无法读取 {shown}：{reason}。",
            shown,
            remedy=("check its permissions", "请检查其权限"),
            severity="error",
        )
        return
    if data is None:
        return  # moved or deleted since the folder was listed
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", "replace")
        line = data.count(b"\n", 0, error.start) + 1
        yield problem(
            "not UTF-8",
            f"{shown} is not valid UTF-8 (line {line}).",
            f"{shown} 第 {line} 行不是有效的 UTF-8。",
            shown,
            line,
            remedy=("save the file as UTF-8", "请将文件另存为 UTF-8"),
        )
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    yield from _frontmatter(shown, lines)
    is_longterm = writing.is_longterm(workspace, path)
    # A note may hold a whole session with fences of its own; the log of a day or a weekly digest does not.
    day = DAY_NAME.fullmatch(path.name)
    if (path == workspace.state or is_longterm or (day and not day[2])) and ("```" in text or "~~~" in text):
        for line in sorted(unclosed_fences(lines)):
            yield problem(
                "code fence never closed",
                f"The code fence opened on line {line} of {shown} is never closed: everything up to the next section written by Nacre counts as code, not as memory.",
                f"{shown} 第 {line} 行开始的代码块没有闭合：其后直到 Nacre 写入的下一节为止的内容都算作代码，不算记忆。",
                shown,
                line,
                remedy=("close it on a line of its own", "请另起一行将其闭合"),
            )
    if is_longterm:
        yield from _fullness(shown, data, config)
    for line, kind in _secrets(text):
        yield problem(
            "secret",
            f"Line {line} of {shown} appears to contain a secret ({kind}).",
            f"{shown} 第 {line} 行疑似含有敏感信息（{kind}）。",
            shown,
            line,
            remedy=("remove it from the file, and change the password or key", "请从文件中删除，并更换密码或密钥"),
        )


@lru_cache(maxsize=8)  # a file with which something is wrong is looked at again by every request of the page
def _secrets(text: str) -> list[tuple[int, str]]:
    """The line and the kind of each secret."""
    from nacre.guard.secrets import redact

    secrets, line, at = [], 1, 0
    for finding in sorted(redact(text).findings, key=lambda finding: finding.start):
        line, at = line + text.count("\n", at, finding.start), finding.start
        secrets.append((line, finding.kind))
    return secrets


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
        yield problem(
            "broken frontmatter",
            f"The frontmatter of {shown} is not valid YAML (line {line}) and is ignored.",
            f"{shown} 的 frontmatter 第 {line} 行不是有效的 YAML，已忽略。",
            shown,
            line,
            remedy=("fix the line", "请修正该行"),
        )


def _fullness(shown: str, data: bytes, config: Config) -> Iterator[Problem]:
    size, limits = writing.size_of(data), config.memory
    lines, size_bytes = f"{size.lines}/{limits.max_lines}", f"{size.bytes}/{limits.max_bytes}"
    if size.over(limits):
        yield problem(
            "over the limits",
            f"{shown} is over its limits ({lines} lines, {size_bytes} bytes) and accepts nothing new.",
            f"{shown} 已超出上限（{lines} 行，{size_bytes} 字节），不再接受新内容。",
            shown,
            remedy=('run "nacre review --adopt"', "请运行“nacre review --adopt”"),
            severity="error",
        )
    elif size.lines >= _NEARLY_FULL * limits.max_lines or size.bytes >= _NEARLY_FULL * limits.max_bytes:
        yield problem(
            "nearly full",
            f"{shown} is nearly full ({lines} lines, {size_bytes} bytes).",
            f"{shown} 即将写满（{lines} 行，{size_bytes} 字节）。",
            shown,
            remedy=('run "nacre tidy", then "nacre review"', "请运行“nacre tidy”，再运行“nacre review”"),
        )


# What silently stops a part of Nacre.


def count_problems(workspace: Workspace, config: Config) -> list[Problem]:
    """Counts that cannot be understood: nobody writes over them, so that the layers stay as they are."""
    path = workspace.refcount(config.tiers.path)
    try:
        refcount.read_counts(workspace, config)
    except NacreError as error:
        english, chinese = f"The layers cannot be organised: {error}", f"无法整理各层：{error}"
        shown, remedy = workspace.relative(path), f"mv {shlex.quote(str(path))} {shlex.quote(str(path) + '.broken')}"
        return [problem("counts unreadable", english, chinese, shown, remedy=remedy, severity="error")]
    return []


def _setting_problems(workspace: Workspace, config: Config) -> Iterator[Problem]:
    """Layers that are a link, extra paths that are missing, history that is off."""
    tiers = workspace.tiers(config.tiers.path)
    shown = workspace.relative(tiers)
    real = storage_of(workspace).real(shown)
    if not config.tiers.path and os.path.isabs(real):
        yield problem(
            "layers are a link",
            f"{shown} is a link that points outside the workspace; nothing in it is organised.",
            f"{shown} 是指向工作区之外的链接；其中的内容不会整理。",
            shown,
            remedy=f"nacre config set --user tiers.path {shlex.quote(real)}",
        )
    for name in (extra.get("path") for extra in config.index.extra_paths):
        if name and not (workspace.root / Path(name).expanduser()).exists():
            yield problem(
                "extra path missing",
                f"{name} in index.extra_paths does not exist.",
                f"index.extra_paths 中的 {name} 不存在。",
                name,
                remedy="nacre config set index.extra_paths",
            )
    if not config.history.enabled:
        yield problem(
            "history off",
            "History is turned off: changes cannot be undone.",
            "历史记录已关闭：更改无法撤销。",
            workspace.relative(workspace.history),
            remedy="nacre config set history.enabled true",
        )
