"""The adapters by name, one file a protocol."""

from s2s_assets.responses.providers.base import Adapter
from s2s_assets.responses.providers.cascade import Cascade
from s2s_assets.responses.providers.gemini_live import GeminiLive
from s2s_assets.responses.providers.nova_sonic import NovaSonic
from s2s_assets.responses.providers.openai_compatible import OpenAICompatible
from s2s_assets.responses.providers.openai_realtime import OpenAIRealtime
from s2s_assets.responses.providers.qwen_realtime import QwenRealtime
from s2s_assets.responses.providers.vllm_omni import VllmOmni
from s2s_assets.responses.providers.xai_realtime import XaiRealtime
from s2s_assets.study import StudyError

ADAPTERS: dict[str, type[Adapter]] = {
    a.name: a
    for a in (OpenAIRealtime, OpenAICompatible, XaiRealtime, GeminiLive, QwenRealtime, VllmOmni, Cascade, NovaSonic)
}


def adapter(name: str) -> type[Adapter]:
    """The adapter of a name.

    Raises:
        StudyError: there is none, or this installation lacks what it needs.
    """
    if name not in ADAPTERS:
        raise StudyError(f"adapter {name!r}: expected one of {', '.join(sorted(ADAPTERS))}")
    if missing := ADAPTERS[name].missing():
        raise StudyError(
            f"adapter {name!r}: {missing}. Nothing was sent; collect the other models, or take this one out of study.yaml"
        )
    return ADAPTERS[name]


__all__ = ["ADAPTERS", "Adapter", "adapter"]
