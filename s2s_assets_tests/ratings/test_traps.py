"""Traps: read with the study, as loud as everything else, refused by name where they cannot be heard."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from s2s_assets.audio import Clip, decode, encode_flac, measure
from s2s_assets.ratings.traps import trap_clips
from s2s_assets.storage import StudyStore, open_store
from s2s_assets.study import StudyError, load_study

DEMO = Path(__file__).parents[2] / "studies" / "demo"


@pytest.fixture
def store(tmp_path: Path) -> StudyStore:
    store = StudyStore(open_store(f"file:{tmp_path / 'store'}"), "demo")
    store.claim()
    return store


def test_the_demos_traps_are_heard_as_loud_as_the_rest(store: StudyStore) -> None:
    clips = trap_clips(load_study(DEMO), store)
    assert [clip.role for clip in clips] == ["second", "second"]
    for clip in clips:
        found = measure(decode(store.get_blob(clip.blob), "trap"))
        assert found.loudness_lufs == pytest.approx(-23, abs=0.2)
        assert 5 < clip.duration_s == pytest.approx(found.duration_s, abs=0.01)
    assert len({clip.blob for clip in clips}) == 2


@pytest.mark.parametrize(
    ("kind", "told"), [("missing", "no such file"), ("text", "no known audio format"), ("silent", "silent")]
)
def test_a_trap_that_cannot_be_heard_is_named(tmp_path: Path, store: StudyStore, kind: str, told: str) -> None:
    folder = Path(shutil.copytree(DEMO, tmp_path / "study"))
    file = folder / "traps" / "choose_b.flac"
    if kind == "missing":
        file.unlink()
    else:
        file.write_bytes(b"words" if kind == "text" else encode_flac(Clip(np.zeros((48_000, 1)), 24_000), 24))
    with pytest.raises(StudyError, match=r"sessions\.traps: traps/choose_b\.flac") as error:
        trap_clips(load_study(folder), store)
    assert str(folder) in str(error.value)
    assert told in str(error.value)
