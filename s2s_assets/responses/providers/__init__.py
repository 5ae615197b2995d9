"""One file per protocol, one contract for all."""
