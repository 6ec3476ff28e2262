"""Entries whose texts were replaced by other JSON, with their hashes and columns."""

from __future__ import annotations

import pytest

from jpweb.evidence import ledger_verifier
from jpweb.store.choices import Act
from jpweb.store.ledger import retention, sealing, verification
from jpweb.store.ledger.entries import OPERATOR, Place, record_act
from jpweb.store.models import LedgerEntry

pytestmark = pytest.mark.django_db

NO_OBJECTS = ["[1]", "null", '"text"', "7", "no JSON", "[" * 100_000]


@pytest.fixture(autouse=True)
def chain() -> None:
    for number in range(3):
        record_act(Act.READ, OPERATOR, Place(1, number), view="conversation")
    sealing.seal_entries()


def replace_text(sequence: int, text: str, act: Act) -> None:
    text_hash = ledger_verifier.hash_text(text)
    LedgerEntry.objects.filter(sequence=sequence).update(text=text, text_hash=text_hash, act=act)


def list_problems() -> list[str]:
    return [str(problem) for problem in verification.find_problems()]


@pytest.mark.parametrize("act", [Act.READ, Act.PURGED, Act.REDACTED, Act.INQUIRY_ANSWERED])
@pytest.mark.parametrize("text", NO_OBJECTS, ids=lambda text: text[:8])
def test_entry_whose_text_is_no_object_is_named(text: str, act: Act):
    replace_text(2, text, act)
    assert list_problems() == [
        "entry 2: it does not follow the entry before it",
        "entry 2: its text is not a JSON object",
    ]


@pytest.mark.parametrize("act", [Act.READ, Act.PURGED, Act.REDACTED, Act.INQUIRY_ANSWERED])
@pytest.mark.parametrize("content", [{}, {"by": [], "details": []}], ids=["empty", "lists"])
def test_entry_whose_text_lacks_its_parts_is_named(content: dict[str, object], act: Act):
    text = ledger_verifier.encode_canonical({"act": str(act)} | content)
    replace_text(2, text, act)
    assert list_problems()[:2] == [
        "entry 2: it does not follow the entry before it",
        "entry 2: the columns that pages filter by differ from its text",
    ]


def test_purge_whose_text_is_no_object_covers_no_emptied_entry():
    replace_text(2, "[1]", Act.PURGED)
    LedgerEntry.objects.filter(sequence=3).update(text="")
    assert retention.read_purged_sequences() == frozenset()
    assert "entry 3: its text is gone, and no purge is on record" in list_problems()


@pytest.mark.parametrize("sequences", [None, 3, "", "2-x", [3]])
def test_purge_that_names_no_readable_entries_is_named(sequences: object):
    details = {"entries_hash": "0" * 64, "sequences": sequences}
    text = ledger_verifier.encode_canonical({"act": str(Act.PURGED), "details": details})
    replace_text(2, text, Act.PURGED)
    assert "entry 2: it cleared other texts than those that the chain had" in list_problems()
