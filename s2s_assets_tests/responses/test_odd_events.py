"""Events with values that they never have: whatever comes of the exchange, its record is kept, and no other is lost.

The events of a plain turn are played to the adapter again, one of them changed.
"""

import asyncio
import base64
import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from s2s_assets.responses import Outcome, Terms, exchange
from s2s_assets.responses.attempts import event_log, keep_attempt
from s2s_assets.responses.costs import Tariff
from s2s_assets.responses.prices import price_table
from s2s_assets.responses.providers import ADAPTERS
from s2s_assets.responses.providers.conversation import ClosedError, ConversationAdapter
from s2s_assets.responses.records import Status
from s2s_assets.storage import StudyStore
from s2s_assets_tests.emulators.voices import FINAL, speech
from s2s_assets_tests.responses.conftest import KEY, make_config
from s2s_assets_tests.responses.parties import OPENAI, PARTIES, Party, each

HASTY = Terms(pace=0, connect_timeout_s=0.2, first_event_timeout_s=0.2, idle_timeout_s=0.2, grace_s=0.01)
CONFIG = make_config(provider="openai", settings={"model": "gpt-realtime-2.1"})
TARIFF = Tariff.of(CONFIG, price_table({}))
ACKNOWLEDGED = {"setupComplete", "session.updated"}
BODY = re.compile(r"\[(\d+) characters of base64\]")
OVERFLOWING = "a number that is too large"
ABSENT = "a key that is not there"
VALUES = [None, True, -1, 10**400, "", "x", KEY, "half \ud83d a pair", [], {}, [None], [{}], {"a": 1}]
ODD = [*VALUES, OVERFLOWING, ABSENT]
conversations = pytest.mark.parametrize("party", each(p for p in PARTIES if p.is_conversation))

Path = tuple[str | int, ...]


def plain_events(party: Party) -> tuple[dict[str, Any], ...]:
    """What an adapter hears in a plain turn, with audio in the place of its length."""
    return _plain_events(party.adapter)


@cache
def _plain_events(adapter: str) -> tuple[dict[str, Any], ...]:
    (party,) = (party for party in PARTIES if party.adapter == adapter)
    outcome, _ = party.turn()
    heard = [e["event"] for e in outcome.events if e["dir"] == "<"]
    return tuple(json.loads(BODY.sub(lambda m: sound(int(m[1])), json.dumps(event))) for event in heard)


