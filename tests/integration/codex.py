"""Codex: `python -m tests.integration.codex [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.conversations import Client, main, said
from tests.integration.scratch import Scratch

_HOW = ("--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust")  # what /hooks asks a person once


def say(place: Scratch, folder: Path, words: str, session: str = "", *, fork: bool = False) -> str:
    going_on = ["fork" if fork else "resume", session] if session else []
    return said(place.run("codex", "exec", *_HOW, *going_on, words, cwd=folder), "thread_id")


CLIENT = Client(
    "codex",
    ("@openai/codex@0.166.0",),
    say,
    env={},
    settings={
        ".codex/config.toml": """\
# mine
model = "stub-model"
model_provider = "stub"

[model_providers.stub]
name = "Stub"
base_url = "{url}/v1"
wire_api = "responses"   # the only one
"""
    },
    made=(".codex/hooks.json",),
    hooks=True,
)

if __name__ == "__main__":
    sys.exit(main(CLIENT, sys.argv[1:]))
