"""One exchange: one prompt, one config, one fresh connection, one outcome.

The adapter records and says how the exchange ended; this module decides what it is. An exchange that the provider ended
well is `ok` only if its final audio is whole samples of audible sound:

- no bytes: `empty_audio`, with the code `commentary_only` if only provisional audio came, else `no_audio`;
- an odd number of bytes: `invalid_audio`;
- no 10 ms frame above -50 dBFS RMS (mean removed): `silent_audio`.

What a model did (silence, refusal, a cut at its token limit) is not retryable: rolling again would flatter it. What the
way to it did (limits, time-outs, broken connections) is.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from s2s_assets.audio import SILENCE_DBFS, from_pcm16, loudest_frame_dbfs
from s2s_assets.responses.limits import ProviderLimits
from s2s_assets.responses.providers import adapter
from s2s_assets.responses.providers.base import ODD_EVENT, Adapter
from s2s_assets.responses.recorder import Recorder
from s2s_assets.responses.records import ExchangeError, Outcome, Prompt, Request
from s2s_assets.responses.redact import Redactor

_ASKED_TOO_MUCH = frozenset({"closed_1011", "http_429", "insufficient_quota", "quota_exceeded"})
"""Codes, beside the status `rate_limited`, by which providers say that they are asked too much."""
_FIRST_S = 2


async def exchange(request: Request, prompt: Prompt, limits: ProviderLimits | None = None) -> Outcome:
    """Send a prompt and return what came of it; a failure is an outcome, not an exception.

    Args:
        request: what to send and where.
        prompt: samples at the adapter's `input_rate_hz`.
        limits: slots of the providers, shared by all exchanges of this machine; None for a single one by hand.
    """
    recorder = Recorder(request, limits)
    protocol = adapter(request.adapter)(request, recorder)
    failure: ExchangeError | None = None
    try:
        await protocol.run(prompt)
    except ExchangeError as error:
        failure = error
    except ODD_EVENT as error:  # must not take the other prompts down with it
        failure = ExchangeError(
            "runner_error", type(error).__name__, f"{type(error).__name__}: {error}", origin="runner"
        )
    outcome = await asyncio.to_thread(_outcome, protocol, recorder, failure, Redactor(request.keys.values()))
    if limits is not None:
        await _teach(limits, request, recorder, outcome)
    return outcome


async def _teach(limits: ProviderLimits, request: Request, recorder: Recorder, outcome: Outcome) -> None:
    """Tell the limits of each provider that was asked how it took it; what is nobody's fault teaches nothing."""
    for stage, began in recorder.begun.items():
        provider = request.providers[stage]
        if outcome.ok or (outcome.stage is not None and outcome.stage != stage):
            await limits.succeeded(provider)
        elif outcome.status == "rate_limited" or outcome.code in _ASKED_TOO_MUCH:
            await limits.throttled(provider, began, outcome.retry_after_s)


def _fault(final: bytes, provisional: tuple[bytes, ...], rate_hz: int) -> ExchangeError | None:
    """Why what came is no audible answer, though the provider ended it well."""
    if not final:
        code = "commentary_only" if provisional else "no_audio"
        what = "only provisional audio (commentary)" if provisional else "no audio"
        return ExchangeError("empty_audio", code, f"the answer was completed with {what}")
    if len(final) % 2:
        return ExchangeError("invalid_audio", "odd_bytes", f"{len(final)} bytes are no whole 16-bit samples")
    level = float("-inf")
    # nearly every answer is heard to be one by its first seconds
    for stretch in (final[: _FIRST_S * rate_hz * 2], final):
        level = loudest_frame_dbfs(from_pcm16(stretch, rate_hz).samples, rate_hz)
        if level >= SILENCE_DBFS:
            return None
    return ExchangeError("silent_audio", "silent", f"the loudest 10 ms are at {max(level, -200):.0f} dBFS")


def _outcome(protocol: Adapter, recorder: Recorder, failure: ExchangeError | None, redact: Redactor) -> Outcome:
    """The record of an attempt, every text of it redacted."""
    final, provisional = recorder.final, recorder.provisional
    outcome = Outcome(
        status="ok",
        rate_hz=protocol.output_rate_hz,
        started_at=recorder.started_at,
        adapter=protocol.name,
        adapter_version=protocol.version,
        pcm=final,
        provisional=provisional,
        thinking=redact.optional("\n\n".join(recorder.thinking) or None),
        input_transcript=redact.optional(recorder.input_transcript),
        output_transcript=redact.optional(recorder.output_transcript),
        arrivals=tuple(recorder.arrivals),
        usage=redact.tree(recorder.usage) if isinstance(recorder.usage, Mapping) else None,
        model_reported=redact.optional(recorder.model_reported),
        timings=recorder.timings,
        log=redact.lines(recorder.log_lines),
        snapshot=redact.tree(protocol.snapshot()),
    )
    failure = failure or _fault(final, provisional, protocol.output_rate_hz)
    if failure is None:
        return outcome
    return replace(
        outcome,
        status=failure.status,
        origin=failure.origin,
        code=redact.text(failure.code),
        message=redact.text(failure.message),
        retryable=failure.retryable,
        retry_after_s=failure.retry_after_s,
        stage=failure.stage,
    )
