"""The agents that can be connected, one module each."""
