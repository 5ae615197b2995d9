"""Which take is selected, and that every take says why."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.prompts.selection import Take, select

PASSES = Take("a", None, (), None, "", "", 40.0)
FAILS = replace(PASSES, qa_reasons=("noise floor -30 dBFS",))
ACCEPTED = replace(PASSES, verdict="accept", verdict_by="ann")
REJECTED = replace(PASSES, verdict="reject", verdict_reason="a cough", verdict_by="ann")
SELECTED = replace(ACCEPTED, selected_at=datetime(2026, 3, 1, tzinfo=UTC))
LATER = replace(SELECTED, selected_at=datetime(2026, 3, 2, tzinfo=UTC))
AGAIN = replace(PASSES, verdict="rerecord", verdict_reason="a cough", verdict_by="ann")
REFUSED = Take("a", "a.wav: an empty file", (), None, "", "", None)


def chosen(*takes):
    named = [replace(take, recording=f"r{i}") for i, take in enumerate(takes)]
    selected = [take.recording for take in select(named) if take.selected]
    assert len(selected) <= 1
    return int(selected[0][1:]) if selected else None


@pytest.mark.parametrize(
    ("takes", "expected"),
    [
        ([PASSES, ACCEPTED], 1),
        ([replace(PASSES, speech_to_noise_db=90.0), replace(ACCEPTED, speech_to_noise_db=10.0)], 1),
        ([replace(FAILS, verdict="accept"), ACCEPTED], 1),
        ([replace(FAILS, verdict="accept"), PASSES], 0),
        ([PASSES, replace(PASSES, speech_to_noise_db=41.0)], 1),
        ([PASSES, PASSES], 0),
        ([replace(PASSES, speech_to_noise_db=None), PASSES], 1),
        ([REJECTED, PASSES], 1),
        ([FAILS, PASSES], 1),
        ([REFUSED, PASSES], 1),
        ([ACCEPTED, replace(SELECTED, speech_to_noise_db=1.0)], 1),
        ([ACCEPTED, replace(SELECTED, qa_reasons=("clipped",))], 1),
        ([LATER, SELECTED], 0),
        ([SELECTED, LATER], 1),
        ([replace(SELECTED, refused="silent"), PASSES], 1),
        ([AGAIN, PASSES], 1),
        ([AGAIN], None),
        ([REJECTED], None),
        ([FAILS], None),
        ([REFUSED], None),
        ([replace(REFUSED, verdict="accept")], None),
        ([], None),
    ],
)
def test_the_order_of_preference(takes, expected):
    assert chosen(*takes) == expected


def test_the_reasons_name_what_decided():
    takes = [PASSES, replace(FAILS, recording="b"), replace(REJECTED, recording="c"), replace(ACCEPTED, recording="d")]
    reasons = [take.selection_reason for take in select(takes)]
    assert reasons == [
        "d was taken in its place",
        "fails the automated check (noise floor -30 dBFS) and no human has accepted it",
        "rejected by ann: a cough",
        "accepted by ann, passes the automated check, speech 40.0 dB above the noise floor; first of 2 usable takes",
    ]


def test_a_selected_take_says_by_whom_and_one_to_be_recorded_again_why():
    reasons = [take.selection_reason for take in select([SELECTED, replace(AGAIN, recording="b")])]
    assert reasons == [
        "selected by ann, passes the automated check, speech 40.0 dB above the noise floor; the only usable take",
        "to be recorded again by ann: a cough",
    ]


def test_a_script_without_a_usable_take_says_so_in_each():
    for take in select([REJECTED, replace(REFUSED, recording="b")]):
        assert take.selection_reason.endswith("no take of this script can be used")


takes = st.builds(
    Take,
    recording=st.text("abcdef", min_size=1, max_size=3),
    refused=st.none() | st.just("refused"),
    qa_reasons=st.sampled_from([(), ("clipped",)]),
    verdict=st.sampled_from([None, "accept", "rerecord", "reject"]),
    verdict_reason=st.sampled_from(["", "why"]),
    verdict_by=st.sampled_from(["", "ann"]),
    speech_to_noise_db=st.none() | st.floats(-5, 80),
    selected_at=st.none() | st.sampled_from([SELECTED.selected_at, LATER.selected_at]),
)


@given(st.lists(takes, max_size=6, unique_by=lambda take: take.recording), st.randoms())
def test_the_choice_is_usable_does_not_hang_on_order_and_every_take_has_a_reason(given_takes, random):
    decided = select(given_takes)
    assert [take.recording for take in decided] == [take.recording for take in given_takes]
    assert all(take.selection_reason for take in decided)
    best = {take.recording for take in decided if take.selected}
    assert all(t.verdict not in ("rerecord", "reject") and t.refused is None for t in decided if t.selected)
    usable = [
        t
        for t in given_takes
        if t.refused is None and (t.verdict == "accept" or (t.verdict is None and not t.qa_reasons))
    ]
    assert len(best) == bool(usable)
    shuffled = list(given_takes)
    random.shuffle(shuffled)
    assert {take.recording for take in select(shuffled) if take.selected} == best
