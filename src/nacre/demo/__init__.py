"""Two weeks of an invented user's sessions, and what Nacre makes of them: to look at before anything of your own is read."""
