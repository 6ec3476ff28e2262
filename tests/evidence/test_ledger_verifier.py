"""The verifier of ledger files: its problems, and its output in any encoding."""

from __future__ import annotations

import io
import sys

import pytest

from jpweb.evidence import ledger_verifier


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
