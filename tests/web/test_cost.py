"""What a page costs: queries that do not grow with what is shown, and its weight."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jpweb.store import journal
from jpweb.store.choices import Role, RunState
from jpweb.store.jp_files import mirror
from jpweb.store.models import Conversation, Membership, Run
from jpweb.stream.events import ChatResponse
from jpweb.web.views.help.pages import PAGES
from tests.machine.sizes import choose_size
from tests.store import making
from tests.web.world import World, signed_in

#: Queries of each page; session, person and what the head shows are five of them.
QUERIES = {
    "/": 22,  # three of them are the groups and the reviews that wait for the person
    "/conversations": 15,
    # Of them two look for the end of the scan.
    "/conversations?sort=waiting": 16,
    "/conversations?sort=length": 14,
    "/questions": 16,  # three of them are claims and snoozes
    "/audit": 13,
    "/audit/charts": 23,
    # Of them two count the calls that ran without asking, one lists the names of deciders.
    "/audit/decisions": 15,
    # Of them one records the export, one remembers the roles, one looks for another download.
    "/audit.csv": 19,
    "/help": 5,
    "/help/operations": 5,
}
#: Queries of the page of a conversation.
TALK = 31  # one of them counts the masks of exports
#: Of the same once its turn has ended: nothing waits, is claimed or snoozed.
ENDED_TALK = 25


def grow_list(world: World, to: int) -> None:
    for n in range(to):
        run = making.start_run(making.conversation(world.workspace, f"talk {n}"))
        making.question(run)
        making.prompt(run)


def grow_conversation(world: World, to: int) -> None:
    for n in range(to):
        making.question(world.run)
        making.prompt(world.run)
        journal.append_events(
            world.conversation.pk, [making.event(ChatResponse("message", f"word {n}"))]
        )


def count_queries(client: Client, addresses: Iterable[str]) -> dict[str, int]:
    """Return how many queries each page takes."""
    counts = {}
    for address in addresses:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        counts[address] = len(captured)
    return counts


def test_a_long_list_takes_no_more_queries_and_weighs_little(world: World):
    count = choose_size(20, 100)
    client = signed_in(world.people["owner"])
    grow_list(world, 5)
    assert count_queries(client, QUERIES) == QUERIES
    grow_list(world, count - 6)
    counts_of_many = count_queries(client, QUERIES)
    assert {path: count for path, count in counts_of_many.items() if count > QUERIES[path]} == {}
    response = signed_in(world.people["reader"]).get("/conversations")
    assert response.content.count(b"data-conversation=") == count
    assert len(response.content) < 1_200 * count


def test_page_queries_do_not_grow_with_the_conversation(world: World):
    client = signed_in(world.people["owner"])
    address = f"/conversations/{world.conversation.pk}?at=2"
    grow_conversation(world, 5)
    assert count_queries(client, [address]) == {address: TALK}
    grow_conversation(world, choose_size(30, 95))
    assert count_queries(client, [address])[address] <= TALK


def test_nothing_that_waits_is_looked_for_once_the_turn_has_ended(world: World):
    client = signed_in(world.people["owner"])
    grow_conversation(world, 5)
    Run.objects.update(state=RunState.DONE)
    address = f"/conversations/{world.conversation.pk}?at=2"
    assert count_queries(client, [address]) == {address: ENDED_TALK}


def test_help_pages_weigh_little(world: World):
    client = signed_in(world.people["reader"])
    weights = {name: len(client.get(f"/help/{name}").content) for name in PAGES}
    assert {name: weight for name, weight in weights.items() if weight > 30_000} == {}


def test_the_largest_demo_conversation_weighs_little(world: World):
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    Membership.objects.create(
        person=world.people["outsider"], workspace=workspace, role=Role.READER
    )
    client = signed_in(world.people["outsider"])
    conversations = Conversation.objects.filter(workspace=workspace)
    weights = {
        conversation: len(client.get(f"/conversations/{conversation.pk}").content)
        for conversation in conversations
    }
    conversation, weight = max(weights.items(), key=lambda pair: pair[1])
    text_size = sum(len(entry.text) for entry in conversation.journal.all())
    assert weight < 100_000
    assert weight < 8 * text_size
