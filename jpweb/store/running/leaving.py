"""Questions that a turn left without an outcome: rows say ``unanswered``, as the transcript does.

Another program asked them, such as a ``jp`` whose turn was interrupted: our own questions are
settled before their run ends.
"""

from __future__ import annotations

from jpweb.store.inquiries import OPEN
from jpweb.store.models import Inquiry, JournalEntry
from jpweb.store.rows.prepared import Prepared

#: The state of a question whose turn went on without an outcome.
UNANSWERED = "unanswered"


def leave_before(conversation_id: int, position: int) -> int:
    """Mark the open rows before a new turn as unanswered, as the transcript does; return how many.

    Another program left them: our own are settled before their run ends.
    """
    found = _open_rows([conversation_id])
    return _leave([key for key, asked_at in found if asked_at < position])


def leave_call(conversation_id: int, head: int) -> int:
    """Mark the open rows of a tool call that has a response now as unanswered; return how many."""
    found = dict(_open_rows([conversation_id]))
    if not found:
        return 0
    own = JournalEntry.objects.filter(
        conversation_id=conversation_id, head=head, position__in=found.values()
    )
    positions = set(own.values_list("position", flat=True))
    return _leave([key for key, asked_at in found.items() if asked_at in positions])


def leave_all(conversation_id: int) -> int:
    """Mark every open row of a conversation whose turn is complete as unanswered."""
    return _leave([key for key, _ in _open_rows([conversation_id])])


def _leave(keys: list[int]) -> int:
    if not keys:
        return 0
    return Inquiry.objects.filter(pk__in=keys, state=OPEN).update(state=UNANSWERED)


_open_rows = Prepared(
    lambda talks: Inquiry.objects.filter(conversation_id__in=talks, state=OPEN).values_list(
        "pk", "position"
    )
)
