"""Connects agents: writes what they need into their settings, and takes exactly that back."""
