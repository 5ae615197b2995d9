"""What a config's checks say of its responses."""

import polars as pl
import pytest

from s2s_assets.responses import RESPONSE_AUDIO, RESPONSES
from s2s_assets.responses.checks import coverage, loudness_on_target, retried_share


def _responses(*ends: tuple[str, int]) -> pl.DataFrame:
    """A table `responses` of prompts that ended so after so many attempts."""
    codes = {"runner_error": "not_attempted", "timeout": "first_event_timeout"}
    rows = [dict.fromkeys(RESPONSES) | {"status": s, "attempts": n, "code": codes.get(s)} for s, n in ends]
    return pl.DataFrame(rows, schema=RESPONSES, orient="row")


OK, TIMEOUT, EMPTY = ("ok", 1), ("timeout", 3), ("empty_audio", 3)


@pytest.mark.parametrize(
    ("ends", "enough", "words"),
    [
        (
            [OK] * 9 + [EMPTY],
            True,
            "9 of 10 prompts have a response (90.0 %; at least 90.0 % asked); the others: 1 empty_audio",
        ),
        (
            [OK] * 7 + [TIMEOUT] * 2 + [EMPTY],
            False,
            (
                "7 of 10 prompts have a response (70.0 %; at least 90.0 % asked); the others: 1 empty_audio, "
                "2 timeout (first_event_timeout). What was answered is kept, and a further run sends only the rest"
            ),
        ),
        ([OK] * 10, True, "10 of 10 prompts have a response (100.0 %; at least 90.0 % asked)"),
    ],
)
def test_coverage_says_how_the_others_ended(ends: list[tuple[str, int]], enough: bool, words: str) -> None:
    assert coverage(0.1).evaluate(_responses(*ends))[:2] == (enough, words)


def test_coverage_says_why_it_stopped_and_that_there_was_nothing() -> None:
    said = coverage(0.1, "the budget is used up").evaluate(_responses(OK, TIMEOUT, ("runner_error", 0)))[1]
    assert "; the others: 1 not attempted, 1 timeout (first_event_timeout); the budget is used up. What was" in said
    assert coverage(0.1).evaluate(_responses())[0] is False


def test_more_than_a_tenth_of_retried_answers_is_a_warning() -> None:
    assert retried_share().evaluate(_responses(*[OK] * 9, ("ok", 2)))[0] is True
    assert retried_share().evaluate(_responses(*[OK] * 8, ("ok", 2)))[0] is False
    assert retried_share().evaluate(_responses(*[OK] * 9, TIMEOUT))[0] is True, "only answers count"


def test_what_the_ceiling_holds_down_is_a_warning() -> None:
    rows = [("p1", "ok", -23.0), ("p2", "ok", -23.4), ("p3", "ok", -35.8), ("p4", "ok", -24.0), ("p5", "refused", None)]
    frame = pl.DataFrame(
        [dict.fromkeys(RESPONSE_AUDIO) | {"prompt": p, "status": s, "loudness_lufs": lufs} for p, s, lufs in rows],
        schema=RESPONSE_AUDIO,
        orient="row",
    )
    words = "2 of 4 responses are within 0.5 LU of -23 LUFS; peaks hold down the others, p3 by 12.8 LU"
    assert loudness_on_target(-23).evaluate(frame)[:2] == (False, words)
    level = frame.filter(pl.col("prompt").is_in(["p1", "p2", "p5"]))
    assert loudness_on_target(-23).evaluate(level)[:2] == (True, "2 of 2 responses are within 0.5 LU of -23 LUFS")
