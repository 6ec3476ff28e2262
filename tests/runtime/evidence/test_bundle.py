"""Evidence bundles: what is in them, what is not, and that the same state gives the same bytes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from jpweb.evidence.bundle_verifier import ENTRIES, EVENTS, MANIFEST, PROOF, SIGNATURE
from jpweb.runtime.evidence import bundle, zip_stream
from jpweb.store import approvals, journal
from jpweb.store.annotations import threads
from jpweb.store.choices import Act, ApprovalKind
from jpweb.store.database import clock
from jpweb.store.errors import ExportBroken
from jpweb.store.evidence import question_cells
from jpweb.store.inquiries import Decider
from jpweb.store.ledger import sealing
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import Conversation, DisplayReceipt, Inquiry, JournalEntry, LedgerEntry
from jpweb.stream.inquiry import Redacted
from tests import bundles
from tests.store import making
from tests.store.background_passes import scan_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def conversation() -> Conversation:
    return bundles.make_conversation()


def read(data: bytes) -> bundles.Files:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def read_lines(files: bundles.Files, end: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in files[bundles.find_name(files, end)].splitlines()]


def test_same_state_gives_the_same_bytes(conversation: Conversation):
    assert bundles.make_bundle(conversation) == bundles.make_bundle(conversation)


def test_time_of_export_is_in_the_manifest_alone(conversation: Conversation):
    first = read(bundles.make_bundle(conversation))
    later_time = bundles.MADE_AT + timedelta(hours=1)
    second = read(bundles.make_bundle(conversation, made_at=later_time))
    assert {name for name in first if first[name] != second[name]} == {MANIFEST, SIGNATURE}


def test_events_are_the_texts_of_the_journal(conversation: Conversation):
    texts = JournalEntry.objects.filter(conversation=conversation).order_by("position")
    lines = read_lines(read(bundles.make_bundle(conversation)), EVENTS)
    assert [line["text"] for line in lines] == list(texts.values_list("text", flat=True))
    assert [line["position"] for line in lines] == list(range(conversation_length(conversation)))


def conversation_length(conversation: Conversation) -> int:
    return Conversation.objects.get(pk=conversation.pk).entry_count


def test_bundle_has_the_ledger_of_its_conversations_alone(conversation: Conversation):
    other = bundles.make_conversation("Other")
    files = read(bundles.make_bundle(conversation))
    entries = [json.loads(line["text"]) for line in read_lines(files, ENTRIES)]
    assert {entry["conversation"] for entry in entries} == {conversation.pk}
    assert [entry["act"] for entry in entries] == ["run_started", "inquiry_answered", "exported"]
    proof = files[PROOF].decode()
    assert f'"conversation":{other.pk}' not in proof
    assert set(json.loads(proof)) == {"nodes"}


def test_showing_proof_and_decisions_are_in_the_bundle(conversation: Conversation):
    row = Inquiry.objects.get(conversation=conversation)
    person = making.person("eve")
    DisplayReceipt.objects.create(inquiry=row, person=person, delivered_at=clock.now())
    files = read(bundles.make_bundle(conversation))
    (receipt,) = read_lines(files, "shown.jsonl")
    assert (receipt["event"], receipt["person"]) == (row.anchor, "Eve")
    assert receipt["visible_at"] is None
    (question,) = read_lines(files, "questions.jsonl")
    assert (question["outcome"], question["answer"], question["decider"]) == (
        "answered",
        True,
        "Ada",
    )
    assert b"Go on?" in files[bundles.find_name(files, "conversation.md")]
    assert b"Go on?" in files[bundles.find_name(files, "conversation.html")]


def test_questions_are_a_table_without_formulas(conversation: Conversation):
    run = Conversation.objects.get(pk=conversation.pk).runs.get()
    making.settle(making.question(run, text="=HYPERLINK(1)"), Redacted())
    files = read(bundles.make_bundle(conversation))
    name = bundles.find_name(files, "questions.csv")
    rows = list(csv.DictReader(io.StringIO(files[name].decode(), newline="")))
    assert tuple(rows[0]) == question_cells.BUNDLE_COLUMNS
    assert [row["question"] for row in rows] == ["Go on?", "'=HYPERLINK(1)"]
    assert (rows[0]["answer"], rows[0]["decider"], rows[0]["override"]) == ("Yes", "Ada", "false")
    hashes = {row["name"]: row["sha256"] for row in json.loads(files[MANIFEST])["files"]}
    assert hashes[name] == hashlib.sha256(files[name]).hexdigest()


def test_table_of_questions_is_written_in_batches(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
):
    run = Conversation.objects.get(pk=conversation.pk).runs.get()
    for _ in range(2):
        making.question(run)
    loaded = Conversation.objects.get(pk=conversation.pk)
    whole = b"".join(question_cells.export_questions(loaded))
    monkeypatch.setattr(question_cells, "_BATCH_ROWS", 2)
    pieces = list(question_cells.export_questions(loaded))
    assert len(pieces) == 3
    assert b"".join(pieces) == whole


def test_manifest_lists_omitted_content_with_reasons(conversation: Conversation):
    run = Conversation.objects.get(pk=conversation.pk).runs.get()
    making.settle(making.question(run), Redacted())
    prompt = making.prompt(run, ApprovalKind.DELIVER)
    approvals.decide_approval(prompt.pk, {"allow": False}, Decider("person", "Ada"))
    anchor = journal.find_anchor(conversation.pk, 0)
    threads.add_comment(conversation, anchor, making.person("eve"), "Words of a comment")
    files = read(bundles.make_bundle(conversation))
    assert not any(b"Words of a comment" in data for data in files.values())
    manifest = json.loads(files[MANIFEST])
    left_out = {row["what"]: row["count"] for row in manifest["left_out"]}
    assert left_out == {
        "secret answers": 1,
        "withheld results": 1,
        "comments on events": 1,
        "other entries of the ledger": 5,
    }
    assert all(row["why"] for row in manifest["left_out"])


def test_manifest_counts_other_entries_by_their_subject(conversation: Conversation):
    record_act(Act.ROLE_CHANGED, OPERATOR, Place(conversation.workspace_id))
    record_act(Act.TRUST_GIVEN, OPERATOR, Place(conversation.workspace_id))
    sealing.seal_entries()
    LedgerEntry.objects.filter(sequence=1).update(text="", conversation_id=None)
    manifest = json.loads(read(bundles.make_bundle(conversation))[MANIFEST])
    (row,) = [row for row in manifest["left_out"] if row["what"] == "other entries of the ledger"]
    assert row["count"] == 7
    assert row["why"].startswith("4 of other conversations; 2 of no single conversation, such as ")
    assert "; 1 purged. " in row["why"]


def test_manifest_counts_the_masks_of_the_readable_files(conversation: Conversation):
    secret = "AKIA" + "QYZ2" * 4
    run = Conversation.objects.get(pk=conversation.pk).runs.get()
    making.question(run, text=f"Use {secret}?")
    scan_all()
    files = read(bundles.make_bundle(conversation))
    names = [name for name, data in files.items() if secret.encode() in data]
    assert [name.rpartition("/")[2] for name in names] == [EVENTS]
    left_out = {row["what"]: row["count"] for row in json.loads(files[MANIFEST])["left_out"]}
    assert left_out["suspected secrets in readable files"] == 1


def test_manifest_links_each_conversation(conversation: Conversation):
    manifest = json.loads(read(bundles.make_bundle(conversation))[MANIFEST])
    (row,) = manifest["conversations"]
    assert row["link"] == f"https://jpweb.example/conversations/{conversation.pk}"
    assert (manifest["made_by"], manifest["filter"]) == ("Ada", "none")


@pytest.mark.parametrize("end", ["conversation.md", "conversation.html"])
def test_readable_files_have_the_link_of_their_conversation(conversation: Conversation, end: str):
    files = read(bundles.make_bundle(conversation))
    text = files[bundles.find_name(files, end)].decode()
    assert f"https://jpweb.example/conversations/{conversation.pk}" in text
    assert "manifest.json says when" in text


def test_conversations_with_one_id_have_two_folders():
    first, second = bundles.make_conversation(), bundles.make_conversation("Second")
    Conversation.objects.filter(pk=second.pk).update(jp_id=first.jp_id)
    names = read(bundles.make_bundle(first, second))
    folders = {name.split("/")[1] for name in names if name.startswith("conversations/")}
    assert folders == {f"jp-c{first.jp_id}", f"jp-c{first.jp_id}-2"}


def test_additional_part_is_a_line(conversation: Conversation, monkeypatch: pytest.MonkeyPatch):
    part = bundle.BundlePart("pictures.jsonl", lambda _: iter([b'{"verdict":"fine"}\n']))
    monkeypatch.setattr(bundle, "PARTS", (*bundle.PARTS, part))
    files = read(bundles.make_bundle(conversation))
    assert read_lines(files, "pictures.jsonl") == [{"verdict": "fine"}]


def test_redaction_during_the_export_breaks_it(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
):
    act: Any = "redacted_event"

    def redact(_: Any) -> Any:
        record_act(act, OPERATOR, Place(None, conversation.pk), event="e-1")
        return iter([b""])

    part = bundle.BundlePart("late.txt", redact)
    monkeypatch.setattr(bundle, "PARTS", (*bundle.PARTS, part))
    with pytest.raises(ExportBroken, match="redacted while"):
        bundles.make_bundle(conversation)


def test_removed_conversation_breaks_the_export(conversation: Conversation):
    key = conversation.pk
    Conversation.objects.all().delete()
    conversation.pk = key
    with pytest.raises(ExportBroken, match="removed while"):
        bundles.make_bundle(conversation)


def test_long_bundle_comes_in_pieces(conversation: Conversation, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bundle, "_PIECE_STEPS", 2)
    order = bundle.BundleOrder([conversation.pk], "none", "Ada", bundles.MADE_AT)
    pieces = list(bundle.build_bundle(order))
    assert len(pieces) > 5
    assert [piece.done_rows for piece in pieces] == sorted(piece.done_rows for piece in pieces)


@pytest.mark.parametrize(
    ("bound", "size"),
    [
        ("MAX_FILE_BYTES", 1000),
        ("MAX_TOTAL_BYTES", 1000),
        ("MAX_JSON_BYTES", 100),
        ("MAX_LINE_BYTES", 100),
    ],
)
def test_bundle_that_its_verifier_would_refuse_breaks_off(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch, bound: str, size: int
):
    monkeypatch.setattr(zip_stream, bound, size, raising=False)
    with pytest.raises(ExportBroken, match="Narrow the filters"):
        bundles.make_bundle(conversation)


@pytest.mark.parametrize(
    ("pieces", "is_read"),
    [([b"12345678\n\n"], True), ([b"1234", b"5678\n"], True), ([b"\n1234", b"56789\n"], False)],
    ids=["full", "two pieces", "too long"],
)
def test_line_is_measured_over_pieces(
    monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], is_read: bool
):
    monkeypatch.setattr(zip_stream, "MAX_LINE_BYTES", 9, raising=False)
    written = zip_stream.ZipStream().write_file("a.jsonl", pieces)
    with nullcontext() if is_read else pytest.raises(ExportBroken, match="Narrow the filters"):
        assert len(list(written)) == len(pieces)
