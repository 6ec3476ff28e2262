"""Evidence bundles: the rows that go into one, the ledger's slice, and the import of one."""
