"""No secret reaches any file, name of a file, cache or error message, wherever it was said or stood."""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
import sys

import pytest
from tests.capture.talks import Desk, Said, add, claude

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def characters(count: int, alphabet: str = LETTERS, seed: str = "") -> str:
    """Random characters, the same each time: invented at run time, so that no scanner finds a secret here."""
    return "".join(random.Random(f"{count}{alphabet}{seed}").choices(alphabet, k=count))


SECRETS = {
    "openai": "sk-proj-" + characters(48, seed="o"),
    "anthropic": "sk-ant-api03-" + characters(80, seed="a"),
    "github": "ghp_" + characters(36, seed="g"),
    "gitlab": "glpat-" + characters(20, seed="l"),
    "aws": "AKIA" + characters(16, string.ascii_uppercase + "234567", seed="w"),
    "google": "AIza" + characters(35, seed="x"),
    "slack": "xoxb-" + characters(12, string.digits) + "-" + characters(24, seed="s"),
    "stripe": "sk_live_" + characters(24, seed="t"),
    "npm": "npm_" + characters(36, seed="n"),
    "hugging face": "hf_" + characters(34, string.ascii_letters, seed="h"),
    "telegram": characters(9, "123456789") + ":AA" + characters(33, seed="m"),
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + characters(43, seed="j"),
}
KEY_LINES = [characters(64, LETTERS + "+/", seed=str(line)) for line in range(6)]
PRIVATE_KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"])
IN_PROSE = {
    "the staging password is {}, please remember it": "hunter2-" + characters(6, seed="p"),
    "数据库口令是 {}，以后都用它": "Tiger#" + characters(5, seed="q"),
    "connect with postgres://app:{}@db.internal:5432/app": characters(12, seed="r"),
    "curl -u admin:{} https://db.internal": characters(12, seed="u"),
    "your verification code is {}": "483920",
}
VALUES = [*SECRETS.values(), *KEY_LINES, *IN_PROSE.values()]


@pytest.fixture
def told(desk: Desk) -> Desk:
    """Talks in which both sides say every secret."""
    said: list[Said] = []
    sentences = [f"we decided to keep the {kind} key {value} for the deployment" for kind, value in SECRETS.items()]
    sentences += [form.format(value) for form, value in IN_PROSE.items()]
    sentences += [f"here is the private key of the release server:\n{PRIVATE_KEY}\nuse it from now on"]
    for minute, words in enumerate(sentences):
        said.append((f"2026-03-02 09:{minute:02}:00", "user", words))
        said.append((f"2026-03-02 09:{minute:02}:30", "agent", f"Done. I noted it: {words}"))
    desk.claude(*said, cwd=f"/work/{SECRETS['github']}")
    desk.openclaw(*said, session=SECRETS["aws"] + "-1")
    desk.claude(*said[:4], session=SECRETS["openai"], project=f"-work-{SECRETS['npm']}")
    entries = [claude(*one, session="ids") | {"uuid": SECRETS["stripe"]} for one in said]
    add(desk.home / ".claude" / "projects" / "p" / "ids.jsonl", entries, said)
    (desk.home / ".claude" / "projects" / "p" / f"{SECRETS['gitlab']}.jsonl").mkdir()
    return desk


def nacre(desk: Desk, *arguments: str, stdin: str = "") -> tuple[int, str]:
    """Runs a command on its own; its exit code and everything it said."""
    env = {**os.environ, "HOME": str(desk.home), "NACRE_WORKSPACE": str(desk.workspace.root)}
    env |= {"NACRE_MODELS_PATH": str(desk.home / "none"), "NACRE_TIMEZONE": "UTC"}
    command = [sys.executable, "-m", "nacre", *arguments, "--now", "2026-03-02T12:00"]
    done = subprocess.run(command, env=env, input=stdin, capture_output=True, text=True, encoding="utf8", check=False)
    return done.returncode, done.stdout + done.stderr


def test_no_secret_is_written_or_told_by_any_command(told: Desk) -> None:
    github, aws = SECRETS["github"], SECRETS["aws"]
    hook = {"session_id": "x", "transcript_path": f"/nowhere/{SECRETS['slack']}.jsonl"}
    outputs = [
        nacre(told, "sync", "--dry-run", "--json"),
        nacre(told, "sync", "--list"),
        nacre(told, "sync"),
        nacre(told, "sync", "--json"),
        nacre(told, "checkpoint", aws),
        nacre(told, "checkpoint", SECRETS["openai"]),
        nacre(told, "checkpoint", "61871d67"),
        nacre(told, "checkpoint", github),
        nacre(told, "checkpoint", "-", stdin=json.dumps(hook)),
        nacre(told, "checkpoint", "-", stdin=f"the key is {github} and no other\n{PRIVATE_KEY}\n"),
        nacre(told, "checkpoint", "-", "--title", f"about {aws}", stdin="words"),
        nacre(told, "extract", "--auto", f"we decided to use {github} for every deployment from now on"),
        nacre(told, "classify", f"we use {aws}", "--json"),
        nacre(told, "classify", "--apply"),
        nacre(told, "index"),
    ]
    assert [code for code, _ in outputs] == [0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]
    anywhere = told.bytes_anywhere()
    said = "\n".join(text for _, text in outputs)
    for value in VALUES:
        for form in {value, value.lower()}:
            assert form.encode() not in anywhere, value
            assert form not in said.replace(f'"text": "we use {aws}"', ""), value
    assert "[redacted: github token]" in told.log("2026-03-02")


