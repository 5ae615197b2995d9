"""OpenAI Responses on loopback, with a scenario for each way in which a reply is known to come or to fail."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from s2s_assets.demo.responses_server import ResponsesServer, new_id, openai_error, text_message
from s2s_assets_tests.emulators.plays import Plays, stalling
from s2s_assets_tests.emulators.voices import COMMENTARY, FINAL

SCENARIOS = (
    *("plain", "commentary_and_final", "commentary_only", "no_phase", "thinking", "llm_401", "llm_429", "llm_stalls"),
    *("llm_error_event", "llm_no_end", "llm_refusal", "llm_incomplete", "llm_filtered", "llm_failed", "llm_unknown"),
    *("llm_not_json", "llm_quota", "llm_404", "llm_no_stream", "llm_error_no_stream"),
)


class Text:
    """Fixed words."""

    async def reply(self, text: str, instructions: str, effort: str | None) -> str:
        return FINAL


class ResponsesEmulator(Plays, ResponsesServer):
    """`questions` holds what was sent."""

    begins = "llm"

    def __init__(self, scenarios: str | Sequence[str] = "plain", *, port: int = 0) -> None:
        ResponsesServer.__init__(self, Text(), port=port)
        self.set_scenarios(scenarios)
        self.questions: list[dict[str, Any]] = []

    @classmethod
    def names(cls) -> list[str]:
        """Every scenario."""
        return list(SCENARIOS)

    def routes(self) -> Sequence[Route]:
        """The endpoint, and what is known of a model."""
        return (*ResponsesServer.routes(self), Route("/v1/models/{model}", self.model, methods=["GET"]))

    async def model(self, request: Request) -> Response:
        if self.scenario == "llm_401":
            return openai_error(401, "invalid_api_key", f"refused {request.headers.get('authorization')}")
        if self.scenario == "llm_404":
            return openai_error(404, "model_not_found", "The model does not exist or you do not have access to it.")
        return JSONResponse({"id": request.path_params["model"], "object": "model"})

    async def response(self, request: Request) -> Response:
        self.enter("llm")
        self.questions.append(await request.json())
        if (refusal := self._refusal(request)) is not None:
            return refusal
        match self.scenario:
            case "llm_stalls":
                return StreamingResponse(
                    stalling(b'data: {"type":"response.created","response":{}}\n\n'), media_type="text/event-stream"
                )
            case "llm_error_event":
                error = '{"type":"server_error","code":"server_error","message":"oh"}'
                return _stream(f'data: {{"type":"error","error":{error}}}\n\n')
            case "llm_error_no_stream":
                return JSONResponse({"error": {"code": "invalid_prompt", "message": "no such thing"}})
            case "llm_no_stream":
                return JSONResponse(self.response_events(self.questions[-1], FINAL)[-1]["response"])
            case "llm_no_end":
                return _stream('data: {"type":"response.created","response":{}}\n\n')
            case "llm_not_json":
                return _stream("data: <html>bad gateway</html>\n\n")
        return await super().response(request)

    def _refusal(self, request: Request) -> Response | None:
        match self.scenario:
            case "llm_401":
                return openai_error(401, "invalid_api_key", f"refused {request.headers.get('authorization')}")
            case "llm_404":
                return openai_error(404, "model_not_found", "The model does not exist or you do not have access to it.")
            case "llm_429":
                answer = openai_error(429, "rate_limit_exceeded", "slow down")
                answer.headers.update({"Retry-After": "0.02", "x-ratelimit-remaining-requests": "0"})
                return answer
            case "llm_quota":
                return openai_error(429, "insufficient_quota", "You exceeded your current quota.")
        return None

    def output(self, text: str) -> list[dict[str, Any]]:
        match self.scenario:
            case "commentary_and_final":
                return [text_message(COMMENTARY, "commentary"), text_message(text, "final_answer")]
            case "commentary_only":
                return [text_message(COMMENTARY, "commentary")]
            case "no_phase":
                return [text_message(text, None)]
            case "thinking":
                summary = [{"type": "summary_text", "text": "I weigh it."}]
                return [{"id": new_id("rs"), "type": "reasoning", "summary": summary}, text_message(text, None)]
            case "llm_refusal":
                refusal = text_message("", "final_answer")
                return [{**refusal, "content": [{"type": "refusal", "refusal": "I cannot help with that."}]}]
        return super().output(text)

    def response_events(self, body: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
        events = super().response_events(body, text)
        last = events[-1]["response"]
        match self.scenario:
            case "llm_incomplete":
                events[-1] = {"type": "response.incomplete", "response": _ended(last, "max_output_tokens")}
            case "llm_filtered":
                events[-1] = {"type": "response.incomplete", "response": _ended(last, "content_filter")}
            case "llm_failed":
                error = {"code": "server_error", "message": "The model failed."}
                events[-1] = {"type": "response.failed", "response": {**last, "status": "failed", "error": error}}
            case "llm_unknown":
                events = [e for event in events for e in ({"type": "response.telemetry", "load": 0.5}, event)]
        return events


def _stream(text: str) -> Response:
    return Response(text, media_type="text/event-stream")


def _ended(response: Mapping[str, Any], reason: str) -> dict[str, Any]:
    return {**response, "status": "incomplete", "incomplete_details": {"reason": reason}, "output": []}
