"""Kept heads beside a bundle: those of its last entry have to have the same hashes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from jpweb.evidence import bundle_verifier
from jpweb.evidence.bundle_verifier import HEAD
from jpweb.store.ledger import signing
from tests import bundles

pytestmark = pytest.mark.django_db


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return bundles.copy_bundle(tmp_path)


def read_head(bundle: Path) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(bundles.read_files(bundle)[HEAD])["head"]
    return head


def keep_heads(bundle: Path, *heads: dict[str, Any]) -> Path:
    """Write a file of heads that the installation's key signed."""
    path = bundle.with_name("heads.jsonl")
    statements = [{"head": head} | signing.sign_value(head)._asdict() for head in heads]
    path.write_text("".join(f"{json.dumps(statement)}\n" for statement in statements))
    return path


def test_kept_head_with_the_hashes_of_the_bundle_is_no_problem(
    bundle: Path, capsys: pytest.CaptureFixture[str]
):
    head = read_head(bundle)
    earlier = {name: value for name, value in head.items() if name != "tree_hash"}
    path = keep_heads(bundle, head, earlier, head | {"sequence": 1})
    assert bundle_verifier.main([str(bundle), "--head", str(path)]) == 0
    hashes = f"chain hash {head['chain_hash']}, tree hash {head['tree_hash']}."
    assert capsys.readouterr().out.splitlines()[-4:-1] == [
        f"Head: entry {head['sequence']}, {hashes}",
        "Kept heads of this entry, with the same hashes: 2.",
        "Kept heads of other entries: 1. Compare them with the ledger file.",
    ]


@pytest.mark.parametrize("name", ["chain_hash", "tree_hash"])
def test_kept_head_with_another_hash_shows_a_forged_bundle(
    bundle: Path, capsys: pytest.CaptureFixture[str], name: str
):
    head = read_head(bundle)
    path = keep_heads(bundle, head | {name: "00" * 32})
    assert bundle_verifier.main([str(bundle), "--head", str(path)]) == 1
    problem = f"{HEAD}: the head of entry {head['sequence']} that was kept has other hashes\n"
    assert capsys.readouterr().out == problem
    with pytest.raises(CommandError, match="The bundle has 1 problem"):
        call_command("verify_evidence", str(bundle), head=path)
    assert capsys.readouterr().out == problem


def test_kept_head_without_a_valid_signature_is_a_problem(
    bundle: Path, capsys: pytest.CaptureFixture[str]
):
    path = keep_heads(bundle, read_head(bundle))
    path.write_text(path.read_text().replace('"sequence": ', '"sequence": 1') + "{}\n")
    assert bundle_verifier.main([str(bundle), "--head", str(path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "kept heads: the signature does not fit: the head was changed after it was signed",
        f"kept heads: {path}, line 2 is not a signed head",
    ]


@pytest.mark.parametrize("option", ["--head", "--heads"])
def test_verify_evidence_takes_the_option_of_verify_ledger(
    bundle: Path, capsys: pytest.CaptureFixture[str], option: str
):
    call_command("verify_evidence", str(bundle), option, str(keep_heads(bundle, read_head(bundle))))
    assert "Kept heads of this entry, with the same hashes: 1." in capsys.readouterr().out


@pytest.mark.parametrize("text", [None, "{}\n"], ids=["missing", "no head"])
def test_file_without_kept_heads_is_refused(
    bundle: Path, capsys: pytest.CaptureFixture[str], text: str | None
):
    path = bundle.with_name("heads.jsonl")
    if text is not None:
        path.write_text(text)
    assert bundle_verifier.main([str(bundle), "--head", str(path)]) == 2
    assert capsys.readouterr().err.startswith(str(path))
    with pytest.raises(CommandError, match=f"^{path}"):
        call_command("verify_evidence", str(bundle), head=path)
