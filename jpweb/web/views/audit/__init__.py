"""Pages of people who review: the table of inquiries, and the ledger."""
