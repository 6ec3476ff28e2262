"""The agent's Prompter port over the web: inquiries and approvals that people answer on pages."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jpweb.agent.idle_tracker import IdleTracker
from jpweb.agent.ports import (
    Answer,
    AnswerSource,
    Declined,
    Delivered,
    DeliverPrompt,
    PermissionSource,
    Permitted,
    RunPrompt,
    Skipped,
    Withheld,
)
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries import approvals, presence, resolution
from jpweb.runtime.rendering import ansi
from jpweb.store import approvals as approval_rows
from jpweb.store import inquiries
from jpweb.store.choices import ApprovalKind
from jpweb.store.derived_rows import from_stream
from jpweb.store.errors import AlreadyDecided, AlreadySettled, UnknownApproval
from jpweb.store.inquiries import Decider, SettledInquiry
from jpweb.stream.inquiry import CancellationReason, Cancelled, read_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jpweb.agent.ports import QuestionPrompt
    from jpweb.store.models import Approval, Inquiry, Run


@dataclass(slots=True)
class AwaitedRows:
    """The rows that the calls of a run wait for: of inquiries and of approvals."""

    inquiry_keys: set[int] = field(default_factory=set)
    approval_keys: set[int] = field(default_factory=set)

    @contextmanager
    def await_inquiry(self, key: int) -> Iterator[None]:
        """Count an inquiry as awaited while the block runs."""
        self.inquiry_keys.add(key)
        try:
            yield
        finally:
            self.inquiry_keys.discard(key)

    @contextmanager
    def await_approval(self, key: int) -> Iterator[None]:
        """Count an approval as awaited while the block runs."""
        self.approval_keys.add(key)
        try:
            yield
        finally:
            self.approval_keys.discard(key)


@dataclass(frozen=True, slots=True)
class BrowserPrompter:
    """Prompter of one conversation.

    ``get_withdrawer`` returns the person who interrupted the run, ``get_reply`` the text that the
    model gets instead ("" for none), for inquiries that this closes.
    ``run`` is the run as this process holds it. ``opened_rows`` are those of questions that it has
    just recorded. Raises LeaseLost once another process has the run.
    """

    conversation_id: int
    workspace_id: int
    get_withdrawer: Callable[[], Decider]
    awaited_rows: AwaitedRows = field(default_factory=AwaitedRows)
    idle_tracker: IdleTracker = field(default_factory=IdleTracker)
    run: Run | None = None
    opened_rows: dict[str, Inquiry] = field(default_factory=dict)
    get_reply: Callable[[], str] = lambda: ""

    async def has_reachable_person(self) -> bool:
        """Return whether a member who may answer has a page open."""
        return await presence.is_reachable(self.workspace_id)

    async def ask(self, prompt: QuestionPrompt) -> Answer | Declined:
        new_row = self.opened_rows.pop(prompt.inquiry_id, None)
        with (
            self.idle_tracker.prevent_idle()
        ):  # parked before the row is awaited, the run would not be requeued by an answer
            row = new_row or await self._get_row(prompt)
        with self.awaited_rows.await_inquiry(row.pk):
            if prompt.question.answer_type.RECORDS_ANSWER:
                is_new = new_row is not None
                return _make_reply(await resolution.wait_until_settled(row, is_new=is_new))
            secret = await resolution.wait_for_secret(row, self.idle_tracker.prevent_idle, self.run)
            return (
                Answer(secret)
                if isinstance(secret, str)
                else _make_reply(SettledInquiry(secret, False))
            )

    async def withdraw(self, prompt: QuestionPrompt, reason: CancellationReason) -> None:
        row = await self._get_row(prompt)
        is_interrupted = reason is CancellationReason.USER
        decider = self.get_withdrawer() if is_interrupted else Decider("system")
        reply = from_stream.clean_note(self.get_reply()) if is_interrupted else ""
        details: dict[str, bool | str] = {"withdrawn": True, "replied": bool(reply), "note": reply}
        try:
            await resolution.settle_inquiry(row, Cancelled(reason), decider, self.run, **details)
        except AlreadySettled:
            return  # an earlier settlement wins (compare-and-set)

    async def permit(self, prompt: RunPrompt) -> Permitted | Skipped:
        display = {
            "described": prompt.description,
            "arguments": dict(prompt.arguments),
            "edit": prompt.edit,
            "text": None
            if prompt.formatted_arguments is None
            else ansi.remove_colors(prompt.formatted_arguments),
            "definition": prompt.definition,
        }
        row = await self._ask_approval(ApprovalKind.RUN, prompt, display)
        return (
            Skipped()
            if row is None
            else _read_permission(await self._wait_for_decision(row), prompt)
        )

    async def deliver(self, prompt: DeliverPrompt) -> Delivered | Withheld:
        display = {"content": prompt.content, "is_error": prompt.is_error, "edit": prompt.edit}
        row = await self._ask_approval(ApprovalKind.DELIVER, prompt, display)
        return Withheld() if row is None else _read_delivery(await self._wait_for_decision(row))

    async def close_prompt(self, prompt: RunPrompt | DeliverPrompt) -> None:
        kind = ApprovalKind.RUN if isinstance(prompt, RunPrompt) else ApprovalKind.DELIVER
        row = await run_in_db_thread(
            approval_rows.find_open_for_call, self.conversation_id, kind, prompt.tool_call_id
        )
        if row is None:
            return
        try:
            row = await run_in_db_thread(approval_rows.withdraw_approval, row.pk)
        except AlreadyDecided:
            return  # an earlier decision wins (compare-and-set)
        await approvals.publish_decided(row)

    async def _wait_for_decision(self, row: Approval) -> Approval:
        with self.awaited_rows.await_approval(row.pk):
            decided_row = await approvals.wait_until_decided(row)
            await run_in_db_thread(approval_rows.mark_spent, row.pk)
        return decided_row

    async def _ask_approval(
        self, kind: ApprovalKind, prompt: RunPrompt | DeliverPrompt, display: dict[str, Any]
    ) -> Approval | None:
        """Create an approval and publish it; None where its run is over."""
        call_info = (self.conversation_id, kind, prompt.tool_call_id, prompt.tool_name, display)
        try:
            with self.idle_tracker.prevent_idle():  # parked here, it would stay unpublished
                row = await run_in_db_thread(
                    approval_rows.request_approval, *call_info, held_run=self.run
                )
        except UnknownApproval:
            return None
        await approvals.publish_decided(row)
        return row

    async def _get_row(self, prompt: QuestionPrompt) -> Inquiry:
        return await run_in_db_thread(
            inquiries.find_by_inquiry_id, self.conversation_id, prompt.inquiry_id
        )


def _make_reply(settlement: SettledInquiry) -> Answer | Declined:
    row = settlement.inquiry
    if row.state == "answered":
        source = AnswerSource(row.decider_name, row.decider_id)
        return Answer(row.answer, settlement.is_remembered, source)
    if row.state == "redacted":  # the call that had the secret has ended
        return Declined(CancellationReason.LOST)
    row_reason = read_reason(row.reason)
    cancel_reason = (
        row_reason if isinstance(row_reason, CancellationReason) else CancellationReason.USER
    )
    return Declined(cancel_reason, row.note)


def _read_permission(row: Approval, prompt: RunPrompt) -> Permitted | Skipped:
    """Read the decision of a settled row; a withdrawn approval permits nothing."""
    decision = row.decision or {}
    remember = decision.get("remember") is True
    source = PermissionSource(row.pk, row.decider_name, row.decider_id)
    if decision.get("allow") is True:
        return Permitted(decision.get("arguments", prompt.arguments), remember, source)
    return Skipped(decision.get("reason", ""), remember, source)


def _read_delivery(row: Approval) -> Delivered | Withheld:
    decision = row.decision or {}
    return Delivered(decision.get("content")) if decision.get("allow") is True else Withheld()
