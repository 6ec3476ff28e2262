"""Messages to browsers by Web Push: the texts that the service worker shows, and its buttons.

As other notifications, they hold the beginning of a question, and nothing of a secret one. An
approval has no buttons: consent takes a look at the call. Of a mention they have nothing of the
comment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.urls import reverse

from jpweb.runtime.notifications.short_texts import (
    APPROVAL_TEXTS,
    SECRET_TEXT,
    UNNAMED_QUESTION_TEXT,
    shorten_text,
)
from jpweb.store.choices import ApprovalKind
from jpweb.store.notifications import answer_buttons
from jpweb.store.notifications.answer_buttons import AnswerButton

if TYPE_CHECKING:
    from jpweb.store.notifications.deliveries import DueNotification

#: Characters of a question, and of a name, in a message.
MAX_TEXT_CHARS, MAX_NAME_CHARS = 160, 60

_TITLES = {
    None: "{asker} asks in {workspace}",
    ApprovalKind.RUN: "{asker} needs approval in {workspace}",
    ApprovalKind.DELIVER: "Review the result of {asker} in {workspace}",
}


def build_message(notification: DueNotification) -> dict[str, Any]:
    """Return the message of a notification to a browser."""
    asker = shorten_text(notification.asker, MAX_NAME_CHARS) or "jpweb"
    workspace = shorten_text(notification.workspace, MAX_NAME_CHARS)
    if notification.mention_id is not None:
        conversation = shorten_text(notification.conversation, MAX_NAME_CHARS) or "Untitled"
        return {
            "title": f"{asker} mentioned you in {workspace}",
            "body": f"In a comment on “{conversation}”.",
            "tag": f"mention-{notification.mention_id}",
            "url": reverse("comments", args=notification.comment_page),
        }
    title = _TITLES[notification.approval_kind].format(asker=asker, workspace=workspace)
    if notification.inquiry_id is None or notification.subscription is None:
        key = notification.approval_id
        body = APPROVAL_TEXTS[notification.approval_kind or ApprovalKind.RUN]
        url = reverse("approval", kwargs={"approval_id": key})
        return {"title": title, "body": body, "tag": f"approval-{key}", "url": url}
    sign_in_key = notification.subscription.sign_in_id
    message = {
        "title": title,
        "body": _describe_question(notification),
        **build_buttons(notification.inquiry_id, notification.buttons, sign_in_key),
    }
    # The browser may still show the message from before the snooze, and would replace it silently.
    return message | ({"returned": True} if notification.return_number else {})


def build_buttons(
    inquiry_id: int, buttons: Sequence[AnswerButton], sign_in_key: str
) -> dict[str, Any]:
    """Return the part of a question's message with which a browser opens and answers it."""
    route = {"inquiry_id": inquiry_id}
    address = {"tag": f"question-{inquiry_id}", "url": reverse("question", kwargs=route)}
    if not buttons:
        return address
    return address | {
        "answer_url": reverse("question-answer-by-notification", kwargs=route),
        "token": answer_buttons.make_token(inquiry_id, sign_in_key),
        "buttons": [{"title": button.label, "value": button.value} for button in buttons],
    }


def build_test() -> dict[str, Any]:
    """Return a test message."""
    return {
        "title": "jpweb: test notification",
        "body": "Questions that wait for you will be shown here.",
        "tag": "test",
        "url": reverse("notifications"),
    }


def _describe_question(notification: DueNotification) -> str:
    """Return the question's first line; of a secret one only that it is asked for."""
    if notification.is_secret:
        return SECRET_TEXT
    first_line = notification.text.strip().partition("\n")[0]
    return shorten_text(first_line, MAX_TEXT_CHARS) or UNNAMED_QUESTION_TEXT
