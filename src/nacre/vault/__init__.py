"""The only writer of user files."""
