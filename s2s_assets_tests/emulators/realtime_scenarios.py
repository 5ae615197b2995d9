"""What any server with OpenAI's realtime vocabulary may do: one class of connection for each way, and what is said.

`in_dialect` puts the ways on top of another server's dialect: a service's table is a choice of them in its own words.
"""

from collections.abc import Mapping

from s2s_assets.demo.answers import Answerer
from s2s_assets.demo.realtime_conversation import Conversation
from s2s_assets_tests.emulators import realtime_faults as faults
from s2s_assets_tests.emulators import realtime_shapes as shapes
from s2s_assets_tests.emulators import voices

Scenario = tuple[type[Conversation], Answerer]


def in_dialect(dialect: type[Conversation], ways: Mapping[str, Scenario]) -> dict[str, Scenario]:
    """The same ways, spoken by another server of the family."""
    return {name: (_spoken_by(dialect, way), answer) for name, (way, answer) in ways.items()}


def _spoken_by(dialect: type[Conversation], way: type[Conversation]) -> type[Conversation]:
    if way is Conversation:
        return dialect
    return type(f"{dialect.__name__}{way.__name__}", (way, dialect), {})


WAYS: dict[str, Scenario] = {
    "plain": (Conversation, voices.plain),
    "transcript_late": (shapes.TranscriptLate, voices.plain),
    "transcript_failed": (shapes.TranscriptFailed, voices.plain),
    "no_audio": (Conversation, voices.without_audio),
    "silence": (Conversation, voices.silence),
    "half_a_sample": (Conversation, voices.half_a_sample),
    "rate_limited": (faults.RateLimited, voices.plain),
    "server_failure": (faults.ServerFailure, voices.plain),
    "quota_spent": (faults.QuotaSpent, voices.plain),
    "incomplete": (faults.Incomplete, voices.plain),
    "content_filter": (faults.Filtered, voices.plain),
    "cancelled": (faults.Cancelled, voices.plain),
    "close_1001": (faults.Closes, voices.plain),
    "close_1011": (faults.ClosesBadly, voices.plain),
    "close_1000": (faults.ClosesNormally, voices.plain),
    "close_before_audio": (faults.ClosesBeforeAudio, voices.plain),
    "two_items": (Conversation, voices.two_finals),
    "interleaved": (shapes.Interleaved, voices.two_finals),
    "late_audio": (shapes.LateAudio, voices.plain),
    "other_response": (shapes.OtherResponse, voices.plain),
    "odd_chunks": (shapes.OddChunks, voices.plain),
    "big_delta": (shapes.OneBigDelta, voices.long_answer),
    "unknown_events": (shapes.UnknownEvents, voices.plain),
    "keeps_vad": (shapes.KeepsVad, voices.plain),
    "sparse_echo": (shapes.SparseEcho, voices.plain),
    "other_session": (shapes.OtherSession, voices.plain),
    "refuses_session": (faults.RefusesSession, voices.plain),
    "never_configured": (faults.NeverConfigured, voices.plain),
    "never_answers": (faults.NeverAnswers, voices.plain),
    "stalls": (faults.Stalls, voices.plain),
    "error_first": (faults.ErrorFirst, voices.plain),
    "model_gone": (faults.ModelGone, voices.plain),
    "error_aside": (faults.ErrorAside, voices.plain),
    "error_then_close": (faults.ErrorThenClose, voices.plain),
    "answers_early": (faults.AnswersEarly, voices.plain),
    "answers_in_a_pause": (faults.AnswersInAPause, voices.plain),
    "not_json": (shapes.NotJson, voices.plain),
    "not_base64": (shapes.NotBase64, voices.plain),
    "odd_values": (shapes.OddValues, voices.plain),
    "odd_shape": (shapes.OddShape, voices.plain),
    "echoes_key": (faults.EchoesKey, voices.plain),
}
"""What any server of the family may do."""
