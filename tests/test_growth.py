"""What a text costs grows with its length, not with the square of it, whoever wrote it.

Every public function of the packages below that takes one text, and the ways on which a text goes through several, are given hostile ones: what its expressions look for, repeated, opened and never
closed, or followed by a long run of one character. Times are CPU times within one run, compared with each other.
"""

from __future__ import annotations

import datetime as dt
import importlib
import inspect
import pkgutil
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

import nacre
from nacre.brain.local import classifier, likeness, wording
from nacre.brain.local.dialogue import sentences_of
from nacre.brain.local.extract import extract
from nacre.brain.local.gist import summary
from nacre.brain.local.judge import Judge
from nacre.context.answering import framed
from nacre.guard import privacy, secrets
from nacre.index.document import Document
from nacre.model import Message, Speaker
from nacre.search.query import parse_question
from nacre.search.search import snippet
from nacre.tidy import budget, collect
from nacre.vault import weekly, working
from nacre.vault.entries import document

PACKAGES = (
    "guard",
    "text",
    "sources",
    "brain",
    "vault",
    "search",
    "context",
    "tidy",
    "layers",
    "forget",
    "capture",
    "index",
)
PARAMETERS = frozenset(
    "text line lines words said sentence heading body query question answer prose told data value content".split()
)
SKIPPED = frozenset({
    "nacre.guard.values.pattern",  # takes expressions
    "nacre.vault.spool",  # take places on disk
    # On the way of others that are tried.
    "nacre.guard.secrets", "nacre.capture.importing_files",
    "nacre.guard.privacy.asks_for_privacy", "nacre.guard.privacy.tells_nothing_else", "nacre.guard.privacy.means_what_was_said", "nacre.guard.secrets.refuse_secrets",
})  # fmt: skip
SMALL, LARGE = 2_000, 8_000  # characters
FLOOR = 0.025  # seconds below which the clock is too coarse to tell
RUNS = (" ", "\n", "\t", "\u3000", "a", "7", "中", "四", "-", "*", "!", "“", "`", "<", "[", "(", "|", "_", "a.", "7:")
OPENED = (
    "<!--", "<!-- a: ", "‹!--", "<b>", "<user_query> ", "<system-reminder>", "[a](", "```\n", "> ", "- ", "- a\n", "1. ", "1) a\n", "# ", "## 12:00 session:a | ", "`a. ", "(a. ", "“a",
    "**User** ", "[redacted: ", "token是", "token ", "password is ", "密码是", "the key is ", "what is the password? ", "cvv2", "don't keep ", "don't keep this. ", "不要记", "#nomemory ", "nicht ",
    "从a", "from a to ", "a_", "a-a", "a@", "a/", "7.", "a: ", "a → ", "a ; ", "because ", "so ", "---\n", "session:a | b | ", "\\", "\x1b[", "\u200d", "e\u0301", '{"a":', "{'a':", "/*", "//",
    "2026-02-10 ", "last week ", "- [ ] ", "[PREF] ", "(src: ", "project: ", "Tags: a, ", "| a ", "|-", "at a(", "from: ", "AKIA", "eyJa.", "-----BEGIN PRIVATE" + " KEY-----\n", "http://a:b",
)  # fmt: skip


HOSTILE = [*((unit, unit) for unit in (*RUNS, *OPENED)), *((unit, " ") for unit in OPENED)]


