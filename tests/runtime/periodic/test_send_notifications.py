from __future__ import annotations

import asyncio
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.notifications import apprise_sender, sending_threads, short_texts
from jpweb.runtime.periodic import send_notifications
from jpweb.store.choices import ApprovalKind, Role
from jpweb.store.inbox import snoozes
from jpweb.store.models import (
    AnswerLink,
    Approval,
    Inquiry,
    Membership,
    NotificationDelivery,
    NotificationDestination,
    Person,
    QuestionSnooze,
    Run,
)
from jpweb.store.notifications import answer_links, deliveries, delivery_channels
from jpweb.store.notifications.deliveries import DueNotification
from jpweb.stream.answer_type import Secret
from tests.runtime.notifications.receiver import NotificationReceiver
from tests.store import making

CANARY = "canary-7d2a"


class NotificationScene:
    """A run with questions, and a person who is told elsewhere."""

    def __init__(self, url: str) -> None:
        self.workspace = making.workspace("Garden")
        self.ada = making.person("ada", Role.RESPONDER, self.workspace)
        self.conversation = making.conversation(self.workspace, "A talk", self.ada)
        self.run = making.start_run(self.conversation, self.ada)
        self.address = self.add(self.ada, url)

    def add(self, person: Person, url: str, delay: int = 60) -> NotificationDestination:
        return NotificationDestination.objects.create(
            person=person, workspace=self.workspace, url=url, delay=delay
        )


@pytest.fixture
def stage(transactional_db: None, receiver: NotificationReceiver) -> NotificationScene:
    return NotificationScene(receiver.url())


async def prompt(
    stage: NotificationScene, kind: ApprovalKind = ApprovalKind.RUN, **fields: Any
) -> None:
    """Let a prompt have waited for two minutes."""
    approval = await run_in_db_thread(making.prompt, stage.run, kind, **fields)
    long_ago = timezone.now() - timedelta(minutes=2)
    await run_in_db_thread(Approval.objects.filter(pk=approval.pk).update, asked_at=long_ago)


async def rows(model: Any) -> list[Any]:
    return await run_in_db_thread(lambda: list(model.objects.order_by("pk")))


def token(receiver: NotificationReceiver) -> str:
    match = re.search(r"/answer/([\w-]+)", receiver.bodies[-1])
    assert match
    return match[1]


async def test_notification_has_asker_workspace_question_and_answer_link(
    stage: NotificationScene, receiver: NotificationReceiver, settings: Any
):
    settings.PUBLIC_URL = "https://jp.example.org"
    question = await run_in_db_thread(making.question, stage.run, None, "Delete the “roses”?")
    assert await send_notifications.send_due_notifications() == 1
    message = json.loads(receiver.bodies[0])
    assert message["title"] == "Garden: question from fs_modify_file"
    assert message["message"].splitlines()[:3] == [
        "Delete the “roses”?",
        "",
        "In “A talk”, Garden.",
    ]
    assert f"https://jp.example.org/answer/{token(receiver)}" in message["message"]
    link = await run_in_db_thread(answer_links.resolve_link, token(receiver))
    assert (link.inquiry, link.person) == (question, stage.ada)
    assert (await rows(NotificationDelivery))[0].problem == ""


async def test_notification_is_sent_once_by_concurrent_rounds(
    stage: NotificationScene, receiver: NotificationReceiver
):
    await run_in_db_thread(making.question, stage.run)
    assert [
        await send_notifications.send_due_notifications(),
        await send_notifications.send_due_notifications(),
    ] == [1, 0]
    counts = await asyncio.gather(*(send_notifications.send_due_notifications() for _ in range(3)))
    assert (sum(counts), len(receiver.bodies)) == (0, 1)


