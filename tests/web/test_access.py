"""Every route, for everybody. A route without a row in the table fails."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from typing import Any
from unittest.mock import AsyncMock

import pytest
from django.db.models import Max
from django.test import AsyncClient, Client
from django.urls import resolve, reverse

from jpweb import urls
from jpweb.runtime import exports, read_log, runs
from jpweb.store.choices import Act, Role
from jpweb.store.models import LedgerEntry
from jpweb.store.notifications import answer_links
from jpweb.web.labels import page_labels
from jpweb.web.security.read_recording import LISTING_ROUTES, METADATA_ROUTES
from tests.machine.sizes import IS_PROOF, mark_proof
from tests.web.reading import parse_page
from tests.web.security.route_rules import (
    CONTENT_ROUTES,
    DOWNLOAD_ROUTES,
    FIRST_PERSON,
    PUBLIC,
    ROUTES,
    Route,
)
from tests.web.world import EVERYBODY, MEMBERS, SignIns, World, signed_in, undone

#: Routes that answer with a file, which links to nothing.
FILES = (
    "audit-csv", "audit-jsonl", "decisions-csv", "decisions-jsonl", "audit-evidence",
    "conversation-evidence", "decisions-evidence", "evidence-verifier", "ledger-csv",
    "ledger-file", "ledger-jsonl", "ledger-verifier", "personal-data",
    "review-queue-csv", "review-queue-evidence", "review-queue-jsonl", "secrets-csv",
    "secrets-jsonl",
)  # fmt: skip
#: Routes that show content: a visit that is let in leaves one entry, but for metadata.
CONTENT = {*CONTENT_ROUTES, *LISTING_ROUTES, *DOWNLOAD_ROUTES}
POST_ONLY = [name for name, route in ROUTES.items() if route.method == "post"]
KEYED = [name for name, route in ROUTES.items() if route.key]
VIEWS = {pattern.name: pattern for pattern in urls.urlpatterns}
MISSING = 10**9
#: Who meets what is said before anybody is looked at: everybody under proof.
VISITORS = EVERYBODY if IS_PROOF else ["outsider", "anonymous"]
#: Who gets a page that is missing as they get one that is forbidden; who owns elsewhere is no less
#: foreign than who is in no workspace.
STRANGERS = ("outsider", "rival", "anonymous") if IS_PROOF else ("rival", "anonymous")
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def make_address(name: str, world: World, **instead: Any) -> str:
    keys = {
        "conversation_id": world.conversation.pk,
        "inquiry_id": world.question.pk,
        "approval_id": world.prompt.pk,
        "workspace_id": world.workspace.pk,
        "membership_id": world.member("reader").pk,
        "anchor": world.anchor,
        "payload": "raw",
        "format_name": next(iter(exports.FORMATS)),
        "path": "another/jpweb.css",
        "name": "using",
        "queue_name": "cancelled",
        "provider_name": "unknown",
    } | instead
    arguments = VIEWS[name].pattern.regex.groupindex
    if "token" in arguments and "token" not in instead:
        person = world.people["responder"]
        keys["token"] = answer_links.issue_link(world.question.pk, person.pk)
    if "group_id" in arguments:
        keys = {"group_id": world.group.pk} | keys
    if "suspected_secret_id" in arguments:
        keys = {"suspected_secret_id": world.suggestion.pk} | keys
    return reverse(name, kwargs={key: value for key, value in keys.items() if key in arguments})


def may(member_name: str, needed: Role) -> bool:
    """Tell whether a member has a role's permissions; who audits only has those of two."""
    if member_name == "auditor only":
        return needed in (Role.READER, Role.AUDITOR)
    return MEMBERS[member_name] >= needed


def expected(route: Route, person_name: str) -> int:
    """Return the status that somebody gets; 302 to the sign-in page for those not signed in."""
    if route.rule == PUBLIC:
        return route.status
    if person_name == "anonymous":
        return 302
    if route.needs is None or (person_name in MEMBERS and may(person_name, route.needs)):
        return route.status
    if route.key == "group_id":
        return 404
    if route.key:
        return 403 if person_name in MEMBERS else 404
    owns_elsewhere = person_name == "rival" and route.rule != FIRST_PERSON
    return route.status if owns_elsewhere else 403


