"""A browser that stops reading, against a real server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from channels_redis.pubsub import RedisPubSubChannelLayer

from jpweb.runtime.broadcast import channel_layer, publisher
from tests.layers import make_keys
from tests.load.crowd import Crowd, CrowdSocket, run_crowd
from tests.machine.serving import Server, run_server
from tests.machine.visiting import Visitor as Guest

#: Texts that are told, each of this size: without a limit they would fill a process. More would
#: take longer than a browser that takes nothing may be silent.
TEXTS, SIZE = 400, 120_000
#: What a server may grow by for one browser that takes nothing: far less than it was told.
ROOM = 20 * 1024 * 1024
SECRET_KEY = "the same everywhere"


def resident(server: Server) -> int:
    """Return the bytes of memory that a server has."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[Server]:
    data = tmp_path_factory.mktemp("line") / "data"
    with run_server(data, REDIS_URL=redis_url, JPWEB_SECRET_KEY=SECRET_KEY) as running_server:
        yield running_server


@pytest.fixture(scope="module")
def reader(server: Server) -> tuple[str, int]:
    return signed_in(server)


def signed_in(server: Server) -> tuple[str, int]:
    """Return the cookie of a sign-in, and a conversation that it may read."""
    visitor = Guest(server.url)
    match = re.search(r'href="/conversations/(\d+)', visitor.sign_in(server.link).text)
    assert match is not None
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in visitor.cookies), int(match[1])


def send_signals(url: str, *signals: dict[str, Any], callback: Callable[[], object]) -> None:
    """Say something as another process does, and do something after every two."""

    async def say() -> None:
        layer = RedisPubSubChannelLayer(
            hosts=[url], symmetric_encryption_keys=make_keys(SECRET_KEY)
        )
        for number, signal in enumerate(signals, 1):
            await layer.group_send(
                channel_layer.make_group(signal["kind"]), signal | {"origin": "another"}
            )
            if not number % 2:
                await asyncio.to_thread(callback)
        await layer.flush()

    asyncio.run(say())


def test_browser_that_stops_reading_costs_little_and_gets_the_latest(
    server: Server, reader: tuple[str, int]
):
    cookie, conversation = reader
    topic = publisher.make_conversation_topic(conversation)
    texts = [
        {"kind": "partial", "to": topic, "variant": "message", "text": f"<{n}>".ljust(SIZE)}
        for n in range(TEXTS)
    ]
    with run_crowd() as reading:
        slow = CrowdSocket(server.port, "/ws", cookie, room=4096)
        slow.wait_until_open()
        (quick,) = reading.enter(server.port, "/ws", [cookie], lambda _: None)
        for visitor in (slow, quick):
            visitor.say({"conversation": conversation})
        reading.watch(2)
        before = resident(server)
        send_signals(server.settings["REDIS_URL"], *texts, callback=lambda: reading.watch(1))
        until(reading, quick, f"&lt;{TEXTS - 1}&gt;")
        growth = resident(server) - before
        assert quick.frames >= TEXTS / 2, "who reads is told all the while"
        assert growth < ROOM, f"{growth / 1e6:.1f} MB for {TEXTS * SIZE / 1e6:.0f} MB"
        frames = slow.frames
        with run_crowd() as slow_crowd:
            slow_crowd.let_in(slow)
            until(slow_crowd, slow, f"&lt;{TEXTS - 1}&gt;")
        assert slow.frames - frames < TEXTS / 10, "what was old by then was not sent"
    slow.line.close()


def until(people: Crowd, visitor: CrowdSocket, text: str) -> None:
    """Read until a text has come, or a few texts before the newest: a counter may follow it."""
    while not visitor.has_received(text):
        people.watch(1, 20)


def test_a_frame_of_megabytes_reaches_a_browser(server: Server, reader: tuple[str, int]):
    cookie, conversation = reader
    text = {"variant": "message", "text": "<" * 500_000 + "x" * 1_000_000}
    with run_crowd() as reading:
        (visitor,) = reading.enter(server.port, "/ws", [cookie], lambda _: None)
        visitor.say({"conversation": conversation})
        reading.watch(2)
        topic = publisher.make_conversation_topic(conversation)
        send_signals(
            server.settings["REDIS_URL"],
            {"kind": "partial", "to": topic} | text,
            callback=lambda: None,
        )
        until(reading, visitor, "x</div>")
        assert len(visitor.last) > 3_000_000
