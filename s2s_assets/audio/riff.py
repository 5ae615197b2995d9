"""RIFF sizes set right before a WAV file is decoded.

Programs that write WAV to a pipe cannot go back to fill in the sizes: they leave 0, 0xFFFFFFFF or 0x7FFFF000. A `data`
chunk whose size is 0 or more than the file holds is taken to reach to the end of the file. A size of 0 that is followed
by well-formed chunks up to the end is believed: that file has no audio. A writer that was cut off may leave a size from
long before its end: where more bytes follow the claimed audio than it has, and they are neither chunks nor a tag, they are
audio too.

A sample of fewer bits than its container stands in the container's high bits, the low ones zero (Microsoft's extensible wave
format descriptors, wValidBitsPerSample). A header that gives a sample's 24 bits where its container's 32 belong is set right
by the frame's size; of fewer bits, where that size is often untrue, the bits are believed.

RIFX is RIFF with big-endian numbers. RF64 keeps the sizes in 64 bits in a chunk `ds64`; where they are untrue, the file
becomes a plain RIFF.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

HEADER_SIZE = "header_size"
TRAILING_BYTES = "trailing_bytes"
_CHUNK = {b"RIFF": struct.Struct("<4sI"), b"RF64": struct.Struct("<4sI"), b"RIFX": struct.Struct(">4sI")}
"""Name and size of a chunk, by the file's own name."""
_CHUNK_HEADER = 8
_UNKNOWN = 0xFFFFFFFF
_DS64_DATA_SIZE = slice(8, 16)
_PCM = frozenset({0x0001, 0xFFFE})
"""Format tags of PCM and of the extensible form; floats of either fill their containers."""
_CONTAINER_BITS = 32
_VALID_BITS = range(17, 25)
"""Of a sample that 3 bytes would hold."""
_TAGS = (b"TAG", b"ID3", b"APETAGEX")
"""How the tags that some programs append begin."""


class Repaired(NamedTuple):
    """A WAV file whose sizes are true, and what was wrong with it."""

    data: bytes
    warnings: tuple[str, ...]


def repair_sizes(data: bytes) -> Repaired:
    """Return a RIFF file with true sizes; any other file as it is.

    Warnings: `header_size` where the size of `data` or of a sample was set right, `trailing_bytes` where a frame's worth of
    bytes or more after the audio are no chunk (they are not read).
    """
    found = _find_data(data)
    if found is None:
        return Repaired(data, ())
    start, claimed = found
    held, framed = len(data) - start, _with_container(data)
    lied = (HEADER_SIZE,) if framed is not data else ()
    if claimed > held or _understated(data, start, claimed):
        return Repaired(_with_sizes(framed, start, held), (HEADER_SIZE,))
    end = start + claimed + claimed % 2
    strays = len(data) - end >= _CHUNK_HEADER and not _are_chunks(data, end)
    return Repaired(framed, (*lied, TRAILING_BYTES) if strays else lied)


def _with_container(data: bytes) -> bytes:
    """The file with its samples as wide as their containers of 4 bytes; itself where they are, or have no such."""
    layout = struct.Struct(">HHIIHH" if data.startswith(b"RIFX") else "<HHIIHH")
    start = next((start for name, start, size in _chunks(data) if name == b"fmt " and size >= layout.size), None)
    if start is None or start + layout.size > len(data):
        return data
    tag, channels, rate, speed, frame, bits = layout.unpack_from(data, start)
    if tag not in _PCM or bits not in _VALID_BITS or 8 * frame != channels * _CONTAINER_BITS:
        return data
    fixed = bytearray(data)
    layout.pack_into(fixed, start, tag, channels, rate, speed, frame, _CONTAINER_BITS)
    return bytes(fixed)


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
    long_size = _UNKNOWN
    for name, start, size in _chunks(data):
        if name == b"data":
            return start, long_size if size == _UNKNOWN else size
        if name == b"ds64":
            long_size = int.from_bytes(data[start:][_DS64_DATA_SIZE], "little")
    return None


def _chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, place and claimed size of the payload of each chunk up to the end; of no file but a WAV any."""
    chunk = _CHUNK.get(data[:4])
    if chunk is None or data[8:12] != b"WAVE":
        return
    at = 12
    while at + _CHUNK_HEADER <= len(data):
        name, size = chunk.unpack_from(data, at)
        yield name, at + _CHUNK_HEADER, size
        at += _CHUNK_HEADER + size + size % 2


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
