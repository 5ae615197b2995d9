"""Seeds derived from names, so that a random choice depends on what it is for and on nothing else.

`seed("dai-s2s-st", "pairing", "epoch 1")` is the first 128 bits of SHA-256 over the names joined by NUL: equal in every
process and on every machine, whatever PYTHONHASHSEED, and independent between purposes.
"""

import hashlib

import numpy as np


def seed(*names: str | int) -> int:
    """A 128-bit seed from names, such as study, purpose and factor."""
    joined = "\0".join(str(n) for n in names).encode()
    return int.from_bytes(hashlib.sha256(joined).digest()[:16], "big")


def generator(*names: str | int) -> np.random.Generator:
    """A PCG64 generator seeded from names."""
    return np.random.Generator(np.random.PCG64(seed(*names)))
