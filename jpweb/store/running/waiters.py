"""Which process's call waits for the secret of an open question, and the key that seals for it.

Where no call waits, the row may say that somebody has sent the secret: the call that comes to wait
keeps its run from being parked until the secret has reached it.
"""

from __future__ import annotations

from django.db import transaction

from jpweb.store.inquiries import OPEN
from jpweb.store.models import Inquiry, Run

#: Stands in ``seal_key`` while a secret was sent and no call waits for it; no key is like it.
SENT = "sent"


@transaction.atomic
def wait(inquiry_key: int, process: str, seal_key: str) -> tuple[Run | None, bool]:
    """Say that a call of a process waits; the last to say so counts.

    Returns the run that asks, as it is held now, and whether the secret was sent already. Of a
    question that is not open nothing is said.
    """
    row = Inquiry.objects.filter(pk=inquiry_key, state=OPEN)
    is_sent = bool(row.filter(seal_key=SENT).update(waiter=process, seal_key=seal_key))
    if not is_sent:
        row.update(waiter=process, seal_key=seal_key)
    return Run.objects.filter(inquiries__pk=inquiry_key).first(), is_sent


def note_sent(row: Inquiry) -> bool:
    """Note in an open row that its secret was sent; return False where the row has changed."""
    if row.seal_key == SENT:
        return True
    same = Inquiry.objects.filter(pk=row.pk, state=OPEN, waiter=row.waiter, seal_key=row.seal_key)
    return bool(same.update(waiter="", seal_key=SENT))


def leave(inquiry_key: int, process: str, seal_key: str) -> bool:
    """Say that the call waits no longer; tells whether it still was the one that counts."""
    own = Inquiry.objects.filter(pk=inquiry_key, waiter=process, seal_key=seal_key)
    return bool(own.update(waiter="", seal_key=""))
