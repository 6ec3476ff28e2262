"""Evidence bundles of small conversations, and what is done to them."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jpweb.evidence import bundle_verifier
from jpweb.evidence.bundle_verifier import BUNDLE_FORMAT, MANIFEST, SIGNATURE
from jpweb.evidence.ledger_verifier import encode_canonical, hash_text
from jpweb.runtime.evidence.bundle import BundleOrder, build_bundle
from jpweb.store.choices import Act
from jpweb.store.inquiries import Decider
from jpweb.store.ledger import signing
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import Conversation
from tests.exporting import join_pieces
from tests.machine.suite.row_copies import RowCopies
from tests.store import making

MADE_AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
Files = dict[str, bytes]


def make_conversation(title: str = "A talk") -> Conversation:
    """Return a conversation with an answered question, among reads of other conversations."""
    workspace = making.workspace()
    for number in range(5):
        record_act(Act.READ, OPERATOR, Place(workspace.pk, 10_000 + number), view="conversation")
    conversation: Conversation = making.conversation(workspace, title)
    row = making.question(making.start_run(conversation))
    making.settle(row, making.ANSWER, Decider("person", "Ada"))
    record_act(Act.EXPORTED, OPERATOR, Place(workspace.pk, conversation.pk))
    return conversation


def make_bundle(*conversations: Conversation, made_at: datetime = MADE_AT) -> bytes:
    keys: Sequence[int] = [conversation.pk for conversation in conversations]
    order = BundleOrder(keys, "none", "Ada", made_at, "https://jpweb.example/conversations/{0}")
    return join_pieces(build_bundle(order))


def make_bundled_conversation() -> tuple[Conversation, bytes]:
    """Return a conversation and its bundle."""
    conversation = make_conversation()
    return conversation, make_bundle(conversation)


copy_bundled_conversation = RowCopies(make_bundled_conversation)


def copy_bundle(folder: Path) -> Path:
    """Write the bundle of a conversation whose rows are those of an earlier test."""
    return write_file(copy_bundled_conversation()[1], folder)


def write_bundle(conversation: Conversation, folder: Path) -> Path:
    return write_file(make_bundle(conversation), folder)


def write_file(bundle: bytes, folder: Path) -> Path:
    path = folder / "bundle.zip"
    path.write_bytes(bundle)
    return path


def read_files(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_files(path: Path, files: Files) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def list_problems(path: Path, public_key: str | None = None) -> list[str]:
    return [str(problem) for problem in bundle_verifier.verify_bundle(path, public_key).problems]


def find_name(files: Files, end: str) -> str:
    (name,) = [name for name in files if name.endswith(end)]
    return name


def edit_lines(data: bytes, edit: Callable[[list[dict[str, Any]]], Any]) -> bytes:
    """Return JSON lines after ``edit`` has changed their list."""
    lines = [json.loads(line) for line in data.splitlines()]
    edit(lines)
    return "".join(encode_canonical(line) + "\n" for line in lines).encode()


def sign_again(files: Files) -> None:
    """Sign the files with the installation's key: what is wrong in them shows by itself."""
    manifest = json.loads(files[MANIFEST])
    manifest["files"] = [
        {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in files.items()
        if name not in (MANIFEST, SIGNATURE)
    ]
    files[MANIFEST] = json.dumps(manifest).encode()
    signed = {
        "format": BUNDLE_FORMAT,
        "manifest_sha256": hash_text(files[MANIFEST].decode()),
    }
    statement = {"signed": signed} | signing.sign_value(signed)._asdict()
    files[SIGNATURE] = (encode_canonical(statement) + "\n").encode()
