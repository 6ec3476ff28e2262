"""A network cable between browser and server that can be pulled."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field

from tests.machine.ports import LOOPBACK

CHUNK = 65_536


@dataclass
class Cable:
    """Forwards a port of its own to the server's; while it is pulled nothing gets through."""

    server_port: int
    pulled: bool = False
    _listener: socket.socket = field(default_factory=lambda: socket.create_server((LOOPBACK, 0)))
    _ends: list[socket.socket] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._listener.getsockname()[1]}"

    def pull(self) -> None:
        """Cut every connection; new ones are cut as well."""
        self.pulled = True
        while self._ends:
            _cut(self._ends.pop())

    def plug(self) -> None:
        """Let new connections through again."""
        self.pulled = False

    def close(self) -> None:
        """Pull for good."""
        self.pull()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                if self.pulled:
                    _cut(near)
                    continue
                far_socket = socket.create_connection((LOOPBACK, self.server_port))
                self._ends += [near, far_socket]
                for source, target in ((near, far_socket), (far_socket, near)):
                    threading.Thread(target=_pump, args=(source, target), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):  # one end was cut
        while chunk := source.recv(CHUNK):
            target.sendall(chunk)
    _cut(target)


def _cut(end: socket.socket) -> None:
    with suppress(OSError):  # the other thread was first
        end.shutdown(socket.SHUT_RDWR)
    end.close()
