"""Counts of resampled ratings: for each cell, Σ over its ratings of rater multiplicity × prompt multiplicity.

Rows are sorted by cell and taken in chunks small enough to stay in cache: gather the raters' multiplicities (rows ×
resamples), multiply those of the prompts into them, and add rows up as one sparse product. All of it is in 16-bit integers:
the rows of a cell are added up in runs so short that no sum can reach 2^16. Runs add up in 64-bit floats, which hold integers
exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from s2s_assets.ranking.draws import Draws
from s2s_assets.ranking.selection import Selection
from s2s_assets.study import Floats, Ints

_BLOCK = range(8, 257)
"""Resamples counted and fitted together: many for the sake of time, fewer where their matrices would fill the caches."""
_MATRICES = 2**20
"""Numbers in the matrices of a block."""
_CHUNK = 2048
"""Ratings counted together."""
_LIMIT = 2**16 - 1


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows in the order of cells."""

    rater: npt.NDArray[np.intp]
    prompt: npt.NDArray[np.intp]
    first_run: int
    by_run: csr_array
    """(runs of the chunk, rows) with ones."""


@dataclass(frozen=True)
class Counter:
    """A selection's rows, ready to be counted again and again."""

    draws: Draws
    chunks: tuple[Chunk, ...]
    by_cell: csr_array
    """(cells, runs) with ones."""

    @classmethod
    def of(cls, selection: Selection, draws: Draws) -> "Counter":
        """Sort and cut the rows."""
        dtype = np.uint16 if selection.cells < 2**16 else np.int32  # numpy sorts 16-bit keys by radix
        order = np.argsort(selection.cell.astype(dtype), kind="stable")
        heaviest = int(draws.raters.max(initial=1)) * int(draws.prompts.max(initial=1))
        rows = selection.counts.astype(np.int64)
        runs = -(-rows // max(_LIMIT // heaviest, 1))
        limits = np.concatenate([[0], np.cumsum(runs)])
        by_cell = csr_array((np.ones(limits[-1]), np.arange(limits[-1]), limits), shape=(len(rows), limits[-1]))
        return cls(draws, tuple(_chunks(selection, order, _run_sizes(rows, runs))), by_cell)

    def count(self, resamples: slice) -> Floats:
        """(cells, resamples) weighted counts."""
        raters, prompts = (np.ascontiguousarray(of[:, resamples]) for of in (self.draws.raters, self.draws.prompts))
        width = raters.shape[1]
        total = np.zeros((self.by_cell.shape[1], width))
        product, of_prompts = np.empty((2, _CHUNK, width), np.uint16)
        for chunk in self.chunks:
            n = len(chunk.rater)
            np.take(raters, chunk.rater, axis=0, out=product[:n], mode="clip")
            np.take(prompts, chunk.prompt, axis=0, out=of_prompts[:n], mode="clip")
            product[:n] *= of_prompts[:n]
            total[chunk.first_run : chunk.first_run + chunk.by_run.shape[0]] += chunk.by_run @ product[:n]
        return np.asarray(self.by_cell @ total, np.float64)


def _run_sizes(rows: Ints, runs: Ints) -> Ints:
    """(all runs,) rows of each, from the rows and runs of each cell: as equal as can be."""
    cell = np.repeat(np.arange(len(rows)), runs)
    place = np.arange(len(cell)) - np.repeat(np.cumsum(runs) - runs, runs)
    return np.asarray(rows[cell] // runs[cell] + (place < rows[cell] % runs[cell]), np.int64)


def suited_block(entities: int) -> int:
    """Resamples to be fitted together; results do not depend on it."""
    return min(max(_MATRICES // max(entities, 1) ** 2, _BLOCK[0]), _BLOCK[-1])


def blocks(resamples: int, size: int) -> Iterator[slice]:
    """Resamples, some at a time."""
    return (slice(start, min(start + size, resamples)) for start in range(0, resamples, size))


def _chunks(selection: Selection, order: npt.NDArray[np.intp], run_sizes: Ints) -> Iterator[Chunk]:
    run = np.repeat(np.arange(len(run_sizes)), run_sizes)
    ones, columns = np.ones(_CHUNK, np.uint16), np.arange(_CHUNK, dtype=np.int32)
    for start in range(0, len(order), _CHUNK):
        rows, own = order[start : start + _CHUNK], run[start : start + _CHUNK]
        limits = np.concatenate([[0], np.cumsum(np.bincount(own - own[0]))]).astype(np.int32)
        n = len(rows)
        by_run = csr_array((ones[:n], columns[:n], limits), shape=(len(limits) - 1, n))
        rater, prompt = (of.take(rows).astype(np.intp) for of in (selection.rater, selection.prompt))
        yield Chunk(rater, prompt, int(own[0]), by_run)
