"""Secrets are masked wherever they stand; ordinary text is left alone."""

import json
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from s2s_assets.responses.redact import MASK, Redactor

SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60)


@given(secret=SECRETS, before=st.text(), after=st.text())
def test_a_known_secret_is_never_left(secret: str, before: str, after: str) -> None:
    redact = Redactor([secret])
    shown = redact.tree({"a": [f"{before}{secret}{after}", {secret: quote(secret, safe="")}]})
    assert secret not in str(shown["a"][0]).replace(MASK, "")
    assert secret not in redact.text(f"{before}{secret}{after}").replace(MASK, "")


def test_what_looks_like_a_secret_is_masked() -> None:
    redact = Redactor()
    for text in (
        "key sk-proj-abcdefghijklmnop",
        "Authorization: Bearer abcdef.ghijk",
        "wss://host/path?model=x&key=abc123",
        "https://bucket/x?X-Amz-Signature=0123456789&X-Amz-Credential=abc",
        "AIzaSyA0123456789abcdefghijklmn",
    ):
        assert MASK in redact.text(text), text
        assert "abc" not in redact.text(text), text


def test_ordinary_text_and_numbers_stay() -> None:
    document = {"text": "Ask a risk-averse person.", "n": 3, "none": None, "url": "wss://host/v1/realtime?model=x"}
    assert Redactor(["abc", ""]).tree(document) == document


def trees(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    texts = st.text() | st.sampled_from(["sk-proj-abcdefghijklm", "Bearer abcdefg"])
    return st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    )


@given(value=trees(st.floats()), secret=SECRETS, before=st.text(), after=st.text())
def test_what_is_taken_for_clean_has_nothing_to_mask(value: object, secret: str, before: str, after: str) -> None:
    redact = Redactor([secret])
    for found in (
        value,
        [f"{before}{secret}{after}"],
        {f"{before}sk-proj-abcdefghijklm": 1},
        [f"{before}\tsk-abcdefghijklmn"],
    ):
        if redact.clean(found):
            assert repr(redact._masked(found)) == repr(found)


@given(values=st.lists(trees(st.floats(allow_nan=False, allow_infinity=False)), max_size=4), secret=SECRETS)
def test_lines_of_a_log_are_masked_as_what_they_hold(values: list[object], secret: str) -> None:
    redact, events = Redactor([secret]), [{"event": value} for value in (*values, f"key {secret}", "half \ud800")]
    lines = [json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for event in events]
    assert [json.loads(line) for line in redact.lines(lines)] == [
        json.loads(json.dumps(redact.tree(e))) for e in events
    ]


def test_clean_lines_are_left_as_they_are() -> None:
    lines = ['{"text":"Ask a risk-averse person.\\nNow"}', '{"n":3}']
    assert Redactor(["abcdef-0123456789"]).lines(lines) == tuple(lines)


def test_clean_data_is_not_copied() -> None:
    document = {"text": 'A "quoted" line\nand\tmore', "list": [1.5, None, {"ask": "risk-averse-person-here"}]}
    assert Redactor(["planted-key"]).tree(document) is document
