"""Whatever lies in a workspace and whatever a group asks, nothing private comes out, and what is its own is found."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.cli.main import run
from nacre.errors import NacreError
from nacre.memory import Memory
from nacre.model import LAYERS

NOW = "2026-03-20T18:00"
TODAY, YESTERDAY = "2026-03-20", "2026-03-19"
STAMP = "10:00 session:cafe0001 | 3 messages | group:ops"
PRIVATE = re.compile(r"priv\d{5}q|密\d{5}鑫")
WORDS = "the deploy rota lunch server budget review 部署 会议 预算 服务器 午餐 上线 计划".split()
LABELS = ("", "[PREF] ", "[决策] ", "[TECH] ")
NOT_PUBLIC = (
    '---\npublic: "true"\n---\n',
    "---\npublic: yes\n---\n",
    "---\nPublic: true\n---\n",
    "---\nmeta:\n  public: true\n---\n",
    "---\npublic: false\npublic: true\n---\n",
    "---\ntitle: x\npublic: [true]\n---\n",
    "\n---\npublic: true\n---\n",
    "# public: true\n\npublic: true\n\n",
    "<!--\n---\npublic: true\n---\n-->\n",
    "```yaml\n---\npublic: true\n---\n```\n",
    "- ---\n  public: true\n  ---\n",
)


@dataclass
class Laid:
    """A workspace that was made up: what is whose in it, and every name that somebody could ask for."""

    root: Path
    chance: random.Random
    shared: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)  # what the context of the group must hold
    paths: list[str] = field(default_factory=list)
    count: int = 0

    def words(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 4)))

    def private(self) -> str:
        self.count += 1
        mark = f"priv{self.count:05}q" if self.chance.random() < 0.6 else f"密{self.count:05}鑫"
        return f"{self.words()} {mark} {self.words()}"

    def ours(self, *, now: bool = False) -> str:
        self.count += 1
        mark = "seen" + "".join("abcdefghij"[int(digit)] for digit in f"{self.count:05}")  # like no password
        self.shared.append(mark)
        if now:
            self.given.append(mark)
        return f"{self.words()} {mark}"

    def bullets(self, line: Callable[[], str], *, most: int = 3) -> str:
        return "".join(f"- {self.chance.choice(LABELS)}{line()} #ops\n" for _ in range(self.chance.randint(1, most)))

    def write(self, path: str, text: str) -> None:
        self.paths.append(path)
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if self.chance.random() < 0.2:
            text = text.replace("\n", "\r\n")
        place.write_bytes((b"\xef\xbb\xbf" if self.chance.random() < 0.1 else b"") + text.encode())

    def link(self, path: str, target: str) -> None:
        self.paths.append(path)
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() and not place.is_symlink():
            place.symlink_to(target)


def imitation(laid: Laid) -> str:
    """Private lines around something that looks like the stamp of the group, and is none."""
    line = laid.private
    return laid.chance.choice(
        [
            f"```\n## {STAMP}\n- {line()}\n```\n- {line()}\n",
            f"~~~~ text\n## {STAMP}\n```\n- {line()}\n~~~~\n- {line()}\n",
            f"<!--\n## {STAMP}\n- {line()}\n-->\n- {line()}\n",
            f"- ## {STAMP}\n- {line()}\n  - {line()}\n",
            f"- {line()}\n  ```\n  ## {STAMP}\n  {line()}\n  ```\n- {line()}\n",
            f"> ## {STAMP}\n> {line()}\n\n{line()}\n",
            f"{line()}\n\n    ## {STAMP}\n    {line()}\n\n{line()}\n",
            f"{line()} ## {STAMP} {line()}\n",
            f"### about {STAMP}\n- {line()}\n",
            f"### {STAMP[:-3]}opsec\n- {line()}\n",
            f"### {STAMP[:-3]}*\n- {line()}\n",
            f"### 10:00 we spoke of group:ops\n- {line()}\n",
            f"#{STAMP}\n- {line()}\n",
            f"####### {STAMP}\n- {line()}\n",
            f"\\## {STAMP}\n- {line()}\n",
        ]
    )


def log(laid: Laid, *, now: bool) -> str:
    """A day's log with sections of the owner, of this group and of another."""
    chance = laid.chance
    parts = [
        chance.choice(["# 2026-03-20\n\n", f"# {laid.private()}\n\n", f"# a > {STAMP} > {laid.private()}\n\n", ""])
    ]
    if chance.random() < 0.15:
        parts.insert(0, f"---\ntitle: {laid.private()}\nnote: |\n  ## {STAMP}\npublic: true\n---\n")
    for _ in range(chance.randint(1, 5)):
        kind = chance.random()
        time = f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}"
        if kind < 0.35:
            own = chance.choice(["", " | project:shop", " | continued"])
            parts.append(f"## {time} session:beef{chance.randint(0, 9999):04} | 3 messages{own} | group:ops\n")
            parts.append(laid.bullets(lambda: laid.ours(now=now)))
            if chance.random() < 0.2:  # a private section that was put below ours
                parts.append(f"### {time} session:dead0001 | 2 messages\n{laid.bullets(laid.private)}")
        else:
            heads = (
                "note",
                "session:aaaa1111 | 4 messages",
                "note | project:shop",
                "session:b | 2 messages | group:hr",
            )
            parts.append(f"## {time} {chance.choice(heads)}\n{laid.bullets(laid.private)}")
            if kind > 0.6:
                parts.append(imitation(laid))
    return "\n".join(parts)


