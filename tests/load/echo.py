"""``python -m tests.load.echo PORT``: jpweb on a real daphne, beside the barest consumers.

Every way is told the same: ``/ws`` by jpweb, ``/bare`` by a loop over a list, ``/layer`` by a group
send on Channels' own in-memory layer. ``GET /change/<way>`` makes it happen and says when it began.
"""

from __future__ import annotations

import gc
import json
import sys
from time import perf_counter
from typing import Any

import django

django.setup()

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402  needs Django set up
from channels.layers import InMemoryChannelLayer, channel_layers  # noqa: E402  as above

from jpweb.asgi import application as jpweb  # noqa: E402  as above
from jpweb.cli.daphne_server import exit_process, run_server  # noqa: E402  as above
from jpweb.runtime.broadcast import publisher  # noqa: E402  as above
from jpweb.runtime.db_threads import run_in_db_thread  # noqa: E402  as above
from jpweb.store import journal  # noqa: E402  as above
from jpweb.store.models import Conversation  # noqa: E402  as above
from jpweb.stream.events import ChatResponse  # noqa: E402  as above
from jpweb.web.websocket import conversation_updates  # noqa: E402  as above
from tests.store import making  # noqa: E402  as above

GROUP = "everybody"


class BareEchoConsumer(AsyncWebsocketConsumer):
    """Stands in a list."""

    channel_layer_alias = "none"
    connections: list[AsyncWebsocketConsumer] = []  # noqa: RUF012  there is one list

    async def connect(self) -> None:
        await self.accept()
        self.connections.append(self)

    async def disconnect(self, code: int) -> None:
        self.connections.remove(self)


class Grouped(AsyncWebsocketConsumer):
    """Is in a group of the layer."""

    channel_layer_alias = "stock"

    async def connect(self) -> None:
        await self.accept()
        await self.channel_layer.group_add(GROUP, self.channel_name)

    async def told(self, event: dict[str, Any]) -> None:
        await self.send(event["text"])


class _Record:
    """The frame that jpweb sent last."""

    text = "x" * 1000

    def __init__(self) -> None:
        self._find_updates = conversation_updates.find_conversation_updates

    def __call__(self, *about: Any) -> Any:
        updates = self._find_updates(*about)
        self.text = (
            max((new.html for new in updates.values() if new), key=len, default="") or self.text
        )
        return updates


record = _Record()
conversation_updates.find_conversation_updates = record  # type: ignore[assignment]  # it passes everything on


async def change(way: str) -> float:
    """Tell everybody; returns when that began."""
    if way == "ws":
        conversation = await run_in_db_thread(Conversation.objects.latest, "pk")
        word = making.event(ChatResponse("message", "A word, as models say them."))
        await run_in_db_thread(journal.append_events, conversation.pk, [word])
        start_time = perf_counter()
        await publisher.publish_conversation_changed(conversation.pk)
        return start_time
    start_time = perf_counter()
    if way == "bare":
        for consumer in BareEchoConsumer.connections:
            await consumer.send(record.text)
    else:
        event = {"type": "told", "text": record.text}
        await channel_layers["stock"].group_send(GROUP, event)
    return start_time


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Choose by path."""
    path = scope["path"]
    if path == "/bare":
        await BareEchoConsumer.as_asgi()(scope, receive, send)
    elif path == "/layer":
        await Grouped.as_asgi()(scope, receive, send)
    elif scope["type"] == "websocket":
        await jpweb(scope, receive, send)
    else:
        start_time = 0.0
        if path.startswith("/change/"):
            start_time = await change(path.rpartition("/")[2])
        gc.collect()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        body = json.dumps({"began": start_time, "size": len(record.text.encode())}).encode()
        await send({"type": "http.response.body", "body": body})


async def _nothing() -> None:
    """End nothing."""


if __name__ == "__main__":
    channel_layers.set("stock", InMemoryChannelLayer())
    run_server(application, int(sys.argv[1]), lambda: print("ready", flush=True), [], _nothing)
    exit_process()
