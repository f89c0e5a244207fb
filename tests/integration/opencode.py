"""opencode: `python -m tests.integration.opencode [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.conversations import Client, main, said
from tests.integration.scratch import Scratch


def say(place: Scratch, folder: Path, words: str, session: str = "", *, fork: bool = False) -> str:
    going_on = ["--session", session, *(["--fork"] if fork else [])] if session else []
    return said(place.run("opencode", "run", "--format", "json", *going_on, words, cwd=folder), "sessionID")


CLIENT = Client(
    "opencode",
    ("opencode-ai@1.18.33",),
    say,
    env={"OPENCODE_DISABLE_MODELS_FETCH": "1"},
    settings={
        ".config/opencode/opencode.jsonc": """\
{
  // mine
  "model": "stub/stub-model",
  "small_model": "stub/stub-model",
  "autoupdate": false,
  "share": "disabled",
  "provider": {
    "stub": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "{url}/v1", "apiKey": "none"},
      "models": {"stub-model": {"limit": {"context": 200000, "output": 4096}}},
    },
  },
}
"""
    },
    made=(".config/opencode/AGENTS.md",),
    hooks=False,
)

if __name__ == "__main__":
    sys.exit(main(CLIENT, sys.argv[1:]))