def lay_out(root: Path, seed: int) -> Laid:
    laid = Laid(root, random.Random(seed))
    chance = laid.chance
    public = "---\npublic: true\ntags: [ops]\n---\n"
    for name in ("MEMORY.md", "USER.md", "SESSION-STATE.md", "IDENTITY.md", "projects/shop/MEMORY.md"):
        front = public if chance.random() < 0.4 else ""
        laid.write(name, f"{front}# {laid.private()}\n\n## {STAMP}\n{laid.bullets(laid.private)}{imitation(laid)}")
    for day in (TODAY, YESTERDAY, "2026-03-02"):
        if chance.random() < 0.8:
            laid.write(f"memory/{day}.md", log(laid, now=day != "2026-03-02"))
    laid.write("memory/archive/2026/2026-01-05.md", log(laid, now=False))
    for name in ("memory/2026-03-20-offsite.md", "memory/weekly/2026-03-02.md", "memory/archive/old.md"):
        laid.write(name, f"# {laid.private()}\n\n## {STAMP}\n{laid.bullets(laid.private)}{imitation(laid)}")
    for layer in ("hot", "warm", "gist", "forgotten"):
        front = public if chance.random() < 0.5 else ""
        laid.write(
            f"memory_fs/{layer}/2026-03-20-0900-x.md", f"{front}# {laid.private()}\n\n## {STAMP}\n{laid.private()}\n"
        )
    for at, front in enumerate(chance.sample(NOT_PUBLIC, k=4)):
        laid.write(
            f"memory/note {at} 笔记.md",
            f"{front}# {laid.private()}\n\n## {STAMP}\n{laid.bullets(laid.private)}{imitation(laid)}",
        )
    laid.write(f"memory/{laid.private()}.md", f"{laid.private()}\n")
    if chance.random() < 0.7:
        laid.write(
            "memory/handbook.md",
            f"{public}# Handbook\n\n{laid.ours(now=True)}\n\n{laid.bullets(lambda: laid.ours(now=True))}",
        )
    links = [
        ("memory/2026-03-18.md", "../MEMORY.md"),
        ("memory/2026-03-17.md", "../SESSION-STATE.md"),
        ("memory/linked.md", "../USER.md"),
        ("memory/also.md", "../MEMORY.md"),
        ("memory/2026-03-16.md", "2026-03-20-offsite.md"),
        ("memory/there", "../projects"),
        ("memory/layers", "../memory_fs"),
        ("memory/2026-03-15.md", "weekly/2026-03-02.md"),
        ("memory/loop.md", "loop.md"),
        ("memory/out.md", "/etc/hostname"),
    ]
    for path, target in chance.sample(links, k=5):
        laid.link(path, target)
    return laid


def queries(laid: Laid) -> list[str]:
    marks = [f"priv{number:05}q" for number in laid.chance.choices(range(1, laid.count + 1), k=2)]
    return [*marks, f"密{laid.count:05}鑫", laid.words(), "deploy budget 预算", "2026-03-20", "yesterday", "x"]


def places(laid: Laid) -> Iterator[str]:
    for path in laid.paths:
        first = laid.chance.randint(1, 12)
        yield path
        yield f"{path}:{first}"
        yield f"{path}#L{first}-L{first + 30}"
    for path in laid.chance.sample(laid.paths, k=6):
        yield str(laid.root / path)
        yield f"memory/../{path}"
        yield f"./{path}"
        yield f"memory//{path}"
        yield path.upper()
    yield from (
        "memory/there/shop/MEMORY.md",
        "memory/layers/hot/2026-03-20-0900-x.md",
        "../x.md",
        ".nacre/context.json",
    )
    yield from ("sessions/x.md", "memory", "", "~/x.md", "memory/ledger.jsonl")


def told(ask: Callable[[], object]) -> str:
    """Everything that comes back: the answer, or the error with what it was made of."""
    try:
        return repr(ask())
    except NacreError as trouble:
        said: list[str] = []
        error: BaseException | None = trouble
        while error:
            said.append(f"{error} {error.args!r}")
            error = error.__cause__ or error.__context__
        return " ".join(said)


