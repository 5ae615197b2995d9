"""Responses: one exchange per prompt and config, collected without sending anything twice, and what raters hear."""

from s2s_assets.responses.attempts import stored_attempts
from s2s_assets.responses.collect import collect
from s2s_assets.responses.exchange import exchange
from s2s_assets.responses.limits import ProviderLimits
from s2s_assets.responses.media import METHOD_VERSION, response_audio
from s2s_assets.responses.records import Outcome, Prompt, Request, Terms
from s2s_assets.responses.request import resolve
from s2s_assets.responses.retried import compare_retried
from s2s_assets.responses.retry import Backoff
from s2s_assets.responses.schema import RESPONSE_AUDIO, RESPONSES
from s2s_assets.responses.table import build_responses, wanted_responses
from s2s_assets.responses.tally import CollectResult, told

__all__ = [
    "METHOD_VERSION",
    "RESPONSES",
    "RESPONSE_AUDIO",
    "Backoff",
    "CollectResult",
    "Outcome",
    "Prompt",
    "ProviderLimits",
    "Request",
    "Terms",
    "build_responses",
    "collect",
    "compare_retried",
    "exchange",
    "resolve",
    "response_audio",
    "stored_attempts",
    "told",
    "wanted_responses",
]
