"""The whole demo study in one process: what an engineer would do in the Dagster UI, step by step.

Prompts are prepared; the registry sensor adds the configs' partitions and asks for their exchanges with the local systems
under test; the plan follows; simulated raters work through the ratings store; the refit sensor asks for a refit; a
release is sealed. Every step goes through the same sensors, jobs and assets as in production, so a second run finds every
level stored and does nothing.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from s2s_assets.definitions import defs
from s2s_assets.demo.raters import rate_study
from s2s_assets.demo.servers import demo_servers
from s2s_assets.leaderboard import last_release
from s2s_assets.materialize import claim_state, say, settle_level
from s2s_assets.orchestration import Driver, StudyResource, open_instance
from s2s_assets.study import StudyError, plural

RELEASED_BY = "demo"


@dataclass(frozen=True)
class DemoResult:
    """What the demo has made."""

    page: Path
    answers: int
    seconds: float


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run_demo(root: Path, raters: int) -> DemoResult:
    """Run the demo study to its release in `root`'s Dagster instance.

    Raises:
        StudyError: `S2S_STUDY` names a study of real ratings.
        RunFailedError: a run failed.
    """
    started = time.monotonic()
    resource = StudyResource()
    folder = resource.folder()
    if not folder.study.analysis.simulated:
        raise StudyError(
            f"study {folder.study.study!r} (S2S_STUDY={resource.settings.study}) is no demo: its analysis is not marked "
            "`simulated: true`, and simulated raters must not answer in it; unset S2S_STUDY, or use `s2s materialize`"
        )
    say(
        f"study {folder.study.study}: {plural(len(folder.scripts), 'prompt')}, {plural(len(folder.study.active_configs), 'config')}"
    )
    with open_instance(root) as instance, demo_servers() as addresses, environment(addresses):
        driver = Driver(defs, instance)
        claim_state(resource, driver, folder.study)
        driver.run_job("prepare")
        say("prompts recorded, checked, selected and normalized")
        collected = settle_level(driver, "registry_to_responses", "exchanging with the local systems")
        say(f"{plural(collected, 'config')} exchanged" if collected else "every config has its responses already")
        planned = settle_level(driver, "cells_to_plan", "pairing")
        say("pairs planned and handed to the ratings database" if planned else "the pairing plan is up to date")
        answers = rate_study(resource.engine(), folder, raters)
        say(
            f"{plural(answers, 'answer')} from {plural(raters, 'simulated rater')}"
            if answers
            else "every slot has its answers already"
        )
        refits = settle_level(driver, "ratings_to_refit", "fitting, resampling, clustering, drawing the board")
        say("boards refitted" if refits else "nothing new to fit")
        config = {"ops": {"release": {"config": {"by": RELEASED_BY, "note": "made by the demo"}}}}
        driver.run_job("publish", config=config)
    releases = resource.settings.home / "releases"
    newest = last_release(releases)
    assert newest is not None
    return DemoResult(releases / newest.release / "index.html", answers, time.monotonic() - started)
