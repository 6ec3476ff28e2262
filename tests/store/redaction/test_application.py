"""Redaction: the content is gone from every table, and the record says who replaced it."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jpweb.evidence import bundle_verifier, keyed_hashes
from jpweb.store import journal
from jpweb.store.annotations import threads
from jpweb.store.backups import snapshot
from jpweb.store.choices import Act, Origin
from jpweb.store.jp_files import external_appends, mirror
from jpweb.store.jp_files.workspace import find_workspace, iterate_conversations
from jpweb.store.ledger import sealing, verification
from jpweb.store.models import (
    Conversation,
    Inquiry,
    JournalEntry,
    LedgerEntry,
    Person,
    Redaction,
    Review,
    Turn,
    Workspace,
)
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import NotRedactable, RedactionRequest
from jpweb.stream import base64_fields, wire
from jpweb.stream.events import ChatRequest, EventKind, ToolCallRequest
from jpweb.stream.inquiry import Answered, CancellationReason, Cancelled, InquiryResponse
from tests import bundles
from tests.builders import (
    make_answer,
    make_call,
    make_element,
    make_inquiry,
    make_result,
    raw,
    stream,
)
from tests.canary.spellings import has_secret
from tests.store import making
from tests.store.background_passes import index_all
from tests.store.making import write_folder
from tests.store.redaction.canary import CANARY, anchor_at, dump_tables, redact

pytestmark = pytest.mark.django_db(transaction=True)


def test_redact_strings_leaves_the_canary_in_no_table(
    conversation: Conversation, ada: Person, tmp_path: Path
):
    assert CANARY in dump_tables()
    preview = redact(conversation, ada, "", CANARY)
    assert {event.position: event.counts for event in preview.events} == {
        0: {"content": 1},
        1: {"arguments": 2},
        3: {"answer": 1},
        4: {"content": 1},
    }
    assert not has_secret(dump_tables(), CANARY)
    index_all()
    sealing.seal_entries()
    assert not has_secret(dump_tables(), CANARY)
    backup = tmp_path / "backup.zip"
    snapshot.write_backup(backup, lambda _done, _total: None)
    with zipfile.ZipFile(backup) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert members
    texts = {name: data.decode(errors="replace") for name, data in members.items()}
    assert [name for name, text in texts.items() if has_secret(text, CANARY)] == []


def test_redact_replaces_notes_of_reviews_and_their_hashed_text(
    conversation: Conversation, ada: Person
):
    review = Review.objects.create(
        conversation=conversation,
        note=f"It says {CANARY} here.",
        nonce="17",
        round=1,
        revision=1,
        rounds_required=1,
        reviewed_at=datetime.now(UTC),
    )
    preview = redact(conversation, ada, "", CANARY)
    assert preview.copies["review_notes"] == 1
    review.refresh_from_db()
    assert (review.note, review.nonce) == ("It says [redacted by Ada: a leaked key] here.", "")


def test_redact_replaces_strings_in_comments(conversation: Conversation, ada: Person):
    comment = threads.add_comment(
        conversation, anchor_at(conversation, 0), ada, f"It says {CANARY} here."
    )
    preview = redact(conversation, ada, "", CANARY)
    assert preview.copies["comments"] == 1
    comment.refresh_from_db()
    assert (comment.text, comment.nonce) == ("It says [redacted by Ada: a leaked key] here.", "")


def test_redact_whole_answer_replaces_row_and_keeps_shape(conversation: Conversation, ada: Person):
    redact(conversation, ada, anchor_at(conversation, 3))
    marker = "[redacted by Ada: a leaked key]"
    assert Inquiry.objects.get(conversation=conversation).answer == marker
    response = journal.read_elements(conversation.pk)[3].kind
    assert response == InquiryResponse("c.apply.1", Answered(marker))
    assert Turn.objects.get(conversation=conversation).title  # other events keep theirs


@pytest.mark.parametrize("position", range(5))
def test_redact_whole_event_keeps_its_kind(conversation: Conversation, ada: Person, position: int):
    before = journal.read_elements(conversation.pk)[position]
    redact(conversation, ada, anchor_at(conversation, position))
    after = journal.read_elements(conversation.pk)[position]
    assert type(after.kind) is type(before.kind)
    assert not has_secret(after.raw, CANARY)
    assert "redacted by Ada" in json.dumps(after.kind.to_fields() if after.kind else {})


def test_redact_writes_an_entry_without_the_content(conversation: Conversation, ada: Person):
    original = JournalEntry.objects.get(conversation=conversation, position=3).text
    redact(conversation, ada, anchor_at(conversation, 3))
    entry = LedgerEntry.objects.get(act=Act.REDACTED)
    details = json.loads(entry.text)["details"]
    assert CANARY not in entry.text
    assert (entry.person_id, details["reason"]) == (ada.pk, "a leaked key")
    row = Redaction.objects.get()
    assert row.key not in entry.text
    assert keyed_hashes.compute_digest(row.key, original) == details["digest_before"]


def test_verification_accepts_a_redaction_and_no_other_change(workspace: Workspace, ada: Person):
    run = making.start_run(making.conversation(workspace))
    question = making.settle(making.question(run), Answered(CANARY))
    sealing.seal_entries()
    run.__class__.objects.filter(pk=run.pk).update(state="done")
    assert question.response_position is not None
    entry = JournalEntry.objects.get(
        conversation=run.conversation, position=question.response_position
    )
    redact(run.conversation, ada, entry.anchor)
    sealing.seal_entries()
    assert list(verification.find_problems()) == []
    JournalEntry.objects.filter(pk=entry.pk).update(text=entry.text.replace(CANARY, "forged"))
    assert [problem for problem in verification.find_problems() if "changed" in str(problem)]


def test_verification_names_the_entry_of_a_redaction_that_was_damaged(
    workspace: Workspace, ada: Person
):
    run = making.start_run(making.conversation(workspace))
    question = making.settle(making.question(run), Answered(CANARY))
    run.__class__.objects.filter(pk=run.pk).update(state="done")
    assert question.response_position is not None
    anchor = anchor_at(run.conversation, question.response_position)
    redact(run.conversation, ada, anchor)
    sealing.seal_entries()
    assert list(verification.find_problems()) == []
    LedgerEntry.objects.filter(act=Act.REDACTED).update(text="{")
    answer_problem, redaction_problem = map(str, verification.find_problems())
    assert answer_problem.endswith(f"its event {anchor} was changed in the journal")
    assert redaction_problem.endswith("its text was changed")


def test_verification_finds_redacted_content_that_is_there_again(
    conversation: Conversation, ada: Person
):
    entry = JournalEntry.objects.get(conversation=conversation, position=3)
    redact(conversation, ada, entry.anchor)
    redact(conversation, ada, anchor_at(conversation, 4))
    sealing.seal_entries()
    assert list(verification.find_problems()) == []
    JournalEntry.objects.filter(pk=entry.pk).update(text=entry.text)
    (problem,) = verification.find_problems()
    assert f"event {entry.anchor} was changed in the journal after its redaction" in str(problem)
    JournalEntry.objects.filter(pk=entry.pk).delete()  # as where jp removed it from its file
    assert list(verification.find_problems()) == []


def test_mirror_pass_keeps_the_redaction_of_each_of_two_equal_events(tmp_path: Path, ada: Person):
    """Anchors leave metadata out, so the second event has the anchor of the first and a number."""
    kind = ChatRequest(f"Log in with {CANARY}")
    elements = [make_element(kind, metadata={"note": note}) for note in ("one", "two")]
    write_folder(tmp_path, "17000000000-a-talk", elements)
    mirror.mirror_workspace(tmp_path)
    conversation = Conversation.objects.get()
    redact(conversation, ada, "", CANARY)
    texts = list(JournalEntry.objects.order_by("position").values_list("text", flat=True))
    write_folder(tmp_path, "17000000000-a-talk", [*elements, *stream(make_call("c"))])
    mirror.mirror_workspace(tmp_path)
    rows = JournalEntry.objects.order_by("position")
    assert list(rows.values_list("text", flat=True)[:2]) == texts
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(bundles.make_bundle(conversation))
    assert bundle_verifier.verify_bundle(bundle).problems == []
    assert list(verification.find_problems()) == []


def test_redaction_of_a_running_conversation_is_refused(workspace: Workspace, ada: Person):
    run = making.start_run(making.conversation(workspace))
    with pytest.raises(NotRedactable, match="Stop it"):
        redact(run.conversation, ada, "", "Hello")


@pytest.mark.parametrize(
    ("strings", "reason", "problem"),
    [
        (("nowhere",), "x", "None of these"),
        (("vault", CANARY), "x", "a name or an id"),
        ((CANARY,), f"it was {CANARY}", "reason repeats"),
    ],
    ids=["absent", "name", "reason"],
)
def test_redaction_that_would_leave_content_is_refused(
    conversation: Conversation, ada: Person, strings: tuple[str, ...], reason: str, problem: str
):
    anchor = anchor_at(conversation, 1)
    if strings[0] == "vault":
        JournalEntry.objects.filter(conversation=conversation, position=1).update(
            text=wire.write_element(
                making.event(ToolCallRequest("c", "vault", {"path": "vault"}))
            ).raw
        )
    before = dump_tables()
    with pytest.raises(NotRedactable, match=problem):
        application.redact(conversation, RedactionRequest(anchor, reason, strings), ada)
    assert dump_tables() == before


def test_preview_changes_nothing(conversation: Conversation, ada: Person):
    before = dump_tables()
    request = RedactionRequest("", "a leaked key", (CANARY,), is_conversation_wide=True)
    preview = application.preview_redaction(conversation, request, ada)
    assert (len(preview.events), preview.copies) == (4, {"title": 1})
    assert dump_tables() == before


def test_mirror_pass_does_not_bring_the_content_back(tmp_path: Path, ada: Person):
    kinds: list[EventKind] = [
        make_call("c"),
        make_inquiry("c.apply.1"),
        make_answer("c.apply.1", CANARY),
    ]
    folder = write_folder(tmp_path, "17000000000-a-talk", stream(*kinds))
    mirror.mirror_workspace(tmp_path)
    conversation = Conversation.objects.get()
    file_before = (folder / "events.json").read_bytes()
    preview = redact(conversation, ada, anchor_at(conversation, 2))
    assert preview.file == "17000000000-a-talk"
    write_folder(tmp_path, "17000000000-a-talk", stream(*kinds, make_result("c")))
    mirror.mirror_workspace(tmp_path)
    assert JournalEntry.objects.filter(conversation=conversation).count() == 4
    assert not has_secret(dump_tables(), CANARY)
    assert CANARY.encode() in file_before


def test_redact_again_keeps_the_first_redaction_over_mirror_passes(tmp_path: Path, ada: Person):
    kinds: list[EventKind] = [
        make_call("c"),
        make_inquiry("c.apply.1"),
        make_answer("c.apply.1", f"{CANARY} pin"),
    ]
    write_folder(tmp_path, "17000000000-a-talk", stream(*kinds))
    mirror.mirror_workspace(tmp_path)
    conversation = Conversation.objects.get()
    redact(conversation, ada, "", CANARY)
    redact(conversation, ada, "", " pin")
    write_folder(tmp_path, "17000000000-a-talk", stream(*kinds, make_result("c")))
    mirror.mirror_workspace(tmp_path)
    assert not has_secret(dump_tables(), CANARY)
    assert " pin" not in dump_tables()


@pytest.mark.parametrize(
    "text",
    [
        f'{{"type": "novel", "x": "{CANARY}"}}',
        f'{{"type": "chat_request", "content": ["{CANARY}"]}}',
        f'{{"{CANARY}',
    ],
    ids=["unknown", "broken", "no-json"],
)
@pytest.mark.parametrize("strings", [(), (CANARY,)], ids=["whole", "strings"])
def test_redact_element_of_another_shape(
    workspace: Workspace, ada: Person, text: str, strings: tuple[str, ...]
):
    conversation = making.mirrored_conversation(workspace, raw(text))
    redact(conversation, ada, anchor_at(conversation, 0), *strings)
    assert not has_secret(dump_tables(), CANARY)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"type": "novel", "body": ["{CANARY}"], "timestamp": "2026-01-01"}}',
        f'{{"type": "novel", "body": "{base64_fields.encode_text(CANARY)}"}}',
        f'{{"type": "chat_request", "content": ["{CANARY}"]}}',
        f'{{"timestamp": "2025-07-09T00:57:50Z", "message": "{CANARY}", "reply": {{}}}}',
    ],
    ids=["unknown", "unknown-base64", "broken", "legacy"],
)
def test_redact_whole_element_of_another_shape_replaces_its_copies(
    workspace: Workspace, ada: Person, text: str
):
    conversation = making.mirrored_conversation(workspace, wire.read_element(text))
    noted = f"This novel of 2026-01-01 shows {CANARY}."
    comment = threads.add_comment(conversation, anchor_at(conversation, 0), ada, noted)
    preview = redact(conversation, ada, anchor_at(conversation, 0))
    assert preview.copies["comments"] == 1
    comment.refresh_from_db()
    assert comment.text == noted.replace(CANARY, "[redacted by Ada: a leaked key]")


def test_redact_note_of_a_decline(workspace: Workspace, ada: Person):
    response = InquiryResponse("call_1.apply.1", Cancelled(CancellationReason.USER))
    note = {"note": CANARY, "by": {"kind": "person"}}
    element = wire.write_element(replace(making.event(response), metadata={"jpweb": note}))
    conversation = making.mirrored_conversation(workspace, element)
    redact(conversation, ada, anchor_at(conversation, 0))
    assert not has_secret(dump_tables(), CANARY)
    assert journal.read_elements(conversation.pk)[0].events[0].note["by"] == {"kind": "person"}


def test_redacted_note_is_never_written_to_the_conversations_file(tmp_path: Path, ada: Person):
    response = InquiryResponse("c.apply.1", Cancelled(CancellationReason.USER))
    note = {"note": CANARY, "by": {"kind": "person"}}
    decline = wire.write_element(replace(making.event(response), metadata={"jpweb": note}))
    elements = stream(make_call("c"), make_inquiry("c.apply.1"), decline)
    write_folder(tmp_path, "17000000000-a-talk", elements)
    mirror.mirror_workspace(tmp_path)
    Conversation.objects.update(origin=Origin.NATIVE)
    conversation = Conversation.objects.get()
    redact(conversation, ada, anchor_at(conversation, 2))
    (disk_conversation,) = iterate_conversations(find_workspace(tmp_path))
    with pytest.raises(external_appends.CopiesDiverged, match="redacted here"):
        external_appends.append_external(conversation, disk_conversation)
    assert not has_secret(dump_tables(), CANARY)
