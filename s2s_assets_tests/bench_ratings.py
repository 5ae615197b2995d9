"""Time and memory of a large ratings database: the snapshot, exports, cleaning, and imports, each in a process of its own.

The database: 100,000 planned pairs of 19 configs on 819 prompts, 2 million answers by 200 raters on 12 questions, made
here and not measured. Bars: snapshot, cleaning and each export within 30 s and 1 GB. The exit status is 1 where one is missed.

Run from the project's root: `python s2s_assets_tests/bench_ratings.py`. Without `--database` it measures SQLite in a
temporary folder; `--database postgresql://…` names an empty database of a Postgres server.
"""

import argparse
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
from sqlalchemy import Engine, text

from s2s_assets.ratings import (
    RatingsStore,
    Settled,
    export_ratings,
    import_file,
    rater_quality_table,
    settled_version,
    snapshot,
    status,
)
from s2s_assets.ratings.answers import Content, rating_id
from s2s_assets.storage import StudyStore, open_engine, open_store

STUDY = "bench"
CONFIGS, PROMPTS, RATERS, RUBRICS = 19, 819, 200, 12
BAR_S, BAR_MB = 30.0, 1024
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2027, 1, 1, tzinfo=UTC)
_TIMES = "%Y-%m-%d %H:%M:%S%.6f"


def fill(engine: Engine, n_pairs: int, n_answers: int) -> None:
    """Put pairs, media, raters and answers into an empty database."""
    RatingsStore(engine, STUDY)
    frames = _frames(n_pairs, n_answers)
    for table, frame in frames.items():
        _load(engine, table, frame)
    if engine.dialect.name == "postgresql":
        with engine.begin() as connection:
            for table in frames:
                if table != "media":
                    connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 10000000)"))
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))


def _frames(n_pairs: int, n_answers: int) -> dict[str, pl.DataFrame]:
    """Rows of each table, in the order in which they can be inserted."""
    rng = np.random.default_rng(1)
    first, second = np.triu_indices(CONFIGS, 1)
    number = rng.permutation(PROMPTS * len(first))[:n_pairs]
    prompt, pairing = number // len(first), number % len(first)
    configs = np.array([f"model-{c // 2:02d}|voice-{c % 2}|none" for c in range(CONFIGS)])
    prompts = np.array([f"prompt-{p:04d}" for p in range(PROMPTS)])
    a, b = first[pairing], second[pairing]
    response = np.array([[rating_id("response", p, c) * 2 for c in range(CONFIGS)] for p in range(PROMPTS)])
    pairs = pl.DataFrame(
        {
            "id": np.arange(1, n_pairs + 1), "pair": [rating_id("pair", k) for k in range(n_pairs)],
            "prompt": prompts[prompt], "config_a": configs[a], "config_b": configs[b],
            "response_a": response[prompt, a], "response_b": response[prompt, b],
            "state": "open", "slots": 2, "taken": 2, "shuffle": rng.integers(0, 2**31, n_pairs),
            "category": "facts", "level": "L3", "acoustic": "clean",
        }
    )  # fmt: skip
    subjects = [("prompt", p) for p in prompts.tolist()] + [("response", r) for r in response.ravel().tolist()]
    heard = pl.DataFrame(subjects, schema=["kind", "subject"], orient="row").with_columns(
        blob=pl.lit("x.flac"), duration_s=pl.lit(6.0)
    )
    raters = pl.DataFrame(
        {
            "id": np.arange(1, RATERS + 1), "name": [f"r-{r:012x}" for r in range(RATERS)], "provider": "panel",
            "external_id": [str(r) for r in range(RATERS)], "simulated": False, "attributes": "{}", "created_at": _told(START),
        }
    )  # fmt: skip
    return {"pair": pairs, "rater": raters, "media": heard, "answer": _answers(pairs, raters, n_answers, rng)}


