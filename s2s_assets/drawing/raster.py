"""Numbers as a picture of many small cells, too many for SVG: a PNG with a palette of its own.

The palette runs from near black over violet, red and orange to pale yellow. Its lightness only rises, so that it reads
in grey and by readers who see colours otherwise.
"""

import struct
import zlib
from itertools import chain

import numpy as np
from numpy.typing import NDArray

_STOPS = ((6, 6, 24), (62, 16, 92), (136, 34, 106), (206, 68, 70), (246, 134, 36), (250, 208, 100), (252, 253, 216))
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def heat_png(values: NDArray[np.float64], low: float, high: float) -> bytes:
    """Numbers from `low` (dark) to `high` (light) as a PNG with a pixel a number.

    Args:
        values: Shape (rows, columns), finite; the first row is drawn at the top.
        low: This and less is the darkest colour.
        high: This and more is the lightest.
    """
    shades = np.clip(np.rint((values - low) / (high - low) * 255), 0, 255).astype(np.uint8)
    rows, columns = shades.shape
    # every line begins with its filter: none
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), shades], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", _palette()), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def _palette() -> bytes:
    places = np.linspace(0, len(_STOPS) - 1, 256)
    channels = [np.interp(places, range(len(_STOPS)), stops) for stops in zip(*_STOPS, strict=True)]
    return bytes(chain.from_iterable(np.rint(np.stack(channels, axis=1)).astype(np.uint8).tolist()))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
