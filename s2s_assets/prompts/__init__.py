"""Prompts: scripts and their recordings, automated and human judgement, one take selected, audio normalized."""

from s2s_assets.audio import METHOD_VERSION as NORMALIZED_METHOD_VERSION
from s2s_assets.prompts.normalized import normalize_prompts
from s2s_assets.prompts.recorded import METHOD_VERSION as RECORDED_METHOD_VERSION
from s2s_assets.prompts.recorded import prompts_without_take, read_recording, record_prompts
from s2s_assets.prompts.schema import NORMALIZED_AUDIO, RECORDED_PROMPTS

__all__ = [
    "NORMALIZED_AUDIO",
    "NORMALIZED_METHOD_VERSION",
    "RECORDED_METHOD_VERSION",
    "RECORDED_PROMPTS",
    "normalize_prompts",
    "prompts_without_take",
    "read_recording",
    "record_prompts",
]
