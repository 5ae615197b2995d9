"""What readers are told of a study's settings."""

from pathlib import Path

from s2s_assets.study import INFERENCE_COLUMNS, InferenceRow, Study, inference_rows, instructions, load_study
from s2s_assets.study.configs import Model, Voice

ROOT = Path(__file__).resolve().parents[2]


def test_every_config_of_the_public_study_has_a_row():
    study = load_study(ROOT / "studies" / "dai-s2s-st").study
    rows = {row.config: row for row in inference_rows(study)}
    assert len(rows) == 19
    assert rows["qwen3-omni|Ethan|none"].instruction == "Qwen3 Omni"
    assert rows["cascade-scribe-terra-flash|rachel|none"].model == (
        "stt scribe_v2, llm gpt-5.6-terra, tts eleven_flash_v2_5"
    )
    assert {row.instruction for row in rows.values()} == set(instructions(study))
    assert instructions(study)["default"] == "You are a helpful voice assistant"


def test_what_a_config_sets_is_told_and_no_address():
    model = Model(
        id="m",
        name="M",
        family="M",
        provider="house",
        adapter="vllm_omni",
        settings={"model": "m-1", "stream": False, "body": {"temperature": 0.7, "stop": []}},
        base_url="http://inside.example.org",
        key_env="HOUSE_KEY",
        voices=(Voice(id="anna", provider_id="private-id", gender="female"),),
    )
    study = Study.model_construct(models=(model,))
    [row] = inference_rows(study)
    assert row == InferenceRow(
        config="m|anna|none",
        model="m-1",
        protocol="vllm_omni",
        voice="anna (female, en-US)",
        thinking="none",
        instruction="default",
        parameters="stream=False, body.temperature=0.7, body.stop=[]",
    )
    assert len(INFERENCE_COLUMNS) == len(InferenceRow.__dataclass_fields__)
