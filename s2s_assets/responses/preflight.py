"""One cheap probe before a config's prompts are sent.

Over a websocket it connects, has the configuration acknowledged and leaves: no audio, no answer. A failure that no
repetition cures (a bad key, an unknown model or voice, a session that is refused) would meet every prompt, so it ends
the collection before anything is sent. Over HTTP it reads a list of models, at each stage of a cascade: a bad key or an
unknown model ends the collection. What may pass (time-outs, limits, broken connections) decides nothing.
"""

from s2s_assets.responses.limits import ProviderLimits
from s2s_assets.responses.providers import adapter
from s2s_assets.responses.providers.base import ODD_EVENT
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError, Request
from s2s_assets.responses.redact import Redactor
from s2s_assets.study import StudyError

_DEFINITE_CLOSES = frozenset({"closed_1007", "closed_1008"})
"""Closes by which a server refuses what it was sent; an exchange may try again after them, a probe need not."""


async def preflight(request: Request, limits: ProviderLimits | None = None) -> None:
    """Probe a config's provider.

    Raises:
        StudyError: exchanges cannot succeed as things are.
    """
    complaint = await _complaint(request, limits)
    # raised out here: an exception that is on its way would be kept as this one's context, key and all
    if complaint is not None:
        raise StudyError(
            f"config {request.config}: {complaint}. Check the key, and the model, voice and settings "
            "in study.yaml. No prompt was sent"
        )


async def _complaint(request: Request, limits: ProviderLimits | None) -> str | None:
    """What a provider definitely refuses, redacted; None where it does not."""
    recorder = Recorder(request, limits)
    try:
        await adapter(request.adapter)(request, recorder).probe()
    except ExchangeError as failure:
        if failure.retryable and failure.code not in _DEFINITE_CLOSES:
            return None
        where = request.providers[failure.stage] if failure.stage else ", ".join(request.providers.values())
        stage = f" at stage {failure.stage}" if failure.stage else ""
        said = f"{where} refuses it{stage}: {failure.code}: {failure.message.removesuffix('.')}"
        return Redactor(request.keys.values()).text(said)
    except ODD_EVENT:  # the exchanges' to report
        return None
    return None
