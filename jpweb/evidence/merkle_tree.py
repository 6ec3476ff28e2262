"""Merkle trees: a proof of few entries needs few hashes of others (RFC 9162, 2.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator


def hash_leaf(text_hash: str) -> str:
    """Return the hash of a leaf: an entry's text hash."""
    return hashlib.sha256(b"\x00" + bytes.fromhex(text_hash)).hexdigest()


def hash_node(left_hash: str, right_hash: str) -> str:
    """Return the hash of an inner node from those of its children."""
    return hashlib.sha256(
        b"\x01" + bytes.fromhex(left_hash) + bytes.fromhex(right_hash)
    ).hexdigest()


def append_leaf(frontier: list[str], size: int, leaf: str) -> Iterator[tuple[int, str]]:
    """Add a leaf to a tree of ``size`` leaves; yield the level and hash of each node it completes.

    The frontier has a complete subtree for each one in the binary digits of ``size``, the largest
    first.
    """
    node, level = leaf, 0
    while size >> level & 1:
        node, level = hash_node(frontier.pop(), node), level + 1
        yield level, node
    frontier.append(node)


def fold_frontier(frontier: list[str]) -> str:
    """Return the root of the tree with this frontier; an empty tree's is the hash of nothing."""
    root = frontier[-1] if frontier else hashlib.sha256(b"").hexdigest()
    for node in reversed(frontier[:-1]):
        root = hash_node(node, root)
    return root


def compute_tree_hash(text_hashes: Iterable[str]) -> str:
    """Return the root of the tree of all entries."""
    frontier: list[str] = []
    for size, text_hash in enumerate(text_hashes):
        for _ in append_leaf(frontier, size, hash_leaf(text_hash)):
            pass
    return fold_frontier(frontier)


def split_range(first_sequence: int, last_sequence: int) -> int:
    """Return where the left subtree of the leaves ends; ``last_sequence`` is not among them."""
    return first_sequence + (1 << ((last_sequence - first_sequence - 1).bit_length() - 1))
