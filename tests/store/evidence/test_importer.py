"""The import of a bundle: byte-equal and read-only, or not at all."""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from jpweb.evidence.bundle_verifier import APPROVALS, EVENTS, METADATA, RECEIPTS
from jpweb.store import approvals, exports, inquiries, journal
from jpweb.store.choices import Act, ApprovalKind, ApprovalState, Origin, Role
from jpweb.store.database import clock
from jpweb.store.errors import ImportRefused, ReadOnlyConversation
from jpweb.store.evidence import contents, importer
from jpweb.store.inquiries import Decider
from jpweb.store.jp_files import metadata_file, mirror
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import (
    Approval,
    Conversation,
    DisplayReceipt,
    Inquiry,
    LedgerEntry,
    Run,
    Workspace,
)
from jpweb.stream.events import TurnStart
from jpweb.stream.inquiry import InquirySource
from tests import bundles
from tests.builders import make_inquiry
from tests.exporting import join_pieces
from tests.machine.sizes import mark_proof
from tests.machine.suite.row_copies import RowCopies
from tests.store import making
from tests.web.world import signed_in

pytestmark = pytest.mark.django_db


def list_event_files(files: bundles.Files) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.endswith(EVENTS)}


def test_demo_survives_export_import_and_export(tmp_path: Path, target: Workspace):
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    originals = list(workspace.conversations.order_by("pk"))
    record_act(Act.EXPORTED, OPERATOR, Place(workspace.pk))
    path, again = tmp_path / "bundle.zip", tmp_path / "again.zip"
    path.write_bytes(bundles.make_bundle(*originals))
    imported = importer.import_bundle(path, target.name)
    copies = list(Conversation.objects.filter(pk__in=imported.conversation_ids).order_by("pk"))
    again.write_bytes(bundles.make_bundle(*copies))
    event_files = list_event_files(bundles.read_files(path))
    assert len(event_files) == len(originals) > 3
    assert list_event_files(bundles.read_files(again)) == event_files
    assert bundles.list_problems(again) == []
    for original, copy in zip(originals, copies, strict=True):
        assert join_pieces(exports.export_jp_json(copy)) == join_pieces(
            exports.export_jp_json(original)
        )
        assert inquiries.count_by_state([copy.pk]).get(copy.pk) == inquiries.count_by_state(
            [original.pk]
        ).get(original.pk)


def decide(run: Run, kind: ApprovalKind, decision: dict[str, Any]) -> Approval:
    """Return an approval of the run's call, decided by Ada."""
    content = {"described": "vault (local)", "arguments": {"path": "a.md"}}
    row = approvals.request_approval(run.conversation_id, kind, "call_1", "vault", content)
    decided = approvals.decide_approval(row.pk, decision, Decider("person", "Ada", None))
    approvals.mark_spent(row.pk)
    return decided


def decide_conversation() -> Conversation:
    """Return a conversation with decisions about its call, and a question that was shown to Ada."""
    workspace = making.workspace("Garden")
    conversation: Conversation = making.conversation(workspace)
    run = making.start_run(conversation)
    request = make_inquiry("call_1.sure.1", source=InquirySource.for_tool("vault"))
    journal.append_events(conversation.pk, [making.event(request)], run)
    question = Inquiry.objects.get(conversation=conversation)
    making.settle(question, making.ANSWER, Decider("person", "Ada"))
    decide(run, ApprovalKind.RUN, {"allow": False, "remember": False, "reason": "Not <now>."})
    decide(run, ApprovalKind.RUN, {"allow": True, "remember": True, "arguments": {"path": "b"}})
    decide(run, ApprovalKind.DELIVER, {"allow": True, "content": "Less."})
    making.prompt(run)
    now = clock.now()
    DisplayReceipt.objects.create(
        inquiry=question, person=making.person("ada"), delivered_at=now, visible_at=now
    )
    record_act(Act.EXPORTED, OPERATOR, Place(workspace.pk, conversation.pk))
    return conversation


