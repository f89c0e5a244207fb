"""Transcripts of agents, read into sessions: one module for each agent, one registry."""
