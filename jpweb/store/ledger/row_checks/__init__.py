"""Rows that pages show of decisions, compared with the entries of the ledger."""