copy_decided_conversation = RowCopies(decide_conversation)


@pytest.fixture
def decided_conversation(db: None) -> Conversation:
    return copy_decided_conversation()


#: Files of a conversation that name the installation: its workspace, and its own redactions.
OWN_FILES = {METADATA, "redactions.jsonl"}


def list_record_files(files: bundles.Files) -> dict[str, list[str]]:
    """Return the lines of the files of conversations, but for those with an address."""
    return {
        name: [line for line in data.decode().splitlines() if "jpweb.example" not in line]
        for name, data in files.items()
        if name.startswith("conversations/") and name.rpartition("/")[2] not in OWN_FILES
    }


def test_second_bundle_has_the_same_record(
    tmp_path: Path, decided_conversation: Conversation, target: Workspace
):
    path, again = tmp_path / "bundle.zip", tmp_path / "again.zip"
    path.write_bytes(bundles.make_bundle(decided_conversation))
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    again.write_bytes(bundles.make_bundle(Conversation.objects.get(pk=key)))
    record = list_record_files(bundles.read_files(path))
    text = json.dumps(record)
    for words in ("Denied", "Allowed, edited", "for this turn", "Not <now>.", "Ada"):
        assert words in text
    assert list_record_files(bundles.read_files(again)) == record
    assert bundles.list_problems(again) == []


def test_second_bundle_has_the_same_table_of_questions(
    tmp_path: Path, decided_conversation: Conversation, target: Workspace
):
    path, again = tmp_path / "bundle.zip", tmp_path / "again.zip"
    path.write_bytes(bundles.make_bundle(decided_conversation))
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    again.write_bytes(bundles.make_bundle(Conversation.objects.get(pk=key)))
    tables = [
        files[bundles.find_name(files, "questions.csv")]
        for files in map(bundles.read_files, (path, again))
    ]
    assert tables[0].count(b"\r\n") == 2
    assert tables[1] == tables[0]


def test_bundle_of_an_earlier_jpweb_without_the_table_is_imported(
    tmp_path: Path, decided_conversation: Conversation, target: Workspace
):
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(decided_conversation))
    files = bundles.read_files(path)
    del files[bundles.find_name(files, "questions.csv")]
    bundles.sign_again(files)
    bundles.write_files(path, files)
    assert bundles.list_problems(path) == []
    assert importer.import_bundle(path, target.name).conversation_ids


def test_imported_approval_prompt_is_in_no_inbox(
    tmp_path: Path, decided_conversation: Conversation, target: Workspace
):
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(decided_conversation))
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    owner = making.person("owner", Role.OWNER, target)
    assert approvals.list_waiting(owner.pk) == []
    prompt = Approval.objects.get(conversation_id=key, state=ApprovalState.OPEN)
    page = signed_in(owner).get(f"/prompts/{prompt.pk}").text
    assert "Not decided" in page
    assert "<button" not in page.split("<main")[1].split("</main>")[0]


def test_imported_decisions_and_receipts_are_on_the_auditors_pages(
    tmp_path: Path, decided_conversation: Conversation, target: Workspace
):
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(decided_conversation))
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    auditor = signed_in(making.person("auditor", Role.AUDITOR, target))
    decisions = auditor.get("/audit/decisions").text
    assert "Not &lt;now&gt;." in decisions
    assert ", edited" in decisions
    assert "Not &lt;now&gt;." in auditor.get(f"/conversations/{key}?open=all").text
    question = Inquiry.objects.get(conversation_id=key)
    timeline = auditor.get("/audit/decisions?view=timeline").text
    assert "Not &lt;now&gt;." in timeline
    assert 'data-receipt=""' in auditor.get(f"/questions/{question.pk}").text


