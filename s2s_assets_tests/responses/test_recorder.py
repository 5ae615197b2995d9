"""What the event log keeps of a message: all of it but audio."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.responses.recorder import Recorder
from s2s_assets_tests.responses.parties import OPENAI

RUNS = st.tuples(st.sampled_from("aB0+/_-"), st.integers(0, 450), st.sampled_from(["", "=", "==", " ", "\n", "é"]))
TEXTS = st.lists(RUNS, max_size=6).map(lambda runs: "".join(letter * count + end for letter, count, end in runs))
LONG_RUN = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")


@given(text=TEXTS)
def test_long_runs_of_base64_are_their_length_and_all_else_is_kept(text: str) -> None:
    recorder = Recorder(OPENAI.request("ws://127.0.0.1:9"))
    recorder.log("<", {"type": "telemetry", "deep": [{"text": text}]})
    kept = LONG_RUN.sub(lambda m: f"[{len(m[0])} characters of base64]", text)
    (line,) = recorder.log_lines
    assert json.loads(line)["event"] == {"type": "telemetry", "deep": [{"text": kept}]}
