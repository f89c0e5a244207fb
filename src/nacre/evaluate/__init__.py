"""What a brain makes of weeks whose right answers are known: replayed in a folder of their own, measured, and what that cost."""
