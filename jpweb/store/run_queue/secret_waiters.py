"""Waiters for secrets: the process whose call waits for an open question's secret, and its key.

Where no call waits, the row may be marked that a secret was sent: the next call that
waits keeps its run from being parked until the secret has arrived.
"""

from __future__ import annotations

from django.db import transaction

from jpweb.store.inquiries import OPEN_STATE
from jpweb.store.models import Inquiry, Run
from jpweb.store.run_queue import leases

#: Value of ``seal_key`` while a secret was sent and no call waits for it; never a valid key.
SENT_MARK = "sent"


@transaction.atomic
def register_waiter(
    inquiry_key: int, process: str, seal_key: str, held_run: Run | None = None
) -> tuple[Run | None, bool]:
    """Register the call of a process as the waiter of an open question; the last one counts.

    Returns the run that asks, and whether a secret was sent already. A question that is not
    open is left unchanged. ``held_run`` is that run as its holder has it: raises LeaseLost where
    another process holds it.
    """
    if held_run is not None:
        leases.assert_held(held_run)
    row = Inquiry.objects.filter(pk=inquiry_key, state=OPEN_STATE)
    is_sent = bool(row.filter(seal_key=SENT_MARK).update(waiter=process, seal_key=seal_key))
    if not is_sent:
        row.update(waiter=process, seal_key=seal_key)
    return Run.objects.filter(inquiries__pk=inquiry_key).first(), is_sent


def mark_secret_sent(row: Inquiry) -> bool:
    """Mark an open row's secret as sent; return False where the row has changed."""
    if row.seal_key == SENT_MARK:
        return True
    unchanged_row = Inquiry.objects.filter(
        pk=row.pk, state=OPEN_STATE, waiter=row.waiter, seal_key=row.seal_key
    )
    return bool(unchanged_row.update(waiter="", seal_key=SENT_MARK))


def unregister_waiter(inquiry_key: int, process: str, seal_key: str) -> bool:
    """Unregister a waiter; tells whether it was still the registered one."""
    waiting_row = Inquiry.objects.filter(pk=inquiry_key, waiter=process, seal_key=seal_key)
    return bool(waiting_row.update(waiter="", seal_key=""))
