"""Starts and stops daphne.

daphne 4.2 fails at interpreter exit while a WebSocket is open (a waiting coroutine is collected
too late), so the process exits by ``os._exit`` once everything is flushed.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any

import daphne.server
from autobahn.exception import Disconnected, PayloadExceededError
from daphne.server import Server
from twisted.internet import defer, reactor
from twisted.python.failure import Failure

from jpweb import installation
from jpweb.cli import gc_tuning
from jpweb.cli.http_limits import BoundedFactory, BoundedRequest
from jpweb.cli.websocket_limits import BoundedSocketFactory
from jpweb.number_settings import MAX_PORT
from jpweb.runtime.broadcast.close_codes import SERVER_FAULT
from jpweb.runtime.broadcast.flow_control import CUT_CONNECTION_KEY, FLOW_CONTROL_KEY, FlowControl

HOST = "127.0.0.1"
#: The largest message that is sent, so that a whole transcript fits. Received messages are limited
#: to far less (jpweb/cli/websocket_limits.py).
MAX_SENT_BYTES = 16 * 1024 * 1024
#: The close code for a larger message; the page does not reconnect.
TOO_BIG_CODE = 3009
#: Seconds in which each connection is checked once for timeouts and pings, and connections that
#: are checked in one go.
CHECK_SECONDS, CHECKED_CONNECTIONS = 2.0, 20
#: Seconds for requests in flight at shutdown.
DRAIN_SECONDS = 0.3
#: Seconds for ``on_stop`` at shutdown.
SHUTDOWN_TIMEOUT_SECONDS = 8.0


class PortTaken(Exception):
    """The port cannot be bound."""


def check_port(port: int) -> None:
    """Raise PortTaken where the port cannot be bound."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise _make_taken(port, error) from error


def _make_taken(port: int, error: OSError) -> PortTaken:
    return PortTaken(
        f"Port {port} on {HOST} cannot be used: {error.strerror}. Stop what uses it, or choose "
        f"another: JPWEB_PORT=8001 {installation.SERVE_COMMAND}"
    )


def find_free_port(first_port: int) -> int:
    """Return the first port from ``first_port`` on that can be bound. Raises PortTaken."""
    for port in range(first_port, MAX_PORT + 1):
        with suppress(PortTaken):
            check_port(port)
            return port
    raise PortTaken(f"No port from {first_port} to {MAX_PORT} on {HOST} can be used.")


