"""Approvals of tool calls and of their results: people's decisions, and waiting for them.

The row decides which decision is first; the waiters in memory only wake the waiting call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jpweb.runtime.broadcast import local_bus, publisher
from jpweb.runtime.db_threads import run_in_db_thread
from jpweb.runtime.inquiries.resolution import RowWaiters
from jpweb.runtime.tasks import BackgroundTasks
from jpweb.store import approvals, db_text
from jpweb.store.choices import ApprovalKind, ApprovalState, RunState
from jpweb.store.derived_rows import from_stream
from jpweb.store.errors import AlreadyDecided
from jpweb.stream.errors import InvalidAnswer, MalformedElement
from jpweb.stream.event_kind import check_storable
from jpweb.stream.wire.strict_json import parse_strict_json

if TYPE_CHECKING:
    from jpweb.store.inquiries import Decider
    from jpweb.store.models import Approval

#: Bytes of arguments or of a result up to which a page lets people edit them.
MAX_EDITABLE_BYTES = 100_000

_background_tasks = BackgroundTasks()
decision_waiters: RowWaiters[Approval] = RowWaiters()
local_bus.add_subscriber(
    local_bus.make_kind_topic("decided"), lambda signal: decision_waiters.notify(signal["approval"])
)


@dataclass(frozen=True, slots=True)
class ApprovalVerdict:
    """A person's decision; ``text`` holds the arguments or the result as edited in the form.

    ``text`` is None for a form without that field; ``reason`` is only for a refusal.
    """

    allow: bool
    remember: bool = False
    text: str | None = None
    reason: str = ""


async def decide_approval(
    approval_key: int, verdict: ApprovalVerdict, decider: Decider
) -> Approval:
    """Settle an approval; return the settled row.

    A cancellation of the caller, such as the end of its request, stops neither the commit nor its
    publication.
    Raises UnknownApproval, InvalidAnswer, AlreadyDecided.
    """
    row = await run_in_db_thread(approvals.get_approval, approval_key)
    if row.state != ApprovalState.OPEN or row.run is None:  # an imported one has no run
        raise AlreadyDecided(row)
    decision = (
        _build_run_decision(row, verdict)
        if row.kind == ApprovalKind.RUN
        else _build_delivery_decision(row, verdict)
    )
    return await _background_tasks.run_shielded(_settle_row(approval_key, decision, decider))


async def _settle_row(approval_key: int, decision: Mapping[str, Any], decider: Decider) -> Approval:
    decided_row = await run_in_db_thread(approvals.decide_approval, approval_key, decision, decider)
    await publish_decided(decided_row)
    return decided_row


async def wait_until_decided(row: Approval) -> Approval:
    """Return the row once it is decided or withdrawn."""

    async def fetch_if_decided() -> Approval | None:
        current_row = await run_in_db_thread(approvals.get_approval, row.pk)
        return None if current_row.state == ApprovalState.OPEN else current_row

    return await decision_waiters.wait_for(row.pk, fetch_if_decided)


async def publish_decided(row: Approval) -> None:
    """Wake the waiting call and publish the change to pages."""
    await publisher.publish_approval_decided(row.pk)
    if row.run is not None and row.run.state == RunState.QUEUED:
        await publisher.publish_run_changed(row.run.pk)  # parked until now, requeued
    await publisher.publish_questions_changed(row.conversation.workspace_id)
    await publisher.publish_conversation_changed(row.conversation_id)


def parse_edited_arguments(row: Approval, text: str | None) -> Mapping[str, Any] | None:
    """Return the arguments of a form, or None where they equal the call's. Raises InvalidAnswer.

    A form submits them whole, so that the arguments in the field are those that run.
    """
    if text is None:
        return None
    original_arguments = row.subject.get("arguments")
    try:
        edited_arguments = parse_strict_json(text)
        is_unchanged = _dump_canonical(edited_arguments) == _dump_canonical(original_arguments)
    except (ValueError, RecursionError) as error:
        raise InvalidAnswer(f"Invalid JSON: {_describe_json_error(error)}.") from error
    if not isinstance(edited_arguments, dict):
        raise InvalidAnswer("The arguments must be a JSON object, such as {}.")
    try:
        # The metadata of the call's response.
        check_storable({"metadata": {"jpweb": {"arguments": edited_arguments}}})
    except MalformedElement as error:
        raise InvalidAnswer(f"The arguments cannot be recorded: {error}.") from error
    return None if is_unchanged else edited_arguments


def parse_edited_result(row: Approval, text: str | None) -> str | None:
    """Return the result of a form, or None where it equals the tool's or is empty.

    Raises InvalidAnswer.
    """
    if not text:
        return None
    edited_text = _normalize_newlines(text)
    if not row.subject.get("is_error") and edited_text == _normalize_newlines(
        str(row.subject.get("content"))
    ):
        return None
    if "\x00" in edited_text:
        raise InvalidAnswer("The text contains a NUL character, which can't be stored.")
    return edited_text


def recover_typed_text(row: Approval, verdict: ApprovalVerdict) -> str:
    """Return the typed text of a verdict that was not used, so that the person can copy it."""
    if not verdict.allow:
        return verdict.reason
    if row.state != ApprovalState.OPEN or verdict.text is None:
        return verdict.text or ""
    try:
        return verdict.text if _parse_edit(row, verdict.text) is not None else ""
    except InvalidAnswer:
        return verdict.text


def get_editable_text(row: Approval) -> str:
    """Return the text that a form offers for editing; empty for an error."""
    if row.kind == ApprovalKind.RUN:
        return json.dumps(row.subject.get("arguments"), indent=2, ensure_ascii=False)
    return "" if row.subject.get("is_error") else str(row.subject.get("content", ""))


def _parse_edit(row: Approval, text: str) -> Any:
    is_run = row.kind == ApprovalKind.RUN
    return parse_edited_arguments(row, text) if is_run else parse_edited_result(row, text)


def _build_run_decision(row: Approval, verdict: ApprovalVerdict) -> dict[str, Any]:
    decision: dict[str, Any] = {"allow": verdict.allow, "remember": verdict.remember}
    if not verdict.allow:
        reason = _normalize_newlines(verdict.reason).replace("\x00", "")
        return decision | {"reason": from_stream.clean_note(reason)}
    arguments = parse_edited_arguments(row, verdict.text)
    if arguments is None:
        return decision
    if verdict.remember:
        raise InvalidAnswer(
            "Edited arguments can only be allowed once. To allow the tool for this turn, "
            "restore the original arguments."
        )
    return decision | {"arguments": arguments}


def _build_delivery_decision(row: Approval, verdict: ApprovalVerdict) -> dict[str, Any]:
    if not verdict.allow:
        return {"allow": False}
    content = parse_edited_result(row, verdict.text)
    return {"allow": True} if content is None else {"allow": True, "content": content}


def _dump_canonical(value: Any) -> str:
    """Return canonical JSON. Raises ValueError for characters that no database takes."""
    if db_text.clean_json(value) != value:
        raise ValueError("it contains a character that can't be stored")
    return json.dumps(value, sort_keys=True)


def _describe_json_error(error: Exception) -> str:
    match error:
        case json.JSONDecodeError(msg=message, lineno=line, colno=column):
            return f"{message[:1].lower()}{message[1:]}, line {line}, column {column}"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return str(error)


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
