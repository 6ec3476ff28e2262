"""The import of a bundle: byte-equal and read-only, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jpweb.evidence.bundle_verifier import EVENTS, METADATA
from jpweb.store import exports, inquiries, journal
from jpweb.store.choices import Act, Origin
from jpweb.store.errors import ImportRefused, ReadOnlyConversation
from jpweb.store.evidence import importer
from jpweb.store.jp_files import metadata_file, mirror
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import Conversation, Inquiry, JournalEntry, LedgerEntry, Workspace
from jpweb.stream.events import TurnStart
from tests import bundles
from tests.exporting import join_pieces
from tests.store import making

pytestmark = pytest.mark.django_db


@pytest.fixture
def target() -> Workspace:
    return making.workspace("Target")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(bundles.make_conversation()))
    return path


def list_event_files(files: bundles.Files) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name.endswith(EVENTS)}


def test_demo_survives_export_import_and_export(tmp_path: Path, target: Workspace):
    home, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    originals = list(home.conversations.order_by("pk"))
    record_act(Act.EXPORTED, OPERATOR, Place(home.pk))
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


def test_anchor_of_a_redacted_event_is_kept(tmp_path: Path, target: Workspace):
    original = bundles.make_conversation()
    entry = JournalEntry.objects.filter(conversation=original).order_by("position")[1]
    JournalEntry.objects.filter(pk=entry.pk).update(text=entry.text.replace("Hello", "[redacted]"))
    record_act(Act.EXPORTED, OPERATOR, Place(original.workspace_id, original.pk))
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(original))
    (key,) = importer.import_bundle(path, target.name).conversation_ids
    copy = JournalEntry.objects.get(conversation_id=key, anchor=entry.anchor)
    assert "[redacted]" in copy.text


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
    home, _ = mirror.mirror_workspace(mirror.DEMO_PATH, "Demo")
    conversations = home.conversations.all()
    conversations.update(origin=Origin.IMPORTED, fingerprint="", title="As imported")
    mirror.mirror_workspace(mirror.DEMO_PATH)
    assert set(home.conversations.values_list("title", flat=True)) == {"As imported"}


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


@pytest.mark.parametrize(
    "change",
    [
        {"jp_id": -1},
        {"jp_id": 2**70},
        {"title": 7},
        {"title": "x" * 501},
        {"title": "\x00"},
        {"labels": []},
        {"last_activity": "yesterday"},
        {"last_activity": "2026-11-01T12:00:00"},
        {"framing": None},
    ],
    ids=str,
)
def test_hostile_metadata_is_refused(bundle: Path, target: Workspace, change: dict[str, Any]):
    files = bundles.read_files(bundle)
    name = bundles.find_name(files, METADATA)
    files[name] = json.dumps(json.loads(files[name]) | change).encode()
    bundles.sign_again(files)
    bundles.write_files(bundle, files)
    with pytest.raises(ImportRefused, match="cannot be used"):
        importer.import_bundle(bundle, target.name)
    assert not target.conversations.exists()
