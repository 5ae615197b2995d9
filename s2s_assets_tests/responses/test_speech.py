"""Delays, stalls and speaking rates, against a plain twin and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.responses.speech import (
    FEW_WORDS,
    MANY_WORDS,
    STALL_S,
    Arrivals,
    rate_outliers,
    speaking_rate,
    stalls,
    words_of,
)

RATE_HZ = 24_000
SECOND = 2 * RATE_HZ
pieces = st.lists(st.tuples(st.floats(0, 3000), st.integers(1, 3 * SECOND)), min_size=1, max_size=40)


def _played(arrivals: Arrivals) -> tuple[int, float]:
    """Piece by piece, as a player does it."""
    clock, count, waited = arrivals[0][0] / 1000, 0, 0.0
    for at_ms, size in arrivals:
        gap = at_ms / 1000 - clock
        if gap > 0:
            clock += gap
            if gap > STALL_S:
                count, waited = count + 1, waited + gap
        clock += size / 2 / RATE_HZ
    return count, waited


@given(gaps=pieces)
def test_stalls_are_those_of_a_player(gaps: list[tuple[float, int]]) -> None:
    times = np.cumsum([gap for gap, _ in gaps])
    arrivals = [(float(at), size) for at, (_, size) in zip(times, gaps, strict=True)]
    found, (count, waited) = stalls(arrivals, RATE_HZ), _played(arrivals)
    assert found is not None
    # a wait of exactly the threshold may fall on either side of it
    assert abs(found.seconds - waited) <= 1e-6 + STALL_S * abs(found.count - count)


def test_a_late_piece_is_one_stall_and_puts_off_the_rest() -> None:
    assert stalls([], RATE_HZ) is None
    steady = [(100.0, SECOND // 10), (150.0, SECOND // 10), (290.0, SECOND // 10)]
    found = stalls(steady, RATE_HZ)
    assert found is not None
    assert (found.count, found.seconds) == (0, 0)
    found = stalls([(0.0, SECOND), (1500.0, SECOND), (2400.0, SECOND), (3700.0, SECOND)], RATE_HZ)
    assert found is not None
    assert (found.count, found.seconds) == (2, pytest.approx(0.7))


def test_words_and_rates() -> None:
    assert words_of(None) is None
    assert words_of("  Two words. ") == 2
    assert speaking_rate(6, 3.0, 1.0) == 3
    assert speaking_rate(None, 3.0, 1.0) is None
    assert speaking_rate(0, 3.0, 1.0) is None
    assert speaking_rate(6, 1.0, 1.0) is None


@pytest.mark.parametrize(
    ("transcript", "words"),
    [
        ("今日は天気がいいですね。", 6),
        ("今天天气很好,我们去公园吧。", 6),
        ("วันนี้อากาศดีมาก", 4),
        ("ថ្ងៃនេះអាកាសធាតុល្អ", 5),
        ("오늘 날씨가 참 좋네요.", 4),
        ("AIの 話 — 3 つ", 4),
        ("  Well – two, dashes - and 4 words… ", 6),
        ("…", 0),
    ],
)
def test_words_where_no_spaces_part_them(transcript: str, words: int) -> None:
    assert words_of(transcript) == words


def test_a_language_without_spaces_is_no_outlier() -> None:
    sentence = "今日はとても天気がいいので、午後から公園まで散歩に行きましょう。"
    assert rate_outliers([speaking_rate(words_of(sentence), 5.0, 0.0)]) == [None]


def test_what_no_voice_can_say_is_told_at_once() -> None:
    assert rate_outliers([8.0, 2.5, None, 0.3]) == [MANY_WORDS, None, None, FEW_WORDS]


def test_outliers_of_a_config_are_told_by_its_own_rates() -> None:
    rng = np.random.default_rng(1)
    usual = list(3 * np.exp(rng.normal(0, 0.05, 60)))
    assert rate_outliers(usual) == [None] * 60
    assert rate_outliers([*usual, 5.5, 1.5]) == [None] * 60 + [MANY_WORDS, FEW_WORDS]
    assert rate_outliers([3.0] * 30 + [4.0]) == [None] * 31, "a third more is no outlier, however alike the rest"
    assert rate_outliers([3.0] * 10 + [5.5]) == [None] * 11, "too few to tell by"