def _answers(pairs: pl.DataFrame, raters: pl.DataFrame, n: int, rng: np.random.Generator) -> pl.DataFrame:
    task, question = np.arange(n) // RUBRICS, np.arange(n) % RUBRICS
    pair, rater = task % pairs.height, (task * 7 + task // pairs.height) % RATERS
    first = np.where(task // pairs.height % 2 == 0, "a", "b")
    score = rng.integers(-3, 4, n)
    names = ["overall", *(f"question_{q:02d}" for q in range(1, RUBRICS))]
    when = [START + timedelta(seconds=60 * int(t)) for t in range(int(task.max()) + 1)]
    planned, people = pairs.rows(named=True), raters["name"].to_list()
    ids, marks = [], []
    for k in range(n):
        p, who, rubric = planned[pair[k]], people[rater[k]], names[question[k]]
        made = rating_id(STUDY, p["pair"], who, rubric)
        told = (p["prompt"], who, rubric, p["config_a"], p["config_b"], int(score[k]), str(first[k]), when[task[k]])
        ids.append(made)
        marks.append(Content(made, *told).mark)
    times = pl.Series([_told(t) for t in when]).gather(task)
    return pl.DataFrame(
        {
            "id": np.arange(1, n + 1), "rating_id": ids, "pair_id": pair + 1, "rater_id": rater + 1,
            "rubric": np.array(names)[question], "score": score, "screen_value": np.where(first == "a", -score, score),
            "first": first, "submitted_at": times, "landed_at": times, "elapsed_ms": 60_000, "source": "baseline",
            "simulated": False, "mark": marks,
        }
    )  # fmt: skip


def _told(when: datetime) -> str:
    return when.strftime("%Y-%m-%d %H:%M:%S.%f")


def _load(engine: Engine, table: str, frame: pl.DataFrame) -> None:
    columns = ", ".join(f'"{name}"' for name in frame.columns)
    connection = engine.raw_connection()
    cursor = connection.cursor()
    if engine.dialect.name == "postgresql":
        cursor.copy_expert(f"COPY {table} ({columns}) FROM STDIN (FORMAT csv)", io.BytesIO(_csv(frame)))
    else:
        cursor.execute("BEGIN IMMEDIATE")
        marks = ", ".join("?" * frame.width)
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", frame.iter_rows())
    connection.commit()
    connection.close()


def _csv(frame: pl.DataFrame) -> bytes:
    return frame.write_csv(include_header=False).encode()


def _phases(store: RatingsStore, folder: Path) -> dict[str, Callable[[], object]]:
    def quality() -> int:
        return rater_quality_table(pl.scan_parquet(folder / "snapshot.parquet")).height

    def taken() -> int:
        taken = snapshot(store, Settled("", NOW, 0), [])
        table = StudyStore(open_store(f"file:{folder / 'store'}"), STUDY).write_table("ratings", None, taken.rows)
        (folder / "snapshot.parquet").write_bytes(table.data)
        return taken.answers

    def brought(form: str) -> Callable[[], object]:
        def bring() -> None:
            copy = folder / "copy.sqlite"
            copy.unlink(missing_ok=True)
            found = import_file(RatingsStore(open_engine(f"sqlite:///{copy}"), STUDY), folder / f"all.{form}", NOW)
            assert found.inserted == found.read

        return bring

    exports = {
        f"export {form}": lambda form=form: export_ratings(store, folder / f"all.{form}", [], NOW)
        for form in ("csv", "jsonl", "parquet")
    }
    imports = {f"import {form}": brought(form) for form in ("csv", "jsonl", "parquet")}
    settled = {"settled version": lambda: settled_version(store, NOW, 30, 1, 0)}
    return {**settled, "snapshot": taken, "quality": quality, **exports, **imports}


def measure(name: str, url: str, folder: Path) -> bool:
    """One phase in this process: prints seconds, CPU seconds and the peak of memory; whether it holds its bars."""
    engine = open_engine(url)
    store = RatingsStore(engine, STUDY)
    before, start = time.process_time(), time.perf_counter()
    _phases(store, folder)[name]()
    took, cpu = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    held = "import" in name or (took <= BAR_S and peak <= BAR_MB)
    over = "" if held else "   MISSED"
    print(f"{name:18} {took:8.1f} s  {cpu:8.1f} s CPU  {peak:7.0f} MB{over}", flush=True)
    return held


def main() -> int:
    """Fill a database and print the table; 1 where a bar is missed."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--database", help="SQLAlchemy URL of an empty database")
    asked.add_argument("--pairs", type=int, default=100_000)
    asked.add_argument("--answers", type=int, default=2_000_000)
    asked.add_argument("--only", action="append", help="phases, such as 'export csv'")
    asked.add_argument("--folder", type=Path, help="where database and files lie, and stay")
    asked.add_argument("--measure", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.measure == "fill":
        fill(open_engine(given.database), given.pairs, given.answers)
        return 0
    if given.measure:
        return int(not measure(given.measure, given.database, given.folder))
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        url = given.database or f"sqlite:///{folder / 'ratings.sqlite'}"
        store = RatingsStore(open_engine(url), STUDY)
        # in processes of their own: a child's peak begins with its parent's
        sizes = ("--pairs", str(given.pairs), "--answers", str(given.answers))
        if status(store)["answers"] == 0 and _run("fill", url, folder, *sizes):
            return 1
        print(f"{given.pairs:,} pairs, {given.answers:,} answers; bars {BAR_S:.0f} s, {BAR_MB:,} MB", flush=True)
        wanted = [name for name in _phases(store, folder) if not given.only or name in given.only]
        return max((_run(name, url, folder) for name in wanted), default=0)


def _run(name: str, url: str, folder: Path, *more: str) -> int:
    arguments = ["--measure", name, "--database", url, "--folder", str(folder), *more]
    return subprocess.run([sys.executable, __file__, *arguments], check=False, env=dict(os.environ)).returncode


if __name__ == "__main__":
    sys.exit(main())
