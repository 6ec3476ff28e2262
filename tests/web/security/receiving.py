"""A browser that downloads, as a server shows it to the application: it may take, or leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self, TypeAlias

from jpweb.asgi import http_application
from jpweb.runtime.broadcast.flow_control import CUT_CONNECTION_KEY
from jpweb.store.models import Person
from tests.load.page import make_cookie

#: Seconds in which anything has to happen.
PATIENCE_SECONDS = 30
#: Further headers of a request.
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]


class SlowClient:
    """One request; takes a part of the response each time it is asked to."""

    def __init__(
        self, path: str, signed_in: str, method: str = "GET", headers: Headers = ()
    ) -> None:
        name, _, query = path.partition("?")
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": name,
            "query_string": query.encode(),
            "headers": [(b"host", b"localhost"), (b"cookie", signed_in.encode()), *headers],
            "scheme": "http",
            "server": ("localhost", 80),
            "client": ("127.0.0.1", 1),
            CUT_CONNECTION_KEY: self.leave,
        }
        self._requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._requests.put_nowait({"type": "http.request"})
        self._responses: asyncio.Queue[dict[str, Any]] = asyncio.Queue(maxsize=1)
        self.has_left = False
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> Self:
        self._task = asyncio.create_task(
            http_application(self._scope, self._requests.get, self._send)
        )
        message = await self._take()
        self.status: int = message["status"]
        self.headers = {name.lower(): value for name, value in message["headers"]}
        return self

    async def take(self) -> bytes:
        """Return the next part; empty at the end."""
        body: bytes = (await self._take()).get("body", b"")
        return body

    async def take_all(self) -> bytes:
        body = b""
        while True:
            message = await self._take()
            body += bytes(message.get("body", b""))
            if not message.get("more_body"):
                await self.wait_for_end()
                return body

    async def _send(self, message: Mapping[str, Any]) -> None:
        await self._responses.put(dict(message))

    def leave(self) -> None:
        """Hang up; also what the server's function does that cuts the connection."""
        self.has_left = True
        self._requests.put_nowait({"type": "http.disconnect"})

    async def wait_for_end(self) -> None:
        assert self._task is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._task

    async def _take(self) -> dict[str, Any]:
        """Return the next message; an empty one where the application ended without another.

        A connection that is cut off ends it before or after its last message.
        """
        assert self._task is not None
        next_message = asyncio.create_task(self._responses.get())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await asyncio.wait({next_message, self._task}, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.sleep(0)  # a message that was put at the end reaches its getter
        finally:
            if not next_message.done():
                next_message.cancel()
        return {} if next_message.cancelled() or not next_message.done() else next_message.result()


@asynccontextmanager
async def send_request(
    path: str, signed_in: str, method: str = "GET", headers: Headers = ()
) -> AsyncIterator[SlowClient]:
    """Send a request; who is still there at the end leaves."""
    receiver = await SlowClient(path, signed_in, method, headers).start()
    try:
        yield receiver
    finally:
        receiver.leave()
        await receiver.wait_for_end()


async def wait_until(is_so: Callable[[], Any]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():  # noqa: ASYNC110  a row of the database rings no bell
            await asyncio.sleep(0.01)


def sign_in(person: Person) -> str:
    """Return the cookie of a browser that a person is signed in with."""
    return make_cookie(person)
