"""Exports of the audit: JSON lines and evidence bundles."""

from __future__ import annotations

import csv
import html
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jpweb.evidence import scripts
from jpweb.store import approvals, audit
from jpweb.store.audit import AuditFilters
from jpweb.store.choices import Act, Role, Verdict
from jpweb.store.evidence import contents
from jpweb.store.models import (
    Approval,
    Conversation,
    Inquiry,
    JournalEntry,
    LedgerEntry,
    Membership,
    Person,
    Review,
    Workspace,
)
from jpweb.store.reviews.exported_reviews import ExportedReviews
from jpweb.stream import wire
from jpweb.stream.events import ToolCallRequest
from jpweb.stream.inquiry import Answered, Redacted
from jpweb.web.views.audit import csv_export
from tests import bundles
from tests.store import making
from tests.store.reviews import desk
from tests.web.test_access import make_address, no_real_runs
from tests.web.world import World

__all__ = ["no_real_runs"]


def get(world: World, path: str, name: str = "auditor", **query: Any) -> Any:
    return world.client(name).get(f"{path}?{urlencode(query)}")


def read_body(response: Any) -> bytes:
    assert response.status_code == 200
    return b"".join(response) if response.streaming else response.content


def save(response: Any, folder: Path) -> Path:
    path = folder / "bundle.zip"
    path.write_bytes(read_body(response))
    return path


def get_name(response: Any) -> str:
    header: str = response["Content-Disposition"]
    return header.removeprefix('attachment; filename="').removesuffix('"')


@pytest.fixture
def answered_world(world: World) -> World:
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    making.settle(making.question(world.run, text="=1+1"), Redacted())
    making.question(world.run, text="Still open?")
    return world


def test_json_lines_are_the_rows_of_the_csv_with_types(answered_world: World):
    rows = [
        json.loads(line) for line in read_body(get(answered_world, "/audit.jsonl")).splitlines()
    ]
    text = read_body(get(answered_world, "/audit.csv")).decode()
    cells = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [set(row) - {"reviews"} for row in rows] == [set(row) for row in cells]
    assert [row["link"] for row in rows] == [row["link"] for row in cells]
    by_question = {row["question"]: row for row in rows}
    answered = by_question["Go on?"]
    assert (answered["answer"], type(answered["waited_seconds"])) == (True, float)
    open_row = by_question["Still open?"]
    assert (open_row["answer"], open_row["settled_at"], open_row["waited_seconds"]) == (None,) * 3
    assert "=1+1" in by_question, "formulas are escaped in CSV alone"


@pytest.mark.parametrize("query", [{"outcome": "open"}, {"words": "Go"}, {"outcome": "cancelled"}])
def test_json_lines_have_the_same_filters(answered_world: World, query: dict[str, str]):
    rows = read_body(get(answered_world, "/audit.jsonl", **query)).splitlines()
    table = read_body(get(answered_world, "/audit.csv", **query)).decode()
    assert len(rows) == len(list(csv.reader(io.StringIO(table, newline="")))) - 1


@pytest.mark.parametrize(
    "path",
    [
        "/audit.jsonl",
        "/audit/evidence.zip",
        "/audit/decisions/evidence.zip",
        "/audit/ledger/entries.csv",
    ],
)
def test_invalid_filter_is_named_in_one_line(world: World, path: str):
    response = get(world, path, since="yesterday")
    assert (response.status_code, response["Content-Type"]) == (422, "text/plain; charset=utf-8")
    assert "“since” must be a date" in response.content.decode()


def test_bundle_of_a_conversation_verifies(answered_world: World, tmp_path: Path):
    address = make_address("conversation-evidence", answered_world)
    response = answered_world.client("auditor").get(address)
    assert response["Content-Type"] == "application/zip"
    assert get_name(response).endswith(".evidence.zip")
    path = save(response, tmp_path)
    assert bundles.list_problems(path) == []
    manifest = json.loads(bundles.read_files(path)["manifest.json"])
    (row,) = manifest["conversations"]
    assert row["link"] == f"http://testserver/conversations/{answered_world.conversation.pk}"
    assert manifest["made_by"] == "Auditor"


