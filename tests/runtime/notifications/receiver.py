"""Somebody who takes messages: an HTTP server that the notification library really sends to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from tests.machine.ports import LOOPBACK

Manner = Literal["takes", "fails", "hangs", "sends away"]


@dataclass
class NotificationReceiver:
    """A receiver and what it was sent; in its manner it ``takes``, ``fails`` or ``hangs``."""

    port: int
    manner: Manner = "takes"
    bodies: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)

    def url(self, topic: str = "garden", key: str = "") -> str:
        """Return an ntfy address of this receiver."""
        return f"ntfy://{key}{LOOPBACK}:{self.port}/{topic}"

    @property
    def all(self) -> str:
        return "\n".join([*self.paths, *self.bodies])


@contextmanager
def run_receiver() -> Iterator[NotificationReceiver]:
    server = ThreadingHTTPServer((LOOPBACK, 0), _NotificationHandler)
    server.daemon_threads, server.block_on_close = True, False
    running_receiver = _NotificationHandler.got = NotificationReceiver(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield running_receiver
    finally:
        running_receiver.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _NotificationHandler(BaseHTTPRequestHandler):
    got: NotificationReceiver

    def log_message(self, format: str, *_args: object) -> None:  # noqa: A002  the base class names it
        """Print nothing."""

    def do_POST(self) -> None:
        receiver = self.got
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        receiver.bodies.append(body.decode())
        receiver.paths.append(self.path)
        receiver.arrived.set()
        if receiver.manner == "hangs":
            receiver.let_go.wait(30)
            return
        if receiver.manner == "sends away":
            self.send_response(307)
            self.send_header("location", f"http://{LOOPBACK}:{receiver.port}/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()
            return
        self.send_response(500 if receiver.manner == "fails" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
