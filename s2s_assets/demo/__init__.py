"""The embedded run: local systems under test and simulated raters with a known truth."""
