"""A toy study in a directory store, for the Dagster parts alone."""

from pathlib import Path

import dagster as dg
import polars as pl
import pytest
import yaml

from s2s_assets.orchestration import CONFIGS, Check, Stage, StudyResource, TableIOManager, run_stage
from s2s_assets.storage import Table

KEYS = ("red|ann|none", "red|bob|none")


def write_study(folder: Path, study: str = "toy", models: tuple[str, ...] = ("red",)) -> Path:
    """A study folder with two voices a model."""
    (folder / "recordings").mkdir(parents=True, exist_ok=True)
    document = {
        "study": study,
        "title": "Toy",
        "models": [
            {
                "id": m,
                "name": m,
                "family": m,
                "provider": m,
                "adapter": "openai_realtime",
                "voices": [{"id": "ann"}, {"id": "bob"}],
            }
            for m in models
        ],
        "rubrics": [{"id": "overall", "group": "last", "question": "Which is better?"}],
        "categories": [{"id": "facts"}],
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(document))
    (folder / "prompts.csv").write_text("prompt,category,level\np1,facts,L1\n")
    (folder / "recordings.csv").write_text("recording,prompt,file\nr1,p1,r1.wav\n")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of state with a toy study, named by the environment."""
    monkeypatch.setenv("S2S_STUDY", str(write_study(tmp_path / "study")))
    monkeypatch.setenv("S2S_HOME", str(tmp_path / "home"))
    for name in ("S2S_STORE", "S2S_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


class Toy:
    """Two assets: numbers by config, and their total; counts how often each computed."""

    def __init__(self) -> None:
        self.value = 1
        self.calls: list[str] = []
        self.seen: dict[str, int] = {}
        self.after_step = lambda name: None
        toy, study = self, StudyResource()

        @dg.asset(partitions_def=CONFIGS)
        def numbers(context: dg.AssetExecutionContext, study: StudyResource):
            store = study.store(study.folder().study)
            stage = Stage(
                asset="numbers",
                method_version="1",
                inputs={},
                compute=lambda: toy.compute("numbers", toy.value),
                settings=toy.value,
                partition=context.partition_key,
            )
            yield from run_stage(context, store, stage)
            toy.after_step("numbers")

        @dg.asset(check_specs=[dg.AssetCheckSpec("small", asset="total", blocking=True)])
        def total(context: dg.AssetExecutionContext, study: StudyResource, numbers: dict[str, Table]):
            toy.seen = {k: t.frame["n"].item() for k, t in numbers.items()}
            store = study.store(study.folder().study)
            yield from run_stage(
                context,
                store,
                Stage(
                    asset="total",
                    method_version="1",
                    inputs={"numbers": numbers},
                    compute=lambda: toy.compute("total", sum(toy.seen.values())),
                    checks=[Check("small", True, lambda f: (f["n"].item() < 100, "sum below 100", {}))],
                ),
            )

        @dg.asset
        def double(context: dg.AssetExecutionContext, study: StudyResource, total: Table):
            toy.after_step("double starts")
            store = study.store(study.folder().study)
            stage = Stage(
                "double", "1", {"total": total}, lambda: toy.compute("double", 2 * total.frame["n"].item()).lazy()
            )
            yield from run_stage(context, store, stage)

        self.definitions = dg.Definitions(
            assets=[numbers, total, double],
            jobs=[dg.define_asset_job("sum", selection=["total", "double"]), dg.define_asset_job("fill", ["numbers"])],
            resources={"study": study, "io_manager": TableIOManager(study=study)},
            executor=dg.in_process_executor,
        )

    def compute(self, name: str, value: int) -> pl.DataFrame:
        self.calls.append(name)
        return pl.DataFrame({"n": [value]})


@pytest.fixture
def toy(home: Path) -> Toy:
    return Toy()


@pytest.fixture
def instance() -> dg.DagsterInstance:
    instance = dg.DagsterInstance.ephemeral()
    instance.add_dynamic_partitions("s2s_config", list(KEYS))
    return instance
