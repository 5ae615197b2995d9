"""Raw PCM, one-channel form and resampling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio import Clip, from_pcm16, mono, pcm16, pcm16_sha256, pcm_sha256, resample


@given(st.binary(max_size=400).filter(lambda data: len(data) % 4 == 0), st.sampled_from([1, 2]))
def test_pcm_of_16_bits_comes_back_byte_for_byte(data, channels):
    clip = from_pcm16(data, 24000, channels)
    assert pcm16(clip.samples) == data
    assert clip.warnings == ()


@given(st.binary(max_size=400).filter(lambda data: len(data) % 2 == 0), st.sampled_from([0, 1 << 14, (1 << 15) + 1]))
def test_the_hash_of_raw_pcm_is_that_of_its_samples(data, more):
    data += bytes(range(256)) * (more // 128)
    assert pcm16_sha256(data) == pcm_sha256(from_pcm16(data, 24000))


def test_a_frame_that_is_not_whole_is_left_out_and_noticed():
    clip = from_pcm16(b"\x01\0\x02\0\x03", 24000, 2)
    assert (clip.samples.shape, clip.warnings) == ((1, 2), ("partial_frame",))


def test_samples_beyond_full_scale_are_held_and_do_not_wrap():
    assert pcm16(np.array([[2.0], [-2.0], [1.0], [0.49 / 2**15]])) == b"\xff\x7f\x00\x80\xff\x7f\x00\x00"


@pytest.mark.parametrize("to_hz", [8000, 16000, 22050, 48000])
def test_resampling_keeps_length_level_and_pitch(tone, to_hz):
    clip = Clip(np.repeat(tone(-20, 1.5, 24000, 700), 2, axis=1), 24000, ("header_size",))
    other = resample(clip, to_hz)
    assert other.duration_s == pytest.approx(1.5, abs=1 / to_hz)
    assert (other.rate_hz, other.channels, other.warnings) == (to_hz, 2, ("header_size",))
    middle = slice(to_hz // 4, to_hz)
    np.testing.assert_allclose(other.samples[middle, 0], tone(-20, 1.5, to_hz, 700)[middle, 0], atol=1e-5)


def test_resampling_to_the_same_rate_changes_nothing(tone):
    clip = Clip(tone(-20, 1), 24000)
    assert resample(clip, 24000) is clip


def test_resampling_twice_gives_the_same_bytes(babble):
    clip = Clip(babble(1), 24000)
    assert pcm_sha256(resample(clip, 16000)) == pcm_sha256(resample(clip, 16000))


def test_one_channel_is_the_mean_of_all(babble):
    left, right = babble(1), babble(1, seed=2)
    both = Clip(np.concatenate([left, right], axis=1), 24000)
    np.testing.assert_allclose(mono(both).samples, (left + right) / 2)
    assert mono(Clip(left, 24000)).samples is left


def test_channels_that_cancel_give_the_stronger_one(babble):
    left = babble(1)
    both = Clip(np.concatenate([left, -1.1 * left], axis=1), 24000)
    np.testing.assert_array_equal(mono(both).samples, -1.1 * left)


def test_the_hash_tells_samples_apart_and_not_signs_of_zero():
    def of(values):
        return pcm_sha256(Clip(np.array(values)[:, None], 24000))

    assert of([0.0, 0.5]) == of([-0.0, 0.5])
    assert len({of([0.0, 0.5]), of([0.5, 0.0]), of([0.0]), of([0.0, 0.5, 0.0])}) == 4
