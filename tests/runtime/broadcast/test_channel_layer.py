"""Between processes, over a real Redis."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from channels.layers import get_channel_layer
from channels_redis.serializers import registry
from django.conf import settings
from pytest_django import Settings
from redis import Redis

from jpweb.runtime import process_identity
from jpweb.runtime.broadcast import channel_layer, local_bus, publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.store.choices import RunState
from jpweb.store.inbox import queue
from jpweb.store.models import Conversation, Run
from tests.layers import KEYS, channel_layers
from tests.machine import servers
from tests.machine.ports import free_port
from tests.machine.serving import ROOT
from tests.runtime.broadcast.test_signal_schemas import MISFITS
from tests.runtime.playing import SOON, Scene, eventually, subscribe
from tests.store import making

OTHER = "another#process"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything that is done now and then be done often."""
    for name in ("REJOIN_SECONDS", "RETRY_AFTER_SECONDS", "WATCH_POLL_SECONDS"):
        monkeypatch.setattr(channel_layer, name, 0.2)
    # Also a limit, which a slow machine must keep.
    monkeypatch.setattr(channel_layer, "PING_SECONDS", 1.0)


@pytest.fixture
def use_redis_layer(settings: Settings) -> Callable[[str], None]:
    def use(url: str) -> None:
        settings.CHANNEL_LAYERS = channel_layers(url)

    return use


@asynccontextmanager
async def reading() -> AsyncIterator[list[Any]]:
    """Run the reader; yields the looks that it had people take."""
    resyncs: list[Any] = []
    resync_topic = local_bus.make_kind_topic(local_bus.RESYNC)
    local_bus.add_subscriber(resync_topic, resyncs.append)
    try:
        async with receiving():
            await until(lambda: bool(resyncs))
            yield resyncs
    finally:
        local_bus.remove_subscriber(resync_topic, resyncs.append)


@asynccontextmanager
async def receiving() -> AsyncIterator[None]:
    """Run the reader, whether it reaches Redis or not."""
    task = asyncio.create_task(channel_layer.receive_signals())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        layer = get_channel_layer()
        if layer is not None:
            with suppress(OSError, *channel_layer.get_layer_errors()):
                await layer.flush()


async def say(kind: str, origin: str = OTHER, **fields: Any) -> None:
    """Say something as another process does."""
    layer: Any = get_channel_layer()
    await layer.group_send(
        channel_layer.make_group(kind), {"kind": kind, "origin": origin, **fields}
    )


async def test_signals_of_another_process_are_received(
    redis_url: str, use_redis_layer: Callable[[str], None]
):
    use_redis_layer(redis_url)
    program = (
        "import asyncio, sys, django; django.setup()\n"
        "from jpweb.runtime.broadcast import publisher\n"
        "async def all():\n"
        " await publisher.publish_conversation_changed(7)\n"
        " await publisher.publish_questions_changed(8)\n"
        " await publisher.publish_partial_text(7, 'message', 'Te')\n"
        " await publisher.publish_signed_out(['key'])\n"
        " await publisher.publish_run_changed(3)\n"
        " await publisher.publish_question_settled(4)\n"
        " await publisher.publish_approval_decided(5)\n"
        " await publisher.publish_settings_changed(8)\n"
        " a = dict(message='m', sender='s', inquiry=4, by={})\n"
        " await publisher.send_to_process(sys.argv[1], 'secret', sealed='x', **a)\n"
        " await publisher.send_to_process('nobody', 'secret', sealed='y', **a)\n"
        "asyncio.run(all())"
    )
    signals: list[Any] = []
    kinds = (
        *("conversation", "questions", "partial", "session"),
        *("run", "settled", "decided", "settings"),
    )
    for kind in (*kinds, "secret"):
        local_bus.add_subscriber(local_bus.make_kind_topic(kind), signals.append)
    environment = os.environ | {
        "REDIS_URL": redis_url,
        "JPWEB_SECRET_KEY": settings.SECRET_KEY,
        "DJANGO_SETTINGS_MODULE": "jpweb.settings",
        "DATABASE_URL": "sqlite://:memory:",
    }
    async with reading():
        command = [sys.executable, "-c", program, process_identity.get_process_name()]
        await asyncio.to_thread(subprocess.run, command, cwd=ROOT, env=environment, check=True)

        async def secret() -> bool:
            return any(signal["kind"] == "secret" for signal in signals)

        await eventually(secret)
    assert [signal["kind"] for signal in signals] == [*kinds, "secret"]
    assert (signals[-1]["sealed"], signals[-1]["inquiry"]) == ("x", 4)
    assert signals[2]["to"] == publisher.make_conversation_topic(7)


