"""The metadata of a bundle's conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jpweb.evidence.bundle_verifier import METADATA
from jpweb.store.errors import ImportRefused
from jpweb.store.evidence import importer
from jpweb.store.models import Conversation, Workspace
from tests import bundles

pytestmark = pytest.mark.django_db


def test_label_of_any_length_that_jp_wrote_is_imported(tmp_path: Path, target: Workspace):
    conversation, labels = bundles.make_conversation(), {"k" * 600: "v" * 6000}
    Conversation.objects.filter(pk=conversation.pk).update(labels=labels)
    conversation.refresh_from_db()
    path = tmp_path / "bundle.zip"
    path.write_bytes(bundles.make_bundle(conversation))
    importer.import_bundle(path, target.name)
    assert target.conversations.get().labels == labels


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
        {"last_activity": "9999-12-31T23:59:59-14:00"},
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
