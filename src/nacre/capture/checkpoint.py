"""A whole conversation as one Markdown file, written and read back."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from nacre.brain.local.wording import tidy
from nacre.capture.cursors import SHORT, load_cursors, storable
from nacre.capture.dedupe import Forgotten
from nacre.capture.read import SyncSetup, list_transcripts, read_session
from nacre.clock import Clock
from nacre.errors import BadInput, NotFound
from nacre.guard import privacy
from nacre.guard.sanitise import clean, one_line
from nacre.guard.secrets import redact, redact_messages
from nacre.model import Kind, Message, Session, Speaker, slug_of
from nacre.sources.registry import project_name
from nacre.sources.transcript import Source, Transcript, parse_json
from nacre.text.blocks import FRONT, blocks, without_message_marks
from nacre.text.keywords import tags
from nacre.text.layout import TAKEN_OUT, beginning, shortened
from nacre.text.quoting import demands, own_part, own_words, reports
from nacre.text.tokens import language_of, query_tokens, sentences
from nacre.vault.checkpoints import FORGOTTEN, HOT, WARM
from nacre.vault.provenance import message_mark
from nacre.vault.storage import names, read_memory

_WHO = {
    "en": {Speaker.OWNER: "User", Speaker.AGENT: "Agent", Speaker.OTHER: "Other"},
    "zh": {Speaker.OWNER: "用户", Speaker.AGENT: "助手", Speaker.OTHER: "他人"},
}
_TITLE = {"en": 60, "zh": 30}  # characters
_TELLING = 12  # words that tell what a session is about
_SHORTEST = {"en": 15, "zh": 6}  # characters of a sentence that says something
_BEGINNING = 5  # messages of the owner among whose sentences the title is looked for
# Bytes that sync keeps of what was said in one session: about 6,000 tokens, as many as a new session is given in all (context.budget).
LIMIT = 24_000
NAME_LENGTH = 40  # characters of the name of a file that are made of its title
_SPEAKS = re.compile(r"(?m)^[^\S\n]*\*\*(?:User|Agent|Other|用户|助手|他人)(?: \([^)\n]*\))?\*\*")
_MARKS = re.compile(r"\A[#>*\s-]+")
_CLAUSES = re.compile(r"(?:(?<=[,;:，；：、。])(?=\s|[^\x00-\x7f])|(?<=[^\x00-\x7f],)|(?= [-–—] ))(?![^\[\]\n]*\])")
_ASKS = re.compile(r"[?？]|\b(?:can|could|would) you\b|\bplease\b|\bI need\b|帮|麻烦|请", re.IGNORECASE)
_MARK = re.compile(r"[a-p]{8}")
_REPEATS = 2  # words of a forgotten message, or of others, in an answer, from which on that repeats them
_GAP = re.compile(r"\n(?:[^\S\n]*\n){2,}")


class Checkpoint(NamedTuple):
    name: str
    text: str
    is_session: bool = True  # of a session, whose file is brought up to date; a text is always one of its own


def checkpoint_of_session(setup: SyncSetup, session_id: str | None) -> Checkpoint:
    """The checkpoint of the session whose id begins with `session_id`; without an id, of the session that changed last."""
    transcripts = _newest_first(setup)
    if session_id is not None:  # most transcripts are named for their session: those before the ones that must be read
        transcripts.sort(key=lambda pair: session_id not in pair[1].key)
    for source, transcript in transcripts:
        session = read_session(setup.context, source, transcript, setup.exclude)
        if session and session.kind is not Kind.ISOLATED and session.id.startswith(session_id or ""):
            return render(session, setup, transcript)
    if session_id is None:
        raise NotFound("No agent session was found on this machine.", "本机没有找到任何智能体的会话。")
    shown = redact(session_id).text
    raise NotFound(
        f'Session "{shown}" was not found or is excluded. The headings of the daily logs show session ids.',
        f"没有找到会话“{shown}”，或它已被排除。会话 id 可在每日日志的标题中查到。",
    )


def checkpoint_of_text(setup: SyncSetup, text: str, title: str | None) -> Checkpoint:
    """The checkpoint of a text from a pipe, or of the session that a hook names in its JSON."""
    event = parse_json(text) if text.lstrip().startswith("{") else None
    if event and ("transcript_path" in event or "session_id" in event):
        return _checkpoint_of_hook(setup, event)
    if not text.strip():
        raise BadInput("There is nothing to write: the input is empty.", "没有可写入的内容：输入为空。")
    safe = redact(clean(text)).text
    name = redact(one_line(title)).text if title and title.strip() else _first_line(safe)
    body = safe if safe.lstrip().startswith("# ") else f"# {name}\n\n{safe}"
    return Checkpoint(f"{setup.context.clock.now():%Y-%m-%d-%H%M}-{part_of_name(name)}.md", body, is_session=False)


def part_of_name(title: str) -> str:
    """What of a title stands in the name of a file: nothing of what was taken out of it, no mark that would be cut."""
    return slug_of(TAKEN_OUT.sub("", title))[:NAME_LENGTH].strip("-")


def _checkpoint_of_hook(setup: SyncSetup, event: dict[str, Any]) -> Checkpoint:
    """The checkpoint of the session that a hook names: by the path of its transcript, else by its id."""
    path, session_id = event.get("transcript_path"), event.get("session_id")
    if isinstance(path, str) and path:
        place = os.path.realpath(os.path.expanduser(path))
        for source, transcript in _newest_first(setup):
            if transcript.path.name == os.path.basename(place) and os.path.realpath(transcript.path) == place:
                if session := read_session(setup.context, source, transcript, setup.exclude):
                    return render(session, setup, transcript)
                break
        shown = redact(path).text
        raise NotFound(
            f"{shown} contains no session that Nacre can capture: it is empty, excluded, or from an unknown agent.",
            f"{shown} 中没有可采集的会话：它是空的、已被排除，或来自未知的智能体。",
        )
    if not isinstance(session_id, str) or not session_id:
        raise BadInput("The hook passed neither a transcript nor a session id.", "钩子未传入会话记录或会话 id。")
    return checkpoint_of_session(setup, session_id)


def _newest_first(setup: SyncSetup) -> list[tuple[Source, Transcript]]:
    pairs = list_transcripts(setup.context, setup.places, setup.sources)
    return sorted((pair for pair in pairs if setup.wanted(pair[1])), key=lambda pair: -pair[1].changed)


def render(session: Session, setup: SyncSetup, transcript: Transcript) -> Checkpoint:
    """The checkpoint of a whole session. A fork leaves out the messages that the checkpoint of its origin holds."""
    clock, origin = setup.context.clock, _text_of_origin(setup, transcript)
    messages = [
        message
        for message in _allowed(setup, session, Forgotten(setup.context.workspace))
        if not any("\n".join(_block(form, clock, language)) in origin for language in _WHO for form in _forms(message))
    ] or [replace(session.messages[0], text="…")]
    return _checkpoint(setup, session, messages)


def _allowed(setup: SyncSetup, session: Session, forgotten: Forgotten) -> list[Message]:
    """The messages of a session that may be kept, with their marks as ids."""
    name = storable(session.id)
    allowed = showable(session, setup.off_record, forgotten.messages)
    return [replace(message, id=message_mark(name, storable(message.id))) for message in allowed]


def showable(
    session: Session, off_record: Callable[[Sequence[Message]], set[str]], forgotten: Container[str]
) -> list[Message]:
    """The messages of a session without secrets, without other people and the agent's answers to them, and without what the owner asked
    not to keep or had forgotten. All are checked together: a later message may ask not to keep an earlier one."""
    with_owner: list[Message] = []
    asked_by = Speaker.OWNER
    for message in session.messages:
        asked_by = asked_by if message.speaker is Speaker.AGENT else message.speaker
        if asked_by is Speaker.OWNER:
            with_owner.append(message)
    hidden = off_record(with_owner)
    safe = [message for message in privacy.drop_private(redact_messages(with_owner)) if message.id not in hidden]
    by_mark = {message_mark(storable(session.id), storable(message.id)): message for message in safe}
    marked = [replace(message, id=mark) for mark, message in by_mark.items()]
    return [by_mark[message.id] for message in without_forgotten(marked, forgotten)]


def without_forgotten(messages: Iterable[Message], forgotten: Container[str]) -> list[Message]:
    """The messages without those from which something forgotten was captured, and without the answers that repeat them."""
    remaining: list[Message] = []
    repeated: set[str] = set()
    for message in messages:
        if message.id in forgotten:
            repeated.update(query_tokens(message.text))
            continue
        if message.speaker is Speaker.OWNER:
            repeated = set()
        if len(repeated.intersection(query_tokens(message.text))) < _REPEATS:
            remaining.append(message)
    return remaining


def _forms(message: Message) -> tuple[Message, Message]:
    """A message as it is written in a checkpoint that was asked for, and as sync writes it."""
    bare = replace(message, id="")
    return bare, replace(bare, text=own_words(message.text, typed=message.speaker is Speaker.OWNER))


def _checkpoint(setup: SyncSetup, session: Session, messages: Sequence[Message], title: str = "") -> Checkpoint:
    clock = setup.context.clock
    spoken = [message for message in messages if message.speaker is Speaker.OWNER] or messages
    language = language_of(" ".join(message.text for message in spoken))
    first, last = (f"{clock.local(message.at):%Y-%m-%d %H:%M}" for message in (messages[0], messages[-1]))
    # From this line the layers know how old the session is: one that went on is as young as its last message; and search whose it is.
    about = [f"session:{storable(session.id)}", session.agent, first + (f" – {last}" if last > first else "")]
    if project := project_name(session, setup.context.workspace):
        about.append(f"project:{slug_of(redact(project).text)}")
    about += [session.cwd] if session.cwd else []
    lines = [f"# {title or _subject(messages, spoken, language)}", "", " | ".join(about), ""]
    lines += [line for message in messages for line in _block(message, clock, language)]
    return Checkpoint(f"{clock.local(messages[0].at):%Y-%m-%d-%H%M}-{_short(session.id)}.md", "\n".join(lines))


def _subject(messages: Sequence[Message], spoken: Sequence[Message], language: str) -> str:
    """A title for a session: the clause of the owner's first messages that has most of the session's keywords, early ones and requests
    preferred."""
    telling = tags("\n".join(message.text for message in messages), _TELLING)
    first = [sentence for message in spoken[:_BEGINNING] for sentence in sentences(own_words(message.text))]
    best, most = "", -10.0
    for place, sentence in enumerate(first):
        for number, clause in enumerate(_clauses(tidy(sentence, language), _TITLE[language])):
            named = sum(1 - 0.05 * rank for rank, tag in enumerate(telling) if tag in clause.lower())
            worth = min(named, 1.2) - 0.4 * place - 0.2 * number + (0.4 if _ASKS.search(clause) else 0.0)
            worth -= 1.0 if len(clause) < _SHORTEST[language] else 0.0
            if worth > most:
                best, most = clause, worth
    subject = _MARKS.sub("", best).rstrip(",;:，；：、")
    return subject[:1].upper() + subject[1:] or _first_line("\n".join(message.text for message in spoken))


def _clauses(sentence: str, longest: int) -> Iterator[str]:
    """The sentence if it fits into a title; of a longer one the runs of whole clauses that fit."""
    run = ""
    for clause in (*_CLAUSES.split(sentence), ""):
        if run and (not clause or len(run) + len(clause) > longest):
            run = run.strip()
            yield run if len(run) <= longest else _whole_words(beginning(run, longest - 1)) + "…"
            run = ""
        run += clause


def _whole_words(text: str) -> str:
    """The text without its last word, unless it is the only one or ends in a mark for something that was removed."""
    return text.rstrip() if text.endswith("]") else text.rpartition(" ")[0] or text


# What sync puts away by itself.


def checkpoint_of_captured(
    setup: SyncSetup, session: Session, after: dt.datetime | None, forgotten: Forgotten
) -> Checkpoint | None:
    """The checkpoint of a session with the messages after a moment added; None where there is nothing new. What was removed from the
    file, or with the whole file, is not read from the transcript again."""
    clock, name, allowed = setup.context.clock, storable(session.id), _allowed(setup, session, forgotten)
    path = next(_checkpoints_of(setup, session.id, (HOT, WARM, FORGOTTEN)), None)
    text = read_memory(setup.context.workspace, path).decode("utf-8", "replace") if path else ""
    before = parse_checkpoint(text, clock) if path else None
    if before and not before.session:  # somebody made something else of it
        return None
    held: list[Message] = []
    if before and before.session == name:  # and not of another session with a like name
        marks = {message_mark(name, storable(message.id)) for message in session.messages}
        hidden = marks - {message.id for message in allowed}
        held = [message for message in before.messages if message.id not in hidden]
        end = before.messages[-1].at  # one that somebody asked for meanwhile may hold more: all of its last minute
        after = after if after and after > end else end + dt.timedelta(seconds=59.999999)
    else:
        before = None
    fresh = [message for message in allowed if after is None or message.at > after]
    new: list[Message] = []
    others: set[str] = set()  # words that the owner's last message held of others
    for message in fresh:
        words = _own_words(message, forgotten, others)
        if message.speaker is Speaker.OWNER:
            others = set(query_tokens(message.text)) - set(query_tokens(words))
        new += [replace(message, text=words)] if words else []
    is_less = before is not None and len(held) < len(before.messages)  # somebody asked later not to keep it
    if not is_less and not any(message.speaker is Speaker.OWNER for message in new):
        return None
    messages = _fitted([*without_forgotten(held, forgotten.messages), *new]) or [replace(session.messages[0], text="…")]
    if before is None or path is None:
        return _checkpoint(setup, session, messages)
    return _checkpoint(setup, session, messages, "" if is_less else before.title)._replace(name=path.name)


def _checkpoints_of(setup: SyncSetup, session: str, layers: Sequence[str]) -> Iterator[Path]:
    """The checkpoints of a session in some layers, without their summaries."""
    workspace, ending = setup.context.workspace, f"-{_short(session)}.md"
    root = workspace.tiers(setup.context.config.tiers.path)
    return (workspace.root / name for layer in layers for name in names(workspace, root / layer, ending))


def _own_words(message: Message, forgotten: Forgotten, others: Container[str]) -> str:
    """A message without what is quoted, pasted or reported of others, what an agent repeats of that, and what was forgotten."""
    by_owner = message.speaker is Speaker.OWNER
    words = own_words(message.text, typed=by_owner)
    parts = sentences(words)
    remaining, end = "", 0
    for sentence, is_forgotten in zip(parts, forgotten.match(parts), strict=True):
        repeats = sum(token in others for token in set(query_tokens(sentence))) >= _REPEATS
        is_others = not own_part(sentence) if by_owner else repeats or (demands(sentence) and reports(sentence))
        at = words.find(sentence, end)
        if at < 0 and (is_forgotten or is_others):
            return ""
        if at >= 0:
            remaining += words[end:at] if is_forgotten or is_others else words[end : at + len(sentence)]
            end = at + len(sentence)
    words = remaining + words[end:]
    return _GAP.sub("\n\n", words).strip()


def _fitted(messages: Sequence[Message]) -> list[Message]:
    """The messages within the size limit: of consecutive messages of the agent only the last one, its answer; the longest messages are
    cut at the end of a sentence."""
    if sum(_size(message.text) for message in messages) <= LIMIT:
        return list(messages)
    answers = [
        message
        for message, after in zip(messages, [*messages[1:], None], strict=True)
        if message.speaker is Speaker.OWNER or after is None or after.speaker is Speaker.OWNER
    ]
    budget = share = LIMIT
    sizes = sorted(_size(message.text) for message in answers)
    for left, size in zip(range(len(sizes), 0, -1), sizes, strict=True):
        share = budget // left
        if size > share:
            break
        budget -= size
    return [replace(message, text=_cut(message.text, share)) for message in answers]


def _cut(text: str, most: int) -> str:
    if _size(text) <= most:
        return text
    end = 0
    for sentence in sentences(text):
        at = text.find(sentence, end)
        if at < 0 or _size(text[: at + len(sentence)]) > most:
            break
        end = at + len(sentence)
    cut = text[:end] if end else text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore").rstrip()
    return f"{cut} …"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _text_of_origin(setup: SyncSetup, transcript: Transcript) -> str:
    """The text of the checkpoint of the session from which this one was forked; empty once only its summary is left."""
    cursors = load_cursors(setup.context.workspace).transcripts
    cursor = cursors.get(transcript.key) or cursors.get(storable(transcript.key))
    if cursor is None or not cursor.origin:
        return ""
    texts = [read_memory(setup.context.workspace, path) for path in _checkpoints_of(setup, cursor.origin, (HOT, WARM))]
    return without_message_marks("\n".join(text.decode("utf-8", "replace") for text in texts))


def _short(session: str) -> str:
    """The beginning of a session's id, as in headings, and its end: ids made in the same minute may begin alike."""
    plain = "".join(sign for sign in storable(session) if sign.isalnum() or sign in "-_")
    return plain if len(plain) <= SHORT + 4 else f"{plain[:SHORT]}-{plain[-4:]}"