def test_bundle_of_a_filter_has_its_conversations_alone(answered_world: World, tmp_path: Path):
    other = making.conversation(answered_world.workspace, "Second")
    making.question(making.start_run(other), text="Only here")
    making.question(making.start_run(making.conversation(answered_world.other_workspace)))
    path = save(get(answered_world, "/audit/evidence.zip"), tmp_path)
    manifest = json.loads(bundles.read_files(path)["manifest.json"])
    assert {row["id"] for row in manifest["conversations"]} == {
        answered_world.conversation.pk,
        other.pk,
    }
    assert bundles.list_problems(path) == []
    path = save(get(answered_world, "/audit/evidence.zip", words="Only here"), tmp_path)
    manifest = json.loads(bundles.read_files(path)["manifest.json"])
    assert [row["id"] for row in manifest["conversations"]] == [other.pk]
    assert manifest["filter"] == "words=Only+here"


def test_bundle_of_no_match_proves_its_filter(world: World, tmp_path: Path):
    path = save(get(world, "/audit/evidence.zip", words="nowhere to be seen"), tmp_path)
    assert bundles.list_problems(path) == []
    manifest = json.loads(bundles.read_files(path)["manifest.json"])
    assert (manifest["conversations"], manifest["filter"]) == ([], "words=nowhere+to+be+seen")


@pytest.mark.parametrize("path", ["/audit/evidence.zip", "/audit/decisions/evidence.zip"])
def test_bundle_of_too_many_conversations_is_refused(
    answered_world: World, monkeypatch: pytest.MonkeyPatch, path: str
):
    monkeypatch.setattr(contents, "MAX_CONVERSATIONS", 0)
    response = get(answered_world, path)
    assert response.status_code == 422
    assert "Narrow the filters" in response.content.decode()


@pytest.mark.parametrize(
    ("route", "details"),
    [
        ("audit-csv", {"file"}),
        ("audit-jsonl", {"file"}),
        ("audit-evidence", {"file", "format"}),
        ("decisions-evidence", {"file", "format"}),
        ("ledger-csv", {"file"}),
        ("ledger-jsonl", {"file"}),
        ("review-queue-csv", {"file"}),
        ("review-queue-jsonl", {"file"}),
        ("review-queue-evidence", {"file", "format"}),
        ("secrets-csv", {"file"}),
        ("secrets-jsonl", {"file"}),
        ("conversation-evidence", {"file", "format"}),
        ("conversation-export", {"file", "format"}),
    ],
)
def test_export_leaves_one_entry(answered_world: World, route: str, details: set[str]):
    read_body(answered_world.client("auditor").get(make_address(route, answered_world)))
    entry = LedgerEntry.objects.get(act=Act.EXPORTED)
    assert entry.person_id == answered_world.people["auditor"].pk
    recorded = json.loads(entry.text)["details"]
    assert {name for name, value in recorded.items() if value} == details


def test_bundle_leaves_an_entry_of_each_conversation_in_it(answered_world: World):
    world = answered_world
    other = making.conversation(world.workspace)
    making.question(making.start_run(other), text="And there?")
    making.conversation(world.workspace)  # without a question, so in no bundle
    with CaptureQueriesContext(connection) as queries:
        read_body(get(world, "/audit/evidence.zip", more="x" * 5000))
    entries = LedgerEntry.objects.filter(act=Act.EXPORTED).order_by("pk")
    assert list(entries.values_list("workspace_id", "conversation_id")) == [
        (world.workspace.pk, world.conversation.pk),
        (world.workspace.pk, other.pk),
    ]
    assert all(len(entry.text) < 2000 for entry in entries)
    inserts = [query for query in queries if '"store_ledgerentry" ("' in query["sql"]]
    assert len(inserts) == 1


def test_auditor_who_is_removed_may_not_read_on(answered_world: World):
    auditor, key = answered_world.people["auditor"], answered_world.conversation.pk
    assert contents.can_audit_all(auditor.pk, [key])
    Membership.objects.filter(person=auditor).update(role=Role.RESPONDER)
    assert not contents.can_audit_all(auditor.pk, [key])


def test_verifier_is_the_script_of_the_bundle(world: World):
    response = get(world, "/audit/evidence-verifier")
    assert get_name(response) == "verify_bundle.py"
    assert read_body(response).decode() == scripts.build_bundle_script()


