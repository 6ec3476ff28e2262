"""Buttons of a notification, and the tokens that let them answer.

A button answers as the person of the browser's session. Its token is bound to the question and to
that session, so a page of another site, which has no token, cannot answer (CSRF).
"""

from __future__ import annotations

from typing import NamedTuple

from django.utils.crypto import constant_time_compare, salted_hmac

from jpweb.store.models import Inquiry
from jpweb.stream.answer_type import Boolean, Select, read_answer_type
from jpweb.stream.errors import MalformedElement

#: Options of a select that has buttons at most; browsers show two or three.
MAX_BUTTONS = 3
#: Characters of an option that fits on a button.
MAX_LABEL_CHARS = 24
_TOKEN_SALT = "jpweb.store.notifications.answer_buttons"  # noqa: S105  no secret


class AnswerButton(NamedTuple):
    """A button: its label, and the answer as a form sends it."""

    label: str
    value: str


def list_buttons(row: Inquiry) -> list[AnswerButton]:
    """Return the buttons of a question; none where its answer is not a yes, no or short option."""
    try:
        answer_type = read_answer_type(row.question.get("answer_type"))
    except MalformedElement:
        return []
    match answer_type:
        case Boolean():
            return [AnswerButton("Yes", "true"), AnswerButton("No", "false")]
        case Select(options=options) if len(options) <= MAX_BUTTONS:
            labels = [option.label for option in options]
            if all(_can_fit_button(label) for label in labels) and len(set(labels)) == len(labels):
                return [AnswerButton(label, label) for label in labels]
    return []


def _can_fit_button(label: str) -> bool:
    return 0 < len(label.strip()) <= MAX_LABEL_CHARS and label.isprintable()


def make_token(inquiry_id: int, sign_in_key: str) -> str:
    """Return the token with which the browser of a sign-in may answer a question."""
    return salted_hmac(_TOKEN_SALT, f"{inquiry_id} {sign_in_key}", algorithm="sha256").hexdigest()


def is_valid_token(token: str, inquiry_id: int, sign_in_key: str) -> bool:
    return constant_time_compare(token, make_token(inquiry_id, sign_in_key))
