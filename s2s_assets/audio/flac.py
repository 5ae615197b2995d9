"""The length that a FLAC file's header claims, and the file with that claim taken out.

A FLAC written to a pipe claims 0 samples (unknown, which the format allows), and libsndfile stops at a claim that is too
small. Without the claim a decoder reads frames until there are none.
"""

from typing import NamedTuple

_STREAMINFO_FIELDS = slice(18, 26)
"""Rate (20 bits), channels (3), bits a sample (5) and total samples (36), big-endian."""
_TOTAL_MASK = (1 << 36) - 1


class Unclaimed(NamedTuple):
    """A FLAC file whose header claims no length, and the length that it did claim, 0 for unknown."""

    data: bytes
    claimed_frames: int


def take_out_claim(data: bytes) -> Unclaimed | None:
    """Return a FLAC file with an unknown length in its header; None for any other file."""
    if not data.startswith(b"fLaC") or len(data) < _STREAMINFO_FIELDS.stop:
        return None
    fields = int.from_bytes(data[_STREAMINFO_FIELDS], "big")
    cleared = bytearray(data)
    cleared[_STREAMINFO_FIELDS] = (fields & ~_TOTAL_MASK).to_bytes(8, "big")
    return Unclaimed(bytes(cleared), fields & _TOTAL_MASK)
