"""The silent turn before compaction: when it is due, and what is done with the answer."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import textwrap
from typing import NamedTuple

from nacre import disk
from nacre.config.settings import FlushSettings
from nacre.errors import BadInput, cannot_write
from nacre.i18n import language, say
from nacre.model import TYPES, Context, Entry
from nacre.text.tables import wordings
from nacre.text.tokens import language_of
from nacre.vault import daily, spool
from nacre.vault.storage import read_memory
from nacre.vault.writing import REDACT, guarded

MOST_SESSIONS = 200  # that are remembered to have got the prompts, the newest
KEPT = 7 * 86_400.0  # seconds, and how long
SILENCE = "NO_REPLY"
MOST_LINES = 30
LONGEST = 500  # characters of one line


# Whether the turn is due, and what the agent is asked.

LEAST = 4  # the flush never begins before a fourth of the window is full
DUE, BELOW, FLUSHED = "due", "below", "done"
DISABLED, READ_ONLY, GROUP, PAUSED = "disabled", "read-only", "group", "paused"


class Prompts(NamedTuple):
    system: str
    user: str


class Flush(NamedTuple):
    """Whether the turn is due: if so with the prompts and the log they name, if not with the reason."""

    code: str
    reason: str
    threshold: int = 0
    path: str = ""
    prompts: Prompts | None = None

    @property
    def due(self) -> bool:
        return self.code == DUE


def flush_threshold(window: int, settings: FlushSettings) -> int:
    """From how many tokens on the turn is due; in a small window a fourth of it."""
    return max(window - settings.reserve_tokens - settings.soft_threshold_tokens, window // LEAST)


def ask_flush(
    context: Context, tokens: int, window: int, *, session: str, compactions: int | None = None, dry_run: bool = False
) -> Flush:
    """Decide whether the turn is due; if so, hand out the prompts and remember that, except in a dry run."""
    if tokens < 0 or window < 1 or (compactions is not None and compactions < 0):
        raise BadInput("Tokens, window and compactions must not be negative.", "token 数、窗口和压缩次数都不能为负。")
    if blocked := flush_blocked(context):
        return blocked
    workspace = context.workspace
    limit = flush_threshold(window, context.config.flush)
    # By its hash: an id may be anything, also something that must be written nowhere.
    name = hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=8).hexdigest() + ".json"
    folder = workspace.machine / "flush"
    before = spool.read_json(str(folder / name))
    # Where nobody counts compactions, a context of less than half the threshold had one since.
    counted = compactions is not None and before.get("compactions") is not None
    same_cycle = before.get("compactions") == compactions if counted else 2 * tokens >= limit
    flushed = "compactions" in before and same_cycle
    code = BELOW if tokens < limit else FLUSHED if flushed else DUE
    try:
        if code == DUE and not dry_run:
            spool.put_json(str(folder), name, {"compactions": compactions})
            spool.sweep(str(folder), older_than=KEPT, most=MOST_SESSIONS, now=context.clock.now().timestamp())
        elif before and not flushed and not dry_run:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        return Flush(READ_ONLY, str(cannot_write(folder, error)), limit)
    if code == DUE:
        path, prompts = flush_prompts_for(context)
        return Flush(DUE, say(f"{tokens} of {window} tokens", f"{tokens} / {window} 个 token"), limit, path, prompts)
    if code == FLUSHED:
        return Flush(code, say("Already flushed in this compaction cycle.", "本压缩周期内已保存过。"), limit)
    english = f"{tokens} tokens; the flush starts at {limit}."
    return Flush(code, say(english, f"{tokens} 个 token；达到 {limit} 时才会在压缩前保存。"), limit)


def flush_prompts_for(context: Context) -> tuple[str, Prompts]:
    """The log of the day, and the prompts that name it: in the language of the settings, else of the last two days' logs."""
    workspace, config, today = context.workspace, context.config, context.clock.today()
    tongue = config.language if config.language in ("en", "zh") else ""
    for back in (0, 1):
        data = b"" if tongue else read_memory(workspace, workspace.day(today - dt.timedelta(days=back)))
        text = data[-20_000:].decode("utf-8", "ignore").strip()
        tongue = tongue or (language_of(text) if text else "")
    path = workspace.relative(workspace.day(today))
    settings = config.flush
    return path, flush_prompts(path, tongue or language(), system=settings.system_prompt, user=settings.prompt)


def flush_blocked(context: Context) -> Flush | None:
    """Why nothing may be written down now; None when it may."""
    if not context.config.flush.enabled:
        return Flush(DISABLED, say("The flush is turned off (flush.enabled).", "压缩前保存已关闭（flush.enabled）。"))
    if _is_paused(context):
        reason = say('Capture is paused; "nacre resume" resumes it.', "采集已暂停；可用“nacre resume”恢复。")
        return Flush(PAUSED, reason)
    workspace = context.workspace
    root, log = workspace.root, workspace.day(context.clock.today())
    place = next(path for path in (log, workspace.memory, root) if os.path.lexists(path))
    machine = workspace.machine if workspace.machine.exists() else root
    usable = place.is_file() if place == log else place.is_dir()
    if usable and disk.real(root) in disk.real(log).parents and all(os.access(at, os.W_OK) for at in (place, machine)):
        return None
    reason = say(f"{root} is not writable, so nothing can be saved.", f"{root} 不可写，无法保存。")
    return Flush(READ_ONLY, reason)