def _block(message: Message, clock: Clock, language: str) -> list[str]:
    who = _WHO[language][message.speaker] + (f" ({message.name})" if message.name else "")
    # What a page or an agent quotes must not be read back as the owner's.
    text = _SPEAKS.sub(r"\\\g<0>", message.text.strip())
    mark = f" <!-- {message.id} -->" if _MARK.fullmatch(message.id) else ""
    return [f"**{who}** {clock.local(message.at):%Y-%m-%d %H:%M}{mark}", "", text, ""]


def _first_line(text: str) -> str:
    bare = (_MARKS.sub("", line).strip() for line in text.splitlines())
    line = next(filter(None, bare), "checkpoint")
    return shortened(line, _TITLE["en"])


# A checkpoint read back: the messages of the session that Nacre wrote down, or a text as its owner's.

_ABOUT = re.compile(
    r"session:(?P<session>\S+) \| (?P<agent>[^|]+) \| \d{4}-\d{2}-\d{2} \d{2}:\d{2}[^|\n]*(?:\| project:\S+ ?)?(?:\| (?P<cwd>.+))?"
)
_SPOKEN = re.compile(
    r"\*\*(?P<who>User|Agent|Other|用户|助手|他人)(?: \((?P<name>[^)\n]*)\))?\*\* (?P<at>\d{4}-\d{2}-\d{2} \d{2}:\d{2})"
    r"(?: <!-- (?P<mark>[a-p]{8}) -->)?\s*"
)
# As people and other tools write conversations down: "**User:** …", "User: …", "**用户**：…".
_LABELLED = re.compile(
    r"(?:[-*+>]\s+)?(?P<bold>\*\*|__)?(?P<who>user|me|owner|human|agent|assistant|ai|bot|claude|codex|用户|我|助手|代理|助理)"
    r"(?:(?P=bold))?\s*[:：]\s*(?:\*\*|__)?\s*(?P<said>.*)",
    re.IGNORECASE,
)
_OWNERS = frozenset({"user", "me", "owner", "human", "用户", "我"})
_SPEAKERS = {"User": Speaker.OWNER, "用户": Speaker.OWNER, "Agent": Speaker.AGENT, "助手": Speaker.AGENT}
_HEADING = re.compile(r"#{1,6} .*")


