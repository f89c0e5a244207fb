"""Texts to vectors: a model on this machine, an OpenAI-compatible server, or none."""