@pytest.fixture(autouse=True)
def no_real_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("start_turn", "retry_turn"):
        monkeypatch.setattr(runs, name, AsyncMock())


def test_the_table_names_every_route():
    assert set(VIEWS) == set(ROUTES)
    assert len(VIEWS) == len(urls.urlpatterns)


def test_views_have_the_access_rule_of_their_route():
    callbacks: dict[str, Any] = {name: VIEWS[name].callback for name in ROUTES}
    faults = [
        f"{name}: {view.access_rule}"
        for name, view in callbacks.items()
        if view.access_rule != ROUTES[name].rule
    ]
    assert not faults, "\n".join(faults)


def visit(client: Client, route: Route, url: str) -> tuple[int, str]:
    """Return the status of a route, and where an answer that bars the visitor leads."""
    response = getattr(client, route.method)(url, dict(route.data))
    b"".join(response) if response.streaming else response.content
    location = response.headers.get("Location", "")
    return response.status_code, location if location.startswith("/sign-in") else ""


def list_readers(reads: Counter[read_log.ReadRecord], after: int) -> list[int | None]:
    """Write the reads of a visit; return who made the entries of reads beyond a key."""
    read_log.write_reads(reads)
    entries = LedgerEntry.objects.filter(pk__gt=after, act__in=(Act.READ, Act.EXPORTED))
    return list(entries.values_list("person_id", flat=True))


