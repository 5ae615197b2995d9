"""The deployment's files agree with one another, with the settings, and with Dagster itself."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster import DagsterInstance

ROOT = Path(__file__).resolve().parents[2]
INFRA = ROOT / "infra"


def read(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return read("infra/docker-compose.yml")


def stages() -> set[str]:
    return set(re.findall(r"^FROM \S+ AS (\S+)", (INFRA / "Dockerfile").read_text(), re.MULTILINE))


def test_compose_holds_the_whole_deployment(compose: dict[str, Any]):
    assert set(compose["services"]) == {"postgres", "store", "migrate", "code", "webserver", "daemon", "raters"}
    known = {"build", "image", "command", "restart", "environment", "volumes", "networks", "ports", "depends_on"}
    for name, service in compose["services"].items():
        assert set(service) <= known | {"healthcheck"}, name
        assert "healthcheck" in service or name == "migrate", name
    # an old docker-compose refuses it
    assert "name" not in compose


def test_compose_builds_stages_that_exist(compose: dict[str, Any]):
    builds = [service["build"] for service in compose["services"].values() if "build" in service]
    assert {build["target"] for build in builds} <= stages()
    assert {build["dockerfile"] for build in builds} == {"infra/Dockerfile"}


def test_compose_waits_for_services_that_exist_and_can_be_ready(compose: dict[str, Any]):
    for service in compose["services"].values():
        for other, wait in service.get("depends_on", {}).items():
            ready = (
                "service_healthy" if "healthcheck" in compose["services"][other] else "service_completed_successfully"
            )
            assert wait == {"condition": ready}


def test_only_the_pages_are_published_and_only_on_this_machine(compose: dict[str, Any]):
    published = {name: s["ports"] for name, s in compose["services"].items() if "ports" in s}
    assert published == {"webserver": ["127.0.0.1:3000:3000"], "raters": ["127.0.0.1:8800:8800"]}
    assert compose["networks"]["inside"] == {"internal": True}
    beyond = {name for name, s in compose["services"].items() if "outside" in s["networks"]}
    assert beyond == {"code", "webserver", "raters"}


def test_what_compose_reads_from_the_environment_is_documented(compose: dict[str, Any]):
    asked = set(re.findall(r"\$\{(\w+)", (INFRA / "docker-compose.yml").read_text()))
    assert asked <= documented()


def test_the_settings_are_documented_by_name():
    code = "".join(path.read_text() for path in (ROOT / "s2s_assets").rglob("*.py"))
    studies = "".join(path.read_text() for path in (ROOT / "studies").rglob("study.yaml"))
    read_here = set(re.findall(r"\"((?:S2S|AWS)_[A-Z0-9_]+)\"", code)) | set(re.findall(r"\b[A-Z]+_API_KEY\b", studies))
    assert {"S2S_STORE", "AWS_EC2_METADATA_DISABLED", "OPENAI_API_KEY"} <= read_here
    # the demo hands its own servers' addresses to its own processes
    asked = {name for name in read_here if not name.startswith("S2S_DEMO_")}
    assert asked - documented() <= {"AWS_ENDPOINT_URL_S3"}


def documented() -> set[str]:
    return set(re.findall(r"^#?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_the_image_copies_files_that_the_build_may_see():
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (INFRA / "Dockerfile").read_text(), re.MULTILINE)
    for path in " ".join(copied).replace("${REQUIREMENTS}", "run").split():
        assert (ROOT / path).exists(), path
        assert any(Path(path).match(pattern) for pattern in allowed), path


def test_the_image_has_the_newest_python_and_amazons_sdk():
    (image,) = re.findall(r"^FROM python:(\d\.\d+)-", (INFRA / "Dockerfile").read_text(), re.MULTILINE)
    tested = re.findall(r"Python :: (\d\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert image == max(tested, key=lambda version: int(version.partition(".")[2]))
    for packages in ("run", "demo"):
        lock = (ROOT / f"requirements/{packages}.txt").read_text()
        marked = re.search(r"^aws-sdk-bedrock-runtime==\S+ ; python_full_version >= '(\S+)'", lock, re.MULTILINE)
        assert marked is not None, packages
        assert marked[1] == image


def test_one_location_has_one_name_everywhere():
    pyproject = (ROOT / "pyproject.toml").read_text()
    names = {
        read("workspace.yaml")["load_from"][0]["python_module"]["location_name"],
        read("infra/workspace.yaml")["load_from"][0]["grpc_server"]["location_name"],
        read("infra/helm-values.yaml")["dagsterWebserver"]["workspace"]["servers"][0]["name"],
        *re.findall(r'code_location_name = "(.*)"', pyproject),
        *re.findall(r'"--location-name", "(.*?)"', (INFRA / "Dockerfile").read_text()),
    }
    assert names == {"s2s_assets"}


def test_dagster_on_postgres_differs_from_dagster_on_sqlite_in_storage_only():
    here, there = read("dagster.yaml"), read("infra/dagster.yaml")
    assert here.pop("storage") != there.pop("storage")
    assert here == there


def test_kubernetes_has_the_same_queue():
    queue = read("infra/helm-values.yaml")["dagsterDaemon"]["runCoordinator"]["config"]["customRunCoordinator"]
    here = read("dagster.yaml")["run_coordinator"]
    assert (queue["module"], queue["class"]) == (here["module"], here["class"])
    assert queue["config"].keys() == here["config"].keys()


@pytest.mark.postgres
def test_dagster_opens_on_postgres(new_postgres_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("S2S_DAGSTER_POSTGRES_URL", new_postgres_database())
    with DagsterInstance.from_config(str(INFRA)) as instance:
        assert type(instance.run_coordinator).__name__ == "ProviderRunCoordinator"
        assert type(instance.run_launcher).__name__ == "DefaultRunLauncher"
        instance.add_dynamic_partitions("s2s_config", ["a|b|none"])
    with DagsterInstance.from_config(str(INFRA)) as again:
        assert again.get_dynamic_partitions("s2s_config") == ["a|b|none"]


def test_dagster_opens_on_sqlite_below_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with DagsterInstance.from_config(str(ROOT)) as instance:
        assert instance.get_runs_count() == 0
    assert (tmp_path / ".s2s" / "dagster" / "storage").is_dir()
