"""What a session is given when it starts and when its user sends a prompt: never the same line twice."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nacre.context.gather import SessionProject
from nacre.context.pack import PackedPart, PieceLine, has_content, is_wide, pack, tokens, weight, without_empty_sections
from nacre.errors import BadInput
from nacre.hooks.answering import CLOSING, OPENING, framed, notice
from nacre.hooks.events import Fired
from nacre.i18n import say
from nacre.model.workspace import Workspace
from nacre.vault import spool
from nacre.vault.entries import line_digest
from nacre.vault.injected import session_file

if TYPE_CHECKING:
    from nacre.memory import Memory
    from nacre.model.hit import Hit
    from nacre.vault.ledger import Closed


MOST_LINES = 2000  # digests of a session; the oldest are forgotten first
MOST_SESSIONS = 200
OLDEST = 14 * 86_400.0  # seconds, after which a session that comes back is told everything anew


class Delivered(NamedTuple):
    """When the session was last given its context, and the lines that it knows."""

    at: float = 0.0
    lines: tuple[str, ...] = ()

    def with_lines(self, text: str, at: float | None = None) -> Delivered:
        """This and the lines of a text."""
        known = dict.fromkeys((*self.lines, *digests(text.splitlines())))
        return Delivered(self.at if at is None else at, tuple(known)[-MOST_LINES:])


def load_delivered(workspace: Workspace, session: str) -> Delivered:
    """What a session was told; nothing where that is not known."""
    if not session:
        return Delivered()
    told = spool.read_json(os.path.join(*session_file(workspace, session)))
    at, lines = told.get("at"), told.get("lines")
    if not isinstance(at, int | float) or not isinstance(lines, list):
        return Delivered()
    return Delivered(float(at), tuple(one for one in lines if isinstance(one, str))[-MOST_LINES:])


def save_delivered(workspace: Workspace, session: str, told: Delivered, now: float) -> None:
    """Keep it, in one small file of the session; those of long ago go. Where nothing can be written it is told again: giving counts."""
    with contextlib.suppress(OSError):
        _write_delivered(workspace, session, told, now)


def _write_delivered(workspace: Workspace, session: str, told: Delivered, now: float) -> None:
    if not session:
        return
    folder, name = session_file(workspace, session)
    new = not os.path.exists(os.path.join(folder, name))
    spool.put_json(folder, name, {"at": told.at, "lines": told.lines})
    if new:  # also where no session is ever begun with us
        spool.thin(folder, MOST_SESSIONS)
    if told.at == now:  # once a session, not with every prompt
        spool.sweep(folder, older_than=OLDEST, most=MOST_SESSIONS, now=now)


def undelivered(lines: Sequence[PieceLine], told: Delivered) -> list[PieceLine]:
    """The lines without those that the session knows; none where nothing but headings would be left."""
    known = set(told.lines)
    kept = [line for line in lines if line_digest(line.text) not in known]
    if len(kept) < len(lines):
        kept = list(without_empty_sections(kept))
    return kept if has_content(kept) else []


def digests(lines: Iterable[str]) -> list[str]:
    return [known for line in lines if (known := line_digest(line))]


# A session begins, comes back or was compacted: it is given its context, once.

_TWICE = 60.0  # seconds in which a second start of the same session means that the hook is registered twice
_CLEAN = ("startup", "clear")  # starts of a context in which nothing stands yet


def session_context(memory: Memory, fired: Fired) -> tuple[str, dict[str, Any]] | None:
    """The context of a session, and what is to be noted of it; None where it needs none.

    A fork goes on with all that its session was given. So does one that is resumed: it is given what is new since, and everything
    where nobody knows any more what it was given. After a compaction the beginning is gone, so it is given anew.
    """
    if fired.source == "fork":
        return None
    now = memory.clock.now().timestamp()
    told = load_delivered(memory.workspace, fired.session)
    if fired.source in _CLEAN and abs(now - told.at) < _TWICE:
        return None
    budget = min(memory.config.hooks.session_tokens, memory.config.context.budget)
    pack = memory.context(budget, all_files=True, here=fired.here or None, noted=False)
    goes_on = fired.source == "resume"
    text = _new_lines(pack.text, told) if goes_on else pack.text
    if not text:
        return None
    known = told if goes_on else Delivered()
    save_delivered(memory.workspace, fired.session, known.with_lines(text, now), now)
    about: dict[str, Any] = {
        "budget": budget,
        "source": fired.source,
        "parts": [{"path": one.path, "lines": [one.first, one.last], "tokens": one.tokens} for one in pack.parts],
    }
    if pack.project:
        about["project"] = pack.project
    return framed(text, notice(memory.clock, for_prompt=False)), about


def _new_lines(text: str, told: Delivered) -> str:
    """What of a context the session has not been given; all of it where nobody knows."""
    if not told.lines:
        return text
    lines = undelivered([PieceLine(0, line) for line in text.split("\n")], told)
    return "\n".join(line.text for line in lines)


# A prompt was sent: what memory knows about it, a few lines with their places, and nothing where it knows nothing.

MAX_PASSAGES = 6  # passages that are looked at
_FROM_BEST = 0.6  # of the best score, below which a passage is not what the prompt is about
# Of a passage that was looked at by meaning too: the cosine below which it only happens to use some of the same words, unless it has
# most of them, as a line in the midst of others may; and how much less than the usual score will do where words and meaning agree.
_NEAR, _SOME, _MOST_WORDS, _AGREED = 0.35, 0.2, 0.6, 7 / 8
_MOST_TERMS = 8
_COMMAND = re.compile(r"\A\s*(?:/[\w:.-]+(?:\s|\Z)|[!$][\w.-])")
_CODE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[^\W\d_][\w.'-]*", re.ASCII)
_LEAST_WORDS, _LEAST_HAN = 2, 3
# What people say to keep an agent going: nothing in memory is about it.
_FILLERS = frozenset(
    "ok okay k yes yep yeah no nope sure fine good great nice cool perfect thanks thank you thx please pls continue go on ahead next proceed "
    "do it that this again retry stop wait done right correct exactly lgtm and the a an now then so just hi hello hey".split()
)
_FILLERS_HAN = re.compile(
    "没有问题|没问题|下一步|下一个|接着来|再来一次|再试一次|继续|好的|可以|是的|对的|不是|不对|不用|不要|谢谢|开始|重试|接着|停止|嗯嗯|收到|明白|知道了|做吧|来吧|行吧"
    "|[好行对是不嗯啊哦吧了的呢吗请再来做你我就这那]"
)


def prompt_context(memory: Memory, fired: Fired, *, without: Container[str] = ()) -> tuple[str, dict[str, Any]]:
    """The lines that answer a prompt and that the session does not know yet, and what is to be noted of them; where there are none,
    nothing and the reason.

    `without` names files that the agent is given by others.
    """
    prompt = _CODE.sub(" ", fired.prompt).strip()
    if not is_telling(prompt):
        return _nothing(say("it says too little to look for", "内容太少，无从查找"))
    from nacre.context import gather

    place = gather.place_of(memory, None, fired.here or None) if memory.scope.group is None else SessionProject()
    mode = _mode(memory)
    try:
        found_hits = gather.hits_for(memory, prompt, place, mode, most=MAX_PASSAGES)
    except BadInput:
        return _nothing(say("no word in it can be looked for", "其中没有可查找的词"))
    except _TooMuch:
        return _nothing(say("changed files are still being read", "有改动的文件仍在读取"))
    if not found_hits:
        return _nothing(say("nothing found", "没有找到相关内容"))
    best, floor = found_hits[0].score, memory.config.hooks.prompt_score
    fitting = tuple(hit for hit in found_hits if hit.score >= _FROM_BEST * best and _fits(hit, floor))
    if not fitting:
        return _nothing(_too_little(best, floor))
    hits = tuple(hit for hit in fitting if hit.path not in without)
    told = load_delivered(memory.workspace, fired.session)
    pieces = [
        piece._replace(lines=tuple(new))
        for piece in gather.pieces_of(memory, hits, _overtaken(memory, hits, told))
        if (new := undelivered(piece.lines, told))
    ]
    if not pieces:
        return _nothing(say("all of it was given before", "内容都已提供过"))
    above = notice(memory.clock, for_prompt=True)
    budget = memory.config.hooks.prompt_tokens
    room = budget - tokens(weight(OPENING + above + CLOSING) + 4)
    found = pack(pieces, max(room, 0), lead="")
    if not found.text:
        return _nothing(say(f"over the budget of {budget} tokens", f"超出 {budget} 个 token 的预算"))
    now = memory.clock.now().timestamp()
    save_delivered(memory.workspace, fired.session, told.with_lines(found.text), now)
    about: dict[str, Any] = {
        "budget": budget,
        "mode": mode,
        "parts": [{"path": one.path, "lines": [one.first, one.last], "tokens": one.tokens} for one in found.parts],
        "hits": [_why(prompt, hit) for hit in hits if any(_is_of(part, hit) for part in found.parts)],
    }
    if place.project:
        about["project"] = place.project
    return framed(found.text, above), about


def _fits(hit: Hit, floor: float) -> bool:
    """Whether a passage is good enough to be given unasked."""
    if not (cosine := hit.parts.get("cosine", 0.0)):
        return hit.score >= floor
    covered, is_near = hit.parts.get("coverage", 0.0), cosine >= _NEAR
    least = floor * _AGREED if is_near and covered >= _SOME else floor
    return hit.score >= least and (is_near or covered >= _MOST_WORDS)


def _too_little(best: float, floor: float) -> str:
    if best >= floor:
        return say("what was found shares words with it, and no meaning", "找到的内容只是用词相同，意思无关")
    return say(f"best score {best:.2f}, below {floor:g}", f"最高得分 {best:.2f}，低于 {floor:g}")


def _nothing(reason: str) -> tuple[str, dict[str, Any]]:
    return "", {"reason": reason}


def _is_of(part: PackedPart, hit: Hit) -> bool:
    """Whether what was given is of this passage, and not of another one of its file."""
    return part.path == hit.path and (not part.first or hit.start_line <= part.first <= hit.end_line)


def _overtaken(memory: Memory, hits: Sequence[Hit], told: Delivered) -> Callable[[str, Closed], str | None]:
    """How a line that no longer holds is given: with what holds instead, unless that is given or known anyway."""

    def marked(line: str, closed: Closed) -> str | None:
        from nacre.guard.secrets import redact, visible
        from nacre.vault.ledger import successor

        words = successor(memory.workspace, closed)
        if not words or any(words in hit.snippet for hit in hits) or not undelivered([PieceLine(0, words)], told):
            return None
        now = redact(visible(words)).text
        return say(
            f"{line} (superseded on {closed.until} by: {now})", f"{line}（已于 {closed.until} 被取代，现为：{now}）"
        )

    return marked


def is_telling(prompt: str) -> bool:
    """Whether a prompt says enough to look for: no command to the agent, no "ok", no 继续."""
    if _COMMAND.match(prompt):
        return False
    words = {word.lower() for word in _WORD.findall(prompt)} - _FILLERS
    return len(words) >= _LEAST_WORDS or sum(map(is_wide, _FILLERS_HAN.sub("", prompt))) >= _LEAST_HAN


class _TooMuch(Exception):
    """More files have changed than an agent would wait for. What was read of them is kept: the next prompt goes on from there."""


def in_a_hurry(memory: Memory) -> None:
    """Let a search read no more than one batch of changed files first. For a process that answers one prompt, and no other search."""

    def enough(done: int, total: int) -> None:
        if total > done:
            raise _TooMuch

    memory.keeper.each_batch = enough


def _mode(memory: Memory) -> str:
    """By words and meaning where the local models lie ready; loading them, or asking somebody over the network, would take too long."""
    if "onnxruntime" not in sys.modules:
        return "text"
    embedder, _ = memory.embedder()
    return "hybrid" if embedder is not None and embedder.provider == "local" else "text"


def _why(prompt: str, hit: Hit) -> dict[str, Any]:
    """Why a passage was given: its score, and the words that it shares with the prompt."""
    return {"citation": hit.citation, "score": round(hit.score, 3), "terms": _shared(prompt, hit)}


def _shared(prompt: str, hit: Hit) -> Sequence[str]:
    from nacre.text.tokens import query_tokens
    from nacre.text.tokens import tokens as words_of

    telling = frozenset(query_tokens(prompt)).intersection(words_of(f"{hit.heading} {hit.snippet}"))
    words = (word for word in _WORD.findall(prompt) if (stems := words_of(word)) and telling.issuperset(stems))
    pairs = (one for one in query_tokens(prompt) if len(one) > 1 and is_wide(one[0]) and one in telling)
    return list(dict.fromkeys((*words, *pairs)))[:_MOST_TERMS]
