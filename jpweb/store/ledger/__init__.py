"""The ledger: an append-only, hash-chained record of acts and their actors."""
