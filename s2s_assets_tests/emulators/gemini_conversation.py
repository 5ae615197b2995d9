"""One connection of the Gemini Live service.

Frames are binary. The first message is `setup`, checked as the service checks it: what it does not know or cannot do
closes the connection with 1007, a model that it does not have with 1008. Keys are taken in camelCase and snake_case,
audio in both base64 alphabets. Turns are manual: audio outside an activity is thrown away, and nothing but `activityEnd`
is answered.
"""

import asyncio
import base64
import json
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request

from s2s_assets.demo.answers import RATE_HZ, Answer, Answerer, Session

THOUGHT = "**Weighing the question**\n\nThe speaker wants a whole answer.\n\n\n"
VOICES = frozenset(
    [
        "Zephyr",
        "Puck",
        "Charon",
        "Kore",
        "Fenrir",
        "Leda",
        "Orus",
        "Aoede",
        "Callirrhoe",
        "Autonoe",
        "Enceladus",
        "Iapetus",
        "Umbriel",
        "Algieba",
        "Despina",
        "Erinome",
        "Algenib",
        "Rasalgethi",
        "Laomedeia",
        "Achernar",
        "Alnilam",
        "Schedar",
        "Gacrux",
        "Pulcherrima",
        "Achird",
        "Zubenelgenubi",
        "Vindemiatrix",
        "Sadachbia",
        "Sadaltager",
        "Sulafat",
    ]
)
LEVELS = frozenset({"MINIMAL", "LOW", "MEDIUM", "HIGH"})
_SETUP = frozenset(
    [
        "model",
        "generationConfig",
        "systemInstruction",
        "tools",
        "realtimeInputConfig",
        "inputAudioTranscription",
        "outputAudioTranscription",
        "sessionResumption",
        "contextWindowCompression",
        "proactivity",
        "historyConfig",
        "explicitVadSignal",
    ]
)
_GENERATION = frozenset(
    [
        "responseModalities",
        "speechConfig",
        "thinkingConfig",
        "temperature",
        "topP",
        "topK",
        "maxOutputTokens",
        "seed",
        "mediaResolution",
        "candidateCount",
        "presencePenalty",
        "frequencyPenalty",
        "enableAffectiveDialog",
    ]
)
_MIME = re.compile(r"audio/pcm;\s*rate=\d+")
_CHUNK = 9600
PLAYBACK = 0.05
"""Part of the audio's length for which `turnComplete` is held back."""


class ClosingError(Exception):
    """The service closes the connection."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason.encode()[:123].decode(errors="ignore")


class LiveConversation:
    """One connection; the methods are the hooks by which a scenario misbehaves."""

    chunk = _CHUNK

    def __init__(self, answer: Answerer, socket: ServerConnection, model: str) -> None:
        self.answer = answer
        self.socket = socket
        self.setup: dict[str, Any] | None = None
        self.buffer: bytearray | None = None
        self.kinds: list[str] = []

    async def run(self) -> None:
        try:
            async for data in self.socket:
                await self.take(plain_keys(json.loads(data)))
        except ClosingError as close:
            await self.socket.close(close.code, close.reason)
        except ConnectionClosed:
            pass

    async def take(self, message: dict[str, Any]) -> None:
        self.kinds += message
        if self.setup is None:
            if set(message) != {"setup"}:
                raise ClosingError(1007, "setup must be the first message and only the first.")
            await self.configure(message["setup"])
        elif "setup" in message:
            raise ClosingError(1007, "setup must be the first message and only the first.")
        for kind, value in message.get("realtimeInput", {}).items():
            await self.realtime(kind, value)

    async def configure(self, setup: dict[str, Any]) -> None:
        check_setup(setup)
        self.setup = setup
        await self.send({"setupComplete": {}})

    async def realtime(self, kind: str, value: Any) -> None:
        if kind == "activityStart":
            self.buffer = bytearray()
        elif kind == "audio":
            if not _MIME.fullmatch(value.get("mimeType", "")):
                raise ClosingError(1007, f"Unsupported MIME type {value.get('mimeType')}.")
            pcm = base64.b64decode(value["data"].replace("-", "+").replace("_", "/"))
            if self.buffer is not None:
                self.buffer += pcm
        elif kind == "activityEnd" and self.buffer is not None:
            prompt, self.buffer = bytes(self.buffer), None
            await self.respond(await self.answer(prompt, self.asked()))
        elif kind not in {"activityEnd", "audioStreamEnd", "text"}:
            raise ClosingError(1007, f"Invalid JSON payload received. Unknown name \"{kind}\" at 'realtime_input'.")

    def asked(self) -> Session:
        """What the client asked for, in the answerer's words."""
        assert self.setup is not None
        generation = self.setup.get("generationConfig", {})
        voice = generation.get("speechConfig", {}).get("voiceConfig", {}).get("prebuiltVoiceConfig", {})
        words = "".join(part.get("text", "") for part in self.setup.get("systemInstruction", {}).get("parts", ()))
        thinking = generation.get("thinkingConfig", {})
        effort = thinking.get("thinkingLevel", thinking.get("thinkingBudget"))
        model = self.setup["model"].removeprefix("models/")
        return Session(model, voice.get("voiceName", "Puck"), words, None if effort is None else str(effort))

    async def send(self, message: Mapping[str, Any]) -> None:
        await self.socket.send(json.dumps(message).encode())

    async def content(self, **content: Any) -> None:
        await self.send({"serverContent": content})

    async def respond(self, answer: Answer) -> None:
        """One turn, from the transcript of the prompt to `turnComplete`."""
        await self.content()
        await self.send({"sessionResumptionUpdate": {"newHandle": "5f1c", "resumable": True}})
        await self.transcribe(answer.input_transcript or "")
        await self.think()
        await self.speak(answer)
        await self.content(generationComplete=True)
        await self.finish(answer)

    def wants(self, key: str) -> bool:
        """Whether the setup has something."""
        assert self.setup is not None
        return key in self.setup or key in self.setup.get("generationConfig", {}).get("thinkingConfig", {})

    async def transcribe(self, text: str) -> None:
        if self.wants("inputAudioTranscription"):
            for fragment in fragments(text):
                await self.content(inputTranscription={"text": f" {fragment}"})

    async def think(self) -> None:
        if self.wants("includeThoughts"):
            await self.content(modelTurn={"parts": [{"text": THOUGHT, "thought": True}]})

    async def speak(self, answer: Answer) -> None:
        """Audio; words come along with it, several to a fragment."""
        for item in answer.items:
            words = fragments(item.text) if self.wants("outputAudioTranscription") else ()
            for part, text in zip_longest(self.parts(item.pcm), (f" {w}" for w in words)):
                turn = {"modelTurn": {"parts": [part]}} if part else {}
                await self.content(**turn, **({"outputTranscription": {"text": text}} if text else {}))

    def parts(self, pcm: bytes) -> Iterator[dict[str, Any]]:
        for at in range(0, len(pcm), self.chunk):
            yield audio_part(pcm[at : at + self.chunk])

    async def finish(self, answer: Answer) -> None:
        """`turnComplete`, once the audio would have been played, with the usage."""
        await asyncio.sleep(PLAYBACK * len(spoken(answer)) / 2 / RATE_HZ)
        await self.send({"serverContent": {"turnComplete": True}, "usageMetadata": usage(answer)})


