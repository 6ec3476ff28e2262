"""The socket of a page, through the test's hands."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, WebSocketRoute

#: The address of the socket.
_SOCKET = re.compile("/ws$")
#: The page waits a minute for a reply by socket, not three seconds, before it submits the form.
PATIENT_WITH_SOCKET = """
  const waitThen = window.setTimeout.bind(window);
  window.setTimeout = (work, delay, ...given) =>
    waitThen(work, delay === 3000 ? 60000 : delay, ...given);
"""


class PageWire:
    """Relays the messages of a page and its server; ``way`` says how it treats answers.

    ``page_messages`` are all that the page has sent, ``answers`` those with an answer. The ways:
    ``carry``, ``drop`` it, ``hold`` it until ``let_go``, ``break`` the line, ``lose`` the reply,
    ``refuse`` it as a server that cannot save, or ``twist`` it into what fits nothing.
    """

    def __init__(self, page: Page, way: str = "carry") -> None:
        self.way = way
        self.page_messages: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self._held_messages: list[str] = []
        self._server: WebSocketRoute | None = None
        self._page: WebSocketRoute | None = None
        page.route_web_socket(_SOCKET, self._open)

    def tell(self, html: str) -> None:
        """Tell the page something that the server has not said."""
        assert self._page is not None
        self._page.send(html)

    def close(self, code: int) -> None:
        """Close the page's socket."""
        assert self._page is not None
        self._page.close(code=code)

    def let_go(self, answer: str | None = None) -> None:
        """Carry what was held, or another answer in its place."""
        assert self._server is not None
        for message in self._held_messages:
            fields = json.loads(message)
            self._server.send(json.dumps(fields if answer is None else fields | {"answer": answer}))
        self._held_messages = []

    def _open(self, line: WebSocketRoute) -> None:
        self._page = line
        server = self._server = line.connect_to_server()
        line.on_message(lambda message: self._from_page(line, server, str(message)))
        server.on_message(lambda message: self._from_server(line, str(message)))

    def _from_page(self, line: WebSocketRoute, server: WebSocketRoute, message: str) -> None:
        fields = json.loads(message)
        self.page_messages.append(fields)
        if "answer" not in fields:
            server.send(message)
            return
        self.answers.append(fields)
        match self.way:
            case "carry" | "lose":
                server.send(message)
            case "hold":
                self._held_messages.append(message)
            case "twist":
                server.send(json.dumps(fields | {"answer": "neither"}))
            case "refuse":
                line.send(json.dumps({"reply": fields["number"], "status": 503}))
            case "break":
                line.close(code=1012)
            case _:
                assert self.way == "drop"

    def _from_server(self, line: WebSocketRoute, message: str) -> None:
        if self.way != "lose" or not message.startswith('{"reply"'):
            line.send(message)