class ParsedCheckpoint(NamedTuple):
    """The content of a checkpoint. Without a conversation its only message is the text itself, as the owner's."""

    title: str
    session: str
    agent: str
    cwd: str
    messages: tuple[Message, ...]


def parse_checkpoint(text: str, clock: Clock) -> ParsedCheckpoint:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    front = next(iter(blocks(lines)), None) if lines[0].rstrip() == "---" else None
    if front and front.kind == FRONT:
        lines = lines[front.end :]
    title = next((line.lstrip("# ").strip() for line in lines if line.startswith("# ")), "")
    about = next(filter(None, map(_ABOUT.fullmatch, lines[:6])), None)
    with suppress(BadInput):  # a time that somebody changed to none makes it a text like any other
        if about and (messages := tuple(message for _, message in spoken_lines(lines, clock))):
            cwd = (about["cwd"] or "").strip()
            return ParsedCheckpoint(title, about["session"], about["agent"].strip(), cwd, messages)
    if labelled := _labelled(lines, clock):
        return ParsedCheckpoint(title, "", "", "", labelled)
    body = "\n".join(line for line in lines if not _HEADING.fullmatch(line)).strip()
    whole = Message("text", clock.now(), Speaker.OWNER, body)
    return ParsedCheckpoint(title, "", "", "", (whole,) if body else ())


