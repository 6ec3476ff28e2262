"""The server of a stand-in: takes requests down, plays replies in order."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from tests.machine.ports import LOOPBACK
from tests.machine.vendors import anthropic, completions, google, ollama, responses
from tests.machine.vendors.replies import Failure, Reply, Script

Frames: TypeAlias = Callable[[Reply, Mapping[str, Any]], Iterator[bytes]]
#: What each vendor's address holds, and how it streams.
VENDORS: Mapping[str, tuple[str, Frames]] = {
    "anthropic": (anthropic.PATH, anthropic.write_frames),
    "google": (google.PATH, google.write_frames),
    "llamacpp": (completions.PATH, completions.write_llamacpp),
    "ollama": (ollama.PATH, ollama.write_frames),
    "openai": (responses.PATH, responses.write_frames),
    "openrouter": (completions.PATH, completions.write_openrouter),
}
#: How long a hanging reply waits for its client to leave, in seconds.
_PATIENCE = 30


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(slots=True)
class Standin:
    """A running stand-in.

    The first request sets ``request_event``, a client that leaves within a reply ``hangup_event``.
    """

    name: str
    base_url: str
    replies: list[Script]
    requests: list[Request] = field(default_factory=list)
    request_event: threading.Event = field(default_factory=threading.Event)
    hangup_event: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, request: Request) -> Reply | Failure:
        """Take the request down and return the next reply."""
        with self._lock:
            self.requests.append(request)
            self.request_event.set()
            if not self.replies:
                return Failure(500, {"error": {"message": "the script has no more replies"}})
            script = self.replies.pop(0)
        return script(request.body) if callable(script) else script


@contextmanager
def run_vendor(name: str, replies: Iterable[Script] = (), port: int = 0) -> Iterator[Standin]:
    """Run a stand-in of the vendor, on a free port or the one given."""
    path, frames = VENDORS[name]

    class Handler(_VendorHandler):
        pass

    server = ThreadingHTTPServer((LOOPBACK, port), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    standin = Standin(name, f"http://{LOOPBACK}:{server.server_address[1]}", list(replies))
    Handler.standin, Handler.expected, Handler.frames = standin, path, staticmethod(frames)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield standin
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _VendorHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    standin: Standin
    expected: str
    frames: Frames

    def log_message(self, format: str, *_args: object) -> None:  # noqa: A002  the base class names it
        """Print nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, body)
        if self.expected in self.path:
            reply = self.standin.reply(request)
        else:
            reply = Failure(404, {"error": {"message": f"nothing at {self.path}"}})
        self.close_connection = True
        try:
            if isinstance(reply, Failure):
                self._fail(reply)
            else:
                self._stream(reply, body)
        except (BrokenPipeError, ConnectionResetError):
            self.standin.hangup_event.set()

    def _fail(self, failure: Failure) -> None:
        body = failure.body
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(failure.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in failure.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, reply: Reply, body: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for frame in type(self).frames(reply, body):
            self.wfile.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
            self.wfile.flush()
            reply.gate(frame)
        if reply.end == "hang":
            self._wait()
        elif reply.end == "cut":
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _wait(self) -> None:
        """Wait until the client leaves: what can then be read is the end."""
        ready, _, _ = select.select([self.connection], [], [], _PATIENCE)
        if ready and not self.connection.recv(1):
            self.standin.hangup_event.set()
