"""What a brain makes of weeks whose right answers are known: lived through in a folder of their own, measured, and what that cost."""
