"""Claude Code: `python -m tests.integration.claude_code [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.integration.conversations import Client, main, said
from tests.integration.scratch import Scratch


def say(place: Scratch, folder: Path, words: str, session: str = "", *, fork: bool = False) -> str:
    going_on = ["--resume", session, *(["--fork-session"] if fork else [])] if session else []
    return said(place.run("claude", "-p", "--output-format", "json", *going_on, words, cwd=folder), "session_id")


CLIENT = Client(
    "claude-code",
    ("@anthropic-ai/claude-code@2.1.325",),
    say,
    env={
        "ANTHROPIC_BASE_URL": "{url}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    },
    settings={
        ".claude.json": '{\n  "hasCompletedOnboarding": true\n}\n',
        ".claude/settings.json": '{\n\t"cleanupPeriodDays": 90,\n\t"includeCoAuthoredBy": false\n}',
    },
    made=(),
    hooks=True,
)

if __name__ == "__main__":
    sys.exit(main(CLIENT, sys.argv[1:]))
