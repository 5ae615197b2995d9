"""Made boards: frames in the form of docs/tables.md, deterministic, without a fit behind them."""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from s2s_assets.leaderboard import Board, BoardInputs, Facts, Run, build_board, coverage, facts_of
from s2s_assets.ranking import FITS_SCHEMA, INTERVALS_SCHEMA
from s2s_assets.study import Study, generator

SCALE = 400 / np.log(10)
MODELS = {"aria": 2, "bolt": 2, "cedar": 2, "delta": 1, "ember": 2}


@pytest.fixture
def study() -> Study:
    return make_study()


def make_study(**more: Any) -> Study:
    models = [
        {
            "id": m,
            "name": m.capitalize(),
            "family": "Delta" if m in ("delta", "ember") else m.capitalize(),
            "provider": "demo",
            "adapter": "openai_realtime",
            "voices": [{"id": "f1"}, {"id": "m1"}],
            "thinking": ["low", "high"] if n == 2 else ["none"],
        }
        for m, n in MODELS.items()
    ]
    rubrics = [
        {"id": r, "group": "g", "question": f"Which answer is better: {r}?"}
        for r in ("overall", "naturalness", "clarity", "follows_instructions")
    ]
    categories = [{"id": c} for c in ("advice", "planning", "smalltalk")]
    base = {
        "study": "tiny",
        "title": "Tiny speech board",
        "models": models,
        "rubrics": rubrics,
        "categories": categories,
    }
    return Study.model_validate({**base, "licence": "CC-BY-4.0", **more})


