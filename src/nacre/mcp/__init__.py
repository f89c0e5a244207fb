"""The official SDK around the tools: over stdin and stdout, and over HTTP inside the daemon."""
