"""What becomes of a memory that is no longer wanted: forgotten, purged, destroyed."""
