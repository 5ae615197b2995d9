"""Addresses: a provider's base URL and a protocol's path."""

from urllib.parse import urlsplit


def join(base: str, path: str) -> str:
    """The address of a path below a base URL, whether or not the base already ends in the path's version."""
    version = "/" + path.split("/")[1]
    return base.rstrip("/").removesuffix(version) + path


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine, where no proxy helps."""
    return urlsplit(url).hostname in {"127.0.0.1", "localhost", "::1"}