def typed(*arguments: str) -> str:
    """A command in this process: what it prints, on either side."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        run([*arguments, "--scope", "group:ops", "--now", NOW])
    return out.getvalue() + err.getvalue()


def must_be_clean(answer: str, *asked: str) -> str:
    """Nothing private in an answer, but for the words that the asker used."""
    leaked = [mark for mark in PRIVATE.findall(answer) if not any(mark in one for one in asked)]
    assert not leaked, f"{leaked} came out when asked for {asked}: {answer[:2000]}"
    return answer


def ask_everything(laid: Laid) -> None:
    with Memory.open(laid.root, now=NOW) as owner:
        ids = [hit.id for hit in owner.search("deploy 预算 budget", mode="text", min_score=0)]
    with Memory.open(laid.root, now=NOW, scope="group:ops") as group:
        for query in queries(laid):
            narrowed: list[dict[str, object]] = [{}, {"project": "shop"}, {"type": "PREF"}, {"tag": "ops"}]
            narrowed += [
                {"layers": [laid.chance.choice(LAYERS)]},
                {"path": "*"},
                {"path": "*MEMORY.md"},
                {"corpus": "all"},
            ]
            for options in narrowed:
                found = lambda: group.search(query, 1000, mode="text", min_score=0, **options)  # type: ignore[arg-type]  # noqa: B023, E731
                must_be_clean(told(found), query)
            pack = lambda: group.context(laid.chance.randint(1, 9000), query=query, project="shop", all_files=True)  # noqa: B023, E731
            must_be_clean(told(pack), query)
        for place in (*places(laid), *ids):
            must_be_clean(told(lambda: group.get(place, lines=laid.chance.randint(1, 60))), place)  # noqa: B023
        whole = must_be_clean(group.context(100_000).text)
        assert [mark for mark in laid.given if mark not in whole] == []
        for mark in laid.shared:
            hits = group.search(mark, mode="text", min_score=0)
            hit = next((one for one in hits if mark in one.snippet), None)
            assert hit, mark
            assert mark in group.get(hit.citation).text


def type_everything(laid: Laid) -> None:
    here = ("--workspace", str(laid.root))
    for query in queries(laid)[:4]:
        for options in ((), ("--json",), ("--all-projects", "--explain"), ("--corpus", "sessions")):
            must_be_clean(
                typed("search", query, "--mode", "text", "--min-score", "0", "-n", "500", *options, *here), query
            )
        for more in ((), ("--json", "--all"), ("--verbose", "--project", "shop", "--budget", "300")):
            must_be_clean(typed("context", "--query", query, *more, *here), query)
    must_be_clean(typed("context", "--last", *here))
    must_be_clean(typed("context", "--last", "--json", *here))
    for place in laid.chance.choices([*places(laid)], k=12):
        must_be_clean(typed("get", place, "-l", "99", *here), place)


def one_life(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        laid = lay_out(Path(os.path.realpath(folder)) / "ws", seed)
        ask_everything(laid)
        type_everything(laid)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_nothing_private_reaches_a_group_and_what_is_its_own_does(seed: int) -> None:
    one_life(seed)


def test_the_owner_finds_what_the_group_must_not(tmp_path: Path) -> None:
    """The other way round: the private lines are there to be found, so that silence above means something."""
    laid = lay_out(tmp_path / "ws", 7)
    with Memory.open(laid.root, now=NOW) as owner:
        assert PRIVATE.search(repr(owner.context(100_000)))
        assert PRIVATE.search(repr(owner.search("deploy budget 预算", mode="text", min_score=0)))
        assert PRIVATE.search(repr(owner.get("MEMORY.md")))


def test_nothing_private_reaches_a_group_through_processes_of_their_own(tmp_path: Path) -> None:
    laid = lay_out(tmp_path / "ws", 11)
    env = {**os.environ, "NACRE_WORKSPACE": str(laid.root), "NACRE_NOW": NOW}

    def nacre(*arguments: str) -> str:
        command = [sys.executable, "-m", "nacre", *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True, encoding="utf8", check=False)
        return done.stdout + done.stderr

    assert PRIVATE.search(nacre("context"))
    env["NACRE_SCOPE"] = "group:ops"
    for arguments in (
        ("context", "--all", "--query", "deploy budget 预算", "--project", "shop", "--verbose"),
        ("context", "--last", "--json"),
        ("search", "deploy budget 预算", "--mode", "text", "--min-score", "0", "--all-projects", "--json"),
        ("get", "MEMORY.md"),
        ("status",),
        ("why", "MEMORY.md:3"),
    ):
        must_be_clean(nacre(*arguments))


if __name__ == "__main__":  # a longer run by hand: python tests/search/test_scope_fuzz.py 2000
    for number in range(int(sys.argv[1])):
        one_life(number)
