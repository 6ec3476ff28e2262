"""Sends notifications of questions and approvals that have waited for a while, and of mentions.

A message names the asker, the workspace and the beginning of the question; of a secret it says
only that one is asked for. The question stays open whether or not the message arrives.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from django.conf import settings
from django.urls import reverse

from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.notifications import apprise_sender, push_messages, push_sender, sending_threads
from jpweb.runtime.notifications.short_texts import (
    APPROVAL_TEXTS,
    SECRET_TEXT,
    UNNAMED_QUESTION_TEXT,
    cut_name,
    cut_question,
)
from jpweb.store.choices import ApprovalKind
from jpweb.store.notifications import (
    deliveries,
    delivery_channels,
    destinations,
    push_subscriptions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jpweb.runtime.notifications.sending_threads import SendingKey
    from jpweb.store.models import NotificationDestination, PushSubscription
    from jpweb.store.notifications.deliveries import DueNotification

#: Messages per round, and destinations that are sent to in parallel.
MAX_ROUND_MESSAGES, MAX_PARALLEL_SENDS = 100, 8
_BUSY_TEXT = "The previous message is still being sent."

#: Title text before the tool's name, by approval kind; None is an inquiry.
_SUBJECTS = {
    None: "question from",
    ApprovalKind.RUN: "approval needed for",
    ApprovalKind.DELIVER: "review the result of",
}


async def send_due_notifications() -> int:
    """Send the due notifications, each once across all processes; return how many arrived.

    A failed message is not sent again. A round sends at most
    ``delivery_channels.MAX_PER_DESTINATION`` messages to one destination, and none after the first
    failure, so a round ends even where no service answers.
    """
    notifications = await run_in_background_thread(deliveries.list_due, MAX_ROUND_MESSAGES)
    queues: dict[SendingKey, list[DueNotification]] = defaultdict(list)
    for notification in notifications:
        queues[notification.queue_key].append(notification)
    gate = asyncio.Semaphore(MAX_PARALLEL_SENDS)
    return sum(await asyncio.gather(*(_send_queue(queue, gate) for queue in queues.values())))


async def send_test(destination: NotificationDestination) -> str:
    """Send a test message; return why it failed, or an empty text. The result is stored."""
    if sending_threads.is_busy((delivery_channels.ADDRESS.receiver, destination.pk)):
        return _BUSY_TEXT
    title = f"jpweb: test notification for {cut_name(destination.workspace.name)}"
    body = (
        f"Questions in {cut_name(destination.workspace.name)} that wait for you will be sent here."
        f"\n\n{settings.PUBLIC_URL}{reverse('questions')}"
    )
    problem = await apprise_sender.send_message(destination.pk, destination.url, title, body)
    await run_in_db_thread(destinations.record_problem, destination.pk, problem)
    return problem


async def send_push_test(subscription: PushSubscription) -> str:
    """Send a test message to a browser; return why it failed, or an empty text."""
    if sending_threads.is_busy((delivery_channels.BROWSER.receiver, subscription.pk)):
        return _BUSY_TEXT
    problem = await push_sender.send_message(subscription, push_messages.build_test())
    await _record_push_result(subscription, problem)
    return problem


async def _send_queue(queue: Sequence[DueNotification], gate: asyncio.Semaphore) -> int:
    """Send the notifications of one destination or browser in order; return how many arrived."""
    async with gate:
        sent_count = 0
        for notification in queue:
            if sending_threads.is_busy(notification.queue_key):
                return sent_count
            claim = await run_in_db_thread(deliveries.claim_delivery, notification)
            if claim is None:
                continue
            delivery_id, token = claim
            problem = await _send_one(notification, token)
            if problem:
                await run_in_db_thread(
                    deliveries.record_failure,
                    notification.channel,
                    delivery_id,
                    problem,
                    is_browser_gone=problem == push_sender.GONE_TEXT,
                )
                return sent_count
            sent_count += 1
        return sent_count


async def _send_one(notification: DueNotification, token: str) -> str:
    """Send a claimed notification; return why it failed, or an empty text, which is stored."""
    key = notification.destination_id
    if notification.subscription is not None:
        message = push_messages.build_message(notification)
        problem = await push_sender.send_message(notification.subscription, message)
        await _record_push_result(notification.subscription, problem)
        return problem
    title, body = build_message(notification, token)
    problem = await apprise_sender.send_message(key, notification.url, title, body)
    await run_in_db_thread(destinations.record_problem, key, problem)
    return problem


async def _record_push_result(subscription: PushSubscription, problem: str) -> None:
    """Store a browser's problem; forget a browser that its service no longer knows."""
    if problem == push_sender.GONE_TEXT:
        await run_in_db_thread(push_subscriptions.forget_subscription, subscription)
    else:
        await run_in_db_thread(push_subscriptions.record_problem, subscription.pk, problem)


def build_message(notification: DueNotification, token: str) -> tuple[str, str]:
    """Return title and body of a message; people's words in it are inert text."""
    asker, workspace = cut_name(notification.asker) or "jpweb", cut_name(notification.workspace)
    location = f"In “{cut_name(notification.conversation) or 'Untitled'}”, {workspace}."
    if notification.mention_id is not None:
        link = reverse("comments", args=notification.comment_page)
        return (
            f"{workspace}: {asker} mentioned you",
            f"A comment mentions you.\n\n{location}\n"
            f"Read it (sign-in required): {settings.PUBLIC_URL}{link}",
        )
    title = f"{workspace}: {_SUBJECTS[notification.approval_kind]} {asker}"
    if notification.approval_kind is not None:
        link = reverse("approval", kwargs={"approval_id": notification.approval_id})
        decide_text = "Review and decide (sign-in required)"
        return (
            title,
            f"{APPROVAL_TEXTS[notification.approval_kind]}\n\n{location}\n"
            f"{decide_text}: {settings.PUBLIC_URL}{link}",
        )
    question_text = (
        SECRET_TEXT
        if notification.is_secret
        else cut_question(notification.text) or UNNAMED_QUESTION_TEXT
    )
    link = reverse("answer-link", kwargs={"token": token})
    answer_text = "Answer (single-use link, valid for seven days)"
    return title, f"{question_text}\n\n{location}\n{answer_text}: {settings.PUBLIC_URL}{link}"
