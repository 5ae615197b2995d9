"""What stands around the audio in a file: a tag before it, and the length that its framing tells.

A decoder passes over a damaged Ogg page without an error, and the end of a file that was cut off looks like any other. The
last page of an Ogg stream says how many frames there are up to its end, the first frame of most MP3 files how many follow.
"""

_ID3_HEADER = 10
_OGG_HEADER = 27
_OGG_POSITION = slice(6, 14)
"""A page's granule position: frames up to its end, signed and little-endian."""
_OPUS_PRE_SKIP = slice(10, 12)
"""Frames at the start of an Opus stream that are not heard, counted from its name."""
_XING_SEARCH = 200
_XING_FLAGS, _XING_FRAMES = slice(4, 8), slice(8, 12)
_MPEG_1 = 3
_MP3_PADDING = 3
"""MP3 frames that an encoder adds at most at both ends together, which a decoder takes away."""


def after_id3(data: bytes) -> bytes | None:
    """What follows the ID3 tag that some programs put before audio of any format; None for a file without one."""
    if not data.startswith(b"ID3") or len(data) < _ID3_HEADER:
        return None
    size = sum((byte & 0x7F) << shift for byte, shift in zip(data[6:10], (21, 14, 7, 0), strict=True))
    return data[_ID3_HEADER + size :]


def least_frames(data: bytes) -> int:
    """The fewest frames that a whole Ogg or MP3 file decodes to; 0 where it does not say, and for other files."""
    return _ogg_frames(data) if data.startswith(b"OggS") else _mp3_frames(data)


def _ogg_frames(data: bytes) -> int:
    last = data[data.rfind(b"OggS") :]
    if len(last) < _OGG_HEADER:
        return 0
    opus = data.find(b"OpusHead", 0, 256)
    skipped = int.from_bytes(data[opus:][_OPUS_PRE_SKIP], "little") if opus >= 0 else 0
    return max(0, int.from_bytes(last[_OGG_POSITION], "little", signed=True) - skipped)


def _mp3_frames(data: bytes) -> int:
    head = data[:_XING_SEARCH]
    at = max(head.find(b"Xing"), head.find(b"Info"))
    if head[:1] != b"\xff" or at < 0 or not int.from_bytes(head[at:][_XING_FLAGS], "big") & 1:
        return 0
    samples_a_frame = 1152 if head[1] >> 3 & 3 == _MPEG_1 else 576
    count = int.from_bytes(head[at:][_XING_FRAMES], "big")
    return max(0, count - _MP3_PADDING) * samples_a_frame
