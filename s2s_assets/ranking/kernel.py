"""Counts of resampled ratings: for each cell, Σ over its ratings of rater multiplicity × prompt multiplicity.

Rows are sorted by cell and taken in chunks small enough to stay in cache: gather the raters' multiplicities (rows ×
resamples), multiply those of the prompts into them, and add rows up by cell as one sparse product. All of it is in 16-bit
integers, with chunks so short that no cell's sum can reach 2^16; chunks add up in 64-bit floats, which hold integers exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from s2s_assets.ranking.counts import Selection
from s2s_assets.ranking.draws import Draws
from s2s_assets.study import Floats

_BLOCK = range(8, 257)
"""Resamples counted and fitted together: many for the sake of time, fewer where their matrices would fill the caches."""
_MATRICES = 2**20
"""Numbers in the matrices of a block."""
_CHUNK = 2048
"""Ratings counted together, where no sum can then overflow."""
_LIMIT = 2**16 - 1


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows in the order of cells."""

    rater: npt.NDArray[np.intp]
    prompt: npt.NDArray[np.intp]
    first_cell: int
    by_cell: csr_array
    """(cells of the chunk, rows) with ones."""


@dataclass(frozen=True)
class Counter:
    """A selection's rows, ready to be counted again and again."""

    draws: Draws
    chunks: tuple[Chunk, ...]
    cells: int

    @classmethod
    def of(cls, selection: Selection, draws: Draws) -> "Counter":
        """Sort and cut the rows."""
        dtype = np.uint16 if selection.cells < 2**16 else np.int32  # numpy sorts 16-bit keys by radix
        order = np.argsort(selection.cell.astype(dtype), kind="stable")
        heaviest = int(draws.raters.max(initial=1)) * int(draws.prompts.max(initial=1))
        fits = selection.counts.max(initial=0) * heaviest <= _LIMIT
        size = _CHUNK if fits else min(_CHUNK, max(_LIMIT // heaviest, 1))
        return cls(draws, tuple(_chunks(selection, order, size)), selection.cells)

    def count(self, resamples: slice) -> Floats:
        """(cells, resamples) weighted counts."""
        raters, prompts = (np.ascontiguousarray(of[:, resamples]) for of in (self.draws.raters, self.draws.prompts))
        longest, width = max((len(chunk.rater) for chunk in self.chunks), default=0), raters.shape[1]
        total = np.zeros((self.cells, width))
        product, of_prompts = np.empty((2, longest, width), np.uint16)
        for chunk in self.chunks:
            n = len(chunk.rater)
            np.take(raters, chunk.rater, axis=0, out=product[:n], mode="clip")
            np.take(prompts, chunk.prompt, axis=0, out=of_prompts[:n], mode="clip")
            product[:n] *= of_prompts[:n]
            cells = slice(chunk.first_cell, chunk.first_cell + chunk.by_cell.shape[0])
            total[cells] += chunk.by_cell @ product[:n]
        return total


def suited_block(entities: int) -> int:
    """Resamples to be fitted together; results do not depend on it."""
    return min(max(_MATRICES // max(entities, 1) ** 2, _BLOCK[0]), _BLOCK[-1])


def blocks(resamples: int, size: int) -> Iterator[slice]:
    """Resamples, some at a time."""
    return (slice(start, min(start + size, resamples)) for start in range(0, resamples, size))


def _chunks(selection: Selection, order: npt.NDArray[np.intp], size: int) -> Iterator[Chunk]:
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        cell = selection.cell[rows]
        sizes = np.bincount(cell - cell[0])
        ones, columns = np.ones(len(rows), np.uint16), np.arange(len(rows), dtype=np.int32)
        limits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        by_cell = csr_array((ones, columns, limits), shape=(len(sizes), len(rows)))
        rater, prompt = (np.take(of, rows).astype(np.intp) for of in (selection.rater, selection.prompt))
        yield Chunk(rater, prompt, int(cell[0]), by_cell)