async def test_concurrent_send_due_notifications_send_each_once(
    stage: NotificationScene, receiver: NotificationReceiver
):
    for _ in range(3):
        await run_in_db_thread(making.question, stage.run)
    counts = await asyncio.gather(*(send_notifications.send_due_notifications() for _ in range(4)))
    assert (sum(counts), len(receiver.bodies)) == (3, 3)
    assert len(await rows(AnswerLink)) == 3


async def test_the_delay_is_waited(stage: NotificationScene, receiver: NotificationReceiver):
    question = await run_in_db_thread(making.question, stage.run)

    async def send_after(seconds_ago: int) -> int:
        at = timezone.now() - timedelta(seconds=seconds_ago)
        await run_in_db_thread(Inquiry.objects.filter(pk=question.pk).update, asked_at=at)
        return await send_notifications.send_due_notifications()

    assert [await send_after(0), await send_after(55), await send_after(61)] == [0, 0, 1]


async def test_the_text_of_a_secret_question_is_in_no_message(
    stage: NotificationScene, receiver: NotificationReceiver
):
    await run_in_db_thread(making.question, stage.run, Secret(), f"Password of {CANARY}?")
    assert await send_notifications.send_due_notifications() == 1
    assert "A secret is requested." in receiver.bodies[0]
    assert CANARY not in receiver.all


async def test_notification_of_an_approval_omits_arguments_and_result(
    stage: NotificationScene, receiver: NotificationReceiver
):
    for kind in ApprovalKind:
        fields = {"content": CANARY, "arguments": {"path": CANARY}, "described": CANARY}
        await prompt(stage, kind, **fields)
    assert await send_notifications.send_due_notifications() == 2
    assert "A tool call needs your approval." in receiver.all
    assert "A tool's result needs your approval" in receiver.all
    assert re.search(r"http://127.0.0.1:\d+/prompts/\d+", receiver.all)
    assert CANARY not in receiver.all
    assert await rows(AnswerLink) == []
    assert await send_notifications.send_due_notifications() == 0


@pytest.mark.parametrize("change", ["reader", "outsider", "inactive", "settled", "ended"])
async def test_notifications_go_only_to_people_who_may_answer_open_items(
    stage: NotificationScene, receiver: NotificationReceiver, change: str
):
    question = await run_in_db_thread(making.question, stage.run)
    changes: dict[str, Any] = {
        "reader": lambda: Membership.objects.update(role=Role.READER),
        "outsider": lambda: Membership.objects.all().delete(),
        "inactive": lambda: Person.objects.update(is_active=False),
        "settled": lambda: making.settle(question, making.ANSWER),
        "ended": lambda: Run.objects.update(state="lost"),
    }
    due_rows = await run_in_db_thread(deliveries.list_due, 10)
    assert len(due_rows) == 1
    await run_in_db_thread(changes[change])
    assert await run_in_db_thread(deliveries.list_due, 10) == []
    assert await run_in_db_thread(deliveries.claim_delivery, due_rows[0]) is None
    assert await send_notifications.send_due_notifications() == 0
    assert receiver.bodies == []


async def test_claim_delivery_of_a_removed_destination_returns_none(stage: NotificationScene):
    await run_in_db_thread(making.question, stage.run)
    due_rows = await run_in_db_thread(deliveries.list_due, 10)
    await run_in_db_thread(stage.address.delete)
    assert await run_in_db_thread(deliveries.claim_delivery, due_rows[0]) is None


async def test_notifications_go_only_to_destinations_of_the_workspace(
    stage: NotificationScene, receiver: NotificationReceiver
):
    def add_elsewhere() -> None:
        workspace = making.workspace("Elsewhere")
        making.person("eve", Role.OWNER, workspace)
        making.question(making.start_run(making.conversation(workspace)))

    await run_in_db_thread(add_elsewhere)
    assert await send_notifications.send_due_notifications() == 0
    assert receiver.bodies == []


