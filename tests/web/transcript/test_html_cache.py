"""The cache of the HTML of items and rows, and what has one rendered again."""

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
from jpweb.web import html_cache
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
    conversation = making.conversation(making.workspace())
    ada = making.person("Ada", Role.RESPONDER, conversation.workspace)
    row = making.question(making.start_run(conversation, ada))
    making.settle(row, Answered(True), making.decider(ada))
    client = signed_in(ada)
    settled_at = row.asked_at
    monkeypatch.setattr(clock, "now", lambda: settled_at + timedelta(seconds=1))
    assert "just now" in open_page(client, conversation).text
    monkeypatch.setattr(clock, "now", lambda: settled_at + timedelta(hours=3))
    page = open_page(client, conversation).text
    assert "just now" not in page
    assert "3\xa0hours ago" in page


def test_long_html_is_not_cached(monkeypatch: pytest.MonkeyPatch, conversation: Conversation):
    monkeypatch.setattr(html_cache, "MAX_ENTRY_CHARS", 10)
    reader = make_reader(conversation)
    first = list_event_templates(open_page(reader, conversation))
    assert first
    assert list_event_templates(open_page(reader, conversation)) == first


def make_titled(name: str) -> tuple[Client, Conversation]:
    """Return a reader, and a conversation of another title than those of other tests."""
    conversation = making.mirrored_conversation(making.workspace(), ChatRequest("Which herbs?"))
    conversation.title = f"Herbs {secrets.token_hex(4)}"
    conversation.save(update_fields=["title"])
    return make_reader(conversation, name), conversation


ROW_TEMPLATE = "conversations/_row.html"


def list_row_templates(response: Any) -> list[str]:
    """Return the templates of rows that a response was rendered with."""
    names = (template.name for template in response.templates)
    return [name for name in names if name in (ROW_TEMPLATE, "audit/inquiry_row.html")]


def test_second_reader_of_the_list_gets_the_rows_of_the_first(db: None):
    reader, conversation = make_titled("Ada")
    assert list_row_templates(reader.get("/conversations")) == [ROW_TEMPLATE]
    second = make_reader(conversation, "Bo").get("/conversations")
    assert list_row_templates(second) == []
    assert conversation.title in second.text


@pytest.mark.parametrize(
    ("field", "value", "shown_text"),
    [
        ("title", "Thyme", "Thyme"),
        ("labels", {"garden": "north"}, "garden=north"),
        ("entry_count", 77, '"events">77<'),
        ("problem", "Its file is damaged.", "Its file is damaged."),
    ],
)
def test_row_whose_conversation_changed_is_rendered_again(
    db: None, field: str, value: Any, shown_text: str
):
    reader, conversation = make_titled("Ada")
    assert shown_text not in reader.get("/conversations").text
    Conversation.objects.filter(pk=conversation.pk).update(**{field: value})
    assert shown_text in reader.get("/conversations").text


def test_row_has_actions_for_a_responder_and_none_for_a_reader(db: None):
    reader, conversation = make_titled("Ada")
    responder = signed_in(making.person("Bo", Role.RESPONDER, conversation.workspace))
    assert 'class="row-menu"' not in reader.get("/conversations").text
    assert 'class="row-menu"' in responder.get("/conversations").text
    assert 'class="row-menu"' not in reader.get("/conversations").text


def test_row_of_the_audit_is_kept_until_its_question_is_settled(db: None):
    conversation = making.conversation(making.workspace())
    ada = making.person("Ada", Role.RESPONDER, conversation.workspace)
    row = making.question(making.start_run(conversation, ada))
    auditor = signed_in(making.person("Bo", Role.AUDITOR, conversation.workspace))
    assert list_row_templates(auditor.get("/audit")) == ["audit/inquiry_row.html"]
    assert list_row_templates(auditor.get("/audit")) == []
    making.settle(row, Answered(True), making.decider(ada))
    settled = auditor.get("/audit")
    assert list_row_templates(settled) == ["audit/inquiry_row.html"]
    assert 'data-outcome="answered"' in settled.text


def list_parts(response: Any) -> set[str]:
    """Return the cached parts beside items that a response was rendered with."""
    names = {template.name for template in response.templates}
    return names & {
        "conversations/_outline_turns.html",
        "conversations/_line_head.html",
        "_main_navigation.html",
    }


def test_outline_and_headings_are_rendered_once(conversation: Conversation):
    first = open_page(make_reader(conversation), conversation)
    assert "conversations/_outline_turns.html" in list_parts(first)
    second = open_page(make_reader(conversation, "Bo"), conversation)
    assert list_parts(second) == set()
    assert 'class="outline-turn"' in second.text
    assert 'class="turn-head"' in second.text


def test_outline_whose_question_was_settled_is_rendered_again(db: None):
    conversation = making.conversation(making.workspace())
    ada = making.person("Ada", Role.RESPONDER, conversation.workspace)
    row = making.question(
        making.start_run(conversation, ada), text=f"Thyme {secrets.token_hex(4)}?"
    )
    client = signed_in(ada)
    open_page(client, conversation)
    making.settle(row, Answered(True), making.decider(ada))
    outline = (
        open_page(client, conversation).text.partition('id="outline"')[2].partition("</nav>")[0]
    )
    assert 'data-outcome="answered"' in outline
    assert 'data-outcome="open"' not in outline


def test_head_counts_the_questions_of_its_reader(db: None):
    conversation = making.conversation(making.workspace())
    ada = making.person("Ada", Role.RESPONDER, conversation.workspace)
    client = signed_in(ada)
    assert 'data-count="0"' in client.get("/help").text
    making.question(making.start_run(conversation, ada))
    assert 'data-count="1"' in client.get("/help").text
    assert 'data-count="0"' in make_reader(conversation, "Bo").get("/help").text


def test_head_names_the_page_that_is_shown(conversation: Conversation):
    client = make_reader(conversation)
    assert 'href="/conversations" aria-current="page"' in client.get("/conversations").text
    assert 'href="/conversations" aria-current="true"' in open_page(client, conversation).text
