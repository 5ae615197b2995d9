"""The open slots of the plan as a project for another tool: Label Studio, Potato, or a table of tasks for MTurk.

```
OUT/audio/<hash>.flac         what is heard, encoded as the rating app has it; names tell nothing
OUT/<n>/config.xml            Label Studio: one project for each set of questions that prompts ask
OUT/<n>/tasks.json
OUT/<n>/config.yaml           Potato: the same
OUT/<n>/data/tasks.jsonl
OUT/<n>/tasks.csv             MTurk: one HIT a row, with the questions in `questions.json`
```

A task's name is the pair's and the slot's, by which `foreign` finds what was heard; no config is named anywhere. Slots that
are leased or done are left out, and no slot is taken: a study is rated here or there, not in both at once.
"""

import csv
import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from xml.etree import ElementTree as ET

import yaml
from sqlalchemy import select, text

from s2s_assets.ratings.schema import LIVE, assignment, media, pair, slot
from s2s_assets.ratings.store import RatingsStore
from s2s_assets.study import RatingsError, Rubric, StudyFolder

Tool = Literal["label-studio", "potato", "mturk"]
TOOLS: tuple[Tool, ...] = get_args(Tool)
LABELS = {
    -3: "A is much better",
    -2: "A is better",
    -1: "A is slightly better",
    0: "About the same",
    1: "B is slightly better",
    2: "B is better",
    3: "B is much better",
}
"""Screen value → what it is called; A is heard first, and above 0 B is preferred."""
ROLES = {"prompt": "The prompt", "first": "Response A", "second": "Response B"}


@dataclass(frozen=True)
class Task:
    """A free slot: what is heard, by role, and the questions about it."""

    name: str
    blobs: dict[str, str]
    rubrics: tuple[Rubric, ...]


@dataclass(frozen=True)
class Projected:
    """What was written."""

    tasks: int
    projects: int
    clips: int


def task_name(pair_name: str, number: int) -> str:
    """Name of a slot in another tool."""
    return f"{pair_name}.{number}"


def slot_of(name: str) -> tuple[str, int] | None:
    """Pair and slot of a task's name; None where it is none."""
    pair_name, _, number = name.rpartition(".")
    return (pair_name, int(number)) if pair_name and number.isdecimal() else None


def write_project(
    store: RatingsStore, folder: StudyFolder, tool: Tool, out: Path, clip: Callable[[str], Path], audio_url: str
) -> Projected:
    """Write the project.

    Args:
        store: The study's database.
        folder: The study.
        tool: For which tool.
        out: A folder that is new or empty.
        clip: Blob → the file that raters hear.
        audio_url: Address under which the tool will find the folder `audio`.

    Raises:
        RatingsError: the folder holds something, or no slot is free.
    """
    if out.exists() and any(out.iterdir()):
        raise RatingsError(f"{out}: there is something in it; name a new folder")
    tasks = _open_tasks(store, folder)
    if not tasks:
        raise RatingsError("no slot is free: everything that is planned is rated or being rated")
    clips = {blob: clip(blob) for blob in sorted({blob for task in tasks for blob in task.blobs.values()})}
    (out / "audio").mkdir(parents=True)
    for file in clips.values():
        shutil.copyfile(file, out / "audio" / file.name)
    urls = {blob: f"{audio_url.rstrip('/')}/{file.name}" for blob, file in clips.items()}
    sets: dict[tuple[str, ...], list[Task]] = {}
    for task in tasks:
        sets.setdefault(tuple(r.id for r in task.rubrics), []).append(task)
    for number, some in enumerate(sets.values(), 1):
        place = out / str(number)
        place.mkdir()
        rows = [{"task": t.name} | {f"{role}_audio": urls[blob] for role, blob in t.blobs.items()} for t in some]
        _WRITERS[tool](place, rows, some[0].rubrics, folder.study.title)
    return Projected(len(tasks), len(sets), len(clips))


