"""Policies that decided in place of a person: in the ledger, among decisions, in the fold."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jpweb.evidence import ledger_verifier
from jpweb.store import approvals, journal
from jpweb.store.choices import Act
from jpweb.store.ledger import sealing, verification
from jpweb.store.models import JournalEntry, LedgerEntry
from jpweb.store.reviews import decisions
from jpweb.stream.events import ToolCallResponse
from jpweb.web.transcript import MIN_GROUP_CALLS
from tests.builders import make_call, make_element, make_result
from tests.store import making
from tests.web.reading import parse_page
from tests.web.world import World


def respond(world: World, **note: Any) -> JournalEntry:
    """Record the response of the world's call with notes of policies; return its row."""
    response = ToolCallResponse("call_1", "Done.", is_error=False)
    event = replace(making.event(response), metadata={"jpweb": note})
    journal.append_events(world.conversation.pk, [event], world.run)
    return JournalEntry.objects.get(conversation=world.conversation, kind="tool_call_response")


def make_note(policy: str, *, allow: bool, **by: Any) -> dict[str, Any]:
    return {"tool": "vault", "policy": policy, "allow": allow, "by": by}


def list_rows(client: Client, path: str) -> list[str]:
    page = parse_page(client.get(f"/audit/{path}"))
    rows = [tag for tag in page if "data-decision" in tag or "data-act" in tag]
    return [" ".join(row.text.split()) for row in rows]


def test_call_under_a_permission_for_the_turn_names_who_gave_it(world: World):
    owner = world.people["owner"]
    decision = {"allow": True, "remember": True}
    approvals.decide_approval(world.prompt.pk, decision, making.decider(owner))
    note = make_note("remembered", allow=True, kind="memory", name="Owner", id=owner.pk)
    response = respond(world, permission=note | {"approval": world.prompt.pk})
    entry = LedgerEntry.objects.get(act=Act.CALL_DECIDED_BY_POLICY)
    details = json.loads(entry.text)["details"]
    assert (entry.person_id, entry.conversation_id) == (owner.pk, world.conversation.pk)
    assert (details["approval"], details["tool"]) == (world.prompt.pk, "vault")
    assert details["event_hash"] == ledger_verifier.hash_text(response.text)
    client = world.client("auditor")
    for path in ("decisions?kind=run", "decisions?view=timeline&kind=run"):
        (row,) = [text for text in list_rows(client, path) if "without asking" in text]
        assert "decided for this turn" in row
        assert "Owner" in row
    call = world.conversation.journal.get(category="call")
    page = parse_page(client.get(f"/conversations/{world.conversation.pk}"))
    (fold,) = [tag for tag in page if tag.get("id") == call.anchor]
    assert "Allowed by Owner, for this turn" in " ".join(fold.text.split())
    assert any(f"approval-{world.prompt.pk}" in tag.get("href", "") for tag in page)


def test_permission_for_the_turn_is_found_with_who_gave_it(world: World):
    decision = {"allow": True, "remember": True}
    decider = making.decider(world.people["owner"])
    approvals.decide_approval(world.prompt.pk, decision, decider)
    (approval,) = approvals.find_turn_approvals(world.run).values()
    assert (approval.pk, approval.decider_name) == (world.prompt.pk, "Owner")


@pytest.mark.parametrize(
    ("name", "policy", "kind", "text"),
    [
        ("permission", "skip", "run", "Denied by configuration"),
        ("permission", "detached", "run", "Denied by configuration: no one was reachable"),
        ("delivery", "skip", "deliver", "Not sent to the model by configuration"),
    ],
)
def test_policy_of_the_configuration_is_a_decision_and_in_the_fold(
    world: World, name: str, policy: str, kind: str, text: str
):
    respond(world, **{name: make_note(policy, allow=False, kind="configuration")})
    client = world.client("auditor")
    (row,) = list_rows(client, f"decisions?kind={kind}")
    assert "configured value" in row
    assert "vault" in row
    assert [row for row in list_rows(client, "ledger") if "without asking" in row]
    call = world.conversation.journal.get(category="call")
    page = parse_page(client.get(f"/conversations/{world.conversation.pk}"))
    (fold,) = [tag for tag in page if tag.get("id") == call.anchor]
    assert text in " ".join(fold.text.split())


