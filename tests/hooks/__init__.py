"""Hooks of agents: what they are told, and that they are never disturbed."""
