"""No page shows a character that reorders the text after it, whoever wrote that text."""

from __future__ import annotations

import pytest

from jpweb.store import approvals
from jpweb.store.choices import Verdict
from jpweb.store.models import Approval, Conversation, Inquiry
from jpweb.stream.events import ChatRequest
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled
from tests.builders import make_call, make_inquiry, make_result
from tests.machine.sizes import mark_proof
from tests.store import making
from tests.store.reviews import desk
from tests.web.reading import parse_page
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import FILES, make_address
from tests.web.world import World

#: RIGHT-TO-LEFT OVERRIDE.
CONTROL = "\u202e"
#: Attributes that browsers show.
SHOWN_ATTRIBUTES = ("title", "aria-label", "alt", "placeholder")
#: Texts of a form, which are sent as they are.
FIELDS = ("textarea",)
PAGES = [
    "/audit?view=x", "/audit/decisions?view=timeline", "/search?q=Tulip", "/audit/reviews/second",
    "/audit/reviews/cancelled", f"/audit?tool=asker{CONTROL}&person=decider{CONTROL}",
]  # fmt: skip


def write_controls(world: World) -> list[str]:
    """Put the control into all that tools, models and people wrote; return pages of it."""
    owner = making.decider(world.people["owner"])
    mirrored = making.mirrored_conversation(
        world.workspace,
        ChatRequest(f"Tulip{CONTROL}", author=f"author{CONTROL}"),
        make_call("c", f"tool{CONTROL}", **{f"key{CONTROL}": f"value{CONTROL}"}),
        make_inquiry("i", f"question{CONTROL}"),
        make_result("c", f"result{CONTROL}"),
    )
    denial = {"allow": False, "reason": f"reason{CONTROL}"}
    approvals.decide_approval(making.prompt(world.run).pk, denial, owner)
    answered = making.settle(making.question(world.run), Answered(f"answer{CONTROL}"), owner)
    declined = making.settle(making.question(world.run), Cancelled(CancellationReason.USER), owner)
    note = f"note{CONTROL}"
    desk.send(desk.load(answered), world.people["auditor"], Verdict.WRONG, note)
    Conversation.objects.update(title=f"title{CONTROL}")
    Inquiry.objects.update(note=note, asker=f"asker{CONTROL}")
    closed = Inquiry.objects.filter(pk__in=[answered.pk, declined.pk])
    closed.update(decider_name=f"decider{CONTROL}", reason=f"reason{CONTROL}")
    Approval.objects.update(tool_name=f"tool{CONTROL}")
    modes = ("", "/raw", "/compacted", "/configuration", "/thread", "/timeline")
    paths = [f"/conversations/{mirrored.pk}{mode}" for mode in modes]
    return [*paths, *(f"/questions/{row.pk}" for row in (answered, declined))]


def find_shown_controls(html: str) -> list[str]:
    """Return the innermost elements that show the control."""
    page = parse_page(html)
    holders = [tag for tag in page if CONTROL in tag.text and tag.tag not in FIELDS]
    outer = {id(parent) for tag in holders for parent in tag.parents}
    texts = [f"<{tag.tag}> {tag.text.strip()[:80]}" for tag in holders if id(tag) not in outer]
    return texts + [
        f"<{tag.tag} {name}> {tag[name]}"
        for tag in page
        for name in SHOWN_ATTRIBUTES
        if CONTROL in tag.get(name, "")
    ]


# Owners open what auditors open.
@pytest.mark.parametrize("name", ["owner", *mark_proof("auditor")])
def test_no_page_shows_a_control_that_reorders_text(world: World, name: str):
    routes = [key for key, route in ROUTES.items() if route.method == "get" and key not in FILES]
    addresses = [*PAGES, *(make_address(key, world) for key in routes), *write_controls(world)]
    client, shown = world.client(name), {}
    for address in addresses:
        response = client.get(address)
        if response.status_code == 200 and response["Content-Type"].startswith("text/html"):
            shown[address] = find_shown_controls(response.content.decode())
    assert len(shown) > len(routes) // 2
    assert {address: texts for address, texts in shown.items() if texts} == {}


def test_a_shown_control_is_found():
    html = f'<p title="a{CONTROL}"><b>c{CONTROL}</b></p><textarea>{CONTROL}</textarea>'
    assert find_shown_controls(html) == [f"<b> c{CONTROL}", f"<p title> a{CONTROL}"]
