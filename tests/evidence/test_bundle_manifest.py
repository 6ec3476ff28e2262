"""What a bundle's manifest says of conversations, reviews and the ledger has to be true."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jpweb.evidence import bundle_verifier
from jpweb.evidence.bundle_verifier import MANIFEST, REDACTIONS, REVIEWS, SIGNATURE
from jpweb.evidence.ledger_verifier import encode_canonical
from jpweb.store.ledger import signing
from tests import bundles
from tests.bundles import list_problems, sign_again
from tests.store.reviews.desk import ReviewDesk, load, send

pytestmark = pytest.mark.django_db


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return bundles.copy_bundle(tmp_path)


def edit_manifest(bundle: Path, edit: Callable[[dict[str, Any]], Any]) -> list[str]:
    """Return the problems of a bundle whose manifest was edited and signed again."""
    files = bundles.read_files(bundle)
    manifest = json.loads(files[MANIFEST])
    edit(manifest)
    files[MANIFEST] = json.dumps(manifest).encode()
    sign_again(files)
    bundles.write_files(bundle, files)
    return list_problems(bundle)


@pytest.mark.parametrize("key", [10**9, "1", 1.0, True, None, []], ids=str)
def test_entries_of_no_conversation_of_the_manifest_are_named(bundle: Path, key: Any):
    problems = edit_manifest(bundle, lambda manifest: manifest["conversations"][0].update(id=key))
    assert any("entry 7 is of no conversation of the manifest" in line for line in problems) or (
        any("id and events of" in line or "it is damaged" in line for line in problems)
    )


def test_conversation_that_is_there_twice_is_named(bundle: Path):
    problems = edit_manifest(
        bundle, lambda manifest: manifest["conversations"].append(manifest["conversations"][0])
    )
    texts = [line.partition(": ")[2] for line in problems]
    assert [text.rpartition(" ")[2] for text in texts] == ["twice", "twice"]


def test_ledger_length_that_is_not_the_head_is_named(bundle: Path):
    problems = edit_manifest(bundle, lambda manifest: manifest["ledger"].update(sequence=7))
    assert problems == [f"{MANIFEST}: its ledger does not end with the signed head, entry 8"]


def test_manifest_without_the_length_of_the_ledger_is_damaged(bundle: Path):
    problems = edit_manifest(bundle, lambda manifest: manifest["ledger"].pop("sequence"))
    assert any("KeyError: 'sequence'" in line for line in problems)


def test_manifest_without_its_number_of_reviews_is_named(tmp_path: Path):
    desk = ReviewDesk()
    send(load(desk.close()), desk.ada)
    bundle = bundles.write_bundle(desk.conversation, tmp_path)
    assert list_problems(bundle) == []
    problems = edit_manifest(bundle, lambda manifest: manifest["conversations"][0].pop("reviews"))
    (problem,) = problems
    assert problem.startswith(f"{MANIFEST}: it does not say how many reviews conversations/")


def test_earlier_bundle_without_reviews_verifies(bundle: Path):
    """Bundles of before reviews have neither their number nor the later files."""
    files = bundles.read_files(bundle)
    later = (REVIEWS, REDACTIONS, "questions.csv")
    bundles.write_files(bundle, {name: files[name] for name in files if not name.endswith(later)})
    assert not edit_manifest(bundle, lambda manifest: manifest["conversations"][0].pop("reviews"))


def rewrite(change: Callable[[dict[str, Any]], object]) -> Callable[[bytes], bytes]:
    """Return an edit of the object in ``signature.json``, written as jpweb writes it."""

    def edit(data: bytes) -> bytes:
        statement = json.loads(data)
        change(statement)
        return (encode_canonical(statement) + "\n").encode()

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        rewrite(lambda statement: statement.update(signed_by="Eve")),
        rewrite(lambda statement: statement["signed"].update(manifest_sha256="0" * 64)),
        rewrite(lambda statement: statement.pop("signed")),
        rewrite(lambda statement: statement.update(signature=statement["signature"].upper())),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.rstrip(b"\n"),
        lambda data: b" " + data,
    ],
    ids=["added key", "other hash", "no hash", "capitals", "BOM", "CRLF", "no end", "space"],
)
def test_other_text_around_the_signature_is_found(
    bundle: Path, edit: Callable[[bytes], bytes], capsys: pytest.CaptureFixture[str]
):
    files = bundles.read_files(bundle)
    edited_data = edit(files[SIGNATURE])
    assert edited_data != files[SIGNATURE]
    bundles.write_files(bundle, files | {SIGNATURE: edited_data})
    problems = bundles.list_problems(bundle, signing.get_public_key())
    assert [problem.partition(":")[0] for problem in problems] == [SIGNATURE]
    assert bundle_verifier.main([str(bundle)]) == 1
    assert capsys.readouterr().out.startswith(f"{SIGNATURE}: it was changed")