def test_pages_offer_the_downloads_with_their_filters(answered_world: World):
    page = get(answered_world, "/audit", outcome="open").content.decode()
    for path in ("/audit.csv", "/audit.jsonl", "/audit/evidence.zip"):
        assert f'href="{path}?outcome=open"' in page
    page = get(answered_world, f"/conversations/{answered_world.conversation.pk}").content.decode()
    assert f'href="{make_address("conversation-evidence", answered_world)}"' in page


def test_imported_conversation_says_so(world: World):
    Conversation.objects.filter(pk=world.conversation.pk).update(origin="imported")
    Inquiry.objects.all().delete()
    page = get(world, f"/conversations/{world.conversation.pk}").content.decode()
    assert "Imported evidence is read-only." in page
    assert "Imported evidence (read-only)" in page


def review(world: World, reviewer: Person, verdict: Verdict, note: str = "") -> None:
    world.question.refresh_from_db()
    desk.send(desk.load(world.question), reviewer, verdict, note)


def read_row(world: World, name: str = "auditor") -> dict[str, str]:
    text = read_body(get(world, "/audit.csv", name, outcome="answered")).decode()
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    return row


def test_export_columns_of_a_reviewer_have_their_latest_review(answered_world: World):
    auditor = answered_world.people["auditor"]
    review(answered_world, auditor, Verdict.WRONG, "=HYPERLINK(1)")
    row = read_row(answered_world)
    assert row["review by Auditor"] == "wrong"
    assert row["review note by Auditor"] == "'=HYPERLINK(1)", "a formula is escaped"
    Person.objects.filter(pk=auditor.pk).update(first_name="Anew")
    auditor.refresh_from_db()
    review(answered_world, auditor, Verdict.FINE)
    row = read_row(answered_world)
    assert row["review by Anew"] == "fine"
    assert row["review time by Anew"] == Review.objects.latest("pk").reviewed_at.isoformat()
    assert "review by Auditor" not in row, "a reviewer has one name"


