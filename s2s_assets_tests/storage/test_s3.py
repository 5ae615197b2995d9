"""S3 stores that break the promise, lose answers, refuse keys or are not there."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from s2s_assets.storage import BlobStore, open_store
from s2s_assets.study import InputError, StoreError

SECRET = "a-secret-that-no-message-may-hold"
KEY_ID = "a-key-id-that-no-message-may-hold"


class FakeS3(ThreadingHTTPServer):
    """Just enough of S3 to be wrong in one way at a time."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.objects: dict[str, bytes] = {}
        self.puts: list[dict[str, str]] = []
        self.honours_conditions = True
        self.lost_answers = 0
        self.races = 0
        self.refusal: tuple[int, str] | None = None


class _Handler(BaseHTTPRequestHandler):
    server: FakeS3
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        pass

    def do_PUT(self) -> None:
        body = self._body()
        self.server.puts.append({name.lower(): value for name, value in self.headers.items()})
        taken = self.path in self.server.objects and self.headers.get("If-None-Match") == "*"
        if self.server.refusal:
            self._answer(self.server.refusal[0], _error(self.server.refusal[1]))
        elif self.server.races:
            self.server.races -= 1
            self._answer(409, _error("ConditionalRequestConflict"))
        elif taken and self.server.honours_conditions:
            self._answer(412, _error("PreconditionFailed"))
        else:
            self.server.objects[self.path] = body
            if self.server.lost_answers:
                self.server.lost_answers -= 1
                self._answer(503, _error("SlowDown"))
            else:
                self._answer(200, b"")

    def do_GET(self) -> None:
        data = self.server.objects.get(self.path.partition("?")[0])
        self._answer(*((404, _error("NoSuchKey")) if data is None else (200, data)))

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked" and "aws-chunked" not in self.headers.get(
            "Content-Encoding", ""
        ):
            return self.rfile.read(int(self.headers["Content-Length"]))
        raise AssertionError("the client is expected to send the body whole")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _error(code: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>the key {KEY_ID} and {SECRET}</Message></Error>".encode()


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeS3]:
    with FakeS3() as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        yield server
        server.shutdown()


def test_a_store_that_ignores_conditions_is_refused(fake: FakeS3):
    fake.honours_conditions = False
    with pytest.raises(StoreError, match="second write"):
        open_store("s3://bucket/study")


def test_opening_a_probed_store_again_costs_one_request(fake: FakeS3):
    open_store("s3://bucket/study")
    assert len(fake.puts) == 2
    open_store("s3://bucket/study")
    assert len(fake.puts) == 3


def test_a_write_carries_condition_checksum_and_type(fake: FakeS3):
    open_store("s3://bucket/study").put_new("a.json", b"{}", "application/json")
    sent = fake.puts[-1]
    assert sent["if-none-match"] == "*"
    assert sent["x-amz-checksum-sha256"] == base64.b64encode(hashlib.sha256(b"{}").digest()).decode()
    assert sent["content-type"] == "application/json"
    assert "/bucket/study/a.json" in fake.objects


def test_a_write_whose_answer_was_lost_still_counts_as_ours(fake: FakeS3):
    store = open_store("s3://bucket/study")
    fake.lost_answers = 1
    assert store.put_new("k", b"ours")
    fake.objects["/bucket/study/taken"] = b"theirs"
    assert not store.put_new("taken", b"ours")


def test_a_race_that_the_server_gave_up_on_is_run_again(fake: FakeS3):
    store = open_store("s3://bucket/study")
    fake.races = 2
    assert store.put_new("k", b"v")
    fake.races = 1000
    with pytest.raises(StoreError, match="again and again"):
        store.put_new("k2", b"v")


@pytest.mark.parametrize("code", ["AccessDenied", "InvalidAccessKeyId", "NoSuchBucket"])
def test_a_refusal_is_named_without_keys(fake: FakeS3, code: str):
    fake.refusal = (403 if code != "NoSuchBucket" else 404, code)
    with pytest.raises(StoreError) as refused:
        open_store("s3://bucket/study")
    assert ("does not exist" if code == "NoSuchBucket" else code) in str(refused.value)
    assert SECRET not in str(refused.value)
    assert KEY_ID not in str(refused.value)


def test_an_endpoint_that_is_not_there_is_named_without_its_password(fake: FakeS3, monkeypatch: pytest.MonkeyPatch):
    port = fake.server_port
    fake.shutdown()
    fake.server_close()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://user:{SECRET}@127.0.0.1:{port}")
    with pytest.raises(StoreError, match=re.escape(f"http://127.0.0.1:{port};")) as refused:
        open_store("s3://bucket/study")
    assert SECRET not in str(refused.value)


def test_without_keys_nothing_is_asked_of_the_network(monkeypatch: pytest.MonkeyPatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_EC2_METADATA_DISABLED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    # the socket guard of these tests fails one that asks the instance metadata service
    with pytest.raises(StoreError, match="AWS_ACCESS_KEY_ID"):
        open_store("s3://bucket/study")


def test_a_prefix_outside_the_alphabet_is_refused():
    with pytest.raises(StoreError, match="object key"):
        open_store("s3://bucket/a b")
    with pytest.raises(InputError):
        open_store("s3:///prefix")


@pytest.mark.s3
def test_the_real_server_refuses_wrong_keys(new_s3_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch):
    url = new_s3_url()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with pytest.raises(StoreError, match="SignatureDoesNotMatch") as refused:
        open_store(url)
    assert SECRET not in str(refused.value)


@pytest.mark.s3
def test_two_prefixes_of_one_bucket_do_not_meet(new_s3_url: Callable[[], str]):
    one, other = (open_store(new_s3_url()) for _ in range(2))
    assert one.put_new("k", b"one")
    assert other.put_new("k", b"other")
    assert _contents(one)["k"] == b"one"


def _contents(store: BlobStore) -> dict[str, bytes]:
    return {key: store.get(key) for key in store.keys("")}
