"""Which process's call waits for the secret of an open question, and the key that seals for it."""

from __future__ import annotations

from django.db import transaction

from jpweb.store.inquiries import OPEN
from jpweb.store.models import Inquiry, Run


@transaction.atomic
def wait(inquiry_key: int, process: str, seal_key: str) -> Run | None:
    """Say that a call of a process waits; the last to say so counts.

    Returns the run that asks, as it is held now. Of a question that is not open nothing is said.
    """
    row = Inquiry.objects.filter(pk=inquiry_key, state=OPEN)
    row.update(waiter=process, seal_key=seal_key)
    return Run.objects.filter(inquiries__pk=inquiry_key).first()


def leave(inquiry_key: int, process: str, seal_key: str) -> bool:
    """Say that the call waits no longer; tells whether it still was the one that counts."""
    own = Inquiry.objects.filter(pk=inquiry_key, waiter=process, seal_key=seal_key)
    return bool(own.update(waiter="", seal_key=""))