def test_bundle_has_no_question_that_was_asked_after_its_events(decided_conversation: Conversation):
    loaded = Conversation.objects.get(pk=decided_conversation.pk)
    later_question = making.question(Run.objects.get(conversation=loaded), text="And then?")
    DisplayReceipt.objects.create(
        inquiry=later_question, person=making.person(), delivered_at=clock.now()
    )
    for export in (contents.export_questions, contents.export_receipts):
        (line,) = b"".join(export(loaded)).splitlines()
        assert later_question.anchor not in line.decode()


def test_receipt_of_a_question_that_a_bundle_lacks_is_left_out(
    tmp_path: Path, decided_conversation: Conversation, target: Workspace
):
    path = tmp_path / "bundle.zip"
    files = edit_first_line(decided_conversation, RECEIPTS, {"event": "e-nowhere"})
    bundles.write_files(path, files)
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    assert not DisplayReceipt.objects.filter(inquiry__conversation=key).exists()


def test_approval_of_an_earlier_jpweb_is_imported(
    tmp_path: Path, decided_conversation: Conversation, target: Workspace
):
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(decided_conversation))
    files = bundles.read_files(path)
    name = bundles.find_name(files, APPROVALS)
    files[name] = bundles.edit_lines(files[name], forget_edits)
    bundles.sign_again(files)
    bundles.write_files(path, files)
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    decisions = Approval.objects.filter(conversation_id=key).order_by("pk")
    assert list(decisions.values_list("decision", flat=True)) == [
        {"allow": False, "remember": False},
        {"allow": True, "remember": True},
        {"allow": True},
        None,
    ]


def forget_edits(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        del line["edited"], line["reason"]


def edit_first_line(conversation: Conversation, name: str, change: dict[str, Any]) -> bundles.Files:
    """Return the files of a bundle that is signed with a changed line."""
    with zipfile.ZipFile(BytesIO(bundles.make_bundle(conversation))) as archive:
        files = {member: archive.read(member) for member in archive.namelist()}
    file = bundles.find_name(files, name)
    files[file] = bundles.edit_lines(files[file], lambda lines: lines[0].update(change))
    bundles.sign_again(files)
    return files


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        (APPROVALS, {"kind": "other"}, "kind"),
        (APPROVALS, {"extra": 1}, "extra"),
        (APPROVALS, {"reason": "a\0b"}, "characters that are not stored"),
        (APPROVALS, {"settled_at": "9999-12-31T23:59:59-14:00"}, "settled_at is out of range"),
        (RECEIPTS, {"person": ""}, "person"),
        (RECEIPTS, {"delivered_at": None}, "delivered_at"),
        *mark_proof(
            (APPROVALS, {"asked_at": "2026-11-01T12:00:00"}, "asked_at has no time zone"),
            (RECEIPTS, {"visible_at": "0001-01-01T00:00:00+14:00"}, "visible_at is out of range"),
        ),
    ],
)
def test_hostile_decision_or_receipt_is_refused(
    tmp_path: Path,
    target: Workspace,
    decided_conversation: Conversation,
    name: str,
    change: dict[str, Any],
    problem: str,
):
    path = tmp_path / "bundle.zip"
    bundles.write_files(path, edit_first_line(decided_conversation, name, change))
    with pytest.raises(ImportRefused, match=problem):
        importer.import_bundle(path, target.name)
    assert not Conversation.objects.filter(workspace=target).exists()


def test_imported_conversation_is_read_only(bundle: Path, target: Workspace):
    (key,) = importer.import_bundle(bundle, target.name).conversation_ids
    conversation = Conversation.objects.select_related("workspace").get(pk=key)
    assert (conversation.origin, conversation.title) == (Origin.IMPORTED, "A talk")
    with pytest.raises(ReadOnlyConversation):
        journal.append_events(key, [making.event(TurnStart())])
    assert metadata_file.get_obstacle(conversation) == "Imported evidence stays as it was verified."
    assert Inquiry.objects.get(conversation=conversation).state == "answered"


