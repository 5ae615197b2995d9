"""The arithmetic of how fast a provider may be asked, with a clock of its own."""

import math
from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.responses.pacing import MAX_BLOCK_S, Limit, Pace

LIMIT = Limit(concurrency=8, requests_per_minute=60)
times = st.floats(0, 1e6)


@given(rpm=st.floats(1, 6000), gaps=st.lists(st.floats(0, 5), min_size=1, max_size=200))
def test_no_minute_has_more_beginnings_than_the_rate(rpm: float, gaps: list[float]) -> None:
    limit, pace, now, begun = Limit(99, rpm), Pace(), 100.0, []
    for gap in gaps:
        now += gap
        now += pace.wait_s(limit, now)
        pace = pace.begun(limit, now)
        begun.append(now)
    for n, start in enumerate(begun):
        assert bisect_left(begun, start + 60 - 1e-6) - n <= math.ceil(rpm)


def test_a_complaint_halves_and_successes_bring_it_back() -> None:
    pace = Pace().throttled(began=10, now=11, retry_after_s=None)
    assert pace.at_once(LIMIT) == 4
    assert LIMIT.interval_s(pace.share) == 2 * LIMIT.interval_s(1)
    served = 0
    while pace.at_once(LIMIT) < 8:
        pace, served = pace.succeeded(LIMIT), served + 1
    assert 8 * 4 <= served <= 8 * 8, "about one window of successes for a sixteenth"
    assert pace.succeeded(LIMIT).share <= 1


def test_requests_that_were_under_way_cut_once() -> None:
    pace = Pace().throttled(began=10, now=11, retry_after_s=None)
    assert pace.throttled(began=10.5, now=12, retry_after_s=None).share == pace.share
    assert pace.throttled(began=11.5, now=12, retry_after_s=None).share == pace.share / 2


@given(complaints=st.integers(1, 40))
def test_one_request_may_always_run(complaints: int) -> None:
    pace = Pace()
    for n in range(complaints):
        pace = pace.throttled(began=n + 0.5, now=n + 1, retry_after_s=None)
    assert pace.at_once(Limit(1)) == pace.at_once(Limit(4)) or complaints == 1
    assert pace.at_once(Limit(4)) >= 1
    assert pace.share > 0


@given(asked=st.floats(0, 1e5), now=times)
def test_what_a_provider_asks_to_wait_is_waited_by_all_within_reason(asked: float, now: float) -> None:
    pace = Pace().throttled(began=now, now=now, retry_after_s=asked)
    assert pace.wait_s(LIMIT, now) == pytest.approx(min(asked, MAX_BLOCK_S), abs=1e-6)
    shorter = pace.throttled(began=now, now=now, retry_after_s=0)
    assert shorter.wait_s(LIMIT, now) == pytest.approx(pace.wait_s(LIMIT, now), abs=1e-6)


@given(stored=times, now=st.floats(0, 1000))
def test_times_from_before_a_restart_block_nobody_for_long(stored: float, now: float) -> None:
    pace = Pace(not_before=stored, next_at=stored, cut_at=stored)
    assert pace.wait_s(LIMIT, now) <= MAX_BLOCK_S + 1e-3
    assert pace.throttled(began=now, now=now + 1, retry_after_s=None).share < 1 or stored >= now


@pytest.mark.parametrize("fields", [None, [], {}, {"share": 1.0}, {**Pace().fields(), "share": "x"}, "torn"])
def test_what_is_no_pace_begins_anew(fields: object) -> None:
    assert Pace.of(fields) == Pace()


def test_a_pace_survives_its_file() -> None:
    pace = Pace(0.5, 1.0, 2.0, 3.0)
    assert Pace.of(pace.fields()) == pace
