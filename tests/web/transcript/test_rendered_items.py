"""The cache of the HTML of items, and what has an item rendered again."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from jpweb.store.choices import Role
from jpweb.store.database import clock
from jpweb.store.models import Conversation, JournalEntry
from jpweb.stream.events import ChatRequest, ChatResponse
from jpweb.stream.inquiry import Answered
from jpweb.web import rendered_items
from tests.store import making
from tests.web.world import signed_in


def list_event_templates(response: Any) -> set[str]:
    """Return the templates of events that a response was rendered with."""
    names = {template.name for template in response.templates}
    return {name for name in names if name.startswith("events/")}


def open_page(client: Client, conversation: Conversation) -> Any:
    """Open a conversation as another page of the same process; return Django's test response."""
    return client.get(f"/conversations/{conversation.pk}")


@pytest.fixture
def conversation(db: None) -> Conversation:
    words = f"Which herbs, {secrets.token_hex(4)}?"  # another test's items are not these
    return making.mirrored_conversation(
        making.workspace(), ChatRequest(words), ChatResponse("message", f"Basil. {words}")
    )


def make_reader(conversation: Conversation, name: str = "Ada") -> Client:
    return signed_in(making.person(name, Role.READER, conversation.workspace))


def test_a_second_reader_gets_items_that_the_first_had_rendered(conversation: Conversation):
    first = open_page(make_reader(conversation), conversation)
    assert "events/chat_response.html" in list_event_templates(first)
    second = open_page(make_reader(conversation, "Bo"), conversation)
    assert list_event_templates(second) == set()
    assert "Basil." in second.text


def test_an_item_whose_record_changed_is_rendered_again(conversation: Conversation):
    reader = make_reader(conversation)
    open_page(reader, conversation)
    entry = JournalEntry.objects.get(conversation=conversation, text__contains="Basil.")
    entry.text = entry.text.replace("Basil.", "[redacted]")
    entry.save(update_fields=["text"])
    page = open_page(reader, conversation)
    assert "Basil." not in page.text
    assert "[redacted]" in page.text
    assert list_event_templates(page) == {"events/chat_response.html"} | {
        name for name in list_event_templates(page) if name.startswith("events/_")
    }


def test_the_age_of_an_answer_is_that_of_the_page(db: None, monkeypatch: pytest.MonkeyPatch):
    talk = making.conversation(making.workspace())
    ada = making.person("Ada", Role.RESPONDER, talk.workspace)
    row = making.question(making.start_run(talk, ada))
    making.settle(row, Answered(True), making.decider(ada))
    client = signed_in(ada)
    settled_at = row.asked_at
    monkeypatch.setattr(clock, "now", lambda: settled_at + timedelta(seconds=1))
    assert "just now" in open_page(client, talk).text
    monkeypatch.setattr(clock, "now", lambda: settled_at + timedelta(hours=3))
    page = open_page(client, talk).text
    assert "just now" not in page
    assert "3\xa0hours ago" in page


def test_long_html_is_not_cached(monkeypatch: pytest.MonkeyPatch, conversation: Conversation):
    monkeypatch.setattr(rendered_items, "MAX_ITEM_CHARS", 10)
    reader = make_reader(conversation)
    first = list_event_templates(open_page(reader, conversation))
    assert first
    assert list_event_templates(open_page(reader, conversation)) == first
