"""Counts of resampled ratings: for each cell, Σ over its ratings of rater multiplicity × prompt multiplicity.

Rows are sorted by cell and taken in chunks small enough to stay in cache: gather the raters' multiplicities (rows ×
resamples), multiply those of the prompts into them, and add rows up by cell as one sparse product. All numbers are
integers; a chunk's sums are exact in 32-bit floats, and chunks add up in 64 bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from s2s_assets.ranking.counts import Selection
from s2s_assets.ranking.draws import Draws
from s2s_assets.study import Floats, Ints

BLOCK = 128
"""Resamples counted and fitted together."""
_CHUNK = 2048
"""Ratings counted together."""


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows in the order of cells."""

    rater: Ints
    prompt: Ints
    first_cell: int
    by_cell: csr_array
    """(cells of the chunk, rows) with ones."""


@dataclass(frozen=True)
class Counter:
    """A selection's rows, ready to be counted again and again."""

    chunks: tuple[Chunk, ...]
    cells: int

    @classmethod
    def of(cls, selection: Selection) -> "Counter":
        """Sort and cut the rows."""
        dtype = np.uint16 if selection.cells < 2**16 else np.int64  # numpy sorts 16-bit keys by radix
        order = np.argsort(selection.cell.astype(dtype), kind="stable")
        return cls(tuple(_chunks(selection, order)), selection.cells)

    def count(self, rater_weights: Floats, prompt_weights: Floats) -> Floats:
        """(cells, resamples) weighted counts.

        Args:
            rater_weights: (raters, resamples) float32 multiplicities.
            prompt_weights: (prompts, resamples).
        """
        resamples = rater_weights.shape[1]
        total = np.zeros((self.cells, resamples))
        product = np.empty((_CHUNK, resamples), np.float32)
        of_prompts = np.empty_like(product)
        for chunk in self.chunks:
            n = len(chunk.rater)
            np.take(rater_weights, chunk.rater, axis=0, out=product[:n], mode="clip")
            np.take(prompt_weights, chunk.prompt, axis=0, out=of_prompts[:n], mode="clip")
            product[:n] *= of_prompts[:n]
            cells = slice(chunk.first_cell, chunk.first_cell + chunk.by_cell.shape[0])
            total[cells] += chunk.by_cell @ product[:n]
        return total


def blocks(draws: Draws, size: int = BLOCK) -> Iterator[tuple[slice, Floats, Floats]]:
    """Resamples in blocks, with the multiplicities of raters and prompts as float32."""
    for start in range(0, draws.resamples, size):
        block = slice(start, min(start + size, draws.resamples))
        yield block, draws.raters[:, block].astype(np.float32), draws.prompts[:, block].astype(np.float32)


def _chunks(selection: Selection, order: Ints) -> Iterator[Chunk]:
    for start in range(0, len(order), _CHUNK):
        rows = order[start : start + _CHUNK]
        cell = selection.cell[rows]
        sizes = np.bincount(cell - cell[0])
        ones, columns = np.ones(len(rows), np.float32), np.arange(len(rows), dtype=np.int32)
        limits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        by_cell = csr_array((ones, columns, limits), shape=(len(sizes), len(rows)))
        yield Chunk(selection.rater[rows], selection.prompt[rows], int(cell[0]), by_cell)
