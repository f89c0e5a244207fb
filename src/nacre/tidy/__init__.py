"""Old days become weeks, and only what prevents a mistake becomes long-term memory."""
