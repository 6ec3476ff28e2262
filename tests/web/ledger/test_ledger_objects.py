"""Objects of ledger entries: each leads to its page, and narrows the ledger to what it is of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jpweb.store.choices import Act
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import LedgerEntry
from tests.store import making
from tests.web.reading import parse_page
from tests.web.test_access import make_address
from tests.web.views.audit.test_exports import get, read_body
from tests.web.world import World

LINES = "/audit/ledger/entries.jsonl"
ONLY = "Only this conversation"


def list_links(world: World, act: str, **query: Any) -> dict[str, str]:
    """Return the addresses in the object cells of an act's entries, by their text."""
    page = parse_page(get(world, "/audit/ledger", act=act, **query))
    links = [tag for tag in page if tag.tag == "a" and tag.inside(**{"data-label": "Object"})]
    return {link.text: link["href"] for link in links}


def list_acts(world: World, name: str = "auditor", **query: Any) -> list[str]:
    page = parse_page(get(world, "/audit/ledger", name, **query))
    return [tag["data-act"] for tag in page if "data-act" in tag]


def list_lines(world: World, **query: Any) -> list[dict[str, Any]]:
    """Return the lines of the filtered file, without the last, which counts the others."""
    body = read_body(get(world, LINES, **query))
    return [json.loads(line) for line in body.splitlines()][:-1]


@pytest.fixture
def decided_world(world: World) -> World:
    """Return a world whose owner answered the question and allowed a tool call."""
    client, permission = world.client("owner"), world.prompt
    assert client.post(make_address("question-answer", world), {"answer": "true"}).status_code < 400
    assert client.post(f"/prompts/{permission.pk}/allow").status_code < 400
    return world


def test_object_of_an_entry_leads_to_its_page(decided_world: World):
    workspace, conversation = decided_world.workspace, decided_world.conversation
    record_act(Act.REDACTED, OPERATOR, Place(workspace.pk, conversation.pk, "event:k3"))
    pages = {
        Act.INQUIRY_ANSWERED: ("Question", f"/questions/{decided_world.question.pk}"),
        Act.APPROVAL_DECIDED: ("Tool call", f"/prompts/{decided_world.prompt.pk}/call"),
        Act.REDACTED: ("Event", f"/conversations/{conversation.pk}?at=k3#k3"),
        Act.RUN_STARTED: ("Conversation", f"/conversations/{conversation.pk}"),
    }
    for act, (label, path) in pages.items():
        only = f"/audit/ledger?conversation={conversation.pk}"
        assert list_links(decided_world, act) == {label: path, ONLY: only}
        (line,) = list_lines(decided_world, act=act)
        assert line["link"] == f"http://testserver{path}"


def test_ledger_of_one_conversation_names_it_and_lists_its_entries(decided_world: World):
    other = making.conversation(decided_world.workspace, "Another")
    making.start_run(other)
    page = parse_page(get(decided_world, "/audit/ledger", conversation=other.pk))
    assert [tag["data-act"] for tag in page if "data-act" in tag] == ["run_started"]
    (chip,) = [tag for tag in page if tag.get("class") == "chip"]
    assert "Only: Another" in chip.text
    assert "conversation" not in chip["href"]
    assert ONLY not in list_links(decided_world, "run_started", conversation=other.pk)


def test_id_lists_the_entries_of_a_question_or_a_tool_call(decided_world: World):
    making.question(making.start_run(making.conversation(decided_world.workspace)))
    question_id = decided_world.question.inquiry_id
    for identifier in (question_id, question_id.partition(".")[0]):
        assert "inquiry_answered" in list_acts(decided_world, identifier=identifier)
    assert list_acts(decided_world, identifier=question_id) == ["inquiry_answered"]
    call_id = decided_world.prompt.tool_call_id
    assert "approval_decided" in list_acts(decided_world, identifier=call_id)
    assert [line["act"] for line in list_lines(decided_world, identifier=question_id)] == [
        "inquiry_answered"
    ]


@pytest.mark.parametrize("identifier", ["no such id", "\0", "%"])
def test_id_that_names_nothing_lists_no_entry(decided_world: World, identifier: str):
    assert list_acts(decided_world, identifier=identifier) == []


def test_id_of_a_workspace_that_a_person_does_not_audit_lists_no_entry(decided_world: World):
    assert list_acts(decided_world, "rival", identifier=decided_world.question.inquiry_id) == []


def test_sealed_entry_with_a_changed_subject_opens_the_ledger(decided_world: World):
    for subject in ("inquiry:x", "approval:x"):
        LedgerEntry.objects.filter(act=Act.INQUIRY_ANSWERED).update(subject=subject, mac=None)
        LedgerEntry.objects.filter(act=Act.INQUIRY_ANSWERED, sequence=None).update(sequence=10**6)
        path = f"/conversations/{decided_world.conversation.pk}"
        assert list_links(decided_world, "inquiry_answered")["Conversation"] == path
