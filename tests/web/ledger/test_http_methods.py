"""HTTP methods of every route: none shows content that is not on record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from jpweb.runtime import read_log
from jpweb.store.choices import Act
from jpweb.store.models import LedgerEntry
from jpweb.web.labels.ledger_labels import PAGE_LABELS
from tests.machine.sizes import IS_PROOF, mark_proof
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import POST_ONLY, make_address
from tests.web.world import SECRET, SignIns, World, undone

#: Routes of a page whose form is sent to the address of the page.
FORM_PAGES = {"answer-link", "conversation-new", "join", "sign-in", "sign-in-code"}
METHODS = ("OPTIONS", "POST", "PUT", "PATCH", "DELETE")
HTMX = {"HX-Request": "true"}


def send(
    client: Client, method: str, url: str, data: Iterable[tuple[str, str]] = (), **headers: str
) -> Any:
    form = "application/x-www-form-urlencoded"
    return client.generic(method, url, urlencode(list(data)), content_type=form, headers=headers)


def read_text(response: Any) -> str:
    pieces = response.streaming_content if response.streaming else [response.content]
    return b"".join(pieces).decode(errors="replace")


def list_methods(name: str) -> tuple[str, ...]:
    """Return the methods that a route takes."""
    if name == "sign-on-callback":
        return ("GET",)
    if name in POST_ONLY:
        return ("POST",)
    return ("GET", "HEAD", "POST") if name in FORM_PAGES else ("GET", "HEAD")


# Refused before anybody is looked at: test_reading_never_changes_anything asks others too.
@pytest.mark.parametrize("person_name", ["owner", *mark_proof("anonymous", "outsider")])
def test_methods_that_a_view_does_not_take_are_refused(world: World, person_name: str):
    client = world.client(person_name)
    addresses = {name: make_address(name, world) for name in ROUTES}
    faults = []
    for (name, url), method in product(addresses.items(), (*METHODS, "GET", "HEAD", "TRACE")):
        methods = list_methods(name)
        if method in methods:
            continue
        response = send(client, method, url)
        is_option = method == "OPTIONS"
        expected_reply = (
            204 if is_option else 405,
            ", ".join((*methods, "OPTIONS") if is_option else methods),
            b"",
        )
        reply = (response.status_code, response.headers.get("Allow"), response.content)
        if reply != expected_reply:
            faults.append(f"{method} {name}: {reply[:2]}")
    assert not faults, "\n".join(faults)


# The test above shows in ``make test`` that no route but those of forms answers other methods.
@pytest.mark.parametrize("method", ["POST", *mark_proof(*sorted({*METHODS} - {"POST"}))])
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_content_of_any_method_is_a_read(
    world: World, gathered_reads: Counter[read_log.ReadRecord], method: str, headers: dict[str, str]
):
    addresses = {name: make_address(name, world) for name in ROUTES}
    sign_ins = SignIns(world, "owner")
    texts = (world.question.question["text"], f"Log in with {SECRET}")
    acts = (Act.READ, Act.EXPORTED)
    faults, content_count = [], 0
    # Others answer nothing: test_methods_that_a_view_does_not_take_are_refused.
    requests = [
        (name, data)
        for name, route in ROUTES.items()
        if IS_PROOF or method in list_methods(name)
        for data in {route.data, ()}
    ]
    for name, data in requests:
        gathered_reads.clear()
        with undone():
            text = read_text(
                send(sign_ins.client("owner"), method, addresses[name], data, **headers)
            )
            is_noted = gathered_reads or LedgerEntry.objects.filter(act__in=acts).exists()
        shows_content = any(part in text for part in texts)
        content_count += shows_content
        unlabelled = {read.view for read in gathered_reads} - set(PAGE_LABELS)
        if (shows_content and not is_noted) or unlabelled:
            faults.append(f"{method} {name}, fields {data} {unlabelled}")
    assert not faults, "\n".join(faults)
    # The law says something of a method that takes forms.
    assert bool(content_count) is (method == "POST")


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("answer-link", "answer-link"),
        ("comment-edit", "comments"),
        ("event-redact-preview", "event-redact"),
        ("question-review", "question"),
        ("secret-reveal", "secret"),
    ],
)
def test_reply_to_a_form_is_a_read_of_the_page_of_the_form(
    world: World, gathered_reads: Counter[read_log.ReadRecord], name: str, page: str
):
    response = send(world.client("owner"), "POST", make_address(name, world))
    assert response.status_code in (200, 422)
    (read_record,) = gathered_reads
    assert read_record.view == page
    assert read_record.place.workspace_id == world.workspace.pk


def test_form_that_shows_no_content_is_no_read(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    client = world.client("owner")
    for name in ("question-claim", "question-release", "approval-claim", "conversation-read"):
        send(client, "POST", make_address(name, world), ROUTES[name].data, **HTMX)
    send(client, "HEAD", make_address("conversation", world))
    assert not gathered_reads
