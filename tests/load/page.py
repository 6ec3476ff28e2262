"""A page in somebody's browser: its socket, and the forms that are sent from it."""

from __future__ import annotations

import re
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from json import dumps
from time import monotonic, perf_counter
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

from django.conf import settings
from django.test import Client
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from jpweb.store.models import Person

#: Where the newest card of a frame is answered.
_CARD = re.compile(r'hx-post="(/questions/\d+/answer)"')
_TOKEN = "bench" * 6 + "ok"
#: Seconds in which something has to come.
PATIENCE = 30.0


def make_cookie(person: Person) -> str:
    """Sign a person in; return what their browser sends with each request."""
    client = Client()
    client.force_login(person)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    return f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={_TOKEN}"


@dataclass(frozen=True, slots=True)
class Browser:
    """Sends requests on one connection that is kept."""

    line: HTTPConnection
    cookie: str

    @classmethod
    @contextmanager
    def at(cls, port: int, cookie: str) -> Iterator[Self]:
        """Open the connection, and close it at the end."""
        with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as line:
            yield cls(line, cookie)

    def get(self, path: str) -> tuple[int, bytes]:
        """Open a page."""
        self.line.request("GET", path, headers={"Cookie": self.cookie})
        response = self.line.getresponse()
        return response.status, response.read()

    def time_page(self, path: str) -> float:
        """Return the seconds until a whole page is there. Raises AssertionError for a refusal."""
        start_time = perf_counter()
        status, _ = self.get(path)
        seconds = perf_counter() - start_time
        assert status == 200, f"{path} answers {status}"
        return seconds

    def send(self, path: str, **fields: str) -> tuple[int, bytes]:
        """Send a form as htmx does."""
        form = urlencode({"csrfmiddlewaretoken": _TOKEN} | fields)
        headers = {
            "Cookie": self.cookie,
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://127.0.0.1:{self.line.port}",
            "HX-Request": "true",
        }
        self.line.request("POST", path, form, headers)
        response = self.line.getresponse()
        return response.status, response.read()


class PageSocket:
    """An open socket; raises ConnectionError where it is refused or closed."""

    def __init__(self, port: int, cookie: str = "", path: str = "/ws") -> None:
        self._line = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._texts: deque[str] = deque()
        self._protocol = ClientProtocol(parse_uri(f"ws://127.0.0.1:{port}{path}"))
        request = self._protocol.connect()
        request.headers["Cookie"] = cookie
        request.headers["Origin"] = f"http://127.0.0.1:{port}"
        self._protocol.send_request(request)
        self._send()
        self._is_open = False
        while not self._is_open:
            self._hear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.close()

    def say(self, message: dict[str, Any]) -> None:
        """Say what the page shows."""
        self.reply(dumps(message))

    def reply(self, text: str) -> None:
        self._protocol.send_text(text.encode())
        self._send()

    def text(self) -> str:
        """Return the next text, once it is there. Raises TimeoutError."""
        until = monotonic() + PATIENCE
        while not self._texts:
            if monotonic() > until:
                raise TimeoutError("nothing more was said")
            self._hear()
        return self._texts.popleft()

    def until(self, words: str) -> str:
        """Return the first text that holds these words; what comes before it is read over."""
        while words not in (text := self.text()):
            pass
        return text

    def card(self) -> str:
        """Return where the next card that comes is answered."""
        while (match := _CARD.search(self.text())) is None:
            pass
        return match[1]

    def answer(self, answer_text: str) -> None:
        """Answer the next card that comes, as its page does; the reply is another text."""
        question = int(self.card().split("/")[2])
        self.say({"number": question, "question": question, "answer": answer_text})

    def _hear(self) -> None:
        data = self._line.recv(1 << 20)
        if not data:
            raise ConnectionError("the server hung up")
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Response):
                self._is_open = self._protocol.handshake_exc is None
                if not self._is_open:
                    raise ConnectionError(f"no socket: {event.status_code}")
            elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                self._texts.append(bytes(event.data).decode())
            elif isinstance(event, Frame) and event.opcode is Opcode.CLOSE:
                raise ConnectionError(f"the server closed: {bytes(event.data)!r}")
        self._send()

    def _send(self) -> None:
        data = b"".join(self._protocol.data_to_send())
        if data:
            self._line.sendall(data)
