"""Work that runs by itself: when it is due, running it once, and what came of it."""
