"""Two weeks of an invented user's talks, and what Nacre makes of them: to look at before anything of your own is read."""
