# Finds nacre and runs it: NACRE_COMMAND, the PATH, where pipx and uv put programs (which a desktop's PATH may lack), then the
# environment of the clone that this plugin lies in, or from which Claude Code copied it.
# A hook must never disturb the agent: without nacre, or with one that fails, it says nothing and all is well.

find_nacre() {
  for nacre in "${NACRE_COMMAND:-}" "$(command -v nacre 2>/dev/null)" "${HOME:-}/.local/bin/nacre"; do
    if [ -n "$nacre" ] && [ -x "$nacre" ]; then return 0; fi
  done
  plugin=${0%/*}/..
  copied_from=$(sed -n '/^  "nacre": {/,/^  }/s/.*"installLocation": *"\(.*\)".*/\1/p' "$plugin/../../../../known_marketplaces.json" 2>/dev/null)
  for clone in "$plugin/../../../.." "${copied_from:-$plugin}"; do
    nacre=$clone/.venv/bin/nacre
    if [ -x "$nacre" ]; then return 0; fi
  done
  return 1
}

if find_nacre; then
  if [ "${1:-}" != hook ]; then
    exec "$nacre" "$@"
  fi
  said=$("$nacre" "$@" 2>/dev/null) && [ -n "$said" ] && printf '%s\n' "$said"
  exit 0
fi

if [ "${1:-}" != hook ]; then
  echo "nacre was not found. Install it, or set NACRE_COMMAND to its path. 找不到 nacre；请安装，或用 NACRE_COMMAND 指定其路径。" >&2
  exit 127
fi
exit 0
