"""Steps from conversation to conversation, in the order of the list that led there."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from jpweb.store.database import clock
from jpweb.store.models import Conversation
from tests.store import making
from tests.web.world import World


def make_list(world: World) -> list[Conversation]:
    """Return four conversations, the newest first, with the oldest one pinned."""
    world.conversation.runs.all().delete()
    Conversation.objects.filter(pk=world.conversation.pk).delete()
    rows = [making.conversation(world.workspace, f"talk {n}") for n in range(4)]
    for age, row in enumerate(rows):
        row.last_activity = clock.now() - timedelta(days=age + 1)
        row.entry_count = age
        row.pinned_at = clock.now() if age == 3 else None
        row.save()
    return rows


def step(client: Client, row: Conversation, to: str, list_query: str = "") -> str:
    url = reverse("conversation-neighbour", args=[row.pk])
    return str(client.get(url, {"to": to, "list": list_query}).headers["Location"])


def walk(client: Client, row: Conversation, to: str, list_query: str = "") -> list[str]:
    """Return the titles from a conversation on, to the end of the list."""
    titles: list[str] = []
    while True:
        path = step(client, row, to, list_query).partition("?")[0]
        neighbor = Conversation.objects.get(pk=int(path.rpartition("/")[2]))
        if neighbor == row:
            return titles
        titles.append(neighbor.title[-1])
        row = neighbor


@pytest.mark.parametrize(
    ("list_query", "order"), [("", "3012"), ("sort=length", "3210"), ("q=talk+2", "2"), ("q=x", "")]
)
def test_steps_follow_the_list_in_both_directions(world: World, list_query: str, order: str):
    rows = make_list(world)
    client = world.client("reader")
    if not order:
        assert walk(client, rows[0], "next", list_query) == []
        return
    first, last = rows[int(order[0])], rows[int(order[-1])]
    assert "".join(walk(client, first, "next", list_query)) == order[1:]
    assert "".join(walk(client, last, "previous", list_query)) == order[-2::-1]


def test_neighbors_exclude_unreadable_conversations(world: World):
    rows = make_list(world)
    making.conversation(world.other_workspace, "hidden 9")
    assert "".join(walk(world.client("reader"), rows[3], "next")) == "012"


def test_list_waits_in_its_order_and_ends_where_nothing_waits(world: World):
    other = making.conversation(world.workspace, "idle")
    client = world.client("reader")
    assert step(client, other, "next", "sort=waiting").startswith(
        f"/conversations/{world.conversation.pk}?"
    )
    assert step(client, other, "previous", "sort=waiting").startswith(f"/conversations/{other.pk}?")


def test_page_takes_the_list_from_the_referrer_and_steps_keep_it(world: World):
    client = world.client("reader")
    url = reverse("conversation", args=[world.conversation.pk])
    referrer = "http://testserver/conversations?q=talk&sort=length"
    page = client.get(url, headers={"Referer": referrer}).content.decode()
    assert "to=next&amp;list=q%3Dtalk%26sort%3Dlength" in page
    stranger = client.get(url, headers={"Referer": "http://else.example/conversations?q=talk"})
    assert "to=next&amp;list" not in stranger.content.decode()
    next_path = step(client, world.conversation, "next", "q=talk")
    assert next_path == f"{url}?list=q%3Dtalk"
    assert "to=next&amp;list=q%3Dtalk" in client.get(next_path).content.decode()


def test_end_of_the_list_is_said(world: World):
    client = world.client("reader")
    url = reverse("conversation-neighbour", args=[world.conversation.pk])
    page = client.get(url, {"to": "next"}, follow=True).content.decode()
    assert "This is the last conversation of the list." in page
