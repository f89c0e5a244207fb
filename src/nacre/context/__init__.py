"""What a new session is given."""
