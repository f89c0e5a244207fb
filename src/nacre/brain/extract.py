"""A session becomes lines by the user's own model: orders of a bearable size, the gates, and the local brain for what they left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nacre.brain.journal import TURN, read_orders
from nacre.brain.local.wording import remember
from nacre.brain.model import Model, chosen_model
from nacre.brain.orders import NewEntry, Order, items_of
from nacre.errors import BadInput, BrainFailed, Waiting
from nacre.guard.privacy import drop_private
from nacre.i18n import language
from nacre.model import Bullet, Context, Kind, Message, Session, Speaker
from nacre.sources.registry import left_out
from nacre.text.blocks import AGENT_MARK
from nacre.text.quoting import reports
from nacre.text.tokens import language_of, sentences, tokens_estimate

LARGEST = 6_000  # tokens of the messages of one order
_LONG = 20  # messages from which on "hybrid" asks the model

Extract = Callable[[Sequence[Message]], list[Bullet]]
ByModel = Callable[[Session, str, Sequence[Message]], list[Bullet] | None]


def by_model(context: Context, local: Extract, on_record: Callable[[Sequence[Message]], list[Message]]) -> ByModel:
    """What the user's own model makes of the messages of a session; None where the local brain does all of it: it is chosen, the
    session is private or a group's, or "hybrid" is sure of it. `Waiting` while the user's agent is still to come."""

    def extract(session: Session, listed: str, messages: Sequence[Message]) -> list[Bullet] | None:
        model, settings = chosen_model(context), context.config.brain
        if model is None or session.kind is not Kind.MAIN:
            return None
        if settings.private and left_out(session, settings.private, listed, signed=lambda: False):
            return None
        if settings.extract == "hybrid" and len(messages) < _LONG:
            lines, limits = local(messages), context.config.sync
            if len(lines) >= min(limits.min_bullets, limits.max_bullets):
                return lines
        return extract_session(model, on_record(drop_private(messages)), local)

    return extract


def extract_session(model: Model, messages: Sequence[Message], local: Extract) -> list[Bullet]:
    """The lines of a session, in the order of what they rest on. Part by part: where the model fails, the local brain does that part;
    while a part waits for the user's agent, all of it does."""
    most = model.context.config.sync.max_bullets
    parts = list(_parts(messages))
    bullets: list[Bullet] = []
    waiting: list[str] = []
    for part in parts:
        try:
            bullets += _by_order(model, part, local, max(most // len(parts), 3))
        except Waiting as error:
            waiting += error.keys
        except BrainFailed:
            bullets += local(part)
    if waiting:
        raise Waiting(*waiting)
    places = {message.id: place for place, message in enumerate(messages)}
    bullets.sort(key=lambda bullet: min((places.get(name, 0) for name in bullet.sources), default=0))
    return bullets[:most]


def _parts(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The messages in pieces of a size that a model reads well."""
    part: list[Message] = []
    size = 0
    for message in messages:
        tokens = min(tokens_estimate(message.text), 1_500)
        by_owner = message.speaker is Speaker.OWNER
        if part and size + tokens > (LARGEST if by_owner else 1.5 * LARGEST):  # an agent may go on for hours
            yield part
            part, size = [], 0
        part.append(message)
        size += tokens
    if part:
        yield part


def extract_order(model: Model, messages: Sequence[Message], most: int) -> Order:
    clock = model.context.clock
    spoken = language_of("\n".join(message.text for message in messages if message.speaker is Speaker.OWNER))
    said = [(message.text, message.speaker, clock.local(message.at).date().isoformat()) for message in messages]
    return model.order("extract", spoken, items_of(said), most=most)


def _by_order(model: Model, messages: Sequence[Message], local: Extract, most: int) -> list[Bullet]:
    order = extract_order(model, messages, most)
    _, gated = model.claims(order)
    ids = {item.id: message.id for item, message in zip(order.items, messages, strict=True)}
    bullets = [_bullet(entry, ids) for entry in gated.kept]
    owners = [item for item in order.items if item.speaker is Speaker.OWNER]
    asks = [(item, text) for item in owners for text in sentences(item.own) if remember(text, language_of(text))[1]]
    own = {ids[item.id] for item, _ in asks}
    missing = own | {ids[name] for dropped in gated.dropped for name in dropped.cites if name in ids}
    if not bullets:  # a model that has nothing to say of a session that has something is no help
        lines, limits = local(messages), model.context.config.sync
        return lines if missing or len(lines) >= min(limits.min_bullets, limits.max_bullets) else []
    # What the gates dropped is told by the local brain; what the owner asked to be remembered stays in the owner's words.
    lines = local(messages) if missing else []
    kept = [bullet for bullet in bullets if not set(bullet.sources) <= own] if lines else bullets
    covered = {name for bullet in kept for name in bullet.sources}
    return kept + [line for line in lines if set(line.sources) & missing and not set(line.sources) & covered]


def _bullet(entry: NewEntry, ids: dict[str, str]) -> Bullet:
    by_agent = entry.speaker == "agent"
    text = entry.text.strip()
    text = AGENT_MARK[language_of(text)] + text if by_agent else text
    kind = None if entry.type == "-" or reports(text) else entry.type
    return Bullet(text, kind, tuple(dict.fromkeys(ids[name] for name in entry.cites)), by_agent)


# A small session that nobody had, to try a model with.
_TRIAL = {
    "en": ("From now on use pnpm in every repository, never npm.", "Understood. Which port does staging use?", "5433, on the Postgres 15 server."),
    "zh": ("以后所有仓库都用 pnpm，不要用 npm。", "明白。测试库用哪个端口？", "5433，在 Postgres 15 那台上。"),
}  # fmt: skip


def try_model(context: Context) -> tuple[list[str], list[tuple[str, str]], int]:
    """What a small invented session becomes: the lines that pass the gates, those that do not with the reason, and the tokens."""
    model = chosen_model(context)
    if model is None:
        raise BrainFailed(
            'No model is configured; run "nacre brain use NAME".', "尚未配置模型；请运行“nacre brain use 名称”。"
        )
    if model.kind == TURN:
        english = 'There is nothing to test: requests wait until your agent picks them up; "nacre brain orders --next" shows the next one.'
        raise BadInput(english, "无需测试：请求会等待你的智能体领取；“nacre brain orders --next”可查看下一个。")
    speakers = (Speaker.OWNER, Speaker.AGENT, Speaker.OWNER)
    said = zip(_TRIAL[language()], speakers, strict=True)
    messages = [Message(str(at), context.clock.now(), speaker, text) for at, (text, speaker) in enumerate(said)]
    order = extract_order(model, messages, 3)
    _, gated = model.claims(order, anew=True)
    tokens = next(record.tokens for record in reversed(read_orders(context.workspace)) if record.key == order.key)
    return [entry.text for entry in gated.kept], [(dropped.text, dropped.reason) for dropped in gated.dropped], tokens
