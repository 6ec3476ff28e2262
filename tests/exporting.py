"""Downloads put together again."""

from __future__ import annotations

from collections.abc import Iterable

from jpweb.store.exports import ExportChunk


def join_pieces(pieces: Iterable[ExportChunk]) -> bytes:
    """Return the file; every piece but the last one says that another follows."""
    chunks = list(pieces)
    assert [piece.is_last for piece in chunks] == [False] * (len(chunks) - 1) + [True]
    return b"".join(piece.data for piece in chunks)