async def test_signals_of_this_process_do_not_return_from_the_layer(
    redis_url: str, use_redis_layer: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(channel_layer, "WATCH_POLL_SECONDS", 60)  # it has no database to ask
    use_redis_layer(redis_url)
    async with reading(), subscribe(publisher.make_conversation_topic(7)) as seven:
        await publisher.publish_conversation_changed(7)
        assert await seven() == {"kind": "conversation"}
        await say("conversation", to=publisher.make_conversation_topic(7))
        assert await seven() == {"kind": "conversation"}
        assert seven.take_all() == []


def count_sends(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of groups to which the layer is asked to send from here on."""
    layer: Any = get_channel_layer()
    groups: list[str] = []
    real = layer.group_send

    async def group_send(to: str, signal: Any) -> None:
        groups.append(to)
        await real(to, signal)

    monkeypatch.setattr(layer, "group_send", group_send)
    return groups


async def test_unavailable_redis_is_logged_once_and_does_not_block(
    use_redis_layer: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.setattr(channel_layer, "RETRY_AFTER_SECONDS", 3600)
    use_redis_layer(f"redis://127.0.0.1:{free_port()}/0")
    groups = count_sends(monkeypatch)
    async with subscribe(publisher.make_conversation_topic(7)) as seven:
        for _ in range(20):
            await publisher.publish_conversation_changed(7)
        assert len(groups) == 1, "after a failure nothing is sent for a while"
        channel_layer._outage_log.silent_until = 0.0
        await publisher.publish_conversation_changed(7)
        assert len(groups) == 2
        assert seven.take_all() == [{"kind": "conversation"}] * 21, "here all is as ever"
    assert caplog.text.count("cannot be reached") == 1


async def test_hanging_redis_does_not_block_for_long(
    use_redis_layer: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    """The first who says something waits as long as PATIENCE, and nobody after that."""
    monkeypatch.setattr(channel_layer, "RETRY_AFTER_SECONDS", 3600)
    with servers.run_redis() as running_redis:
        use_redis_layer(running_redis.url)
        await publisher.publish_conversation_changed(7)
        assert running_redis._process is not None
        running_redis._process.send_signal(signal.SIGSTOP)
        try:
            monkeypatch.setattr(channel_layer, "LAYER_TIMEOUT_SECONDS", 0.1)
            groups = count_sends(monkeypatch)
            for _ in range(20):
                await publisher.publish_conversation_changed(7)
            assert channel_layer._outage_log.started_at is not None
            assert len(groups) == 1
        finally:
            running_redis._process.send_signal(signal.SIGCONT)


async def test_subscribers_resync_and_receive_signals_after_a_redis_outage(
    use_redis_layer: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.setattr(channel_layer, "WATCH_POLL_SECONDS", 60)
    topic = publisher.make_conversation_topic(7)
    with servers.run_redis() as running_redis:
        use_redis_layer(running_redis.url)
        async with subscribe(topic) as seven, reading() as resyncs:
            seven.take_all()
            for outage in (1, 2):
                await asyncio.to_thread(running_redis.kill)
                await until(lambda: channel_layer._outage_log.started_at is not None)
                assert seven.take_all() == []
                await asyncio.to_thread(running_redis.start)
                await until(lambda: len(resyncs) > outage)  # noqa: B023  it is waited for here
                assert seven.take_all()[0] == {"kind": "conversation"}
                await until(lambda: channel_layer._outage_log.started_at is None)
                await say("conversation", to=topic)
                assert await seven() == {"kind": "conversation"}
                seven.take_all()
                assert caplog.text.count("cannot be reached") == outage
                assert caplog.text.count("reached again") == outage


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""

    async def look() -> bool:
        return condition()

    await eventually(look)


#: Bytes that no serializer of ours has written.
NOISE = (b"", b"\xff", b"gAAAAA", b"\x81\xa4kind\xa4look")


def publish(url: str, to: str, *messages: bytes) -> None:
    """Publish bytes to a group, as whoever reaches Redis can."""
    with Redis.from_url(url) as line:
        for message in messages:
            line.publish(f"asgi__group__{to}", message)


async def test_messages_that_are_no_signals_are_passed_over_and_logged_once(
    redis_url: str,
    use_redis_layer: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    monkeypatch.setattr(channel_layer, "WATCH_POLL_SECONDS", 60)
    monkeypatch.setattr(channel_layer, "PING_SECONDS", 10.0)  # a slow machine is no outage
    use_redis_layer(redis_url)
    topic = publisher.make_conversation_topic(7)
    plain = registry.get_serializer("msgpack")
    sealed = registry.get_serializer("msgpack", symmetric_encryption_keys=KEYS)
    forged = plain.serialize({"kind": "conversation", "origin": OTHER, "to": topic})
    noise = [*NOISE, *map(sealed.crypter.encrypt, NOISE), forged]
    shapes: list[Any] = [None, 3, "text", [], {}, *MISFITS]
    malformed = [sealed.serialize(shape) for shape in shapes]
    async with reading() as resyncs, subscribe(topic) as seven:
        seven.take_all()
        groups = [
            *map(channel_layer.make_group, channel_layer.BROADCAST_KINDS),
            channel_layer.make_process_group(process_identity.get_process_name()),
        ]
        for name in groups:
            await asyncio.to_thread(publish, redis_url, name, *noise, *malformed)
        await say("conversation", to=topic)
        assert await seven() == {"kind": "conversation"}
        assert (seven.take_all(), len(resyncs)) == ([], 1), "the reader has gone on"
    assert caplog.text.count("that are not signals were ignored: 1. All processes need") == 1
    assert channel_layer._invalid_messages.count == len(groups) * (len(noise) + len(malformed)) - 1


async def test_messages_in_redis_are_encrypted(
    redis_url: str, use_redis_layer: Callable[[str], None]
):
    use_redis_layer(redis_url)
    with Redis.from_url(redis_url) as line, line.pubsub() as tap:
        tap.psubscribe("*")
        tap.get_message(timeout=10)
        await publisher.publish_partial_text(7, "message", "Some text of a model")
        message = tap.get_message(timeout=10)
    assert message is not None
    assert message["channel"] == b"asgi__group__jpweb.partial"
    assert b"model" not in message["data"]
    sealed = registry.get_serializer("msgpack", symmetric_encryption_keys=KEYS)
    assert sealed.deserialize(message["data"])["text"] == "Some text of a model"


def count_looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows with each comparison of watched workspaces from here on."""
    look_counts: list[int] = []
    real = queue.get_inbox_marks

    def desks(keys: set[int]) -> dict[int, Any]:
        look_counts.append(len(look_counts))
        return real(keys)

    monkeypatch.setattr(queue, "get_inbox_marks", desks)
    return look_counts


async def test_change_without_a_signal_is_published_at_the_next_poll(
    redis_url: str,
    use_redis_layer: Callable[[str], None],
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(channel_layer, "PING_SECONDS", 10.0)  # a slow machine is no outage
    use_redis_layer(redis_url)
    look_counts = count_looks(monkeypatch)
    run = await run_in_db_thread(making.start_run, scene.conversation, scene.ada)
    async with (
        subscribe(publisher.make_conversation_topic(scene.conversation.pk)) as conversation,
        subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as workspace,
        reading(),
    ):
        await until(lambda: len(look_counts) > 1)  # the first look has ended, which tells everybody
        for hear in (conversation, workspace):
            hear.take_all()
        await until(lambda: len(look_counts) > 4)
        assert (conversation.take_all(), workspace.take_all()) == ([], []), "nothing changed"
        await run_in_db_thread(making.question, run)
        assert await conversation() == {"kind": "conversation"}
        assert await workspace() == {"kind": "questions"}
        await run_in_db_thread(Run.objects.filter(pk=run.pk).update, state=RunState.FAILED)
        assert await conversation() == {"kind": "conversation"}
        await run_in_db_thread(
            Conversation.objects.filter(pk=scene.conversation.pk).update, revision=9
        )
        assert await conversation() == {"kind": "conversation"}


async def test_changes_are_published_by_polling_during_a_redis_outage(
    use_redis_layer: Callable[[str], None], scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(channel_layer, "WATCH_POLL_SECONDS", 0.1)
    use_redis_layer(f"redis://127.0.0.1:{free_port()}/0")
    look_counts = count_looks(monkeypatch)
    run = await run_in_db_thread(making.start_run, scene.conversation, scene.ada)
    async with (
        subscribe(publisher.make_workspace_topic(scene.workspace.pk)) as workspace,
        receiving(),
    ):
        assert await workspace() == {"kind": "questions"}, "the first look tells everybody"
        await until(lambda: len(look_counts) > 6)
        assert channel_layer._outage_log.started_at is not None
        assert workspace.take_all() == [], "what was seen is known after the reader has begun again"
        await run_in_db_thread(making.question, run)
        assert await workspace() == {"kind": "questions"}


async def test_receiver_ends_though_the_layer_swallows_the_cancellation(
    use_redis_layer: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    """As channels_redis does while it ends its own task, such as after a failure to connect."""
    use_redis_layer(f"redis://127.0.0.1:{free_port()}/0")
    flushing = asyncio.Event()

    async def flush() -> None:
        flushing.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    monkeypatch.setattr(get_channel_layer(), "flush", flush)
    task = asyncio.create_task(channel_layer.receive_signals())
    await flushing.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=SOON)
    assert done
    assert task.cancelled()


async def test_receive_signals_without_a_channel_layer_returns():
    await asyncio.wait_for(channel_layer.receive_signals(), 1)
