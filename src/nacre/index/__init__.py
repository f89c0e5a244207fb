"""The derived index: one SQLite file with chunks, full text over our own tokens, and vectors. Deleting it loses nothing."""