async def test_notification_destinations_get_separate_answer_links(
    stage: NotificationScene, receiver: NotificationReceiver
):
    def add_destinations() -> None:
        eve = making.person("eve", Role.OWNER, stage.workspace)
        stage.add(eve, receiver.url("eve"))
        making.question(stage.run)

    await run_in_db_thread(add_destinations)
    assert await send_notifications.send_due_notifications() == 2
    links = await rows(AnswerLink)
    assert len({link.person_id for link in links}) == 2


async def test_a_failure_is_noted_in_words_and_not_tried_again(
    stage: NotificationScene, receiver: NotificationReceiver
):
    receiver.manner = "fails"
    await run_in_db_thread(making.question, stage.run)
    assert [
        await send_notifications.send_due_notifications(),
        await send_notifications.send_due_notifications(),
    ] == [0, 0]
    problem = apprise_sender.UNDELIVERED_TEXT
    assert [delivery.problem for delivery in await rows(NotificationDelivery)] == [problem]
    assert [destination.problem for destination in await rows(NotificationDestination)] == [problem]
    assert len(receiver.bodies) == 1


async def test_failing_destination_is_skipped_for_the_rest_of_the_batch(
    stage: NotificationScene, receiver: NotificationReceiver
):
    receiver.manner = "fails"
    for _ in range(3):
        await run_in_db_thread(making.question, stage.run)
    assert await send_notifications.send_due_notifications() == 0
    assert len(receiver.bodies) == 1
    receiver.manner = "takes"
    assert await send_notifications.send_due_notifications() == 2


async def test_a_message_that_arrives_takes_the_problem_away(
    stage: NotificationScene, receiver: NotificationReceiver
):
    await run_in_db_thread(NotificationDestination.objects.update, problem="It failed.")
    await run_in_db_thread(making.question, stage.run)
    assert await send_notifications.send_due_notifications() == 1
    assert [destination.problem for destination in await rows(NotificationDestination)] == [""]


async def test_receiver_that_hangs_does_not_delay_others(
    stage: NotificationScene, receiver: NotificationReceiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sending_threads, "SEND_TIMEOUT_SECONDS", 0.3)
    receiver.manner = "hangs"
    for _ in range(3):
        await run_in_db_thread(making.question, stage.run)
    assert await send_notifications.send_due_notifications() == 0
    assert len(await rows(NotificationDelivery)) == 1
    assert await send_notifications.send_due_notifications() == 0
    assert len(await rows(NotificationDelivery)) == 1
    assert "0.3 seconds" in (await rows(NotificationDestination))[0].problem


async def test_notifications_per_destination_and_batch_are_limited(
    stage: NotificationScene, receiver: NotificationReceiver
):
    for _ in range(delivery_channels.MAX_PER_DESTINATION + 2):
        await run_in_db_thread(making.question, stage.run)
    await prompt(stage)
    assert [await send_notifications.send_due_notifications() for _ in range(3)] == [
        delivery_channels.MAX_PER_DESTINATION,
        3,
        0,
    ]


@pytest.mark.parametrize("problem", ["the first fails", "a message is under way"])
async def test_questions_that_came_back_are_sent_in_a_later_round_if(
    stage: NotificationScene,
    receiver: NotificationReceiver,
    monkeypatch: pytest.MonkeyPatch,
    problem: str,
):
    questions = [await run_in_db_thread(making.question, stage.run) for _ in range(3)]
    assert await send_notifications.send_due_notifications() == 3
    await run_in_db_thread(snooze_and_end, questions, stage.ada.pk)
    receiver.bodies.clear()
    with monkeypatch.context() as patch:
        if problem == "the first fails":
            receiver.manner = "fails"
        else:
            patch.setattr(sending_threads, "is_busy", lambda _key: True)
        assert await send_notifications.send_due_notifications() == 0
        await run_in_db_thread(snoozes.delete_ended)
    receiver.manner = "takes"
    left_count = 2 if problem == "the first fails" else 3
    processes = (send_notifications.send_due_notifications() for _ in range(3))
    assert sum(await asyncio.gather(*processes)) == left_count
    assert len(receiver.bodies) == 3
    assert await send_notifications.send_due_notifications() == 0
    returns = [row for row in await rows(NotificationDelivery) if row.return_number == 1]
    assert [bool(row.problem) for row in returns].count(True) == 3 - left_count
    assert {row.inquiry_id for row in returns} == {row.pk for row in questions}
    await run_in_db_thread(snoozes.delete_ended)
    assert await rows(QuestionSnooze) == []