def _open_tasks(store: RatingsStore, folder: StudyFolder) -> list[Task]:
    taken = select(assignment.c.pair_id, assignment.c.slot).where(text(LIVE))
    columns = (*pair.c["id", "pair", "prompt", "response_a", "response_b"], *slot.c["slot", "first"])
    query = select(*columns).join(slot, slot.c.pair_id == pair.c.id).where(pair.c.state == "open")
    with store.reading() as connection:
        live = set(connection.execute(taken).tuples())
        heard = {
            (kind, subject): blob
            for kind, subject, blob in connection.execute(select(*media.c["kind", "subject", "blob"]))
        }
        rows = connection.execute(query.order_by(pair.c.pair, slot.c.slot)).all()
    tasks = []
    for row in rows:
        if (row.id, row.slot) in live:
            continue
        order = (row.response_a, row.response_b) if row.first == "a" else (row.response_b, row.response_a)
        blobs = {"prompt": heard["prompt", row.prompt]}
        blobs |= {role: heard["response", response] for role, response in zip(("first", "second"), order, strict=True)}
        script = folder.script_of.get(row.prompt)
        rubrics = folder.study.rubrics_for(frozenset() if script is None else script.tags)
        tasks.append(Task(task_name(row.pair, row.slot), blobs, rubrics))
    return tasks


def _write_label_studio(place: Path, rows: Sequence[dict[str, str]], rubrics: Sequence[Rubric], _title: str) -> None:
    view = ET.Element("View")
    for role, said in ROLES.items():
        ET.SubElement(view, "Header", value=said)
        ET.SubElement(view, "Audio", name=role, value=f"${role}_audio")
    for rubric in rubrics:
        ET.SubElement(view, "Header", value=rubric.question)
        asked = {"name": rubric.id, "toName": "second", "choice": "single-radio", "required": "true"}
        choices = ET.SubElement(view, "Choices", asked)
        for value, label in LABELS.items():
            ET.SubElement(choices, "Choice", value=label, alias=str(value))
    ET.indent(view)
    (place / "config.xml").write_text(ET.tostring(view, "unicode") + "\n", encoding="utf-8")
    (place / "tasks.json").write_text(json.dumps([{"data": row} for row in rows], indent=1) + "\n", encoding="utf-8")


def _write_potato(place: Path, rows: Sequence[dict[str, str]], rubrics: Sequence[Rubric], title: str) -> None:
    labels = [{"name": label} for label in LABELS.values()]
    config: dict[str, Any] = {
        "annotation_task_name": title,
        "task_dir": ".",
        "data_files": ["data/tasks.jsonl"],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "output_annotation_dir": "annotation_output",
        "export_annotation_format": "parquet",
        "instance_display": {
            "fields": [{"key": f"{role}_audio", "type": "audio", "label": said} for role, said in ROLES.items()]
        },
        "annotation_schemes": [
            {
                "annotation_type": "radio",
                "name": rubric.id,
                "description": rubric.question,
                "labels": labels,
                "label_requirement": {"required": True},
            }
            for rubric in rubrics
        ],
    }
    (place / "data").mkdir()
    told = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, default_flow_style=False)
    (place / "config.yaml").write_text(told, encoding="utf-8")
    lines = [json.dumps({"id": row["task"], "text": "Listen to all three, then compare."} | row) for row in rows]
    (place / "data" / "tasks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_mturk(place: Path, rows: Sequence[dict[str, str]], rubrics: Sequence[Rubric], _title: str) -> None:
    table = io.StringIO()
    writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (place / "tasks.csv").write_text(table.getvalue(), encoding="utf-8")
    asked = [{"answer": f"Answer.{r.id}", "question": r.question, "help": r.help} for r in rubrics]
    questions = {"questions": asked, "values": {str(value): label for value, label in LABELS.items()}}
    (place / "questions.json").write_text(json.dumps(questions, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


_WRITERS: dict[Tool, Callable[[Path, Sequence[dict[str, str]], Sequence[Rubric], str], None]] = {
    "label-studio": _write_label_studio,
    "potato": _write_potato,
    "mturk": _write_mturk,
}