def _is_paused(context: Context) -> bool:
    from nacre.sources.registry import paused_at, pauses

    return paused_at(pauses(context.workspace), context.clock.now()) is not None


# What the agent answers goes into the day's log, line by line, and nowhere else.

MOST_CHARACTERS = 200_000  # an answer that is longer is no answer but the session itself
_SILENT = re.compile(rf"[\W_]*{SILENCE}[\W_]*", re.IGNORECASE)
_LABEL = re.compile(rf"\[(?:{'|'.join(TYPES)})\]\s*(?=\S)")
_MARKER = re.compile(r"\A(?:[-*+>]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_NO_LINE = re.compile(r"\A(?:```|~~~|#{1,6}(?:\s|\Z))")


class FlushAnswer(NamedTuple):
    path: str
    written: tuple[Entry, ...] = ()
    already: int = 0  # lines that stand in the log
    forgotten: int = 0  # lines that say what the user had forgotten
    over: tuple[str, ...] = ()  # lines beyond what one turn may write
    silent: bool = False


def parse_answer(text: str) -> tuple[list[str], bool]:
    """The lines of an answer, redacted and folded, and whether it says that there is nothing: then only lines with a type count."""
    if len(text) > MOST_CHARACTERS:
        raise BadInput(
            f"The answer has {len(text)} characters; one turn may write at most {MOST_LINES} lines of {LONGEST} characters each. Nothing was written.",
            f"回答有 {len(text)} 个字符；一轮最多写 {MOST_LINES} 行，每行 {LONGEST} 个字符。未写入任何内容。",
        )
    lines = [line.strip() for line in guarded(text, REDACT).split("\n") if line.strip()]
    silent = any(_SILENT.fullmatch(line) for line in (*lines[:1], *lines[-1:]))
    statements: dict[str, None] = {}
    for line in lines:
        words = line
        while marker := _MARKER.match(words):
            words = words[marker.end() :]
        # A heading, a rule, or what opens or closes code could not be distinguished from the log's own.
        says = not _NO_LINE.match(words) and any(sign.isalnum() for sign in words)
        if says and not _SILENT.fullmatch(line) and (_LABEL.match(words) or not silent):
            statements[words] = None
    return [part for words in statements for part in _folded(words)], silent


def _folded(words: str) -> list[str]:
    """A long line as several, cut between words or where it must be. The type stands on the first."""
    if len(words) <= LONGEST:
        return [words]
    first, *rest = textwrap.wrap(words, LONGEST - 1, break_on_hyphens=False)
    return [first, *(f"…{part}" for part in rest)]


def take_answer(context: Context, text: str, *, dry_run: bool = False) -> FlushAnswer:
    """Append the answer to today's log under `## HH:MM note`, as one operation. What stands there is not written again."""
    from nacre.vault.ledger import load_tombstones

    workspace, clock = context.workspace, context.clock
    if _is_paused(context):
        raise BadInput(
            'Nothing was written: capture is paused; "nacre resume" resumes it.',
            "未写入任何内容：采集已暂停；可用“nacre resume”恢复。",
        )
    statements, silent = parse_answer(text)
    lines, over = statements[:MOST_LINES], tuple(statements[MOST_LINES:])
    if tombstones := load_tombstones(workspace):  # the agent's context must not bring back what its user had forgotten
        from nacre.capture.dedupe import are_forgotten

        lines = [line for line, drop in zip(lines, are_forgotten(tombstones, lines), strict=True) if not drop]
    path = workspace.relative(daily.log_path(workspace, clock.today()))
    left_out = len(statements[:MOST_LINES]) - len(lines)
    if dry_run:
        return FlushAnswer(path, tuple(Entry(words, path, 0) for words in lines), 0, left_out, over, silent)
    written = daily.append_notes(context, "flush", lines, by_agent=True) if lines else ()
    return FlushAnswer(path, written, len(lines) - len(written), left_out, over, silent)


# The prompts, in flush.en.md and flush.zh.md; a prompt of the user's own keeps the safety rules.


def flush_prompts(path: str, language: str, *, system: str | None = None, user: str | None = None) -> Prompts:
    """The prompts: ours, or the user's own with the safety rules. `path` is the day's log, relative to the workspace."""
    day = path.rpartition("/")[2].removesuffix(".md")

    def with_rules(own: str | None, part: int) -> str:
        is_own = bool(own and own.strip())
        # What the system says, what is asked, the rules of safety, those of care, and what to answer where there is nothing to keep.
        *texts, safety, care, nothing = wordings("layers/flush", language_of(own or "") if is_own else language)
        rules = [safety, nothing] if is_own else [safety, care, nothing]
        ours = texts[part].replace("{lines}", str(MOST_LINES)).replace("{longest}", str(LONGEST))
        text = f"{(own or '').rstrip() if is_own else ours}\n\n" + "\n".join(rules)
        return text.replace("{path}", path).replace("YYYY-MM-DD", day)

    return Prompts(with_rules(system, 0), with_rules(user, 1))
