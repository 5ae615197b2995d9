"""The demo's systems under test are real, repeatable, and differ in the ways that the planted truth says."""

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
import yaml
from numpy.typing import NDArray

from s2s_assets.audio import pcm16
from s2s_assets.demo.answers import RATE_HZ, Answer, Session
from s2s_assets.demo.effects import cut_ending, hiss, overdrive, telephone
from s2s_assets.demo.replies import IGNORING, INTENTS, ignoring_reply, reply_to
from s2s_assets.demo.synth import Speaker, Synthesizer
from s2s_assets.demo.systems import SYSTEMS, VOICES, DemoSystems
from s2s_assets.study import NO_THINKING, load_study

DEMO = Path(__file__).parents[2] / "studies" / "demo"
WEASELS = "asterisk_en/tt-weasels.flac"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("heard")


@pytest.fixture(scope="module")
def systems(cache: Path) -> Iterator[DemoSystems]:
    made = DemoSystems(cache)
    made.warm_up()
    yield made
    made.close()


def prompt(file: str) -> bytes:
    samples, rate_hz = soundfile.read(DEMO / "recordings" / file, dtype="int16")
    return soxr.resample(samples, rate_hz, RATE_HZ).tobytes()


def speech(answer: Answer) -> NDArray[np.float64]:
    return np.frombuffer(answer.items[-1].pcm, "<i2") / 32768


def ask(systems: DemoSystems, model: str, voice: str, effort: str | None = None) -> Answer:
    return asyncio.run(systems.answer(prompt(WEASELS), Session(model, voice, "Be helpful", effort)))


def share_above(samples: NDArray[np.float64], hz: float) -> float:
    power = np.abs(np.fft.rfft(samples)) ** 2
    return float(power[np.fft.rfftfreq(len(samples), 1 / RATE_HZ) > hz].sum() / power.sum())


def test_a_prompt_is_recognised_once_by_all_and_for_good(tmp_path: Path) -> None:
    pcm = prompt("asterisk_en/tt-somethingwrong.flac")

    async def together(systems: DemoSystems) -> list[str]:
        wav = io.BytesIO()
        soundfile.write(wav, np.frombuffer(pcm, "<i2"), RATE_HZ, format="WAV", subtype="PCM_16")
        heard = [systems.recognizer.text_of(pcm), systems.recognizer.text_of(pcm), systems.transcribe(wav.getvalue())]
        return await asyncio.gather(*heard)

    for recognised in (1, 0):
        systems = DemoSystems(tmp_path)
        try:
            assert asyncio.run(together(systems)) == ["something is terribly wrong"] * 3
            assert systems.recognizer.recognised == recognised
        finally:
            systems.close()


def test_what_is_heard_does_not_depend_on_what_came_before(tmp_path: Path) -> None:
    files = ("asterisk_en/priv-recordintro.flac", "asterisk_en/tt-somethingwrong.flac")

    def heard(order: tuple[str, ...], cache: Path) -> dict[str, str]:
        systems = DemoSystems(cache)
        try:
            return {file: asyncio.run(systems.recognizer.text_of(prompt(file))) for file in order}
        finally:
            systems.close()

    assert heard(files, tmp_path / "a") == heard(files[::-1], tmp_path / "b")


def test_silence_is_no_words(systems: DemoSystems) -> None:
    async def heard() -> list[str]:
        return [await systems.recognizer.text_of(pcm) for pcm in (b"", bytes(2 * RATE_HZ))]

    assert asyncio.run(heard())[0] == ""
    assert "say that again" in reply_to("", full=True)


def test_the_same_words_give_the_same_samples_in_every_process() -> None:
    async def spoken(voice: str) -> list[bytes]:
        engines = [Synthesizer(), Synthesizer()]
        try:
            await engines[1].speak("Something else before.", Speaker("m7"))
            return [pcm16(await e.speak("Once more, the same.", Speaker(voice))) for e in (*engines, engines[0])]
        finally:
            for engine in engines:
                engine.close()

    assert len(set(asyncio.run(spoken("Annie")))) == 1


def test_an_unknown_voice_or_system_is_named(systems: DemoSystems) -> None:
    with pytest.raises(ValueError, match="'nobody'"):
        ask(systems, "demo-clear", "nobody")
    with pytest.raises(ValueError, match="'demo-none'"):
        ask(systems, "demo-none", "annie")
    engine = Synthesizer()
    with pytest.raises(ValueError, match="no voice variant 'nobody'"):
        asyncio.run(engine.speak("Hello", Speaker("nobody")))
    engine.close()


def test_clear_says_a_remark_first_and_thinking_makes_it_fuller(systems: DemoSystems) -> None:
    short, full = (ask(systems, "demo-clear", "annie", effort) for effort in ("minimal", "high"))
    for answer in (short, full):
        assert [i.phase for i in answer.items] == ["commentary", "final_answer"]
        assert "phone system" in (answer.input_transcript or "")
    assert len(full.items[-1].text) > 2 * len(short.items[-1].text)
    assert len(speech(full)) > 2 * len(speech(short))


