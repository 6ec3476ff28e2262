"""Appends events of a run, and closes the rows that they supersede, in one transaction.

It also saves where in the journal a person restarted the open calls of a run.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from jpweb.store import approvals, db_text, journal
from jpweb.store.choices import RunPhase
from jpweb.store.journal import AppendResult
from jpweb.store.models import CallCheckpoint, Run
from jpweb.store.run_queue import call_checkpoints, interrupts, leases, token_usage
from jpweb.store.run_queue.token_usage import UsageReport
from jpweb.store.sql import compiled_write
from jpweb.stream.events import ConversationEvent, ToolCallResponse


@transaction.atomic
def record_events(
    run: Run,
    events: Sequence[ConversationEvent],
    interrupt_ids: Sequence[int] = (),
    *,
    is_last: bool = False,
    usage: UsageReport | None = None,
) -> AppendResult:
    """Append events to the journal of a run's conversation; ``is_last`` ends its turn.

    Returns the new length, and the rows of the questions among them. Raises LeaseLost,
    AlreadySettled. The response of a call deletes its checkpoint and spends its decisions.
    ``interrupt_ids`` are interrupts that are handled with these events. ``usage`` is that of a
    request to the model.
    """
    append_result = journal.append_in_transaction(run.conversation_id, events, run)
    if is_last:
        leases.assert_held(run, RunPhase.OVER)
    if usage is not None:
        token_usage.add_report(run, usage)
    for event in events:
        if isinstance(event.kind, ToolCallResponse):
            tool_call_id = db_text.clean_text(event.kind.id)
            compiled_write.delete_rows(
                CallCheckpoint, {"run_id": run.pk, "tool_call_id": tool_call_id}
            )
            approvals.spend_decisions(run.pk, tool_call_id)
    if interrupt_ids:
        interrupts.mark_handled(interrupt_ids)
    return append_result


@transaction.atomic
def restart_calls(run: Run, interrupt_ids: Sequence[int] = ()) -> int:
    """Delete the checkpoints of a run, and save that its calls run again from their start.

    Returns the length of the journal: what it holds of these calls counts no longer. Raises
    LeaseLost. ``interrupt_ids`` are the interrupts that restart them: they are handled.
    """
    entry_count = journal.lock_conversation(run.conversation_id).entry_count
    leases.assert_held(run)
    compiled_write.update_rows(Run, {"id": run.pk}, restart_position=entry_count)
    call_checkpoints.clear_checkpoints(run)
    if interrupt_ids:
        interrupts.mark_handled(interrupt_ids)
    return entry_count
