"""Comments in exports of a conversation: as a choice, escaped, masked, and for auditors alone."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.urls import reverse

from jpweb.runtime import exports
from jpweb.store.annotations import threads
from jpweb.store.choices import Act
from jpweb.store.models import Conversation, JournalEntry, LedgerEntry
from tests.exporting import join_pieces
from tests.store import making
from tests.web.world import SECRET, World

HOSTILE = "</blockquote><script>alert(1)</script>\n\n## Turn 9\n\n![x](https://evil.example/x.png)"


@pytest.fixture
def commented(world: World) -> Conversation:
    add(world, "reader", "Is **this** right?")
    add(world, "owner", "It is.")
    conversation: Conversation = world.conversation
    return conversation


def add(world: World, name: str, text: str) -> None:
    threads.add_comment(world.conversation, world.anchor, world.people[name], text)


def export(
    client: Client, conversation: Conversation, name: str, query: str = "?comments=1"
) -> str:
    response = client.get(reverse("conversation-export", args=[conversation.pk, name]) + query)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_export_has_comments_below_their_event_on_request(
    world: World, commented: Conversation, name: str
):
    client = world.client("auditor")
    text = export(client, commented, name)
    assert "It is." not in export(client, commented, name, "")
    reader = world.people["reader"].display_name
    places = [text.index(part) for part in ("Question", f"Comment by {reader}, ", "It is.")]
    assert places == sorted(places)
    assert "Not resolved." in text
    threads.set_resolved(commented, world.anchor, world.people["owner"], is_resolved=True)
    owner = world.people["owner"].display_name
    assert f"Resolved by {owner}, 2" in export(client, commented, name)


@pytest.mark.parametrize("name", ["jp", "jsonl"])
def test_jps_own_files_cannot_have_comments(world: World, commented: Conversation, name: str):
    url = reverse("conversation-export", args=[commented.pk, name])
    assert world.client("auditor").get(f"{url}?comments=1").status_code == 404
    assert "It is." not in export(world.client("auditor"), commented, name, "")


@pytest.mark.parametrize("name", ["reader", "responder", "outsider"])
def test_comments_are_exported_by_auditors_alone(world: World, commented: Conversation, name: str):
    url = reverse("conversation-export", args=[commented.pk, "markdown"])
    response = world.client(name).get(f"{url}?comments=1")
    assert response.status_code in {403, 404}
    assert "It is." not in response.content.decode()


def test_page_offers_comments_where_there_are_some(world: World):
    url, client = reverse("conversation", args=[world.conversation.pk]), world.client("auditor")
    assert "with comments" not in client.get(url).content.decode()
    add(world, "reader", "Hm")
    page = client.get(url).content.decode()
    links = re.findall(r'href="([^"]+\?comments=1)"', page)
    assert [link.split("/")[-1] for link in links] == ["markdown?comments=1", "html?comments=1"]


def test_hostile_comment_stays_text_in_its_quote(world: World):
    add(world, "reader", HOSTILE)
    client = world.client("auditor")
    page = export(client, world.conversation, "html")
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("<blockquote>") == page.count("</blockquote>")
    lines = export(client, world.conversation, "markdown").split("\n")
    assert "> ## Turn 9" in lines
    assert "## Turn 9" not in lines


def test_reference_in_a_comment_reaches_no_other(world: World):
    add(world, "reader", "[docs]: https://elsewhere.example")
    add(world, "owner", "See [docs]")
    assert "elsewhere" not in export(world.client("auditor"), world.conversation, "html")


def test_masked_secret_is_masked_in_exported_comments(world: World):
    suggestion = world.suggestion
    conversation = suggestion.conversation
    threads.add_comment(
        conversation, suggestion.anchor, world.people["reader"], f"Is {SECRET} real?"
    )
    text = export(world.client("auditor"), conversation, "markdown")
    assert SECRET not in text
    assert "real?" in text


def test_exported_comments_on_missing_events_are_at_the_end(world: World):
    add(world, "reader", "Kept words")
    JournalEntry.objects.filter(anchor=world.anchor).update(anchor="e-other")
    text = export(world.client("auditor"), world.conversation, "markdown")
    assert text.index("### Comments on events that are gone") < text.index("Kept words")


def test_long_comments_come_in_bounded_pieces(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exports, "MAX_PIECE_CHARS", 100)
    other = making.question(world.run).anchor
    for anchor in (world.anchor, other):
        threads.add_comment(world.conversation, anchor, world.people["reader"], "long " * 50)
    world.conversation.refresh_from_db()
    whole = exports.make_markdown(world.conversation, has_comments=True)
    pieces = list(whole)
    assert len(pieces) > 2
    text = join_pieces(pieces).decode()
    monkeypatch.setattr(exports, "MAX_PIECE_CHARS", 10**6)
    assert (
        join_pieces(exports.make_markdown(world.conversation, has_comments=True)).decode() == text
    )


def test_ledger_and_file_name_say_that_comments_are_included(world: World, commented: Conversation):
    url = reverse("conversation-export", args=[commented.pk, "html"])
    response = world.client("auditor").get(f"{url}?comments=1")
    assert "-with-comments.html" in response["Content-Disposition"]
    entry = LedgerEntry.objects.filter(act=Act.EXPORTED).latest("sequence")
    assert json.loads(entry.text)["details"]["comments"] == "included"
