"""Decisions as files: the rows of the page with its filters, and formulas escaped."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from jpweb.store import accounts, approvals
from jpweb.store.choices import Act, Role, Verdict
from jpweb.store.inquiries import Decider
from jpweb.store.ledger.entries import Actor, Place, record_act
from jpweb.store.models import LedgerEntry
from jpweb.stream.inquiry import Answered
from tests.store import making
from tests.store.reviews import desk
from tests.web.reading import parse_page
from tests.web.world import World


@pytest.fixture
def decided_world(world: World) -> World:
    """Return a world with a decision from each table."""
    owner = world.people["owner"]
    making.settle(world.question, Answered(True), making.decider(owner))
    decision = {"allow": False, "reason": "=1+1"}
    approvals.decide_approval(world.prompt.pk, decision, making.decider(owner))
    accounts.change_role(world.member("reader"), Role.RESPONDER, Actor.from_person(owner))
    return world


def download(world: World, name: str, query: str = "") -> str:
    response = world.client("auditor").get(f"/audit/decisions{name}?{query}")
    assert response.status_code == 200
    content: bytes = b"".join(response)
    return content.decode()


def read_csv(world: World, query: str = "") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(download(world, ".csv", query))))


def read_lines(world: World, query: str = "") -> list[dict[str, Any]]:
    return [json.loads(line) for line in download(world, ".jsonl", query).splitlines()]


def test_file_has_the_decisions_of_all_kinds_newest_first(decided_world: World):
    rows = read_lines(decided_world)
    role, call, question = rows
    assert [role["kind"], call["kind"], question["kind"]] == ["rights", "run", "question"]
    assert role["decision"] == "person Reader, role before Reader, role Responder"
    assert (call["subject"], call["decision"], call["comment"]) == ("vault", "Denied", "=1+1")
    assert (question["subject"], question["answer"]) == ("Go on?", "Yes")
    assert question["decision"] == "Answered"
    owner = decided_world.people["owner"]
    assert {(row["decided_by"], row["decider"], row["decider_id"]) for row in rows} == {
        ("person", "Owner", owner.pk)
    }
    anchor = decided_world.anchor
    path = f"/conversations/{decided_world.conversation.pk}?at={anchor}#{anchor}"
    assert question["link"] == f"http://testserver{path}"


def test_permission_that_nobody_decided_is_a_row_of_jpweb(world: World):
    approvals.withdraw_approval(world.prompt.pk)
    (row,) = read_csv(world, "kind=run")
    assert (row["subject"], row["decision"], row["decided_by"]) == ("vault", "Withdrawn", "system")
    assert (row["decider"], row["decider_id"]) == ("", "")
    assert float(row["waited_seconds"]) >= 0


def test_answer_by_a_link_names_its_channel(world: World):
    decider = Decider.from_person(world.people["owner"], "link")
    making.settle(world.question, Answered(True), decider)
    (row,) = read_lines(world)
    assert (row["decided_by"], row["decider"], row["channel"]) == ("person", "Owner", "link")
    assert read_csv(world)[0]["channel"] == "link"
    for query in ("", "?view=timeline"):
        page = parse_page(world.client("auditor").get(f"/audit/decisions{query}"))
        (row,) = [tag for tag in page if tag.get("data-decision") == "question"]
        assert "by an answer link" in row.text


def test_review_has_columns_for_verdict_and_round(world: World):
    making.settle(world.question, Answered(True), making.decider(world.people["owner"]))
    desk.send(desk.load(world.question), world.people["auditor"], Verdict.WRONG, "Too soon")
    (row,) = read_lines(world, "kind=review")
    assert (row["kind"], row["subject"]) == ("review", "Go on?")
    assert (row["decision"], row["verdict"], row["round"]) == ("Reviewed", "wrong", 1)
    assert row["comment"] == "Too soon"


def test_csv_has_the_same_rows_and_no_formula(decided_world: World):
    rows = read_csv(decided_world)
    assert [row["kind"] for row in rows] == ["rights", "run", "question"]
    assert rows[1]["comment"] == "'=1+1"


def test_file_keeps_the_filters_of_the_page(decided_world: World):
    assert [row["kind"] for row in read_csv(decided_world, "kind=run")] == ["run"]


def test_page_links_to_the_files_with_its_filters(decided_world: World):
    page = parse_page(
        decided_world.client("auditor").get("/audit/decisions?kind=run&view=timeline")
    )
    links = [tag.get("href") for tag in page]
    assert "/audit/decisions.csv?kind=run" in links
    assert "/audit/decisions.jsonl?kind=run" in links


def test_download_is_recorded_as_an_export_and_invalid_filters_are_refused(decided_world: World):
    download(decided_world, ".csv", "kind=run")
    details = json.loads(LedgerEntry.objects.get(act=Act.EXPORTED).text)["details"]
    assert details["query"] == "kind=run"
    assert details["file"].startswith("decisions-run-")
    response = decided_world.client("auditor").get("/audit/decisions.csv?kind=dance")
    assert response.status_code == 422


def test_decision_of_a_policy_names_its_tool_and_conversation(decided_world: World):
    place = Place(decided_world.workspace.pk, decided_world.conversation.pk)
    actor = Actor("configuration")
    details = {"tool": "vault", "policy": "skip", "allow": False}
    record_act(Act.CALL_DECIDED_BY_POLICY, actor, place, **details)
    row = read_csv(decided_world)[0]
    assert (row["subject"], row["conversation_title"]) == ("vault", "A talk")
    assert row["conversation"] == f"jp-c{decided_world.conversation.jp_id}"
    assert row["decision"] == "policy configured to skip, allowed no"


def test_id_finds_the_decisions_on_a_question_and_on_a_tool_call(decided_world: World):
    question, approval = decided_world.question, decided_world.prompt
    desk.send(desk.load(question), decided_world.people["auditor"], Verdict.WRONG, "Too soon")
    rows = read_csv(decided_world, urlencode({"identifier": question.inquiry_id}))
    assert [row["kind"] for row in rows] == ["review", "question"]
    assert rows[1]["inquiry_id"] == question.inquiry_id
    (row,) = read_csv(decided_world, urlencode({"identifier": approval.tool_call_id}))
    assert (row["kind"], row["tool_call_id"]) == ("run", approval.tool_call_id)
    call_id, _, _ = question.inquiry_id.partition(".")
    rows = read_csv(decided_world, urlencode({"identifier": call_id}))
    assert [row["kind"] for row in rows] == ["review", "question"]
    assert read_csv(decided_world, "identifier=%00") == []


def test_review_and_redaction_of_a_question_have_its_id(decided_world: World):
    question = decided_world.question
    desk.send(desk.load(question), decided_world.people["auditor"], Verdict.WRONG, "Too soon")
    call = decided_world.conversation.journal.get(category="call")
    place = Place(decided_world.workspace.pk, decided_world.conversation.pk)
    actor = Actor.from_person(decided_world.people["owner"])
    for anchor in (call.anchor, decided_world.anchor):
        record_act(Act.REDACTED, actor, place._replace(subject=f"event:{anchor}"), reason="Leak")
    expected = [
        ("redaction", question.inquiry_id),
        ("redaction", ""),
        ("review", question.inquiry_id),
    ]
    for rows in (read_csv(decided_world), read_lines(decided_world)):
        assert [(row["kind"], row["inquiry_id"]) for row in rows[:3]] == expected


def test_id_is_a_field_of_the_page_and_stays_in_its_links(decided_world: World):
    page = parse_page(decided_world.client("auditor").get("/audit/decisions?identifier=call_7"))
    assert page.find_one(name="identifier")["value"] == "call_7"
    links = [tag.get("href") for tag in page]
    assert "/audit/decisions.csv?identifier=call_7" in links
    assert "/audit?identifier=call_7" in links
