"""`s2s materialize`: everything at once from the command line, as "Materialize all" does in the UI.

Partition keys are added first, so that a fresh instance needs no sensor. A config that fails does not stop the others; the
plan then says what it waits for.
"""

from pathlib import Path

import click

from s2s_assets.definitions import defs
from s2s_assets.orchestration import CONFIG_SET, Driver, RunFailedError, StudyResource, live_keys, open_instance
from s2s_assets.ratings import RatingsStore
from s2s_assets.study import ConfigKey, InputError, Study
from s2s_assets.study.console import console, guard, people, progress


def say(text: str) -> None:
    """One step done, for people."""
    console.print(f"[bold]·[/bold] {text}")


def claim_state(resource: StudyResource, driver: Driver, study: Study) -> None:
    """Open all that holds the study's state before anything runs: a wrong setting is then one message, not a failed run.

    The Dagster home comes last, so that it is nobody's while the store or the database is another study's.

    Raises:
        InputError: a setting that names no store or database.
        IdentityError: store, database or Dagster home belongs to another study.
        StoreError: store or database cannot be reached.
    """
    resource.store(study)
    RatingsStore(resource.engine(), study.study)
    resource.claim(driver.instance, study)


def settle_level(driver: Driver, sensor: str, what: str) -> int:
    """Tick a sensor and run what it asks for until it asks for nothing; the number of runs.

    Raises:
        RunFailedError: a requested run failed.
    """
    driver.tick(sensor)
    runs = 0
    while requests := driver.tick(sensor):
        with progress(what, len(requests)) as advance:
            for request in requests:
                assert request.job_name is not None
                driver.run_job(request.job_name, partition=request.partition_key, tags=request.tags)
                advance(1)
                runs += 1
    return runs


def collect_all(driver: Driver, keys: list[str]) -> dict[str, str]:
    """Materialize the partitions of some configs; config key → why it failed."""
    failed: dict[str, str] = {}
    with progress("collecting responses", len(keys)) as advance:
        for key in keys:
            try:
                driver.run_job("collect", partition=key)
            except RunFailedError as error:
                failed[key] = str(error)
            advance(1)
    return failed


def collect_one(driver: Driver, resource: StudyResource, study: Study, partition: str) -> None:
    """Materialize one config's partition, and the prompts before it where there are none yet.

    Raises:
        InputError: no such config in the study.
        RunFailedError: the run failed.
    """
    key = str(ConfigKey.parse(partition))
    if study.config(key) is None:
        known = ", ".join(str(c.key) for c in study.active_configs)
        raise InputError(f"--partition {key!r} is no config of study {study.study}; expected one of {known}")
    if resource.store(study).head("normalized_audio", None) is None:
        driver.run_job("prepare")
    driver.instance.add_dynamic_partitions(CONFIG_SET, [key])
    driver.run_job("collect", partition=key)
    say(f"{key}: responses collected")


def materialize_all(driver: Driver, study: Study) -> None:
    """From recordings to the draft board.

    Raises:
        RunFailedError: a step failed; what could be done before it is done.
    """
    driver.run_job("prepare")
    driver.tick("registry_to_responses")
    keys = live_keys(driver.instance, study)
    failed = collect_all(driver, keys)
    say(f"{len(keys) - len(failed)} of {len(keys)} configs have their responses")
    for why in failed.values():
        console.print(f"  {why}", markup=False, soft_wrap=True)
    driver.run_job("plan")
    say("pairs planned and handed to the ratings database")
    driver.run_job("refit")
    say("boards fitted, the draft drawn")


@click.command()
@click.option("--partition", help="Only this config: model|voice|thinking.")
@guard
def materialize(partition: str | None) -> None:
    """Materialize the whole study of S2S_STUDY, or one config's responses."""
    resource = StudyResource()
    study = resource.folder().study
    with open_instance(Path.cwd()) as instance:
        driver = Driver(defs, instance)
        claim_state(resource, driver, study)
        if partition is not None:
            collect_one(driver, resource, study, partition)
        else:
            materialize_all(driver, study)
            people.print(f"  draft  {click.format_filename(resource.settings.home / 'draft' / 'index.html')}")
