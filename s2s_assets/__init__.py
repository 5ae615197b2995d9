"""Ranks speech-to-speech models by what people prefer to hear."""
