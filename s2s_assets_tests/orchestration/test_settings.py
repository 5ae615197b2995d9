"""Dagster's settings: the Postgres twin differs in its storage only, and a partition runs once at a time."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from s2s_assets.orchestration import lay_out_home

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


@pytest.mark.parametrize(("home", "expected"), [("", ".s2s"), ("other", "other")])
def test_make_and_the_commands_lay_out_one_dagster_home_a_state_folder(tmp_path, monkeypatch, home, expected):
    monkeypatch.setenv("S2S_HOME", home)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    for name in ("Makefile", "dagster.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    subprocess.run(["make", "-s", "dagster-home"], cwd=tmp_path, check=True)
    made = (tmp_path / expected / "dagster" / "dagster.yaml").read_text()
    assert lay_out_home(tmp_path) == tmp_path / expected / "dagster"
    assert (tmp_path / expected / "dagster" / "dagster.yaml").read_text() == made
    assert yaml.safe_load(made)["storage"]["sqlite"]["base_dir"] == f"{expected}/dagster/storage"
    assert expected == ".s2s" or ".s2s" not in "".join(line for line in made.splitlines() if line[:1] != "#")
