"""Measures of raters against a slow plain twin, and each cleaning rule on a rater made for it."""

import itertools
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.ratings import CONTROLS, HEARD, rater_quality_table
from s2s_assets.study import Cleaning

RUBRICS = ("delivery", "naturalness", "overall")
SCHEMA = {
    "rating_id": pl.String, "prompt": pl.String, "rater": pl.String, "rubric": pl.String, "config_a": pl.String,
    "config_b": pl.String, "score": pl.Int64, "first": pl.String, "submitted_at": pl.Datetime("us", "UTC"),
    "excluded_by": pl.String,
}  # fmt: skip


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


def test_a_query_is_measured_as_its_table_is() -> None:
    table = with_responses(table_of()).with_columns(pair="prompt")
    controls = pl.DataFrame(control("stranger", "gold", 1, {"overall": 2}, low=1, high=3), schema=CONTROLS)
    heard = pl.DataFrame({"rater": ["stranger"], "pair": ["nobody's"], "coverage": [0.1], "rate": [1.0]}, schema=HEARD)
    by_table = rater_quality_table(table, None, controls, heard)
    assert rater_quality_table(table.lazy(), None, controls, heard).equals(by_table)
    assert set(by_table.filter(name="stranger")["measure"]) == {"control_share"}


def test_few_tasks_are_no_ground_for_a_flag() -> None:
    table = rater_quality_table(table_of(rows_of("new", lambda truth, first, k, rng: 2, tasks=9)))
    assert not flags(table, "new")


def test_a_busy_rater_is_reported_and_thresholds_can_be_set() -> None:
    frame = table_of(rows_of("busy", honest, tasks=300))
    assert ("heavy", "report") in flags(rater_quality_table(frame, Cleaning(share_raters=5)), "busy")
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
        "scope": 0, "name": "all", "measure": "order_effect", "value": None, "n": 0, "low": None, "high": None,
        "flag": None, "effect": None,
    }  # fmt: skip
    assert measure(table, "study", "all", "alpha")["value"] > 0.8


def control(rater: str, kind: str, task: int, values: dict[str, int], **more) -> list[dict]:
    """Replies to one control task."""
    told = {"rater": rater, "kind": kind, "task": f"{rater}/{kind}/{task}"} | more
    return [told | {"rubric": rubric, "value": value} for rubric, value in values.items()]


def judged(*replies: list[dict], frame: pl.DataFrame | None = None, rules: Cleaning | None = None) -> pl.DataFrame:
    controls = pl.DataFrame([row for rows in replies for row in rows], schema=CONTROLS)
    return rater_quality_table(table_of() if frame is None else frame, rules, controls)


CLEAN_FIRST = {"low": -3, "high": -1}


def test_one_missed_trap_is_reported_and_two_drop_the_rater() -> None:
    def traps(rater: str, *values: int) -> list[dict]:
        rows = [control(rater, "trap", k, {"overall": v}, low=2, high=2) for k, v in enumerate(values)]
        return [row for part in rows for row in part]

    table = judged(traps("honest-0", 2, 2, 2), traps("honest-1", 2, 1, 2), traps("honest-2", 0, 2, 3))
    assert [flags(table, f"honest-{i}") for i in range(4)] == [
        set(), {("trap_fail", "report")}, {("trap_fail", "drop")}, set()
    ]  # fmt: skip
    assert measure(table, "rater", "honest-1", "trap_fails") | {"n": 0} == {
        "scope": "rater", "name": "honest-1", "measure": "trap_fails", "value": 1.0, "n": 0, "low": None, "high": None,
        "flag": "trap_fail", "effect": "report",
    }  # fmt: skip


def test_gold_and_null_pairs_are_judged_together_from_four_on() -> None:
    right, wrong = {"overall": -2, "delivery": 3}, {"overall": 0, "delivery": 3}

    def golds(rater: str, *answers: dict[str, int]) -> list[dict]:
        bounds = [{**CLEAN_FIRST} for _ in answers]
        rows = [
            control(rater, "gold", k, {"overall": a["overall"]}, **b)
            for k, (a, b) in enumerate(zip(answers, bounds, strict=True))
        ]
        return [row for part in rows for row in part]

    null_right = control("honest-0", "null", 0, {"overall": 1, "delivery": -1})
    null_wrong = control("honest-1", "null", 0, {"overall": 0, "delivery": -2})
    table = judged(
        golds("honest-0", right, right, wrong), null_right,
        golds("honest-1", right, right, wrong), null_wrong,
        golds("honest-2", wrong, wrong, wrong),
    )  # fmt: skip
    assert [measure(table, "rater", f"honest-{i}", "control_share")["value"] for i in range(3)] == [0.75, 0.5, 0.0]
    assert [flags(table, f"honest-{i}") for i in range(3)] == [set(), {("gold_fail", "drop")}, set()]
    lenient = judged(golds("honest-1", right, right, wrong), null_wrong, rules=Cleaning(max_null_score=2))
    assert measure(lenient, "rater", "honest-1", "control_share")["value"] == 0.75


