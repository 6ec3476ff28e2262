"""Appends events of a run, and deletes the rows that they supersede, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from jpweb.store import db_text, journal
from jpweb.store.choices import RunPhase
from jpweb.store.models import CallCheckpoint, Inquiry, Run, RunInterrupt
from jpweb.store.run_queue import interrupts, leases, token_usage
from jpweb.store.run_queue.token_usage import UsageReport
from jpweb.store.sql import compiled_write
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse

#: Events that may quote an interrupt's text: a request, or the response of a call that it ended.
_MAY_QUOTE_INTERRUPT = (ChatRequest, ToolCallResponse)


@transaction.atomic
def record_events(
    run: Run,
    events: Sequence[ConversationEvent],
    interrupt_ids: Sequence[int] = (),
    *,
    is_last: bool = False,
    usage: UsageReport | None = None,
) -> list[Inquiry]:
    """Append events to the journal of a run's conversation; ``is_last`` ends its turn.

    Returns the rows of the questions among them. Raises LeaseLost, AlreadySettled. The checkpoint
    of a call is deleted with its response. ``interrupt_ids`` are the interrupts that the turn was
    given: one is handled once its text is in the journal. ``usage`` is that of a request to the
    model.
    """
    appended = journal.append_in_transaction(run.conversation_id, events, run)
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
    if interrupt_ids:
        texts = [
            db_text.clean_text(e.kind.content)
            for e in events
            if isinstance(e.kind, _MAY_QUOTE_INTERRUPT)
        ]
        open_interrupts = RunInterrupt.objects.filter(pk__in=list(interrupt_ids), handled_at=None)
        interrupts.mark_handled(
            [i.pk for i in open_interrupts if any(i.text in text for text in texts)]
        )
    return appended.opened_rows
