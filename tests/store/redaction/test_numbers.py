"""Redaction of digits that stand as JSON numbers: they become texts, everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jpweb.evidence import bundle_verifier
from jpweb.store import journal
from jpweb.store.jp_files import mirror
from jpweb.store.ledger import sealing, verification
from jpweb.store.masking import masks, replacement
from jpweb.store.models import CallCheckpoint, Conversation, Inquiry, Person, Workspace
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from jpweb.stream import wire
from jpweb.stream.answer_type import Option, Select
from jpweb.stream.events import ChatRequest, ChatResponse, ToolCallRequest
from jpweb.stream.inquiry import InquiryQuestion, InquiryRequest, InquirySource
from tests import bundles
from tests.builders import make_answer, make_element, make_result, raw, stream
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.background_passes import index_all
from tests.store.redaction.canary import anchor_at, decide, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)
PIN, MARKER = 471199, "[redacted by Ada: a leaked key]"
CALL = ToolCallRequest("c", "vault", {"pin": PIN, "tries": 3})
SAID = ChatRequest(f"The pin is {PIN}")


def test_redact_string_replaces_numbers_in_events_tables_and_search(
    workspace: Workspace, ada: Person
):
    pin = 4711.625  # of two words, so that none of SQLite's old index segments has all of it
    said, call = ChatRequest(f"The pin is {pin}"), ToolCallRequest("c", "vault", {"pin": pin})
    conversation = making.mirrored_conversation(workspace, said, call)
    index_all()
    assert has_secret(dump_tables(), "pin: 4711.625")
    request = RedactionRequest("", "a leaked key", (str(pin),), is_conversation_wide=True)
    expected = {0: {"content": 1}, 1: {"arguments": 1}}
    for preview in (
        application.preview_redaction(conversation, request, ada),
        application.redact(conversation, request, ada),
    ):
        assert {event.position: event.counts for event in preview.events} == expected
    index_all()
    sealing.seal_entries()
    assert not has_secret(dump_tables(), str(pin))
    redacted_call = journal.read_elements(conversation.pk)[1].kind
    assert redacted_call == ToolCallRequest("c", "vault", {"pin": MARKER})
    assert list(verification.find_problems()) == []


@pytest.mark.parametrize("element", [
    CALL,
    ChatResponse("data", {"pins": [{"x": PIN}]}),
    ChatResponse("data", PIN),
    make_answer("c.q.1", PIN),
    make_element(ChatRequest("Hi"), metadata={"provider": {"pin": PIN}}),
    make_element(make_result("c"), metadata={"jpweb": {"arguments": {"pin": PIN}}}),
    raw({"type": "novel", "x": [PIN]}),
    raw({"type": "novel", "x": float(f"{PIN}.5")}),
    wire.read_element(
        f'{{"timestamp": "2026-01-02 03:00:00.0", "type": "chat_response", "message": "Hi",'
        f' "unread": {PIN}}}'
    ),
], ids=[
    "arguments", "in-data", "data", "answer", "metadata", "edited", "unknown", "float", "unread",
])  # fmt: skip
def test_number_alone_in_an_event_is_found_there(workspace: Workspace, ada: Person, element: Any):
    conversation = making.mirrored_conversation(workspace, element)
    redact(conversation, ada, anchor_at(conversation, 0), str(PIN))
    assert not has_secret(dump_tables(), str(PIN))


def test_redacted_number_option_is_removed_from_question_and_answer(
    workspace: Workspace, ada: Person
):
    options = Select((Option(PIN), Option(2)))
    question = InquiryQuestion("Which?", options, default=PIN)
    asked = InquiryRequest("c.q.1", InquirySource.for_tool("vault"), question)
    conversation = making.mirrored_conversation(workspace, asked, make_answer("c.q.1", PIN))
    redact(conversation, ada, "", str(PIN))
    row = Inquiry.objects.get()
    replaced = InquiryQuestion("Which?", Select((Option(MARKER), Option(2))), default=MARKER)
    assert (row.question, row.answer) == (replaced.to_fields(), MARKER)
    assert not has_secret(dump_tables(), str(PIN))


def test_numbers_of_jpwebs_own_note_stay_numbers(workspace: Workspace, ada: Person):
    note = {"by": {"kind": "person", "id": PIN}, "note": f"not {PIN}"}
    element = make_element(make_answer("c.q.1"), metadata={"jpweb": note})
    conversation = making.mirrored_conversation(workspace, element)
    preview = redact(conversation, ada, "", str(PIN))
    assert [(event.position, event.fields) for event in preview.kept_events] == [(0, ["metadata"])]
    (event,) = journal.read_elements(conversation.pk)[0].events
    assert event.note == {"by": {"kind": "person", "id": PIN}, "note": f"not {MARKER}"}


@pytest.mark.parametrize("strings", [(), (str(PIN),)], ids=["whole", "strings"])
def test_redacted_number_is_removed_from_copies_of_a_call(
    workspace: Workspace, ada: Person, strings: tuple[str, ...]
):
    conversation = making.mirrored_conversation(workspace, CALL)
    approval = decide(conversation, arguments={"pin": PIN, "tries": 3})
    run = making.start_run(making.conversation(workspace))
    CallCheckpoint.objects.create(
        run=run, tool_call_id="c", content=f"said {PIN}", is_error=False, edited={"pin": [PIN]},
        delivered=True, was_cut_off=False,
    )  # fmt: skip
    run.__class__.objects.update(conversation=conversation, state="done")
    redact(conversation, ada, anchor_at(conversation, 0), *strings)
    approval.refresh_from_db()
    arguments = {"pin": MARKER, "tries": 3} if strings else {MARKER: 3}
    assert approval.decision == {"allow": True, "arguments": arguments}
    assert not has_secret(dump_tables(), str(PIN))


def test_mirror_pass_keeps_a_redacted_number_and_the_bundle_verifies(tmp_path: Path, ada: Person):
    folder = making.write_folder(tmp_path, "17000000000-a-talk", stream(SAID, CALL))
    mirror.mirror_workspace(tmp_path)
    conversation = Conversation.objects.get()
    file_before = (folder / "events.json").read_bytes()
    redact(conversation, ada, "", str(PIN))
    assert (folder / "events.json").read_bytes() == file_before
    making.write_folder(tmp_path, "17000000000-a-talk", stream(SAID, CALL, make_result("c")))
    mirror.mirror_workspace(tmp_path)
    assert not has_secret(dump_tables(), str(PIN))
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(bundles.make_bundle(conversation))
    assert bundle_verifier.verify_bundle(bundle).problems == []


def test_masks_of_secrets_leave_numbers():
    element = make_element(CALL)
    assert masks.mask_element(element, {str(PIN): "[masked x]"}) is element
    assert [text.text for text in masks.list_texts(element)] == ["pin", "tries"]
    assert replacement.replace_strings({"pin": PIN}, [str(PIN)], "[masked x]") == {"pin": PIN}