def fit_rows(
    entities: Sequence[str],
    rubric: str = "overall",
    by: str = "model",
    dimension: str = "all",
    value: str = "all",
    variant: str = "all",
    strengths: Sequence[float] | None = None,
    n: int = 600,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One row of `bt_fits` and of `bootstrap_cis`; strengths from names where none are given."""
    rng = generator(rubric, by, dimension, value, variant)
    s = np.asarray(rng.normal(0, 0.35, len(entities)) if strengths is None else strengths, float)
    s = s - s.mean() if len(s) else s
    half = 1.96 * SCALE * 4 / np.sqrt(n)
    elo = 1000 + SCALE * s
    rank = [1 + int((s > v + 1e-12).sum()) for v in s]
    fit = f"{rubric}/{by}/{dimension}/{value}/{variant}"
    point = [
        {
            "entity": e,
            "strength": float(s[i]),
            "elo": float(elo[i]),
            "rank": rank[i],
            "bound": None,
            "ridge": None,
            "massey": float(s[i] * 2.1),
            "partial_margin_bt": float(s[i] * 0.7),
            "n_ratings": n * 2 // max(len(entities), 1),
            "n_raters": 24,
            "n_prompts": 40,
        }
        for i, e in enumerate(entities)
    ]
    spread = [
        {
            "entity": e,
            "ci_low": float(elo[i] - half),
            "ci_high": float(elo[i] + half * 1.05),
            "rank_low": 1 + int((elo - half > elo[i] + half * 0.3).sum()),
            "rank_high": len(entities) - int((elo + half < elo[i] - half * 0.3).sum()),
            "se_sandwich": half / 2.3,
            "sandwich_low": float(elo[i] - half * 0.85),
            "sandwich_high": float(elo[i] + half * 0.85),
            "valid_resamples": 1000,
            "bound": None,
        }
        for i, e in enumerate(entities)
    ]
    pairs = [
        {
            "a": a,
            "b": b,
            "n": n // 10,
            "mean_score": float(np.tanh(s[i] - s[j])),
            "difference": float(elo[i] - elo[j]),
            "ci_low": float(elo[i] - elo[j] - half * 1.3),
            "ci_high": float(elo[i] - elo[j] + half * 1.3),
        }
        for i, a in enumerate(entities)
        for j, b in enumerate(entities)
        if i < j
    ]
    keys = {"rubric": rubric, "by": by, "slice_dimension": dimension, "slice_value": value, "variant": variant}
    facts = {
        "status": "ok",
        "reason": None,
        "n_ratings": n,
        "n_raters": 24,
        "n_prompts": 40,
        "thresholds": [0.3, 0.9, 2.2],
        "merged_scores": [],
        "log_likelihood": -500.0,
        "components": [list(entities)],
        "ridge_lambda": None,
        "spearman_massey": 0.9985,
        "spearman_partial_margin_bt": 0.988,
    }
    return (
        {"fit": fit, **keys, **facts, "entities": point},
        {"fit": fit, "resamples": 1000, "entities": spread, "pairs": pairs},
    )


def frames(fits: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`bt_fits` and `bootstrap_cis` from rows."""
    points = [{"members": [], "min_ratings": 1, "component": None, "n_within": 0, **point} for point, _ in fits]
    intervals = [{"reason": None, "draws": [], **spread} for _, spread in fits]
    return pl.DataFrame(points, schema=FITS_SCHEMA), pl.DataFrame(intervals, schema=INTERVALS_SCHEMA)


RUN = Run(
    method_version="1.0",
    seed=0,
    resamples=1000,
    data_date=date(2026, 5, 4),
    ratings_version="f" * 64,
    code_version="0.1.0",
)


@pytest.fixture
def foreign() -> Callable[..., BoardInputs]:
    """Inputs of a board of foreign names: `foreign(names, strengths=…)`."""

    def make(names: Sequence[str], **options: Any) -> BoardInputs:
        rubric = options.pop("rubric", "overall")
        fits, cis = frames([fit_rows(names, rubric=rubric, by="config", **options)])
        return BoardInputs(Facts(title="Foreign"), RUN, fits, cis)

    return make


@pytest.fixture
def full() -> Callable[..., BoardInputs]:
    """Inputs of a whole study's board; keyword arguments replace fields."""
    return full_inputs


@pytest.fixture(scope="session")
def board() -> Board:
    """The board of the made study."""
    return build_board(full_inputs())


def full_inputs(study: Study | None = None, **more: Any) -> BoardInputs:
    study = study or make_study()
    facts = facts_of(study, simulated=True)
    names = {by: list(of) for by, of in facts.names.items()}
    made = [fit_rows(names[by], by=by) for by in names]
    made += [fit_rows(names["model"], rubric=r, by=by) for r in facts.rubrics if r != "overall" for by in ("model",)]
    made += [fit_rows(names["model"], variant="cleaned", n=540)]
    made += [
        fit_rows(names["model"], dimension=d, value=v, n=120)
        for d, values in (
            ("category", ("advice", "planning", "smalltalk")),
            ("level", ("L1", "L3", "L5")),
            ("acoustic", ("clean", "far_field")),
        )
        for v in values
    ]
    made += [fit_rows(names["model"], dimension="acoustic", value="indoor_noise", n=12)]
    fits, cis = frames(made)
    prompts = pl.DataFrame(
        {
            "prompt": [f"p{i}" for i in range(12)],
            "category": ["advice", "planning", "smalltalk"] * 4,
            "level": ["L1", "L3", "L5"] * 4,
            "acoustic": ["clean"] * 9 + ["far_field"] * 2 + ["indoor_noise"],
        }
    )
    responses = pl.DataFrame(
        [
            {"config": c, "prompt": p, "status": "timeout" if c.startswith("bolt") and p == "p3" else "ok"}
            for c in names["config"]
            for p in prompts["prompt"]
        ]
    )
    inputs: dict[str, Any] = {
        "facts": facts,
        "run": RUN,
        "fits": fits,
        "cis": cis,
        "coverage": coverage(names["config"], responses, prompts),
        "citation": "Tiny speech board, 2026.",
    }
    return BoardInputs(**{**inputs, **more})


@pytest.fixture(scope="module")
def browser(system_program: Callable[[str], str]) -> Iterator[Any]:
    """Debian's Chromium, offline pages only.

    A module's, not the session's: Playwright keeps an event loop running in this thread until it ends.
    """
    executable = os.environ.get("CHROMIUM") or system_program("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield chromium
        chromium.close()


HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    '=HYPERLINK("http://evil.example","x")',
    "@SUM(A1)",
    "`|`",
    "evil\u202egnp.exe",
    "x" * 300,
    "emoji 😀",
    "two\nlines\x0b",
    "-1+2",
)


@pytest.fixture
def hostile() -> tuple[str, ...]:
    """Names that must stay text wherever they are shown."""
    return HOSTILE
