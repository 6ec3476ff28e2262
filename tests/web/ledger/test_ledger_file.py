"""The ledger as a file: it verifies without jpweb, and each change of it is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jpweb.evidence.ledger_verifier import encode_canonical
from jpweb.store.ledger import signing
from tests.web.test_access import make_address
from tests.web.world import World

pytestmark = pytest.mark.usefixtures("gathered_reads")


def download(world: World, name: str, folder: Path) -> Path:
    """Return the ledger file that somebody downloads."""
    response: Any = world.client(name).get("/audit/ledger.jsonl")
    path = folder / "jpweb-ledger.jsonl"
    path.write_bytes(response.content)
    return path


def verify(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the downloaded verifier as a third person would, without jpweb's packages."""
    command = [sys.executable, "-I", "-S", str(path.with_name("verifier.py")), str(path), *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.fixture
def file(world: World, tmp_path: Path) -> Path:
    """Return a ledger file and, beside it, the verifier, both as downloaded."""
    world.client("owner").post(make_address("question-answer", world), {"answer": "true"})
    script: Any = world.client("auditor").get("/audit/ledger-verifier")
    (tmp_path / "verifier.py").write_bytes(script.content)
    return download(world, "auditor", tmp_path)


def test_ledger_file_verifies_by_the_standard_library_alone(file: Path):
    done = verify(file, "--public-key", signing.get_public_key())
    assert (done.returncode, done.stderr) == (0, "")
    assert "The chain holds up to entry" in done.stdout


def test_verifier_says_how_many_entries_have_their_text(file: Path):
    lines = file.read_text().splitlines()
    entries = [json.loads(line) for line in lines[1:]]
    count = sum("text" in entry for entry in entries)
    hidden = f"Hash only (hidden or purged): {len(entries) - count}."
    line = f"{count} of {len(entries)} entries have their text. {hidden}"
    assert verify(file).stdout.splitlines()[1] == line
    hashes = [{name: entry[name] for name in ("sequence", "text_hash")} for entry in entries]
    file.write_text("\n".join([lines[0], *map(encode_canonical, hashes)]) + "\n")
    line = f"0 of {len(entries)} entries have their text. "
    hidden = f"Hash only (hidden or purged): {len(entries)}."
    assert verify(file).stdout.splitlines()[1] == line + hidden


def test_file_of_before_hashes_beside_texts_verifies(file: Path):
    file.write_text("\n".join(drop_hashes(file.read_text().splitlines())) + "\n")
    done = verify(file)
    assert (done.returncode, done.stderr) == (0, "")


def test_ledger_file_hides_entries_of_other_workspaces(world: World, file: Path):
    own_file = download(world, "rival", file.parent)
    assert world.workspace.name not in own_file.read_text()
    lines = [json.loads(line) for line in own_file.read_text().splitlines()[1:]]
    entries = [json.loads(line["text"]) for line in lines if "text" in line]
    assert {entry.get("workspace") for entry in entries} <= {world.other_workspace.pk, None}
    assert any("text_hash" in line for line in lines)
    assert verify(own_file).returncode == 0


def change_answer(lines: list[str]) -> list[str]:
    return [line.replace("answered", "declined") for line in lines]


def find_answer(lines: list[str]) -> int:
    """Return the sequence of the answer's entry."""
    (line,) = [line for line in lines if "inquiry_answered" in line]
    sequence: int = json.loads(line)["sequence"]
    return sequence


def drop_hashes(lines: list[str]) -> list[str]:
    """Leave out hashes beside texts, which earlier files do not have."""
    entries = [json.loads(line) for line in lines]
    for entry in entries:
        if "text" in entry:
            del entry["text_hash"]
    return [encode_canonical(entry) for entry in entries]


def change_answer_of_an_earlier_file(lines: list[str]) -> list[str]:
    return change_answer(drop_hashes(lines))


def swap_first(lines: list[str]) -> list[str]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


def swap_texts(lines: list[str]) -> list[str]:
    entries = [json.loads(line) for line in lines]
    first, second = [entry for entry in entries if "text" in entry][:2]
    first["text"], second["text"] = second["text"], first["text"]
    return [encode_canonical(entry) for entry in entries]


def drop_last(lines: list[str]) -> list[str]:
    return lines[:-1]


def swap_last(lines: list[str]) -> list[str]:
    return [*lines[:-2], lines[-1], lines[-2]]


def change_head(lines: list[str]) -> list[str]:
    statement = json.loads(lines[0])
    statement["head"]["sequence"] -= 1
    return [encode_canonical(statement), *lines[1:-1]]


FORGED = {"sequence": 1000, "text": '{"act":"answered"}'}


def append_forged(lines: list[str]) -> list[str]:
    return [*lines, encode_canonical(FORGED)]


def keep_head_alone(lines: list[str]) -> list[str]:
    """Keep the genuine head, and have the entries begin after it."""
    statement = json.loads(lines[0])
    return [encode_canonical(statement | {"first_sequence": statement["head"]["sequence"] + 1})]


def replace_all(lines: list[str]) -> list[str]:
    (head,) = keep_head_alone(lines)
    return [head, encode_canonical(FORGED)]


@pytest.mark.parametrize(
    ("tamper", "problem"),
    [
        (append_forged, "entry 1000: it is behind the signed head: it was added"),
        (keep_head_alone, "entries 1 to"),
        (replace_all, "entry 1000: it is behind the signed head: it was added"),
        (change_answer_of_an_earlier_file, "the chain up to here is not the one that was signed"),
        (drop_last, "is missing"),
        (swap_last, "it is in the wrong place"),
        (change_head, "head: the signature does not fit"),
    ],
)
def test_verifier_names_changes_of_a_ledger_file(file: Path, tamper: Any, problem: str):
    lines = file.read_text().splitlines()
    file.write_text("\n".join(tamper(lines)) + "\n")
    done = verify(file, "--public-key", signing.get_public_key())
    assert (done.returncode, done.stderr) == (1, "")
    assert problem in done.stdout


def test_verifier_names_the_entry_whose_text_was_changed(file: Path):
    lines = file.read_text().splitlines()
    file.write_text("\n".join(change_answer(lines)) + "\n")
    assert verify(file).stdout == f"entry {find_answer(lines)}: its text was changed\n"


def test_verifier_names_both_entries_whose_texts_were_swapped(file: Path):
    lines = file.read_text().splitlines()
    first, second = [json.loads(line)["sequence"] for line in lines[1:] if '"text"' in line][:2]
    file.write_text("\n".join(swap_texts(lines)) + "\n")
    assert verify(file).stdout.splitlines() == [
        f"entry {first}: its text was changed",
        f"entry {second}: its text was changed",
    ]


def test_verifier_names_the_line_that_was_moved_alone(file: Path):
    file.write_text("\n".join(swap_first(file.read_text().splitlines())) + "\n")
    assert verify(file).stdout == "entry 1: it is in the wrong place, or there twice\n"


@pytest.mark.parametrize("sequence", [None, "4", 4.0, True])
def test_file_whose_head_names_no_entry_is_no_ledger_file(file: Path, sequence: Any):
    head, *entries = file.read_text().splitlines()
    statement = json.loads(head)
    statement["head"]["sequence"] = sequence
    file.write_text("\n".join([encode_canonical(statement), *entries]) + "\n")
    done = verify(file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "does not begin with a head" in done.stderr


@pytest.mark.parametrize("text", ["", "{}", '{"head": []}', '{"head": {"sequence": 1}}'])
def test_kept_file_without_a_head_is_refused_by_name(file: Path, text: str):
    kept_file = file.with_name("kept.json")
    kept_file.write_text(text)
    done = verify(file, "--head", str(kept_file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{kept_file} holds no signed head.\n"


def test_verifier_refuses_a_file_signed_by_another_key(file: Path):
    done = verify(file, "--public-key", "00" * 32)
    assert done.returncode == 1
    assert "signed with another key" in done.stdout


def test_verifier_refuses_a_file_that_is_no_ledger(file: Path):
    file.write_text("[]\n")
    done = verify(file)
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 1: this is not a JSON object" in done.stderr
