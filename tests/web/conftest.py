"""A world with somebody in every role, and clients signed in as them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from channels.layers import channel_layers
from django.db import transaction

from jpweb.runtime import read_log
from jpweb.runtime.broadcast import local_bus, partial_texts
from tests.machine.suite.row_copies import RowCopies
from tests.web.world import World, clear_limits

#: A world takes 50 statements, half of the processor time of many a test of a page.
copy_world = RowCopies(World)


@pytest.fixture(autouse=True)
def fresh_layer() -> Iterator[None]:
    """Give each test a channel layer of its own event loop."""
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()


@pytest.fixture(autouse=True)
def fresh_limits() -> None:
    """Count what each test does alone."""
    partial_texts._texts.clear()
    clear_limits()


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return rows that are rolled back; Channels would close their connection with them.

    No run is taken up here: its task would outlive the request's event loop in another thread,
    which waits for the lock of this test's transaction and connects between two tests.
    """
    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)
    monkeypatch.setitem(local_bus._subscribers, local_bus.make_kind_topic("run"), set())
    return copy_world()


@pytest.fixture
def shared_world(transactional_db: None) -> World:
    """Return rows that other threads see too."""
    with transaction.atomic():
        return copy_world()


@pytest.fixture
def gathered_reads() -> Iterator[Counter[read_log.ReadRecord]]:
    """Yield the reads that wait to be written; none of other tests."""
    reads = read_log._gathered_reads
    reads.clear()
    yield reads
    reads.clear()
