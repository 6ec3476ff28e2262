"""The verifier of ledger files: its problems, and its output in any encoding."""

from __future__ import annotations

import io
import json
import sys
from functools import cache
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from jpweb.evidence import ledger_verifier, merkle_tree, signatures
from jpweb.evidence.ledger_verifier import encode_canonical
from tests.machine.sizes import choose_size


@pytest.mark.parametrize(
    ("encoding", "data"),
    [("ascii", rb"Zo\xeb \x1b \n"), ("utf-8", "Zoë".encode() + rb" \x1b \n")],
)
def test_line_has_escapes_for_control_and_missing_characters(
    monkeypatch: pytest.MonkeyPatch, encoding: str, data: bytes
):
    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output, encoding=encoding))
    ledger_verifier.write_lines(["Zoë \x1b \n"])
    sys.stdout.flush()
    assert output.getvalue() == data + b"\n"


@pytest.mark.parametrize("text", ["[1]", "null", "7", "no JSON"])
def test_entry_whose_text_is_no_object_is_a_problem(text: str):
    texts = ["{}", text]
    links = [
        ledger_verifier.Link(sequence, entry_text, ledger_verifier.hash_text(entry_text))
        for sequence, entry_text in enumerate(texts, 1)
    ]
    hashes = ledger_verifier.iter_chain_hashes(
        ledger_verifier.GENESIS_HASH, (link.text_hash for link in links)
    )
    head = {"sequence": 2, "chain_hash": list(hashes)[-1]}
    (problem,) = ledger_verifier.find_chain_problems(links, head)
    assert str(problem) == "entry 2: its text is not a JSON object"


def make_ledger_lines() -> list[str]:
    """Return the lines of a ledger file with two texts and a hash alone."""
    texts = ['{"act":"read"}', '{"act":"hidden"}', '{"act":"déjà vu"}']
    hashes = [ledger_verifier.hash_text(text) for text in texts]
    chain_hashes = ledger_verifier.iter_chain_hashes(ledger_verifier.GENESIS_HASH, hashes)
    head = {
        "sequence": len(texts),
        "chain_hash": list(chain_hashes)[-1],
        "tree_hash": merkle_tree.compute_tree_hash(hashes),
        "signed_at": "2026-01-02T03:04:05Z",
    }
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    statement = {
        "format": ledger_verifier.FORMAT,
        "head": head,
        "public_key": key.public_key().public_bytes_raw().hex(),
        "signature": key.sign(encode_canonical(head).encode()).hex(),
    }
    entries = [
        {"sequence": sequence, "text": text, "text_hash": ledger_verifier.hash_text(text)}
        for sequence, text in enumerate(texts, 1)
    ]
    del entries[1]["text"]
    return [encode_canonical(line) for line in (statement, *entries)]


def write_file(folder: Path, data: bytes) -> Path:
    path = folder / "ledger.jsonl"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("mask", [1, 2, 7, 32, 128][: choose_size(1, 5)], ids=hex)
def test_each_flipped_byte_is_found_and_its_entry_named(
    tmp_path: Path, mask: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ledger_verifier, "is_signature_valid", cache(signatures.is_signature_valid))
    lines = [f"{line}\n".encode() for line in make_ledger_lines()]
    data = b"".join(lines)
    assert ledger_verifier.main([str(write_file(tmp_path, data))]) == 0
    for place in range(0, len(data), choose_size(3, 1)):
        changed_data = data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]
        capsys.readouterr()
        status = ledger_verifier.main([str(write_file(tmp_path, changed_data))])
        output, number = capsys.readouterr(), data[:place].count(b"\n")
        if number == 0:
            assert status in (1, 2), changed_data
            continue
        assert (status, output.err) == (1, ""), changed_data
        # Another hash in the place of one without a text is found at the head alone.
        has_text = b'"text"' in lines[number]
        assert f"entry {number}: " in output.out or not has_text, changed_data


@pytest.mark.parametrize(("number", "place"), [(0, "head"), (1, "entry 1"), (2, "entry 2")])
@pytest.mark.parametrize(
    ("text", "changed_text"),
    [
        ("{", '{"text":"forged",'),
        ("{", '{"note":"a remark",'),
        ("{", "{ "),
        ("{", "\ufeff{"),
        ("e", "\\u0065"),
    ],
    ids=["equal-name", "other-name", "space", "byte-order-mark", "escape"],
)
def test_line_that_says_more_than_is_verified_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    number: int,
    place: str,
    text: str,
    changed_text: str,
):
    lines = make_ledger_lines()
    lines[number] = lines[number].replace(text, changed_text, 1)
    data = "".join(f"{line}\n" for line in lines).encode()
    assert ledger_verifier.main([str(write_file(tmp_path, data))]) == 1
    line = f"{place}: line {number + 1} is not as jpweb writes it: it was changed\n"
    assert capsys.readouterr().out.startswith(line)


@pytest.mark.parametrize("name", ["public_key", "signature"])
def test_hexadecimal_digits_in_another_case_are_a_change(name: str):
    statement = json.loads(make_ledger_lines()[0])
    statement[name] = statement[name].upper()
    (problem,) = ledger_verifier.find_head_problems(statement)
    assert "hexadecimal digits" in str(problem)


def test_file_without_its_last_line_feed_verifies(tmp_path: Path):
    data = "\n".join(make_ledger_lines()).encode()
    assert ledger_verifier.main([str(write_file(tmp_path, data))]) == 0
