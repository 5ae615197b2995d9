"""Prompts: scripts and their recordings, automated and human judgement, one take selected, audio normalized."""

from s2s_assets.audio import METHOD_VERSION as NORMALIZED_METHOD_VERSION
from s2s_assets.prompts.levels import recorded_level, verdicts_level
from s2s_assets.prompts.normalized import normalize_prompts
from s2s_assets.prompts.qa import QaCheck, qa_checks
from s2s_assets.prompts.recorded import METHOD_VERSION as RECORDED_METHOD_VERSION
from s2s_assets.prompts.recorded import prompts_without_take, read_recording, record_prompts
from s2s_assets.prompts.schema import NORMALIZED_AUDIO, RECORDED_PROMPTS
from s2s_assets.prompts.selection import select_takes

__all__ = [
    "NORMALIZED_AUDIO",
    "NORMALIZED_METHOD_VERSION",
    "RECORDED_METHOD_VERSION",
    "RECORDED_PROMPTS",
    "QaCheck",
    "normalize_prompts",
    "prompts_without_take",
    "qa_checks",
    "read_recording",
    "record_prompts",
    "recorded_level",
    "select_takes",
    "verdicts_level",
]
