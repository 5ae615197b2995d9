"""Agreement against a slow plain twin, and each cleaning rule on a rater made for it."""

import itertools
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.ratings import QualityRules, rater_quality_table
from s2s_assets.ratings.agreement import ordinal_alpha

RUBRICS = ("delivery", "naturalness", "overall")
SCHEMA = {
    "rating_id": pl.String, "prompt": pl.String, "rater": pl.String, "rubric": pl.String, "config_a": pl.String,
    "config_b": pl.String, "score": pl.Int64, "first": pl.String, "submitted_at": pl.Datetime("us", "UTC"),
    "excluded_by": pl.String,
}  # fmt: skip


def plain_alpha(units: list[int], scores: list[int]) -> float | None:
    """Alpha by its definition: sums over every ordered pair of scores, of one unit and of all."""
    by_unit = {u: [s for v, s in zip(units, scores, strict=True) if v == u] for u in set(units)}
    lists = [values for values in by_unit.values() if len(values) >= 2]
    pooled = [s for values in lists for s in values]
    count = {c: pooled.count(c) for c in range(-3, 4)}

    def delta(c: int, k: int) -> float:
        low, high = min(c, k), max(c, k)
        return (sum(count[g] for g in range(low, high + 1)) - (count[c] + count[k]) / 2) ** 2

    n = len(pooled)
    seen = sum(delta(a, b) / (len(v) - 1) for v in lists for a, b in itertools.permutations(v, 2))
    expected = sum(delta(a, b) for a, b in itertools.permutations(pooled, 2))
    return None if expected == 0 else 1 - (seen / n) / (expected / (n * (n - 1)))


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(-3, 3)), max_size=30))
def test_alpha_is_what_its_definition_gives(rows: list[tuple[int, int]]) -> None:
    units, scores = [u for u, _ in rows], [s for _, s in rows]
    fast = ordinal_alpha(np.array(units, dtype=np.int64), np.array(scores, dtype=np.int64))
    slow = plain_alpha(units, scores)
    assert (fast is None) == (slow is None)
    assert fast is None or fast == pytest.approx(slow, abs=1e-9)


def test_alpha_of_full_agreement_is_one_and_of_mirrored_scores_negative() -> None:
    units, scores = np.repeat(np.arange(40), 2), np.repeat(np.arange(40) % 7 - 3, 2)
    assert ordinal_alpha(units, scores) == pytest.approx(1.0)
    mirrored = np.where(np.arange(80) % 2, -scores, scores)
    assert ordinal_alpha(units, mirrored) < -0.5
    assert ordinal_alpha(units, np.zeros(80, dtype=np.int64)) is None


def rows_of(rater: str, choose, tasks: int = 40, rubrics: tuple[str, ...] = RUBRICS) -> list[dict]:
    """Answers of one rater to pairs with a known truth; `choose(truth, first, rubric number, rng)` gives the score."""
    rng = np.random.default_rng(abs(hash_of(rater)))
    rows = []
    for unit in range(tasks):
        truth, first = (unit * 5) % 7 - 3, "ab"[unit % 2]
        for k, rubric in enumerate(rubrics):
            score = int(np.clip(choose(truth, first, k, rng), -3, 3))
            rows.append(
                {
                    "rating_id": f"{rater}-{unit}-{rubric}", "prompt": f"p{unit}", "rater": rater, "rubric": rubric,
                    "config_a": "m0", "config_b": "m1", "score": score, "first": first,
                    "submitted_at": datetime(2026, 1, 1, tzinfo=UTC), "excluded_by": None,
                }
            )  # fmt: skip
    return rows


def hash_of(name: str) -> int:
    return sum(ord(c) * 31**i for i, c in enumerate(name)) % 2**31


def honest(truth, first, k, rng) -> float:
    return truth + rng.integers(-1, 2)


def table_of(*raters: list[dict]) -> pl.DataFrame:
    crowd = [rows_of(f"honest-{i}", honest) for i in range(4)]
    return pl.DataFrame([row for rows in (*crowd, *raters) for row in rows], schema=SCHEMA)


def measure(table: pl.DataFrame, scope: str, name: str, what: str) -> dict:
    found = table.filter(pl.col("scope") == scope, pl.col("name") == name, pl.col("measure") == what)
    return found.row(0, named=True)


