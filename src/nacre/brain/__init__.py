"""Deciding what is worth keeping: what to extract, what kind of memory it is, what may become long-term."""
