"""The server: uvicorn in this process, or in several that share one socket."""

import socket
import threading
import time
from collections.abc import Callable

import httpx
import uvicorn
from uvicorn.supervisors import Multiprocess

from s2s_assets.study import InputError

_APP = "s2s_assets.ratings.app.main:create_app"
_BACKLOG = 2048
_ASK_EVERY_S = 0.05
_QUIET_S = 10


def serve(host: str, port: int, workers: int, tell: Callable[[str], None]) -> None:
    """Serve the rating app until a signal ends it; `tell` gets its address once it answers.

    Args:
        host: Address to listen on.
        port: Port, 0 for a free one.
        workers: Processes.
        tell: Called once.

    Raises:
        InputError: the address cannot be listened on.
    """
    listening = _listen(host, port)
    address = f"http://{_shown(host)}:{listening.getsockname()[1]}"
    threading.Thread(target=_tell_when_up, args=(address, tell), daemon=True).start()
    config = uvicorn.Config(
        _APP,
        factory=True,
        workers=workers,
        log_level="warning",
        # an access log would keep addresses
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_QUIET_S,
    )
    if workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
    else:
        Multiprocess(config, [listening]).run()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise InputError(f"{host}:{port}: cannot be listened on ({error.strerror}); choose another --port") from error
    found.listen(_BACKLOG)
    found.set_inheritable(True)
    return found


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else {"0.0.0.0": "127.0.0.1"}.get(host, host)  # noqa: S104 - only shown


def _tell_when_up(address: str, tell: Callable[[str], None]) -> None:
    while True:
        try:
            if httpx.get(f"{address}/health", timeout=5, trust_env=False).is_success:
                break
        except httpx.HTTPError:
            pass
        time.sleep(_ASK_EVERY_S)
    tell(address)
