"""Dagster's settings: the Postgres twin differs in its storage only, and a partition runs once at a time."""

import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def settings(name: str) -> dict:
    return yaml.safe_load((ROOT / name).read_text())


def test_the_postgres_twin_differs_in_storage_only():
    here, twin = settings("dagster.yaml"), settings("infra/dagster.yaml")
    assert here.pop("storage") != twin.pop("storage")
    assert here == twin


@pytest.mark.parametrize("name", ["dagster.yaml", "infra/dagster.yaml"])
def test_two_runs_of_one_partition_never_exchange_at_once(name):
    limits = settings(name)["run_coordinator"]["config"]["tag_concurrency_limits"]
    [partition] = [limit for limit in limits if limit["key"] == "dagster/partition"]
    assert partition["limit"] == 1
    assert partition["value"] == {"applyLimitPerUniqueValue": True}


def test_workspace_and_project_name_the_code_location_alike():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    [module] = [entry["python_module"] for entry in settings("workspace.yaml")["load_from"]]
    assert project["code_location_name"] == module["location_name"] == "s2s_assets"
    assert project["code_location_target_module"] == module["module_name"]
