"""The automated check against the study's limits."""

from dataclasses import replace

import pytest

from s2s_assets.audio import Measures
from s2s_assets.prompts.qa import qa_checks, qa_reasons
from s2s_assets.study import QaLimits

GOOD = Measures(
    duration_s=3.0,
    sample_rate_hz=16000,
    channels=1,
    loudness_lufs=-23.0,
    true_peak_dbtp=-5.0,
    sample_peak_dbfs=-5.2,
    leading_silence_s=0.1,
    trailing_silence_s=0.1,
    clipped_share=0.0,
    noise_floor_dbfs=-60.0,
    speech_level_dbfs=-22.0,
    pcm_sha256="0" * 64,
    warnings=(),
)


def test_a_good_recording_passes():
    assert qa_reasons(GOOD, "clean", QaLimits()) == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"duration_s": 0.3}, "duration 0.30 s, at least 0.4 s"),
        ({"duration_s": 121.0}, "duration 121.00 s, at most 120 s"),
        ({"clipped_share": 0.0234}, "clipped: 2.34 % of the samples, at most 0.10 %"),
        ({"noise_floor_dbfs": -44.9}, "noise floor -44.9 dBFS, at most -45 dBFS expected for clean"),
        ({"speech_level_dbfs": -45.1}, "speech level -45.1 dBFS, at least -45 dBFS"),
        ({"leading_silence_s": 5.1}, "silence of 5.10 s at one end"),
        ({"trailing_silence_s": 5.1}, "silence of 5.10 s at one end"),
    ],
)
def test_each_limit_gives_its_own_reason_with_figure_and_limit(change, reason):
    (found,) = qa_reasons(replace(GOOD, **change), "clean", QaLimits())
    assert reason in found


def test_what_lies_at_a_limit_passes():
    limits = QaLimits()
    at_limits = replace(
        GOOD,
        duration_s=limits.max_duration_s,
        clipped_share=limits.max_clipped_share,
        noise_floor_dbfs=limits.max_noise_floor_dbfs,
        speech_level_dbfs=limits.min_speech_level_dbfs,
        leading_silence_s=limits.max_silence_s,
    )
    assert qa_reasons(at_limits, "clean", limits) == ()


@pytest.mark.parametrize("acoustic", ["indoor_noise", "outdoor_noise", "far_field"])
def test_degraded_acoustics_may_be_noisier_up_to_a_limit_of_their_own(acoustic):
    assert qa_reasons(replace(GOOD, noise_floor_dbfs=-30.0), acoustic, QaLimits()) == ()
    assert qa_reasons(replace(GOOD, noise_floor_dbfs=-19.0), acoustic, QaLimits())


def test_all_failures_are_listed_and_a_missing_measure_fails_nothing():
    bad = replace(GOOD, duration_s=0.1, clipped_share=1.0, noise_floor_dbfs=None, speech_level_dbfs=None)
    assert len(qa_reasons(bad, "clean", QaLimits())) == 2


def test_every_limit_is_told_with_figure_and_whether_it_holds():
    found = qa_checks(replace(GOOD, speech_level_dbfs=None, duration_s=121.0), "far_field", QaLimits())
    assert [(c.name, c.value, c.limit) for c in found] == [
        ("duration", "121.00 s", "0.4 s to 120 s"),
        ("clipped samples", "0.00 %", "at most 0.10 %"),
        ("noise floor", "-60.0 dBFS", "at most -20 dBFS"),
        ("speech level", None, "at least -45 dBFS"),
        ("silence at one end", "0.10 s", "at most 5 s"),
    ]
    assert [c.limit for c in found if c.fault] == ["0.4 s to 120 s"]
