from __future__ import annotations

import asyncio
import socket
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from autobahn.exception import Disconnected, PayloadExceededError
from autobahn.websocket.types import ConnectionDeny
from twisted.internet.task import Clock

from jpweb.cli import daphne_server
from jpweb.cli.daphne_server import DaphneServer, PortTaken, find_free_port
from jpweb.cli.websocket_limits import BoundedSocket
from jpweb.number_settings import MAX_PORT
from jpweb.runtime.broadcast import close_codes
from tests.machine.ports import LOOPBACK


class Protocol:
    """A connection whose sending ends in an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.closed = 0
        self.transport = self

    def abortConnection(self) -> None:  # noqa: N802  twisted's name
        self.closed = 1006

    def handle_reply(self, _message: dict[str, Any]) -> None:
        raise self.error

    def sendClose(self, code: int) -> None:  # noqa: N802  autobahn's name
        self.closed = code


async def do_nothing() -> None:
    """End what was never begun."""


async def replied(error: Exception) -> int:
    protocol = Protocol(error)
    quiet = DaphneServer(do_nothing, application=None, endpoints=["tcp:port=0"])
    quiet.connections = {protocol: {}}
    await quiet.handle_reply(protocol, {"type": "websocket.send", "text": "news"})
    return protocol.closed


async def test_news_for_a_browser_that_has_just_left_are_dropped():
    await replied(Disconnected("gone"))


async def test_daphne_server_closes_a_socket_whose_payload_is_exceeded():
    assert await replied(PayloadExceededError("large")) == daphne_server.TOO_BIG_CODE


async def test_page_reconnects_after_an_error_in_its_socket():
    protocol = Protocol(OSError("autobahn sends no such code"))
    quiet = DaphneServer(do_nothing, application=None, endpoints=["tcp:port=0"])
    quiet.connections = {protocol: {}}
    await quiet.handle_reply(
        protocol, {"type": "websocket.close", "code": close_codes.SERVER_FAULT}
    )
    assert protocol.closed == 1006
    with pytest.raises(OSError, match="autobahn"):
        await quiet.handle_reply(protocol, {"type": "websocket.close", "code": 4401})


async def test_daphne_server_raises_other_errors_of_send():
    with pytest.raises(OSError, match="broken"):
        await replied(OSError("broken"))


async def test_server_exits_when_its_tasks_have_ended_or_at_the_timeout(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(daphne_server, "DRAIN_SECONDS", 0)
    order: list[str] = []

    async def end_tasks() -> None:
        order.append("tools")

    await DaphneServer(end_tasks, application=None, endpoints=["tcp:port=0"])._run_on_stop()
    assert order == ["tools"]
    monkeypatch.setattr(daphne_server, "SHUTDOWN_TIMEOUT_SECONDS", 0.01)

    async def never_ends() -> None:
        await asyncio.Event().wait()

    stuck = DaphneServer(never_ends, application=None, endpoints=["tcp:port=0"])
    await stuck._run_on_stop()


async def test_stopping_server_refuses_a_socket_on_an_open_connection(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(daphne_server, "DRAIN_SECONDS", 0)
    server = DaphneServer(do_nothing, application=None, endpoints=["tcp:port=0"])
    server.connections = {}
    handshake = BoundedSocket()
    handshake.factory = SimpleNamespace(server_class=server)
    await server.kill_all_applications().asFuture(asyncio.get_running_loop())
    with pytest.raises(ConnectionDeny) as denial:
        handshake.onConnect(SimpleNamespace(headers={}))
    assert denial.value.code == ConnectionDeny.SERVICE_UNAVAILABLE


def test_find_free_port_passes_over_one_that_is_listened_on():
    with socket.create_server((LOOPBACK, 0)) as listener:
        taken_port = listener.getsockname()[1]
        port = find_free_port(taken_port)
        assert port > taken_port
        socket.create_server((LOOPBACK, port)).close()


def test_find_free_port_beyond_the_last_port_is_refused():
    with pytest.raises(PortTaken, match="No port from 65536"):
        find_free_port(MAX_PORT + 1)


def test_timeout_checker_checks_each_connection_once_and_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
):
    clock, checked_at = Clock(), dict[int, float]()
    monkeypatch.setattr(daphne_server, "reactor", clock)
    monkeypatch.setattr(daphne_server, "CHECKED_CONNECTIONS", 3)

    class CheckedProtocol:
        def __init__(self, number: int) -> None:
            self.number = number

        def check_timeouts(self) -> None:
            assert self.number not in checked_at
            checked_at[self.number] = clock.seconds()

    server = DaphneServer(do_nothing, application=None, endpoints=["tcp:port=0"])
    protocols = [CheckedProtocol(number) for number in range(10)]
    server.connections = {protocol: {} for protocol in protocols}
    server.timeout_checker()
    del server.connections[protocols[9]]  # closed meanwhile
    clock.pump([0.1] * 19)
    assert sorted(checked_at) == list(range(9))
    counts = Counter(checked_at.values())
    assert max(counts.values()) == 3
    checked_at.clear()
    clock.pump([0.1] * 20)
    assert sorted(checked_at) == list(range(9))
