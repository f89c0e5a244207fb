"""The gist of a checkpoint by the user's own model, where one is chosen; line by line through the gates, else as the local brain makes it."""

from __future__ import annotations

from collections.abc import Sequence

from nacre.brain.gates import check_text
from nacre.brain.local.gist import LEAST, MOST, Gist
from nacre.brain.local.settled import split_turns
from nacre.brain.model import Model, chosen_model
from nacre.brain.orders import Order, items_of
from nacre.errors import BrainFailed, Waiting
from nacre.model import Context, Kind, Session, Speaker
from nacre.sources.registry import left_out, paused_at, pauses, settings_of
from nacre.text.blocks import project_in_head, without_message_marks
from nacre.text.tokens import tokens, tokens_estimate

LARGEST = 12_000  # tokens of a checkpoint; sync keeps about half of that, an imported one may be a book
_LONG = 20  # turns from which on "hybrid" asks the model
_TITLE = 80


def with_model(context: Context, text: str, local: Gist) -> Gist:
    """The summary of a checkpoint, whose secrets are blacked out, in the place of the local brain's; `Waiting` while the user's agent is
    still to come."""
    model, turns = chosen_model(context, "summarise"), split_turns(without_message_marks(text))
    said = [(turn.text.strip(), turn.speaker, "") for turn in turns if turn.text.strip()]
    if model is None or not said or tokens_estimate(text) > LARGEST or _is_private(context, text):
        return local
    if any(speaker is Speaker.OTHER for _, speaker, _ in said):
        return local
    if context.config.brain.summarise == "hybrid" and len(said) < _LONG:
        return local
    try:
        return _asked(model, model.order("summarise", local.language, items_of(said, "t"), most=MOST), local)
    except Waiting:
        raise
    except BrainFailed:
        return local


def _asked(model: Model, order: Order, local: Gist) -> Gist:
    answer, gated = model.claims(order)
    if not gated.kept or (gated.dropped and len(gated.kept) < min(LEAST, len(local.lines))):
        return local  # too little is left of it
    title = answer.title.strip() if len(answer.title) <= _TITLE and not check_text(order, answer.title) else local.title
    words = {word for item in order.items for word in tokens(item.own)}
    telling = (tag.strip() for tag in answer.tags if "," not in tag and len(tag) <= 30 and set(tokens(tag)) <= words)
    tags = [tag for tag in telling if not check_text(order, tag)]
    lines = tuple(claim.text.strip() for claim in gated.kept)
    return local._replace(title=title, tags=tuple(tags[:6]) or local.tags, lines=lines)


def _is_private(context: Context, text: str) -> bool:
    """Whether a checkpoint is of a project, folder or agent that is private or left out by now, or all is paused; one that does not say
    whose it is, where anything is."""
    if paused_at(pauses(context.workspace), context.clock.now()):
        return True
    lines = text.split("\n", 6)
    head = next((line for line in lines if line.startswith("session:")), "")
    name, agent, *rest = [*(part.strip() for part in head.split("|")), "", ""]
    cwd = next((part for part in rest if part.startswith(("/", "~")) or part[1:3] == ":\\"), "")
    session = Session(name.removeprefix("session:"), agent, Kind.MAIN, (), cwd=cwd)
    hidden: Sequence[str] = (*context.config.brain.private, *settings_of(context.config, agent).exclude)
    if not head:
        return bool(hidden)
    return bool(left_out(session, hidden, project_in_head(lines) or "", signed=lambda: False))