def test_heading_that_a_spreadsheet_would_evaluate_is_escaped(
    answered_world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(csv_export, "REVIEW_HEADING", "{name}")
    auditor = answered_world.people["auditor"]
    Person.objects.filter(pk=auditor.pk).update(first_name="=1+1")
    auditor.refresh_from_db()
    review(answered_world, auditor, Verdict.FINE)
    assert read_row(answered_world)["'=1+1"] == "fine"


def test_export_says_that_a_review_is_of_an_earlier_version(answered_world: World):
    auditor = answered_world.people["auditor"]
    review(answered_world, auditor, Verdict.WRONG, "No.")
    question = answered_world.question
    entry = JournalEntry.objects.get(
        conversation=question.conversation, position=question.response_position or 0
    )
    JournalEntry.objects.filter(pk=entry.pk).update(text=entry.text.replace("answered", "lost"))
    assert read_row(answered_world)["review by Auditor"] == "wrong (earlier version)"
    body = read_body(get(answered_world, "/audit.jsonl", "auditor", outcome="answered"))
    (line,) = json.loads(body)["reviews"]
    assert (line["verdict"], line["is_outdated"]) == ("wrong", True)
    review(answered_world, auditor, Verdict.FINE)
    assert read_row(answered_world)["review by Auditor"] == "fine"


def test_export_columns_of_reviewers_with_one_name_are_separate(answered_world: World):
    Workspace.objects.update(reviews_required=2)
    auditor = answered_world.people["auditor"]
    other = making.person("other", Role.AUDITOR, answered_world.workspace)
    Person.objects.filter(pk=other.pk).update(first_name="Auditor")
    other.refresh_from_db()
    review(answered_world, auditor, Verdict.WRONG, "No.")
    review(answered_world, other, Verdict.FINE)
    row = read_row(answered_world)
    assert (row["review by Auditor"], row["review by Auditor (2)"]) == ("wrong", "fine")


def test_export_shows_a_blind_first_review_to_its_reviewer_only(answered_world: World):
    Workspace.objects.update(reviews_required=2)
    auditor = answered_world.people["auditor"]
    making.person("other", Role.AUDITOR, answered_world.workspace)
    answered_world.people["other"] = Person.objects.get(username="other")
    review(answered_world, auditor, Verdict.WRONG, "No.")
    assert read_row(answered_world)["review by Auditor"] == "wrong"
    row = read_row(answered_world, "other")
    assert (row["review by Auditor"], row["review note by Auditor"]) == ("hidden", "")
    assert row["review time by Auditor"]
    body = read_body(get(answered_world, "/audit.jsonl", "other", outcome="answered"))
    (line,) = json.loads(body)["reviews"]
    assert line["is_hidden"] is True
    assert "verdict" not in line


def test_reviews_cost_a_query_for_each_batch(answered_world: World):
    review(answered_world, answered_world.people["auditor"], Verdict.WRONG, "No.")
    rows = next(audit.read_batches(answered_world.people["auditor"].pk, AuditFilters())).rows
    reviews = ExportedReviews(answered_world.people["auditor"].pk, AuditFilters())
    with CaptureQueriesContext(connection) as queries:
        reviews.load_reviews(rows)
    assert len(queries) == 1


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_readable_export_names_who_decided_about_a_call_and_their_words(world: World, name: str):
    decision = {"allow": False, "reason": "Not on a <b>Friday</b>"}
    approvals.decide_approval(world.prompt.pk, decision, making.decider(world.people["owner"]))
    call = world.conversation.journal.get(category="call")
    event = wire.read_element(call.text).kind
    assert isinstance(event, ToolCallRequest)
    asked_at = Approval.objects.get().asked_at
    Approval.objects.update(tool_call_id=event.id, settled_at=asked_at + timedelta(seconds=90))
    text = read_body(get(world, f"/conversations/{world.conversation.pk}/export/{name}")).decode()
    assert "Denied by Owner, " in text
    assert "UTC, after 1 min 30 s:" in text
    words = "Not on a <b>Friday</b>"
    assert (words if name == "markdown" else html.escape(words)) in text


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/audit.csv", {}),
        ("/audit.jsonl", {}),
        ("/audit/evidence.zip", {}),
        ("/audit/ledger.jsonl", {}),
        ("/audit/ledger/entries.csv", {}),
        ("/audit.csv", {"words": "Go on"}),
        ("/audit.csv", {"words": "Nothing like it"}),
    ],
)
def test_export_of_several_conversations_is_an_entry_in_each_workspace(
    answered_world: World, path: str, query: dict[str, str]
):
    world = answered_world
    auditor = world.people["auditor"]
    Membership.objects.create(person=auditor, workspace=world.other_workspace, role=Role.AUDITOR)
    making.question(making.start_run(making.conversation(world.other_workspace)), text="And there?")
    read_body(get(world, path, **query))
    workspace_ids: list[int | None] = (
        [world.workspace.pk] if query else [world.workspace.pk, world.other_workspace.pk]
    )
    workspace_ids = [None] if query.get("words") == "Nothing like it" else workspace_ids
    entries = LedgerEntry.objects.filter(act=Act.EXPORTED, person_id=auditor.pk)
    assert list(entries.order_by("pk").values_list("workspace_id", flat=True)) == workspace_ids
    page = world.client("rival").get("/audit/ledger").content.decode()
    assert ('data-act="exported"' in page) is (len(workspace_ids) == 2)


def test_export_rows_name_the_starter_of_the_turn(answered_world: World):
    Person.objects.filter(pk=answered_world.people["owner"].pk).update(first_name="")
    assert read_row(answered_world)["started_by"] == "owner"
    Person.objects.filter(pk=answered_world.people["owner"].pk).update(first_name="Ada")
    assert read_row(answered_world)["started_by"] == "Ada"
    Inquiry.objects.update(run=None)
    lines = read_body(get(answered_world, "/audit.jsonl")).splitlines()
    assert {json.loads(line)["started_by"] for line in lines} == {""}


def list_questions(world: World, identifier: str) -> list[str]:
    """Return the questions of the file with an id, which are those of the page."""
    text = read_body(get(world, "/audit.csv", identifier=identifier)).decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    page = get(world, "/audit", identifier=identifier).content.decode()
    assert page.count('<tr id="inquiry-') == len(rows)
    return [row["question"] for row in rows]


def test_id_of_a_question_or_its_tool_call_finds_its_questions(world: World):
    other = making.question(world.run, text="Another one")
    call_id, _, _ = world.question.inquiry_id.partition(".")
    assert list_questions(world, call_id) == ["Another one", "Go on?"]
    for identifier in (other.inquiry_id, other.inquiry_id.removesuffix(".1")):
        assert list_questions(world, identifier) == ["Another one"]
    for identifier in (call_id.upper(), call_id[:-1], "%", "\0"):
        assert list_questions(world, identifier) == []
