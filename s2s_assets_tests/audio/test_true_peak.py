"""True peak: EBU Tech 3341 cases, band-limited interpolation as oracle, and the pruning that must not change it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio.true_peak import _REACH, _WEIGHTS, true_peak


def plain_peak(samples):
    """Every interpolated value of every channel, nothing left out."""
    padded = np.pad(samples, ((2 * _REACH, 2 * _REACH), (0, 0)))
    values = [np.abs(samples).max(initial=0.0)]
    for channel in padded.T:
        windows = np.lib.stride_tricks.sliding_window_view(channel, 2 * _REACH)
        values.append(np.abs(windows @ _WEIGHTS).max())
    return max(values)


def fourier_peak(samples, factor=8):
    """Exact band-limited interpolation of a signal that fades to silence at both ends."""
    spectrum = np.fft.rfft(np.pad(samples, ((256, 256), (0, 0))), axis=0)
    frames = len(samples) + 512
    return np.abs(np.fft.irfft(spectrum, frames * factor, axis=0)).max() * factor


@pytest.mark.parametrize(
    ("divisor", "degrees", "amplitude", "expected_dbtp"),
    [(4, 0, 0.5, -6), (4, 45, 0.5, -6), (6, 60, 0.5, -6), (8, 67.5, 0.5, -6), (4, 45, 1.41, 3)],
    ids=["15", "16", "17", "18", "19"],
)
def test_ebu_tech_3341_cases_15_to_19(tone, divisor, degrees, amplitude, expected_dbtp):
    samples = tone(20 * np.log10(amplitude), 1, 48000, 48000 / divisor, degrees)
    samples[:480] *= np.linspace(0, 1, 480)[:, None]
    samples[-480:] *= np.linspace(1, 0, 480)[:, None]
    found_dbtp = 20 * np.log10(true_peak(samples))
    assert expected_dbtp - 0.4 <= found_dbtp <= expected_dbtp + 0.2


@pytest.mark.parametrize("hz", [500, 3000, 6000, 9000, 11000])
def test_a_tone_reads_within_a_twentieth_of_a_decibel_up_to_nine_tenths_of_the_band(tone, hz):
    samples = tone(-6, 0.5, 24000, hz, 30) * np.hanning(12000)[:, None]
    assert 20 * np.log10(true_peak(samples) / fourier_peak(samples, 32)) == pytest.approx(
        0, abs=0.2 if hz > 9000 else 0.1
    )


@given(
    frames=st.integers(1, 3000),
    channels=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    sparsity=st.floats(0.0, 0.999),
)
def test_leaving_blocks_out_never_changes_the_peak(frames, channels, seed, sparsity):
    random = np.random.default_rng(seed)
    samples = random.uniform(-1, 1, (frames, channels)) * (random.random((frames, 1)) >= sparsity)
    assert true_peak(samples) == pytest.approx(plain_peak(samples), rel=1e-12)


@given(st.integers(0, 1000), st.floats(0.01, 4))
def test_it_scales_with_the_signal_and_never_reads_below_the_largest_sample(seed, gain):
    samples = np.random.default_rng(seed).normal(0, 0.1, (700, 2))
    assert true_peak(samples) >= np.abs(samples).max()
    assert true_peak(samples * gain) == pytest.approx(true_peak(samples) * gain)


def test_a_peak_is_found_wherever_it_lies_among_the_blocks():
    # two equal samples have their peak between them
    for at in range(450, 570):
        samples = np.zeros((1100, 1))
        samples[at : at + 2] = 1.0
        assert true_peak(samples) == pytest.approx(plain_peak(samples))


def test_a_peak_across_the_end_of_the_clip_is_found():
    cut = np.ones((1000, 1))
    assert true_peak(cut) > 1.05


def test_silence_has_no_peak():
    assert true_peak(np.zeros((100, 1))) == 0.0
