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
from tests.runtime.inquiries.secret_channel.wire import CANARY, WEB, WORKER, Wire, found
from tests.runtime.playing import Scene, done, eventually, waiting
from tests.store.making import decider

pytestmark = pytest.mark.usefixtures("impatient")


@contextmanager
def one_attempt() -> Iterator[None]:
    """Give up after the first attempt to deliver, which is made whatever the limits are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 0)
        patch.setattr(secret_channels, "ACK_TIMEOUT_SECONDS", 0.05)
        yield


async def test_a_lost_message_drops_the_secret(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    wire.does = lambda _: []
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert (await scene.reload(row)).state == "open"
    assert len(wire.secrets()) == 1, "it is sealed for a call once"
    wire.does = lambda data: [data]
    await web.deliver_secret(row.pk, "again", decider(scene.ada))
    assert await done(call) == "again"


async def test_a_lost_acknowledgement_is_made_up_for_by_the_row(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    wire.does = lambda data: [] if "result" in data else [data]
    await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert await done(call) == CANARY


async def test_without_an_acknowledgement_what_another_person_did_is_no_success(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)

    def loses(data: dict[str, Any]) -> list[dict[str, Any]]:
        return [] if data.get("by", {}).get("name") == "Ada" else [data]

    wire.does = loses
    answer = asyncio.create_task(web.deliver_secret(row.pk, CANARY, decider(scene.ada)))
    await eventually(lambda: found(wire.secrets()))
    await web.deliver_secret(row.pk, "of Eve", decider(scene.eve))
    with pytest.raises(AlreadySettled):
        await done(answer)
    assert await done(call) == "of Eve"


async def test_an_acknowledgement_of_what_is_not_on_record_counts_for_nothing(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)

    def lies(data: dict[str, Any]) -> list[dict[str, Any]]:
        if "sealed" in data:
            web.on_acknowledgement({"message": data["message"], "result": "nonsense"})
            web.on_acknowledgement({"message": data["message"], "result": "taken"})
            web.on_acknowledgement({"message": data["message"], "result": "taken"})
            web.on_acknowledgement({"message": "unknown", "result": "taken"})
        return []

    wire.does = lies
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await done(call)


async def test_a_message_that_comes_twice_is_taken_once(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel
):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    wire.does = lambda data: [data, data]
    await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert await done(call) == CANARY
    assert wire.became() == ["taken"]


async def caught(web: SecretChannel, wire: Wire, row: Inquiry, by: Decider) -> dict[str, Any]:
    """Return a sealed secret for a call that waits, which did not reach it."""
    wire.does = lambda _: []
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, by)
    return {"kind": "secret", **wire.secrets()[0]}


async def opens_nothing(scene: Scene, wire: Wire, call: asyncio.Task[Any], row: Inquiry) -> None:
    """Check that what was sent again was refused, and that the call waits on."""
    await eventually(lambda: found(wire.became()))
    assert wire.became() == ["no_call"]
    assert (await scene.reload(row)).state == "open"
    assert not call.done()
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await done(call)


@pytest.mark.parametrize("where", ["same", "later", "other"])
async def test_a_replay_to_another_question_opens_nothing(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel, where: str
):
    """Somebody on the layer sends a sealed secret again once another call waits."""
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    again = await caught(web, wire, row, decider(scene.ada))
    other = row if where == "same" else await scene.question(Secret())
    if where == "other":
        again["inquiry"] = other.pk
    if where == "same":  # of the same question, the next time it is waited for
        call.cancel()
    else:
        await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await asyncio.wait([call])
    later = await waiting(other, resolution.wait_for_secret)
    wire.hand(WORKER, again)
    await opens_nothing(scene, wire, later, other)


@pytest.mark.parametrize("where", ["process", "message"])
async def test_a_replay_to_another_process_or_as_another_message_opens_nothing(
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel, where: str
):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    again = await caught(web, wire, row, decider(scene.ada))
    if where == "process":  # one that had even got hold of the key
        other = wire.process("worker#2")
        other._seal_keys[row.pk] = worker._seal_keys[row.pk]
        wire.hand("worker#2", again)
    else:
        wire.hand(WORKER, again | {"message": "another"})
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
    scene: Scene, wire: Wire, web: SecretChannel, worker: SecretChannel, change: dict[str, Any]
):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    wire.does = lambda data: [data | change] if "sealed" in data else [data]
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    await eventually(lambda: found(wire.became()))
    assert wire.became() == ["no_call"]
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    await done(call)


@pytest.mark.parametrize("data", [{}, {"message": 1, "sender": WEB}, {"message": "m"}])
async def test_what_is_no_message_is_not_answered(
    wire: Wire, worker: SecretChannel, data: dict[str, Any]
):
    worker.on_secret(data)
    worker.on_acknowledgement(data)
    await worker._background_tasks.wait_for_all()
    assert wire.sent == []


async def test_a_row_whose_key_is_none_drops_the_secret(
    scene: Scene, wire: Wire, web: SecretChannel
):
    row = await scene.question(Secret())
    await run_in_db_thread(secret_waiters.register_waiter, row.pk, WORKER, "no key")
    with one_attempt(), pytest.raises(NoWaitingCall):
        await web.deliver_secret(row.pk, CANARY, decider(scene.ada))
    assert wire.sent == []
