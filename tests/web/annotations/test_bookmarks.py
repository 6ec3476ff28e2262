"""Bookmarks: private, of events and conversations, and listed while they may be read."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from jpweb.store.annotations import bookmarks
from jpweb.store.models import Bookmark, JournalEntry, Membership
from jpweb.stream.events import Compaction
from jpweb.stream.inquiry import Answered
from tests.store import making
from tests.web.reading import ParsedPage, parse_page
from tests.web.views.transcript_modes.reading import mirror_conversation
from tests.web.views.transcript_modes.test_compacted import STRIP, make_turns
from tests.web.world import World


def toggle(world: World, name: str, anchor: str = "") -> Client:
    client = world.client(name)
    url = reverse("bookmark", args=[world.conversation.pk])
    assert client.post(url, {"anchor": anchor}).status_code == 302
    return client


def read(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200, url
    return response.content.decode()


def test_bookmark_is_listed_with_its_first_line_and_in_the_transcript(world: World):
    client = toggle(world, "reader", world.anchor)
    page = read(client, "/bookmarks")
    assert "Go on?" in page
    assert f"?at={world.anchor}#{world.anchor}" in page
    assert "Bookmarked</p>" in read(client, reverse("conversation", args=[world.conversation.pk]))


def test_bookmark_is_private(world: World):
    toggle(world, "reader", world.anchor)
    client = world.client("owner")
    assert "Go on?" not in read(client, "/bookmarks")
    assert "Bookmarked</p>" not in read(
        client, reverse("conversation", args=[world.conversation.pk])
    )


@pytest.mark.parametrize(("page_rows", "has_older"), [(1, True), (2, False)])
def test_bookmarks_page_links_to_older_ones_unless_it_is_the_last(
    world: World, monkeypatch: pytest.MonkeyPatch, page_rows: int, has_older: bool
):
    monkeypatch.setattr(bookmarks, "PAGE_ROWS", page_rows)
    toggle(world, "reader")
    client = toggle(world, "reader", world.anchor)
    assert ("?before=" in read(client, "/bookmarks")) is has_older


@pytest.mark.parametrize("is_event", [True, False])
def test_second_toggle_removes_the_bookmark(world: World, is_event: bool):
    anchor = world.anchor if is_event else ""
    client = toggle(world, "reader", anchor)
    assert "A talk" in read(client, "/bookmarks")
    toggle(world, "reader", anchor)
    assert not Bookmark.objects.exists()


def test_bookmark_of_an_unknown_event_is_not_found(world: World):
    url = reverse("bookmark", args=[world.conversation.pk])
    assert world.client("reader").post(url, {"anchor": "e-none"}).status_code == 404


def test_bookmark_is_hidden_once_access_is_lost(world: World):
    client = toggle(world, "reader", world.anchor)
    Membership.objects.filter(person=world.people["reader"]).delete()
    assert "A talk" not in read(client, "/bookmarks")


def test_bookmark_of_a_missing_event_is_marked(world: World):
    client = toggle(world, "reader", world.anchor)
    JournalEntry.objects.filter(anchor=world.anchor).update(anchor="e-other")
    assert "An event that is no longer there" in read(client, "/bookmarks")


def test_bookmarks_beyond_the_limit_are_refused(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bookmarks, "MAX_BOOKMARKS", 1)
    toggle(world, "reader")
    client = toggle(world, "reader", world.anchor)
    assert Bookmark.objects.count() == 1
    assert "at most 1 bookmark" in read(
        client, reverse("conversation", args=[world.conversation.pk])
    )


def test_script_gets_the_block_of_the_item_and_the_new_state(world: World):
    url = reverse("bookmark", args=[world.conversation.pk])
    headers = {"HX-Request": "true"}
    replies = [
        world.client("reader").post(url, {"anchor": world.anchor}, headers=headers)
        for _ in range(2)
    ]
    assert [reply.headers["X-Bookmarked"] for reply in replies] == ["1", "0"]
    assert [b"Bookmarked</p>" in reply.content for reply in replies] == [True, False]


def build_page_url(world: World, name: str) -> str:
    """Return the address of a page that shows events outside the transcript."""
    if name == "question":
        making.settle(world.question, Answered(answer=True))
        return reverse("question", args=[world.question.pk])
    conversation = mirror_conversation(world, *make_turns(2), Compaction(0, 0, STRIP))
    return f"/conversations/{conversation.pk}/{name}?from=0"


def find_button(page: ParsedPage) -> dict[str, str]:
    return next(tag for tag in page if "data-bookmark" in tag)


@pytest.mark.parametrize("name", ["compacted", "thread", "question"])
def test_bookmark_button_of_every_page_leads_back_to_its_event(world: World, name: str):
    client, url = world.client("auditor"), build_page_url(world, name)
    page = parse_page(client.get(url))
    button = find_button(page)
    form = page.find_one(id=button["form"])
    next_field = page.find_one(name="next")
    data = {"anchor": button["value"], "next": next_field["value"]}
    response = client.post(form["action"], data, follow=True)
    assert response.redirect_chain == [(f"{url}#{button['value']}", 302)]
    assert "Bookmarked" in parse_page(response).find_one(id=f"annotations-{button['value']}").text
    assert "Bookmark removed" in parse_page(client.post(form["action"], data, follow=True)).text


@pytest.mark.parametrize("target_url", ["//evil.example", "https://evil.example/", "/\\evil.x"])
def test_bookmark_leads_to_no_other_site(world: World, target_url: str):
    url = reverse("bookmark", args=[world.conversation.pk])
    response = world.client("reader").post(url, {"anchor": world.anchor, "next": target_url})
    assert response.headers["Location"].startswith(f"/conversations/{world.conversation.pk}?at=")
