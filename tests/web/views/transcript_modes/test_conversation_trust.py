"""Trust in what a conversation stores of its own, given there and for it alone."""

from __future__ import annotations

import pytest

from jpweb.runtime import conversation_config
from jpweb.runtime.configuration import load_workspace_config
from jpweb.store import journal
from jpweb.store.models import Conversation, LedgerEntry, Trust
from jpweb.stream.events import ConfigDelta
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.views.transcript_modes.reading import get_words
from tests.web.world import World

pytestmark = pytest.mark.django_db


def store_tool(command: str) -> ConfigDelta:
    return ConfigDelta(
        {"conversation": {"tools": {"mine": {"source": "local", "command": command}}}}
    )


def start_conversation(world: World, command: str = "run mine") -> Conversation:
    conversation: Conversation = making.conversation(world.workspace)
    journal.append_events(conversation.pk, [making.event(store_tool(command))])
    conversation.refresh_from_db()
    return conversation


def open_page(world: World, conversation: Conversation, person: str = "owner") -> ParsedPage:
    return parse_page(world.client(person).get(f"/conversations/{conversation.pk}/configuration"))


def list_items(page: ParsedPage, section: str = "waiting") -> list[str]:
    items = page.find_all(name="item")
    return [item["value"] for item in items if item.inside(**{"data-section": section})]


def post(world: World, conversation: Conversation, *items: str, **data: str) -> str:
    response = world.client("owner").post(
        f"/conversations/{conversation.pk}/configuration/trust",
        {"item": items, **data},
        follow=True,
    )
    return get_words(response.content.decode())


def offers_tool(conversation: Conversation) -> bool:
    config = conversation_config.load_conversation_config(conversation)
    return "mine" in [tool.name for tool in config.tools]


def test_conversation_trust_applies_to_that_conversation_only(world: World):
    conversation, other = start_conversation(world), start_conversation(world)
    page = open_page(world, conversation)
    assert "argument 1: mine" in page.text
    assert not offers_tool(conversation)
    (item,) = list_items(page)
    assert "Trusted in this conversation alone: mine." in post(world, conversation, item)
    assert [offers_tool(each) for each in (conversation, other)] == [True, False]
    assert list_items(open_page(world, conversation)) == []
    assert list_items(open_page(world, conversation), "trusted") == [item]
    assert load_workspace_config(world.workspace).trust_statuses == ()
    entry = LedgerEntry.objects.filter(act="trust_given").latest("pk")
    assert (entry.workspace_id, entry.conversation_id) == (world.workspace.pk, conversation.pk)


def test_trust_of_a_conversation_is_withdrawn_on_its_page(world: World):
    conversation = start_conversation(world)
    (item,) = list_items(open_page(world, conversation))
    post(world, conversation, item)
    assert "No longer trusted: mine." in post(world, conversation, item, action="withdraw")
    assert not offers_tool(conversation)
    assert not Trust.objects.exists()


def test_a_command_that_changes_afterwards_is_shown_and_asked_about_again(world: World):
    conversation = start_conversation(world)
    (item,) = list_items(open_page(world, conversation))
    post(world, conversation, item)
    journal.append_events(conversation.pk, [making.event(store_tool("run another"))])
    assert not offers_tool(conversation)
    page = open_page(world, conversation)
    assert "argument 1: another" in page.find_one(**{"data-trust-state": "changed"}).text
    assert "has changed since you opened the page" in post(world, conversation, item)
    assert not offers_tool(conversation)


@pytest.mark.parametrize("person", ["reader", "responder", "auditor"])
def test_conversation_trust_form_is_for_owners_only(world: World, person: str):
    page = open_page(world, start_conversation(world), person)
    assert list_items(page) == []
    assert "Needs review" not in page.text
