"""Django app of the commands of evidence: of bundles, and of the ledger's proof."""
