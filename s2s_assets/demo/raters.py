"""Simulated raters: programmes with a known truth that work through the ratings store as people do.

A rater r hears configs a and b (of models A and B) on prompt p and answers rubric q, of cluster k, from

    z = θ[a, q] − θ[b, q]                          what was planted
      + u[r, A] − u[r, B] + v[p, A] − v[p, B]      taste of the rater, luck of the prompt        sd 0.30 and 0.35 each
      + h[task] + c[task, k] + e                   halo over the task, over the cluster; the rest  sd 0.70, 0.50
      ± β[r]                                       an edge for the one heard second                 mean 0.10, sd 0.10

The variances of all noise but β add up to π²/3, that of a logistic variable, so a fit of the ordinal model estimates θ.
The score is sign(z) times the number of thresholds (0.4, 1.0, 2.3) · l[r] below |z|, with a leniency l of the rater's own
(log-normal, sd 0.2). About one rater in twelve is careless: answers at random, or the same on every question.

They enrol, take leases, and submit like anybody else, at simulated times in the days before now, and they and their
answers are marked simulated. Every draw is seeded by names (study, seed, rater, pair), never by order or time.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from sqlalchemy import Engine

from s2s_assets.demo.planted import CONTENT_GROUP, planted_truth
from s2s_assets.ratings import (
    Assignment,
    Handout,
    Rater,
    RatingsStore,
    enrol,
    next_assignment,
    plant,
    status,
    submit,
    utc_now,
)
from s2s_assets.study import ConfigKey, Script, Study, StudyFolder, generator, load_truth
from s2s_assets.study.console import progress

THRESHOLDS = (0.4, 1.0, 2.3)
TASTE_SD, LUCK_SD, HALO_SD, CLUSTER_SD = 0.30, 0.35, 0.70, 0.50
REST_SCALE = (
    math.sqrt(3.0 * (math.pi**2 / 3.0 - 2 * TASTE_SD**2 - 2 * LUCK_SD**2 - HALO_SD**2 - CLUSTER_SD**2)) / math.pi
)
"""Scale of the logistic rest, so that all noise together has variance π²/3."""
CARELESS_SHARE = 1.0 / 12.0
SPAN = timedelta(days=6)
TASK_TIME = timedelta(seconds=75)
PROVIDER = "simulated"


@dataclass(frozen=True)
class Manner:
    """How a simulated rater answers."""

    order_bias: float
    leniency: float
    careless: str | None
    """`random`, `same`, or None for an honest rater."""


@dataclass(frozen=True)
class SimulatedStudy:
    """Everything that answers come from."""

    study: Study
    scripts: Mapping[str, Script]
    truth: Mapping[str, Mapping[str, float]]
    """Config key → rubric → strength in logits."""
    seed: int = 0

    def manner(self, number: int) -> Manner:
        """The manner of the rater of a number; every twelfth is careless, in turn one way and the other."""
        rng = generator(self.study.study, self.seed, "manner", number)
        every = round(1.0 / CARELESS_SHARE)
        careless = ("random", "same")[number // every % 2] if number % every == every - 1 else None
        return Manner(float(rng.normal(0.1, 0.1)), float(np.exp(rng.normal(0.0, 0.2))), careless)

    def screen_values(self, task: Assignment, rater: str, manner: Manner) -> dict[str, int]:
        """The answers to every rubric that the prompt's tags ask for."""
        rubrics = self.study.rubrics_for(self.scripts[task.prompt].tags)
        rng = generator(self.study.study, self.seed, "answer", rater, task.pair)
        if manner.careless == "same":
            return dict.fromkeys((r.id for r in rubrics), int(rng.choice([-2, -1, 1, 2])))
        if manner.careless == "random":
            return {r.id: int(rng.integers(-3, 4)) for r in rubrics}
        shared = self._effect(task, rater) + rng.normal(0.0, HALO_SD)
        clusters = {True: rng.normal(0.0, CLUSTER_SD), False: rng.normal(0.0, CLUSTER_SD)}
        values = {}
        for rubric in rubrics:
            planted = self.truth[task.config_a][rubric.id] - self.truth[task.config_b][rubric.id]
            towards_a = planted + shared + clusters[rubric.group == CONTENT_GROUP] + rng.logistic(0.0, REST_SCALE)
            towards_second = -towards_a if task.first == "a" else towards_a
            values[rubric.id] = _step(towards_second + manner.order_bias, manner.leniency)
        return values

    def _effect(self, task: Assignment, rater: str) -> float:
        """Taste and luck, for the first config's model less the second's."""
        total = 0.0
        for config, sign in ((task.config_a, 1.0), (task.config_b, -1.0)):
            model = ConfigKey.parse(config).model
            total += sign * generator(self.study.study, self.seed, "taste", rater, model).normal(0.0, TASTE_SD)
            total += sign * generator(self.study.study, self.seed, "luck", task.prompt, model).normal(0.0, LUCK_SD)
        return total


