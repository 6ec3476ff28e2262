"""Batches of inboxes: what the log calls them where they fail."""

from __future__ import annotations

import math

import pytest

from jpweb.runtime.broadcast import close_codes
from jpweb.store.database.availability import DATABASE_UNAVAILABLE
from jpweb.web.websocket import inbox_batches, inbox_updates
from jpweb.web.websocket.inbox_updates import InboxUpdate, InboxView, PersonScopes
from tests.web.sockets import connect_page
from tests.web.world import World


@pytest.mark.parametrize("is_costly", [False, True], ids=["shared", "costly"])
async def test_log_names_lists_of_questions_whose_batch_failed(
    shared_world: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    is_costly: bool,
):
    find_updates = inbox_updates.find_inbox_updates

    def fail_batch(
        pages: list[tuple[int, InboxView]], max_changes: float = math.inf
    ) -> tuple[dict[int, PersonScopes], dict[InboxView, InboxUpdate]]:
        if math.isinf(max_changes) == is_costly:
            raise DATABASE_UNAVAILABLE[0]("gone")
        return find_updates(pages, max_changes)

    for runner in (inbox_batches.batches, inbox_batches.costly_batches):
        monkeypatch.setattr(runner, "_failed_keys", {})
    monkeypatch.setattr(inbox_batches, "MAX_BATCHED_CARDS", 0)
    monkeypatch.setattr(inbox_updates, "find_inbox_updates", fail_batch)
    async with connect_page(shared_world.people["responder"], inbox=True) as socket:
        assert await socket.closes() == close_codes.SERVER_FAULT
    lines = [record.message for record in caplog.records if "Updates" in record.message]
    assert lines == ["Updates of the lists of waiting questions could not be sent: gone"]
