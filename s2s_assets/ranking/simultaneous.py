"""Who beats whom, with one error rate for all pairs together.

Max-t: with V the two-way sandwich of the strengths and se_ab the standard error of s_a - s_b by it, all the intervals
(s_a - s_b) ± c · se_ab hold together with 95 % when c is the 95 % quantile of max |t_ab| over all pairs. It is taken from
10,000 draws of a multivariate t with covariance V and min(G_rater, G_prompt) - 1 degrees, seeded by name. These
intervals come from the sandwich and not from the resamples, whose product weights make them conservative.

Letters (Piepho 2004, insert and absorb): two entities share a letter if and only if their interval holds 0. Begin with
one column of all entities; for each pair told apart, every column that holds both becomes two, each without one of the
pair, and columns contained in others are dropped. Columns are lettered by their best ranked members. Entities that share
a letter are not equal: they are not told apart. A table that would need more than 52 letters has none.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from s2s_assets.ranking.ordinal import SINGULAR
from s2s_assets.ranking.sandwich import Sandwich
from s2s_assets.study import Floats, generator

DRAWS = 10_000
_LEVEL = 0.95
_CHUNK = 1000
_COLUMNS = 1000
"""Columns on the way to letters at which there will be too many: pairs that have nothing to do with one another double them."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Simultaneous:
    """Intervals that hold together, in logits."""

    quantile: float
    """c, in standard errors."""
    se: Floats
    """(E, E) of each difference; NaN where there is none."""

    def half_widths(self) -> Floats:
        """(E, E) c · se."""
        return self.quantile * self.se


def simultaneous(robust: Sandwich, draws: int = DRAWS) -> Simultaneous | None:
    """Max-t intervals of all differences; None without a sandwich or with fewer than two entities in it."""
    if robust.covariance is None:
        return None
    known = np.flatnonzero(np.isfinite(robust.se))
    if len(known) < 2:
        return None
    covariance = robust.covariance[np.ix_(known, known)]
    variances = np.diag(covariance)
    squared = variances[:, None] + variances - 2 * covariance
    own = np.sqrt(np.where(squared > 1e-12 * variances.max(), squared, np.nan))
    np.fill_diagonal(own, np.nan)
    se = np.full(robust.covariance.shape, np.nan)
    se[np.ix_(known, known)] = own
    largest = _largest_t(covariance, own, robust.degrees, draws)
    return Simultaneous(float(np.quantile(largest, _LEVEL)), se)


def _largest_t(covariance: Floats, se: Floats, degrees: int, draws: int) -> Floats:
    """(draws,) max |t_ab| of vectors drawn from the multivariate t."""
    stream = generator("max-t")
    values, vectors = np.linalg.eigh(covariance)
    kept = np.where(values > SINGULAR * values.max(), values, 0.0)
    factor = (vectors * np.sqrt(kept)) @ vectors.T  # the symmetric root: no library's choice of signs is in it
    inverse = np.where(np.isfinite(se), 1.0 / se, 0.0)
    largest = np.zeros(draws)
    for start in range(0, draws, _CHUNK):
        at = slice(start, min(start + _CHUNK, draws))
        size = at.stop - start
        scale = np.sqrt(stream.chisquare(degrees, size) / degrees)
        drawn = factor @ stream.standard_normal((len(se), size)) / scale
        for a in range(len(se) - 1):
            gap = np.abs(drawn[a + 1 :] - drawn[a]) * inverse[a, a + 1 :, None]
            np.maximum(largest[at], gap.max(axis=0), out=largest[at])
    return largest


def told_apart(strengths: Floats, found: Simultaneous) -> list[tuple[int, int]]:
    """Pairs (a, b), a < b, whose interval leaves 0 out."""
    apart = np.triu(np.abs(strengths[:, None] - strengths) > np.nan_to_num(found.half_widths(), nan=np.inf), 1)
    return [(int(a), int(b)) for a, b in np.argwhere(apart)]


def compact_letters(order: Sequence[int], apart: Iterable[tuple[int, int]]) -> dict[int, str]:
    """Letters of each entity; none at all where the alphabet does not suffice.

    Args:
        order: the entities by rank.
        apart: pairs of them that are told apart.
    """
    place = {entity: k for k, entity in enumerate(order)}
    columns = [(1 << len(order)) - 1]  # a column as bits, the best ranked entity in the lowest
    for pair in sorted(tuple(sorted((place[a], place[b]))) for a, b in apart):
        both = (1 << pair[0]) | (1 << pair[1])
        split = [c for c in columns if c & both == both]
        kept = [c for c in columns if c & both != both]
        halves = {c & ~(1 << one) for c in split for one in pair}
        columns = _absorbed(kept, halves)
        if len(columns) > _COLUMNS:
            return {}
    columns.sort(key=lambda c: [k for k in range(len(order)) if c >> k & 1])
    if len(columns) > len(_ALPHABET):
        return {}
    held = {entity: [n for n, column in enumerate(columns) if column >> k & 1] for entity, k in place.items()}
    return {entity: "".join(_ALPHABET[n] for n in numbers) for entity, numbers in held.items()}


def _absorbed(kept: list[int], fresh: Iterable[int]) -> list[int]:
    """All columns but those that lie within another; those kept lie within none of the fresh ones."""
    by_size = sorted(fresh, key=lambda c: (-c.bit_count(), c))
    found = list(kept)
    for column in by_size:
        if not any(column & other == column for other in found):
            found.append(column)
    return found
