"""The output of the verifiers, which somebody may redirect into a file of another encoding."""

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
