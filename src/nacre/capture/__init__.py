"""What was said becomes the day's log: once, without secrets, in its own day."""
