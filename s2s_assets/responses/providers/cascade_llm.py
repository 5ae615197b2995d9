"""Text to text by OpenAI Responses: `POST /v1/responses`, streamed.

What is spoken are the words of final-answer and phase-less messages; commentary is kept out, and the client-side
shortcut `output_text`, which joins both, is not used. The effort is always set: the API's default is not documented.
A response that is not `completed` is a failure: `incomplete` would be read out cut short.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from s2s_assets.responses.providers.failures import classify, error_object
from s2s_assets.responses.providers.http import HttpStage
from s2s_assets.responses.recorder import COMMENTARY, Recorder
from s2s_assets.responses.records import ExchangeError, Request

PATH = "/v1/responses"
_DEFAULTS = {"model": "gpt-5.6-terra"}
_TERMINAL = ("response.completed", "response.failed", "response.incomplete")


class Responses:
    """The language model of one exchange; `settings` are the request's fields, sent as they are."""

    def __init__(self, request: Request, recorder: Recorder, settings: Mapping[str, Any]) -> None:
        self._http = HttpStage(request, recorder, "llm")
        self._request = request
        self._recorder = recorder
        self._settings = {**_DEFAULTS, **settings}

    @property
    def url(self) -> str:
        """Where it is."""
        return self._http.url(PATH)

    @property
    def question(self) -> dict[str, Any]:
        """The request without its input; the config's thinking level is the effort, unless the settings have one."""
        settings = dict(self._settings)
        effort = {"effort": self._request.thinking, **settings.pop("reasoning", {})}
        fixed = {"instructions": self._request.instruction, "reasoning": effort, "store": False, "stream": True}
        return {**settings, **fixed}

    async def probe(self) -> None:
        """Have the key and the model's name looked at."""
        await self._http.probe(f"/v1/models/{quote(str(self._settings['model']), safe='')}")

    async def reply(self, heard: str) -> str:
        """The words to speak.

        Raises:
            ExchangeError: the response did not complete, or has no words to speak.
        """
        body = {**self.question, "input": heard}
        self._recorder.log(">", {"type": "llm.request", **body})
        items: dict[int, Mapping[str, Any]] = {}
        response: Mapping[str, Any] | None = None
        async with self._http.post(PATH, json=body) as answer:
            async for event in answer.events():
                self._recorder.log("<", event)
                if event.get("type") == "response.output_item.done":
                    items[int(event.get("output_index", len(items)))] = event["item"]
                if event.get("type") == "error" or event.get("error"):
                    raise error_object(event.get("error") or event, "llm")
                if event.get("type") in _TERMINAL:
                    response = event["response"]
                elif event.get("object") == "response":
                    response = event
        if response is None:
            message = "the reply's stream ended without its last event"
            raise ExchangeError("provider_error", "no_end", message, retryable=True, stage="llm")
        self._http.charge(response.get("usage"))
        self._recorder.model_reported = response.get("model")
        _check_completed(response)
        text, thinking = spoken(response.get("output") or [items[n] for n in sorted(items)])
        self._recorder.thinking.extend(thinking)
        return text


def _check_completed(response: Mapping[str, Any]) -> None:
    status = response.get("status")
    if status == "failed":
        raise error_object(response.get("error"), "llm")
    if status != "completed":
        reason = str((response.get("incomplete_details") or {}).get("reason") or status)
        kind, _ = classify(reason)
        kind = "truncated" if kind == "provider_error" else kind
        raise ExchangeError(kind, reason, f"the reply is {status}: {reason}", stage="llm")


def spoken(output: Iterable[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Words to speak and the thinking's summaries of a response's output items.

    Raises:
        ExchangeError: `refused` for a refusal; `empty_audio` where no final text is there, with the code
            `commentary_only` if there was commentary.
    """
    words: list[str] = []
    thinking: list[str] = []
    commentary = False
    for item in output:
        if item.get("type") == "reasoning":
            thinking.extend(str(part.get("text", "")) for part in item.get("summary") or ())
        elif item.get("type") == "message" and item.get("phase") == COMMENTARY:
            commentary = True
        elif item.get("type") == "message":
            words.extend(_text(part) for part in item.get("content") or ())
    text = "".join(words).strip()
    if not text:
        code = "commentary_only" if commentary else "no_text"
        raise ExchangeError("empty_audio", code, "the reply has no text to speak", stage="llm")
    return text, [t for t in thinking if t]


def _text(part: Mapping[str, Any]) -> str:
    if part.get("type") == "refusal":
        raise ExchangeError("refused", "refusal", str(part.get("refusal", "the model refused")), stage="llm")
    return str(part.get("text", ""))
