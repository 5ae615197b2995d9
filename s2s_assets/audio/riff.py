"""RIFF sizes set right before a WAV file is decoded.

Programs that write WAV to a pipe cannot go back to fill in the sizes: they leave 0, 0xFFFFFFFF or 0x7FFFF000. A `data`
chunk whose size is 0 or more than the file holds is taken to reach to the end of the file. A size of 0 that is followed
by well-formed chunks up to the end is believed: that file has no audio. A writer that was cut off may leave a size from
long before its end: where more bytes follow the claimed audio than it has, and they are neither chunks nor a tag, they are
audio too.
"""

import struct
from typing import NamedTuple

HEADER_SIZE = "header_size"
TRAILING_BYTES = "trailing_bytes"
_CHUNK = struct.Struct("<4sI")
_TAGS = (b"TAG", b"ID3", b"APETAGEX")
"""How the tags that some programs append begin."""


class Repaired(NamedTuple):
    """A WAV file whose sizes are true, and what was wrong with it."""

    data: bytes
    warnings: tuple[str, ...]


def repair_sizes(data: bytes) -> Repaired:
    """Return a RIFF file with true sizes; any other file as it is.

    Warnings: `header_size` where the size of `data` was set right, `trailing_bytes` where a frame's worth of bytes or
    more after the audio are no chunk (they are not read).
    """
    found = _find_data(data)
    if found is None:
        return Repaired(data, ())
    start, claimed = found
    held = len(data) - start
    if claimed > held or _understated(data, start, claimed):
        fixed = bytearray(data)
        fixed[4:8] = struct.pack("<I", min(len(data) - 8, 0xFFFFFFFF))
        fixed[start - 4 : start] = struct.pack("<I", min(held, 0xFFFFFFFF))
        return Repaired(bytes(fixed), (HEADER_SIZE,))
    end = start + claimed + claimed % 2
    strays = len(data) - end >= _CHUNK.size and not _are_chunks(data, end)
    return Repaired(data, (TRAILING_BYTES,) if strays else ())


def _understated(data: bytes, start: int, claimed: int) -> bool:
    """Whether the claimed audio is followed by more of it than it holds itself."""
    end = start + claimed
    rest = len(data) - end
    if rest <= max(claimed, 1) or data.startswith(_TAGS, end):
        return False
    return not _are_chunks(data, end) and not _are_chunks(data, end + claimed % 2)


def _find_data(data: bytes) -> tuple[int, int] | None:
    """Where the payload of the first `data` chunk starts, and the size that its header claims."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return None
    at = 12
    while at + _CHUNK.size <= len(data):
        name, size = _CHUNK.unpack_from(data, at)
        at += _CHUNK.size
        if name == b"data":
            return at, size
        at += size + size % 2
    return None


def _are_chunks(data: bytes, at: int) -> bool:
    """Whether everything from `at` to the end is whole chunks with printable names."""
    while at < len(data):
        if at + _CHUNK.size > len(data):
            return False
        name, size = _CHUNK.unpack_from(data, at)
        if not all(0x20 <= byte < 0x7F for byte in name):
            return False
        at += _CHUNK.size + size + size % 2
    return at - len(data) <= 1
