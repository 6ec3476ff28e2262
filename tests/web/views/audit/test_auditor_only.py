"""The role "auditor only": it audits, and can neither answer nor run, wherever one tries."""

from __future__ import annotations

import json
import re

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client

from jpweb.store import accounts
from jpweb.store.choices import Act, Role
from jpweb.store.inbox import presence, receipt_log
from jpweb.store.inbox.receipt_log import ReceiptTimes
from jpweb.store.models import DisplayReceipt, LedgerEntry
from jpweb.store.notifications import answer_links, destinations
from jpweb.store.reviews import assignments, subjects
from jpweb.web import access
from jpweb.web.websocket import conversation_updates
from tests.architecture.tree import list_modules, read_text
from tests.store import making
from tests.web.reading import parse_page
from tests.web.security.route_rules import ROUTES
from tests.web.test_access import make_address
from tests.web.world import World

WHO = "auditor only"


@pytest.mark.parametrize(
    ("needed", "expected_roles"),
    [
        (Role.READER, set(Role)),
        (Role.RESPONDER, {Role.RESPONDER, Role.AUDITOR, Role.OWNER}),
        (Role.AUDITOR, {Role.AUDITOR_ONLY, Role.AUDITOR, Role.OWNER}),
        (Role.OWNER, {Role.OWNER}),
    ],
)
def test_roles_that_include_another_are_these(needed: Role, expected_roles: set[Role]):
    assert set(Role.list_including(needed)) == expected_roles


def test_auditor_only_role_is_required_by_no_route():
    assert Role.AUDITOR_ONLY not in {route.needs for route in ROUTES.values()}


def test_auditing_is_compared_by_including_everywhere():
    """A comparison of values would leave out who audits only."""
    comparison = re.compile(r"role__gte=Role\.AUDITOR\b|>= Role\.AUDITOR\b|< Role\.AUDITOR\b")
    assert [path for path in list_modules("jpweb") if comparison.search(read_text(path))] == []


def test_reviews_are_assigned_to_who_audits_only_too(world: World):
    subject = subjects.load_question(making.settle(world.question, making.ANSWER))
    names = [person.username for person in assignments.list_assignable(subject)]
    assert names == ["auditor", WHO], "the owner started the turn"


def test_auditor_only_audits_and_exports(world: World):
    client = world.client(WHO)
    page = parse_page(client.get("/audit"))
    assert page.find_all(href=f"/questions/{world.question.pk}")
    assert 'data-act="run_started"' in client.get("/audit/ledger").content.decode()
    assert b"Go on?" in client.get("/audit.csv").content
    assert client.get(make_address("conversation-export", world)).status_code == 200
    home = parse_page(client.get("/"))
    assert home.find_all(href="/audit")
    assert not home.find_all(href="/questions")
    assert not home.find_all(href="/conversations/new")


def test_auditor_only_is_offered_no_form_that_answers_or_runs(world: World):
    prompt, client = world.prompt, world.client(WHO)
    for path in (f"/conversations/{world.conversation.pk}", f"/questions/{world.question.pk}", "/"):
        page = parse_page(client.get(path))
        actions = {tag["action"] for tag in page if tag.tag == "form" and "action" in tag}
        barred = ("/questions/", f"/prompts/{prompt.pk}", "/turns", "/stop", "/restart", "/respond")
        assert not [action for action in actions if any(part in action for part in barred)], path


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/conversations/{}", "Your role, Auditor only, can't answer or run anything."),
        ("/", "Get notified when a comment mentions you"),
        ("/notifications", "Your role, Auditor only, can't answer."),
    ],
)
def test_auditor_only_sees_no_hint_to_get_another_role(world: World, path: str, text: str):
    page = parse_page(world.client(WHO).get(path.format(world.conversation.pk)))
    assert text in page.text
    assert "Responder role" not in page.text
    assert "question waits" not in page.text


def test_composer_of_an_open_page_follows_the_change_to_auditor_only(world: World):
    role_by_page = {"-read": Role.READER, "-audit": Role.AUDITOR_ONLY}
    page = conversation_updates.RenderedState()
    key = (world.people["reader"].pk, page)
    for suffix, role in role_by_page.items():
        accounts.change_role(world.member("reader"), role)
        updates = conversation_updates.find_conversation_updates(world.conversation.pk, [key])
        update = updates[key]
        assert update
        assert update.page.run.endswith(suffix)
        assert ("Your role, <em>Auditor only</em>" in update.html) is (role == Role.AUDITOR_ONLY)


def test_answer_of_an_auditor_only_by_socket_is_refused(world: World):
    client = world.client(WHO)
    with pytest.raises(PermissionDenied):
        access.authorize_answer(client.session.session_key, world.question.pk)
    owner = world.client("owner")
    person, _ = access.authorize_answer(owner.session.session_key, world.question.pk)
    assert person == world.people["owner"]


def test_link_to_answer_is_barred_once_the_person_audits_only(world: World):
    token = answer_links.issue_link(world.question.pk, world.people["responder"].pk)
    accounts.change_role(world.member("responder"), Role.AUDITOR_ONLY)
    response = Client().post(f"/answer/{token}", {"answer": "true"})
    assert "can no longer answer" in response.content.decode()
    world.question.refresh_from_db()
    assert world.question.state == "open"


def test_auditor_only_does_not_count_as_able_to_answer(world: World):
    person_id = world.people[WHO].pk
    presence.record_presence("one", {(person_id, world.workspace.pk)})
    assert not presence.is_anyone_present(world.workspace.pk)
    assert not destinations.can_answer(person_id, world.workspace.pk)
    at = world.question.asked_at
    receipt_log.save_receipts({(world.question.pk, person_id): ReceiptTimes(visible=at)})
    assert not DisplayReceipt.objects.exists()


def test_owner_invites_and_makes_an_auditor_only_and_the_ledger_says_so(world: World):
    client, role = world.client("owner"), {"role": str(Role.AUDITOR_ONLY.value)}
    page = client.get(make_address("people", world)).content.decode()
    assert "can't answer, approve or run anything" in page
    client.post(make_address("people-invite", world), {"name": "Ines"} | role)
    assert "Ines as Auditor only" in client.get(make_address("people", world)).content.decode()
    client.post(make_address("member-role", world), role)
    for act in (Act.MEMBER_INVITED, Act.ROLE_CHANGED):
        entry = LedgerEntry.objects.get(act=act)
        assert json.loads(entry.text)["details"]["role"] == "auditor only"
