"""A fit and its uncertainty as the document that `s2s rank --json` prints: plain values, None for what there is not."""

from typing import Any

from s2s_assets.ranking.diagnose import within_models
from s2s_assets.ranking.disagreement import cross_check_reason
from s2s_assets.ranking.records import BoardFit, BoardIntervals
from s2s_assets.ranking.slicing import preliminary
from s2s_assets.ranking.structs import plain


def fit_document(fit: BoardFit, intervals: BoardIntervals) -> dict[str, Any]:
    """One fit of the document."""
    reasons = [r for r in (fit.reason, intervals.reason, preliminary(fit)) if r]
    ridge = {e.entity: e.ridge for e in fit.entities}
    return {
        "rubric": fit.spec.rubric,
        "by": fit.spec.by,
        "slice": {"dimension": fit.spec.slice_dimension, "value": fit.spec.slice_value},
        "status": fit.status,
        "reason": "; ".join(reasons) or None,
        "n_ratings": fit.n_ratings,
        "n_raters": fit.n_raters,
        "n_prompts": fit.n_prompts,
        "n_within": fit.n_within,
        "thresholds": list(fit.thresholds),
        "merged_scores": list(fit.merged_scores),
        "log_likelihood": fit.log_likelihood,
        "components": [list(c) for c in fit.components],
        "ridge": None if fit.ridge_lambda is None else {"lambda": fit.ridge_lambda, "strengths": ridge},
        "entities": _entities(fit, intervals),
        "pairs": [vars(p) for p in intervals.pairs],
        "within_model": [vars(p) for p in within_models(fit, intervals)],
        "cross_checks": {
            "massey": {e.entity: e.massey for e in fit.entities},
            "partial_margin_bt": {e.entity: e.partial_margin_bt for e in fit.entities},
            "spearman": {"massey": fit.spearman_massey, "partial_margin_bt": fit.spearman_partial_margin_bt},
            "spearman_intervals": {a.engine: [a.spearman_low, a.spearman_high] for a in intervals.agreement},
            "reason": cross_check_reason(fit, intervals),
        },
        "diagnostics": plain(intervals.diagnostics),
    }


def _entities(fit: BoardFit, intervals: BoardIntervals) -> list[dict[str, Any]]:
    return [
        {
            "entity": e.entity,
            "strength": e.strength,
            "elo": e.elo,
            "ci_low": i.ci_low,
            "ci_high": i.ci_high,
            "se_sandwich": i.se_sandwich,
            "sandwich_low": i.sandwich_low,
            "sandwich_high": i.sandwich_high,
            "rank": e.rank,
            "rank_low": i.rank_low,
            "rank_high": i.rank_high,
            "n_ratings": e.n_ratings,
            "n_raters": e.n_raters,
            "n_prompts": e.n_prompts,
            "valid_resamples": i.valid_resamples,
            "bound": e.bound or i.bound,
            "letters": i.letters,
            "delta": i.delta,
            "delta_low": i.delta_low,
            "delta_high": i.delta_high,
        }
        for e, i in zip(fit.entities, intervals.entities, strict=True)
    ]
