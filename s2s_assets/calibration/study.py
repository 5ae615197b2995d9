"""The simulation study as a whole: every design, in as many processes as there are, and what it is held against.

Every simulated study is seeded by its design and number, so what is found does not depend on the number of processes or
on their order.

**Bars.** Of the designs that are judged: the sandwich covers within two Monte-Carlo errors of 93 to 97 %, the bootstrap at
least 95 %, and a study misses with its simultaneous intervals in at most 5 % of cases, within two Monte-Carlo errors. Of
the clustering's designs without clusters: a partition is reproduced in at most 10 %.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeVar

import numpy as np

from s2s_assets.calibration.clusters import ClusterStudy, observe_clusters, summarise_clusters
from s2s_assets.calibration.coverage import Coverage, large_study, observe, summarise
from s2s_assets.calibration.designs import CLUSTERS, COVERAGE, null
from s2s_assets.calibration.estimates import Estimate
from s2s_assets.calibration.simulate import Design

CALIBRATION_VERSION = "calibration-1"
"""Changes whenever the same methods would be given other studies or other measures."""
SANDWICH_LOW, SANDWICH_HIGH, BOOTSTRAP_LOW = 0.93, 0.97, 0.95
MISSED_HIGH, REPRODUCED_HIGH = 0.05, 0.10
_ERRORS = 2.0
"""Monte-Carlo errors by which a number may be beyond its bar."""

Record = TypeVar("Record")


@dataclass(frozen=True)
class Effort:
    """How much is simulated."""

    name: str
    replications: int
    """Studies of each design."""
    resamples: int
    """Of each study."""
    large: int
    """Large studies that the truth comes from."""
    cluster_replications: int
    cluster_resamples: int
    coverage: tuple[Design, ...] = COVERAGE
    """Designs for intervals and pairs, names all different."""
    clusters: tuple[Design, ...] = CLUSTERS
    """Designs for the clustering of rubrics."""


QUICK = Effort("quick", replications=60, resamples=200, large=2, cluster_replications=15, cluster_resamples=200)
FULL = Effort("full", replications=1000, resamples=1000, large=10, cluster_replications=200, cluster_resamples=500)


@dataclass(frozen=True)
class Verdict:
    """A bar, and whether one design meets it."""

    bar: str
    design: str
    found: Estimate | None
    met: bool


@dataclass(frozen=True)
class Calibration:
    """What was found."""

    effort: Effort
    coverage: tuple[Coverage, ...]
    clusters: tuple[ClusterStudy, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every bar for every design that it is for."""
        judged = [c for c in self.coverage if c.judged]
        named = [(c.design.name, c) for c in judged]
        noise = [(c.design.name, c.reproduced) for c in self.clusters if c.noise_only]
        return (
            *(_between("sandwich", name, c.sandwich, SANDWICH_LOW, SANDWICH_HIGH) for name, c in named),
            *(_between("bootstrap", name, c.bootstrap, BOOTSTRAP_LOW, 1.0, errors=0.0) for name, c in named),
            *(_between("pairs", name, c.simultaneous.missed, 0.0, MISSED_HIGH) for name, c in named),
            *(_between("clusters", name, found, 0.0, REPRODUCED_HIGH, errors=0.0) for name, found in noise),
        )


def _between(
    bar: str, design: str, found: Estimate | None, low: float, high: float, errors: float = _ERRORS
) -> Verdict:
    met = found is not None and low - errors * found.error <= found.value <= high + errors * found.error
    return Verdict(bar, design, found, met)


@dataclass(frozen=True)
class _Task:
    """A part of the work that a process does at a time."""

    design: str
    kind: str
    work: Callable[[], Any]
    steps: int


def steps_of(effort: Effort) -> int:
    """How many steps `calibrate` reports."""
    return sum(task.steps for task in _tasks(effort))


def calibrate(effort: Effort, jobs: int = 1, advance: Callable[[int], None] = lambda _: None) -> Calibration:
    """Simulate all designs.

    Args:
        effort: what, and how much of it.
        jobs: processes; with 1 all is done in this one.
        advance: called with the number of steps done since the last call.

    Raises:
        FitError: a fit that did not converge.
    """
    tasks = _tasks(effort)
    parts: dict[tuple[str, str], list[Any]] = {}
    for task, result in zip(tasks, _results(tasks, jobs, advance), strict=True):
        parts.setdefault((task.kind, task.design), []).append(result)

    def large(design: Design) -> Any:
        found = parts.get(("large", design.name), [])
        return np.concatenate(found) if found else np.zeros((0, design.entities))

    return Calibration(
        effort,
        tuple(summarise(d, joined(parts["study", d.name]), large(d)) for d in effort.coverage),
        tuple(summarise_clusters(d, joined(parts["clusters", d.name])) for d in effort.clusters),
    )


def joined(parts: Sequence[Record]) -> Record:
    """Records of arrays as one, in their order."""
    columns = ([getattr(part, f.name) for part in parts] for f in fields(parts[0]))  # type: ignore[arg-type]
    return type(parts[0])(*(np.concatenate(column) for column in columns))


def _tasks(effort: Effort) -> list[_Task]:
    tasks = []
    for design in effort.coverage:
        if not null(design):
            tasks += [_Task(design.name, "large", partial(large_study, design, [k]), 1) for k in range(effort.large)]
        for at in _chunks(effort.replications, 25):
            tasks.append(_Task(design.name, "study", partial(observe, design, at, effort.resamples), len(at)))
    for design in effort.clusters:
        for at in _chunks(effort.cluster_replications, 5):
            work = partial(observe_clusters, design, at, effort.cluster_resamples)
            tasks.append(_Task(design.name, "clusters", work, len(at)))
    return tasks


def _chunks(n: int, size: int) -> Iterator[range]:
    return (range(start, min(start + size, n)) for start in range(0, n, size))


def _results(tasks: Sequence[_Task], jobs: int, advance: Callable[[int], None]) -> list[Any]:
    """What each task gives, in their order."""
    if jobs == 1:
        found = []
        for task in tasks:
            found.append(task.work())
            advance(task.steps)
        return found
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        futures = {pool.submit(task.work): task for task in tasks}
        for done in as_completed(futures):
            done.result()
            advance(futures[done].steps)
        return [future.result() for future in futures]
    finally:
        pool.shutdown(cancel_futures=True)
