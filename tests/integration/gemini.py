"""Gemini CLI: `python -m tests.integration.gemini [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.conversations import Client, main, said
from tests.integration.scratch import Scratch

_HOW = ("-m", "gemini-2.5-flash", "-o", "json", "--approval-mode", "yolo")  # a named model asks no router which to take


def say(place: Scratch, folder: Path, words: str, session: str = "", *, fork: bool = False) -> str:
    going_on = ["--resume", session] if session else []
    return said(place.run("gemini", *_HOW, *going_on, "-p", words, cwd=folder), "session_id")


CLIENT = Client(
    "gemini",
    ("node@24", "@google/gemini-cli@0.61.0"),
    say,
    env={"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    settings={
        ".gemini/settings.json": """\
{
  // mine
  "general": {"enableAutoUpdate": false},
  "security": {"auth": {"selectedType": "gemini-api-key"}}
}
"""
    },
    made=(".gemini/GEMINI.md",),
    hooks=False,
    forks=False,
)

if __name__ == "__main__":
    sys.exit(main(CLIENT, sys.argv[1:]))
