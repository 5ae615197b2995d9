"""What the checks of fits and intervals say: the headline alone is held to them, whatever the other boards are."""

from typing import Any

import polars as pl
import pytest

from s2s_assets.orchestration import Check
from s2s_assets.ranking import FITS_SCHEMA, INTERVALS_SCHEMA, FitSpec
from s2s_assets.ranking.checks import cis_checks, fits_checks

HEADLINE, CLEANED, WARMTH = FitSpec(), FitSpec(variant="cleaned"), FitSpec(rubric="warmth")


def said(checks: list[Check], name: str, frame: pl.DataFrame) -> tuple[bool, str]:
    (check,) = (c for c in checks if c.name == name)
    passed, words, _ = check.evaluate(frame)
    return passed, words


def fits(*rows: tuple[FitSpec, str, float | None]) -> pl.DataFrame:
    """A table `bt_fits` of boards with a status and a correlation with Massey."""
    full = [
        dict.fromkeys(FITS_SCHEMA)
        | {"fit": spec.fit, "rubric": spec.rubric, "by": spec.by, "slice_dimension": "all", "variant": spec.variant}
        | {"status": status, "n_ratings": 10, "spearman_massey": massey, "spearman_partial_margin_bt": 1.0}
        for spec, status, massey in rows
    ]
    return pl.DataFrame(full, schema=FITS_SCHEMA, orient="row")


def intervals(*rows: tuple[str, int]) -> pl.DataFrame:
    """A table `bootstrap_cis` of fits whose rarest entity has a value in so many of 100 resamples."""
    entity: dict[str, Any] = {"entity": "a", "valid_resamples": 100}
    full = [
        dict.fromkeys(INTERVALS_SCHEMA)
        | {"fit": fit, "resamples": 100, "entities": [entity, entity | {"entity": "b", "valid_resamples": valid}]}
        for fit, valid in rows
    ]
    return pl.DataFrame(full, schema=INTERVALS_SCHEMA, orient="row")


def test_the_headline_has_one_finite_fit() -> None:
    assert said(fits_checks("all"), "headline_converged", fits((HEADLINE, "ok", 1.0), (WARMTH, "separated", 1.0)))[0]
    one, other = (HEADLINE, "disconnected", 1.0), (CLEANED, "ok", 1.0)
    passed, words = said(fits_checks("all"), "headline_converged", fits(one, one, other))
    assert (passed, words) == (False, "headline (overall by model): disconnected")
    assert said(fits_checks("cleaned"), "headline_converged", fits(one, one, other))[0]
    assert said(fits_checks("baseline"), "headline_converged", fits(one))[1].startswith(
        "headline (overall by model): no fit"
    )


def test_another_board_s_status_is_a_warning_that_names_it() -> None:
    passed, words = said(fits_checks("all"), "all_boards_ok", fits((HEADLINE, "ok", 1.0), (WARMTH, "separated", 1.0)))
    assert (passed, words) == (False, "1 of 2 fits have another status: warmth/model/all/all/all")
    assert said(fits_checks("all"), "all_boards_ok", fits((HEADLINE, "ok", 1.0))) == (True, "all 1 fits are ok")


@pytest.mark.parametrize(("massey", "passed"), [(0.99, True), (0.989, False), (None, False)])
def test_engines_agree_on_the_headline(massey: float | None, passed: bool) -> None:
    frame = fits((HEADLINE, "ok", massey), (WARMTH, "ok", 0.5))
    assert said(fits_checks("all"), "engines_agree", frame)[0] is passed


@pytest.mark.parametrize(("lost", "passed"), [(5, True), (6, False)])
@pytest.mark.parametrize("fit", [HEADLINE.fit, HEADLINE.fit_of(1)])
def test_resamples_hold_the_headline_s_entities(fit: str, lost: int, passed: bool) -> None:
    frame = intervals((fit, 100 - lost), (CLEANED.fit, 10), (WARMTH.fit, 10))
    assert said(cis_checks("all"), "few_lost_resamples", frame) == (
        passed,
        f"the rarest headline entity is in {100 - lost:.1f} % of the resamples",
    )
