"""What words, scripts, blocks and passages are; pure functions over strings."""
