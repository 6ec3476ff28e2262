"""Fixtures of the tests of downloads."""

from __future__ import annotations

import pytest
from django.db import transaction

from jpweb.runtime import downloads as under_way
from jpweb.store import audit
from jpweb.store import exports as store_exports
from jpweb.store.transcript import item_batches
from jpweb.web.security import download_responses
from tests.machine.suite.row_copies import RowCopies
from tests.web.security.shelves import Shelf
from tests.web.world import World

#: A shelf takes 0.1 s of processor time, half of that of many a test of a download.
copy_shelf = RowCopies(lambda: Shelf(World()))


@pytest.fixture
def shelf(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Return a shelf where a piece holds little."""
    with transaction.atomic():
        new_shelf = copy_shelf()
    for module, name, amount in (
        (audit, "BATCH_ROWS", 2),
        (store_exports, "MAX_CHUNK_ENTRIES", 10),
        (item_batches, "MAX_BATCH_ENTRIES", 10),
        (download_responses, "SLICE_BYTES", 500),
        (under_way, "REST_RATIO", 0),
    ):
        monkeypatch.setattr(module, name, amount)
    return new_shelf
