"""Many writers at once: one chain without gap or fork, on both engines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from jpweb.store.choices import Act
from jpweb.store.ledger import sealing, verification
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import LedgerEntry

WRITERS, ENTRIES_PER_WRITER = 50, 4


@pytest.mark.django_db(transaction=True)
def test_fifty_writers_that_also_seal_make_one_unbroken_chain():
    barrier = Barrier(WRITERS)

    def write(number: int) -> None:
        try:
            barrier.wait()
            for _ in range(ENTRIES_PER_WRITER):
                record_act(Act.READ, Actor("person", f"Writer {number}", number), Place())
            sealing.seal_entries()
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    total = WRITERS * ENTRIES_PER_WRITER
    sequences = LedgerEntry.objects.order_by("sequence").values_list("sequence", flat=True)
    assert list(sequences) == list(range(1, total + 1))
    assert list(verification.find_problems()) == []
