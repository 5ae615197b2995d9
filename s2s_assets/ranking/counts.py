"""Ratings as counts of (pair, score): all that any of the engines needs to know.

Strengths depend on ratings only through C[score, pair], the number of ratings of a pair with a score, where a pair is
(i, j) with i < j and the score is turned so that > 0 means i is better. Fits on other entities than configs are sums of
the same cells: configs that share a model fall together, and a pair within one entity is left out and counted.

A *plane* is one score of one stratum: plane 7·r + (score + 3) of stratum r. Strata are rubrics with thresholds of their
own that share strengths; an ordinary board has one. A *cell* is plane · P + pair, P being the number of pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from s2s_assets.ranking.spec import FitSpec
from s2s_assets.study import Bools, By, ConfigKey, Floats, InputError, Ints

SCORES = 7
"""Scores -3..+3, columns 0..6."""


@dataclass(frozen=True)
class CodedRatings:
    """Counting ratings with names as numbers: raters, prompts and configs are sorted by name."""

    raters: tuple[str, ...]
    prompts: tuple[str, ...]
    configs: tuple[str, ...]
    rows: pl.DataFrame
    """One row a rating: rater, prompt, a, b (numbers), score, rubric and the attributes a board may select by; `left`
    is 1 where `a` was heard first, -1 where `b` was, 0 where that is unknown (1 throughout where it always is)."""
    dropped: frozenset[str]
    """Raters left out of the `cleaned` variant."""
    heard: bool
    """Whether it is known which answer was heard first."""


@dataclass(frozen=True)
class Selection:
    """The rows of one board on pairs of configs."""

    rater: Ints
    """(rows,) numbers of raters."""
    prompt: Ints
    cell: Ints
    """(rows,) plane · P + pair."""
    pairs: Ints
    """(P, 2) numbers of configs, the smaller first."""
    strata: int
    side: Ints
    """(rows,) +1 where the pair's first config was on the left, -1 where its second was, 0 unknown (see `sides.py`)."""

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.strata * SCORES * len(self.pairs)


@dataclass(frozen=True)
class Problem:
    """Connected entities with the counts of their pairs: what is fitted as one."""

    entities: tuple[str, ...]
    pairs: Ints
    """(P, 2) numbers of entities, the smaller first."""
    counts: Floats
    """(strata · 7, P) ratings by plane and pair."""
    rater: Ints
    """(rows,) numbers of raters."""
    prompt: Ints
    cell: Ints
    """(rows,) plane · P + pair."""
    fold: csr_array
    """(strata · 7 · P, cells of the selection) with ones: turns a selection's counts into this problem's."""
    side: Ints
    """(rows,) +1 where the pair's first entity was on the left, -1 where its second was, 0 unknown."""

    @cached_property
    def incidence(self) -> csr_array:
        """(entities, P): +1 where an entity is a pair's first, -1 where it is the second."""
        pair = np.arange(len(self.pairs))
        data = np.repeat([1.0, -1.0], len(pair))
        index = (self.pairs.T.ravel(), np.tile(pair, 2))
        return csr_array(coo_array((data, index), shape=(len(self.entities), len(pair))))


def code_ratings(ratings: pl.DataFrame, dropped_raters: frozenset[str] = frozenset()) -> CodedRatings:
    """Number the names of a `ratings` table; answers that carry an exclusion do not count.

    Raises:
        InputError: a missing name, a score that is no integer from -3 to 3, or a config paired with itself.
    """
    if "excluded_by" in ratings.columns:
        ratings = ratings.filter(pl.col("excluded_by").is_null())
    names = ("rater", "prompt", "config_a", "config_b")
    ratings = ratings.with_columns(pl.col(*names).cast(pl.String), pl.col("score").cast(pl.Float64))
    wrong = ratings.filter(
        pl.any_horizontal(pl.col(*names, "score").is_null())
        | ~pl.col("score").is_between(-3, 3)
        | (pl.col("score") != pl.col("score").round())
        | (pl.col("config_a") == pl.col("config_b"))
    )
    if wrong.height:
        first = wrong.row(0, named=True)
        raise InputError(
            f"rating of {first['config_a']!r} against {first['config_b']!r} on prompt {first['prompt']!r} by "
            f"{first['rater']!r}, score {first['score']}: expected a rater, a prompt, two configs and an integer from "
            "-3 to 3"
        )
    raters = ratings["rater"].unique().sort().to_list()
    prompts = ratings["prompt"].unique().sort().to_list()
    configs = pl.concat([ratings["config_a"], ratings["config_b"]]).unique().sort().to_list()
    numbered = {"rater": ("rater", raters), "prompt": ("prompt", prompts)}
    numbered |= {"a": ("config_a", configs), "b": ("config_b", configs)}
    rows = ratings.with_columns(
        *(
            pl.col(column).cast(pl.Enum(names)).to_physical().cast(pl.Int64).alias(alias)
            for alias, (column, names) in numbered.items()
        )
    )
    heard = "first" in rows.columns and rows["first"].null_count() < rows.height
    left = pl.col("first").replace_strict({"a": 1, "b": -1}, default=0, return_dtype=pl.Int64) if heard else pl.lit(1)
    rows = rows.with_columns(left=left.cast(pl.Int64))
    return CodedRatings(tuple(raters), tuple(prompts), tuple(configs), rows, dropped_raters, heard)


