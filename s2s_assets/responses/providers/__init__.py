"""The adapters by name, one file a protocol."""

from s2s_assets.responses.providers.base import Adapter
from s2s_assets.responses.providers.cascade import Cascade
from s2s_assets.responses.providers.gemini_live import GeminiLive
from s2s_assets.responses.providers.openai_compatible import OpenAICompatible
from s2s_assets.responses.providers.openai_realtime import OpenAIRealtime
from s2s_assets.responses.providers.qwen_realtime import QwenRealtime
from s2s_assets.responses.providers.vllm_omni import VllmOmni
from s2s_assets.responses.providers.xai_realtime import XaiRealtime
from s2s_assets.study import StudyError

ADAPTERS: dict[str, type[Adapter]] = {
    a.name: a for a in (OpenAIRealtime, OpenAICompatible, XaiRealtime, GeminiLive, QwenRealtime, VllmOmni, Cascade)
}

WITHOUT_ADAPTER = {
    "nova_sonic": "Amazon Nova Sonic takes speech over HTTP/2 in both directions at once, for which Amazon's SDK "
    "(aws-sdk-bedrock-runtime) needs Python 3.12; this project is tested on 3.11, where it cannot be installed",
}
"""Protocols that are known and left out, and why."""


def adapter(name: str) -> type[Adapter]:
    """The adapter of a name.

    Raises:
        StudyError: there is none; why not, or which ones exist.
    """
    if name in WITHOUT_ADAPTER:
        raise StudyError(
            f"adapter {name!r} is not there: {WITHOUT_ADAPTER[name]}. Nothing was sent; collect the other models, "
            "or take this one out of study.yaml"
        )
    if name not in ADAPTERS:
        raise StudyError(f"adapter {name!r}: expected one of {', '.join(sorted(ADAPTERS))}")
    return ADAPTERS[name]


__all__ = ["ADAPTERS", "Adapter", "adapter"]
