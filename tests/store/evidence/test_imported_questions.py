"""Questions of an imported conversation: the rows, and their lines in a second bundle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jpweb.store import inquiries, journal
from jpweb.store.choices import Act
from jpweb.store.evidence import contents, importer
from jpweb.store.inquiries import Decider
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import Conversation, Inquiry, Workspace
from jpweb.stream.events import ConversationEvent
from jpweb.stream.inquiry import CancellationReason, Cancelled, InquiryResponse, InquirySource
from tests import bundles
from tests.builders import AT, make_call, make_inquiry
from tests.store import making

pytestmark = pytest.mark.django_db


def ask(conversation: Conversation, inquiry_id: str, **note: str) -> Inquiry:
    """Return the row of a question that the tool of the conversation's call asks."""
    request = make_inquiry(inquiry_id, source=InquirySource.for_tool("vault"))
    event = ConversationEvent(AT, request, {"jpweb": note} if note else {})
    journal.append_events(conversation.pk, [event])
    return inquiries.find_by_inquiry_id(conversation.pk, inquiry_id)


def decline(question: Inquiry, note: str, channel: str = "") -> None:
    """Decline a question as Ada does, with a reason."""
    response = InquiryResponse(question.inquiry_id, Cancelled(CancellationReason.USER))
    details = Decider("person", "Ada", channel=channel).make_note(note=note)
    journal.append_events(question.conversation_id, [ConversationEvent(AT, response, details)])


def read_questions(path: Path) -> bytes:
    files = bundles.read_files(path)
    return files[bundles.find_name(files, "questions.jsonl")]


def test_reason_of_a_decline_is_imported(tmp_path: Path, target: Workspace):
    path, again = tmp_path / "bundle.zip", tmp_path / "again.zip"
    conversation: Conversation = making.conversation(making.workspace())
    making.start_run(conversation)
    decline(ask(conversation, "call_1.sure.1"), "Not on a\r\nFriday", "link")
    record_act(Act.EXPORTED, OPERATOR, Place(conversation.workspace_id, conversation.pk))
    path.write_bytes(bundles.make_bundle(conversation))
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    assert Inquiry.objects.get(conversation=key, state="cancelled").note == "Not on a\nFriday"
    again.write_bytes(bundles.make_bundle(Conversation.objects.get(pk=key)))
    line = read_questions(path)
    question = json.loads(line)
    assert (question["comment"], question["channel"]) == ("Not on a\nFriday", "link")
    assert read_questions(again) == line


def test_questions_of_parallel_calls_keep_their_order(
    tmp_path: Path, target: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(contents, "_BATCH_ROWS", 2)
    conversation: Conversation = making.conversation(making.workspace())
    making.start_run(conversation)
    journal.append_events(conversation.pk, [making.event(make_call("call_2", "vault"))])
    for call in ("call_2", "call_1", "call_2"):
        inquiry = ask(conversation, f"{call}.sure.{Inquiry.objects.count()}", tool_call_id=call)
        decline(inquiry, "Later.")
    first = b"".join(contents.export_questions(conversation_now(conversation.pk)))
    record_act(Act.EXPORTED, OPERATOR, Place(conversation.workspace_id, conversation.pk))
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(conversation_now(conversation.pk)))
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    copies = list(Inquiry.objects.filter(conversation=key).order_by("pk"))
    assert copies != sorted(copies, key=lambda row: row.position)
    assert b"".join(contents.export_questions(conversation_now(key))) == first


def conversation_now(key: int) -> Conversation:
    return Conversation.objects.get(pk=key)