def select(coded: CodedRatings, spec: FitSpec) -> Selection:
    """The rows that a board is made of, sign-folded; a slice's attribute must be a column of the ratings."""
    rows = coded.rows.filter(pl.col("rubric").is_in(spec.rubrics))
    if spec.slice_dimension != "all":
        rows = rows.filter(pl.col(spec.slice_dimension) == spec.slice_value)
    if spec.variant == "cleaned":
        dropped = [k for k, name in enumerate(coded.raters) if name in coded.dropped]
        rows = rows.filter(~pl.col("rater").is_in(dropped))
    elif spec.variant == "baseline" and "source" in rows.columns:
        rows = rows.filter(pl.col("source").is_null() | (pl.col("source") != "adaptive"))
    return _fold_signs(rows, spec.rubrics, len(coded.configs))


def _fold_signs(rows: pl.DataFrame, rubrics: Sequence[str], n_configs: int) -> Selection:
    a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
    swapped = a > b
    key = np.where(swapped, b, a) * n_configs + np.where(swapped, a, b)
    present = np.flatnonzero(np.bincount(key, minlength=1))
    place = np.zeros(n_configs * n_configs + 1, np.int64)
    place[present] = np.arange(len(present))
    score = rows["score"].cast(pl.Int64).to_numpy()
    column = np.where(swapped, -score, score) + 3
    left = rows["left"].to_numpy()
    stratum = rows["rubric"].replace_strict(list(rubrics), range(len(rubrics)), return_dtype=pl.Int64).to_numpy()
    return Selection(
        rater=rows["rater"].to_numpy(),
        prompt=rows["prompt"].to_numpy(),
        cell=(stratum * SCORES + column) * len(present) + place[key],
        pairs=np.column_stack([present // n_configs, present % n_configs]),
        strata=len(rubrics),
        side=np.where(swapped, -left, left),
    )


def entity_of(config: str, by: By, families: Mapping[str, str]) -> str:
    """What a config counts as on a board.

    Raises:
        ConfigKeyError: the board pools configs, and this one is no config key.
        InputError: the board is by family, and the model has none.
    """
    if by == "config":
        return config
    key = ConfigKey.parse(config)
    if by == "family":
        if key.model not in families:
            raise InputError(f"model {key.model!r} has no family: add it to the families file or to the study")
        return families[key.model]
    return {"model": key.model, "voice": f"{key.model}|{key.voice}", "thinking": f"{key.model}|{key.thinking}"}[by]


def problems(selection: Selection, labels: Sequence[str]) -> tuple[tuple[Problem, ...], int]:
    """One problem a connected component, and the number of ratings left out because both sides are one entity.

    Args:
        selection: rows on pairs of configs.
        labels: the entity of each config, by the config's number.

    Returns:
        Problems by the name of their first entity.
    """
    names = sorted({labels[c] for c in np.unique(selection.pairs)})
    number = {name: k for k, name in enumerate(names)}
    code = np.array([number.get(label, -1) for label in labels], np.int64)
    ends = code[selection.pairs]
    between = ends[:, 0] != ends[:, 1]
    graph = coo_array((np.ones(between.sum()), ends[between].T), shape=(len(names), len(names)))
    _, component = connected_components(graph, directed=False)
    found = [
        _problem(selection, names, ends, between & (component[ends[:, 0]] == c))
        for c in dict.fromkeys(component[np.unique(ends[between])].tolist())
    ]
    n_within = int((~between)[selection.cell % max(len(selection.pairs), 1)].sum())
    return tuple(found), n_within


def _problem(selection: Selection, names: list[str], ends: Ints, taken: Bools) -> Problem:
    """The problem of the pairs taken, `ends` being the entities of each pair of configs."""
    low, high = ends.min(axis=1), ends.max(axis=1)
    present, pair = np.unique(low[taken] * len(names) + high[taken], return_inverse=True)
    members, pairs = np.unique(np.column_stack([present // len(names), present % len(names)]), return_inverse=True)
    planes = selection.strata * SCORES
    plane = np.arange(planes)[:, None]
    mirrored = plane // SCORES * SCORES + SCORES - 1 - plane % SCORES
    cells = np.full((planes, len(ends)), -1)
    flipped = ends[taken, 0] > ends[taken, 1]
    cells[:, taken] = np.where(flipped, mirrored, plane) * len(present) + pair
    target = cells.ravel()
    source = np.flatnonzero(target >= 0)
    own = target[selection.cell]
    kept = own >= 0
    size = planes * len(present)
    side = selection.side
    if flipped.any():
        turned = np.ones(len(ends), np.int64)
        turned[taken] = np.where(flipped, -1, 1)
        side = side * turned[selection.cell % len(ends)]
    return Problem(
        entities=tuple(names[m] for m in members),
        pairs=pairs.reshape(-1, 2),
        counts=np.bincount(own[kept], minlength=size).astype(np.float64).reshape(planes, len(present)),
        rater=selection.rater[kept],
        prompt=selection.prompt[kept],
        cell=own[kept],
        fold=csr_array(coo_array((np.ones(len(source)), (target[source], source)), shape=(size, selection.cells))),
        side=side[kept],
    )
