"""Normalization is one gain and a trim, to the last bit; it meets the target or stops at the ceiling and says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio import Clip, decode, encode_flac, measure, normalize, pcm_sha256
from s2s_assets.audio.encoding import quantize
from s2s_assets.study import AudioError

LSB = 2**-23


def check_pure(clip, result):
    """The result is round(gain × the kept part), and the seconds trimmed are those that are gone."""
    start = round(result.trimmed_start_s * clip.rate_hz)
    stop = len(clip.samples) - round(result.trimmed_end_s * clip.rate_hz)
    expected = quantize(clip.samples[start:stop] * 10 ** (result.gain_db / 20))
    np.testing.assert_array_equal(result.clip.samples, expected)
    assert (result.clip.rate_hz, result.clip.channels) == (clip.rate_hz, clip.channels)


@pytest.mark.parametrize("rate_hz", [8000, 11025, 16000, 22050, 24000, 44100, 48000])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_every_rate_and_channel_count_meets_the_target_by_pure_gain(babble, rate_hz, channels):
    samples = np.concatenate([babble(1.2, rate_hz, seed, -40) for seed in range(channels)], axis=1)
    clip = Clip(samples, rate_hz)
    result = normalize(clip)
    check_pure(clip, result)
    assert result.after.loudness_lufs == pytest.approx(-23.0, abs=0.01)
    assert result.after == measure(result.clip)
    assert result.before == measure(clip)
    assert result.warnings == ()


@given(
    level_db=st.floats(-55, -3),
    target_lufs=st.floats(-40, -10),
    ceiling_dbtp=st.floats(-12, 0),
    seed=st.integers(0, 30),
    trim=st.booleans(),
)
def test_the_target_is_met_or_the_ceiling_is_touched(babble, level_db, target_lufs, ceiling_dbtp, seed, trim):
    clip = Clip(np.concatenate([np.zeros((4000, 1)), babble(1, 8000, seed, level_db)]), 8000)
    result = normalize(clip, target_lufs, ceiling_dbtp, trim)
    check_pure(clip, result)
    limited = "ceiling_limited" in result.warnings
    assert result.after.true_peak_dbtp <= ceiling_dbtp + 1e-4
    assert result.after.loudness_lufs <= target_lufs + 0.01
    if limited:
        assert result.after.true_peak_dbtp == pytest.approx(ceiling_dbtp, abs=1e-3)
    else:
        assert result.after.loudness_lufs == pytest.approx(target_lufs, abs=0.01)
    assert (result.trimmed_start_s > 0) == trim


def test_a_peak_between_samples_counts_for_the_ceiling(tone):
    samples = tone(-46, 3, 48000)
    samples[48000:48480] += tone(-6, 0.01, 48000, 6000, 67.5) * np.hanning(480)[:, None]
    result = normalize(Clip(samples, 48000), target_lufs=-16)
    assert "ceiling_limited" in result.warnings
    assert result.after.true_peak_dbtp == pytest.approx(-1.0, abs=1e-3)
    assert result.after.sample_peak_dbfs < -1.2


def test_the_gain_is_measured_after_trimming(tone):
    quiet_end = np.random.default_rng(0).normal(0, 2e-3, (5 * 24000, 1))
    clip = Clip(np.concatenate([tone(-40, 2), quiet_end]), 24000)
    trimmed, whole = normalize(clip), normalize(clip, trim=False)
    assert trimmed.trimmed_end_s == pytest.approx(4.8, abs=0.02)
    assert trimmed.gain_db < whole.gain_db - 0.1
    assert trimmed.after.loudness_lufs == pytest.approx(whole.after.loudness_lufs, abs=0.01)


def test_blocks_that_rise_above_the_absolute_gate_are_allowed_for(tone):
    # the second half is 5 dB below the gate at first, 9 dB below the first half
    clip = Clip(np.concatenate([tone(-63, 4), tone(-72, 4)]), 24000)
    result = normalize(clip, trim=False)
    assert result.gain_db != pytest.approx(-23.0 - result.before.loudness_lufs, abs=0.5)
    assert result.after.loudness_lufs == pytest.approx(-23.0, abs=0.01)


def test_clipped_audio_is_scaled_and_not_repaired(wav, tone):
    clip = decode(wav(np.clip(1.5 * tone(0, 2), -1, 1)), "x")
    result = normalize(clip)
    check_pure(clip, result)
    assert "clipped" in result.warnings
    assert result.before.clipped_share > 0.5
    assert result.after.clipped_share == 0


def test_a_float_file_beyond_full_scale_is_brought_below_it_unclipped(wav, tone):
    clip = decode(wav(2 * tone(0, 2, hz=997), bits=32, floats=True), "x")
    result = normalize(clip)
    check_pure(clip, result)
    assert result.after.loudness_lufs == pytest.approx(-23.0, abs=0.01)


def test_what_was_noticed_in_decoding_is_among_the_warnings(wav, babble):
    result = normalize(decode(wav(babble(1), size=0), "x"))
    assert result.warnings == ("header_size",)
    assert result.clip.warnings == ()


def test_the_encoded_result_is_the_result(babble):
    result = normalize(Clip(babble(1.5), 24000))
    decoded = decode(encode_flac(result.clip), "x")
    assert pcm_sha256(decoded) == result.after.pcm_sha256
    assert encode_flac(result.clip) == encode_flac(normalize(Clip(babble(1.5), 24000)).clip)


def test_the_source_is_not_written_to(babble):
    samples = babble(1)
    samples.flags.writeable = False
    normalize(Clip(samples, 24000))


def test_normalizing_again_changes_at_most_the_last_bit(babble):
    once = normalize(Clip(babble(2), 24000)).clip
    again = normalize(once)
    assert again.gain_db == pytest.approx(0.0, abs=1e-4)
    assert np.abs(again.clip.samples - once.samples).max() <= 4 * LSB


def test_a_click_that_would_be_inaudible_under_the_ceiling_is_refused():
    samples = np.zeros((24000, 1))
    samples[12000] = 1.0
    with pytest.raises(AudioError, match="under this ceiling: the result is too quiet"):
        normalize(Clip(samples, 24000), ceiling_dbtp=-40.0)


@pytest.mark.parametrize("name", ["hello-world.flac", "tt-weasels.flac"])
def test_human_speech_meets_the_target(speech, name):
    clip = decode((speech / name).read_bytes(), name)
    result = normalize(clip)
    check_pure(clip, result)
    assert result.after.loudness_lufs == pytest.approx(-23.0, abs=0.01)