def plain_keys(value: Any) -> Any:
    """A client's message with the service's own spelling of keys."""
    if isinstance(value, dict):
        return {spelled(key): plain_keys(inner) for key, inner in value.items()}
    return [plain_keys(inner) for inner in value] if isinstance(value, list) else value


def spelled(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(word.capitalize() for word in others)


def check_setup(setup: dict[str, Any]) -> None:
    """What the service refuses.

    Raises:
        ClosingError: 1007 or 1008.
    """
    generation, model = setup.get("generationConfig", {}), str(setup.get("model", ""))
    for where, keys, known in (("setup", setup, _SETUP), ("setup.generation_config", generation, _GENERATION)):
        if unknown := sorted(set(keys) - known):
            raise ClosingError(1007, f"Invalid JSON payload received. Unknown name \"{unknown[0]}\" at '{where}'.")
    if not re.fullmatch(r"models/gemini-[\w.-]*(live|native-audio)[\w.-]*", model):
        raise ClosingError(
            1008, f"{model} is not found for API version v1beta, or is not supported for bidiGenerateContent."
        )
    if generation.get("responseModalities") != ["AUDIO"]:
        raise ClosingError(1007, "Cannot extract voices from a non-audio request.")
    voice = generation.get("speechConfig", {}).get("voiceConfig", {}).get("prebuiltVoiceConfig", {}).get("voiceName")
    if voice not in {None, *VOICES}:
        raise ClosingError(1007, f"Requested voice api_name '{voice}' is not available for model {model}.")
    level = generation.get("thinkingConfig", {}).get("thinkingLevel")
    if level is not None and (level not in LEVELS or "2.5" in model):
        raise ClosingError(1007, f"Thinking level {level} is not supported for this model.")


def fragments(text: str) -> list[str]:
    """Two words at a time."""
    words = text.split()
    return [" ".join(words[at : at + 2]) for at in range(0, len(words), 2)]


def audio_part(pcm: bytes, mime: str = "audio/pcm;rate=24000") -> dict[str, Any]:
    return {"inlineData": {"mimeType": mime, "data": base64.b64encode(pcm).decode()}}


def spoken(answer: Answer) -> bytes:
    return b"".join(item.pcm for item in answer.items)


def usage(answer: Answer) -> dict[str, Any]:
    """Counts whose details do not sum to them; thoughts are beside the total."""
    audio = len(spoken(answer)) * 25 // (2 * RATE_HZ)
    said = {"responseTokenCount": audio + 12, "responseTokensDetails": [{"modality": "AUDIO", "tokenCount": audio}]}
    counts = {"promptTokenCount": 482, "totalTokenCount": 482 + (audio + 12 if audio else 0), "thoughtsTokenCount": 31}
    return {**counts, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 360}], **(said if audio else {})}


def key_of(request: Request | None) -> str:
    """The key of a header or of the address."""
    assert request is not None
    named = parse_qs(urlsplit(request.path).query).get("key", [""])[0]
    return str(request.headers.get("x-goog-api-key", named))
