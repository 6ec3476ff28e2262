"""Numbers of tokens as people read them; a missing number is never a zero."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jpweb.store.run_queue.token_usage import TokenSums


class TokenText(NamedTuple):
    """Tokens that a model read and wrote, in words; empty where neither is on record.

    ``is_partial``: other requests of the same turns are on no record. ``turn_count`` is the number
    of turns with tokens on record.
    """

    read: str = ""
    written: str = ""
    cached: str = ""
    is_partial: bool = False
    turn_count: int = 0


def describe_tokens(sums: Collection[TokenSums]) -> TokenText:
    """Return the tokens of some turns together."""
    known_sums = [turn_sums for turn_sums in sums if turn_sums.reported_count]
    if not known_sums:
        return TokenText()
    cached_count = sum(turn_sums.cache_read_tokens for turn_sums in known_sums)
    return TokenText(
        f"{sum(turn_sums.input_tokens for turn_sums in known_sums):,}",
        f"{sum(turn_sums.output_tokens for turn_sums in known_sums):,}",
        f"{cached_count:,}" if cached_count else "",
        any(turn_sums.missing_count for turn_sums in sums),
        len(known_sums),
    )
