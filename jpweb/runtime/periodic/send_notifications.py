"""Sends notifications of questions and approvals that have waited for a while.

A message names the asker, the workspace and the beginning of the question; of a secret it says
only that one is asked for. The question stays open whether or not the message arrives.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING

from django.conf import settings
from django.urls import reverse

from jpweb.runtime.db_threads import run_in_background_thread, run_in_db_thread
from jpweb.runtime.periodic import apprise_sender
from jpweb.store.choices import ApprovalKind
from jpweb.store.notifications import deliveries, destinations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jpweb.store.models import NotificationDestination
    from jpweb.store.notifications.deliveries import DueNotification

#: Messages per round, and destinations that are sent to in parallel.
MAX_ROUND_MESSAGES, MAX_PARALLEL_SENDS = 100, 8
#: Characters of a question, and of a name or title, in a message.
MAX_QUESTION_CHARS, MAX_NAME_CHARS = 300, 80

#: Title text before the tool's name, by approval kind; None is an inquiry.
_SUBJECTS = {
    None: "question from",
    ApprovalKind.RUN: "approval needed for",
    ApprovalKind.DELIVER: "review the result of",
}
_APPROVAL_TEXTS = {
    ApprovalKind.RUN: "A tool call needs your approval.",
    ApprovalKind.DELIVER: "A tool's result needs your approval before the model sees it.",
}
#: Positions at which a separator keeps chat programs from making mentions, links and images.
_MARKUP_BOUNDARY = re.compile(r"(?<=[@<])(?=\S)|(?<=\])(?=\()")
_ZERO_WIDTH_SPACE = "\N{ZERO WIDTH SPACE}"
_ZERO_WIDTH_JOINER = "\N{ZERO WIDTH JOINER}"


async def send_due_notifications() -> int:
    """Send the due notifications, each once across all processes; return how many arrived.

    A failed message is not sent again. A round sends at most
    ``deliveries.MAX_PER_DESTINATION`` messages to one destination, and none after the first
    failure, so a round ends even where no service answers.
    """
    notifications = await run_in_background_thread(deliveries.list_due, MAX_ROUND_MESSAGES)
    queues: dict[int, list[DueNotification]] = defaultdict(list)
    for notification in notifications:
        queues[notification.destination_id].append(notification)
    gate = asyncio.Semaphore(MAX_PARALLEL_SENDS)
    return sum(await asyncio.gather(*(_send_queue(queue, gate) for queue in queues.values())))


async def send_test(destination: NotificationDestination) -> str:
    """Send a test message; return why it failed, or an empty text. The result is stored."""
    if apprise_sender.is_busy(destination.pk):
        return "The previous message is still being sent."
    title = f"jpweb: test notification for {_cut_name(destination.workspace.name)}"
    body = (
        f"Questions in {_cut_name(destination.workspace.name)} that wait for you will be sent here."
        f"\n\n{settings.PUBLIC_URL}{reverse('questions')}"
    )
    problem = await apprise_sender.send_message(destination.pk, destination.url, title, body)
    await run_in_db_thread(destinations.record_problem, destination.pk, problem)
    return problem


async def _send_queue(queue: Sequence[DueNotification], gate: asyncio.Semaphore) -> int:
    """Send the notifications of one destination in order; return how many arrived."""
    async with gate:
        sent_count = 0
        for notification in queue:
            if apprise_sender.is_busy(notification.destination_id):
                return sent_count
            claim = await run_in_db_thread(deliveries.claim_delivery, notification)
            if claim is None:
                continue
            delivery_id, token = claim
            title, body = build_message(notification, token)
            problem = await apprise_sender.send_message(
                notification.destination_id, notification.url, title, body
            )
            await run_in_db_thread(
                destinations.record_problem, notification.destination_id, problem
            )
            if problem:
                await run_in_db_thread(deliveries.record_failure, delivery_id, problem)
                return sent_count
            sent_count += 1
        return sent_count


def build_message(notification: DueNotification, token: str) -> tuple[str, str]:
    """Return title and body of a message; people's words in it are inert text."""
    asker, workspace = _cut_name(notification.asker) or "jpweb", _cut_name(notification.workspace)
    title = f"{workspace}: {_SUBJECTS[notification.approval_kind]} {asker}"
    location = f"In “{_cut_name(notification.conversation) or 'Untitled'}”, {workspace}."
    if notification.approval_kind is not None:
        link = reverse("approval", kwargs={"approval_id": notification.approval_id})
        decide_text = "Review and decide (sign-in required)"
        return (
            title,
            f"{_APPROVAL_TEXTS[notification.approval_kind]}\n\n{location}\n"
            f"{decide_text}: {settings.PUBLIC_URL}{link}",
        )
    question_text = (
        "A secret is requested."
        if notification.is_secret
        else _cut_question(notification.text) or "A question is waiting."
    )
    link = reverse("answer-link", kwargs={"token": token})
    answer_text = "Answer (single-use link, valid for seven days)"
    return title, f"{question_text}\n\n{location}\n{answer_text}: {settings.PUBLIC_URL}{link}"


def _cut_question(text: str) -> str:
    """Return the beginning of a question with its line breaks."""
    lines = [_strip_invisible(line) for line in text.strip()[: MAX_QUESTION_CHARS * 4].splitlines()]
    full_text = "\n".join(lines).strip()
    is_cut = len(full_text) > MAX_QUESTION_CHARS or len(text.strip()) > MAX_QUESTION_CHARS * 4
    return _break_markup(full_text[:MAX_QUESTION_CHARS] + ("…" if is_cut else ""))


def _cut_name(text: str) -> str:
    """Return a name or title on one line, shortened to MAX_NAME_CHARS."""
    full_text = _strip_invisible(text[: MAX_NAME_CHARS * 4])
    return _break_markup(
        full_text if len(full_text) <= MAX_NAME_CHARS else f"{full_text[:MAX_NAME_CHARS]}…"
    )


def _strip_invisible(text: str) -> str:
    """Return a text without invisible and direction-changing characters."""
    visible_chars = (
        char if char == _ZERO_WIDTH_JOINER or unicodedata.category(char)[0] != "C" else " "
        for char in text
    )
    return " ".join("".join(visible_chars).split())


def _break_markup(text: str) -> str:
    return _MARKUP_BOUNDARY.sub(_ZERO_WIDTH_SPACE, text)
