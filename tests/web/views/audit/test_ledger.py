"""The ledger on pages: who reads, exports and decides is an entry, and the file verifies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from jpweb.runtime import read_log
from jpweb.store.choices import Act
from jpweb.store.ledger import sealing
from jpweb.store.models import LedgerEntry, Membership
from jpweb.web.security.read_recording import EXPORT_ROUTES, LISTING_ROUTES, METADATA_ROUTES
from tests.store import making
from tests.web.security.route_rules import CONTENT_ROUTES, DOWNLOAD_ROUTES, ROUTES
from tests.web.test_access import make_address, no_real_runs
from tests.web.world import SignIns, World, undone

__all__ = ["no_real_runs"]

pytestmark = pytest.mark.usefixtures("gathered_reads")

#: Routes that show settings, people and titles, that lead elsewhere, or search for words that are
#: an entry.
ROUTES_WITHOUT_CONTENT = {
    "account", "approval-call", "comment-next", "conversation-neighbour",
    "conversation-new", "conversation-step", "conversations", "download", "event-part",
    "evidence-verifier", "go", "group", "groups", "help", "help-page", "join",
    "ledger-verifier", "notifications", "notifications-waiting", "people", "service-worker",
    "question-settings", "readers", "reviews", "search", "second-factor", "settings",
    "sign-in", "sign-in-code", "sign-on-callback", "static-file", "tools",
    "workspace-add", "workspace-files",
}  # fmt: skip
#: What a submission of an owner leaves in the ledger; ``test_submissions`` has the others.
ACTS_BY_ROUTE = {
    "comment-add": {Act.COMMENT_ADDED},
    "conversation-stop": {Act.RUN_INTERRUPTED},
    "conversation-restart": {Act.RUN_INTERRUPTED},
    "conversation-respond": {Act.RUN_INTERRUPTED},
    "question-answer": {Act.INQUIRY_ANSWERED},
    "question-decline": {Act.INQUIRY_CANCELLED},
    "question-claim": {Act.QUESTION_CLAIMED},
    "approval-claim": {Act.APPROVAL_CLAIMED},
    "approval-allow": {Act.APPROVAL_DECIDED},
    "approval-deny": {Act.APPROVAL_DECIDED},
    "secret-reveal": {Act.TEXT_REVEALED},
    "secret-dismiss": {Act.SUSPICION_DISMISSED},
    "write-policy": {Act.SETTING_CHANGED},
    "following-choose": {Act.SETTING_CHANGED},
    "people-invite": {Act.MEMBER_INVITED},
    "question-settings-choose": {Act.SETTING_CHANGED},
    "review-count-choose": {Act.SETTING_CHANGED},
    "tools-switch": {Act.SETTING_CHANGED},
    "tools-overrides": {Act.SETTING_CHANGED},
    "member-role": {Act.ROLE_CHANGED},
    "member-link": {Act.LINK_MADE},
    "member-remove": {Act.MEMBER_REMOVED},
    "group-new": {Act.GROUP_CHANGED},
    "group-delete": {Act.GROUP_CHANGED},
    "account-link": {Act.LINK_MADE},
    "sign-out": {Act.SIGNED_OUT},
    "sign-out-everywhere": {Act.SIGN_INS_ENDED, Act.SIGNED_OUT},
    "account-end-others": {Act.SIGN_INS_ENDED},
}


def make_addresses(world: World, names: Iterable[str]) -> dict[str, str]:
    return {name: make_address(name, world) for name in names}


def list_acts(person_id: int) -> set[str]:
    return set(LedgerEntry.objects.filter(person_id=person_id).values_list("act", flat=True))


def test_content_routes_leave_one_read_entry(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    sign_ins, addresses = SignIns(world, "owner"), make_addresses(world, CONTENT_ROUTES)
    fields = ("person_id", "act", "workspace_id", "conversation_id")
    entries = LedgerEntry.objects.filter(act__in=(Act.READ, Act.EXPORTED))
    reads: dict[str, list[tuple[Any, ...]]] = {}
    for name, url in addresses.items():
        gathered_reads.clear()
        with undone():
            response = sign_ins.client("owner").get(url)
            assert (name, response.status_code) == (name, 200)
            b"".join(response) if response.streaming else response.content
            read_log.write_reads(gathered_reads)
            reads[name] = list(entries.values_list(*fields))
    secret_key = world.suggestion.conversation_id
    expected_reads: dict[str, list[tuple[Any, ...]]] = {name: [] for name in addresses}
    for name in expected_reads.keys() - METADATA_ROUTES:
        is_of_secret = ROUTES[name].key == "suspected_secret_id"
        place = (world.workspace.pk, secret_key if is_of_secret else world.conversation.pk)
        act = Act.EXPORTED if name in EXPORT_ROUTES else Act.READ
        expected_reads[name] = [(world.people["owner"].pk, act, *place)]
    assert reads == expected_reads


def test_get_routes_are_listed_as_with_or_without_content():
    gets = {name for name, route in ROUTES.items() if route.method == "get"}
    content = {*CONTENT_ROUTES, *LISTING_ROUTES, *DOWNLOAD_ROUTES, "answer-link"}
    assert gets - content == ROUTES_WITHOUT_CONTENT


@pytest.mark.parametrize("visitor", ["anonymous", "owner"])
def test_page_of_an_answer_link_is_one_read_by_its_person(
    world: World, visitor: str, gathered_reads: Counter[read_log.ReadRecord]
):
    world.client(visitor).get(make_address("answer-link", world))
    world.client(visitor).head(make_address("answer-link", world))
    world.client(visitor).get(make_address("answer-link", world, token="unknown"))
    read_log.write_reads(gathered_reads)
    entry = LedgerEntry.objects.get(act=Act.READ)
    assert entry.person_id == world.people["responder"].pk
    assert (entry.workspace_id, entry.conversation_id) == (
        world.workspace.pk,
        world.conversation.pk,
    )
    assert json.loads(entry.text)["details"]["view"] == "answer-link"


def test_refused_reader_leaves_no_read_entry(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    for name in ("outsider", "rival", "anonymous"):
        world.client(name).get(make_address("conversation", world))
    assert not gathered_reads


def test_equal_reads_are_one_entry_with_their_number(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    client = world.client("reader")
    for _ in range(3):
        client.get(make_address("conversation", world))
    read_log.write_reads(gathered_reads)
    entry = LedgerEntry.objects.get(act=Act.READ)
    assert json.loads(entry.text)["details"] == {"count": 3, "view": "conversation"}


def test_owner_submissions_are_ledger_entries_of_the_owner(world: World):
    sign_ins, addresses = SignIns(world, "owner"), make_addresses(world, ACTS_BY_ROUTE)
    LedgerEntry.objects.all().delete()
    missing_acts = {}
    for name, url in addresses.items():
        route = ROUTES[name]
        with undone():
            getattr(sign_ins.client("owner"), route.method)(url, dict(route.data))
            missing_acts[name] = ACTS_BY_ROUTE[name] - list_acts(world.people["owner"].pk)
    assert {name: acts for name, acts in missing_acts.items() if acts} == {}


def test_search_is_an_entry_of_the_person_alone(
    world: World, gathered_reads: Counter[read_log.ReadRecord]
):
    world.client("reader").get("/search", {"q": "tomatoes"})
    read_log.write_reads(gathered_reads)
    entry = LedgerEntry.objects.get(act=Act.SEARCHED)
    assert json.loads(entry.text)["details"]["query"] == "tomatoes"
    page = world.client("auditor").get("/audit/ledger").content.decode()
    assert "tomatoes" not in page


def test_answer_is_one_entry_with_the_hash_of_its_event(world: World):
    world.client("owner").post(make_address("question-answer", world), {"answer": "true"})
    entry = LedgerEntry.objects.get(act=Act.INQUIRY_ANSWERED)
    details = json.loads(entry.text)["details"]
    assert entry.subject == f"inquiry:{world.question.pk}"
    assert details["asked_at"] == world.question.asked_at.isoformat()
    assert details["outcome"] == "answered"
    assert len(details["event_hash"]) == 64
    assert "true" not in entry.text


def test_ledger_page_shows_entries_of_audited_workspaces_alone(world: World):
    making.question(making.start_run(making.conversation(world.other_workspace)))
    world.client("owner").post(make_address("question-answer", world), {"answer": "true"})
    sealing.seal_entries()
    auditor = world.client("auditor").get("/audit/ledger").content.decode()
    rival = world.client("rival").get("/audit/ledger").content.decode()
    assert "Question answered" in auditor.partition("<tbody>")[2]
    assert "Question answered" not in rival.partition("<tbody>")[2]
    assert "Turn started" in rival.partition("<tbody>")[2]


@pytest.mark.parametrize("text", ["", "no JSON", '{"by":{"kind":"person","name":"Mallory"}}'])
def test_forged_row_is_marked_on_the_page(world: World, text: str):
    world.client("owner").post(make_address("question-answer", world), {"answer": "true"})
    # No database has a key of so many digits.
    LedgerEntry.objects.filter(act=Act.INQUIRY_ANSWERED).update(
        text=text, mac="0" * 64, subject=f"person:{'9' * 30}"
    )
    sealing.seal_entries()
    page = world.client("auditor").get("/audit/ledger").content.decode()
    assert "1 row of the ledger's table" in page
    assert page.partition("<tbody>")[2].count(">forged</strong>") == 1
    assert "Mallory" not in page


@pytest.mark.parametrize("text", ["no JSON", "[1]", '{"by":[1],"details":"text"}'])
def test_ledger_page_opens_with_a_sealed_entry_whose_text_is_damaged(world: World, text: str):
    world.client("owner").post(make_address("question-answer", world), {"answer": "true"})
    sealing.seal_entries()
    LedgerEntry.objects.filter(act=Act.INQUIRY_ANSWERED).update(text=text)
    page = world.client("auditor").get("/audit/ledger").content.decode()
    assert "Question answered" in page.partition("<tbody>")[2]


def test_own_entry_of_a_workspace_that_was_left_links_to_no_page(world: World):
    auditor = world.client("auditor")
    auditor.post(make_address("question-answer", world), {"answer": "true"})
    link = f'href="/questions/{world.question.pk}"'
    assert link in auditor.get("/audit/ledger").content.decode()
    Membership.objects.filter(person=world.people["auditor"]).update(
        workspace=world.other_workspace
    )
    page = auditor.get("/audit/ledger").content.decode()
    assert "Question answered" in page.partition("<tbody>")[2]
    assert link not in page


@pytest.mark.parametrize(
    ("query", "is_listed"),
    [
        ("act=role_changed", True),
        ("act=read", False),
        ("since=2999-01-01", False),
        ("until=2999-01-01&workspace={workspace}", True),
        ("workspace={elsewhere}", False),
        ("person={owner}", True),
        ("person={reader}", False),
    ],
)
def test_ledger_filters_narrow_the_entries(world: World, query: str, is_listed: bool):
    world.client("owner").post(make_address("member-role", world), {"role": "20"})
    people = {name: person.pk for name, person in world.people.items()}
    query = query.format(workspace=world.workspace.pk, elsewhere=world.other_workspace.pk, **people)
    page = world.client("owner").get(f"/audit/ledger?{query}").content.decode()
    assert ('data-act="role_changed"' in page) is is_listed


def test_unknown_act_in_the_address_is_named(world: World):
    response = world.client("owner").get("/audit/ledger?act=dance")
    assert response.status_code == 422
    assert "Unknown act “dance”" in response.content.decode()


def test_role_below_auditor_sees_no_ledger(world: World):
    assert world.client("responder").get("/audit/ledger").status_code == 403
