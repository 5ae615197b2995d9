"""What a reviewer sees: states of scripts, the picture of a recording, and files that are made once."""

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

from s2s_assets.audio import Clip, decode, encode_flac, measure
from s2s_assets.prompts import record_prompts, select_takes
from s2s_assets.ratings.recording_chart import COLUMNS, ROWS, recording_chart, spectrogram_png
from s2s_assets.ratings.review import SCRIPTS, RecordedTable, script_review, scripts_review
from s2s_assets.ratings.review_media import ReviewMedia
from s2s_assets.study import AudioError, QaLimits, Recording, RecordingVerdict, Script, StoreError

RATE_HZ = 16_000
SVG = "{http://www.w3.org/2000/svg}"


def a_clip(seconds: float = 1.0, drive: float = 1.0, channels: int = 1) -> Clip:
    """Two syllables of a tone with silence before, between and after them."""
    t = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    gate = ((t % 0.5 > 0.1) & (t % 0.5 < 0.4)).astype(float)
    voice = np.clip(0.3 * drive * np.sin(2 * np.pi * 330 * t) * gate, -1, 1)
    noise = 1e-4 * np.random.default_rng(0).standard_normal((len(t), channels))
    return Clip(np.clip(voice[:, None] + noise, -1, 1), RATE_HZ)


@pytest.fixture
def scripts() -> dict[str, Script]:
    return {f"p{n}": Script(prompt=f"p{n}", text=f"say {n}", category="facts", level="L1", line=2) for n in range(4)}


@pytest.fixture
def recorded(scripts, directory_store) -> pl.DataFrame:
    """Two takes of p0, one of p1 that the file accepts, one of p2 that is no audio, none of p3."""
    good = encode_flac(a_clip())
    files = {"p0-a": good, "p0-b": encode_flac(a_clip(1.5)), "p1-a": good, "p2-a": b"nothing"}
    takes = [
        Recording(recording=r, prompt=r[:2], file=r, line=2, verdict="accept" if r == "p1-a" else None) for r in files
    ]
    return record_prompts(scripts.values(), takes, files.get, QaLimits(), directory_store.put_blob)


@pytest.fixture
def say(recorded, clock):
    """Makes a verdict about a recording."""

    def make(recording: str, verdict: str | None, **more) -> RecordingVerdict:
        row = recorded.filter(recording=recording).row(0, named=True)
        told = {"prompt": row["prompt"], "recording": recording, "source_blob": row["source_blob"], "author": "ann"}
        return RecordingVerdict(**told | {"verdict": verdict, "created_at": clock.wind(minutes=1)} | more)

    return make


def states(recorded, scripts, *verdicts):
    table = scripts_review(recorded, scripts.values(), verdicts)
    assert table.schema == SCRIPTS
    return dict(table.select("script", "state").iter_rows())


def test_states_follow_the_verdicts(recorded, scripts, say) -> None:
    begin = {"p0": "to review", "p1": "selected", "p2": "none good", "p3": "no recording"}
    assert states(recorded, scripts) == begin
    assert states(recorded, scripts, say("p0-a", "reject")) == begin
    assert states(recorded, scripts, say("p0-b", "accept"))["p0"] == "selected"
    assert states(recorded, scripts, say("p0-b", "accept", selected=True))["p0"] == "selected"
    assert states(recorded, scripts, say("p0-a", "reject"), say("p0-b", "rerecord"))["p0"] == "none good"
    assert states(recorded, scripts, say("p1-a", None))["p1"] == "to review"


def test_a_script_waits_until_the_prompts_have_its_verdicts(recorded, scripts, say) -> None:
    verdict = say("p0-b", "accept", selected=True, comment="clear")
    row = scripts_review(recorded, scripts.values(), [verdict]).row(0, named=True)
    assert (row["taken"], row["judged"], row["judged_by"], row["waits"]) == ("p0-b", 1, "ann", True)
    taken_in = select_takes(recorded, [verdict])
    assert not scripts_review(taken_in, scripts.values(), [verdict])["waits"].any()
    assert scripts_review(taken_in, scripts.values(), [verdict, say("p0-b", None)])["waits"].to_list()[0]


