"""Objects inside the events of the OpenAI Realtime protocol."""

import secrets
from typing import Any

from s2s_assets.demo.answers import RATE_HZ, Answer, SpokenItem

_MS_PER_TOKEN = 50
RATE_LIMITS = [{"name": "tokens", "limit": 15_000_000, "remaining": 14_998_954, "reset_seconds": 0.004}]


def message_object(name: str, item: SpokenItem, status: str) -> dict[str, Any]:
    """A message of the assistant as events show it; without `phase` where the model has none."""
    content = [{"type": "output_audio", "transcript": item.text}] if status == "completed" else []
    message = {"id": name, "type": "message", "status": status, "role": "assistant", "content": content}
    return message if item.phase is None else {**message, "phase": item.phase}


def usage_object(prompt: bytes, answer: Answer) -> dict[str, Any]:
    """Token counts: one for each 50 ms of audio and each word."""
    heard = len(prompt) * 1000 // (2 * RATE_HZ * _MS_PER_TOKEN)
    spoken = sum(len(item.pcm) for item in answer.items) * 1000 // (2 * RATE_HZ * _MS_PER_TOKEN)
    words = sum(len(item.text.split()) for item in answer.items)
    return {
        "total_tokens": heard + spoken + words,
        "input_tokens": heard,
        "output_tokens": spoken + words,
        "input_token_details": {"text_tokens": 0, "audio_tokens": heard, "image_tokens": 0, "cached_tokens": 0},
        "output_token_details": {"text_tokens": words, "audio_tokens": spoken},
    }


class RequestError(Exception):
    """A client message that is answered by an `error` event; the connection stays open."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param


def new_name(kind: str) -> str:
    """A name as the service makes them, such as `item_…`."""
    return f"{kind}_{secrets.token_hex(11)}"


def filler() -> str:
    """The text that pads an event to hide its length."""
    return secrets.token_hex(6)
