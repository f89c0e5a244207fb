"""A name, an address or a time zone that the owner told: set in its own field, and told as one story."""

from __future__ import annotations

from dataclasses import replace

from nacre.text.sentences import clauses
from nacre.tidy.candidates import Candidate
from nacre.tidy.fields import field_in
from nacre.tidy.library import OwnField
from nacre.tidy.night import Night
from nacre.vault import ledger
from nacre.vault.ledger import Record
from nacre.words import say


def set_field(night: Night, one: Candidate) -> bool:
    """Whether the candidate was such a fact, and its file has a field for it."""
    wanted = None if one.agents or one.said.group else field_in(one.text)  # only the owner gives names, in private
    own = night.library.field(wanted) if wanted else None
    if wanted is None or own is None:
        return False
    known = _id(own, wanted.value)
    if own.value == wanted.value:
        if known not in night.known:
            night.record(night.record_of(one, "merged", None, more={"into": known}))
        return True
    night.library.set(own, wanted.value)
    more: dict[str, object] = {"file": own.file, "field": own.name}
    old = _id(own, own.value) if own.value else None
    if old:
        text = f"{own.name}: {own.value}"
        night.record(Record(old, night.at, "superseded", text, section=own.name, valid_to=one.said.day, more=more))
    made = night.record_of(one, "admitted", None, section=own.name, supersedes=old, more=more)
    night.record(replace(made, id=known, text=f"{own.name}: {wanted.value}"))
    story = f"{own.name}: {_story(night, own, wanted.value)}"
    reason = say(f"said on {one.said.day}: {one.text}", f"{one.said.day} 说过：{one.text}")
    night.step("set", own.file, reason, story)
    night.notes = [note for note in night.notes if not note.startswith(f"{own.file} {own.name}: ")]
    night.notes.append(f"{own.file} {story}")
    return not _says_more(one.text, wanted.value)


def _says_more(text: str, value: str) -> bool:
    """Whether a statement tells more than the name: that is offered like any other."""
    rest = [clause for clause in clauses(text) if value not in clause]
    return any(len(clause) > (24 if clause.isascii() else 8) for clause in rest)


def _id(own: OwnField, value: str | None) -> str:
    return ledger.identity(f"{own.file} {own.name}: {value}")


def _story(night: Night, own: OwnField, value: str) -> str:
    """All values that a field had, as one story: "阿木 → 小明 → 小红"."""
    told = [
        one.text.partition(": ")[2]
        for one in (*night.before, *night.records)
        if one.more.get("field") == own.name
        and one.more.get("file") == own.file
        and one.verdict == "admitted"
        and one.text
    ]
    values = [own.before] if own.before else []
    for each in (*told, value):
        if not values or values[-1] != each:
            values.append(each)
    return " → ".join(values)
