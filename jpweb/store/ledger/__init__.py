"""The ledger: an append-only, hash-chained record of who did what."""
