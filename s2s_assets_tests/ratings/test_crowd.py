"""A simulated crowd in which 15 % are careless: the default rules find them and leave the honest alone.

Honest raters answer as the demo's do (`demo/raters.py`): a planted difference, the rater's taste, the prompt's luck, halo
over the task and over its cluster of questions, logistic rest, thresholds and a slight preference for the second heard.
Careless ones answer at random, the same on every question of a task, for one side whatever is heard, or with the scale
the wrong way round, a quarter of them each. Sittings have 20 pairs and 2 or 3 controls; every pair is rated twice. Of an
honest rater 3 % of control tasks are a lapse, answered at random; else gold is right and a null pair gets 0, or ±1 on one
question in seven.

By hand, over many crowds, with Monte-Carlo errors: `python s2s_assets_tests/ratings/test_crowd.py 200`.
"""

import sys
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from s2s_assets.ratings import CONTROLS, rater_quality_table
from s2s_assets.study import OVERALL, generator

KINDS = ("random", "same", "side", "inverted")
RUBRICS = (*(f"content_{k}" for k in range(5)), *(f"sound_{k}" for k in range(6)), OVERALL)
CLUSTER = np.array([0] * 5 + [1] * 6 + [0])
RATERS, CARELESS, CONFIGS, PROMPTS = 100, 15, 12, 150
THRESHOLDS = np.array([0.4, 1.0, 2.3])
TASTE_SD, LUCK_SD, HALO_SD, CLUSTER_SD, STRENGTH_SD = 0.30, 0.35, 0.70, 0.50, 0.7
REST_SCALE = np.sqrt(3.0 * (np.pi**2 / 3 - 2 * TASTE_SD**2 - 2 * LUCK_SD**2 - HALO_SD**2 - CLUSTER_SD**2)) / np.pi
LAPSE, SITTING = 0.03, 20


@dataclass(frozen=True)
class Crowd:
    """Answers, replies to controls, and who is what."""

    ratings: pl.DataFrame
    controls: pl.DataFrame
    kinds: dict[str, str]
    """Rater → kind, or `honest`."""