class DaphneServer(Server):  # type: ignore[misc]  # daphne is untyped
    """daphne that drops its WebSockets when it stops, so that browsers reconnect.

    ``on_stop`` is awaited first, because tasks that requests started would outlive the server.
    """

    def __init__(self, on_stop: Callable[[], Awaitable[None]], **options: Any) -> None:
        super().__init__(**options)
        self._on_stop = on_stop
        #: Why the port could not be opened.
        self.listen_failure: OSError | None = None
        self.is_stopping = False
        self._ports: list[Any] = []

    def run(self) -> None:
        # daphne takes its factories from module globals; it has no parameter for them.
        daphne.server.HTTPFactory = BoundedFactory
        daphne.server.WebSocketFactory = BoundedSocketFactory
        super().run()

    def listen_success(self, port: Any) -> None:
        self._ports.append(port)
        super().listen_success(port)

    def listen_error(self, failure: Failure) -> None:
        """Keep the error for ``run_server``, which raises it; daphne logs it and returns."""
        self.listen_failure = failure.value.socketError
        self.stop()

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Begin the application of a request or a WebSocket in an empty context.

        The next request of a connection is read in the context of the one before, whose
        ``ThreadSensitiveContext`` refuses calls once it has exited.
        """
        return contextvars.Context().run(self._begin_application, protocol, scope)

    def _begin_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Give a WebSocket its flow control, and a request the function that cuts it off."""
        if scope["type"] == "websocket":
            scope[FLOW_CONTROL_KEY] = FlowControl()
            # Until here the HTTP channel was the transport's producer.
            protocol.transport.unregisterProducer()
            protocol.transport.registerProducer(scope[FLOW_CONTROL_KEY], True)
            return super().create_application(protocol, scope)
        scope[CUT_CONNECTION_KEY] = protocol.cut
        queue = super().create_application(protocol, scope)
        application = self.connections[protocol]["application_instance"]
        application.add_done_callback(protocol.cut_unfinished)
        return queue

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send a message; a WebSocket closed with SERVER_FAULT is dropped."""
        if message["type"] == "websocket.close" and message.get("code") == SERVER_FAULT:
            protocol.transport.abortConnection()
            return
        # A browser may disconnect before its message is sent; the disconnect event follows.
        with suppress(Disconnected):
            try:
                await super().handle_reply(protocol, message)
            except PayloadExceededError:
                # A reconnect would cause the same message: the page has to be reloaded.
                protocol.sendClose(TOO_BIG_CODE)
        if isinstance(protocol, BoundedRequest):
            await protocol.drain()

    def timeout_checker(self) -> None:
        """Check all connections within CHECK_SECONDS, a few at a time.

        daphne checks them in one go, and pings each page every 20 s: those of 1,000 pages that were
        opened together kept the event loop for 35 to 70 ms.
        """
        protocols = list(self.connections)
        for start in range(0, len(protocols), CHECKED_CONNECTIONS):
            delay = CHECK_SECONDS * start / len(protocols)
            part = protocols[start : start + CHECKED_CONNECTIONS]
            reactor.callLater(delay, self._check_connections, part)
        reactor.callLater(CHECK_SECONDS, self.timeout_checker)

    def _check_connections(self, protocols: Iterable[Any]) -> None:
        for protocol in protocols:
            if protocol in self.connections:
                protocol.check_timeouts()

    def kill_all_applications(self) -> defer.Deferred[None]:
        """Accept no more connections, drop the WebSockets, and await ``on_stop``.

        A page that reconnected to a server that stops would hear that its run was released, and
        begin requests that are cut off.
        """
        self.is_stopping = True
        for port in self._ports:
            port.stopListening()
        for protocol in list(self.connections):
            if hasattr(protocol, "sendClose"):
                protocol.transport.abortConnection()
        stop_deferred: defer.Deferred[None] = defer.Deferred.fromFuture(
            asyncio.ensure_future(self._run_on_stop())
        )
        return stop_deferred

    async def _run_on_stop(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SHUTDOWN_TIMEOUT_SECONDS):
                await self._on_stop()
        await asyncio.sleep(DRAIN_SECONDS)


def run_server(
    application: Any,
    port: int,
    on_ready: Callable[[], None],
    coroutines: Iterable[Coroutine[Any, Any, None]],
    on_stop: Callable[[], Awaitable[None]],
) -> None:
    """Serve until SIGINT or SIGTERM; ``on_ready`` is called once the port is open.

    Raises PortTaken where another process has opened the port since ``check_port``.
    The ``coroutines`` run in the server's event loop; ``on_stop`` is awaited there when it stops.
    """
    gc_tuning.collect_rarely()  # also where no command of jpweb has: in a benchmark's server
    tasks: list[asyncio.Task[None]] = []

    def start_tasks() -> None:
        loop = asyncio.get_running_loop()
        tasks.extend(
            loop.create_task(coroutine) for coroutine in (gc_tuning.tune_gc(), *coroutines)
        )

    reactor.callWhenRunning(lambda: asyncio.get_event_loop().call_soon(start_tasks))
    server = DaphneServer(
        on_stop,
        application=application,
        endpoints=[f"tcp:port={port}:interface={HOST}"],
        ready_callable=on_ready,
        server_name="jpweb",
        websocket_max_message_size=MAX_SENT_BYTES,
        # A page may stay open for days; session_expiry checks its sign-in every ten seconds.
        websocket_timeout=-1,
        verbosity=0,
    )
    server.run()
    if server.listen_failure is not None:
        for coroutine in coroutines:
            coroutine.close()  # without a warning that it was never awaited
        raise _make_taken(port, server.listen_failure) from server.listen_failure


def exit_process() -> None:
    """Exit with code 0, without Python's exit handlers."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
