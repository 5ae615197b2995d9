"""What keeps the tests to themselves: no other machine, no setting of the person who runs them."""

import os
import socket
from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    "reach",
    [
        lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
        lambda: socket.socket().connect_ex(("192.0.2.1", 80)),
        lambda: socket.socket(socket.AF_INET6).connect(("2001:db8::1", 80)),
        lambda: socket.getaddrinfo("example.org", 80),
    ],
)
def test_another_machine_is_out_of_reach(reach: Callable[[], object]):
    with pytest.raises(pytest.fail.Exception, match="only loopback"):
        reach()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_in_reach(host: str):
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection((host, server.getsockname()[1])).close()


def test_no_setting_of_the_person_who_runs_the_tests_is_left():
    assert {name for name in os.environ if name.startswith("S2S_") or name.endswith("_API_KEY")} == set()
