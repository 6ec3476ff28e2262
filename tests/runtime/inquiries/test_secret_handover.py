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
from tests.canary.spellings import has_secret
from tests.runtime.playing import Scene, eventually, start_waiting, wait_for_task
from tests.store import making
from tests.store.making import decider

CANARY = "canary-7f3a-Zürich"
BY = Decider("person", "Ada", 1)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at rows more often than usual."""
    monkeypatch.setattr(secret_channels, "ROW_POLL_SECONDS", 0.02)


@pytest.fixture
def short_secret_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a secret wait no longer than a test should, where nobody comes."""
    monkeypatch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 0.3)


async def wait_until_arrived(row: Inquiry) -> None:
    """Return once the call has the secret in its hands."""

    async def has() -> bool:
        return resolution.handover._arrivals[row.pk].done()

    await eventually(has)


async def test_the_call_that_waits_has_the_secret_and_the_record_says_redacted(scene: Scene):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    settled_row = await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    assert await wait_for_task(call) == CANARY
    assert (settled_row.state, settled_row.answer, settled_row.decider_name) == (
        "redacted",
        None,
        "Ada",
    )
    assert (await scene.elements())[-1].kind == InquiryResponse(row.inquiry_id, Redacted())


@pytest.mark.usefixtures("short_secret_wait")
async def test_secret_without_a_waiting_call_is_dropped_and_not_recorded(scene: Scene):
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
    release, real = asyncio.Event(), resolution.settle_inquiry

    async def slow(*args: Any) -> Inquiry:
        await release.wait()
        return await real(*args)

    monkeypatch.setattr(resolution, "settle_inquiry", slow)
    call = await start_waiting(row, resolution.wait_for_secret)
    answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
    await wait_until_arrived(row)
    assert (await scene.reload(row)).state == "open"
    assert not answer.done(), "who answers is told after the record"
    release.set()
    assert (await wait_for_task(answer)).state == "redacted"
    assert await wait_for_task(call) == CANARY


async def test_a_decline_ends_the_wait(scene: Scene):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    await resolution.decline_inquiry(row.pk, decider(scene.eve))
    settled_row = await wait_for_task(call)
    assert (settled_row.state, settled_row.reason) == ("cancelled", "user")
    with pytest.raises(AlreadySettled):
        await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))


