"""Scripts and recordings: automated and human QA, one selected take a script, normalized audio."""
