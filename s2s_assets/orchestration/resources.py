"""The one resource: the study as the environment names it, with its store and its database.

The folder is read anew each time, since it is edited while the code server runs; the store's start-up probe runs once a
process.
"""

from abc import ABC, abstractmethod
from functools import lru_cache

import dagster as dg
from sqlalchemy import Engine

from s2s_assets.storage import StudyStore, open_engine, open_store
from s2s_assets.study import (
    By,
    IdentityError,
    RecordingVerdict,
    Settings,
    Study,
    StudyFolder,
    Uncertainty,
    load_study,
)


@lru_cache(maxsize=8)
def _store(url: str, study: str) -> StudyStore:
    store = StudyStore(open_store(url), study)
    store.claim()
    return store


@lru_cache(maxsize=8)
def _engine(url: str) -> Engine:
    return open_engine(url)


class StudyResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Study folder, store and database of this process, from the `S2S_*` environment."""

    @property
    def settings(self) -> Settings:
        """The environment's settings."""
        return Settings.from_environment()

    def folder(self) -> StudyFolder:
        """The study folder, read now.

        Raises:
            StudyError: the folder is not a valid study.
        """
        return load_study(self.settings.study)

    def store(self, study: Study) -> StudyStore:
        """The study's store.

        Raises:
            IdentityError: the store belongs to another study.
        """
        return _store(self.settings.store, study.study)

    def engine(self) -> Engine:
        """The ratings database."""
        return _engine(self.settings.database_url)

    def claim(self, instance: dg.DagsterInstance, study: Study) -> None:
        """Record the study in Dagster's storage, or refuse a Dagster home of another study.

        Raises:
            IdentityError: this Dagster home holds another study's history.
        """
        storage, name = instance.daemon_cursor_storage, "s2s_assets/study"
        owner = storage.get_cursor_values({name}).get(name)
        if owner is None:
            storage.set_cursor_values({name: study.study})
        elif owner != study.study:
            raise IdentityError(
                f"this Dagster home belongs to study {owner!r}, S2S_STUDY names {study.study!r}: "
                "one home holds one study; set DAGSTER_HOME (and S2S_HOME) to folders for this one"
            )


class Withdrawals(dg.ConfigurableResource, ABC):  # type: ignore[type-arg]
    """Which responses are withdrawn: kept by the ratings database, asked by the rooms below it."""

    @abstractmethod
    def responses(self) -> frozenset[str]:
        """Ids of the responses that are withdrawn now."""


class Reviews(dg.ConfigurableResource, ABC):  # type: ignore[type-arg]
    """What reviewers say of the recordings: kept by the ratings database, asked by the rooms below it."""

    @abstractmethod
    def verdicts(self) -> tuple[RecordingVerdict, ...]:
        """The newest verdict about each file of each recording, oldest first."""


class LastFit(dg.ConfigurableResource, ABC):  # type: ignore[type-arg]
    """What the last stored fit knows: kept by the rooms that fit, asked by the room below them that hands out work.

    It is read when a step asks, and is no input of the step: votes come from people, so between a fit and the votes that
    it asks for there is no edge in the graph of assets, and no cycle.
    """

    @abstractmethod
    def uncertainty(self, by: By) -> Uncertainty | str:
        """The uncertainty of the overall board that ranks this, or in words why it is of no use."""