def _step(towards_second: float, leniency: float) -> int:
    steps = sum(abs(towards_second) > threshold * leniency for threshold in THRESHOLDS)
    return steps if towards_second > 0 else -steps


def rate_study(engine: Engine, folder: StudyFolder, n_raters: int, seed: int = 0, now: datetime | None = None) -> int:
    """Have simulated raters answer everything that is open in a study's database.

    Args:
        engine: The ratings database.
        folder: The study.
        n_raters: How many there are; fewer than `pairing.slots` cannot fill every slot.
        seed: Another crowd.
        now: The time that the answers lie before; by default this moment.

    Returns:
        The number of answers given.
    """
    store = RatingsStore(engine, folder.study.study)
    truth = planted_truth(folder.study, load_truth(folder.root))
    plant(store, truth)
    simulated = SimulatedStudy(folder.study, folder.script_of, truth, seed)
    counts = status(store)
    if counts["done"] == counts["slots"]:
        return 0
    with progress("simulated raters", counts["slots"] - counts["done"]) as advance:
        run_raters(store, simulated, n_raters, now or utc_now(), advance)
    return status(store)["answers"] - counts["answers"]


def run_raters(
    store: RatingsStore,
    simulated: SimulatedStudy,
    n_raters: int,
    now: datetime,
    advance: Callable[[int], None] = lambda _: None,
) -> int:
    """Raters sit down in turn, round after round, until a round gives nobody anything; how many tasks were done.

    The first round fills half of the days, each further one half of what is left.
    """
    prompts, slots = len(simulated.scripts), status(store)["slots"]
    # beyond everyone's fair share, so that the last pairs find raters who may have them
    rules = Handout(tasks_per_session=prompts, prompt_per_rater=2 + math.ceil(slots / (n_raters * prompts)))
    end = now - timedelta(seconds=simulated.study.refit.settle_s + 60)
    crowd = [_enrolled(store, number, end - SPAN) for number in range(n_raters)]
    rng = generator(simulated.study.study, simulated.seed, "handing out")
    done, left = 0, SPAN
    while (before := status(store))["done"] < before["slots"]:
        left /= 2
        rules = replace(rules, tasks_per_session=min(prompts, math.ceil((before["slots"] - before["done"]) / n_raters)))
        did = 0
        for number, who in enumerate(crowd):
            sitting = _Sitting(end - 2 * left + number * left / n_raters, left / n_raters)
            did += _sit(store, simulated, who, simulated.manner(number), sitting, rules, rng, advance)
        done += did
        if did == 0:
            break
    return done


@dataclass
class _Sitting:
    """A rater's session; the clock of its tasks."""

    now: datetime
    lasts: timedelta

    def __call__(self) -> datetime:
        return self.now


def _sit(
    store: RatingsStore,
    simulated: SimulatedStudy,
    who: Rater,
    manner: Manner,
    clock: _Sitting,
    rules: Handout,
    rng: np.random.Generator,
    advance: Callable[[int], None],
) -> int:
    session = f"{who.name}/{clock.now.isoformat()}"
    task_time = min(TASK_TIME, clock.lasts / (rules.tasks_per_session + 1))
    done = 0
    while task := next_assignment(store, who, session, rng, clock, rules):
        clock.now += task_time
        values = simulated.screen_values(task, who.name, manner)
        submit(store, task.nonce, values, clock, elapsed_ms=round(task_time.total_seconds() * 1000))
        advance(1)
        done += 1
    return done


def _enrolled(store: RatingsStore, number: int, when: datetime) -> Rater:
    name = f"simulated-{number + 1:03d}"
    return enrol(store, PROVIDER, name, when, name=name, simulated=True)