def test_import_is_an_entry_of_the_ledger(bundle: Path, target: Workspace):
    (key,) = importer.import_bundle(bundle, target.name).conversation_ids
    entry = LedgerEntry.objects.get(act=Act.EVIDENCE_IMPORTED)
    assert (entry.workspace_id, entry.conversation_id) == (target.pk, key)
    assert set(json.loads(entry.text)["details"]) == {"manifest_hash", "public_key"}


def test_mirror_leaves_an_imported_conversation(tmp_path: Path, target: Workspace):
    workspace, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    conversations = workspace.conversations.all()
    conversations.update(origin=Origin.IMPORTED, fingerprint="", title="As imported")
    mirror.mirror_workspace(mirror.DEMO_PATH)
    assert set(workspace.conversations.values_list("title", flat=True)) == {"As imported"}


def test_unknown_workspace_is_named_with_those_there_are(bundle: Path, target: Workspace):
    with pytest.raises(ImportRefused, match=r"No workspace has the name “Nowhere”.*Target"):
        importer.import_bundle(bundle, "Nowhere")


def test_ambiguous_workspace_is_refused(bundle: Path, target: Workspace):
    making.workspace("Target")
    with pytest.raises(ImportRefused, match="Several workspaces have the name “Target”"):
        importer.import_bundle(bundle, "Target")


def test_second_import_is_refused(bundle: Path, target: Workspace):
    importer.import_bundle(bundle, target.name)
    with pytest.raises(ImportRefused, match="Target already has jp-c"):
        importer.import_bundle(bundle, target.name)


def test_foreign_key_is_refused(bundle: Path, target: Workspace):
    with pytest.raises(ImportRefused, match="signed with another key"):
        importer.import_bundle(bundle, target.name, "00" * 32)


def test_file_that_is_no_zip_is_refused(tmp_path: Path, target: Workspace):
    path = tmp_path / "bundle.zip"
    path.write_bytes(b"no zip")
    with pytest.raises(ImportRefused, match="does not verify"):
        importer.import_bundle(path, target.name)


def change_event(line: dict[str, Any]) -> None:
    line["text"] = '{"type":"turn_start"}'


@pytest.mark.parametrize(("limit", "value"), [("MAX_ELEMENTS", 1), ("MAX_STREAM_BYTES", 100)])
def test_conversation_larger_than_a_mirrored_one_is_refused(
    bundle: Path, target: Workspace, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
):
    monkeypatch.setattr(importer, limit, value)
    with pytest.raises(ImportRefused, match=r"events\.jsonl cannot be used: it has more than"):
        importer.import_bundle(bundle, target.name)
    assert not target.conversations.exists()


def test_changed_bundle_is_refused_and_imports_nothing(bundle: Path, target: Workspace):
    files = bundles.read_files(bundle)
    name = bundles.find_name(files, EVENTS)
    files[name] = bundles.edit_lines(files[name], lambda lines: change_event(lines[0]))
    bundles.write_files(bundle, files)
    with pytest.raises(ImportRefused, match="it was changed"):
        importer.import_bundle(bundle, target.name)
    assert not target.conversations.exists()


def set_anchor(line: dict[str, Any]) -> None:
    line["anchor"] = "e-other' onclick"


def set_number(line: dict[str, Any]) -> None:
    line["text"] = 7


def set_nul(line: dict[str, Any]) -> None:
    line["text"] = '"\x00"'


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (set_anchor, "an anchor is invalid"),
        (set_nul, "not stored"),
        (set_number, "an event has no text"),
    ],
    ids=["anchor", "nul", "number"],
)
def test_hostile_event_is_refused(bundle: Path, target: Workspace, edit: Any, problem: str):
    files = bundles.read_files(bundle)
    name = bundles.find_name(files, EVENTS)
    files[name] = bundles.edit_lines(files[name], lambda lines: edit(lines[0]))
    bundles.sign_again(files)
    bundles.write_files(bundle, files)
    with pytest.raises(ImportRefused, match=problem):
        importer.import_bundle(bundle, target.name)
    assert not target.conversations.exists()