def test_a_script_has_its_takes_checks_and_verdicts_and_leads_on(recorded, scripts, say) -> None:
    old, new = say("p0-a", "reject", source_blob="x.wav"), say("p0-a", "accept")
    found = script_review(recorded, scripts, [old, new], [old, new], QaLimits(max_duration_s=1.2), "p0")
    first, second = found.takes
    assert (first.verdicts, first.earlier, second.verdicts) == ((new,), (old,), ())
    assert first.row["selected"]
    assert [c.fault is None for c in first.checks] == [True] * 5
    assert second.checks[0].fault == "duration 1.50 s, at most 1.2 s expected"
    assert (found.state, found.waits, found.next, found.left) == ("selected", True, None, 0)
    refused = script_review(recorded, scripts, [], [], QaLimits(), "p2")
    assert (refused.takes[0].measures, refused.takes[0].checks) == (None, ())
    assert (refused.next, refused.left) == ("p0", 1)
    assert script_review(recorded, scripts, [], [], QaLimits(), "p3").takes == ()


def test_the_table_is_read_again_when_it_has_changed(recorded, directory_store) -> None:
    table = RecordedTable(directory_store)
    assert (table.frame().height, table.frame().columns) == (0, recorded.columns)
    for frame in (recorded, recorded.head(1)):
        version = directory_store.write_table("recorded_prompts", None, frame).version
        directory_store.set_head("recorded_prompts", None, version)
        assert table.frame().equals(frame)
        assert table.frame() is table.frame()


def test_the_chart_tells_length_level_and_ends_and_names_its_picture() -> None:
    clip = a_clip()
    svg = recording_chart(clip, measure(clip), 'p"<&', "/picture?of=a&b")
    root = ET.fromstring(svg)
    assert root.attrib["aria-label"].startswith(
        'Waveform and spectrogram of p"<&: 1.00 s, 16,000 Hz, sample peak -10.5'
    )
    assert root.attrib["aria-label"].endswith("sound from 0.10 s to 0.90 s")
    (image,) = root.iter(f"{SVG}image")
    assert image.attrib["href"] == "/picture?of=a&b"
    said = [one.text for one in root.iter(f"{SVG}text")]
    assert {"8 kHz", "4 kHz", "0", "1", "seconds"} <= set(said)
    assert len(svg) < 20_000


def test_only_clipped_samples_are_marked() -> None:
    for drive, marked in ((1.0, False), (8.0, True)):
        clip = a_clip(drive=drive)
        svg = recording_chart(clip, measure(clip), "p", "/x")
        assert ('class="below"' in svg) == marked


def test_what_cannot_be_measured_is_drawn_all_the_same() -> None:
    silent = Clip(np.zeros((100, 1)), RATE_HZ)
    assert "Waveform" in recording_chart(silent, None, "p", "/x")
    assert spectrogram_png(silent).startswith(b"\x89PNG")
    assert (COLUMNS, ROWS) == (640, 150)


@pytest.mark.parametrize("channels", [1, 2, 5])
def test_a_recording_is_made_ready_once(directory_store, tmp_path: Path, channels) -> None:
    blob = directory_store.put_blob(encode_flac(a_clip(channels=channels)), "flac")
    media = ReviewMedia(directory_store, tmp_path / "review")
    sound = media.sound(blob)
    heard = decode(sound.read_bytes(), "heard")
    assert (heard.rate_hz, heard.channels) == (RATE_HZ, 2 if channels == 2 else 1)
    pictures = media.spectrogram(blob), media.chart(blob, "p-a", measure(a_clip(channels=channels)), "/x")
    gone = ReviewMedia(NoStore(), tmp_path / "review")
    assert gone.sound(blob) == sound
    assert (gone.spectrogram(blob), gone.chart(blob, "p-a", None, "/x")) == pictures
    assert sorted(path.suffix for path in (tmp_path / "review").iterdir()) == [".flac", ".png", ".svg"]


class NoStore:
    """A store that must not be asked."""

    def get_blob(self, ref: str) -> bytes:
        raise AssertionError(ref)


def test_what_is_no_audio_or_not_there_is_said(directory_store, tmp_path: Path) -> None:
    media = ReviewMedia(directory_store, tmp_path / "review")
    broken = directory_store.put_blob(b"<html>", "wav")
    with pytest.raises(AudioError, match="HTML"):
        media.sound(broken)
    with pytest.raises(StoreError):
        media.spectrogram("0" * 64 + ".wav")
    assert list((tmp_path / "review").iterdir()) == []
