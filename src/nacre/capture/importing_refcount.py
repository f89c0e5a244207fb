"""refcount.json of two places as one: the larger counts, each time of a recall once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.capture.importing_notes import CHANGE, CREATE, SKIP, FileContent, ImportPlan, Write, content_of, shown_path
from nacre.config.settings import Config
from nacre.errors import BadInput
from nacre.i18n import say
from nacre.model.report import Step
from nacre.model.workspace import Workspace
from nacre.sources.reading import parse_time
from nacre.vault import disk
from nacre.vault.refcount import COUNTS, FIELDS, FLAGS, dump_counts, is_number, parse_counts


def plan_refcount(
    path: Path, workspace: Workspace, config: Config, home: Path, renamed: Mapping[str, str] | None = None
) -> ImportPlan:
    """Merge the counts of a file into the workspace's; `renamed` tells which checkpoints go by another name here."""
    found = content_of(path)
    if not isinstance(found, FileContent):
        raise BadInput(f"{path}: {found.reason}")
    theirs = parse_counts(path, found.data)
    if not is_refcount(theirs):
        raise BadInput(
            say(
                f"{path} is no refcount.json: it should hold counts by checkpoint, such as "
                '{"warm/x.md": {"total": 5, "timestamps": []}}.',
                f'{path} 不是 refcount.json：应按检查点记录次数，例如 {{"warm/x.md": {{"total": 5, "timestamps": []}}}}。',
            )
        )
    target = workspace.refcount(config.tiers.path)
    before = disk.read_bytes(target)
    ours = {} if before is None else parse_counts(target, before)
    after = merge_counts(ours, {(renamed or {}).get(key, key): value for key, value in theirs.items()})
    shown = workspace.relative(target)
    if after == ours:
        reason = say("every count is there already", "所有计数均已存在")
        return ImportPlan((Step(SKIP, shown, reason, shown_path(path, home)),))
    data = dump_counts(after)
    changed = sum(ours.get(key) != value for key, value in after.items())
    reason = say(f"recalls of {changed} checkpoints", f"{changed} 个检查点的召回次数")
    step = Step(CREATE if before is None else CHANGE, shown, reason, shown_path(path, home))
    return ImportPlan((step,), (Write(target, data, None if before is None else disk.digest(before)),))


def is_refcount(told: Any) -> bool:
    """Whether a value has the form of the file: an object of objects that know at least one of its fields."""
    if not isinstance(told, dict):
        return False
    entries = [value for value in told.values() if isinstance(value, dict)]
    return not told or any(FIELDS & value.keys() for value in entries)


def merge_counts(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Both files in one. Merging the same again changes nothing."""
    after = dict(ours)
    for key, entry in theirs.items():
        known = after.get(key)
        if key not in after:
            after[key] = entry
        elif isinstance(known, dict) and isinstance(entry, dict):
            after[key] = _joined(known, entry)
    return after


def _joined(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    joined = theirs | ours  # what only one of them knows is kept; else ours stands
    joined = {name: joined[name] for name in (*ours, *(name for name in theirs if name not in ours))}
    for name in COUNTS:
        known = [one[name] for one in (ours, theirs) if is_number(one.get(name))]
        if known:
            joined[name] = max(known)
    for name in FLAGS:
        if name in joined:
            joined[name] = ours.get(name) is True or theirs.get(name) is True or joined[name]
    moments = [one["timestamps"] for one in (ours, theirs) if isinstance(one.get("timestamps"), list)]
    if len(moments) == 2:
        joined["timestamps"] = _union(*moments)
    return joined


def _union(ours: list[Any], theirs: list[Any]) -> list[Any]:
    every = ours + [one for one in theirs if one not in ours]
    if every == ours:
        return ours
    when = [parse_time(one) for one in every]
    if any(one is None for one in when):
        return every
    return [value for _, value in sorted(zip(when, every, strict=True), key=lambda one: str(one[0]))]
