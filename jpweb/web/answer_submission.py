"""Submission of an answer or a decline, by a form or over the WebSocket, and its result.

``store/inbox/settlement.py`` decides in the database whether a submission is the first response and
wins. Its sender gets the result as the reply; other open pages get it as a live update, after the
commit (``web/websocket/live_updates.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from django.template.loader import render_to_string
from django.views.decorators.debug import sensitive_variables

from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import resolution
from jpweb.runtime.inquiries.secret_handover import NoWaitingCall
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.store import inquiries
from jpweb.store.errors import AlreadySettled, ReadOnlyConversation
from jpweb.store.inbox import claims
from jpweb.stream.errors import InvalidAnswer
from jpweb.web import access, notice_text

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider, SettledInquiry
    from jpweb.store.models import Inquiry

Refusal: TypeAlias = AlreadySettled | InvalidAnswer | ReadOnlyConversation
#: Errors of an answer that its form explains.
REFUSALS = (AlreadySettled, InvalidAnswer, ReadOnlyConversation)
#: HTTP status codes: settled by this request; settled before it; refused, so still open.
STATUS_SETTLED, STATUS_LATE, STATUS_OPEN = 200, 409, 422

_submissions = BackgroundTasks()


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """The result of a submission: its status, and the template that replaces the card."""

    status: int
    row: Inquiry
    template_name: str
    context: dict[str, Any]

    async def render_html(self) -> str:
        """Return the fragment for htmx and the WebSocket, without a CSRF token."""
        if self.status == STATUS_SETTLED:  # the context is loaded: no query
            return render_to_string(self.template_name, self.context)
        return await run_in_db_thread(render_to_string, self.template_name, self.context)


@dataclass(frozen=True, slots=True)
class AnswerInput:
    """The values of a card's form, to be shown again; empty for a secret."""

    answer: str = ""
    remember: bool = False
    note: str = ""


@sensitive_variables("answer_input", "retained_text")
async def submit_answer(
    row: Inquiry, decider: Decider, answer_input: AnswerInput, problem: str = ""
) -> SubmissionResult:
    """Settle a question with the form's answer; a refusal's result has the reason.

    ``problem`` is that of a form that is not valid: shown while the question is open.
    """
    retained_text = "" if row.answer_type == "secret" else answer_input.answer
    if problem and row.state == inquiries.OPEN_STATE:
        return await _make_open_result(row, answer_input, problem)
    try:
        settled_row = await resolution.answer_inquiry(
            row, answer_input.answer, decider, remember=answer_input.remember
        )
    except NoWaitingCall:
        retained_form = AnswerInput("", answer_input.remember, answer_input.note)
        return await _make_open_result(row, retained_form, notice_text.NO_WAITING_CALL)
    except REFUSALS as refusal:
        retained_form = AnswerInput(retained_text, answer_input.remember, answer_input.note)
        return await _make_refused_result(row, decider, retained_form, refusal)
    return _make_settled_result(settled_row)


async def submit_socket_answer(
    session_key: str | None, inquiry_id: int, answer_input: AnswerInput
) -> SubmissionResult | None:
    """Authorize and settle an answer in one trip to the database thread; None for a secret.

    A secret comes by its form alone. A commit is published also where the socket's task is
    cancelled meanwhile. Raises as ``access.authorize_answer``.
    """
    return await _submissions.run_shielded(_settle_answer(session_key, inquiry_id, answer_input))


async def _settle_answer(
    session_key: str | None, inquiry_id: int, answer_input: AnswerInput
) -> SubmissionResult | None:
    attempt = await run_in_db_thread(_attempt_answer, session_key, inquiry_id, answer_input)
    if attempt is None:
        return None
    row, decider, outcome = attempt
    if isinstance(outcome, REFUSALS):
        return await _make_refused_result(row, decider, answer_input, outcome)
    await resolution.publish_settlement(outcome)
    return _make_settled_result(outcome.inquiry)


def _attempt_answer(
    session_key: str | None, inquiry_id: int, answer_input: AnswerInput
) -> tuple[Inquiry, Decider, SettledInquiry | Refusal] | None:
    """Return the question, its decider, and the settlement or the refusal."""
    person, row = access.authorize_answer(session_key, inquiry_id)
    if row.answer_type == "secret":
        return None
    decider = inquiries.Decider.from_member(person)
    try:
        settlement = resolution.commit_answer(
            row, answer_input.answer, decider, remember=answer_input.remember
        )
    except REFUSALS as refusal:
        return row, decider, refusal
    return row, decider, settlement


async def submit_decline(row: Inquiry, decider: Decider, note: str) -> SubmissionResult:
    """Close a question without an answer; a refusal's result has the reason."""
    try:
        settled_row = await resolution.decline_inquiry(row, decider, note)
    except AlreadySettled:
        return await _make_late_result(row, decider, note)
    except ReadOnlyConversation as error:
        return await _make_open_result(row, AnswerInput(note=note), str(error))
    return _make_settled_result(settled_row)


async def _make_refused_result(
    row: Inquiry, decider: Decider, answer_input: AnswerInput, refusal: Refusal
) -> SubmissionResult:
    if isinstance(refusal, AlreadySettled):
        return await _make_late_result(row, decider, answer_input.answer)
    return await _make_open_result(row, answer_input, str(refusal))


def _make_settled_result(row: Inquiry) -> SubmissionResult:
    return SubmissionResult(STATUS_SETTLED, row, "questions/_settled.html", {"row": row})


async def _make_late_result(row: Inquiry, decider: Decider, retained_text: str) -> SubmissionResult:
    """Return the result for a question that is settled: by whom, and the text that was typed."""
    row = await run_in_db_thread(inquiries.get_inquiry, row.pk)
    # The decider may be the sender: from another tab, or again since the first reply was lost.
    context = {
        "row": row,
        "is_late": True,
        "typed_text": retained_text,
        "is_own_answer": row.decider_id == decider.person_id,
    }
    return SubmissionResult(STATUS_LATE, row, "questions/_settled.html", context)


async def _make_open_result(
    row: Inquiry, answer_input: AnswerInput, problem: str
) -> SubmissionResult:
    await run_in_db_thread(claims.attach_claims, [row])
    context = {
        "row": row,
        "typed_text": answer_input.answer,
        "problem": problem,
        "shows_conversation": True,
    }
    context |= {"remember": answer_input.remember, "note": answer_input.note}
    return SubmissionResult(STATUS_OPEN, row, "questions/_card.html", context)
