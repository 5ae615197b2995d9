"""How often stated intervals hold the truth, and how often claims about pairs are false.

**Truth.** Effects of raters and prompts, which the model does not have, narrow the fitted scale; no amount of ratings
brings the fit to the strengths that were planted. What the fit comes to is taken as true: the mean of fits to several
studies, each with 100 times the raters, prompts and ratings of the design, centred like any fit; its error is given in
true standard errors of a study. Where all entities are equal the truth is that, exactly.

**Replications.** Strengths are the design's; effects, assignments and answers are drawn anew. Each study goes through
`ranking.rank` as a ratings file would. A study whose fit has no maximum or falls apart has no intervals and is counted.

**Coverage** is the share of entities whose interval holds the truth: of the two-way sandwich (t quantile) and of the
bootstrap's percentiles. **SE ratio**: root mean square of the stated standard errors (for the bootstrap, the spread of the
draws) over the standard deviation of the estimates. **Width**: of the interval, in Elo.

**Pairs.** A study *misses* if any of its intervals of a difference leaves out the true difference. A *false claim* tells
apart two entities that are equal, or puts the worse one ahead. *Found* is the share of true differences told apart. Each for
the simultaneous intervals (whose bar this is), and to compare for the pairwise 95 % bootstrap intervals, and for reading
two entities as different when their own intervals do not overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from s2s_assets.calibration.designs import judged, null
from s2s_assets.calibration.estimates import Estimate, error_ratio, mean_of, share_of
from s2s_assets.calibration.simulate import Design, population, simulate
from s2s_assets.ranking import ANCHOR_ELO, ELO_PER_STRENGTH, BoardFit, BoardIntervals, FitSpec, fit_boards, rank
from s2s_assets.study import Bools, Floats, Ints


@dataclass(frozen=True)
class Observed:
    """What was stated about R studies of E entities and P pairs, in Elo; NaN where nothing was.

    Entities and pairs are in the order of their names. An axis of two is: sandwich, bootstrap; one of ends: low, high.
    """

    elo: Floats
    """(R, E)."""
    se: Floats
    """(R, E, 2)."""
    ends: Floats
    """(R, E, 2, ends)."""
    differences: Floats
    """(R, P, 2, ends): simultaneous intervals from the sandwich, pairwise ones from the bootstrap."""


@dataclass(frozen=True)
class Claims:
    """One way of telling pairs apart."""

    missed: Estimate | None
    """Share of studies in which some interval of a difference leaves out the truth; None for overlap, which has none."""
    false: Estimate
    """Share of studies with a false claim."""
    found: Estimate | None
    """Share of true differences told apart; None where all are equal."""


@dataclass(frozen=True)
class Coverage:
    """What the intervals of one design are worth."""

    design: Design
    judged: bool
    replications: int
    failed: int
    """Studies without intervals."""
    truth: tuple[float, ...]
    truth_error: float | None
    """In standard deviations of a study's estimate, mean over the entities; None with fewer than two studies."""
    sandwich: Estimate | None
    bootstrap: Estimate | None
    sandwich_ratio: Estimate | None
    bootstrap_ratio: Estimate | None
    sandwich_width: Estimate | None
    bootstrap_width: Estimate | None
    simultaneous: Claims
    pairwise: Claims
    overlap: Claims


def large_study(design: Design, numbers: Sequence[int]) -> Floats:
    """(R, E) Elo of fits to studies with 100 times the raters, prompts and ratings."""
    found = []
    for number in numbers:
        (fit,) = fit_boards(simulate(population(design), "large", number), [FitSpec(by="config")])
        found.append([e.elo for e in sorted(fit.entities, key=lambda e: e.entity)])
    return np.array(found, np.float64)


def observe(design: Design, numbers: Sequence[int], resamples: int) -> Observed:
    """Simulate studies of these numbers, and rank each."""
    found = []
    for number in numbers:
        result = rank(simulate(design, "study", number), resamples=resamples, seed=number)
        whole = len(result.fits) == 1 and result.fits[0].status == "ok"
        found.append(_read(result.fits[0], result.intervals[0]) if whole else _nothing(design.entities))
    return Observed(*(np.array(part, np.float64) for part in zip(*found, strict=True)))


def _read(fit: BoardFit, intervals: BoardIntervals) -> tuple[Floats, ...]:
    order = np.argsort([e.entity for e in fit.entities])
    entities = [intervals.entities[k] for k in order]
    elo = np.array([fit.entities[k].elo for k in order], np.float64)
    draws = np.where(np.isfinite(intervals.draws), intervals.draws, np.nan)[order]
    spread = np.nanstd(draws, axis=1) if draws.shape[1] else np.full(len(order), np.nan)
    se = np.column_stack([np.array([e.se_sandwich for e in entities], np.float64), ELO_PER_STRENGTH * spread])
    ends = [[[e.sandwich_low, e.sandwich_high], [e.ci_low, e.ci_high]] for e in entities]
    pairs = [[[p.simultaneous_low, p.simultaneous_high], [p.ci_low, p.ci_high]] for p in intervals.pairs]
    return elo, se, np.array(ends, np.float64), np.array(pairs, np.float64)


