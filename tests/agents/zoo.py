"""Settings files as they lie on people's machines, and as they should not: what each agent's files look like before we come."""

from __future__ import annotations

import json
from pathlib import Path

CLAUDE = """{
  "numStartups": 34,
  "tipsHistory": {"new-user-warmup": 12},
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/",
      "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}
    }
  },
  "projects": {"/home/ada/shop": {"mcpServers": {}, "history": []}}
}
"""
HOOKS = """{
  // formatting after every edit
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [{"type": "command", "command": "prettier --write"}],
      },
    ],
    "Stop": [
      {"hooks": [{"type": "command", "command": "notify-send done"}]}, /* loud */
      // {"hooks": []}
    ],
  },
  "permissions": {"allow": ["Bash(git:*)"]}, // trailing
}
"""
OLDER = """{
    "mcpServers": {
        "nacre": {"command": "/old/venv/bin/nacre", "args": ["mcp", "--old"]},
        "other": {"command": "npx"}
    },
    "hooks": {"SessionStart": [
        {"matcher": "startup", "hooks": [{"type": "command", "command": "/old/bin/nacre hook SessionStart --agent claude-code", "timeout": 60}]},
        {"hooks": [{"type": "command", "command": "mine"}]}
    ]}
}
"""
CODEX = """# Codex, as I like it
model = "gpt-5"            # the big one
approval_policy = 'on-request'

[mcp_servers."docs.example"]   # a key with a dot
command = "npx"
args = [
  "-y",
  "docs-mcp",  # pinned elsewhere
]

[mcp_servers."docs.example".env]
"KEY WITH SPACE" = "中文 ünïcode"

[projects."/home/ada/my.project"]
trust_level = "trusted"

[tui]
notifications = true
"""
OPENCLAW = """// OpenClaw, edited by hand
{
  agents: {
    defaults: { workspace: "~/.openclaw/workspace", }, // mine
    list: [ { id: 'main', default: true } ],
  },
  /* channels
     come later */
  channels: { telegram: { enabled: false, botToken: '${TELEGRAM}' } },
  mcp: { servers: { context7: { command: "uvx", args: ["context7-mcp"], }, }, },
  plugins: { slots: { memory: "memory-core" }, allow: ["telegram"], },
}
"""
OPENCODE_2 = """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "servers": {
      "jira": {"type": "remote", "url": "https://jira.example.com/mcp"}, // work
    }
  }
}"""


def windows(text: str) -> str:
    return text.replace("\n", "\r\n")


def huge() -> str:
    projects = {
        f"/home/ada/p{n}": {"history": [{"display": f"ask {n} “quoted” " + "x" * 200}] * 5} for n in range(3000)
    }
    return json.dumps({"numStartups": 1, "projects": projects, "mcpServers": {}}, indent=2)


# Each animal: where it lives in the home folder, and its bytes.
ZOO: dict[str, dict[str, str]] = {
    "nothing at all": {},
    "claude with other servers": {".claude.json": CLAUDE, ".claude/settings.json": HOOKS},
    "windows line ends": {".claude.json": windows(CLAUDE), ".claude/settings.json": windows(HOOKS), ".codex/config.toml": windows(CODEX)},
    "byte-order marks": {".claude.json": "\ufeff" + CLAUDE, ".codex/config.toml": "\ufeff" + CODEX, ".gemini/settings.json": "\ufeff{}"},
    "tabs": {".cursor/mcp.json": '{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": "x"\n\t\t}\n\t}\n}\n', ".gemini/settings.json": '{\n\t// theme\n\t"ui": {}\n}'},
    "empty files": {".claude.json": "", ".claude/settings.json": "", ".codex/config.toml": "", ".codex/hooks.json": "\n", ".cursor/mcp.json": "", ".cursor/hooks.json": "  ", ".gemini/settings.json": ""},
    "empty objects": {".claude.json": "{}", ".claude/settings.json": "{}\n", ".cursor/mcp.json": "{ }", ".cursor/hooks.json": "{\n}\n", ".gemini/settings.json": '{"mcpServers":{}}', ".config/opencode/opencode.json": "{}"},
    "only comments": {".gemini/settings.json": "// nothing yet\n", ".claude/settings.json": "{\n  // nothing yet\n}\n", ".codex/config.toml": "# nothing yet"},
    "one line": {".claude.json": '{"numStartups":1,"mcpServers":{"a":{"command":"x"}},"projects":{}}', ".claude/settings.json": '{"hooks":{"Stop":[{"hooks":[]}]}}'},
    "no final newline": {".claude.json": CLAUDE.rstrip(), ".codex/config.toml": CODEX.rstrip(), ".cursor/mcp.json": '{"mcpServers": {}}'},
    "an older nacre": {".claude.json": OLDER, ".claude/settings.json": OLDER, ".cursor/mcp.json": OLDER, ".gemini/settings.json": OLDER, ".codex/config.toml": CODEX + '\n[mcp_servers.nacre]\ncommand = "/old/nacre"\nargs = ["mcp"]\n'},
    "names twice": {".claude.json": '{"mcpServers": {"a": 1}, "mcpServers": {"b": {"command": "x"}}}', ".claude/settings.json": '{"hooks": {}, "hooks": {"Stop": []}}'},
    "codex of many kinds": {".codex/config.toml": CODEX, ".codex/hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}'},
    "inline codex": {".codex/config.toml": 'mcp_servers = { a = { command = "x", args = [] } } # one line\nmodel = "m"\n'},
    "openclaw by hand": {".openclaw/openclaw.json": OPENCLAW},
    "opencode, one level further in": {".config/opencode/opencode.jsonc": OPENCODE_2},
    "cursor's own hooks": {".cursor/hooks.json": '{\n  "version": 1,\n  "hooks": {\n    "stop": [{"command": "./audit.sh"}]\n  }\n}\n'},
    "odd names": {".claude.json": '{"mcpServers": {"a.b": {}, "q\\"uote": {}, "中文": {}, "": {}, "__proto__": {}}}', ".codex/config.toml": '["a.b"]\n"c d" = 1\n[mcp_servers.\'x"y\']\ncommand = "z"\n'},
    "a huge file": {".claude.json": huge()},
}  # fmt: skip


def settle(home: Path, animal: dict[str, str]) -> None:
    """Put the files into a home folder."""
    for name, text in animal.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
