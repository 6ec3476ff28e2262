"""Offline verifiers end with a status and words, never with a traceback, whatever the file has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jpweb.evidence import bundle_verifier, ledger_verifier
from jpweb.evidence.bundle_verifier import MANIFEST, SIGNATURE
from jpweb.evidence.ledger_verifier import encode_canonical
from jpweb.store.choices import Verdict
from jpweb.store.ledger import listing, signing
from jpweb.store.ledger.sealing import get_head, seal_entries
from jpweb.store.models import Run
from jpweb.store.redaction import application
from jpweb.store.redaction.plans import RedactionRequest
from tests import bundles
from tests.bundles import sign_again
from tests.evidence.mutations import mutate_text
from tests.exporting import join_pieces
from tests.machine.sizes import choose_size
from tests.store import making
from tests.store.reviews.desk import ReviewDesk, load, send

pytestmark = pytest.mark.django_db
#: Of all mutations of a file, one in so many is tried.
STEP = choose_size(11, 1)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> ReviewDesk:
    """Return a reviewed and redacted conversation; any signature is taken for valid.

    So a verifier reads on behind what was changed, as where the author of a file signed it.
    """
    desk = ReviewDesk()
    question = making.question(desk.run, text="Is hunter2-pass right?")
    row = making.settle(question, making.ANSWER, making.decider(desk.rita))
    send(load(row), desk.ada, Verdict.WRONG, "He leaked it.")
    Run.objects.update(state="done")
    request = RedactionRequest(row.anchor, "a leak", ("hunter2-pass",))
    application.redact(desk.conversation, request, desk.cleo)
    for module in (ledger_verifier, bundle_verifier):
        monkeypatch.setattr(module, "is_signature_valid", lambda *_: True)
    return desk


def keep_head(path: Path) -> Path:
    path.write_text(json.dumps(signing.make_statement(get_head())) + "\n")
    return path


def mutate_lines(text: str) -> Iterator[str]:
    """Yield the text with each of its lines mutated; later equal lines are left as they are."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        for mutated in mutate_text(line):
            yield "\n".join([*lines[:number], mutated, *lines[number + 1 :]]) + "\n"


def write_text(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def check_all(texts: Iterator[str], verify: Callable[[str], int]) -> None:
    """Verify the mutated texts: each ends with a status of the documented ones."""
    statuses = {verify(text) for number, text in enumerate(texts) if number % STEP == 0}
    assert statuses <= {0, 1, 2}


def test_mutated_ledger_file_ends_with_a_status(desk: ReviewDesk, tmp_path: Path):
    seal_entries()
    path, heads = tmp_path / "ledger.jsonl", keep_head(tmp_path / "heads.jsonl")
    original = join_pieces(listing.make_ledger_file(desk.ada.pk)).decode()

    def verify(text: str) -> int:
        write_text(path, text)
        return ledger_verifier.main([str(path), "--head", str(heads)])

    assert verify(original) == 0
    lines = original.splitlines()
    check_all(mutate_lines("\n".join(lines[:2])), lambda text: verify(text + "\n".join(lines[2:])))


def test_mutated_kept_head_ends_each_verifier_with_a_status(desk: ReviewDesk, tmp_path: Path):
    bundle = bundles.write_bundle(desk.conversation, tmp_path)
    ledger, heads = tmp_path / "ledger.jsonl", keep_head(tmp_path / "heads.jsonl")
    ledger.write_bytes(join_pieces(listing.make_ledger_file(desk.ada.pk)))
    original = heads.read_text()

    def verify(text: str) -> int:
        write_text(heads, text)
        option = ["--head", str(heads)]
        status = bundle_verifier.main([str(bundle), *option])
        return max(status, ledger_verifier.main([str(ledger), *option]))

    assert verify(original) == 0
    check_all(mutate_lines(original), verify)


def test_mutated_file_of_a_bundle_ends_with_a_status(desk: ReviewDesk, tmp_path: Path):
    bundle = bundles.write_bundle(desk.conversation, tmp_path)
    files, heads = bundles.read_files(bundle), keep_head(tmp_path / "heads.jsonl")
    assert bundle_verifier.main([str(bundle)]) == 0
    for name, data in files.items():
        if not name.endswith((".json", ".jsonl")):
            continue

        def verify(text: str, name: str = name) -> int:
            changed = files | {name: text.encode("utf-8", "surrogatepass")}
            if name not in (MANIFEST, SIGNATURE):
                sign_again(changed)
            bundles.write_files(bundle, changed)
            return bundle_verifier.main([str(bundle), "--head", str(heads)])

        mutate = mutate_lines if name.endswith(".jsonl") else mutate_text
        check_all(mutate(data.decode()), verify)


@pytest.mark.parametrize(
    "line",
    [
        '{"sequence":1,"text":5}',
        json.dumps({"sequence": 1, "text": 5, "text_hash": "0" * 64}),
        json.dumps({"sequence": 1, "text_hash": "z" * 64}),
        "[" * 200_000,
        '{"sequence":true,"text":"{}"}',
        '{"sequence":1}',
    ],
    ids=["number", "number beside a hash", "no hash", "nested", "sequence", "nothing"],
)
def test_ledger_file_with_a_line_that_is_no_entry_names_it(
    desk: ReviewDesk, tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
):
    seal_entries()
    path = tmp_path / "ledger.jsonl"
    path.write_text(encode_canonical(signing.make_statement(get_head())) + f"\n{line}\n")
    assert ledger_verifier.main([str(path)]) == 1
    output = capsys.readouterr()
    assert output.out.startswith("entry 1: line 2 is no entry: it was changed\n")
    assert output.err == ""
