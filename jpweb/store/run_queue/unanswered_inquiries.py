"""Questions without an outcome: marks their rows ``unanswered``, as the transcript shows them.

Another program asked them, such as a ``jp`` whose turn was interrupted: our own
questions are settled before their run ends.
"""

from __future__ import annotations

from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.models import Inquiry, JournalEntry
from jpweb.store.sql.compiled_query import CompiledQuery

#: State of a question whose turn continued without an outcome.
UNANSWERED_STATE = "unanswered"


def mark_before_turn(conversation_id: int, position: int) -> int:
    """Mark the open rows before a new turn as unanswered; return their number.

    Another program asked them: our own are settled before their run ends.
    """
    open_rows = _open_rows_query([conversation_id])
    return _mark_unanswered([key for key, asked_position in open_rows if asked_position < position])


def mark_call_inquiries(conversation_id: int, item_position: int) -> int:
    """Mark the open rows of a tool call that now has a response as unanswered; return how many."""
    open_rows = dict(_open_rows_query([conversation_id]))
    if not open_rows:
        return 0
    call_entries = JournalEntry.objects.filter(
        conversation_id=conversation_id,
        item_position=item_position,
        position__in=open_rows.values(),
    )
    positions = set(call_entries.values_list("position", flat=True))
    return _mark_unanswered([key for key, position in open_rows.items() if position in positions])


def mark_all(conversation_id: int) -> int:
    """Mark every open row of a conversation whose turn is complete as unanswered."""
    return _mark_unanswered([key for key, _ in _open_rows_query([conversation_id])])


def _mark_unanswered(inquiry_ids: list[int]) -> int:
    if not inquiry_ids:
        return 0
    return Inquiry.objects.filter(pk__in=inquiry_ids, state=OPEN_STATE).update(
        state=UNANSWERED_STATE
    )


#: The ORM takes 0.2 ms longer, for each turn and each result.
_open_rows_query = CompiledQuery(
    lambda conversation_ids: Inquiry.objects.filter(
        conversation_id__in=conversation_ids, state=OPEN_STATE
    ).values_list("pk", "position")
)