def spoken_lines(lines: Sequence[str], clock: Clock) -> Iterator[tuple[range, Message]]:
    """The messages of a checkpoint, each with the numbers of its lines, counted from 1."""
    starts: list[tuple[int, re.Match[str], dt.datetime]] = []
    for number, line in enumerate(lines):
        if match := _SPOKEN.fullmatch(line):
            with suppress(BadInput):  # a time that cannot be: somebody's own line
                starts.append((number, match, clock.parse(match["at"].replace(" ", "T"))))
    ends = [number for number, _, _ in starts[1:]] + [len(lines)]
    for place, ((number, match, at), end) in enumerate(zip(starts, ends, strict=False)):  # there may be none
        if words := "\n".join(lines[number + 1 : end]).strip():
            speaker = _SPEAKERS.get(match["who"], Speaker.OTHER)
            message = Message(match["mark"] or str(place), at, speaker, words, match["name"] or "")
            yield range(number + 1, end + 1), message


def _labelled(lines: list[str], clock: Clock) -> tuple[Message, ...]:
    """The messages of a text whose lines name their speakers; none where fewer than two speakers are named."""
    turns: list[tuple[Speaker, list[str]]] = []
    for line in lines:
        if match := _LABELLED.fullmatch(line):
            speaker = Speaker.OWNER if match["who"].casefold() in _OWNERS else Speaker.AGENT
            turns.append((speaker, [match["said"]]))
        elif turns and not _HEADING.fullmatch(line):
            turns[-1][1].append(line)
    if len({speaker for speaker, _ in turns}) < 2:
        return ()
    texts = ((speaker, "\n".join(parts).strip()) for speaker, parts in turns)
    return tuple(Message(str(at), clock.now(), speaker, words) for at, (speaker, words) in enumerate(texts) if words)
