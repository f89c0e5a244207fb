"""OpenClaw, both generations: the same events, in files of lines (classic) or in a database (2026.9)."""
