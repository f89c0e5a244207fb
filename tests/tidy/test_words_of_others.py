"""Whose word becomes memory: pasted, quoted and reported text never does, nor what an agent says alone; the owner's own rules do.

The tables hold a conversation for each shape, all run through capture and tidying: U the owner, A the agent, O somebody else in
a group, T the output of a tool, W what the agent writes down with its own tool.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nacre.mcp.tools import call
from nacre.memory import Memory
from nacre.text.quoting import demands
from nacre.tidy.answers import Answer
from nacre.vault.entries import bare_words

HERE = Path(__file__).parent / "words"
DAY = "2026-03-02"
TURN = re.compile(r"(?m)^([UAOTW]): ")
META = 'Conversation info (untrusted metadata):\n```json\n{{"sender_id": "{0}", "sender": "{0}", "group_subject": "Team"}}\n```\n\n{1}'
FIELDS = "- **Name:**\n- **What to call them:**\n- **Timezone:**\n- **Language:**\n"
SMALL_TALK = {"en": ("hello again", "thanks, bye"), "zh": ("早", "谢谢，先这样")}


class Shape(NamedTuple):
    name: str
    words: str  # what to look for
    turns: tuple[tuple[str, str], ...]
    kept: bool  # of the owner's own: whether it is admitted, not only captured


def shapes(file: str) -> list[Shape]:
    found: list[Shape] = []
    for block in re.split(r"(?m)^=== ", (HERE / file).read_text("utf8"))[1:]:
        head, body = block.split("\n", 1)
        name, words, *flags = (part.strip() for part in head.split("|"))
        parts = TURN.split(body)[1:]
        turns = tuple((who, text.strip()) for who, text in zip(parts[::2], parts[1::2], strict=True))
        found.append(Shape(name, words, turns, kept="logged" not in flags))
    return found


def half_of_them_long(file: str) -> list[Any]:
    """Every shape as a parameter; each lives through a day and a night, so every second one is for the long run."""
    return [
        pytest.param(shape, id=shape.name, marks=[pytest.mark.long] * (place % 2))
        for place, shape in enumerate(shapes(file))
    ]


def remembered(root: Path, shape: Shape) -> dict[str, str]:
    """What a fresh workspace holds and hands out after the conversation was captured and tidied, by place."""
    home, workspace = root / "home", root / "workspace"
    with Memory.init(workspace, now=f"{DAY}T08:00:00+00:00") as memory:
        for name in ("USER.md", "IDENTITY.md"):
            (workspace / name).write_text(f"# {name}\n\n{FIELDS}", "utf8")
        _transcript(home, shape, memory)
    with Memory.open(workspace, now=f"{DAY}T20:00:00+00:00") as memory:
        memory.sync(since="all")
        context = memory.context(project="shop", all_files=True).text
    with Memory.open(workspace, now="2026-03-03T03:00:00+00:00") as memory:
        memory.tidy()
        context += memory.context(project="shop", all_files=True).text
    longterm = [workspace / "MEMORY.md", *workspace.glob("projects/*/MEMORY.md")]
    fields = [workspace / "USER.md", workspace / "IDENTITY.md"]
    return {
        "memory": "\n".join(path.read_text("utf8") for path in (*longterm, *fields)),
        "context": context,
        "log": "\n".join(path.read_text("utf8") for path in workspace.glob(f"memory/{DAY}.md")),
    }


def _transcript(home: Path, shape: Shape, memory: Memory) -> None:
    language = "zh" if re.search("[\u4e00-\u9fff]", shape.turns[0][1]) else "en"
    hello, bye = SMALL_TALK[language]
    turns = [("U", hello), *shape.turns, ("U", bye)]
    in_group = any(who == "O" for who, _ in turns)
    folder = home / (".openclaw/agents/main/sessions" if in_group else ".claude/projects/-srv-shop")
    folder.mkdir(parents=True)
    session = "5e551011-0000-4000-8000-000000000000"
    entries: list[dict[str, Any]] = []
    for number, (who, text) in enumerate(turns):
        if who == "W":
            kind, words = text.split("] ", 1)
            call(memory, "memory_write", {"text": words, "type": kind.strip("[")})
            continue
        at = f"{DAY}T09:{number:02}:00Z"
        entries.append(_openclaw(who, text, number, at) if in_group else _claude(who, text, number, at, session))
    if in_group:
        key = {"agent:main:telegram:group:77": {"sessionId": session}}
        (folder / "sessions.json").write_text(json.dumps(key), "utf8")
        entries.insert(0, {"type": "session", "id": session, "timestamp": f"{DAY}T09:00:00Z", "cwd": "/x"})
    lines = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    (folder / f"{session}.jsonl").write_text("".join(lines), "utf8")


def _claude(who: str, text: str, number: int, at: str, session: str) -> dict[str, Any]:
    result = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": text}]
    content: object = {"U": text, "A": [{"type": "text", "text": text}], "T": result}[who]
    kind = "assistant" if who == "A" else "user"
    about = {"uuid": f"m{number}", "sessionId": session, "timestamp": at, "cwd": "/srv/shop"}
    return {"type": kind, "message": {"role": kind, "content": content}, **about}


def _openclaw(who: str, text: str, number: int, at: str) -> dict[str, Any]:
    is_owner = who == "U"
    said = text if who == "A" else META.format("owner" if is_owner else "ben", text)
    message: dict[str, Any] = {
        "role": "assistant" if who == "A" else "user",
        "content": [{"type": "text", "text": said}],
    }
    about = {} if who == "A" else {"__openclaw": {"senderIsOwner": is_owner}}
    return {"type": "message", "id": f"m{number}", "timestamp": at, "message": {**message, **about}}


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without embedding models, so that every machine judges alike."""
    monkeypatch.setenv("NACRE_MODELS_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("shape", half_of_them_long("others.txt"))
def test_words_of_others_never_become_memory_and_are_not_handed_out(tmp_path: Path, shape: Shape) -> None:
    found = remembered(tmp_path, shape)
    assert shape.words.lower() not in found["memory"].lower()
    for line in found["context"].splitlines():
        # At most what an agent says of it, under its name and asking for nothing.
        if shape.words.lower() in line.lower():
            assert bare_words(line).startswith(("Agent: ", "助手："))
            assert not demands(line)


@pytest.mark.parametrize("shape", half_of_them_long("own.txt"))
def test_the_owner_s_own_words_are_captured_and_kept(tmp_path: Path, shape: Shape) -> None:
    found = remembered(tmp_path, shape)
    assert shape.words.lower() in found["log"].lower() or shape.words.lower() in found["memory"].lower()
    if shape.kept:
        assert shape.words.lower() in found["memory"].lower()


def test_the_tables_are_large_enough_in_both_languages() -> None:
    for file, least in (("others.txt", 60), ("own.txt", 40)):
        found = shapes(file)
        chinese = [shape for shape in found if re.search("[\u4e00-\u9fff]", shape.turns[0][1])]
        assert len(found) >= least
        assert len(chinese) >= least // 5


def _talk(*turns: tuple[str, str]) -> Shape:
    return Shape("", "", turns, kept=True)


def test_what_an_agent_writes_down_is_asked_about_and_kept_once_the_person_accepts_it(tmp_path: Path) -> None:
    rule = "Use pnpm, never npm, in every repository"
    found = remembered(tmp_path, _talk(("U", "read the setup page"), ("W", f"[PREF] {rule}"), ("A", "Read it.")))
    assert rule not in found["memory"]
    assert "note | agent" in found["log"]
    with Memory.open(tmp_path / "workspace", now="2026-03-03T09:00:00+00:00") as memory:
        (question,) = [one for one in memory.questions() if one.text == rule]
        memory.answer([Answer(question.id, "accept")])
        assert rule in (tmp_path / "workspace" / "MEMORY.md").read_text("utf8")


def test_what_an_agent_noted_before_is_still_the_owner_s_word_when_the_owner_says_it(tmp_path: Path) -> None:
    rule = "Use pnpm, never npm, in every repository"
    found = remembered(tmp_path, _talk(("W", f"[PREF] {rule}"), ("U", rule), ("A", "Noted.")))
    assert rule in found["memory"]


def test_what_an_agent_noted_is_the_person_s_once_the_person_notes_it(tmp_path: Path) -> None:
    rule = "Use pnpm, never npm, in every repository"
    with Memory.init(tmp_path / "ws", now=f"{DAY}T08:00:00+00:00") as memory:
        call(memory, "memory_write", {"text": rule, "type": "PREF"})
        assert not memory.remember(rule, "PREF").already
        assert call(memory, "memory_write", {"text": rule, "type": "PREF"})["already"]
        memory.tidy()
        assert rule in (tmp_path / "ws" / "MEMORY.md").read_text("utf8")


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("yes, do that from now on", True),
        ("agreed, make it a rule", True),
        ("ok, thanks", False),
        ("hm, interesting", False),
    ],
)
def test_an_agent_s_proposal_is_kept_only_where_the_owner_takes_it_over(
    tmp_path: Path, answer: str, kept: bool
) -> None:
    proposal = "Every release gets a changelog entry before the tag is pushed, always."
    found = remembered(
        tmp_path, _talk(("U", "people ask what changed in our releases"), ("A", proposal), ("U", answer))
    )
    assert ("changelog entry" in found["memory"]) is kept
    assert ("changelog entry" in found["context"]) is kept


@pytest.mark.parametrize(
    "pasted",
    [
        "please proofread this for me\n\nAlways use the saltmarsh door. Never use the main door, we decided that.",
        "> Always use the saltmarsh door.\n> We decided that.",
    ],
)
def test_a_checkpoint_is_told_of_without_what_was_pasted_into_the_talk(tmp_path: Path, pasted: str) -> None:
    remembered(tmp_path, _talk(("U", pasted), ("A", "The text says that everybody must use the saltmarsh door.")))
    with Memory.open(tmp_path / "workspace", now=f"{DAY}T21:00:00+00:00") as memory:
        path = tmp_path / "workspace" / memory.checkpoint().path
        assert "saltmarsh" in path.read_text("utf8")
        given = memory.context(project="shop").text
    assert path.name in given
    assert "saltmarsh" not in given
