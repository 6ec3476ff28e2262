"""What a page costs: queries that do not grow with what is shown, and its weight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.store import journal
from jpweb.store.disk import mirror
from jpweb.store.models import Conversation, Membership
from jpweb.store.terms import Role
from jpweb.stream.events import ChatResponse
from tests.store import making
from tests.web.world import World, signed_in

#: Queries of each page; session, person and what the head shows are five of them.
QUERIES = {
    "/": 17,
    "/conversations": 13,
    "/conversations?sort=waiting": 13,
    "/conversations?sort=length": 12,
    "talk": 27,
    "/questions": 12,
    "/audit": 12,
    "/audit.csv": 4,
}


def grow_list(world: World, to: int) -> None:
    for n in range(to):
        run = making.running(making.conversation(world.home, f"talk {n}"))
        making.question(run)
        making.prompt(run)


def grow_talk(world: World, to: int) -> None:
    for n in range(to):
        making.question(world.run)
        making.prompt(world.run)
        journal.append(world.talk.pk, [making.event(ChatResponse("message", f"word {n}"))])


GROWTH: dict[str, Callable[[World, int], None]] = {
    "/": grow_list,
    "/conversations": grow_list,
    "/conversations?sort=waiting": grow_list,
    "/conversations?sort=length": grow_list,
    "talk": grow_talk,
    "/questions": grow_list,
    "/audit": grow_list,
    "/audit.csv": grow_list,
}


@pytest.mark.parametrize("path", QUERIES)
def test_the_queries_of_a_page_do_not_grow(world: World, path: str):
    client = signed_in(world.people["owner"])
    address = f"/conversations/{world.talk.pk}?at=2" if path == "talk" else path
    counted = []
    for more in (5, 95):
        GROWTH[path](world, more)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        counted.append(len(captured))
    assert counted[1] <= counted[0] == QUERIES[path]


def test_the_list_of_a_hundred_weighs_little(world: World):
    grow_list(world, 99)
    response = signed_in(world.people["reader"]).get("/conversations")
    assert response.content.count(b"data-conversation=") == 100
    assert len(response.content) < 120_000


def test_the_largest_demo_conversation_weighs_little(world: World):
    home, _ = mirror.mirror(mirror.DEMO, "Demo")
    Membership.objects.create(person=world.people["outsider"], workspace=home, role=Role.READER)
    client = signed_in(world.people["outsider"])
    talks = Conversation.objects.filter(workspace=home)
    weights = {talk: len(client.get(f"/conversations/{talk.pk}").content) for talk in talks}
    talk, weight = max(weights.items(), key=lambda pair: pair[1])
    kept = sum(len(entry.text) for entry in talk.journal.all())
    assert weight < 100_000
    assert weight < 8 * kept
