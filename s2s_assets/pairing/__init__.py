"""The balanced design of pairs and slots, its quality, new epochs."""
