"""The layers of checkpoints, promotion, and the turn before compaction."""
