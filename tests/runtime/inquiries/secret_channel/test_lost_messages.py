"""What is lost on the way, comes twice, or is forged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution, secret_channels
from jpweb.runtime.inquiries.secret_channels import SecretChannel
from jpweb.runtime.inquiries.secret_handover import NoWaitingCall
from jpweb.store.errors import AlreadySettled
from jpweb.store.inquiries import Decider
from jpweb.store.models import Inquiry
from jpweb.store.run_queue import secret_waiters
from jpweb.stream.answer_type import Secret
from tests.runtime.inquiries.secret_channel.wire import CANARY, WEB, WORKER, ProcessWire, is_truthy
from tests.runtime.playing import Scene, eventually, start_waiting, wait_for_task
from tests.store.making import decider

pytestmark = pytest.mark.usefixtures("short_secret_wait")


@contextmanager
def one_attempt() -> Iterator[None]:
    """Give up after the first attempt to deliver, which is made whatever the limits are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 0)
        patch.setattr(secret_channels, "ACK_TIMEOUT_SECONDS", 0.05)
        yield


async def test_a_lost_message_drops_the_secret(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    wire.replace_message = lambda _: []
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert (await scene.reload(row)).state == "open"
    assert len(wire.secrets()) == 1, "it is sealed for a call once"
    wire.replace_message = lambda data: [data]
    await web.deliver_secret(row.pk, "again", decider(scene.ada))
    assert await wait_for_task(call) == "again"


async def test_a_lost_acknowledgement_is_made_up_for_by_the_row(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    wire.replace_message = lambda data: [] if "result" in data else [data]
    await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert await wait_for_task(call) == CANARY


async def test_unacknowledged_secret_is_no_success_when_another_was_taken(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)

    def loses(data: dict[str, Any]) -> list[dict[str, Any]]:
        return [] if data.get("by", {}).get("name") == "Ada" else [data]

    wire.replace_message = loses
    answer = asyncio.create_task(web.deliver_secret(row.pk, CANARY, decider(scene.ada)))
    await eventually(lambda: is_truthy(wire.secrets()))
    await web.deliver_secret(row.pk, "of Eve", decider(scene.eve))
    with pytest.raises(AlreadySettled):
        await wait_for_task(answer)
    assert await wait_for_task(call) == "of Eve"


async def test_acknowledgement_of_an_unrecorded_secret_is_ignored(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)

    def send_acknowledgement(data: dict[str, Any]) -> list[dict[str, Any]]:
        if "sealed" in data:
            web.on_acknowledgement({"message": data["message"], "result": "nonsense"})
            web.on_acknowledgement({"message": data["message"], "result": "taken"})
            web.on_acknowledgement({"message": data["message"], "result": "taken"})
            web.on_acknowledgement({"message": "unknown", "result": "taken"})
        return []

    wire.replace_message = send_acknowledgement
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await wait_for_task(call)


async def test_a_message_that_comes_twice_is_taken_once(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    wire.replace_message = lambda data: [data, data]
    await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert await wait_for_task(call) == CANARY
    assert wire.list_outcomes() == ["taken"]


async def catch_message(
    web: SecretChannel, wire: ProcessWire, row: Inquiry, by: Decider
) -> dict[str, Any]:
    """Return a sealed secret for a call that waits, which did not reach it."""
    wire.replace_message = lambda _: []
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, by)
    return {"kind": "secret", **wire.secrets()[0]}


async def opens_nothing(
    scene: Scene, wire: ProcessWire, call: asyncio.Task[Any], row: Inquiry
) -> None:
    """Check that what was sent again was refused, and that the call waits on."""
    await eventually(lambda: is_truthy(wire.list_outcomes()))
    assert wire.list_outcomes() == ["no_call"]
    assert (await scene.reload(row)).state == "open"
    assert not call.done()
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await wait_for_task(call)


@pytest.mark.parametrize("target", ["same", "later", "other"])
async def test_a_replay_to_another_question_opens_nothing(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel, target: str
):
    """Somebody on the layer sends a sealed secret again once another call waits."""
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    message = await catch_message(web, wire, row, decider(scene.ada))
    other_row = row if target == "same" else await scene.question(Secret())
    if target == "other":
        message["inquiry"] = other_row.pk
    if target == "same":  # of the same question, the next time it is waited for
        call.cancel()
    else:
        await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await asyncio.wait([call])
    later_call = await start_waiting(other_row, resolution.wait_for_secret)
    wire.hand(WORKER, message)
    await opens_nothing(scene, wire, later_call, other_row)


@pytest.mark.parametrize("target", ["process", "message"])
async def test_a_replay_to_another_process_or_as_another_message_opens_nothing(
    scene: Scene, wire: ProcessWire, web: SecretChannel, worker: SecretChannel, target: str
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    message = await catch_message(web, wire, row, decider(scene.ada))
    if target == "process":  # one that had even got hold of the key
        other_channel = wire.process("worker#2")
        other_channel._seal_keys[row.pk] = worker._seal_keys[row.pk]
        wire.hand("worker#2", message)
    else:
        wire.hand(WORKER, message | {"message": "another"})
    await opens_nothing(scene, wire, call, row)


@pytest.mark.parametrize(
    "change",
    [
        {"by": {"kind": "person", "name": "Eve", "person_id": 2}},
        {"by": {"kind": "person", "unknown": 1}},
        {"by": None},
        {"sealed": "nothing"},
        {"sealed": None},
        {"sealed": 3},
        {"inquiry": 10**9},
        {"inquiry": []},
    ],
)
async def test_a_message_that_was_changed_opens_nothing(
    scene: Scene,
    wire: ProcessWire,
    web: SecretChannel,
    worker: SecretChannel,
    change: dict[str, Any],
):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    wire.replace_message = lambda data: [data | change] if "sealed" in data else [data]
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    await eventually(lambda: is_truthy(wire.list_outcomes()))
    assert wire.list_outcomes() == ["no_call"]
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await wait_for_task(call)


@pytest.mark.parametrize("data", [{}, {"message": 1, "sender": WEB}, {"message": "m"}])
async def test_secret_channel_ignores_malformed_messages(
    wire: ProcessWire, worker: SecretChannel, data: dict[str, Any]
):
    worker.on_secret(data)
    worker.on_acknowledgement(data)
    await worker._background_tasks.wait_for_all()
    assert wire.messages == []


async def test_deliver_secret_with_an_invalid_public_key_drops_the_secret(
    scene: Scene, wire: ProcessWire, web: SecretChannel
):
    row = await scene.question(Secret())
    await run_in_db_thread(secret_waiters.register_waiter, row.pk, WORKER, "no key")
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert wire.messages == []
