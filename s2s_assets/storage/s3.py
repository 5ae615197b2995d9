"""A blob store in an S3 bucket, through boto3.

Write-once is `PutObject` with `If-None-Match: *`; the body's SHA-256 is sent along and checked by the server. Keys,
region and endpoint come from the usual AWS variables, never from the URL, and never appear in a message.

The instance metadata service is not asked for keys, since a machine without it waits for the time-out;
`AWS_EC2_METADATA_DISABLED=false` says that this machine has one.
"""

import base64
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from s2s_assets.storage.blobs import BINARY, check_key
from s2s_assets.study import InputError, ObjectNotFoundError, StoreError

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_TAKEN = ("412", "PreconditionFailed")
_RACE = ("409", "ConditionalRequestConflict")
_ABSENT = ("404", "NoSuchKey", "NotFound")
_RACE_ATTEMPTS = 5


class S3Store:
    """Objects below a prefix of a bucket."""

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:
        self.url = f"s3://{bucket}/{prefix}".rstrip("/")
        self._client = client
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""

    @classmethod
    def from_url(cls, url: str) -> Self:
        """Open `s3://BUCKET/PREFIX`; nothing is sent yet.

        Raises:
            InputError: no bucket, keys in the URL, or a prefix outside the alphabet of object keys.
            StoreError: no keys in the environment.
        """
        bucket, _, prefix = url.removeprefix("s3://").partition("/")
        if not url.startswith("s3://") or not _BUCKET.fullmatch(bucket):
            raise InputError(
                "S3 store: expected s3://BUCKET/PREFIX; keys come from the environment, never from the URL"
            )
        prefix = prefix.strip("/")
        if prefix:
            check_key(prefix)
        return cls(_client(), bucket, prefix)

    def put_new(self, key: str, data: bytes, content_type: str = BINARY) -> bool:
        """Write an object unless its key is taken; False if it was."""
        for _ in range(_RACE_ATTEMPTS):
            with self._reported("write", key):
                try:
                    self._put(key, data, content_type, IfNoneMatch="*")
                except ClientError as error:
                    if _code(error) in _RACE:
                        continue
                    if _code(error) not in _TAKEN:
                        raise
                    return self._taken_by_us(error, key, data)
                return True
        raise StoreError(f"store {self.url}: {key!r} is written by others again and again; try again")

    def replace(self, key: str, data: bytes, content_type: str = BINARY) -> None:
        """Write an object over its key."""
        with self._reported("replace", key):
            self._put(key, data, content_type)

    def get(self, key: str) -> bytes:
        """An object's bytes."""
        with self._reported("read", key):
            answer = self._client.get_object(Bucket=self._bucket, Key=self._full(key))
            data: bytes = answer["Body"].read()
        return data

    def exists(self, key: str) -> bool:
        """Whether an object has this key."""
        try:
            with self._reported("look up", key):
                self._client.head_object(Bucket=self._bucket, Key=self._full(key))
        except ObjectNotFoundError:
            return False
        return True

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with a text, in byte order."""
        with self._reported("list", prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._prefix + prefix
            )
            found = [item["Key"].removeprefix(self._prefix) for page in pages for item in page.get("Contents", ())]
        # not every server lists in byte order where names hold a "/"
        yield from sorted(found)

    def _put(self, key: str, data: bytes, content_type: str, **condition: str) -> None:
        self._client.put_object(
            Bucket=self._bucket,
            Key=self._full(key),
            Body=data,
            ContentType=content_type,
            ChecksumSHA256=base64.b64encode(hashlib.sha256(data).digest()).decode(),
            **condition,
        )

    def _taken_by_us(self, error: ClientError, key: str, data: bytes) -> bool:
        # when an answer is lost on the way, boto3 sends again and then meets the object that it wrote itself
        return bool(error.response["ResponseMetadata"].get("RetryAttempts")) and self.get(key) == data

    def _full(self, key: str) -> str:
        check_key(key)
        return self._prefix + key

    @contextmanager
    def _reported(self, action: str, key: str) -> Iterator[None]:
        """Turn boto3's errors into ours; its messages are left out, since some quote keys."""
        try:
            yield
        except ClientError as error:
            raise self._error(action, key, _code(error)) from None
        except BotoCoreError as error:
            raise StoreError(
                f"store {self.url}: cannot {action} {key!r}: {type(error).__name__} at {_endpoint()}; "
                "check AWS_ENDPOINT_URL and the network"
            ) from None

    def _error(self, action: str, key: str, code: str) -> StoreError:
        if code == "NoSuchBucket":
            return StoreError(f"store {self.url}: bucket {self._bucket!r} does not exist; create it, or set S2S_STORE")
        if code in _ABSENT:
            return ObjectNotFoundError(f"store {self.url}: no object {key!r}")
        return StoreError(
            f"store {self.url}: cannot {action} {key!r}: the server answers {code}; check AWS_ACCESS_KEY_ID, "
            "AWS_SECRET_ACCESS_KEY and what they may do in this bucket"
        )


def _client() -> Any:
    session = botocore.session.get_session()
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "true").lower() != "false":
        session.get_component("credential_provider").remove("iam-role")
    if session.get_credentials() is None:
        raise StoreError("S3 store: no keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    config = Config(
        s3={"addressing_style": "path" if _endpoint() != "AWS" else "auto"},
        retries={"mode": "standard", "max_attempts": 4},
        connect_timeout=10,
        read_timeout=60,
        max_pool_connections=32,
    )
    region = os.environ.get("AWS_REGION") or session.get_config_variable("region") or "us-east-1"
    return boto3.Session(botocore_session=session).client("s3", region_name=region, config=config)


def _endpoint() -> str:
    """The endpoint's address without what could be secret in it; `AWS` where none is set."""
    url = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not url:
        return "AWS"
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "unknown"))
