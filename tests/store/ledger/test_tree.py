"""The Merkle tree of the ledger: its growth, its proofs, and those of an earlier ledger."""

from __future__ import annotations

import hashlib

import pytest

from jpweb.evidence import bundle_verifier, ledger_verifier, merkle_tree
from jpweb.store.choices import Act
from jpweb.store.errors import StoreError
from jpweb.store.ledger import sealing, signing, tree, verification
from jpweb.store.ledger.entries import OPERATOR, NewAct, Place, record_acts
from jpweb.store.models import LedgerEntry, LedgerHead, LedgerTile

pytestmark = pytest.mark.django_db


def record_reads(count: int) -> None:
    record_acts(NewAct(Act.READ, OPERATOR, Place(1, n), {"view": "page"}) for n in range(count))


def hash_tree(leaves: list[bytes]) -> bytes:
    """Return the Merkle Tree Hash as RFC 9162, 2.1.1, defines it."""
    if len(leaves) == 1:
        return hashlib.sha256(b"\x00" + leaves[0]).digest()
    middle = 1
    while middle * 2 < len(leaves):
        middle *= 2
    children = hash_tree(leaves[:middle]) + hash_tree(leaves[middle:])
    return hashlib.sha256(b"\x01" + children).digest()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 9, 31, 255, 256, 257])
def test_tree_hash_is_that_of_the_rfc(size: int):
    leaves = [hashlib.sha256(bytes([number % 256])).digest() for number in range(size)]
    tree_hash = merkle_tree.compute_tree_hash(leaf.hex() for leaf in leaves)
    assert tree_hash == hash_tree(leaves).hex()


def test_empty_tree_hash_is_that_of_nothing():
    assert merkle_tree.compute_tree_hash([]) == hashlib.sha256(b"").hexdigest()


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LedgerTile, "LEVELS", 2)
    monkeypatch.setattr(LedgerTile, "SIZE", 4)


def get_root() -> str:
    root: str = signing.make_statement(sealing.get_head())["head"]["tree_hash"]
    return root


def check_proof(sequences: list[int]) -> None:
    """Assert that the proof of some entries gives the root of the signed head, and no more."""
    size = sealing.get_head().sequence
    hashes = dict(LedgerEntry.objects.values_list("sequence", "text_hash"))
    leaves = {number - 1: merkle_tree.hash_leaf(hashes[number]) for number in sequences}
    nodes = list(tree.list_proof_nodes(sequences, size))
    remaining_nodes = iter(nodes)
    root = bundle_verifier._compute_root(0, size, leaves, sorted(leaves), remaining_nodes)
    assert (root, next(remaining_nodes, None)) == (get_root(), None)
    assert len(nodes) <= len(sequences) * (size - 1).bit_length() + 1


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("size", [1, 3, 4, 5, 16, 23])
def test_proof_of_any_entries_gives_the_signed_root(size: int):
    record_reads(size)
    sealing.seal_entries()
    for sequence in range(1, size + 1):
        check_proof([sequence])
    check_proof(list(range(1, size + 1)))
    check_proof(list(range(1, size + 1, 3)))
    check_proof([])


@pytest.mark.usefixtures("small_tiles")
def test_tree_that_grows_in_batches_is_that_of_one_batch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sealing, "BATCH_ENTRIES", 3)
    record_reads(11)
    sealing.seal_entries()
    hashes = LedgerEntry.objects.order_by("sequence").values_list("text_hash", flat=True)
    assert get_root() == merkle_tree.compute_tree_hash(hashes)
    assert list(LedgerTile.objects.order_by("number").values_list("number", flat=True)) == [0, 1]


@pytest.mark.usefixtures("small_tiles")
def test_tree_of_an_earlier_ledger_is_built_with_the_next_entry():
    record_reads(9)
    sealing.seal_entries()
    LedgerTile.objects.all().delete()
    head = LedgerHead.objects.get()
    head.frontier = []
    head.public_key, head.signature = signing.sign_head(head)
    head.save()
    assert "tree_hash" not in signing.make_statement(sealing.get_head())["head"]
    assert list(verification.find_problems()) == []
    record_reads(1)
    sealing.seal_entries()
    assert list(verification.find_problems()) == []
    assert LedgerTile.objects.count() == 2
    check_proof([2, 10])


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "entries 5 to 8 is another one"), (2, "entries 9 to 12 is there before them")],
    ids=["changed", "too-early"],
)
def test_tile_that_is_not_of_the_entries_is_named_and_made_again(number: int, text: str):
    record_reads(11)
    sealing.seal_entries()
    tiles = tree.read_tiles()
    LedgerTile.objects.update_or_create(number=number, defaults={"node_hash": "0" * 64})
    (problem,) = verification.find_problems()
    assert f"the stored hash of {text}, so evidence bundles fail." in str(problem)
    assert sealing.rebuild_tiles() == 1
    assert tree.read_tiles() == tiles
    assert list(verification.find_problems()) == []
    check_proof([1, 11])
    assert sealing.rebuild_tiles() == 0


@pytest.mark.usefixtures("small_tiles")
def test_tiles_of_entries_that_do_not_lead_to_the_head_stay():
    record_reads(9)
    sealing.seal_entries()
    LedgerEntry.objects.filter(sequence=2).update(text_hash="0" * 64)
    tiles = tree.read_tiles()
    with pytest.raises(StoreError, match="do not lead to the signed head"):
        sealing.rebuild_tiles()
    assert tree.read_tiles() == tiles


@pytest.mark.usefixtures("small_tiles")
def test_missing_tile_is_no_problem_and_made_again():
    record_reads(9)
    sealing.seal_entries()
    LedgerTile.objects.filter(number=0).delete()
    assert list(verification.find_problems()) == []
    assert sealing.rebuild_tiles() == 1


def test_tree_that_was_changed_in_the_head_is_found():
    record_reads(3)
    sealing.seal_entries()
    head = LedgerHead.objects.get()
    head.frontier = [head.frontier[1], head.frontier[0]]
    head.public_key, head.signature = signing.sign_head(head)
    head.save()
    (problem,) = verification.find_problems()
    assert str(problem) == "head: the tree of the entries is not the one that was signed"


def test_ledger_file_with_another_tree_is_found(tmp_path):
    record_reads(3)
    sealing.seal_entries()
    head = LedgerHead.objects.get()
    head.frontier = [head.frontier[1], head.frontier[0]]
    head.public_key, head.signature = signing.sign_head(head)
    lines = [signing.make_statement(head)]
    lines += [
        {"sequence": entry.sequence, "text": entry.text}
        for entry in LedgerEntry.objects.order_by("sequence")
    ]
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(f"{ledger_verifier.encode_canonical(line)}\n" for line in lines))
    (problem,) = ledger_verifier.verify_file(ledger_verifier.read_file(path), None, None)
    assert problem.text == "the tree of the entries is not the one that was signed"
