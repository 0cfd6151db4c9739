"""What a release costs: guarantees and the ledger."""
