"""Measures of whole clips, what is noticed about them, and what cannot be measured."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.audio import Clip, decode, measure
from s2s_assets.study import AudioError


def test_measures_of_a_tone_are_those_of_its_formula(tone):
    measures = measure(Clip(tone(-20, 2), 24000))
    assert measures.loudness_lufs == pytest.approx(-23.0, abs=0.05)
    assert measures.true_peak_dbtp == pytest.approx(-20.0, abs=0.01)
    assert measures.sample_peak_dbfs == pytest.approx(-20.0, abs=0.01)
    assert measures.speech_level_dbfs == pytest.approx(-23.01, abs=0.01)
    assert (measures.duration_s, measures.sample_rate_hz, measures.channels) == (2.0, 24000, 1)
    assert (measures.clipped_share, measures.warnings) == (0.0, ())


def test_human_speech_has_every_measure_and_they_are_json(speech):
    row = measure(decode((speech / "hello-world.flac").read_bytes(), "hello-world.flac")).as_row()
    assert json.loads(json.dumps(row, allow_nan=False)) == row
    assert all(value is not None for value in row.values())
    # libebur128 1.2.6 gives -15.6 LUFS
    assert row["loudness_lufs"] == pytest.approx(-15.6, abs=0.1)


@pytest.mark.parametrize(("bits", "top"), [(8, 127 / 128), (16, 32767 / 32768), (24, 1 - 2**-23), (32, 1 - 2**-31)])
def test_clipping_is_at_the_full_scale_of_the_format(wav, tone, bits, top):
    clipped = np.clip(1.5 * tone(0, 2, hz=997), -1, top)
    measures = measure(decode(wav(clipped, bits=bits), "x"))
    assert measures.clipped_share == pytest.approx(1 - np.arcsin(1 / 1.5) / (np.pi / 2), abs=0.01)
    assert "clipped" in measures.warnings


def test_silent_ends_do_not_dilute_the_clipped_share(wav, tone):
    clipped = np.clip(1.5 * tone(0, 1, hz=997), -1, 1)
    padded = np.concatenate([np.zeros((72000, 1)), clipped, np.zeros((72000, 1))])
    plain, long = (measure(decode(wav(x), "x")).clipped_share for x in (clipped, padded))
    assert long == pytest.approx(plain / 1.4, rel=0.02)


def test_a_loud_tone_below_full_scale_is_not_clipped(wav, tone):
    assert measure(decode(wav(tone(-0.5, 1)), "x")).clipped_share == 0


def test_channels_that_cancel_are_noticed_and_others_are_not(babble):
    left, other = babble(1), babble(1, seed=9)

    def noticed(right):
        return "anti_phase" in measure(Clip(np.concatenate([left, right], axis=1), 24000)).warnings

    assert noticed(-left)
    assert noticed(-0.8 * left)
    assert not noticed(left)
    assert not noticed(other)
    assert not noticed(np.zeros_like(left))


def test_warnings_of_decoding_are_kept_and_none_comes_twice(tone):
    clip = Clip(np.clip(tone(6, 1), -1, 1), 24000, ("header_size", "clipped"))
    assert measure(clip).warnings == ("header_size", "clipped")


@pytest.mark.parametrize(
    ("clip", "reason"),
    [
        (Clip(np.full((9000, 1), 0.1), 24000), "too short: 0.375 s"),
        (Clip(np.zeros((24000, 2)), 24000), "silent"),
        (Clip(np.full((24000, 1), 0.25), 24000), "silent"),
        (Clip(np.tile(np.array([[1e-5], [-1e-5]]), (12000, 1)), 24000), "too quiet"),
        (Clip(np.tile(np.array([[0.1], [-0.1]]), (9000, 6)), 24000), "6 channels"),
        (Clip(np.tile(np.array([[0.1], [-0.1]]), (9000, 1)), 3000), "3000 Hz"),
    ],
    ids=["short", "silent", "constant", "quiet", "channels", "rate"],
)
def test_what_cannot_be_measured_is_refused_for_its_own_reason(clip, reason):
    with pytest.raises(AudioError, match=reason):
        measure(clip)


@given(seed=st.integers(0, 200), channels=st.integers(1, 5), rate_hz=st.sampled_from([8000, 11025, 24000, 48000]))
def test_no_measure_is_ever_nan(seed, channels, rate_hz):
    random = np.random.default_rng(seed)
    samples = random.normal(0, 10 ** random.uniform(-4, 0), (rate_hz // 2, channels)) * (random.random(channels) > 0.3)
    try:
        row = measure(Clip(samples, rate_hz)).as_row()
    except AudioError:
        return
    json.dumps(row, allow_nan=False)
    assert row["true_peak_dbtp"] >= row["sample_peak_dbfs"] - 1e-9
