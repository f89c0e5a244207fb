"""Forgetting: what is meant, what is related, taking it out, purging it; and what is known of one entry."""
