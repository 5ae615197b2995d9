"""The envelope and the spectrogram of signals whose level, place and frequency are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio import FLOOR_DBFS, envelope, spectrogram_dbfs


def slow_envelope(samples, parts):
    """The same, a part at a time."""
    edges = sorted({int(len(samples) * k / parts) for k in range(parts)})
    return [max(abs(samples[a:b])) for a, b in zip(edges, [*edges[1:], len(samples)], strict=True)]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.integers(1, 80))
def test_the_envelope_has_the_loudest_of_every_part(samples, parts):
    found = envelope(np.array(samples), parts)
    assert found.tolist() == slow_envelope(np.array(samples), parts)
    assert found.max() == max(map(abs, samples))


@pytest.mark.parametrize("rate_hz", [8000, 16000, 24000, 48000])
@pytest.mark.parametrize("hz", [300, 1000, 3100])
def test_a_tone_stands_at_its_frequency_with_its_level(tone, rate_hz, hz):
    rows = 100
    found = spectrogram_dbfs(tone(-20, 1.0, rate_hz, hz), rate_hz, 50, rows)
    assert found.shape == (rows, 50)
    loudest = found[:, 5:45].argmax(axis=0)
    # a row is half the rate over 100; the tone may lie on the edge of two
    assert np.abs((loudest + 0.5) * rate_hz / 2 / rows - hz).max() <= rate_hz / 2 / rows
    # Hann: a tone between two bins reads up to 1.42 dB low
    assert found[:, 5:45].max(axis=0) == pytest.approx(-20 - 3.01 - 0.71, abs=0.75)


def test_time_runs_from_left_to_right(tone):
    samples = np.concatenate([np.zeros((12000, 1)), tone(-20, 0.5, 24000)])
    found = spectrogram_dbfs(samples, 24000, 100, 20).max(axis=0)
    assert found[:45].max() == FLOOR_DBFS
    assert found[55:].min() > -40


def test_a_click_stays_visible_in_a_minute(tone):
    samples = np.zeros((60 * 16000, 2))
    samples[40 * 16000, 1] = 0.9
    found = spectrogram_dbfs(samples, 16000, 300, 30)
    (at,) = np.unique(np.nonzero(found > FLOOR_DBFS)[1])
    assert at == 200


def test_the_loudest_channel_counts_even_where_two_cancel(tone):
    left = tone(-20, 0.5)
    both = spectrogram_dbfs(np.concatenate([left, -left, 0 * left], axis=1), 24000, 40, 40)
    assert both == pytest.approx(spectrogram_dbfs(left, 24000, 40, 40))


@given(st.integers(1, 3000), st.integers(1, 700), st.integers(1, 300))
def test_any_length_fits_into_any_picture(frames, columns, rows):
    found = spectrogram_dbfs(np.full((frames, 1), 0.5), 8000, columns, rows)
    assert 1 <= found.shape[0] <= rows
    assert 1 <= found.shape[1] <= columns
    assert np.isfinite(found).all()
    assert found.min() >= FLOOR_DBFS


@pytest.mark.parametrize("rate_hz", [1, 2, 40, 100, 768_000])
@pytest.mark.parametrize("frames", [1, 5000])
def test_any_rate_that_a_file_claims_has_a_picture(rate_hz, frames):
    found = spectrogram_dbfs(np.random.default_rng(1).normal(0, 0.1, (frames, 1)), rate_hz, 64, 32)
    assert 1 <= found.shape[0] <= 32
    assert 1 <= found.shape[1] <= 64
    assert np.isfinite(found).all()


def test_windows_are_transformed_in_blocks_as_they_would_be_one_by_one(tone):
    rng = np.random.default_rng(3)
    samples, size, rate_hz = rng.normal(0, 0.1, (9000, 1)), 256, 8000
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    padded = np.concatenate([np.zeros(size // 2), samples[:, 0], np.zeros(2 * size)])
    one_by_one = [np.abs(np.fft.rfft(padded[k : k + size] * window))[: size // 2] for k in range(9000)]
    expected = 10 * np.log10(2 * np.square(one_by_one).T / window.sum() ** 2)
    found = spectrogram_dbfs(samples, rate_hz, 9000, size // 2)
    np.testing.assert_allclose(found, np.maximum(expected, FLOOR_DBFS), atol=1e-6)