def crowd(seed: int, tasks: int = 40) -> Crowd:
    """A crowd in which everybody has so many pairs, an even number."""
    rng = generator("crowd", seed)
    kinds = rng.permutation(["honest"] * (RATERS - CARELESS) + [KINDS[k % 4] for k in range(CARELESS)])
    names = [f"r{k:03d}" for k in range(RATERS)]
    n = RATERS * tasks
    # block by block everybody gets a pair that in the first half was another's, in the other order
    rater = np.tile(np.arange(RATERS), tasks)
    first = rng.permutation(n // 2).reshape(-1, RATERS)
    pair = np.concatenate([first, [np.roll(block, rng.integers(1, RATERS)) for block in first]]).ravel()
    second_a = (np.arange(n) >= n // 2) ^ (pair % 2 == 1)
    a_of, prompt_of = rng.integers(0, CONFIGS, n // 2), rng.integers(0, PROMPTS, n // 2)
    a, b, prompt = a_of[pair], (a_of + rng.integers(1, CONFIGS, n // 2))[pair] % CONFIGS, prompt_of[pair]
    strength = STRENGTH_SD * (rng.normal(size=(CONFIGS, 1)) + 0.5 * rng.normal(size=(CONFIGS, 2))[:, CLUSTER])
    taste, luck = TASTE_SD * rng.normal(size=(RATERS, CONFIGS)), LUCK_SD * rng.normal(size=(PROMPTS, CONFIGS))
    heard = strength[a] - strength[b] + (taste[rater, a] - taste[rater, b] + luck[prompt, a] - luck[prompt, b])[:, None]
    heard = heard + HALO_SD * rng.normal(size=(n, 1)) + CLUSTER_SD * rng.normal(size=(n, 2))[:, CLUSTER]
    towards_second = np.where(second_a[:, None], heard, -heard)
    manner = _Manner(kinds[rater], rng.normal(0.1, 0.1, RATERS)[rater], np.exp(rng.normal(0, 0.2, RATERS))[rater],
                     np.where(rng.random(RATERS) < 0.5, 1, -1)[rater])  # fmt: skip
    screen = manner.screen(towards_second, rng)
    rows = pl.DataFrame(
        {
            "rater": np.array(names)[rater], "prompt": [f"p{p}" for p in prompt], "config_a": [f"m{c:02d}" for c in a],
            "config_b": [f"m{c:02d}" for c in b], "first": np.where(second_a, "b", "a"), "task": np.arange(n),
            "response_a": [f"{p}-{c}" for p, c in zip(prompt, a, strict=True)],
            "response_b": [f"{p}-{c}" for p, c in zip(prompt, b, strict=True)],
        }
    )  # fmt: skip
    parts = [
        rows.with_columns(
            rubric=pl.lit(rubric),
            rating_id=pl.format("{}-{}", "task", pl.lit(rubric)),
            score=pl.Series(np.where(second_a, screen[:, q], -screen[:, q]).astype(np.int64)),
            submitted_at=pl.lit(None, pl.Datetime("us", "UTC")),
            excluded_by=pl.lit(None, pl.String),
        )
        for q, rubric in enumerate(RUBRICS)
    ]
    controls = _controls(rng, names, manner, towards_second, rater, rows, second_a, tasks)
    return Crowd(pl.concat(parts), controls, dict(zip(names, kinds.tolist(), strict=True)))


@dataclass(frozen=True)
class _Manner:
    """How the tasks (n,) are answered."""

    kind: np.ndarray
    order_bias: np.ndarray
    leniency: np.ndarray
    side: np.ndarray

    def at(self, tasks: np.ndarray) -> "_Manner":
        return _Manner(self.kind[tasks], self.order_bias[tasks], self.leniency[tasks], self.side[tasks])

    def screen(self, towards_second: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Screen values (n, rubrics) of what is heard, answered."""
        z = towards_second + rng.logistic(0, REST_SCALE, towards_second.shape)
        z = np.where(self.kind[:, None] == "inverted", -z, z) + self.order_bias[:, None]
        size = (np.abs(z)[..., None] > THRESHOLDS * self.leniency[:, None, None]).sum(axis=-1)
        return self.spoil(np.sign(z) * size, rng)

    def spoil(self, honest: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The same, with what careless raters put in its place."""
        same = rng.choice([-2, -1, 1, 2], (len(honest), 1))
        kind = self.kind[:, None]
        side = self.side[:, None] * rng.integers(1, 4, honest.shape)
        found = np.where(kind == "random", rng.integers(-3, 4, honest.shape), honest)
        return np.where(kind == "same", same, np.where(kind == "side", side, found)).astype(np.int64)


def _controls(rng, names, manner, towards_second, rater, rows, second_a, tasks) -> pl.DataFrame:
    """Two or three controls a sitting, in turn gold, null and repeat, for everybody."""
    parts = []
    for who in range(RATERS):
        mine = np.flatnonzero(rater == who)
        n = sum(
            round(min(SITTING, tasks - start) * 0.125 + 0.5 * (k % 2))
            for k, start in enumerate(range(0, tasks, SITTING))
        )
        for k in range(n):
            kind, at = ("gold", "null", "repeat")[(k + who) % 3], mine[[k]]
            one, lapse = manner.at(at), rng.random() < LAPSE
            if kind == "repeat":
                values = one.screen(-towards_second[at], rng)[0]
                first, second = ("response_a", "response_b") if second_a[at[0]] else ("response_b", "response_a")
                heard = rows.row(int(at[0]), named=True)
                told = {"low": None, "high": None, "first": heard[first], "second": heard[second]}
            else:
                sign = 1 if rng.random() < 0.5 else -1
                flat = np.where(rng.random((1, len(RUBRICS))) < 1 / 7, rng.choice([-1, 1], (1, len(RUBRICS))), 0)
                good = np.full((1, len(RUBRICS)), 2 * sign * (-1 if one.kind[0] == "inverted" else 1))
                values = one.spoil(good if kind == "gold" else flat, rng)[0]
                if lapse:
                    values = rng.integers(-3, 4, len(RUBRICS))
                bounds = {"low": 1 if sign > 0 else -3, "high": 3 if sign > 0 else -1}
                told = {**(bounds if kind == "gold" else {"low": None, "high": None}), "first": "x", "second": "y"}
            asked = [RUBRICS.index("sound_0")] if kind == "gold" else range(len(RUBRICS))
            parts += [
                {"rater": names[who], "kind": kind, "task": f"{who}-{k}", "rubric": RUBRICS[q], "value": int(values[q]), **told}
                for q in asked
            ]  # fmt: skip
    return pl.DataFrame(parts, schema=CONTROLS)


def caught(found: Crowd, with_controls: bool = True) -> dict[str, tuple[int, int]]:
    """Of each kind how many raters the default rules drop, of how many."""
    table = rater_quality_table(found.ratings, controls=found.controls if with_controls else None)
    dropped = set(table.filter(pl.col("effect") == "drop", pl.col("scope") == "rater")["name"])
    kinds = {kind: [r for r, k in found.kinds.items() if k == kind] for kind in ("honest", *KINDS)}
    return {kind: (len(dropped & set(raters)), len(raters)) for kind, raters in kinds.items()}


def shares(results: list[dict[str, tuple[int, int]]]) -> dict[str, float]:
    """Over several crowds the share of each kind that is dropped, and of all careless ones."""
    total = {kind: np.array([r[kind] for r in results]).sum(axis=0) for kind in ("honest", *KINDS)}
    total["careless"] = sum(total[kind] for kind in KINDS)
    return {kind: float(n / of) for kind, (n, of) in total.items()}


@pytest.mark.parametrize("with_controls", [True, False])
def test_the_careless_are_caught_and_the_honest_kept(with_controls: bool) -> None:
    found = shares([caught(crowd(seed), with_controls) for seed in range(100, 103)])
    assert found["careless"] >= 0.9  # seeds below 100 and from 1000 on were used to write the rules
    assert found["honest"] <= 0.05


def main(crowds: int) -> None:
    """Print shares with their Monte-Carlo errors, over crowds."""
    for tasks in (20, 40, 100):
        for with_controls in (True, False):
            results = [caught(crowd(seed, tasks), with_controls) for seed in range(200, 200 + crowds)]
            told = []
            for kind, share in shares(results).items():
                each = np.array([shares([r])[kind] for r in results])
                told.append(f"{kind} {100 * share:.2f} ± {100 * each.std(ddof=1) / np.sqrt(crowds):.2f} %")
            print(f"{tasks} tasks, {'with' if with_controls else 'without'} controls: {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
