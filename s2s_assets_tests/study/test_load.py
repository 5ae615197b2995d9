"""A study folder is read into frozen records, and every fault is named by file, line and key."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.study import StudyError, load_study
from s2s_assets.study.csv_rows import read_rows
from s2s_assets.study.load import read_folder
from s2s_assets.study.yaml_lines import parse_yaml

STUDY = """\
study: small
title: A small study
models:
  - id: one
    name: Model One
    family: One
    provider: p
    adapter: a
    voices:
      - {id: f, gender: female}
      - {id: m, gender: male}
    thinking: [low, high]
rubrics:
  - {id: overall, group: g, question: "Which is better?"}
categories:
  - {id: facts}
tags: [has_emotion]
"""
PROMPTS = "prompt,text,category,level,acoustic,tags\np1,Hello,facts,L1,clean,has_emotion\np2,,facts,L5,far_field,\n"
RECORDINGS = "recording,prompt,file\nr1,p1,a.wav\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "prompts.csv").write_text(PROMPTS)
    (tmp_path / "recordings.csv").write_text(RECORDINGS)
    return tmp_path


def places(folder: Path) -> list[tuple[str, int | None, str]]:
    return [(f.file, f.line, f.key) for f in read_folder(folder)[1]]


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))


def test_reads_what_is_written(folder: Path) -> None:
    loaded = load_study(folder)
    assert [str(c.key) for c in loaded.study.configs] == ["one|f|low", "one|f|high", "one|m|low", "one|m|high"]
    assert [(s.prompt, s.level, s.acoustic, s.line) for s in loaded.scripts] == [
        ("p1", "L1", "clean", 2),
        ("p2", "L5", "far_field", 3),
    ]
    assert loaded.scripts[0].tags == {"has_emotion"}
    assert loaded.path_of(loaded.recordings[0]) == folder / "recordings" / "a.wav"


def test_recordings_table_may_be_absent(folder: Path) -> None:
    (folder / "recordings.csv").unlink()
    assert load_study(folder).recordings == ()


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(folder: Path) -> None:
    for name in ("study.yaml", "prompts.csv", "recordings.csv"):
        text = (folder / name).read_text().replace("\n", "\r\n")
        (folder / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert [s.line for s in load_study(folder).scripts] == [2, 3]


@pytest.mark.parametrize(
    ("file", "old", "new", "place", "word"),
    [
        ("study.yaml", "gender: male", "gender: man", ("study.yaml", 11, "models.0.voices.1.gender"), "'man'"),
        ("study.yaml", "    adapter: a\n", "", ("study.yaml", 4, "models.0.adapter"), "missing"),
        ("study.yaml", "title: A small study", "titel: A small study", ("study.yaml", 2, "titel"), "unknown key"),
        ("study.yaml", "id: one", "id: one|two", ("study.yaml", 4, "models.0.id"), "letters, digits"),
        ("study.yaml", "thinking: [low, high]", "thinking: [low, low]", ("study.yaml", 4, "models.0"), "twice"),
        ("study.yaml", "title: A small study", "study: again", ("study.yaml", 2, "study"), "line 1"),
        ("study.yaml", "group: g,", "group: g, gate: odd,", ("study.yaml", 13, "rubrics"), "odd"),
        ("study.yaml", "id: overall", "id: other", ("study.yaml", 13, "rubrics"), "overall"),
        ("study.yaml", "study: small", "study: [", ("study.yaml", 3, ""), "YAML"),
        ("study.yaml", "study: small", "pairing: {slots: 99}\nstudy: small", ("study.yaml", 1, "pairing.slots"), "99"),
        (
            "study.yaml",
            "study: small",
            "boards: [{slice: x}]\nstudy: small",
            ("study.yaml", 1, "boards.0.slice"),
            "'voice'",
        ),
        ("study.yaml", "study: small", "boards: [{rubric: x}]\nstudy: small", ("study.yaml", 1, "boards"), "no rubric"),
        (
            "study.yaml",
            "study: small",
            "pairing: {adaptive: {share: 0.25}}\nstudy: small",
            ("study.yaml", 1, "pairing.adaptive.share"),
            "less than or equal to 0.2",
        ),
        (
            "study.yaml",
            "study: small",
            "pairing: {adaptive: {}}\nanalysis: {headline_variant: baseline}\nstudy: small",
            ("study.yaml", 1, "pairing.adaptive"),
            "leaves adaptive votes out",
        ),
        (
            "study.yaml",
            "study: small",
            "pairing: {adaptive: {}}\nanalysis: {resamples: 50}\nstudy: small",
            ("study.yaml", 1, "pairing.adaptive"),
            "expected 100 or more",
        ),
        ("prompts.csv", "L1", "L6", ("prompts.csv", 2, "level"), "'L6'"),
        ("prompts.csv", "p2,", "p1,", ("prompts.csv", 3, "prompt"), "line 2"),
        ("prompts.csv", "p2,", ",", ("prompts.csv", 3, "prompt"), "missing"),
        ("prompts.csv", "p2,", "p2,a,b,", ("prompts.csv", 3, ""), "8 cells"),
        ("prompts.csv", "facts,L5", "fact,L5", ("prompts.csv", 3, "category"), "facts"),
        ("prompts.csv", "has_emotion", "has_emotions", ("prompts.csv", 2, "tags"), "has_emotion"),
        ("prompts.csv", "acoustic", "accoustic", ("prompts.csv", 1, "accoustic"), "unknown column"),
        ("prompts.csv", "level", "levels", ("prompts.csv", 1, "level"), "missing column"),
        ("prompts.csv", "Hello", '"Hello', ("prompts.csv", 2, ""), "CSV"),
        ("recordings.csv", "r1,p1", "r1,p9", ("recordings.csv", 2, "prompt"), "'p9'"),
        ("recordings.csv", "a.wav", "../a.wav", ("recordings.csv", 2, "file"), "leaves"),
    ],
)
def test_a_fault_is_named_where_it_is(
    folder: Path, file: str, old: str, new: str, place: tuple[str, int, str], word: str
) -> None:
    edit(folder, file, old, new)
    findings = [f for f in read_folder(folder)[1] if (f.file, f.line, f.key) == place]
    assert [f for f in findings if word in f.message], read_folder(folder)[1]
    with pytest.raises(StudyError, match=file.replace(".", r"\.")):
        load_study(folder)


def test_all_faults_of_all_files_come_at_once(folder: Path) -> None:
    edit(folder, "study.yaml", "gender: female", "gender: woman")
    edit(folder, "study.yaml", "id: overall", "idd: overall")
    edit(folder, "prompts.csv", "L1", "L9")
    edit(folder, "prompts.csv", "far_field", "far")
    edit(folder, "recordings.csv", "p1", "p9")
    assert {
        ("study.yaml", 10, "models.0.voices.0.gender"),
        ("study.yaml", 14, "rubrics.0.id"),
        ("study.yaml", 14, "rubrics.0.idd"),
        ("prompts.csv", 2, "level"),
        ("prompts.csv", 3, "acoustic"),
        ("recordings.csv", 2, "prompt"),
    } <= set(places(folder))


def test_a_faulty_row_costs_no_other_row(folder: Path) -> None:
    edit(folder, "prompts.csv", "L1", "L9")
    loaded, findings = read_folder(folder)
    assert loaded is not None
    assert [s.prompt for s in loaded.scripts] == ["p2"]
    assert len(findings) == 1


def test_missing_files_and_folders_are_named(folder: Path, tmp_path: Path) -> None:
    (folder / "prompts.csv").unlink()
    (folder / "study.yaml").write_bytes(b"\xff\xfe")
    assert {("study.yaml", None, ""), ("prompts.csv", None, "")} <= set(places(folder))
    with pytest.raises(StudyError, match="no such folder"):
        load_study(tmp_path / "none")


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=6))
def test_any_cell_text_comes_back_with_its_line(cells: list[str]) -> None:
    def quote(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    text = "a,b\n" + "".join(f"x,{quote(cell)}\n" for cell in cells)
    rows = read_rows(text, "t.csv", ("a", "b"), ())
    assert [row["b"] for _, row in rows.rows] == [cell.strip() for cell in cells]
    assert not rows.findings
    assert rows.rows[0][0] == 2


@given(
    st.recursive(
        st.integers() | st.text("abc", min_size=1),
        lambda x: st.lists(x, min_size=1) | st.dictionaries(st.text("xyz", min_size=1), x, min_size=1),
        max_leaves=12,
    )
)
def test_every_path_of_a_document_is_found_again(value: object) -> None:
    import yaml

    document, findings = parse_yaml(yaml.safe_dump(value), "t.yaml")
    assert document is not None
    assert document.value == value
    assert not findings

    def check(node: object, path: tuple[int | str, ...]) -> None:
        assert document is not None
        assert document.locate(path)[1] == ".".join(map(str, path))
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for step, child in items:
            check(child, (*path, step))

    check(value, ())
