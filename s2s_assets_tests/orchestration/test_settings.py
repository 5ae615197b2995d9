"""Dagster's settings: the Postgres twin differs in its storage only, and a partition runs once at a time."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from s2s_assets.orchestration import lay_out_home, open_instance
from s2s_assets.study import InputError

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


@pytest.mark.parametrize("own", [None, "mine/dagster"])
def test_make_and_the_commands_lay_out_one_dagster_home(tmp_path, monkeypatch, own):
    home = tmp_path / (own or ".s2s/dagster")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("S2S_HOME", str(tmp_path / "elsewhere"))
    if own:
        monkeypatch.setenv("DAGSTER_HOME", str(home))
    for name in ("Makefile", "dagster.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    subprocess.run(["make", "-s", "dagster-home"], cwd=tmp_path, check=True)
    made = (home / "dagster.yaml").read_text()
    assert lay_out_home(tmp_path) == home
    assert (home / "dagster.yaml").read_text() == made
    assert yaml.safe_load(made)["storage"]["sqlite"]["base_dir"] == f"{home}/storage"


def test_a_dagster_home_that_is_not_there_yet_is_laid_out(tmp_path, monkeypatch):
    home = tmp_path / "mine" / "dagster"
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with open_instance(ROOT) as instance:
        assert instance.run_coordinator.__class__.__name__ == "ProviderRunCoordinator"
    assert (home / "dagster.yaml").is_file()
    monkeypatch.setenv("DAGSTER_HOME", "mine/dagster")
    with pytest.raises(InputError, match="DAGSTER_HOME is 'mine/dagster': expected an absolute path"):
        open_instance(ROOT)