def with_responses(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(response_a=pl.format("{}-m0", "prompt"), response_b=pl.format("{}-m1", "prompt"))


def repeats(frame: pl.DataFrame, rater: str, n: int, gap: int) -> list[dict]:
    """Replies to flipped repeats of a rater's first pairs, each `gap` steps towards 0 and beyond from the first."""
    mine = with_responses(frame).filter(pl.col("rater") == rater, pl.col("rubric") == "overall").head(n)
    rows = []
    for k, row in enumerate(mine.iter_rows(named=True)):
        again = row["score"] - gap if row["score"] > 0 else row["score"] + gap
        first, second = ("response_b", "response_a") if row["first"] == "a" else ("response_a", "response_b")
        towards_second = again if second == "response_a" else -again
        heard = {"first": row[first], "second": row[second]}
        rows += control(rater, "repeat", k, {"overall": towards_second, "delivery": 3}, **heard)
    return rows


@pytest.mark.parametrize(("gap", "share", "found"), [(2, 0.0, set()), (3, 1.0, {("inconsistent", "drop")})])
def test_repeats_are_held_against_the_first_answer_whichever_was_heard_first(gap, share, found) -> None:
    frame = table_of()
    table = judged(repeats(frame, "honest-0", 8, gap), frame=with_responses(frame))
    assert measure(table, "rater", "honest-0", "inconsistent_share")["value"] == share
    assert flags(table, "honest-0") == found


def test_few_inconsistent_repeats_may_be_chance() -> None:
    frame = table_of()
    table = judged(repeats(frame, "honest-0", 4, 3), frame=with_responses(frame))
    assert measure(table, "rater", "honest-0", "inconsistent_share")["value"] == 1.0
    assert not flags(table, "honest-0")


def test_pairs_answered_twice_in_a_file_are_repeats_and_agreement_takes_the_first() -> None:
    frame = table_of()
    again = frame.filter(pl.col("rater") == "honest-0").with_columns(
        rating_id=pl.format("{}-again", "rating_id"), score=-pl.col("score"), submitted_at=pl.lit(None)
    )
    table = rater_quality_table(pl.concat([frame, again.cast(frame.schema)]))
    assert ("inconsistent", "drop") in flags(table, "honest-0")
    alphas = [measure(t, "rubric", "overall", "alpha") for t in (table, rater_quality_table(frame))]
    assert alphas[0] == alphas[1]


def test_without_controls_nothing_is_said_of_them() -> None:
    table = rater_quality_table(table_of())
    there = set(table["measure"])
    assert not there & {"trap_fails", "control_share", "inconsistent_share", "too_fast_share", "coverage", "rate"}
    assert "rating" not in set(table["scope"])


def timed(frame: pl.DataFrame) -> pl.DataFrame:
    """Tasks of 20 s to hear and 3 questions: at least 21 s are needed; honest-0 takes 20 s for every other one."""
    hasty = (pl.col("rater") == "honest-0") & (pl.col("prompt").str.slice(1).cast(pl.Int64) % 2 == 0)
    return frame.with_columns(
        pair="prompt", heard_s=pl.lit(20.0), elapsed_ms=pl.when(hasty).then(20_000).otherwise(21_000).cast(pl.Int64)
    )


def test_answers_given_before_the_task_can_have_been_heard_are_dropped_one_by_one() -> None:
    table = rater_quality_table(timed(table_of()))
    dropped = table.filter(pl.col("scope") == "rating")
    assert set(dropped.select("measure", "flag", "effect").iter_rows()) == {("elapsed_share", "too_fast", "drop")}
    assert set(dropped["name"]) == {f"honest-0-{unit}-{rubric}" for unit in range(0, 40, 2) for rubric in RUBRICS}
    assert dropped["value"].to_list() == [pytest.approx(20 / 21)] * 60
    assert measure(table, "rater", "honest-0", "too_fast_share")["value"] == 0.5
    assert not flags(table, "honest-0")
    cleaned = measure(table, "rubric", "overall", "alpha_cleaned")
    assert cleaned["n"] == measure(table, "rubric", "overall", "alpha")["n"] - 20


def test_unknown_times_and_lengths_are_no_haste() -> None:
    frame = timed(table_of()).with_columns(elapsed_ms=pl.lit(None, pl.Int64))
    assert "rating" not in set(rater_quality_table(frame)["scope"])
    assert "rating" not in set(rater_quality_table(timed(table_of()).with_columns(heard_s=pl.lit(None)))["scope"])


def test_clips_that_were_not_heard_or_played_faster_drop_their_answers() -> None:
    heard = pl.DataFrame(
        [("honest-0", "p1", 0.96, 1.0), ("honest-1", "p2", 0.98, 2.0), ("honest-2", "p3", 0.97, 1.0)],
        schema=HEARD, orient="row",
    )  # fmt: skip
    table = rater_quality_table(timed(table_of()).with_columns(elapsed_ms=pl.lit(30_000)), heard=heard)
    dropped = table.filter(pl.col("scope") == "rating").select("name", "flag", "value").rows()
    assert {(name.rsplit("-", 1)[0], flag, value) for name, flag, value in dropped} == {
        ("honest-0-1", "not_heard", 0.96), ("honest-1-2", "rate_tampered", 2.0)
    }  # fmt: skip
    assert len(dropped) == 6


def test_a_small_preference_for_a_side_is_not_dropped_however_sure() -> None:
    def leaning(truth, first, k, rng) -> float:
        return (-1 if first == "a" else 1) * (rng.random() < 0.4)

    table = rater_quality_table(table_of(rows_of("leaning", leaning, tasks=200)))
    assert abs(measure(table, "rater", "leaning", "order_t")["value"]) > 4
    assert not {("side_bias", "drop")} & flags(table, "leaning")


def test_answers_at_random_are_incoherent_and_the_scale_turned_round_is_inverted() -> None:
    def random(truth, first, k, rng) -> float:
        return rng.integers(-3, 4)

    rows = [rows_of(f"many-{i}", honest) for i in range(4)]
    frame = table_of(*rows, rows_of("random", random), rows_of("turned", lambda *a: -honest(*a)))
    # several configs, so that there is an opinion of each: the truth of p says which is better
    strong = (pl.col("prompt").str.slice(1).cast(pl.Int64) * 5) % 7 - 3 > 0
    frame = frame.with_columns(
        config_a=pl.when(strong).then(pl.lit("good")).otherwise(pl.lit("poor")), config_b=pl.lit("fair")
    )
    table = rater_quality_table(frame)
    assert ("incoherent", "drop") in flags(table, "random")
    assert ("inverted", "drop") in flags(table, "turned")
    assert measure(table, "rater", "turned", "crowd_r")["value"] < -0.5
    assert measure(table, "rater", "many-0", "crowd_r")["value"] > 0.5
    assert all(not {effect for _, effect in flags(table, f"many-{i}")} & {"drop"} for i in range(4))


def test_questions_answered_as_one_are_reported() -> None:
    frame = table_of()
    copied = frame.filter(pl.col("rubric") == "delivery").with_columns(
        rubric=pl.lit("copy"), rating_id=pl.format("{}-copy", "rating_id")
    )
    table = rater_quality_table(pl.concat([frame, copied]))
    found = table.filter(pl.col("scope") == "questions", pl.col("flag").is_not_null())
    assert found.select("name", "measure", "value", "n", "flag", "effect").rows() == [
        ("copy | delivery", "same_share", 1.0, 160, "collapse", "report")
    ]
    assert measure(table, "questions", "copy | delivery", "correlation")["value"] == pytest.approx(1.0)
    assert 0.5 < measure(table, "rubric", "overall", "loading")["value"] < 1
    assert measure(table, "study", "all", "first_factor_share")["value"] > 0.5


def test_gated_questions_that_never_meet_leave_the_others_their_loadings() -> None:
    frame = table_of()
    half = pl.col("prompt").str.slice(1).cast(pl.Int64) % 2 == 0
    gated = [
        frame.filter(pl.col("rubric") == "delivery", keep).with_columns(
            rubric=pl.lit(name), rating_id=pl.format("{}-" + name, "rating_id")
        )
        for name, keep in (("even", half), ("odd", ~half))
    ]
    table = rater_quality_table(pl.concat([frame, *gated]))
    met = measure(table, "questions", "even | odd", "correlation")
    assert (met["value"], met["n"]) == (None, 0)
    loaded = table.filter(measure="loading").sort("name")
    assert loaded["name"].to_list() == ["delivery", "naturalness", "odd", "overall"]
    without = rater_quality_table(pl.concat([frame, gated[1]])).filter(measure="loading").sort("name")
    assert loaded["value"].to_list() == pytest.approx(without["value"].to_list(), abs=1e-12)


answers_of = st.lists(
    st.tuples(
        st.sampled_from("rst"), st.integers(0, 3), st.sampled_from(["m0", "m1", "m2"]), st.sampled_from(["overall", "q"]),
        st.integers(-3, 3), st.sampled_from(["a", "b", None]),
    ),
    min_size=1, max_size=40, unique_by=lambda row: (row[0], row[1], row[2], row[3]),
)  # fmt: skip


def frame_of(rows: list[tuple]) -> pl.DataFrame:
    """One pair of configs a row: the named one against the next."""
    after = {"m0": "m1", "m1": "m2", "m2": "m0"}
    return pl.DataFrame(
        [
            {
                "rating_id": str(k), "prompt": f"p{p}", "rater": who, "rubric": rubric, "config_a": a,
                "config_b": after[a], "score": score, "first": first, "submitted_at": None, "excluded_by": None,
            }
            for k, (who, p, a, rubric, score, first) in enumerate(rows)
        ],
        schema=SCHEMA,
    )  # fmt: skip


def plain_rater(rows: list[tuple], rater: str) -> dict[str, float | None]:
    """A rater's measures by their words, one answer at a time."""
    mine = [row for row in rows if row[0] == rater]
    tasks: dict[tuple, list[tuple]] = {}
    for row in mine:
        tasks.setdefault(row[1:3], []).append(row)
    several = [task for task in tasks.values() if len(task) >= 2]
    straight = [task for task in several if len({r[4] for r in task}) == 1 and task[0][4] != 0]
    equal = [np.mean([a[4] == b[4] for a, b in itertools.combinations(task, 2)]) for task in several]

    after = {"m0": "m1", "m1": "m2", "m2": "m0"}

    def opinion(config: str, rubric: str) -> float | None:
        of = [r[4] for r in rows if r[0] != rater and r[3] == rubric and r[2] == config]
        of += [-r[4] for r in rows if r[0] != rater and r[3] == rubric and after[r[2]] == config]
        return float(np.mean(of)) if of else None

    both = []
    for task in tasks.values():
        told = [(r[4], opinion(r[2], r[3]), opinion(after[r[2]], r[3])) for r in task]
        known = [(s, a - b) for s, a, b in told if a is not None and b is not None]
        if known:
            both.append(np.mean(known, axis=0))
    x, y = np.array(both).reshape(-1, 2).T
    size = np.sqrt((x**2).sum() * (y**2).sum())
    screens = [[-r[4] if r[5] == "a" else r[4] for r in task if r[5]] for task in tasks.values()]
    means = [float(np.mean(s)) for s in screens if s]
    return {
        "tasks": len(tasks),
        "straight_line_share": len(straight) / len(several) if several else None,
        "halo": float(np.mean(equal)) if several else None,
        "crowd_r": float((x * y).sum() / size) if size > 1e-9 else None,
        "order_effect": float(np.mean(means)) if means else None,
        "share": len(mine) / len(rows),
    }


@given(answers_of)
def test_a_raters_measures_are_what_their_words_say(rows: list[tuple]) -> None:
    table = rater_quality_table(frame_of(rows))
    for rater in {row[0] for row in rows}:
        for what, expected in plain_rater(rows, rater).items():
            found = measure(table, "rater", rater, what)["value"]
            assert (found is None) == (expected is None), what
            assert found is None or found == pytest.approx(expected, abs=1e-9), what


@given(answers_of, st.randoms())
def test_the_table_does_not_depend_on_the_order_of_rows_nor_on_which_config_is_called_a(rows, random) -> None:
    frame = frame_of(rows)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=random.randrange(2**31))
    turned = shuffled.with_columns(
        config_a="config_b", config_b="config_a", score=-pl.col("score"), first=pl.col("first").replace({"a": "b", "b": "a"})
    )  # fmt: skip
    assert rater_quality_table(turned).equals(rater_quality_table(frame))


def test_the_same_answers_give_the_same_bits() -> None:
    crowd = table_of(*(rows_of(f"more-{i}", honest, tasks=400) for i in range(10)))
    first = rater_quality_table(crowd)
    assert all(rater_quality_table(crowd).equals(first) for _ in range(3))


def test_renaming_configs_changes_no_measure_of_a_rater() -> None:
    """Which config's name comes first is an accident: nothing of a rater but the correlation with the rest may hang on it."""
    frame = table_of()
    renamed = frame.with_columns(pl.col("config_a").replace("m0", "z"))
    one, other = (
        rater_quality_table(f).filter(pl.col("scope") == "rater", pl.col("measure") != "rest_r")
        for f in (frame, renamed)
    )
    assert one.drop("value").equals(other.drop("value"))
    np.testing.assert_allclose(one["value"].to_numpy(), other["value"].to_numpy(), atol=1e-9)
