"""Items in the updates of pages that share a batch."""

from __future__ import annotations

from jpweb.store import approvals, journal
from jpweb.store.choices import ApprovalKind
from jpweb.stream.events import ChatResponse
from jpweb.stream.inquiry import Answered
from jpweb.web.websocket import conversation_updates
from jpweb.web.websocket.conversation_updates import RenderedState
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
