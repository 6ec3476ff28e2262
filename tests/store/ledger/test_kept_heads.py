"""The file of kept heads: a line that was written in part spoils no other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.test import override_settings

from jpweb.evidence import ledger_verifier
from jpweb.evidence.ledger_verifier import Problem
from jpweb.store.choices import Act
from jpweb.store.errors import StoreError
from jpweb.store.ledger import kept_heads, sealing, signing, verification
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import LedgerEntry, LedgerHead

pytestmark = pytest.mark.django_db


def keep_head(path: Path) -> None:
    """Record and seal an act, and append the head."""
    record_act(Act.ROLE_CHANGED, OPERATOR, Place(1))
    sealing.seal_entries()
    statement = kept_heads.make_statement()
    assert statement is not None
    kept_heads.append_head(path, statement)


def tear_line(path: Path) -> None:
    with path.open("a") as file:
        file.write('{"head": {"seq')


def list_sequences(path: Path) -> list[int | str]:
    """Return the sequences of the heads of a file, and the texts of its problems."""
    return [
        line.text if isinstance(line, Problem) else line["head"]["sequence"]
        for line in kept_heads.read_heads(path)
    ]


def test_head_behind_a_torn_line_has_a_line_of_its_own(tmp_path: Path):
    path = tmp_path / "heads.jsonl"
    keep_head(path)
    tear_line(path)
    keep_head(path)
    keep_head(path)
    assert list_sequences(path) == [1, f"{path}, line 2 is not a signed head", 2, 3]


def test_named_pipe_in_place_of_the_file_is_refused_without_a_wait(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(StoreError, match="pipe cannot be written: Invalid argument"):
        keep_head(path)


def test_torn_line_is_a_problem_beside_those_of_the_chain(tmp_path: Path):
    path = tmp_path / "heads.jsonl"
    tear_line(path)
    keep_head(path)
    assert path.read_text().count("\n") == 2
    LedgerEntry.objects.all().delete()
    LedgerHead.objects.all().delete()
    assert list(map(str, verification.find_problems(kept_heads.read_heads(path)))) == [
        f"head: {path}, line 1 is not a signed head",
        "entry 1: it is missing, and a head that was kept names it",
    ]


def write_ledger_file(path: Path) -> None:
    """Write the head and the entries as a ledger file."""
    entries = LedgerEntry.objects.order_by("sequence").values("sequence", "text")
    lines = [signing.make_statement(sealing.get_head()), *entries]
    path.write_text("".join(f"{ledger_verifier.encode_canonical(line)}\n" for line in lines))


def test_offline_verifier_compares_each_head_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, file = tmp_path / "heads.jsonl", tmp_path / "ledger.jsonl"
    keep_head(path)
    write_ledger_file(file)
    assert ledger_verifier.main([str(file), "--head", str(path)]) == 0
    keep_head(path)
    capsys.readouterr()
    assert ledger_verifier.main([str(file), "--head", str(path)]) == 1
    problem = "head: the chain does not contain the head that was kept, entry 2\n"
    assert capsys.readouterr().out == problem
    write_ledger_file(file)
    assert ledger_verifier.main([str(file), "--head", str(path)]) == 0


def test_offline_verifier_accepts_heads_of_before_a_change_of_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, file = tmp_path / "heads.jsonl", tmp_path / "ledger.jsonl"
    keep_head(path)
    old_key = signing.get_public_key()
    with override_settings(SECRET_KEY="a new one"):
        keep_head(path)
        keep_head(path)
        new_key = signing.get_public_key()
        write_ledger_file(file)
    assert ledger_verifier.main([str(file), "--public-key", new_key, "--head", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        f"It contains 1 kept head signed with the key {old_key}.",
        f"It contains 2 kept heads signed with the key {new_key}.",
    ]
    statement = json.loads(path.read_text().splitlines()[0])
    path.write_text(json.dumps(statement | {"public_key": new_key}))
    assert ledger_verifier.main([str(file), "--head", str(path)]) == 1
    assert "head: the signature does not fit" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["{}", "[]", '{"head": {"seq', "[" * 100_000])
def test_offline_verifier_names_a_line_that_is_no_head(tmp_path: Path, line: str):
    path, file = tmp_path / "heads.jsonl", tmp_path / "ledger.jsonl"
    keep_head(path)
    write_ledger_file(file)
    path.write_text(f"{line}\n{path.read_text()}\ud800", errors="surrogatepass")
    ledger_file = ledger_verifier.read_file(file)
    assert list(map(str, ledger_verifier.verify_file(ledger_file, None, path))) == [
        f"head: {path}, line 1 is not a signed head",
        f"head: {path}, line 3 is not a signed head",
    ]


@pytest.mark.parametrize("data", [b"\x00" * 40, b"\xff\xfe\n"], ids=["zero", "odd"])
def test_line_of_other_bytes_is_a_problem(tmp_path: Path, data: bytes):
    path = tmp_path / "heads.jsonl"
    path.write_bytes(data)
    keep_head(path)
    assert list_sequences(path) == [f"{path}, line 1 is not a signed head", 1]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"], ids=["line feed", "two characters"])
def test_blank_lines_of_kept_heads_are_skipped_and_counted(tmp_path: Path, line_end: bytes):
    path = tmp_path / "heads.jsonl"
    keep_head(path)
    head = path.read_bytes().strip()
    path.write_bytes(line_end.join([b"", head, b" \t", head, b"{", b"", b""]))
    assert list_sequences(path) == [1, 1, f"{path}, line 5 is not a signed head"]


def test_named_pipe_without_a_writer_holds_no_heads(tmp_path: Path):
    path, file = tmp_path / "pipe", tmp_path / "ledger.jsonl"
    os.mkfifo(path)
    assert list_sequences(path) == []
    keep_head(tmp_path / "heads.jsonl")
    write_ledger_file(file)
    assert ledger_verifier.main([str(file), "--head", str(path)]) == 2
    assert ledger_verifier.main([str(path)]) == 2


def test_heads_of_a_pipe_are_read_until_its_writer_closes_it(tmp_path: Path):
    path = tmp_path / "heads.jsonl"
    keep_head(path)
    read_end, write_end = os.pipe()
    with os.fdopen(read_end), os.fdopen(write_end, "wb", buffering=0) as writer:
        lines = kept_heads.read_heads(Path(f"/dev/fd/{read_end}"))
        writer.write(path.read_bytes() * 2)
        first = next(lines)
        writer.close()
        assert [first, *lines] == list(kept_heads.read_heads(path)) * 2
