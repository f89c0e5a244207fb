"""Nacre's plugin inside a real OpenClaw, offline, with a stub in the place of the model."""
