"""Memories from elsewhere: checkpoints, notes of agents, OpenClaw's settings, chat exports. Nothing is overwritten."""
