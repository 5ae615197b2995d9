"""Integrated loudness: EBU Tech 3341 cases, a plain twin in the frequency domain, and what must hold for any signal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio.loudness import block_powers, gated_loudness, loudness_lufs

RATES = [8000, 11025, 16000, 22050, 24000, 44100, 48000]
EBU = {
    1: [(-23, 20)],
    2: [(-33, 20)],
    3: [(-36, 10), (-23, 60), (-36, 10)],
    4: [(-72, 10), (-36, 10), (-23, 60), (-36, 10), (-72, 10)],
    5: [(-26, 20), (-20, 20.1), (-26, 20)],
}
STAGES_48_KHZ = (
    ((1.53512485958697, -2.69169619938640, 1.19839281085285), (1, -1.69065929318241, 0.73248077421585)),
    ((1, -2, 1), (1, -1.99004745483398, 0.99007225036621)),
)


def plain_loudness(samples, rate_hz):
    """BS.1770 by the book: the printed 48 kHz filters as a frequency response, blocks in a loop."""
    n = 1 << (len(samples) + rate_hz).bit_length()
    z = np.exp(-2j * np.pi * np.fft.rfftfreq(n, 1 / rate_hz) / 48000)
    gain = 1.0
    for b, a in STAGES_48_KHZ:
        gain = gain * (b[0] + b[1] * z + b[2] * z * z) / (a[0] + a[1] * z + a[2] * z * z)
    weighted = np.fft.irfft(np.fft.rfft(samples, n, axis=0) * gain[:, None], n, axis=0)[: len(samples)]
    blocks, j = [], 0
    while (stop := (j + 4) * rate_hz // 10) <= len(samples):
        block = weighted[j * rate_hz // 10 : stop]
        blocks.append(sum(np.mean(block[:, c] ** 2) for c in range(samples.shape[1])))
        j += 1
    loud = [p for p in blocks if -0.691 + 10 * np.log10(max(p, 1e-20)) > -70]
    if not loud:
        return None
    kept = [p for p in loud if 10 * np.log10(p) > 10 * np.log10(np.mean(loud)) - 10]
    return -0.691 + 10 * np.log10(np.mean(kept))


@pytest.mark.parametrize("rate_hz", RATES)
@pytest.mark.parametrize("case", EBU)
def test_ebu_tech_3341_cases_1_to_5(tone, case, rate_hz):
    mono = np.concatenate([tone(level, seconds, rate_hz) for level, seconds in EBU[case]])
    expected = -33 if case == 2 else -23
    assert loudness_lufs(np.repeat(mono, 2, axis=1), rate_hz) == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("rate_hz", [8000, 48000])
def test_ebu_tech_3341_case_6_weighs_surround_channels(tone, rate_hz):
    five = np.concatenate([tone(level, 20, rate_hz) for level in (-28, -28, -24, -30, -30)], axis=1)
    assert loudness_lufs(five, rate_hz) == pytest.approx(-23, abs=0.1)


@pytest.mark.parametrize("seconds", [0.4, 0.451, 0.55, 1.06, 3.333])
@pytest.mark.parametrize("rate_hz", [44100, 48000])
def test_agrees_with_the_plain_twin_whatever_the_last_partial_block(babble, rate_hz, seconds):
    stereo = np.concatenate([babble(seconds, rate_hz), babble(seconds, rate_hz, seed=5, level_db=-35)], axis=1)
    # at 44.1 kHz the high-pass of this filter design is 0.01 dB above the printed one
    assert loudness_lufs(stereo, rate_hz) == pytest.approx(plain_loudness(stereo, rate_hz), abs=0.02)


@pytest.mark.parametrize("seconds", [0.45, 0.451, 0.55, 0.95, 1.06])
def test_a_steady_tone_reads_the_same_at_any_length(tone, seconds):
    short, long = loudness_lufs(tone(-20, seconds), 24000), loudness_lufs(tone(-20, 10), 24000)
    assert short == pytest.approx(long, abs=0.02)


def test_two_equal_channels_are_three_decibels_louder_than_one(babble):
    mono = babble(2)
    difference = loudness_lufs(np.repeat(mono, 2, axis=1), 24000) - loudness_lufs(mono, 24000)
    assert difference == pytest.approx(10 * np.log10(2))


def test_four_channels_are_left_right_and_two_surrounds(babble):
    silent = np.zeros_like(babble(2))
    front = loudness_lufs(np.concatenate([babble(2), silent, silent, silent], axis=1), 24000)
    rear = loudness_lufs(np.concatenate([silent, silent, babble(2), silent], axis=1), 24000)
    assert rear - front == pytest.approx(10 * np.log10(1.41))


@given(gain_db=st.floats(-20, 40), seed=st.integers(0, 50))
def test_a_gain_of_x_decibels_raises_loudness_by_x(babble, gain_db, seed):
    samples = babble(1, 8000, seed, level_db=-35)
    powers = block_powers(samples, 8000)
    assert powers.min() * 100 > 10 ** (-7 + 0.0691)  # no block meets the absolute gate on the way
    louder = loudness_lufs(samples * 10 ** (gain_db / 20), 8000)
    assert louder == pytest.approx(loudness_lufs(samples, 8000) + gain_db, abs=1e-6)


@given(st.lists(st.floats(1e-12, 1.0), min_size=1, max_size=40))
def test_the_gates_leave_out_quiet_blocks_only(powers):
    found = gated_loudness(np.array(powers))
    if found is None:
        assert max(powers) <= 10 ** ((-70 + 0.691) / 10)
    else:
        assert found >= -0.691 + 10 * np.log10(np.mean(powers)) - 1e-9
        assert found <= -0.691 + 10 * np.log10(np.max(powers)) + 1e-9


def test_a_long_pause_hardly_changes_the_loudness(tone):
    alone = loudness_lufs(tone(-20, 10), 24000)
    paused = loudness_lufs(np.concatenate([tone(-20, 10), np.zeros((24000 * 20, 1))]), 24000)
    assert paused == pytest.approx(alone, abs=0.1)


@pytest.mark.parametrize("rate_hz", RATES)
def test_nothing_is_measured_below_400_ms_and_something_at_400_ms(tone, rate_hz):
    frames = -(-4 * rate_hz // 10)
    samples = tone(-20, 1, rate_hz)
    assert loudness_lufs(samples[: frames - 1], rate_hz) is None
    assert loudness_lufs(samples[:frames], rate_hz) == pytest.approx(-23.0, abs=0.5)


def test_below_the_absolute_gate_there_is_no_loudness(tone):
    assert loudness_lufs(tone(-80, 2), 24000) is None
