"""A TCP proxy on loopback whose connections can be silenced one by one, or cut."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.machine.ports import LOOPBACK

PIECE_BYTES = 65536
POLL_SECONDS = 0.05


@dataclass(eq=False, slots=True)
class Link:
    """A client's connection and the one to the server behind it.

    ``is_silent``: both stay open and acknowledge packets, and nothing goes through.
    """

    client: socket.socket
    server: socket.socket
    is_silent: bool = False

    def close(self) -> None:
        for endpoint in (self.client, self.server):
            with suppress(OSError):
                endpoint.close()


@dataclass(slots=True)
class Proxy:
    """Forwards connections to a port; ``links`` are those that are open, the oldest first."""

    target_port: int
    port: int = 0
    links: list[Link] = field(default_factory=list)
    #: New connections are silent from their first byte.
    is_silent: bool = False
    _over: threading.Event = field(default_factory=threading.Event)

    def silence(self, *links: Link) -> None:
        """Forward nothing more of these links, or of any that is open now."""
        for link in links or tuple(self.links):
            link.is_silent = True

    def half_close(self, *links: Link) -> None:
        """Close the server's end of these links, or of all; their clients hear nothing of it."""
        for link in links or tuple(self.links):
            link.is_silent = True
            with suppress(OSError):
                link.server.shutdown(socket.SHUT_RDWR)

    def cut(self, *links: Link) -> None:
        """Close these links, or all."""
        for link in links or tuple(self.links):
            link.close()

    def serve(self, listener: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            while not self._over.is_set():
                for key, _ in selector.select(POLL_SECONDS):
                    if key.fileobj is listener:
                        self._accept(listener, selector)
                    else:
                        self._forward(key, selector)
        for link in self.links:
            link.close()

    def _accept(self, listener: socket.socket, selector: selectors.BaseSelector) -> None:
        client, _ = listener.accept()
        try:
            server = socket.create_connection((LOOPBACK, self.target_port))
        except OSError:
            client.close()
            return
        link = Link(client, server, self.is_silent)
        self.links.append(link)
        selector.register(client, selectors.EVENT_READ, (link, server))
        selector.register(server, selectors.EVENT_READ, (link, client))

    def _forward(self, key: selectors.SelectorKey, selector: selectors.BaseSelector) -> None:
        link, target = key.data
        try:
            piece = key.fileobj.recv(PIECE_BYTES)  # type: ignore[union-attr]  # always a socket
            if piece and link.is_silent:
                return
            if piece:
                target.sendall(piece)
                return
        except OSError:
            pass
        if link.is_silent and key.fileobj is link.server:
            selector.unregister(link.server)  # the client does not hear that the server closed
            return
        for endpoint in (link.client, link.server):
            with suppress(KeyError, ValueError):
                selector.unregister(endpoint)
        link.close()
        if link in self.links:
            self.links.remove(link)


@contextmanager
def run_proxy(target_port: int) -> Iterator[Proxy]:
    """Run a proxy before a port of loopback."""
    proxy = Proxy(target_port)
    with socket.create_server((LOOPBACK, 0)) as listener:
        proxy.port = listener.getsockname()[1]
        thread = threading.Thread(target=proxy.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy._over.set()
            thread.join()