def test_phone_is_narrow_and_clear_is_not(systems: DemoSystems) -> None:
    phone, clear = ask(systems, "demo-phone", "alex"), ask(systems, "demo-clear", "alex", "high")
    assert phone.items[-1].text == clear.items[-1].text
    assert share_above(speech(phone), 4100) < 1e-5 < 1e-3 < share_above(speech(clear), 4100)


def test_hasty_is_fast_and_stops_too_early(systems: DemoSystems) -> None:
    hasty, clear = ask(systems, "demo-hasty", "m3"), ask(systems, "demo-clear", "alex", "high")
    assert hasty.items[-1].text == clear.items[-1].text
    assert len(speech(hasty)) < 0.7 * len(speech(clear))
    assert np.abs(speech(hasty)[-480:]).max() > 0.02


def test_aloof_ignores_what_was_said(systems: DemoSystems) -> None:
    assert ask(systems, "demo-aloof", "linda").items[-1].text in IGNORING
    assert ignoring_reply("one thing") == ignoring_reply("one thing")
    assert len({ignoring_reply(f"thing {n}") for n in range(40)}) == len(IGNORING)


def test_robot_is_distorted(systems: DemoSystems) -> None:
    robot, clear = speech(ask(systems, "demo-robot", "klatt2")), speech(ask(systems, "demo-clear", "alex"))
    assert len(np.unique(robot)) <= 49 < 1000 < len(np.unique(clear))


def test_the_two_voices_of_a_system_differ(systems: DemoSystems) -> None:
    def pitch_hz(samples: NDArray[np.float64]) -> float:
        frame = samples[len(samples) // 8 :][:RATE_HZ]
        spectrum = np.abs(np.fft.rfft(frame, 1 << 17)) ** 2
        correlation = np.fft.irfft(spectrum)
        low, high = RATE_HZ // 350, RATE_HZ // 70
        return float(RATE_HZ / (low + correlation[low:high].argmax()))

    female, male = (pitch_hz(speech(ask(systems, "demo-clear", v, "high"))) for v in ("annie", "alex"))
    assert female > 1.5 * male


def test_effects_keep_their_promises() -> None:
    tone = 0.4 * np.sin(2 * np.pi * 1000 * np.arange(RATE_HZ) / RATE_HZ)
    heard = telephone(tone)
    assert abs(len(heard) - len(tone)) <= 3
    assert np.std(heard) == pytest.approx(np.std(tone), rel=0.1)
    assert len(cut_ending(np.append(tone, np.zeros(RATE_HZ)))) == pytest.approx(0.65 * RATE_HZ, abs=24)
    assert len(cut_ending(tone[:1000])) == 500
    assert 20 * np.log10(np.std(hiss(tone) - tone)) == pytest.approx(-42, abs=0.5)
    assert np.array_equal(hiss(tone), hiss(tone))
    assert np.abs(overdrive(tone)).max() <= 0.6


@pytest.mark.parametrize("intent", INTENTS)
def test_every_intent_is_reached_by_its_keywords(intent: object) -> None:
    assert isinstance(intent, type(INTENTS[0]))
    words = " ".join(sorted(intent.keywords))
    assert reply_to(words, full=True) == intent.full
    assert reply_to(words, full=False) == intent.short


def test_words_that_mean_nothing_to_it_are_asked_back() -> None:
    assert "purple elephants" in reply_to("purple elephants", full=True)


def test_every_config_of_the_study_has_a_system_and_a_voice() -> None:
    study = load_study(DEMO).study
    assert len(study.configs) >= 8
    for config in study.configs:
        assert config.voice.id in VOICES
        assert config.model.adapter == "cascade" or config.model.settings["model"] in SYSTEMS
        assert "Demo" in config.model.name
    assert {c.thinking for c in study.configs if c.model.id == "demo-clear"} == {"minimal", "high"}
    assert {c.thinking for c in study.configs if c.model.id != "demo-clear"} == {NO_THINKING}


def test_planted_truth_names_only_what_the_study_has() -> None:
    study = load_study(DEMO).study
    truth = yaml.safe_load((DEMO / "truth.yaml").read_text(encoding="utf-8"))
    assert set(truth["models"]) == {m.id for m in study.models}
    assert set(truth["voices"]) <= {f"{c.key.model}|{c.key.voice}" for c in study.configs}
    assert set(truth["thinking"]) <= {f"{c.key.model}|{c.key.thinking}" for c in study.configs}
    groups = {r.group for r in study.rubrics}
    assert all(set(q) == groups for q in truth["models"].values())
    assert all(set(q) <= groups for part in ("voices", "thinking") for q in truth[part].values())
    overall = [q["overall"] for q in truth["models"].values()]
    assert len(set(overall)) == len(overall)
