"""The texts of an event that pages and permalinks show."""

from __future__ import annotations

from jpweb.runtime.rendering.payloads import get_payloads
from jpweb.stream.events import ConversationEvent, Element, TurnStart
from tests.builders import AT


def test_kind_without_an_iterator_shows_its_stored_event():
    class Note(TurnStart):
        pass

    element = Element('{"type": "note"}', ConversationEvent(AT, Note()))
    assert [*get_payloads(element)] == ["raw"]