def flags(table: pl.DataFrame, rater: str) -> set[tuple[str, str]]:
    found = table.filter(pl.col("scope") == "rater", pl.col("name") == rater, pl.col("flag").is_not_null())
    return set(found.select("flag", "effect").iter_rows())


def test_honest_raters_agree_and_are_not_flagged() -> None:
    table = rater_quality_table(table_of())
    assert table.filter(pl.col("flag").is_not_null()).is_empty()
    for name in RUBRICS:
        assert 0.8 < measure(table, "rubric", name, "alpha")["value"] < 1
    assert measure(table, "study", "all", "alpha")["n"] == 4 * 40 * 3
    assert abs(measure(table, "study", "all", "order_effect")["value"]) < 0.3
    assert measure(table, "study", "all", "heavy_rater_share")["value"] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("choose", "flag"),
    [
        (lambda truth, first, k, rng: 2, ("straightline", "drop")),
        (lambda truth, first, k, rng: 0, ("straightline", "drop")),
        (lambda truth, first, k, rng: (-1 if first == "a" else 1) * rng.integers(0, 3), ("side_bias", "drop")),
        (lambda truth, first, k, rng: -2 if first == "a" else 2, ("side_bias", "drop")),
        (lambda truth, first, k, rng: -truth + rng.integers(-1, 2), ("low_irr", "report")),
        (lambda truth, first, k, rng: truth, ("halo", "report")),
    ],
)
def test_a_rule_fires_on_its_rater(choose, flag) -> None:
    table = rater_quality_table(table_of(rows_of("odd", choose)))
    assert flag in flags(table, "odd")
    assert all(not flags(table, f"honest-{i}") for i in range(4))


def test_dropped_raters_are_out_of_the_cleaned_alpha() -> None:
    table = rater_quality_table(table_of(rows_of("odd", lambda truth, first, k, rng: 2)))
    raw, cleaned = (measure(table, "rubric", "overall", what) for what in ("alpha", "alpha_cleaned"))
    assert cleaned["value"] > raw["value"]
    assert raw["n"] - cleaned["n"] == 40


def test_few_tasks_are_no_ground_for_a_flag() -> None:
    table = rater_quality_table(table_of(rows_of("new", lambda truth, first, k, rng: 2, tasks=9)))
    assert not flags(table, "new")


def test_a_busy_rater_is_reported_and_thresholds_can_be_set() -> None:
    frame = table_of(rows_of("busy", honest, tasks=300))
    assert ("heavy", "report") in flags(rater_quality_table(frame, QualityRules(share_raters=5)), "busy")
    assert not flags(rater_quality_table(frame), "busy")


def test_turned_pairs_are_the_same_pair_and_excluded_answers_count_nowhere() -> None:
    frame = table_of()
    turn = pl.col("rater") == "honest-1"
    turned = frame.with_columns(
        pl.when(turn).then("config_b").otherwise("config_a").alias("config_a"),
        pl.when(turn).then("config_a").otherwise("config_b").alias("config_b"),
        pl.when(turn).then(-pl.col("score")).otherwise("score").alias("score"),
        pl.when(turn).then(pl.col("first").replace({"a": "b", "b": "a"})).otherwise("first").alias("first"),
    )
    assert rater_quality_table(turned).equals(rater_quality_table(frame))
    spoilt = pl.concat([frame, frame.with_columns(score=-pl.col("score"), excluded_by=pl.lit("ada"))])
    assert rater_quality_table(spoilt).equals(rater_quality_table(frame))


def test_what_is_undefined_is_null_and_an_empty_table_has_rows_of_the_study_only() -> None:
    empty = rater_quality_table(table_of().clear())
    assert set(empty["scope"]) == {"study"}
    assert empty["value"].null_count() == empty.height
    alone = rater_quality_table(pl.DataFrame(rows_of("one", honest, tasks=1), schema=SCHEMA))
    assert measure(alone, "rubric", "overall", "alpha")["value"] is None
    assert measure(alone, "rater", "one", "rest_r")["value"] is None
    assert not alone["value"].is_nan().any()


def test_the_order_heard_first_may_be_unknown() -> None:
    frame = table_of().with_columns(first=pl.lit(None, pl.String))
    table = rater_quality_table(frame)
    assert measure(table, "study", "all", "order_effect") | {"scope": 0} == {
        "scope": 0, "name": "all", "measure": "order_effect", "value": None, "n": 0, "flag": None, "effect": None
    }  # fmt: skip
    assert measure(table, "study", "all", "alpha")["value"] > 0.8
