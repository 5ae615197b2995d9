"""The same study on embedded defaults, and on a real Postgres with a real S3 server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pytest
import yaml

from s2s_assets_tests.e2e.flow import Flow, Speaker, running, serving


def embedded_settings(root: Path) -> dict:
    return {"storage": {"sqlite": {"base_dir": str(root / "dagster")}}, "telemetry": {"enabled": False}}


def postgres_settings(url: str) -> dict:
    return {"storage": {"postgres": {"postgres_url": url.replace("+psycopg2", "")}}, "telemetry": {"enabled": False}}


@pytest.fixture
def speaker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Speaker]:
    speaker = Speaker()
    with serving(speaker) as url:
        monkeypatch.setenv("FLOW_URL", url)
        monkeypatch.setenv("FLOW_KEY", "sk-flow-1234567890abcdef")
        yield speaker


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("S2S_STUDY", str(tmp_path / "study"))
    monkeypatch.setenv("S2S_HOME", str(tmp_path / "home"))
    return tmp_path


def _instance(root: Path, settings: dict) -> dg.DagsterInstance:
    (root / "dagster.yaml").write_text(yaml.safe_dump(settings))
    return dg.DagsterInstance.from_config(str(root))


@pytest.fixture
def flow(environment: Path, speaker: Speaker) -> Iterator[Flow]:
    """A study of three models on SQLite and a directory."""
    with (
        _instance(environment, embedded_settings(environment)) as instance,
        running(environment, instance, ["red", "green", "blue"], speaker) as flow,
    ):
        yield flow


@pytest.fixture
def services_flow(
    environment: Path,
    speaker: Speaker,
    monkeypatch: pytest.MonkeyPatch,
    new_postgres_database: Callable[[], str],
    new_s3_url: Callable[[], str],
) -> Iterator[Flow]:
    """The same on a real Postgres (Dagster's and the ratings') and a real S3 server with signatures."""
    monkeypatch.setenv("S2S_STORE", new_s3_url())
    monkeypatch.setenv("S2S_DATABASE_URL", new_postgres_database())
    with (
        _instance(environment, postgres_settings(new_postgres_database())) as instance,
        running(environment, instance, ["red", "green", "blue"], speaker) as flow,
    ):
        yield flow


@pytest.fixture(params=["flow", pytest.param("services_flow", marks=[pytest.mark.postgres, pytest.mark.s3])])
def any_flow(request: pytest.FixtureRequest) -> Flow:
    """The embedded flow, then the one on real services."""
    return request.getfixturevalue(request.param)
