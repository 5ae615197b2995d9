"""Addresses: a provider's base URL and a protocol's path."""

from urllib.parse import urlsplit


def join(base: str, path: str) -> str:
    """The address of a path below a base URL, whether or not the base already ends in the path's beginning."""
    base, steps = base.rstrip("/"), path.split("/")
    for count in range(len(steps), 1, -1):
        if base.endswith("/".join(steps[:count])):
            return base.removesuffix("/".join(steps[:count])) + path
    return base + path


def is_address(text: str, like: str) -> bool:
    """Whether a text is an absolute address of the scheme of `like` (`wss`, `https`), with TLS or without."""
    try:
        parts = urlsplit(text)
        named = parts.hostname is not None and parts.port != 0
    except ValueError:
        return False
    plain = urlsplit(like).scheme.removesuffix("s")
    return named and parts.scheme in {plain, f"{plain}s"}


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine, where no proxy helps."""
    return urlsplit(url).hostname in {"127.0.0.1", "localhost", "::1"}