def test_changed_response_of_a_policy_shows_in_the_ledger(world: World):
    note = make_note("skip", allow=False, kind="configuration")
    response = respond(world, permission=note)
    sealing.seal_entries()
    assert list(verification.find_problems()) == []
    JournalEntry.objects.filter(pk=response.pk).update(text=f"{response.text} ")
    (problem,) = verification.find_problems()
    assert "was changed in the journal" in problem.text


@pytest.mark.parametrize("note", ["skip", {"by": 7, "approval": "x", "allow": "yes"}, {}])
def test_foreign_note_of_a_policy_is_shown_without_an_error(world: World, note: Any):
    response = make_element(make_result("a"), metadata={"jpweb": {"permission": note}})
    conversation = making.mirrored_conversation(world.workspace, make_call("a", "vault"), response)
    assert world.client("reader").get(f"/conversations/{conversation.pk}").status_code == 200


# calls that ran without asking

PLACE = {"setting": "conversation.tools.vault.run", "file": ".jp/config.toml"}
UNATTENDED_NOTE = make_note("unattended", allow=True, kind="configuration")


def respond_unattended(world: World, **place: str) -> JournalEntry:
    return respond(world, permission=UNATTENDED_NOTE | place)


def test_call_that_ran_without_asking_is_an_entry_of_its_own_kind(world: World):
    response = respond_unattended(world, **PLACE)
    entry = LedgerEntry.objects.get(act=Act.CALL_RAN_UNATTENDED)
    content = json.loads(entry.text)
    assert content["by"] == {"kind": "configuration"}
    assert content["details"] == PLACE | {
        "tool": "vault",
        "policy": "unattended",
        "allow": True,
        "event": response.anchor,
        "event_hash": ledger_verifier.hash_text(response.text),
    }
    assert not LedgerEntry.objects.filter(act=Act.CALL_DECIDED_BY_POLICY).exists()
    [row] = [row for row in list_rows(world.client("auditor"), "ledger") if "vault" in row]
    assert "Tool call ran without asking" in row
    assert "conversation.tools.vault.run" in row


def append_call(world: World, number: int, **notes: Any) -> list[str]:
    """Append a call and its response with notes; return the statements of the response."""
    call_id = f"more_{number}"
    call = making.event(make_call(call_id, "vault"))
    journal.append_events(world.conversation.pk, [call], world.run)
    response = making.event(ToolCallResponse(call_id, "Done.", is_error=False))
    response = replace(response, metadata={"jpweb": notes})
    with CaptureQueriesContext(connection) as captured:
        journal.append_events(world.conversation.pk, [response], world.run)
    return [query["sql"] for query in captured]


def test_record_of_a_call_without_asking_takes_one_statement_more(world: World):
    append_call(world, 0)
    without_asking = append_call(world, 1, permission=UNATTENDED_NOTE)
    with_asking = append_call(world, 2)
    ledger_inserts = [sql for sql in without_asking if "store_ledgerentry" in sql]
    assert len(ledger_inserts) == 1
    assert len(without_asking) == len(with_asking) + 1


def test_changed_response_of_an_unattended_call_shows_in_the_ledger(world: World):
    response = respond_unattended(world, **PLACE)
    sealing.seal_entries()
    assert list(verification.find_problems()) == []
    JournalEntry.objects.filter(pk=response.pk).update(text=f"{response.text} ")
    (problem,) = verification.find_problems()
    assert "was changed in the journal" in problem.text


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (PLACE, "configuration (conversation.tools.vault.run in .jp/config.toml)"),
        ({}, "configuration"),
        ({"setting": 7, "file": None}, "configuration"),
    ],
)
def test_fold_says_that_the_call_ran_without_asking(world: World, place: Any, text: str):
    respond_unattended(world, **place)
    call = world.conversation.journal.get(category="call")
    page = parse_page(world.client("reader").get(f"/conversations/{world.conversation.pk}"))
    (fold,) = [tag for tag in page if tag.get("id") == call.anchor]
    (line,) = [tag for tag in page if tag.get("data-call-policy") == "run"]
    assert line.text in fold.text
    words = " ".join(line.text.split()).removesuffix(" Show in Decisions")
    assert words == f"✓ Ran without asking: {text}"


