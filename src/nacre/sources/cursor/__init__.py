"""Cursor, both of its stores: the database of the IDE, and the transcripts that agents write next to it."""
