"""Items in the updates of pages that share a batch."""

from __future__ import annotations

from jpweb.store import approvals, journal
from jpweb.store.choices import ApprovalKind
from jpweb.stream.events import ChatResponse, TurnStart
from jpweb.stream.inquiry import Answered
from jpweb.web.websocket import conversation_updates
from jpweb.web.websocket.conversation_updates import MAX_BATCHED_STATES, RenderedState
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World


def test_page_of_a_batch_gets_the_links_and_decisions_of_its_items(world: World):
    """Pages that lack the same events share them; one that lacks fewer is between them."""
    key, reader = world.conversation.pk, world.people["reader"].pk
    world.conversation.refresh_from_db()
    length = world.conversation.entry_count
    subject = {"described": "vault", "arguments": {}, "edit": False}
    approval = approvals.request_approval(key, ApprovalKind.RUN, "call_1", "vault", subject)
    decider = making.decider(world.people["owner"])
    approvals.decide_approval(approval.pk, {"allow": True}, decider)
    question = making.question(world.run)
    making.settle(question, Answered(True))
    world.conversation.refresh_from_db()
    later_length = world.conversation.entry_count
    journal.append_events(key, [making.event(ChatResponse("message", "A word"))], world.run)
    pages = [
        (reader, RenderedState(length)),
        (reader, RenderedState(later_length)),
        (reader, RenderedState(length, first=1)),
    ]
    updates = conversation_updates.find_conversation_updates(key, pages)
    html_pages = [parse_page(update.html) for update in updates.values() if update]
    url = f"/questions/{question.pk}"
    assert [any(tag.get("href") == url for tag in page) for page in html_pages] == [
        True,
        False,
        True,
    ]
    assert ["Allowed" in page.text for page in html_pages] == [True, False, True]


def test_shared_batch_omits_pages_whose_approvals_are_of_an_earlier_turn(world: World):
    """Any page may name such approvals, and the calls since then are searched for each turn."""
    key, reader = world.conversation.pk, world.people["reader"].pk
    for _ in range(3):
        journal.append_events(key, [making.event(TurnStart())])
    world.conversation.refresh_from_db()
    length, last_turn = world.conversation.entry_count, world.conversation.turns - 1
    earlier, present = [
        RenderedState(length, approvals=f"{turn}-1-1") for turn in (last_turn - 1, last_turn)
    ]
    pages = [(reader, earlier), (reader, present)]
    updates = conversation_updates.find_conversation_updates(key, pages, max_entries=0)
    assert list(updates) == [(reader, present)]
    assert list(conversation_updates.find_conversation_updates(key, pages)) == pages


def test_shared_batch_renders_a_few_states_that_pages_name(world: World):
    key, reader, owner = (world.conversation.pk, *(world.people[n].pk for n in ("reader", "owner")))
    world.conversation.refresh_from_db()
    states = [
        RenderedState(world.conversation.entry_count, run=f"made up {number}")
        for number in range(MAX_BATCHED_STATES + 5)
    ]
    pages = [(reader, state) for state in states] + [(owner, states[0])]
    updates = conversation_updates.find_conversation_updates(key, pages, max_entries=0)
    assert len(updates) == MAX_BATCHED_STATES
    assert len(conversation_updates.find_conversation_updates(key, pages)) == len(pages)