def snooze_and_end(questions: list[Inquiry], person_id: int) -> None:
    """Snooze questions; their snoozes have ended a second ago."""
    now = timezone.now()
    for question in questions:
        assert snoozes.snooze_question(question, person_id, now + timedelta(hours=1))
    NotificationDelivery.objects.update(sent_at=now - timedelta(minutes=1))
    QuestionSnooze.objects.update(until=now - timedelta(seconds=1))


async def test_send_test_records_and_returns_a_failure(
    stage: NotificationScene, receiver: NotificationReceiver
):
    assert await send_notifications.send_test(stage.address) == ""
    assert "test notification for Garden" in receiver.bodies[0]
    receiver.manner = "fails"
    assert await send_notifications.send_test(stage.address) == apprise_sender.UNDELIVERED_TEXT
    assert (await rows(NotificationDestination))[0].problem == apprise_sender.UNDELIVERED_TEXT


async def test_send_test_refuses_a_second_message_while_one_is_sending(
    stage: NotificationScene, receiver: NotificationReceiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sending_threads, "SEND_TIMEOUT_SECONDS", 0.2)
    receiver.manner = "hangs"
    await send_notifications.send_test(stage.address)
    assert (
        await send_notifications.send_test(stage.address)
        == "The previous message is still being sent."
    )
    assert await asyncio.to_thread(receiver.arrived.wait, 20)
    assert len(receiver.bodies) == 1


def make_due_notification(**fields: Any) -> DueNotification:
    usual = {"destination_id": 1, "person_id": 1, "url": "", "workspace": "W", "conversation": "C"}
    return DueNotification(**{**usual, "asker": "JP", "inquiry_id": 1, "text": "Well?", **fields})


def build_message_text(**fields: Any) -> str:
    return "\n".join(send_notifications.build_message(make_due_notification(**fields), "token"))


@pytest.mark.parametrize(
    ("raw_text", "expected"),
    [
        ("@everyone look", "@\u200beveryone look"),
        ("<!channel> <@U123>", "<\u200b!channel> <\u200b@\u200bU123>"),
        ("[Answer here](https://evil.example)", "[Answer here]\u200b(https://evil.example)"),
        ("a\u202eb\x00c\u200bd", "a b c d"),
        ("one\r\ntwo\n\n\nthree", "one\ntwo\n\n\nthree"),
        ("  \n", "A question is waiting."),
        ("\N{MAN}\u200d\N{WOMAN} 1 < 2", "\N{MAN}\u200d\N{WOMAN} 1 < 2"),
        ("x" * 301, "x" * 300 + "…"),
        ("x" * 5_000, "x" * 300 + "…"),
        ("x" * 300, "x" * 300 + "\n"),
    ],
)
def test_hostile_words_stay_words(raw_text: str, expected: str):
    assert f"\n{expected}" in build_message_text(text=raw_text)


@pytest.mark.parametrize("field", ["asker", "workspace", "conversation"])
def test_a_name_stays_on_its_line_and_is_cut(field: str):
    message = build_message_text(**{field: "Al\nAnswer: http://evil @all " + "x" * 500})
    assert "Al Answer: http://evil @\u200ball x" in message
    assert "x" * short_texts.MAX_NAME_CHARS not in message
    assert max(map(len, message.splitlines())) < 300


def test_notification_text_has_fallbacks_for_missing_names():
    assert "W: question from jpweb" in build_message_text(asker="")
    assert "“Untitled”" in build_message_text(conversation=" ")
