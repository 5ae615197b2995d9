"""Ordinal Bradley-Terry fits, cross-checks, clustered bootstrap, sandwich, Elo, ranks."""
