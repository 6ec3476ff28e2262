from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution, secret_channels
from jpweb.runtime.inquiries.secret_handover import NoWaitingCall, PendingSecret, SecretHandover
from jpweb.store.errors import AlreadySettled
from jpweb.store.inquiries import Decider
from jpweb.store.models import Inquiry
from jpweb.stream.answer_type import Secret
from jpweb.stream.inquiry import InquiryResponse, Redacted
from tests.runtime.playing import Scene, done, eventually, waiting
from tests.store import making
from tests.store.making import decider

CANARY = "canary-7f3a-Zürich"
BY = Decider("person", "Ada", 1)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a secret wait for its call no longer than a test should."""
    monkeypatch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(secret_channels, "ROW_POLL_SECONDS", 0.02)


async def arrived(row: Inquiry) -> None:
    """Return once the call has the secret in its hands."""

    async def has() -> bool:
        return resolution.handover._arrivals[row.pk].done()

    await eventually(has)


async def test_the_call_that_waits_has_the_secret_and_the_record_says_redacted(scene: Scene):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    settled = await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    assert await done(call) == CANARY
    assert (settled.state, settled.answer, settled.decider_name) == ("redacted", None, "Ada")
    assert (await scene.elements())[-1].kind == InquiryResponse(row.inquiry_id, Redacted())


async def test_without_a_call_the_secret_is_dropped_and_nothing_recorded(scene: Scene):
    row = await scene.question(Secret())
    before = await scene.elements()
    with pytest.raises(NoWaitingCall):
        await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    assert await scene.elements() == before
    assert (await scene.reload(row)).state == "open"


async def test_redacted_is_recorded_only_once_the_call_has_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question(Secret())
    held, real = asyncio.Event(), resolution.settle_inquiry

    async def slow(*args: Any) -> Inquiry:
        await held.wait()
        return await real(*args)

    monkeypatch.setattr(resolution, "settle_inquiry", slow)
    call = await waiting(row, resolution.wait_for_secret)
    answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
    await arrived(row)
    assert (await scene.reload(row)).state == "open"
    assert not answer.done(), "who answers is told after the record"
    held.set()
    assert (await done(answer)).state == "redacted"
    assert await done(call) == CANARY


async def test_a_decline_ends_the_wait(scene: Scene):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    ended = await done(call)
    assert (ended.state, ended.reason) == ("cancelled", "user")
    with pytest.raises(AlreadySettled):
        await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))


async def test_a_decline_that_comes_first_drops_the_secret(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The decline commits after the secret has reached the call and before that is recorded."""
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 0.01)
    row = await scene.question(Secret())
    real = resolution.settle_inquiry

    async def late(*args: Any) -> Inquiry:
        monkeypatch.setattr(resolution, "settle_inquiry", real)
        await resolution.decline_inquiry(row.pk, decider(scene.eve))
        return await real(*args)

    call = await waiting(row, resolution.wait_for_secret)
    monkeypatch.setattr(resolution, "settle_inquiry", late)
    with pytest.raises(AlreadySettled) as told:
        await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    assert told.value.inquiry.decider_name == "Eve"
    assert (await done(call)).state == "cancelled"
    assert CANARY not in await scene.texts()


async def test_of_two_secrets_at_once_one_wins_and_the_other_is_told(scene: Scene):
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    both = await asyncio.gather(
        resolution.answer_inquiry(row.pk, "first", decider(scene.ada)),
        resolution.answer_inquiry(row.pk, "second", decider(scene.eve)),
        return_exceptions=True,
    )
    won = [result for result in both if isinstance(result, Inquiry)]
    lost = [result for result in both if isinstance(result, AlreadySettled)]
    assert (len(won), len(lost)) == (1, 1)
    assert lost[0].inquiry.decider_name == won[0].decider_name
    assert await done(call) == {"Ada": "first", "Eve": "second"}[won[0].decider_name]


async def test_who_hangs_up_meanwhile_does_not_hurt_the_call(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question(Secret())
    held, real = asyncio.Event(), resolution.settle_inquiry

    async def slow(*args: Any) -> Inquiry:
        await held.wait()
        return await real(*args)

    monkeypatch.setattr(resolution, "settle_inquiry", slow)
    call = await waiting(row, resolution.wait_for_secret)
    answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
    await arrived(row)
    answer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer
    held.set()
    assert await done(call) == CANARY


@pytest.mark.parametrize("how", ["stopped", "failed"])
async def test_a_call_that_ends_with_the_secret_in_its_hands_tells_who_sent_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, how: str
):
    row = await scene.question(Secret())
    held = asyncio.Event()

    async def breaks(*_args: Any) -> Inquiry:
        await held.wait()
        raise OSError("disk full")

    monkeypatch.setattr(resolution, "settle_inquiry", breaks)
    call = await waiting(row, resolution.wait_for_secret)
    answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
    await arrived(row)
    if how == "stopped":
        call.cancel()
    held.set()
    with pytest.raises(NoWaitingCall):
        await done(answer)
    with pytest.raises((OSError, asyncio.CancelledError)):
        await done(call)
    assert (await scene.reload(row)).state == "open"


async def test_the_secret_is_nowhere(scene: Scene, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    row = await scene.question(Secret())
    call = await waiting(row, resolution.wait_for_secret)
    await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    await done(call)
    with pytest.raises(AlreadySettled) as late:
        await resolution.answer_inquiry(row.pk, CANARY, decider(scene.eve))
    other = await scene.question(Secret())
    with pytest.raises(NoWaitingCall) as dropped:
        await resolution.answer_inquiry(other.pk, CANARY, decider(scene.ada))
    assert CANARY not in await scene.texts()
    assert CANARY not in "".join(str(record.__dict__) for record in caplog.records)
    for error in (late.value, dropped.value):
        assert CANARY not in f"{error!r} {error} {error.args}"


async def test_a_delivery_does_not_show_what_it_carries():
    received: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    assert CANARY not in repr(PendingSecret(CANARY, BY, received))
    handover = SecretHandover()
    with handover.expecting(1) as arrival:
        sent = asyncio.create_task(handover.deliver_secret(1, CANARY, BY))
        delivery = await arrival
        assert delivery.value == CANARY
        assert CANARY not in repr([handover, arrival, vars(handover)])
        delivery.receipt.set_result(None)
        await sent


async def test_nobody_waits_after_the_block():
    handover = SecretHandover()
    with handover.expecting(1):
        pass
    with pytest.raises(NoWaitingCall):
        await handover.deliver_secret(1, CANARY, BY)


async def test_the_secret_of_one_question_never_reaches_another(scene: Scene):
    one, two = await scene.question(Secret()), await scene.question(Secret())
    first, second = [await waiting(row, resolution.wait_for_secret) for row in (one, two)]
    await resolution.answer_inquiry(two.pk, "for two", decider(scene.ada))
    await resolution.answer_inquiry(one.pk, "for one", decider(scene.ada))
    assert (await done(first), await done(second)) == ("for one", "for two")
    assert await run_in_db_thread(making.length, scene.talk.pk) == 7
