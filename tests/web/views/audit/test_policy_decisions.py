"""Policies that decided in place of a person: in the ledger, among decisions, in the fold."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from jpweb.evidence import ledger_verifier
from jpweb.store import approvals, journal
from jpweb.store.choices import Act
from jpweb.store.ledger import sealing, verification
from jpweb.store.models import JournalEntry, LedgerEntry
from jpweb.stream.events import ToolCallResponse
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
        assert "decided for the rest of the turn" in row
        assert "Owner" in row
    call = world.conversation.journal.get(category="call")
    page = parse_page(client.get(f"/conversations/{world.conversation.pk}"))
    (fold,) = [tag for tag in page if tag.get("id") == call.anchor]
    assert "Allowed by Owner, for the rest of the turn" in " ".join(fold.text.split())
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
    conversation = making.mirrored_conversation(world.home, make_call("a", "vault"), response)
    assert world.client("reader").get(f"/conversations/{conversation.pk}").status_code == 200
