"""Files that are written: exact to the code, and the same bytes every time."""

import io

import numpy as np
import pytest
import soundfile as sf
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio import Clip, decode, encode, encode_flac, encode_flac_pcm16, from_pcm16, pcm_sha256
from s2s_assets.audio.encoding import quantize


@pytest.mark.parametrize("container", ["flac", "wav"])
@pytest.mark.parametrize("bits", [16, 24])
@given(codes=st.lists(st.integers(-(2**23), 2**23 - 1), min_size=1, max_size=50))
def test_decoding_gives_exactly_the_rounded_samples(container, bits, codes):
    clip = Clip(np.array(codes)[:, None] / 2**23, 24000)
    decoded = decode(encode(clip, container, bits), "x")
    np.testing.assert_array_equal(decoded.samples, quantize(clip.samples, bits))


@given(st.floats(-1, 1 - 2**-23))
def test_rounding_is_to_the_nearest_code_without_dither(value):
    rounded = float(quantize(np.array([[value]]))[0, 0])
    assert abs(rounded - value) <= 2**-24
    assert (rounded * 2**23).is_integer()


def test_full_scale_is_held_at_the_largest_code():
    np.testing.assert_array_equal(quantize(np.array([1.0, 5.0, -1.0, -5.0])), [1 - 2**-23, 1 - 2**-23, -1.0, -1.0])


@pytest.mark.parametrize("container", ["flac", "wav"])
@pytest.mark.parametrize("rate_hz", [8000, 11025, 22050, 44100, 48000])
@pytest.mark.parametrize("channels", [1, 2, 5])
def test_rate_and_channels_are_kept_and_bytes_are_the_same_twice(babble, container, rate_hz, channels):
    clip = Clip(np.concatenate([babble(0.1, rate_hz, seed) for seed in range(channels)], axis=1), rate_hz)
    data = encode(clip, container)
    assert data == encode(clip, container)
    info = sf.info(io.BytesIO(data))
    assert (info.samplerate, info.channels, info.subtype, info.format) == (
        rate_hz,
        channels,
        "PCM_24",
        container.upper(),
    )


def test_a_flac_that_is_read_and_written_again_keeps_its_samples(babble):
    once = decode(encode_flac(Clip(babble(1), 24000)), "x")
    assert pcm_sha256(decode(encode_flac(once), "x")) == pcm_sha256(once)
    assert encode_flac(once) == encode_flac(Clip(babble(1), 24000))


@given(codes=st.lists(st.integers(-(2**15), 2**15 - 1), min_size=1, max_size=3000))
def test_raw_samples_give_the_same_file_as_the_clip_they_are(codes: list[int]) -> None:
    data = np.array(codes, "<i2").tobytes()
    assert encode_flac_pcm16(data, 24_000) == encode_flac(from_pcm16(data, 24_000), 16)
