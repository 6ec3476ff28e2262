"""MACs of entries that are not in the chain yet: they tell recorded entries from inserted rows.

Until it is sealed, no hash of the chain covers an entry. Its MAC is keyed by the installation's
secret key, so write access to the database alone makes no entry. Sealing deletes the MAC: a row
that is taken out of the chain again has none.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings

from jpweb.store.ledger import signing
from jpweb.store.models import LedgerEntry, LedgerHead

_KEY_PURPOSE = b"jpweb ledger entry MAC 1"
#: Rows of one query.
_BATCH_ROWS = 500


class UnsealedEntry(NamedTuple):
    """The columns of an entry that has no place in the chain."""

    key: int
    text_hash: str
    mac: str | None

    @property
    def is_authentic(self) -> bool:
        """Whether this installation recorded the entry."""
        return is_mac_valid(self.text_hash, self.mac)


def compute_mac(text_hash: str) -> str:
    """Return the HMAC-SHA256 of the hash of an entry's text, in hexadecimal digits.

    Of a copy: for each new HMAC OpenSSL looks up the algorithm, 0.012 ms after a synced commit.
    """
    mac = _begin_mac(settings.SECRET_KEY).copy()
    mac.update(text_hash.encode())
    return mac.hexdigest()


def is_mac_valid(text_hash: str, mac: str | None) -> bool:
    """Tell whether a MAC is that of an entry's hash."""
    return mac is not None and hmac.compare_digest(compute_mac(text_hash).encode(), mac.encode())


def is_forged(entry: LedgerEntry) -> bool:
    """Tell whether an entry is not in the chain and was not recorded by this installation."""
    return entry.sequence is None and not is_mac_valid(entry.text_hash, entry.mac)


def iterate_unsealed(first_key: int | None = None) -> Iterator[UnsealedEntry]:
    """Yield the entries outside the chain in the order of their keys, from a key on."""
    rows = LedgerEntry.objects.filter(sequence__isnull=True).order_by("id")
    batch_rows = rows if first_key is None else rows.filter(pk__gte=first_key)
    while batch := list(batch_rows.values_list("pk", "text_hash", "mac")[:_BATCH_ROWS]):
        yield from (UnsealedEntry(*values) for values in batch)
        if len(batch) < _BATCH_ROWS:
            return
        # With one bound: of several, SQLite searches by the first, and would read all rows again.
        batch_rows = rows.filter(pk__gt=batch[-1][0])


def count_forged() -> int:
    """Return how many rows outside the chain this installation did not record."""
    return len(list_forged_keys())


def list_forged_keys() -> list[int]:
    """Return the keys of the rows outside the chain that this installation did not record."""
    return [entry.key for entry in iterate_unsealed() if not entry.is_authentic]


def adopt_entries() -> None:
    """Give the unsealed entries of another installation MACs of this one.

    It is called where the operator restores a backup that was made with another secret key. Where
    this installation signed the head, the entries keep their MACs, and forged ones stay forged.
    """
    if LedgerHead.objects.filter(public_key=signing.get_public_key()).exists():
        return
    for entry in iterate_unsealed():
        LedgerEntry.objects.filter(pk=entry.key).update(mac=compute_mac(entry.text_hash))


@lru_cache(maxsize=1)
def _begin_mac(secret_key: str) -> hmac.HMAC:
    return hmac.new(signing.derive_key_bytes(secret_key, _KEY_PURPOSE), digestmod="sha256")
