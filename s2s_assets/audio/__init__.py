"""Decode, trim, loudness and measures of one clip; used by prompts and responses."""
