"""The socket of a page, through the test's hands."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, WebSocketRoute

#: The address of the socket.
_SOCKET = re.compile("/ws$")


class Wire:
    """Carries all that a page and its server say, but for answers, which it does as it is told.

    ``said``: what the page has said; ``sent``: the answers of it. ``way``: what is done with one:
    ``carry``, ``drop`` it, ``hold`` it until ``let_go``, ``break`` the line, ``lose`` the reply, or
    ``twist`` it into what fits nothing.
    """

    def __init__(self, page: Page, way: str = "carry") -> None:
        self.way = way
        self.said: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self._held: list[str] = []
        self._server: WebSocketRoute | None = None
        self._page: WebSocketRoute | None = None
        page.route_web_socket(_SOCKET, self._open)

    def tell(self, html: str) -> None:
        """Tell the page something that the server has not said."""
        assert self._page is not None
        self._page.send(html)

    def let_go(self, answer: str | None = None) -> None:
        """Carry what was held, or another answer in its place."""
        assert self._server is not None
        for message in self._held:
            says = json.loads(message)
            self._server.send(json.dumps(says if answer is None else says | {"answer": answer}))
        self._held = []

    def _open(self, line: WebSocketRoute) -> None:
        self._page = line
        server = self._server = line.connect_to_server()
        line.on_message(lambda message: self._from_page(line, server, str(message)))
        server.on_message(lambda message: self._from_server(line, str(message)))

    def _from_page(self, line: WebSocketRoute, server: WebSocketRoute, message: str) -> None:
        says = json.loads(message)
        self.said.append(says)
        if "answer" not in says:
            server.send(message)
            return
        self.sent.append(says)
        match self.way:
            case "carry" | "lose":
                server.send(message)
            case "hold":
                self._held.append(message)
            case "twist":
                server.send(json.dumps(says | {"answer": "neither"}))
            case "break":
                line.close(code=1012)
            case _:
                assert self.way == "drop"

    def _from_server(self, line: WebSocketRoute, message: str) -> None:
        if self.way != "lose" or not message.startswith('{"reply"'):
            line.send(message)
