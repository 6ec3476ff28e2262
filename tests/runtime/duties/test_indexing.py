from __future__ import annotations

from typing import Any

import pytest

from jpweb.runtime.crossing import in_store
from jpweb.runtime.duties import indexing, keeping
from jpweb.store import journal
from jpweb.store.finding import index
from jpweb.store.models import Conversation, Passage
from jpweb.stream.events import ChatResponse
from tests.store import making

pytestmark = pytest.mark.django_db(transaction=True)


def talks() -> None:
    home = making.workspace()
    for n in range(3):
        talk = making.conversation(home)
        journal.append(talk.pk, [making.event(ChatResponse("message", f"word {n}"))])


async def test_all_that_changed_is_indexed():
    await in_store(talks)
    assert await indexing.index_due() == 3
    assert await in_store(Conversation.objects.filter(unindexed=True).count) == 0
    assert await in_store(Passage.objects.filter(facet="message").count) == 3
    assert await indexing.index_due() == 0


async def test_conversation_that_is_broken_keeps_no_other_from_the_index(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    await in_store(talks)
    newest = await in_store(Conversation.objects.order_by("-last_activity", "-id").first)
    assert newest is not None
    real = index._made

    def made(key: int, *more: Any) -> Any:
        if key == newest.pk:
            raise KeyError("rows that do not fit each other")
        return real(key, *more)

    monkeypatch.setattr(index, "_made", made)
    assert await indexing.index_due() == 3
    assert await indexing.index_due() == 0
    assert await in_store(Passage.objects.filter(facet="message").count) == 2
    assert len([r for r in caplog.records if "cannot be indexed" in r.message]) == 1


def test_some_process_does_it_soon_after_a_change():
    (duty,) = (each for each in keeping.DUTIES if each.work is indexing.index_due)
    assert duty.every <= 1
