"""Addresses: a provider's base URL and a protocol's path."""

from urllib.parse import urlsplit


def join(base: str, path: str) -> str:
    """The address of a path below a base URL, whether or not the base already ends in the path's version."""
    version = "/" + path.split("/")[1]
    return base.rstrip("/").removesuffix(version) + path


def is_address(text: str, like: str) -> bool:
    """Whether a text is an absolute address of the scheme of `like` (`wss`, `https`), or of that scheme without TLS."""
    try:
        parts = urlsplit(text)
        named = parts.hostname is not None and parts.port != 0
    except ValueError:
        return False
    scheme = urlsplit(like).scheme
    return named and parts.scheme in {scheme, scheme.removesuffix("s")}


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine, where no proxy helps."""
    return urlsplit(url).hostname in {"127.0.0.1", "localhost", "::1"}