def test_access_and_read_entries_follow_the_role_of_the_person(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    addresses = {name: make_address(name, world) for name in ROUTES}
    sign_ins = SignIns(world, *EVERYBODY)
    last_key = LedgerEntry.objects.aggregate(last=Max("pk"))["last"] or 0
    faults = []
    for (name, route), person_name in product(ROUTES.items(), EVERYBODY):
        gathered_reads.clear()
        with undone():
            status, sign_in = visit(sign_ins.client(person_name), route, addresses[name])
            readers = list_readers(gathered_reads, last_key) if name in CONTENT else []
        barred = person_name == "anonymous" and route.rule != PUBLIC
        leads_back = sign_in.startswith("/sign-in?next=")
        if (
            status != expected(route, person_name)
            or (barred and not sign_in)
            or leads_back is not (barred and route.method == "get")
        ):
            faults.append(f"{name} for {person_name}: {status} {sign_in}")
        is_read = status == 200 and name in CONTENT - METADATA_ROUTES
        if readers != ([world.people[person_name].pk] if is_read else []):
            faults.append(f"{name} for {person_name}: read by {readers}")
    assert not faults, "\n".join(faults)


def test_forbidden_pages_look_like_missing_ones(world: World):
    for person_name in STRANGERS:
        client = world.client(person_name)
        for name in KEYED:
            route, answers = ROUTES[name], []
            for url in (
                make_address(name, world),
                make_address(name, world, **{route.key: MISSING}),
            ):
                response = getattr(client, route.method)(url, dict(route.data))
                location = response.headers.get("Location", "").replace(str(MISSING), "KEY")
                answers.append((response.status_code, location.split("?")[0], _text(response)))
            assert answers[0] == answers[1], (person_name, name)


@pytest.mark.parametrize("key", [2**63, *mark_proof(10**30)])
def test_a_key_that_no_row_can_have_leads_nowhere(world: World, key: int):
    client = world.client("owner")
    for name in KEYED:
        route = ROUTES[name]
        url = make_address(name, world, **{route.key: key})
        response = getattr(client, route.method)(url, dict(route.data))
        assert (name, response.status_code) == (name, 404)


def _text(response: Any) -> str:
    """Return the page without the token, which differs each time."""
    text: str = response.content.decode()
    token = response.context and str(response.context.get("csrf_token") or "")
    return text.replace(token, "TOKEN") if token else text


def test_reading_never_changes_anything(world: World):
    """A GET is refused before anybody is looked at: the same for all, whether there or not."""
    addresses = {
        (name, exists): make_address(name, world, **({} if exists else {ROUTES[name].key: MISSING}))
        for name in POST_ONLY
        for exists in (True, False)
    }
    for person_name in VISITORS:
        client = world.client(person_name)
        for route_key, url in addresses.items():
            response = client.get(url)
            assert (person_name, route_key, response.status_code) == (person_name, route_key, 405)
            assert response.content == b""


def test_browser_that_opens_the_address_of_a_form_gets_the_same_page(world: World):
    """A GET shows where the form is: the same to everybody, whether its row exists or not."""
    clients = [world.client(person_name) for person_name in VISITORS]
    for name in POST_ONLY:
        key = ROUTES[name].key
        answers = set()
        for client, instead in product(clients, ({}, {key: MISSING} if key else {})):
            url = make_address(name, world, **instead)
            number = resolve(url).kwargs.get(key)
            response = client.get(url, headers=BROWSER)
            assert (name, response.status_code) == (name, 405)
            text = response.content.decode()
            assert "Nothing to show here" in text, name
            answers.add(text.replace(f"/{number}", "/KEY") if key else text)
        assert len(answers) == 1, name


def test_address_of_a_form_links_to_a_page_that_opens(world: World):
    clients = {name: world.client(name) for name in ("owner", "anonymous")}
    for name in POST_ONLY:
        page = parse_page(clients["owner"].get(make_address(name, world), headers=BROWSER))
        (link,) = [tag for tag in page if tag.tag == "a" and tag.parents[-1].tag == "p"]
        client = clients["anonymous" if link["href"].startswith("/sign-in") else "owner"]
        route = resolve(link["href"]).url_name or ""
        assert (name, client.get(link["href"]).status_code) == (name, 200), route
        assert link.text == page_labels.FORM_PAGE_LABELS[route]


def test_a_form_of_another_site_is_refused(world: World):
    client = signed_in(world.people["owner"], csrf=True)
    for name in (*POST_ONLY, "conversation-new", "sign-in", "join"):
        response = client.post(make_address(name, world), dict(ROUTES[name].data))
        assert (name, response.status_code) == (name, 403)
        world.question.refresh_from_db()
        world.prompt.refresh_from_db()
        assert (world.question.state, world.prompt.state) == ("open", "open"), name


def test_csrf_accepts_a_form_of_an_own_page(world: World):
    client = signed_in(world.people["owner"], csrf=True)
    page = client.get(make_address("conversation", world))
    token = str(page.context["csrf_token"])
    data = {"answer": "true", "csrfmiddlewaretoken": token}
    assert client.post(make_address("question-answer", world), data).status_code == 302
    world.question.refresh_from_db()
    assert world.question.state == "answered"


def test_a_page_without_a_key_is_linked_from_another_page(world: World):
    client = world.client("owner")
    paths = {
        make_address(name, world)
        for name, route in ROUTES.items()
        if route.method == "get" and not route.key and route.rule != PUBLIC
    }
    hrefs = {
        path: set(re.findall(r'href="(/[^"?#]*)', client.get(path).content.decode()))
        for path in paths - {make_address(name, world) for name in FILES}
    }
    # The service worker requests it.
    paths -= {make_address("notifications-waiting", world)}
    linked_paths = {path for page, links in hrefs.items() for path in links - {page}}
    assert paths - linked_paths == set()


def test_missing_page_returns_404_with_its_own_text(db: None):
    response = Client().get("/no/such/page")
    assert response.status_code == 404
    assert "or you don't have access" in response.content.decode()


async def test_pages_stay_private_on_the_way_that_servers_take(shared_world: World):
    client = AsyncClient()
    await client.aforce_login(shared_world.people["reader"])
    response = await client.get("/")
    assert (response.status_code, response["Cache-Control"]) == (200, "private, no-store")


def test_an_export_in_a_format_that_is_none_is_missing(world: World):
    path = make_address("conversation-export", world, format_name="novel")
    assert world.client("auditor").get(path).status_code == 404
