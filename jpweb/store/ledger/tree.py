"""The Merkle tree over the ledger (RFC 9162, 2.1): its growth, and proofs of some entries.

The chain alone would prove an entry by the hashes of all later ones. The signed head has the
tree's root too, so a proof of k among n entries has at most about k * log2(n) hashes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from jpweb.evidence import merkle_tree
from jpweb.store.errors import StoreError
from jpweb.store.models import LedgerEntry, LedgerHead, LedgerTile

#: Entries of one query where the tree of an earlier ledger is built.
_BATCH_ENTRIES = 2000


def append_entries(head: LedgerHead, text_hashes: Sequence[str]) -> None:
    """Add entries behind the head to its frontier; the caller then counts and signs them.

    The tree of a ledger that an earlier jpweb began is built first: 2 s for a million entries.
    """
    size = head.sequence
    if size and not head.frontier:
        head.frontier = _build(size)
    _append_batch(head.frontier, size, text_hashes)


def rebuild_tiles(head: LedgerHead) -> int:
    """Make the tiles again from the entries up to the locked head; return how many differed.

    Raises StoreError where the entries do not lead to the head.
    """
    if not head.frontier:
        return 0
    earlier_tiles = read_tiles()
    if _build(head.sequence) != head.frontier:
        raise StoreError("The entries do not lead to the signed head. Restore an earlier backup.")
    return len(dict(earlier_tiles.items() ^ read_tiles().items()))


def read_tiles() -> dict[int, str]:
    """Return the hashes of the tiles by their numbers."""
    return dict(LedgerTile.objects.values_list("number", "node_hash"))


def append_hash(frontier: list[str], size: int, text_hash: str) -> list[LedgerTile]:
    """Add one entry to the frontier of ``size`` entries; return the tile that it completes."""
    leaf = merkle_tree.hash_leaf(text_hash)
    nodes = merkle_tree.append_leaf(frontier, size, leaf)
    number = size >> LedgerTile.LEVELS
    return [
        LedgerTile(number=number, node_hash=node)
        for level, node in nodes
        if level == LedgerTile.LEVELS
    ]


def list_proof_nodes(sequences: Sequence[int], size: int) -> Iterator[str]:
    """Yield the hashes of the largest subtrees without one of the entries, from left to right.

    ``sequences`` ascend; ``size`` is the head's. With the entries' own hashes they give the root.
    """
    indices = [sequence - 1 for sequence in sequences]
    return _Prover(indices, read_tiles()).list_nodes(0, size)


class _Prover:
    """Hashes subtrees by tiles, and by the entries of those tiles that are not complete."""

    def __init__(self, indices: list[int], tiles: dict[int, str]) -> None:
        self._indices = indices
        self._tiles = tiles
        self._block: tuple[int, list[str]] = -1, []

    def list_nodes(self, first_sequence: int, last_sequence: int) -> Iterator[str]:
        position = bisect_left(self._indices, first_sequence)
        if position == len(self._indices) or self._indices[position] >= last_sequence:
            if last_sequence > first_sequence:
                yield self._hash_range(first_sequence, last_sequence)
        elif last_sequence - first_sequence > 1:
            middle = merkle_tree.split_range(first_sequence, last_sequence)
            yield from self.list_nodes(first_sequence, middle)
            yield from self.list_nodes(middle, last_sequence)

    def _hash_range(self, first_sequence: int, last_sequence: int) -> str:
        number = first_sequence >> LedgerTile.LEVELS
        if last_sequence - first_sequence == LedgerTile.SIZE and number in self._tiles:
            return self._tiles[number]
        if last_sequence - first_sequence == 1:
            return merkle_tree.hash_leaf(self._read_block(number)[first_sequence % LedgerTile.SIZE])
        middle = merkle_tree.split_range(first_sequence, last_sequence)
        return merkle_tree.hash_node(
            self._hash_range(first_sequence, middle), self._hash_range(middle, last_sequence)
        )

    def _read_block(self, number: int) -> list[str]:
        """Return the text hashes of the entries of a tile, which is read once."""
        if self._block[0] != number:
            start = number * LedgerTile.SIZE
            self._block = number, _read_hashes(start, start + LedgerTile.SIZE)
        return self._block[1]


def _build(size: int) -> list[str]:
    """Replace the tiles by those of ``size`` entries; return their frontier."""
    frontier: list[str] = []
    LedgerTile.objects.all().delete()
    for start in range(0, size, _BATCH_ENTRIES):
        _append_batch(frontier, start, _read_hashes(start, min(start + _BATCH_ENTRIES, size)))
    return frontier


def _append_batch(frontier: list[str], size: int, text_hashes: Sequence[str]) -> None:
    tiles = [
        tile
        for offset, text_hash in enumerate(text_hashes)
        for tile in append_hash(frontier, size + offset, text_hash)
    ]
    if tiles:
        LedgerTile.objects.bulk_create(tiles)


def _read_hashes(start: int, end: int) -> list[str]:
    """Return the text hashes of the entries with the indices from ``start`` to before ``end``."""
    rows = LedgerEntry.objects.filter(sequence__gt=start, sequence__lte=end).order_by("sequence")
    return list(rows.values_list("text_hash", flat=True))
