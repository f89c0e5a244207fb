"""What a night puts to the user: clashes that nothing decides, lines without room, lines whose time may be over."""

from __future__ import annotations

from nacre.model.verdict import Verdict
from nacre.tidy import fading
from nacre.tidy.book import Book, Line
from nacre.tidy.candidates import Candidate
from nacre.tidy.night import Night
from nacre.vault import review
from nacre.vault.review import Item
from nacre.words import say


def ask(night: Night, item: Item) -> None:
    """Each question once: what the user answered, or deleted from the file, is left as it is."""
    if f"{item.kind}:{item.id}" in night.asked_before or _answered(night, item):
        return
    if item.id not in {one.id for one in (*night.asked, *night.asks)}:
        night.asks.append(item)
        night.step("ask", night.room.workspace.relative(night.room.workspace.review), item.why, item.text)


def _answered(night: Night, item: Item) -> bool:
    was = night.known.get(item.id)
    return any(record.more.get("answer") == item.kind for record in (was.records if was else ()))


def about_clash(night: Night, one: Candidate, verdict: Verdict, book: Book, line: Line, why: str) -> None:
    told = {
        "unsure": say("it is said with doubt", "说法不确定"),
        "clash": say("both cannot hold, and nothing says which does", "二者不能同时成立，且无从判断哪个为准"),
        "kept": say("that line is pinned or was written by you", "那一行已固定或由您写下"),
        "many": say("too many lines would go in one night", "一夜之间会有太多行被移除"),
        "weak": say("the new one would not be kept for itself", "新的一条本身不足以保留"),
    }[why]
    sentence = say(
        f"clashes with “{line.words}” in {book.shown}: {told}.", f"与 {book.shown} 中的“{line.words}”冲突：{told}。"
    )
    ask(night, _item(night, one, review.CLASH, sentence, verdict, {"file": book.shown, "against": line.id}))


def about_room(night: Night, one: Candidate, verdict: Verdict, home: Book) -> None:
    why = say(
        f"{home.shown} is full and everything in it counts more; accept it to let the least needed line go.",
        f"{home.shown} 已满，且其中内容都更重要；接受则移出最不需要的一行。",
    )
    ask(night, _item(night, one, review.FULL, why, verdict, {"file": home.shown}))


def about_taken_back(night: Night, one: Candidate, verdict: Verdict, home: Book) -> None:
    why = say("you took this back once; accept it to take it in after all.", "您曾撤销过这一条；接受则重新收录。")
    ask(night, _item(night, one, review.DOUBT, why, verdict, {"file": home.shown}))


def about_an_agents_note(night: Night, one: Candidate, verdict: Verdict, home: Book) -> None:
    why = say("an agent noted this; accept it if it is so.", "这是代理记下的；如果属实，请接受。")
    ask(night, _item(night, one, review.DOUBT, why, verdict, {"file": home.shown}))


def about_adopted(night: Night, book: Book, line: Line, verdict: Verdict) -> None:
    failed = ", ".join(verdict.failed)
    why = say(
        f"stands in {book.shown}, but fails: {failed}. Keep it, or take it out?",
        f"位于 {book.shown}，但未通过：{failed}。保留还是移除？",
    )
    ask(night, Item(line.id, review.ADOPTED, line.words, why, {"file": book.shown}))


def about_fading(night: Night) -> None:
    """Entries whose time is over are put to the user, each once."""
    for book in night.library.books:
        for line in book.lines:
            was = night.known.get(line.id)
            if (was and was.pinned) or line.pinned:
                continue
            why = fading.reason(line.words, was.valid_from if was else None, night.today, night.lately)
            if why:
                closing = say(f"{why}; let it go?", f"{why}；要移除吗？")
                ask(night, Item(line.id, review.FADED, line.words, closing, {"file": book.shown}))


MOST = 100  # questions that wait for the user; nobody answers more


def settle(night: Night) -> None:
    """Questions about lines that are no longer there have answered themselves. The oldest of too many give way: what nobody
    answered is left as it is, and is not asked again."""
    here = {line.id for book in night.library.books for line in book.lines}
    for one in night.asked:
        if one.kind in (review.FADED, review.ADOPTED) and one.id not in here:
            night.settled.append(one.id)
    gone = set(night.settled)
    waiting = [one for one in night.asked if one.id not in gone]
    over = max(0, len(waiting) + len(night.asks) - MOST)
    night.settled += [one.id for one in waiting[:over]]
    if over > len(waiting):
        night.asks = night.asks[over - len(waiting) :]


def _item(night: Night, one: Candidate, kind: str, why: str, verdict: Verdict, about: dict[str, object]) -> Item:
    source = night.library.source(one.said)
    more = {**about, "type": one.tested.kind, "source": source, "tests": dict(verdict.scores)}
    return Item(one.id, kind, one.text, why, more)