def grown(unit: str, run: str, size: int) -> str:
    """A text that begins with a unit and goes on with a run of another, or of itself."""
    return (unit + run * (size // len(run)))[:size]


READ_AS: dict[str, Callable[[str], object]] = {
    "str": str,
    "bytes": lambda text: text.encode("utf-8", "replace"),
    **dict.fromkeys(("list[str]", "Sequence[str]", "Iterable[str]"), lambda text: text.split("\n")),
}


def given_as(function: Callable[[object], object], kind: Callable[[str], object], text: str) -> object:
    return function(kind(text))


def takers(module: str) -> list[tuple[str, Callable[[str], object]]]:
    """The functions of a module that take one text, each as one that takes a plain string."""
    loaded = importlib.import_module(module)
    found: list[tuple[str, Callable[[str], object]]] = []
    for name, function in inspect.getmembers(loaded, inspect.isfunction):
        if (
            name.startswith("_")
            or function.__module__ != module
            or f"{module}.{name}" in SKIPPED
            or inspect.iscoroutinefunction(function)
        ):
            continue
        needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
        if len(needed) != 1 or needed[0].kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            continue
        if needed[0].name not in PARAMETERS:
            continue
        if kind := READ_AS.get(needed[0].annotation):
            found.append((name, partial(given_as, function, kind)))
    return found


MODULES = ["nacre.hooks"] + [
    module.name
    for package in PACKAGES
    for module in pkgutil.walk_packages(importlib.import_module(f"nacre.{package}").__path__, f"nacre.{package}.")
    if module.name not in SKIPPED
]


TODAY = dt.date(2026, 3, 2)


def talk(text: str) -> list[Message]:
    at = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    return [
        Message("a", at, Speaker.OWNER, text),
        Message("b", at, Speaker.AGENT, text),
        Message("c", at, Speaker.OWNER, "ok"),
    ]


def entries(text: str) -> object:
    doc = document(Path("MEMORY.md"), text.encode())
    return (
        [(item.words, item.marks) for item in doc.entries],
        weekly.digest_lines(doc),
        [working.section_entries(doc, name) for name in working.SECTIONS],
        map(doc.nested, doc.items),
    )


WAYS: dict[str, Callable[[str], object]] = {
    "redacted": lambda text: secrets.redact_messages(talk(text)),
    "kept": lambda text: privacy.drop_private(talk(text)),
    "sentences": lambda text: sentences_of(talk(text)),
    "extract": lambda text: extract(talk(text), Judge(None)),
    "summary": lambda text: summary(f"# a\n\n{text}", None),
    "grams": lambda text: [classifier.grams(text, language) for language in ("en", "zh")],
    "statement": lambda text: [likeness.statement(text, language) for language in ("en", "zh")],
    "wording": lambda text: [
        (wording.tidy(text, one), wording.shorten(text, one), wording.asked(text, one)) for one in ("en", "zh")
    ],
    "question": lambda text: parse_question(text, TODAY),
    "snippet": lambda text: snippet(text, frozenset({"word"}), 700),
    "entries": entries,
    "daily": lambda text: collect.log_lines("2026-03-02", text.encode()),
    "indexed": lambda text: list(
        (log := Document("memory/2026-03-02.md", "daily", text.encode())).parts(log.pieces, 400, 80, set())
    ),
    "framed": lambda text: framed(text, "above"),
    "passed": lambda text: budget.expired_on(text, "2026-01-01", TODAY),
}


def cost(function: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    try:
        given = function(text)
        if isinstance(given, Iterator):
            for _ in given:
                pass
    except (nacre.NacreError, ValueError, AssertionError, IndexError, RecursionError):
        pass
    return time.process_time() - begun


def must_grow_in_proportion(
    name: str, function: Callable[[str], object], texts: Sequence[tuple[str, str]] = HOSTILE
) -> None:
    cost(function, "a word, 一个词")
    for unit, run in texts:
        large = cost(function, grown(unit, run, LARGE))
        if large > FLOOR:
            small = min(cost(function, grown(unit, run, SMALL)) for _ in range(3))
            large = min(large, cost(function, grown(unit, run, LARGE)))
            assert large < 9 * small + FLOOR, (name, unit, run)


# In the short run each gets another part of the texts.
EACH = pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.long)])


@EACH
@pytest.mark.parametrize("module", [name for name in MODULES if takers(name)])
def test_a_function_that_takes_a_text_costs_in_proportion_to_its_length(module: str, every: int) -> None:
    for number, (name, function) in enumerate(takers(module)):
        must_grow_in_proportion(name, function, HOSTILE[number % every :: every])


@EACH
@pytest.mark.parametrize("way", WAYS)
def test_a_text_on_its_way_costs_in_proportion_to_its_length(way: str, every: int) -> None:
    must_grow_in_proportion(way, WAYS[way], HOSTILE[len(way) % every :: every])


def test_a_line_that_a_log_repeats_is_indexed_in_proportion_to_its_length() -> None:
    must_grow_in_proportion("indexed", WAYS["indexed"], [("- a\n", "- a\n")])
