"""What the holder of a run puts on record, and what that makes superfluous; one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from jpweb.store import journal, plain
from jpweb.store.models import Interruption, KeptResult, Run
from jpweb.store.rows import single
from jpweb.store.running import interruptions, leases
from jpweb.store.terms import RunPhase
from jpweb.stream.events import ChatRequest, ConversationEvent, ToolCallResponse

#: What may hold a person's words: a request of its own, or the responses that they ended.
_SAYS = (ChatRequest, ToolCallResponse)


@transaction.atomic
def record(
    run: Run,
    events: Sequence[ConversationEvent],
    heard: Sequence[int] = (),
    *,
    last: bool = False,
) -> None:
    """Append events to the journal of a run's conversation; with the ``last`` its turn is over.

    Raises NotHolder, AlreadySettled.

    A result that was kept goes with its response. ``heard`` are the interruptions that the turn
    was told of: one counts as taken once its words are on record.
    """
    journal.add(run.conversation_id, events, run)
    if last:
        leases.guard(run, RunPhase.OVER)
    for event in events:
        if isinstance(event.kind, ToolCallResponse):
            call = plain.text(event.kind.id)
            single.delete(KeptResult, {"run_id": run.pk, "tool_call_id": call})
    if heard:
        texts = [plain.text(e.kind.content) for e in events if isinstance(e.kind, _SAYS)]
        told = Interruption.objects.filter(pk__in=list(heard), taken_at=None)
        interruptions.taken([i.pk for i in told if any(i.text in text for text in texts)])
