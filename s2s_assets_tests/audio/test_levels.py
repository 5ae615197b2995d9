"""Silence at the ends, noise floor and speech level of signals that are made of known parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio.levels import frame_powers, loudest_frame_dbfs, noise_floor_dbfs, silent_ends, speech_level_dbfs
from s2s_assets.audio.trim import kept_part


def silence(seconds, rate_hz=24000):
    return np.zeros((round(seconds * rate_hz), 1))


@pytest.mark.parametrize("rate_hz", [8000, 11025, 22050, 48000])
@pytest.mark.parametrize(("lead_s", "trail_s"), [(0.7, 1.1), (1.5, 0.0), (0.0, 3.0), (0.0, 0.0)])
def test_silence_is_measured_from_each_end(tone, rate_hz, lead_s, trail_s):
    samples = np.concatenate([silence(lead_s, rate_hz), tone(-20, 1, rate_hz), silence(trail_s, rate_hz)])
    lead, trail = silent_ends(samples, rate_hz)
    assert lead / rate_hz == pytest.approx(lead_s, abs=0.011)
    assert trail / rate_hz == pytest.approx(trail_s, abs=0.011)


def test_faint_noise_on_an_offset_is_silence(tone):
    noise = np.random.default_rng(0).normal(0, 1e-4, (24000, 1))
    samples = np.concatenate([noise, tone(-20, 1), noise]) + 0.1
    assert silent_ends(samples, 24000) == (24000, 24000)


def test_silence_needs_every_channel_to_be_silent(tone):
    late = np.concatenate([silence(1), tone(-20, 1)])
    early = np.concatenate([tone(-20, 1), silence(1)])
    assert silent_ends(np.concatenate([late, early], axis=1), 24000) == (0, 0)


def test_minus_50_dbfs_is_where_silence_ends(tone):
    just_above, just_below = tone(-46.9, 1), tone(-47.1, 1)
    assert silent_ends(just_above, 24000) == (0, 0)
    assert silent_ends(just_below, 24000) == (24000, 24000)


def test_noise_floor_and_speech_level_of_a_voice_over_noise(tone):
    samples = np.random.default_rng(2).normal(0, 1e-3, (6 * 24000, 1))
    for second in (1, 3, 5):
        samples[second * 24000 : second * 24000 + 18000] += tone(-17, 0.75)
    powers = frame_powers(samples, 24000)
    assert noise_floor_dbfs(powers) == pytest.approx(-60, abs=1.5)
    assert speech_level_dbfs(powers) == pytest.approx(-20, abs=0.5)


def test_digital_silence_is_not_noise(tone):
    noise = np.random.default_rng(3).normal(0, 1e-3, (24000, 1))
    powers = frame_powers(np.concatenate([silence(5), noise, tone(-20, 1), silence(5)]), 24000)
    assert noise_floor_dbfs(powers) == pytest.approx(-60, abs=1.5)


def test_nothing_but_a_constant_has_neither_floor_nor_level():
    powers = frame_powers(np.full((24000, 1), 0.25), 24000)
    assert noise_floor_dbfs(powers) is None
    assert speech_level_dbfs(powers) is None


def test_a_closely_trimmed_human_sentence_has_the_floor_of_its_pauses(speech):
    from s2s_assets.audio import decode, measure

    measures = measure(decode((speech / "tt-weasels.flac").read_bytes(), "tt-weasels.flac"))
    assert measures.noise_floor_dbfs < -50
    assert measures.speech_level_dbfs == pytest.approx(-15, abs=3)


@given(lead=st.floats(0, 3), active=st.floats(0.01, 1), trail=st.floats(0, 3))
def test_trimming_leaves_two_tenths_of_silence_and_what_can_be_measured(tone, lead, active, trail):
    rate_hz = 8000
    samples = np.concatenate([silence(lead, rate_hz), tone(-10, active, rate_hz), silence(trail, rate_hz)])
    kept = kept_part(samples, rate_hz)
    assert 0 <= kept.start <= kept.stop <= len(samples)
    assert not samples[: kept.start].any()
    assert not samples[kept.stop :].any()
    assert kept.stop - kept.start >= min(len(samples), 0.4 * rate_hz)
    lead_left, trail_left = silent_ends(samples[kept], rate_hz)
    if kept.stop - kept.start > 0.4 * rate_hz + 1:
        assert max(lead_left, trail_left) <= 0.211 * rate_hz


def test_a_clip_that_is_quiet_throughout_is_not_trimmed(tone):
    assert kept_part(tone(-60, 2), 24000) == slice(0, 48000)


def test_the_loudest_frame_is_found_wherever_it_is(tone):
    samples = np.concatenate([silence(1), tone(-20, 0.01), silence(1)])
    assert loudest_frame_dbfs(samples, 24000) == pytest.approx(-23.01, abs=0.05)
    assert loudest_frame_dbfs(silence(1) + 0.5, 24000) == float("-inf")  # a constant is no sound
    assert loudest_frame_dbfs(np.array([[0.5], [-0.5]]), 24000) == pytest.approx(-6.02, abs=0.01)