def sound(characters: int) -> str:
    return base64.b64encode(speech("sound")[: characters // 4 * 3]).decode()


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Where the values of JSON-like data are, deep ones too."""
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield (*at, key)
        yield from paths(inner, (*at, key))


def changed(event: Mapping[str, Any], path: Path, value: Any) -> str:
    """The text of an event with another value somewhere."""
    new = copy.deepcopy(event)
    inner: Any = new
    for key in path[:-1]:
        inner = inner[key]
    if value == ABSENT:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(new).replace(json.dumps(OVERFLOWING), "1e999")


class Replay:
    """A channel on which events come: up to the acknowledgement at once, the rest after the end of the turn."""

    def __init__(self, texts: Sequence[str], end_of_turn: Sequence[Mapping[str, Any]]) -> None:
        self._texts = iter(texts)
        self._last = end_of_turn[-1] if end_of_turn else None
        self._ended = asyncio.Event()
        self._waits = self._last is None

    async def send(self, text: str) -> None:
        if json.loads(text) == self._last or (self._last is None and "audioInput" in text):
            self._ended.set()

    async def recv(self) -> str:
        if self._waits:
            await self._ended.wait()
        if (text := next(self._texts, None)) is None:
            raise ClosedError(1000, "")
        self._waits = self._waits or any(word in text for word in ACKNOWLEDGED)
        return text

    async def close(self) -> None:
        return


def play(party: Party, texts: Sequence[str]) -> Outcome:
    """An exchange in which these events come."""

    async def connect(self: ConversationAdapter) -> Replay:
        return Replay(texts, self.end_of_turn())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ADAPTERS[party.adapter], "connect", connect)
        return asyncio.run(exchange(party.request("wss://127.0.0.1:9", HASTY), party.prompt(0.2)))


def keep(store: StudyStore, outcome: Outcome) -> dict[str, Any]:
    """The record of an attempt, as a collection keeps it."""
    more = {"charges": TARIFF.charges(outcome, 1.0, 1.0)}
    _, record = keep_attempt(store, CONFIG, "0" * 64, more, outcome)
    assert KEY not in json.dumps(record)
    assert KEY.encode() not in event_log(outcome)
    return record


@conversations
def test_the_events_of_a_plain_turn_are_an_answer(party: Party) -> None:
    outcome = play(party, [json.dumps(event) for event in plain_events(party)])
    assert (outcome.status, outcome.message) == ("ok", None)


@conversations
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_odd_value_is_at_worst_a_failure_of_its_own(
    party: Party, directory_store: StudyStore, data: st.DataObject
) -> None:
    events = plain_events(party)
    number = data.draw(st.integers(0, len(events) - 1))
    path = data.draw(st.sampled_from([*paths(events[number])] or [()]))
    texts = [json.dumps(event) for event in events]
    if path:
        texts[number] = changed(events[number], path, data.draw(st.sampled_from(ODD)))
    record = keep(directory_store, play(party, texts))
    assert record["status"] in get_args(Status)


TRANSCRIPT: Path = ("transcript",)
KINDS: list[tuple[str, Path, Any, str, Any]] = [
    ("conversation.item.input_audio_transcription.completed", TRANSCRIPT, ["words"], "input_transcript", None),
    ("response.output_audio_transcript.done", TRANSCRIPT, ["words"], "output_transcript", FINAL),
    ("response.done", ("response", "usage"), "a lot", "usage", None),
    ("response.done", ("response", "usage"), 7, "usage", None),
    ("session.created", ("session", "expires_at"), OVERFLOWING, "code", None),
    ("response.output_item.added", ("output_index",), "first", "code", None),
]


@pytest.mark.parametrize(("kind", "path", "value", "name", "kept"), KINDS)
def test_a_value_of_another_kind_is_nothing_and_the_answer_is_one(
    kind: str, path: Path, value: Any, name: str, kept: Any, directory_store: StudyStore
) -> None:
    texts = [
        changed(event, path, value) if event["type"] == kind else json.dumps(event) for event in plain_events(OPENAI)
    ]
    outcome = play(OPENAI, texts)
    assert (outcome.status, outcome.message) == ("ok", None)
    assert keep(directory_store, outcome)[name] == kept


def test_two_items_of_which_one_has_no_number_are_in_the_order_of_their_coming() -> None:
    texts = []
    for event in plain_events(OPENAI):
        texts.append(json.dumps(event))
        if event["type"] == "response.output_audio.done":
            second = {"type": "response.output_audio.delta", "response_id": event["response_id"], "item_id": "second"}
            texts.append(json.dumps({**second, "output_index": "1", "delta": base64.b64encode(b"ab").decode()}))
    assert play(OPENAI, texts).pcm.endswith(b"ab")


@pytest.mark.parametrize(
    ("levels", "codes"),
    [(10**6, ["malformed_event"]), (980, ["malformed_event", "RecursionError"])],
    ids=["for the parser", "for what reads it then"],
)
def test_a_message_that_is_nested_too_deep_ends_its_own_exchange_alone(
    levels: int, codes: list[str], directory_store: StudyStore
) -> None:
    texts = [json.dumps(event) for event in plain_events(OPENAI)]
    deep = '{"type": "telemetry", "deep": ' + "[" * levels + "]" * levels + "}"
    outcome = play(OPENAI, [*texts[:3], deep, *texts[3:]])
    assert outcome.code in codes
    assert not outcome.retryable
    keep(directory_store, outcome)


def test_a_channel_that_takes_nothing_more_and_says_nothing_is_not_waited_for_for_ever() -> None:
    class HalfClosed(Replay):
        async def send(self, text: str) -> None:
            if "append" in text:
                raise ClosedError(1006, "")

        async def recv(self) -> str:
            if self._waits:
                await asyncio.Event().wait()
            return await super().recv()

    texts = [json.dumps(event) for event in plain_events(OPENAI)]

    async def connect(self: ConversationAdapter) -> Replay:
        return HalfClosed(texts, self.end_of_turn())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ADAPTERS[OPENAI.adapter], "connect", connect)
        request = OPENAI.request("wss://127.0.0.1:9", HASTY)
        outcome = asyncio.run(asyncio.wait_for(exchange(request, OPENAI.prompt(0.2)), 10))
    assert (outcome.status, outcome.code, outcome.retryable) == ("timeout", "close_timeout", True)
