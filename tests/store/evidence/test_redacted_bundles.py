"""The import of a bundle whose events were redacted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jpweb.evidence import bundle_verifier
from jpweb.store.choices import Act, RunState
from jpweb.store.evidence import importer
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import Conversation, JournalEntry, LedgerEntry, Run, Workspace
from tests import bundles
from tests.store import making
from tests.store.redaction import canary

pytestmark = pytest.mark.django_db


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


def test_redaction_stays_on_record_through_further_imports(tmp_path: Path, target: Workspace):
    original = bundles.make_conversation()
    Run.objects.update(state=RunState.DONE)
    anchor = canary.anchor_at(original, 1)
    canary.redact(original, making.person("Auditor"), anchor, "Hello")
    first = tmp_path / "first.zip"
    first.write_bytes(bundles.make_bundle(original))
    report = bundle_verifier.verify_bundle(first)
    assert (report.redacted, report.redacted_before_import) == (1, 0)
    path, copy = first, original
    for workspace in (target, making.workspace("Third")):
        (key,) = importer.import_bundle(path, workspace.name).conversation_ids
        entry = LedgerEntry.objects.get(act=Act.EVIDENCE_IMPORTED, conversation_id=key)
        assert json.loads(entry.text)["details"]["redacted_events"] == [anchor]
        path, copy = tmp_path / f"{key}.zip", Conversation.objects.get(pk=key)
        path.write_bytes(bundles.make_bundle(copy))
        report = bundle_verifier.verify_bundle(path)
        assert (report.problems, report.redacted, report.redacted_before_import) == ([], 0, 1)
        (row,) = [row for row in report.manifest["left_out"] if "redacted" in row["what"]]
        assert (row["what"], row["count"]) == ("events redacted before they were imported", 1)
        lines = bundle_verifier.describe_bundle(report)
        assert any(line.startswith("1 event was redacted before the import") for line in lines)
    canary.redact(copy, making.person("Second"), anchor)
    path.write_bytes(bundles.make_bundle(copy))
    report = bundle_verifier.verify_bundle(path)
    assert (report.problems, report.redacted, report.redacted_before_import) == ([], 1, 0)
