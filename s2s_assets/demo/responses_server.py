"""The server side of OpenAI Responses.

`POST /v1/responses`: JSON → a response, or with `stream` its server-sent events, a reasoning item among them. A request
without a key is refused with 401. Methods of `ResponsesServer` are the hooks by which a test's emulator misbehaves.
"""

import json
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from s2s_assets.demo.answers import TextServices
from s2s_assets.demo.http_server import HttpServer


class ResponsesServer(HttpServer):
    """Serves written replies on a loopback port; an async context manager.

    Args:
        text_services: what replies.
        host: address to listen on.
        port: port to listen on; 0 takes a free one.
    """

    def __init__(self, text_services: TextServices, *, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host=host, port=port)
        self.text_services = text_services

    def routes(self) -> Sequence[Route]:
        """The one endpoint."""
        return (Route("/v1/responses", self.response, methods=["POST"]),)

    async def response(self, request: Request) -> Response:
        """Text to text."""
        if not request.headers.get("authorization", "").startswith("Bearer "):
            return openai_error(401, "invalid_api_key", "Incorrect API key provided.")
        body = await request.json()
        effort = (body.get("reasoning") or {}).get("effort")
        text = await self.text_services.reply(str(body.get("input", "")), str(body.get("instructions") or ""), effort)
        events = self.response_events(body, text)
        if not body.get("stream"):
            return JSONResponse(events[-1]["response"])
        stream = (f"event: {e['type']}\ndata: {json.dumps(e, ensure_ascii=False)}\n\n" for e in events)
        return StreamingResponse(stream, media_type="text/event-stream")

    def output(self, text: str) -> list[dict[str, Any]]:
        """Output items of a reply."""
        return [{"id": new_id("rs"), "type": "reasoning", "summary": []}, text_message(text, "final_answer")]

    def response_events(self, body: Mapping[str, Any], text: str) -> list[dict[str, Any]]:
        """Events of a streamed reply; the last one holds the whole response."""
        response: dict[str, Any] = {
            "id": new_id("resp"),
            "object": "response",
            "created_at": round(time.time()),
            "model": body.get("model"),
            "instructions": body.get("instructions"),
            "reasoning": body.get("reasoning"),
            "store": body.get("store", True),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "output": [],
        }
        output = self.output(text)
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            {"type": "response.in_progress", "response": {**response, "status": "in_progress"}},
        ]
        for index, item in enumerate(output):
            opened = {**item, "status": "in_progress", **({"content": []} if "content" in item else {})}
            events.append({"type": "response.output_item.added", "output_index": index, "item": opened})
            events.extend(_text_events(index, item))
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": self.completed(response, body, output)})
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]

    def completed(
        self, response: Mapping[str, Any], body: Mapping[str, Any], output: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """The whole response."""
        words_in, words_out = len(str(body.get("input")).split()), len(json.dumps(output).split())
        usage = {
            "input_tokens": words_in,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": words_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": words_in + words_out,
        }
        return {**response, "status": "completed", "incomplete_details": None, "output": output, "usage": usage}


def text_message(text: str, phase: str | None) -> dict[str, Any]:
    """A message of the assistant."""
    content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]
    message = {"id": new_id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": content}
    return message if phase is None else {**message, "phase": phase}


def _text_events(index: int, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The events between an item's beginning and end: its words."""
    for part in item.get("content", ()):
        where = {"item_id": item["id"], "output_index": index, "content_index": 0}
        yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
        for word in re.findall(r"\S+\s*", part.get("text", "")):
            yield {"type": "response.output_text.delta", **where, "delta": word, "logprobs": [], **padding()}
        yield {"type": "response.output_text.done", **where, "text": part.get("text", ""), "logprobs": []}
        yield {"type": "response.content_part.done", **where, "part": part}


def padding() -> dict[str, str]:
    """What hides an event's length."""
    return {"obfuscation": secrets.token_hex(6)}


def openai_error(status: int, code: str, message: str) -> JSONResponse:
    """An error body of the text service."""
    return JSONResponse({"error": {"type": "invalid_request_error", "code": code, "message": message}}, status)


def new_id(kind: str) -> str:
    """A name as the text service makes them."""
    return f"{kind}_{secrets.token_hex(12)}"
