"""daphne, started and ended the way a person expects.

daphne 4.2 falls over at interpreter exit while a websocket is open (a coroutine that waits is
collected too late), so the process leaves by ``os._exit`` once everything is flushed.
"""

from __future__ import annotations

import asyncio
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

from jpweb import installation
from jpweb.cli import pauses
from jpweb.cli.connections import BoundedFactory, BoundedRequest
from jpweb.cli.frames import BoundedSocketFactory
from jpweb.runtime.signals.codes import FAULT
from jpweb.runtime.signals.line import CUT, SCOPE, Line

HOST = "127.0.0.1"
#: The largest message that is sent: a whole transcript has to fit. What comes is far smaller
#: (jpweb/cli/frames).
LARGEST = 16 * 1024 * 1024
#: The close code of a message that is larger; the page does not come back by itself.
TOO_BIG = 3009
#: Seconds that requests in flight get to finish.
DRAIN = 0.3
#: Seconds that what the server has started gets to end.
PATIENCE = 8.0


class PortTaken(Exception):
    """Something listens on the port already."""


def check_port(port: int) -> None:
    """Raise PortTaken where the port cannot be had."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise PortTaken(
                f"Port {port} on {HOST} cannot be used: {error.strerror}. "
                "Stop what uses it, or choose another: "
                f"JPWEB_PORT=8001 {installation.SERVE_COMMAND}"
            ) from error


class QuietServer(Server):  # type: ignore[misc]  # daphne is untyped
    """daphne that drops its sockets when it stops, so that browsers come back by themselves.

    ``ending`` is awaited before it leaves: what it has started would otherwise outlive it.
    """

    def __init__(self, ending: Callable[[], Awaitable[None]], **more: Any) -> None:
        super().__init__(**more)
        self._ending = ending

    def run(self) -> None:
        # daphne looks its factories up in the module, and nowhere else.
        daphne.server.HTTPFactory = BoundedFactory
        daphne.server.WebSocketFactory = BoundedSocketFactory
        super().run()

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        """Give a socket its line, which tells when its browser takes no more.

        A request gets the function that cuts its connection.
        """
        if scope["type"] == "websocket":
            scope[SCOPE] = Line()
            # Until here the line was HTTP's.
            protocol.transport.unregisterProducer()
            protocol.transport.registerProducer(scope[SCOPE], True)
            return super().create_application(protocol, scope)
        scope[CUT] = protocol.cut
        queue = super().create_application(protocol, scope)
        application = self.connections[protocol]["application_instance"]
        application.add_done_callback(protocol.cut_unfinished)
        return queue

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        """Send; a socket that is closed for a fault of ours is dropped."""
        if message["type"] == "websocket.close" and message.get("code") == FAULT:
            protocol.transport.abortConnection()
            return
        # A browser may leave between a change and its telling; that it did arrives next.
        with suppress(Disconnected):
            try:
                await super().handle_reply(protocol, message)
            except PayloadExceededError:
                # Coming back would bring as much again: the page has to be loaded anew.
                protocol.sendClose(TOO_BIG)
        if isinstance(protocol, BoundedRequest):
            await protocol.drain()

    def kill_all_applications(self) -> defer.Deferred[None]:
        for protocol in list(self.connections):
            if hasattr(protocol, "sendClose"):
                protocol.transport.abortConnection()
        ended: defer.Deferred[None] = defer.Deferred.fromFuture(
            asyncio.ensure_future(self._ended())
        )
        return ended

    async def _ended(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._ending()
        await asyncio.sleep(DRAIN)


def serve(
    application: Any,
    port: int,
    ready: Callable[[], None],
    beside: Iterable[Coroutine[Any, Any, None]],
    ending: Callable[[], Awaitable[None]],
) -> None:
    """Serve until SIGINT or SIGTERM; ``ready`` is called once the port is open.

    The coroutines ``beside`` run in the server's loop for as long as they last; ``ending`` is
    awaited there when it is to stop.
    """
    tasks: list[asyncio.Task[None]] = []

    def begin() -> None:
        loop = asyncio.get_running_loop()
        tasks.extend(loop.create_task(work) for work in (pauses.keep_short(), *beside))

    reactor.callWhenRunning(lambda: asyncio.get_event_loop().call_soon(begin))
    QuietServer(
        ending,
        application=application,
        endpoints=[f"tcp:port={port}:interface={HOST}"],
        ready_callable=ready,
        server_name="jpweb",
        websocket_max_message_size=LARGEST,
        # A page may stay open for days. Its sign-in is looked at every ten seconds.
        websocket_timeout=-1,
        verbosity=0,
    ).run()


def leave() -> None:
    """End the process with code 0, without what Python does at exit."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