async def test_a_decline_that_comes_first_drops_the_secret(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The decline commits after the secret has reached the call and before that is recorded."""
    monkeypatch.setattr(resolution, "ROW_POLL_SECONDS", 0.01)
    row = await scene.question(Secret())
    real = resolution.settle_inquiry

    async def settle_late(*args: Any) -> Inquiry:
        monkeypatch.setattr(resolution, "settle_inquiry", real)
        await resolution.decline_inquiry(row.pk, decider(scene.eve))
        return await real(*args)

    call = await start_waiting(row, resolution.wait_for_secret)
    monkeypatch.setattr(resolution, "settle_inquiry", settle_late)
    with pytest.raises(AlreadySettled) as error:
        await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    assert error.value.inquiry.decider_name == "Eve"
    assert (await wait_for_task(call)).state == "cancelled"
    assert not has_secret(await scene.texts(), CANARY)


async def test_concurrent_secrets_settle_once_and_report_the_loser(scene: Scene):
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    results = await asyncio.gather(
        resolution.answer_inquiry(row.pk, "first", decider(scene.ada)),
        resolution.answer_inquiry(row.pk, "second", decider(scene.eve)),
        return_exceptions=True,
    )
    winners = [result for result in results if isinstance(result, Inquiry)]
    losers = [result for result in results if isinstance(result, AlreadySettled)]
    assert (len(winners), len(losers)) == (1, 1)
    assert losers[0].inquiry.decider_name == winners[0].decider_name
    assert await wait_for_task(call) == {"Ada": "first", "Eve": "second"}[winners[0].decider_name]


async def test_secret_that_times_out_behind_another_reports_the_first_person(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    """The first is recorded once the second waits behind it; no secret is offered twice."""
    monkeypatch.setattr(secret_channels, "SECRET_TIMEOUT_SECONDS", 0)
    real_delivery, real_settlement = resolution.handover.deliver_secret, resolution.settle_inquiry
    values, release = list[str](), asyncio.Event()

    async def deliver(key: int, value: str, by: Decider) -> None:
        values.append(value)
        if len(values) == 2:
            release.set()
        await real_delivery(key, value, by)

    async def settle_late(*args: Any) -> Inquiry:
        await release.wait()
        return await real_settlement(*args)

    monkeypatch.setattr(resolution.handover, "deliver_secret", deliver)
    monkeypatch.setattr(resolution, "settle_inquiry", settle_late)
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    winner, loser = await asyncio.gather(
        resolution.answer_inquiry(row.pk, "first", decider(scene.ada)),
        resolution.answer_inquiry(row.pk, "second", decider(scene.eve)),
        return_exceptions=True,
    )
    assert isinstance(winner, Inquiry)
    assert isinstance(loser, AlreadySettled)
    assert loser.inquiry.decider_name == winner.decider_name == "Ada"
    assert await wait_for_task(call) == "first"
    assert values == ["first", "second"]


async def test_cancelled_answer_request_delivers_its_secret_to_the_call(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    row = await scene.question(Secret())
    release, real = asyncio.Event(), resolution.settle_inquiry

    async def slow(*args: Any) -> Inquiry:
        await release.wait()
        return await real(*args)

    monkeypatch.setattr(resolution, "settle_inquiry", slow)
    call = await start_waiting(row, resolution.wait_for_secret)
    answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
    await wait_until_arrived(row)
    answer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer
    release.set()
    assert await wait_for_task(call) == CANARY


@pytest.mark.usefixtures("short_secret_wait")
@pytest.mark.parametrize("ending", ["stopped", "failed"])
async def test_call_that_fails_with_a_received_secret_informs_its_sender(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, ending: str
):
    row = await scene.question(Secret())
    release = asyncio.Event()

    async def breaks(*_args: Any) -> Inquiry:
        await release.wait()
        raise OSError("disk full")

    monkeypatch.setattr(resolution, "settle_inquiry", breaks)
    call = await start_waiting(row, resolution.wait_for_secret)
    answer = asyncio.create_task(resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada)))
    await wait_until_arrived(row)
    if ending == "stopped":
        call.cancel()
    release.set()
    with pytest.raises(NoWaitingCall):
        await wait_for_task(answer)
    with pytest.raises((OSError, asyncio.CancelledError)):
        await wait_for_task(call)
    assert (await scene.reload(row)).state == "open"


@pytest.mark.usefixtures("short_secret_wait")
async def test_secret_is_in_no_event_log_record_or_error(
    scene: Scene, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    row = await scene.question(Secret())
    call = await start_waiting(row, resolution.wait_for_secret)
    await resolution.answer_inquiry(row.pk, CANARY, decider(scene.ada))
    await wait_for_task(call)
    with pytest.raises(AlreadySettled) as late_error:
        await resolution.answer_inquiry(row.pk, CANARY, decider(scene.eve))
    other_row = await scene.question(Secret())
    with pytest.raises(NoWaitingCall) as dropped:
        await resolution.answer_inquiry(other_row.pk, CANARY, decider(scene.ada))
    assert not has_secret(await scene.texts(), CANARY)
    assert CANARY not in "".join(str(record.__dict__) for record in caplog.records)
    for error in (late_error.value, dropped.value):
        assert CANARY not in f"{error!r} {error} {error.args}"


async def test_pending_secret_repr_hides_the_secret():
    received_future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    assert CANARY not in repr(PendingSecret(CANARY, BY, received_future))
    handover = SecretHandover()
    with handover.expect_secret(1) as arrival:
        task = asyncio.create_task(handover.deliver_secret(1, CANARY, BY))
        delivery = await arrival
        assert delivery.value == CANARY
        assert CANARY not in repr([handover, arrival, vars(handover)])
        delivery.receipt.set_result(None)
        await task


async def test_deliver_secret_after_expecting_ends_is_refused():
    handover = SecretHandover()
    with handover.expect_secret(1):
        pass
    with pytest.raises(NoWaitingCall):
        await handover.deliver_secret(1, CANARY, BY)


async def test_the_secret_of_one_question_never_reaches_another(scene: Scene):
    first_row, second_row = await scene.question(Secret()), await scene.question(Secret())
    first, second = [
        await start_waiting(row, resolution.wait_for_secret) for row in (first_row, second_row)
    ]
    await resolution.answer_inquiry(second_row.pk, "for two", decider(scene.ada))
    await resolution.answer_inquiry(first_row.pk, "for one", decider(scene.ada))
    assert (await wait_for_task(first), await wait_for_task(second)) == ("for one", "for two")
    assert await run_in_db_thread(making.count_entries, scene.conversation.pk) == 7
