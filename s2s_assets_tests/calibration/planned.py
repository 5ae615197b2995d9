"""Ratings of planned studies: on each prompt a tour through all entities, each pair rated by so many raters."""

import numpy as np
import polars as pl
from scipy.special import ndtri

THRESHOLDS = np.array([0.45, 1.6, 3.0])


def planned_study(
    seed: int,
    *,
    entities: int,
    raters: int,
    prompts: int,
    ratings_per_pair: int,
    rater_sd: float = 0.35,
    prompt_sd: float = 0.5,
    unit_sd: float = 0.0,
    strengths_sd: float = 0.6,
) -> pl.DataFrame:
    """Ratings with effects of raters, prompts and both together on entities; raters are dealt at random, equally often."""
    rng = np.random.default_rng(seed)
    tours = np.argsort(rng.random((prompts, entities)), axis=1)
    first, second = tours.ravel(), np.roll(tours, -1, axis=1).ravel()
    n = len(first)
    rater = np.array([rng.permutation(raters) for _ in range(-(-n * ratings_per_pair // raters))]).ravel()
    rater = rater[: n * ratings_per_pair].reshape(n, ratings_per_pair)
    for row in rater:  # two decks can meet within one pair
        if len(set(row)) < ratings_per_pair:
            row[:] = rng.choice(raters, ratings_per_pair, replace=False)
    a, b = np.repeat(first, ratings_per_pair), np.repeat(second, ratings_per_pair)
    prompt, who = np.repeat(np.arange(prompts), entities * ratings_per_pair), rater.ravel()
    strengths = strengths_sd * ndtri((np.arange(entities) + 0.5) / entities)
    by_rater = rng.normal(0, 1, (raters, entities)) * rater_sd
    by_prompt = rng.normal(0, 1, (prompts, entities)) * prompt_sd
    felt = strengths + by_rater[who] + by_prompt[prompt]
    if unit_sd > 0:
        felt = felt + unit_sd * rng.normal(0, 1, (raters, prompts, entities))[who, prompt]
    at = np.arange(len(a))
    latent = felt[at, a] - felt[at, b] + rng.logistic(size=len(a))
    score = np.sign(latent) * (np.abs(latent)[:, None] > THRESHOLDS).sum(axis=1)
    return pl.DataFrame(
        {
            "prompt": [f"p{k:03d}" for k in prompt],
            "rater": [f"r{k:03d}" for k in who],
            "config_a": [f"m{k}" for k in a],
            "config_b": [f"m{k}" for k in b],
            "score": score.astype(np.int64),
            "rubric": ["overall"] * len(a),
        }
    )
