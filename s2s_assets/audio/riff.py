"""RIFF sizes set right before a WAV file is decoded.

Programs that write WAV to a pipe cannot go back to fill in the sizes: they leave 0, 0xFFFFFFFF or 0x7FFFF000. A `data`
chunk whose size is 0 or more than the file holds is taken to reach to the end of the file. A size of 0 that is followed
by well-formed chunks up to the end is believed: that file has no audio. A writer that was cut off may leave a size from
long before its end: where more bytes follow the claimed audio than it has, and they are neither chunks nor a tag, they are
audio too.

RIFX is RIFF with big-endian numbers. RF64 keeps the sizes in 64 bits in a chunk `ds64`; where they are untrue, the file
becomes a plain RIFF.
"""

import struct
from typing import NamedTuple

HEADER_SIZE = "header_size"
TRAILING_BYTES = "trailing_bytes"
_CHUNK = {b"RIFF": struct.Struct("<4sI"), b"RF64": struct.Struct("<4sI"), b"RIFX": struct.Struct(">4sI")}
"""Name and size of a chunk, by the file's own name."""
_CHUNK_HEADER = 8
_UNKNOWN = 0xFFFFFFFF
_DS64_DATA_SIZE = slice(8, 16)
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
        return Repaired(_with_sizes(data, start, held), (HEADER_SIZE,))
    end = start + claimed + claimed % 2
    strays = len(data) - end >= _CHUNK_HEADER and not _are_chunks(data, end)
    return Repaired(data, (TRAILING_BYTES,) if strays else ())


def _with_sizes(data: bytes, start: int, held: int) -> bytes:
    """The file with its own size and that of its `data` chunk set right."""
    fixed, chunk = bytearray(data), _CHUNK[data[:4]]
    name = b"RIFF" if data[:4] == b"RF64" else data[:4]
    chunk.pack_into(fixed, 0, name, min(len(data) - _CHUNK_HEADER, _UNKNOWN))
    chunk.pack_into(fixed, start - _CHUNK_HEADER, b"data", min(held, _UNKNOWN))
    return bytes(fixed)


def _understated(data: bytes, start: int, claimed: int) -> bool:
    """Whether the claimed audio is followed by more of it than it holds itself."""
    end = start + claimed
    rest = len(data) - end
    if rest <= max(claimed, 1) or data.startswith(_TAGS, end):
        return False
    return not _are_chunks(data, end) and not _are_chunks(data, end + claimed % 2)


def _find_data(data: bytes) -> tuple[int, int] | None:
    """Where the payload of the first `data` chunk starts, and the size that its header claims."""
    chunk = _CHUNK.get(data[:4])
    if chunk is None or data[8:12] != b"WAVE":
        return None
    at, long_size = 12, _UNKNOWN
    while at + _CHUNK_HEADER <= len(data):
        name, size = chunk.unpack_from(data, at)
        at += _CHUNK_HEADER
        if name == b"data":
            return at, long_size if size == _UNKNOWN else size
        if name == b"ds64":
            long_size = int.from_bytes(data[at:][_DS64_DATA_SIZE], "little")
        at += size + size % 2
    return None


def _are_chunks(data: bytes, at: int) -> bool:
    """Whether everything from `at` to the end is whole chunks with printable names."""
    chunk = _CHUNK[data[:4]]
    while at < len(data):
        if at + _CHUNK_HEADER > len(data):
            return False
        name, size = chunk.unpack_from(data, at)
        if not all(0x20 <= byte < 0x7F for byte in name):
            return False
        at += _CHUNK_HEADER + size + size % 2
    return at - len(data) <= 1