@pytest.mark.parametrize(
    ("said", "hidden"),
    [
        (("the database password is", "Quarz-Fuchs-19"), "Quarz"),
        (("I need the password of the NAS", "it's walnut-Heft-55, do not share it"), "walnut"),
        (("数据库的密码是", "qiutian2021"), "qiutian"),
        (("We will sell the Hamburg branch, I'd rather you didn't keep this.",), "Hamburg"),
        (("incognito: we will sell the Hamburg branch",), "Hamburg"),
        (("Wir verkaufen Hamburg. Bitte merk dir das nicht.",), "Hamburg"),
        (("We will sell the Hamburg branch.", "do not memorize"), "Hamburg"),
    ],
)
def test_secrets_across_messages_and_wishes_reach_neither_log_nor_checkpoint_nor_session_index(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, said: tuple[str, ...], hidden: str
) -> None:
    monkeypatch.setenv("NACRE_INDEX_SESSIONS", "true")
    words = ["We decided to use pnpm for every package.", *said, "The deadline of the release is 14 April 2026."]
    desk.claude(*[(f"2026-03-02 09:{minute:02}:00", "user", text) for minute, text in enumerate(words)])
    for command in (("sync",), ("checkpoint", "61871d67"), ("index",)):
        assert nacre(desk, *command)[0] == 0
    anywhere = desk.bytes_anywhere()
    assert hidden.encode() not in anywhere
    assert b"sessions.sqlite" in anywhere
    assert anywhere.count(b"pnpm") >= 3


@pytest.mark.parametrize("at_once", [True, False])
def test_a_wish_takes_back_what_the_session_index_took_in_before_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    monkeypatch.setenv("NACRE_INDEX_SESSIONS", "true")
    desk.claude(("2026-03-02 09:00:00", "user", "pnpm it is"), ("2026-03-02 09:01:00", "user", "we sell Hamburg"))
    if not at_once:
        nacre(desk, "index")
        assert b"Hamburg" in desk.bytes_anywhere()
    desk.claude(("2026-03-02 09:02:00", "user", "don't write that down"))
    nacre(desk, "index")
    anywhere = desk.bytes_anywhere()
    assert b"Hamburg" not in anywhere
    assert b"pnpm" in anywhere


def test_the_session_index_keeps_no_name_that_holds_a_secret(told: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_INDEX_SESSIONS", "true")
    assert nacre(told, "index")[0] == 0
    told.claude(("2026-03-02 11:00", "user", "and also gamma"), cwd=f"/work/{SECRETS['github']}")
    assert nacre(told, "index")[0] == 0
    anywhere = told.bytes_anywhere()
    assert b"and also gamma" in anywhere
    for value in VALUES:
        assert value.encode() not in anywhere, value
        assert value.lower().encode() not in anywhere, value
    assert "and also gamma" in nacre(told, "search", "gamma", "--corpus", "sessions")[1]


def test_a_session_that_is_named_by_a_secret_is_still_captured_only_once(told: Desk) -> None:
    told.sync("2026-03-02 12:00")
    logs = told.logs()
    assert len(told.headings()) == 4
    assert "project:redacted-github-token" in logs["2026-03-02.md"]
    assert told.sync("2026-03-02 12:00").sections == ()
    told.claude(
        ("2026-03-02 13:00", "user", "gamma"), ("2026-03-02 13:05", "user", "delta"), cwd=f"/work/{SECRETS['github']}"
    )
    (section,) = told.sync("2026-03-02 14:00").sections
    assert section.bullets == ("gamma", "delta")
    assert section.heading == "13:05 session:61871d67 | 2 messages | continued | project:redacted-github-token"
    told.workspace.cursors.unlink()
    assert told.sync("2026-03-02 14:00").sections == ()


def test_a_folder_named_by_a_secret_is_left_out_also_when_its_talk_goes_on(told: Desk) -> None:
    pattern = f"/work/{SECRETS['github']}"
    told.sync("2026-03-02 12:00", exclude=[pattern])
    told.claude(("2026-03-02 13:00", "user", "gamma"), ("2026-03-02 13:05", "user", "delta"), cwd=pattern)
    assert told.sync("2026-03-02 14:00", exclude=[pattern]).sections == ()