def _nothing(entities: int) -> tuple[Floats, ...]:
    pairs = entities * (entities - 1) // 2
    return tuple(np.full(shape, np.nan) for shape in ((entities,), (entities, 2), (entities, 2, 2), (pairs, 2, 2)))


def summarise(design: Design, observed: Observed, large: Floats) -> Coverage:
    """Hold what was stated against the truth.

    Args:
        design: what was simulated.
        observed: its studies.
        large: (T, E) fits to large studies; not looked at where all entities are equal.
    """
    equal = null(design)
    truth = np.full(design.entities, ANCHOR_ELO) if equal else large.mean(axis=0)
    at_all = ~np.isnan(observed.elo).any(axis=1)
    held = _held(observed.ends, truth[:, None])
    width = observed.ends[..., 1] - observed.ends[..., 0]
    sandwich, bootstrap = (mean_of(_row_mean(held[..., k])) for k in range(2))
    sandwich_width, bootstrap_width = (mean_of(_row_mean(width[..., k])) for k in range(2))
    sandwich_ratio, bootstrap_ratio = (error_ratio(observed.elo, observed.se[..., k]) for k in range(2))
    simultaneous, pairwise, overlap = _claims(design, observed, truth)
    return Coverage(
        design=design,
        judged=judged(design),
        replications=len(observed.elo),
        failed=int((~at_all).sum()),
        truth=tuple(truth.tolist()),
        truth_error=0.0 if equal else _truth_error(large, observed.elo[at_all]),
        sandwich=sandwich,
        bootstrap=bootstrap,
        sandwich_ratio=sandwich_ratio,
        bootstrap_ratio=bootstrap_ratio,
        sandwich_width=sandwich_width,
        bootstrap_width=bootstrap_width,
        simultaneous=simultaneous,
        pairwise=pairwise,
        overlap=overlap,
    )


def _truth_error(large: Floats, elo: Floats) -> float | None:
    if len(elo) < 2:
        return None
    return float((large.std(axis=0, ddof=1) / elo.std(axis=0, ddof=1)).mean() / np.sqrt(len(large)))


def _held(ends: Floats, truth: Floats) -> Floats:
    """1 where ends (…, 2) hold the truth, 0 where not, NaN without an interval."""
    inside = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
    return np.where(np.isnan(ends).any(axis=-1), np.nan, inside.astype(np.float64))


def _row_mean(values: Floats) -> Floats:
    """(R,) means over the entities or pairs that have a value; NaN where none has."""
    known = ~np.isnan(values)
    total, n = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    return np.asarray(np.divide(total, n, where=n > 0, out=np.full(len(values), np.nan)), np.float64)


def _claims(design: Design, observed: Observed, truth: Floats) -> tuple[Claims, ...]:
    """By simultaneous intervals, by pairwise intervals, by overlap of the bootstrap's own."""
    a, b = np.triu_indices(design.entities, 1)
    missed = (_held(observed.differences, (truth[a] - truth[b])[:, None]) == 0).any(axis=1)
    low, high = observed.differences[..., 0], observed.differences[..., 1]
    own_low, own_high = observed.ends[:, :, 1, 0], observed.ends[:, :, 1, 1]
    said = (
        _said(low[..., 0], high[..., 0]),
        _said(low[..., 1], high[..., 1]),
        _said(own_low[:, a] - own_high[:, b], own_high[:, a] - own_low[:, b]),
    )
    true = np.sign(design.planted[a] - design.planted[b]).astype(np.int64)
    shares = (share_of(missed[:, 0]), share_of(missed[:, 1]), None)
    return tuple(_judged_claims(claims, true, share) for claims, share in zip(said, shares, strict=True))


def _said(low: Floats, high: Floats) -> Ints:
    """1 where an interval says that a is better, -1 where b, 0 where neither."""
    return np.asarray((low > 0).astype(np.int64) - (high < 0), np.int64)


def _judged_claims(said: Ints, true: Ints, missed: Estimate | None) -> Claims:
    false: Bools = ((said != 0) & (said != true)).any(axis=1)
    right = ((said == true) & (true != 0)).sum(axis=1) / max(int((true != 0).sum()), 1)
    return Claims(missed, share_of(false), mean_of(right) if true.any() else None)
