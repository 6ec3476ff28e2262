"""A socket of a page, without a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from jpweb.asgi import application
from jpweb.runtime.broadcast.flow_control import FLOW_CONTROL_KEY, FlowControl
from jpweb.store.models import Approval, Person
from jpweb.web.websocket import consumers, conversation_updates
from jpweb.web.websocket.consumers import PageConsumer
from tests.web.world import World

#: Seconds in which something has to come.
SOON = 10


class Socket:
    """What a page hears."""

    def __init__(self, person: Person | AnonymousUser, line: FlowControl | None = None) -> None:
        self.consumers: list[PageConsumer] = []
        self.busy = 0
        self._line = WebsocketCommunicator(track_consumer(self), "/ws")
        scope: Any = self._line.scope
        scope["user"] = person  # as the middleware does
        if line is not None:
            scope[FLOW_CONTROL_KEY] = line  # as the server does

    async def hello(self, **fields: Any) -> None:
        await self._line.send_to(text_data=json.dumps(fields))

    async def say(self, text: str) -> None:
        await self._line.send_to(text_data=text)

    async def say_bytes(self, data: bytes) -> None:
        await self._line.send_to(bytes_data=data)

    async def receive(self) -> str:
        output = await self._line.receive_output(SOON)
        assert output["type"] == "websocket.send", output
        return str(output["text"])

    async def receive_all(self) -> str:
        """Return all that comes until it is quiet."""
        html = ""
        while not await self.hears_nothing():
            html += await self.receive()
        return html

    async def closes(self) -> int:
        output = await self._line.receive_output(SOON)
        assert output["type"] == "websocket.close", output
        return int(output["code"])

    async def hears_nothing(self) -> bool:
        """Tell whether nothing has come once everything that was sent is dealt with."""
        turns = 0
        while turns < 20:  # of the loop, in which a message goes from queue to consumer
            await asyncio.sleep(0.001)
            turns = turns + 1 if self._idle() else 0
        assert not self._line.future.done(), "the consumer lives until the page goes"
        return bool(self._line.output_queue.empty())

    def _idle(self) -> bool:
        return not (self.busy or consumers.is_busy() or not self._line.input_queue.empty())

    async def connect(self) -> bool:
        connected, _ = await self._line.connect(SOON)
        return bool(connected)

    async def disconnect(self) -> None:
        await self._line.disconnect()


def line_of(client: Client) -> WebsocketCommunicator:
    """Return a socket through the whole application, as a browser that is signed in opens it."""
    cookie = f"jpweb_session={client.cookies['jpweb_session'].value}".encode()
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost"), (b"cookie", cookie)]
    return WebsocketCommunicator(application, "/ws", headers)


def track_consumer(socket: Socket) -> Any:
    """Return the application, telling the socket while a message is being dealt with."""

    class TrackedConsumer(PageConsumer):
        async def dispatch(self, message: Any) -> None:
            if self not in socket.consumers:
                socket.consumers.append(self)
            socket.busy += 1
            try:
                await super().dispatch(message)
            finally:
                socket.busy -= 1

    return TrackedConsumer.as_asgi()


@asynccontextmanager
async def connect_page(
    person: Person | AnonymousUser, line: FlowControl | None = None, /, **hello: Any
) -> AsyncIterator[Socket]:
    """Open a socket and, where something is to be said, say it."""
    socket = Socket(person, line)
    assert await socket.connect()
    if hello:
        await socket.hello(**hello)
    try:
        yield socket
    finally:
        await asyncio.wait_for(socket.disconnect(), SOON)


def make_hello(world: World, *open_prompts: Approval) -> dict[str, Any]:
    """Return what a page says that was loaded just now."""
    world.conversation.refresh_from_db()
    return {
        "conversation": world.conversation.pk,
        "entry_count": world.conversation.entry_count,
        "revision": world.conversation.revision,
        "run": f"{world.run.pk}-{world.run.state}",
        "metadata": conversation_updates.make_metadata_key(world.conversation),
        "inbox": True,
        "questions": [world.question.pk],
        "approvals": [row.pk for row in open_prompts],
    }
