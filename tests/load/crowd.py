"""Many browsers in one process: sockets that count what they are sent, and do little else."""

from __future__ import annotations

import json
import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

#: Sockets that are opened together.
BATCH = 50
#: Newest texts of each socket that are kept: one read may take several.
RECENT_TEXTS = 4
#: Seconds in which something has to come.
PATIENCE = 120.0
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_MASK = bytes(4)


class CrowdSocket:
    """One open socket."""

    __slots__ = ("_recent_texts", "frames", "line", "waits")

    def __init__(self, port: int, path: str, cookie: str = "", room: int = 0) -> None:
        self.line = socket.socket()
        if room:  # bytes that the machine keeps for who does not read
            self.line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.line.connect(("127.0.0.1", port))
        self.waits = bytearray()
        self.frames = 0
        self._recent_texts: deque[bytes] = deque([b""], RECENT_TEXTS)
        self.line.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
            f"Cookie: {cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )

    def wait_until_open(self) -> None:
        """Wait until the server has accepted. Raises ConnectionError."""
        while b"\r\n\r\n" not in self.waits:
            data = self.line.recv(65536)
            if not data:
                raise ConnectionError("the server hung up")
            self.waits += data
        head, _, tail = bytes(self.waits).partition(b"\r\n\r\n")
        if b" 101 " not in head:
            raise ConnectionError(head.decode())
        self.waits = bytearray(tail)

    @property
    def last(self) -> str:
        """The newest text."""
        return self._recent_texts[-1].decode()

    def has_received(self, text: str) -> bool:
        """Tell whether one of the newest texts contains another one."""
        return any(text.encode() in received_text for received_text in self._recent_texts)

    def say(self, message: dict[str, Any]) -> None:
        self._send(_TEXT, json.dumps(message).encode())

    def take(self) -> int:
        """Read what came; returns how many texts are whole by now. Raises ConnectionError."""
        data = self.line.recv(1 << 20)
        if not data:
            raise ConnectionError("the server hung up")
        if self.waits:
            self.waits += data
            data = bytes(self.waits)
        texts, at = 0, 0
        while (frame := _frame(data, at)) is not None:
            code, begin, end = frame
            if code == _TEXT:
                texts += 1
                self._recent_texts.append(data[begin:end])
            elif code == _PING:
                self._send(_PONG, data[begin:end])
            elif code == _CLOSE:
                raise ConnectionError(f"the server closed: {data[begin:end]!r}")
            at = end
        self.waits = bytearray(data[at:])
        self.frames += texts
        return texts

    def _send(self, code: int, payload: bytes) -> None:
        size = len(payload)
        length = bytes([128 | size]) if size < 126 else struct.pack("!BH", 254, size)
        self.line.sendall(bytes([128 | code]) + length + _MASK + payload)


def _frame(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Return the code of the frame that begins here, and where its payload does and ends."""
    if len(data) < at + 2:
        return None
    size, begin = data[at + 1], at + 2
    for short, form in ((126, "!H"), (127, "!Q")):
        if size == short:
            begin += struct.calcsize(form)
            if len(data) < begin:
                return None
            (size,) = struct.unpack_from(form, data, at + 2)
            break
    return (data[at] & 15, begin, begin + size) if len(data) >= begin + size else None


class Crowd:
    """Open sockets, and an eye on all of them."""

    def __init__(self) -> None:
        self.visitors: dict[int, CrowdSocket] = {}
        self._eye = select.epoll()

    def enter(
        self, port: int, path: str, cookies: Sequence[str], on_progress: Callable[[int], None]
    ) -> list[CrowdSocket]:
        """Open a socket with each cookie."""
        sockets: list[CrowdSocket] = []
        for start in range(0, len(cookies), BATCH):
            batch = [CrowdSocket(port, path, cookie) for cookie in cookies[start : start + BATCH]]
            for visitor in batch:
                visitor.wait_until_open()
                self.let_in(visitor)
            sockets += batch
            self.idle(0.001)  # servers ask now and then whether one is still there
            on_progress(len(sockets))
        return sockets

    def let_in(self, visitor: CrowdSocket) -> None:
        """Keep an eye on a visitor whose socket is open."""
        self.visitors[visitor.line.fileno()] = visitor
        self._eye.register(visitor.line.fileno(), select.EPOLLIN)

    def watch(self, texts: int, patience: float = PATIENCE) -> float:
        """Read until so many texts have come; returns the moment of the last.

        Raises TimeoutError, ConnectionError.
        """
        last = perf_counter()
        while texts > 0:
            poll_events = self._eye.poll(patience)
            if not poll_events:
                raise TimeoutError(f"{texts} texts have not come")
            for number, _ in poll_events:
                texts -= self.visitors[number].take()
            last = perf_counter()
        return last

    def idle(self, seconds: float) -> None:
        """Take what comes for a while."""
        end = perf_counter() + seconds
        while (seconds_left := end - perf_counter()) > 0:
            for number, _ in self._eye.poll(seconds_left):
                self.visitors[number].take()

    def go(self) -> None:
        """Hang up."""
        for visitor in self.visitors.values():
            visitor.line.close()
        self._eye.close()


@contextmanager
def run_crowd() -> Iterator[Crowd]:
    """Return a crowd that goes at the end."""
    running_crowd = Crowd()
    try:
        yield running_crowd
    finally:
        running_crowd.go()
