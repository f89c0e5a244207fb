"""nacre why: where a memory comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.base import Command, Invocation, echo, json_option, note, open_memory, print_json, shown_path
from nacre.guard.secrets import legible
from nacre.i18n import say

if TYPE_CHECKING:
    from nacre.forget.entry import Link, Why
    from nacre.vault.ledger import Record


@click.command(cls=Command, epilog="Example:  nacre why MEMORY.md:9")
@click.argument("what", metavar="ID|FILE:LINE", nargs=-1, required=True)
@json_option
@click.pass_obj
def why(invocation: Invocation, what: tuple[str, ...], *, as_json: bool) -> None:
    """Show where a memory comes from: MEMORY.md, weekly digest, daily log, session, message; and what the ledger tells of it."""
    told = open_memory(invocation).why(" ".join(what))
    if as_json:
        print_json(_as_json(told))
    else:
        _show(told)


def _show(told: Why) -> None:
    about = [told.id]
    about += [say("pinned", "已固定")] if told.pinned else []
    about += [say(f"confidence {told.confidence:g}", f"置信度 {told.confidence:g}")] if told.confidence else []
    click.echo(f"{legible(told.words)}  ({', '.join(about)})")
    for link in told.chain:
        click.echo("  " + "  ".join(part for part in _parts(link) if part))
        if link.text and link.kind in ("message", "weekly", "daily", "note"):
            click.echo(f"      {legible(link.text)}")
    if told.ends:
        note(f"  {told.ends}")
    for older in told.superseded:
        until = older.valid_to or older.records[-1].at[:10]
        text = legible(older.text or "")
        click.echo("  " + say(f"superseded, until {until}: {text}", f"已被取代（至 {until}）：{text}"))
    if told.story:
        echo("Ledger:", "账本：")
    for record in told.story:
        _show_record(record)


def _parts(link: Link) -> tuple[str, ...]:
    kinds = {
        "longterm": say("long-term", "长期"),
        "weekly": say("week", "周报"),
        "daily": say("day", "日志"),
        "note": say("note", "笔记"),
        "session": say("session", "会话"),
        "checkpoint": say("checkpoint", "检查点"),
        "message": say("message", "消息"),
    }
    place = f"{link.path}:{link.line}" if link.line else ""
    if link.kind == "session" and link.path:
        place = shown_path(Path(link.path))
    elif link.kind == "checkpoint":
        place = link.path
    return kinds[link.kind], place, link.date or "", link.about if link.about != link.date else ""


def _show_record(record: Record) -> None:
    scores = "  ".join(f"{name} {score:g}" for name, score in record.tests.items())
    failed = say(f"failed: {record.failed}", f"未通过：{record.failed}") if record.failed else ""
    shown = (record.at[:16].replace("T", " "), record.verdict, record.section or "", failed, scores)
    click.echo("  " + "  ".join(part for part in shown if part))
    if record.without_it:
        without_it = legible(record.without_it)
        click.echo("      " + say(f"without it: {without_it}", f"没有它：{without_it}"))


def _as_json(told: Why) -> dict[str, Any]:
    return {
        "id": told.id,
        "text": legible(told.words),
        "pinned": told.pinned,
        "confidence": told.confidence,
        "chain": [
            {
                "kind": link.kind,
                "path": link.path or None,
                "line": link.line,
                "date": link.date,
                "text": legible(link.text) or None,
                "about": link.about or None,
            }
            for link in told.chain
        ],
        "ends": told.ends or None,
        "superseded": [
            {"id": one.id, "text": legible(one.text or "") or None, "validTo": one.valid_to} for one in told.superseded
        ],
        "ledger": [
            {
                "id": record.id,
                "at": record.at,
                "verdict": record.verdict,
                "section": record.section,
                "tests": dict(record.tests),
                "failed": record.failed,
                "withoutIt": legible(record.without_it or "") or None,
                "confidence": record.confidence,
                "validFrom": record.valid_from,
                "validTo": record.valid_to,
                "supersedes": record.supersedes,
                "brain": record.brain,
                "pinned": record.more.get("pinned"),
            }
            for record in told.story
        ],
    }
