"""What of a Responses output is to be spoken, and what is thinking."""

from collections.abc import Iterable, Mapping
from typing import Any

from s2s_assets.responses.recorder import COMMENTARY
from s2s_assets.responses.records import ExchangeError


def reply_of(output: Iterable[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Words to speak and the thinking's summaries of a response's output items.

    Raises:
        ExchangeError: `refused` for a refusal; `empty_audio` where no final text is there, with the code
            `commentary_only` if there was commentary.
    """
    spoken: list[str] = []
    thinking: list[str] = []
    commentary = False
    for item in output:
        if item.get("type") == "reasoning":
            thinking.extend(str(part.get("text", "")) for part in item.get("summary") or ())
        elif item.get("type") == "message" and item.get("phase") == COMMENTARY:
            commentary = True
        elif item.get("type") == "message":
            spoken.extend(_text(part) for part in item.get("content") or ())
    text = "".join(spoken).strip()
    if not text:
        code = "commentary_only" if commentary else "no_text"
        raise ExchangeError("empty_audio", code, "the reply has no text to speak", stage="llm")
    return text, [t for t in thinking if t]


def _text(part: Mapping[str, Any]) -> str:
    if part.get("type") == "refusal":
        raise ExchangeError("refused", "refusal", str(part.get("refusal", "the model refused")), stage="llm")
    return str(part.get("text", ""))
