"""What words, scripts, blocks and passages are; pure functions over strings."""

from __future__ import annotations

# Raised when the same text would give other tokens or other chunks: an index made before is then built anew.
TOKENIZER_VERSION = 1
CHUNKER_VERSION = 3
