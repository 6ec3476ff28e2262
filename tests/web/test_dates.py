"""Dates: every page writes them in the same form."""

from __future__ import annotations

import re

import pytest

from jpweb.runtime.exports import FORMATS
from jpweb.store import journal
from jpweb.store.choices import Role
from jpweb.stream.events import ChatRequest, TurnStart
from jpweb.stream.inquiry import Answered, InquiryResponse
from tests.builders import make_call, make_element, make_inquiry, make_result
from tests.exporting import join_pieces
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World, signed_in


@pytest.mark.parametrize("address", ["/workspaces/{}/people", "/account"])
def test_page_with_dates_writes_the_month_in_letters(world: World, address: str):
    client = world.client("owner")
    client.post(f"/workspaces/{world.workspace.pk}/people/invite", {"name": "Rita", "role": "10"})
    text = parse_page(client.get(address.format(world.workspace.pk))).text
    assert re.search(r"(expires|Signed in) \d{1,2} [A-Z][a-z]{2} \d{4}", text)
    assert not re.search(r"\d{4}-\d\d-\d\d", text)


@pytest.mark.django_db
@pytest.mark.parametrize("time", ["0001-01-01 00:00:00.0", "9999-12-31 23:59:59.0"])
def test_pages_of_a_conversation_at_an_end_of_time_are_shown(time: str):
    kinds = (
        TurnStart(),
        ChatRequest("Now."),
        make_call("c"),
        make_inquiry("c.q"),
        InquiryResponse("c.q", Answered(True)),
        make_inquiry("c.r"),
        make_result("c"),
        make_call("d"),
        make_result("d", is_error=True),
    )
    workspace = making.workspace()
    elements = [make_element(kind, at=time) for kind in kinds]
    conversation = making.mirrored_conversation(workspace, *elements)
    client = signed_in(making.person("", Role.OWNER, workspace))
    page = f"/conversations/{conversation.pk}"
    anchor = journal.find_anchor(conversation.pk, 2)
    views = ("", "?show=tools", "/timeline", "/raw", "/compacted", "/outline?turn=0", "/find?q=Now")
    paths = [f"{page}{view}" for view in (*views, f"/events/{anchor}")]
    paths += ["/", "/conversations", "/questions", "/search?q=Now", "/audit", "/audit/charts"]
    paths += ["/audit/decisions", "/audit/decisions?view=timeline", "/audit/ledger"]
    assert {path: client.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)
    for export_format in FORMATS.values():
        assert join_pieces(export_format.make_pieces(conversation))
