"""Integrated loudness by ITU-R BS.1770-5, as libebur128 measures it.

Each channel passes the K-weighting (a high shelf and a high-pass as two biquads, coefficients at the file's own rate by
pyloudnorm's `DeMan` designs, which equal libebur128's). The power of the weighted signal over blocks of 400 ms that
start every 100 ms, channels weighted by G, is

    z_j = Σ_c G_c · mean(y_c²),    L_j = -0.691 + 10 log10 z_j.

Blocks at or below -70 LUFS are left out; of the rest, those at or below the loudness of their mean power less 10 LU are
left out too; the integrated loudness is that of the mean power of what remains.

Only whole blocks count. (pyloudnorm 0.2.0 rounds their number up and divides the last, partial one by a whole block's
length, which reads up to 0.3 LU low on short clips; so its filters are used, and its meter is not.) Channels are taken
as L R C Ls Rs, four of them as L R Ls Rs; a surround channel weighs 1.41. One channel is one loudspeaker: the same
signal on two channels is 3.01 LU louder.
"""

from functools import lru_cache

import numpy as np

from s2s_assets.audio.clip import Samples
from s2s_assets.study import Floats

HOPS_A_SECOND = 10
HOPS_A_BLOCK = 4
MAX_CHANNELS = 5
MIN_RATE_HZ = 4000
ABSOLUTE_GATE_LUFS = -70.0
RELATIVE_GATE_LU = -10.0
_OFFSET_LU = -0.691
_WEIGHTS = {1: (1.0,), 2: (1.0, 1.0), 3: (1.0, 1.0, 1.0), 4: (1.0, 1.0, 1.41, 1.41), 5: (1.0, 1.0, 1.0, 1.41, 1.41)}


def block_powers(samples: Samples, rate_hz: int) -> Floats:
    """Weighted power z_j of every whole 400 ms block, shape (blocks,); empty below 0.4 s.

    `samples` has 1 to 5 channels and a rate of at least 4 kHz.
    """
    hops = len(samples) * HOPS_A_SECOND // rate_hz
    if hops < HOPS_A_BLOCK:
        return np.zeros(0)
    edges = np.arange(hops + 1) * rate_hz // HOPS_A_SECOND
    # scipy.signal takes longer to load than all else here, and most commands measure nothing
    from scipy.signal import sosfilt

    weighted = sosfilt(_k_weighting(rate_hz), samples[: edges[-1]].T, axis=-1)
    energy = np.add.reduceat(_WEIGHTS[samples.shape[1]] @ np.square(weighted), edges[:-1])
    sums: Floats = np.convolve(energy, np.ones(HOPS_A_BLOCK), "valid")
    return sums / (edges[HOPS_A_BLOCK:] - edges[:-HOPS_A_BLOCK])


def gated_loudness(powers: Floats) -> float | None:
    """Integrated loudness in LUFS of blocks with these powers; None where no block is above -70 LUFS."""
    audible = powers[powers > _power(ABSOLUTE_GATE_LUFS)]
    if not len(audible):
        return None
    kept = audible[audible > audible.mean() * 10 ** (RELATIVE_GATE_LU / 10)]
    return float(_OFFSET_LU + 10 * np.log10(kept.mean()))


def loudness_lufs(samples: Samples, rate_hz: int) -> float | None:
    """Integrated loudness in LUFS; None below 0.4 s and where no block is above -70 LUFS."""
    return gated_loudness(block_powers(samples, rate_hz))


def _power(lufs: float) -> float:
    return float(10 ** ((lufs - _OFFSET_LU) / 10))


@lru_cache(maxsize=32)
def _k_weighting(rate_hz: int) -> Floats:
    """The two biquads at a rate, shape (2, 6): b0 b1 b2 a0 a1 a2."""
    import pyloudnorm

    shelf = pyloudnorm.IIRfilter(3.99984385397, 0.7071752369554193, 1681.9744509555319, rate_hz, "high_shelf_DeMan")
    high_pass = pyloudnorm.IIRfilter(0.0, 0.5003270373253953, 38.13547087613982, rate_hz, "high_pass_DeMan")
    return np.array([[*stage.b, *stage.a] for stage in (shelf, high_pass)])