def test_decisions_leave_out_calls_without_asking_and_say_how_many(world: World):
    respond_unattended(world, **PLACE)
    client = world.client("auditor")
    assert list_rows(client, "decisions") == []
    page = parse_page(client.get("/audit/decisions"))
    (line,) = [tag for tag in page if "data-omitted" in tag]
    assert "1 tool call ran without asking and is not listed." in " ".join(line.text.split())
    (link,) = [tag for tag in page if tag.text == "Include calls that ran without asking"]
    for query in (link.get("href", ""), "?kind=run&unattended=1", "?kind=unattended"):
        (row,) = list_rows(client, f"decisions{query}")
        assert "policy" not in row, "the kind says it"
        for part in ("Ran without asking", "vault", "configured value", PLACE["file"]):
            assert part in row
        page = parse_page(client.get(f"/audit/decisions{query}"))
        assert not [tag for tag in page if "data-omitted" in tag]
    assert list_rows(client, "decisions?kind=run") == []
    assert list_rows(client, "decisions?kind=question&unattended=1") == []
    (row,) = list_rows(client, "decisions?view=timeline&unattended=1")
    assert "ran without asking" in row


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("", 1),
        ("?kind=run", 1),
        ("?kind=deliver", None),
        ("?until=2001-01-01", None),
        ("?person={owner}", None),
        ("?conversation={conversation}", 1),
        ("?conversation=999999", None),
    ],
)
def test_count_of_calls_without_asking_is_within_the_filters(
    world: World, query: str, count: int | None
):
    respond_unattended(world)
    keys = {"owner": world.people["owner"].pk, "conversation": world.conversation.pk}
    page = parse_page(world.client("auditor").get(f"/audit/decisions{query.format(**keys)}"))
    lines = [" ".join(tag.text.split()) for tag in page if "data-omitted" in tag]
    assert [line.split()[0] for line in lines] == ([] if count is None else [str(count)])


def test_count_of_calls_without_asking_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(decisions, "MAX_COUNTED_CALLS", 2)
    for number in range(3):
        append_call(world, number, permission=UNATTENDED_NOTE)
    page = parse_page(world.client("auditor").get("/audit/decisions"))
    (line,) = [tag for tag in page if "data-omitted" in tag]
    assert "More than 2 tool calls ran without asking and are not listed." in line.text


def test_calls_without_asking_stay_in_one_row_of_the_transcript(world: World):
    for number in range(MIN_GROUP_CALLS):
        append_call(world, number, permission=UNATTENDED_NOTE)
    page = parse_page(world.client("reader").get(f"/conversations/{world.conversation.pk}"))
    assert [tag for tag in page if "call-group" in tag.get("class", "")]


def test_files_have_calls_without_asking_where_they_are_included(world: World):
    respond_unattended(world, **PLACE)
    client = world.client("auditor")
    assert b"".join(client.get("/audit/decisions.jsonl")) == b""
    for query in ("unattended=1", "kind=unattended"):
        (line,) = b"".join(client.get(f"/audit/decisions.jsonl?{query}")).splitlines()
        row = json.loads(line)
        assert (row["kind"], row["subject"]) == ("unattended", "vault")
        assert (row["decided_by"], row["decider"]) == ("configuration", "")
        assert row["decision"] == "setting conversation.tools.vault.run, file .jp/config.toml"
        csv_text = b"".join(client.get(f"/audit/decisions.csv?{query}")).decode()
        assert "unattended,Garden" in csv_text


@pytest.mark.parametrize(
    ("name", "policy", "kind"),
    [
        ("permission", "unattended", "unattended"),
        ("permission", "skip", "run"),
        ("delivery", "skip", "deliver"),
    ],
)
def test_fold_leads_to_its_row_among_decisions(world: World, name: str, policy: str, kind: str):
    for number in range(2):
        append_call(world, number, **{name: UNATTENDED_NOTE | {"policy": policy}})
    client = world.client("auditor")
    page = parse_page(client.get(f"/conversations/{world.conversation.pk}"))
    links = [tag["href"] for tag in page if tag.tag == "a" and tag.text == "Show in Decisions"]
    assert len(links) == 2
    for row_count, link in zip((2, 1), reversed(links), strict=True):
        address, _, target = link.partition("#")
        rows = [tag for tag in parse_page(client.get(address)) if "data-decision" in tag]
        assert len(rows) == row_count
        assert (rows[0]["id"], rows[0]["data-decision"]) == (target, kind)


@pytest.mark.parametrize("at", ["unattended-x", "unattended-", "trust-1", "review-", "event-1"])
def test_unknown_row_of_a_ledger_entry_shows_the_newest(world: World, at: str):
    respond_unattended(world)
    assert len(list_rows(world.client("auditor"), f"decisions?unattended=1&at={at}")) == 1
