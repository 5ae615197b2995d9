"""Secrets are masked wherever they stand; ordinary text is left alone."""

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
