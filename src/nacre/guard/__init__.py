"""What may be written at all: no secrets, no control characters."""
