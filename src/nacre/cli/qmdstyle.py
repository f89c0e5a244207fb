"""Options and ways of printing that prompts written for qmd use, for every verb of searching."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from nacre.daemon.answers import OUT, Printed
from nacre.errors import BadInput
from nacre.model.layers import LAYERS
from nacre.words import say

FORMS = ("cli", "json", "md", "files")
EVERYTHING = 1000  # hits of --all
_TYPED = re.compile(r"(?m)^[ \t]*(?:intent|lex|vec|hyde):[ \t]*")
_IGNORED = ("--full", "--line-numbers", "--full-path", "--no-rerank", "--no-gpu")
_IGNORED_VALUES = (("-C", "--candidate-limit"), ("--intent",), ("--chunk-strategy",), ("--index",))


def qmd_options(function: Any) -> Any:
    """What qmd's searches take beside ours. What has no meaning here is taken and does nothing: a prompt must not fail for it."""
    about = "Only this: memory, sessions, a layer, or a folder; may be repeated."
    for option in reversed(
        (
            click.option("--format", "form", type=click.Choice(FORMS), help="How to print."),
            click.option("--md", "form", flag_value="md", help="Print Markdown."),
            click.option("--files", "form", flag_value="files", help="Print one line for each: #id,score,path:line."),
            click.option("-c", "--collection", "collections", multiple=True, metavar="NAME", help=about),
            click.option("--all", "every", is_flag=True, help="Every match, not only the best."),
            *(click.option(name, is_flag=True, hidden=True, expose_value=False) for name in _IGNORED),
            *(click.option(*names, hidden=True, expose_value=False) for names in _IGNORED_VALUES),
        )
    ):
        function = option(function)
    return function


def in_our_words(given: Mapping[str, Any]) -> dict[str, Any]:
    """A search as we ask it: typed lines are searched by their words, collections narrow it, --all has no limit."""
    told = {name: value for name, value in given.items() if name not in ("form", "collections", "every")}
    told["query"] = " ".join(_TYPED.sub(" ", word).strip() for word in given["query"])
    told["layers"] = list(given["layers"])
    if given["every"] and given["limit"] is None:
        told["limit"] = EVERYTHING
    told["as_json"] = given["as_json"] or given["form"] in ("json", "md", "files")
    return told | _narrowed(given["collections"], told["layers"])


def _narrowed(collections: Sequence[str], layers: Sequence[str]) -> dict[str, Any]:
    """Where to look, by the names of collections: ours are memory and sessions; a layer or a folder narrows memory further."""
    told: dict[str, Any] = {}
    named = [name for name in collections if name in LAYERS]
    talks = [name for name in collections if name.startswith("sessions")]
    folders = [
        name for name in collections if name not in (*named, *talks, "memory") and not name.startswith("memory-")
    ]
    if named:
        told["layers"] = [*layers, *named]
    if talks:
        told["corpus"] = "sessions" if len(talks) == len(collections) else "all"
    if len(folders) > 1:
        raise BadInput(
            say(
                f"Only one folder can be searched at a time; given: {', '.join(folders)}.",
                f"一次只能搜索一个文件夹；给出的有：{'、'.join(folders)}。",
            )
        )
    if folders:
        told["path"] = f"{folders[0].strip('/')}/*"
    return told


def printed_as(form: str | None, printed: Printed) -> Printed:
    """The answer in another form; as it is where none was asked for."""
    if form not in ("md", "files"):
        return printed
    found = json.loads("".join(text for kind, text in printed.parts if kind == OUT))["results"]
    made = Printed()
    for line in _as_files(found) if form == "files" else _as_markdown(found):
        made.out(line)
    if not found:
        made.note(say("Nothing in memory matches.", "记忆中没有匹配的内容。"))
    return made


def _as_files(hits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for hit in hits:
        yield f"#{hit['id']},{hit['score']:.2f},{hit['path']}:{hit['startLine']}"


def _as_markdown(hits: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for hit in hits:
        yield f"---\n# {hit['heading'] or hit['path']}\n\n**file:** `{hit['citation']}`\n**docid:** `#{hit['id']}`\n\n{hit['snippet']}\n"
