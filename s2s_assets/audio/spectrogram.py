"""What a clip looks like: the loudest samples along it, and its level over time and frequency.

The spectrogram takes Hann windows of about 25 ms (a power of two, in samples) that overlap by half or more; the power of a bin is
2 |X|² / (Σ w)², so that a sine of full scale reads -3.01 dBFS, as it does among the levels. Windows that fall into one
column, and bins into one row, are summed up by the loudest: a click of one sample stays visible in a minute's picture.
"""

import numpy as np

from s2s_assets.audio.clip import Samples
from s2s_assets.study import Floats, Ints

WINDOW_S = 0.025
FLOOR_DBFS = -120.0
_BLOCK = 256
"""Windows transformed at once, which bounds memory."""


def envelope(samples: Floats, parts: int) -> Floats:
    """Loudest magnitude of each of so many equal parts of one channel; fewer parts where there are fewer samples."""
    return np.asarray(np.maximum.reduceat(np.abs(samples), _edges(len(samples), parts)), dtype=np.float64)


def spectrogram_dbfs(samples: Samples, rate_hz: int, columns: int, rows: int) -> Floats:
    """Level over time and frequency of the loudest channel.

    Args:
        samples: Shape (frames, channels), at least one frame.
        rate_hz: Their rate.
        columns: At most so many, of equal parts of the time.
        rows: At most so many, of equal parts of 0 Hz to half the rate.

    Returns:
        Shape (rows, columns), dBFS of at least -120; the first row holds the lowest frequencies.
    """
    size = max(4, 2 ** round(np.log2(WINDOW_S * rate_hz)))
    # half a window of silence at either end: the first and the last sample stand in the middle of a window
    padded = np.pad(samples, ((size // 2, size // 2 + size), (0, 0)))
    starts = np.arange(0, len(samples), max(1, min(size // 2, len(samples) // columns)))
    bins = np.concatenate(
        [_powers(padded, starts[k : k + _BLOCK], size, rows) for k in range(0, len(starts), _BLOCK)], axis=1
    )
    powers = np.maximum.reduceat(bins, _edges(bins.shape[1], columns), axis=1)
    return np.asarray(10 * np.log10(np.maximum(powers, 10 ** (FLOOR_DBFS / 10))), dtype=np.float64)


def _powers(padded: Samples, starts: Ints, size: int, rows: int) -> Floats:
    """Power of windows, shape (rows, windows), of the channel that is loudest in each place."""
    window = np.hanning(size + 1)[:-1]
    frames = padded[starts[:, None] + np.arange(size)] * window[:, None]
    spectrum = np.abs(np.fft.rfft(frames, axis=1)).max(axis=2)
    powers = 2 * np.square(spectrum[:, : size // 2]) / window.sum() ** 2
    return np.asarray(np.maximum.reduceat(powers, _edges(size // 2, rows), axis=1).T, dtype=np.float64)


def _edges(length: int, parts: int) -> Ints:
    """Where each of so many equal parts begins."""
    return np.unique(np.linspace(0, length, max(1, parts), endpoint=False).astype(np.int64))
