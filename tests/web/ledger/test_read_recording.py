"""Reads of lists in the ledger: of the conversation or workspace that filters name, else of each.

So those who audit a workspace see who read its content, and nobody learns of other workspaces.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from jpweb.runtime import read_log
from jpweb.store.choices import Act, Role
from jpweb.store.models import DEMO_ROOT, LedgerEntry, Membership, Workspace
from jpweb.web.security.read_recording import (
    DEMOLESS_ROUTES,
    FILTERS_BY_ROUTE,
    LISTING_ROUTES,
    ROLE_BY_ROUTE,
)
from tests.store import making
from tests.web.reading import parse_page
from tests.web.test_access import make_address
from tests.web.world import World

Reads = Counter[read_log.ReadRecord]
Places = list[tuple[int | None, int | None]]

AUDITED_ROUTES = sorted(route for route in ROLE_BY_ROUTE if ROLE_BY_ROUTE[route] == Role.AUDITOR)
#: Lists of what is asked of a person, told to them or kept by them.
OWN_ROUTES = sorted(LISTING_ROUTES - set(AUDITED_ROUTES))


def read_places(world: World, address: str, reads: Reads, name: str = "auditor") -> Places:
    """Return workspace and conversation of the entries that a person's request leaves."""
    assert world.client(name).get(address).status_code == 200
    read_log.write_reads(reads)
    entries = LedgerEntry.objects.filter(act=Act.READ, person_id=world.people[name].pk)
    return list(entries.order_by("pk").values_list("workspace_id", "conversation_id"))


@pytest.fixture
def two_desks(world: World) -> World:
    """Return a world whose auditor audits a second workspace, and reads a third."""
    auditor = world.people["auditor"]
    Membership.objects.create(person=auditor, workspace=world.other_workspace, role=Role.OWNER)
    Membership.objects.create(person=auditor, workspace=making.workspace("C"), role=Role.READER)
    return world


@pytest.mark.parametrize("name", AUDITED_ROUTES)
def test_list_of_all_workspaces_is_a_read_in_each_audited_one(
    two_desks: World, gathered_reads: Reads, name: str
):
    places = read_places(two_desks, make_address(name, two_desks), gathered_reads)
    assert places == [(two_desks.workspace.pk, None), (two_desks.other_workspace.pk, None)]


@pytest.mark.parametrize("name", OWN_ROUTES)
def test_list_of_what_is_for_a_person_is_a_read_of_theirs_alone(
    two_desks: World, gathered_reads: Reads, name: str
):
    assert read_places(two_desks, make_address(name, two_desks), gathered_reads) == [(None, None)]


@pytest.mark.parametrize(
    "name",
    sorted(route for route in ROLE_BY_ROUTE if "workspace" in FILTERS_BY_ROUTE.get(route, ())),
)
def test_list_of_one_workspace_is_one_read_in_it(
    two_desks: World, gathered_reads: Reads, name: str
):
    address = f"{make_address(name, two_desks)}?workspace={two_desks.workspace.pk}"
    assert read_places(two_desks, address, gathered_reads) == [(two_desks.workspace.pk, None)]


@pytest.mark.parametrize("path", ["/audit", "/audit/charts", "/audit/decisions", "/audit/ledger"])
def test_list_of_one_conversation_is_one_read_of_it(
    two_desks: World, gathered_reads: Reads, path: str
):
    key = two_desks.conversation.pk
    address = f"{path}?conversation={key}&workspace={two_desks.workspace.pk}"
    assert read_places(two_desks, address, gathered_reads) == [(two_desks.workspace.pk, key)]


@pytest.mark.parametrize(
    "query", ["conversation={other}", "workspace={elsewhere}", "conversation=0", "workspace=0"]
)
@pytest.mark.parametrize("path", ["/audit", "/audit/decisions"])
def test_filter_for_what_the_person_may_not_audit_leaves_no_entry_there(
    world: World, gathered_reads: Reads, path: str, query: str
):
    other = making.conversation(world.other_workspace)
    query = query.format(other=other.pk, elsewhere=world.other_workspace.pk)
    assert read_places(world, f"{path}?{query}", gathered_reads) == [(None, None)]


@pytest.mark.parametrize("path", ["/audit/secrets", "/audit/reviews/cancelled"])
def test_filter_that_a_list_lacks_names_no_place(
    two_desks: World, gathered_reads: Reads, path: str
):
    address = f"{path}?conversation={two_desks.conversation.pk}"
    places = read_places(two_desks, address, gathered_reads)
    assert places == [(two_desks.workspace.pk, None), (two_desks.other_workspace.pk, None)]


@pytest.mark.parametrize("query", ["", "?conversation={conversation}", "?workspace={workspace}"])
def test_owner_sees_in_the_ledger_who_read_the_audit(
    world: World, gathered_reads: Reads, query: str
):
    address = query.format(conversation=world.conversation.pk, workspace=world.workspace.pk)
    world.client("auditor").get(f"/audit{address}")
    read_log.write_reads(gathered_reads)
    page = parse_page(world.client("owner").get("/audit/ledger?act=read"))
    (actor,) = page.find_all(**{"data-label": "By"})
    assert actor.text.strip() == "Auditor"


@pytest.mark.parametrize("name", sorted(DEMOLESS_ROUTES))
def test_list_that_leaves_out_the_demo_is_no_read_of_it(
    two_desks: World, gathered_reads: Reads, name: str
):
    Workspace.objects.filter(pk=two_desks.other_workspace.pk).update(root=DEMO_ROOT)
    address = f"{make_address(name, two_desks)}?demo="  # as a form sends an empty box
    assert read_places(two_desks, address, gathered_reads) == [(two_desks.workspace.pk, None)]


def test_list_that_includes_the_demo_is_a_read_of_it(two_desks: World, gathered_reads: Reads):
    Workspace.objects.filter(pk=two_desks.other_workspace.pk).update(root=DEMO_ROOT)
    places = read_places(two_desks, "/audit?demo=on", gathered_reads)
    assert places == [(two_desks.workspace.pk, None), (two_desks.other_workspace.pk, None)]


def test_list_of_somebody_who_audits_the_demo_alone_is_a_read_of_it(
    world: World, gathered_reads: Reads
):
    Workspace.objects.filter(pk=world.workspace.pk).update(root=DEMO_ROOT)
    assert read_places(world, "/audit", gathered_reads) == [(world.workspace.pk, None)]


@pytest.mark.parametrize(
    ("path", "filters"),
    [
        ("/audit/reviews/cancelled?queue_name=late", {"queue": "cancelled"}),
        ("/audit/decisions?decider=Sam&person=7", {"person": "Sam", "account": "7"}),
    ],
)
def test_entry_of_a_list_says_what_narrowed_it(
    world: World, gathered_reads: Reads, path: str, filters: dict[str, str]
):
    read_places(world, path, gathered_reads)
    assert json.loads(LedgerEntry.objects.get(act=Act.READ).text)["details"]["filters"] == filters


def test_ledger_names_the_queue_that_was_read(world: World, gathered_reads: Reads):
    read_places(world, "/audit/reviews/late", gathered_reads)
    page = parse_page(world.client("owner").get("/audit/ledger?act=read"))
    assert "queue: Answered late" in page.text
