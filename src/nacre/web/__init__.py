"""The local page: what memory knows, where it comes from, what changed, and what waits for an answer."""
