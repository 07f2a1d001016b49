"""The ledger: recorded answers of the searches, one per line of `rows.jsonl`, which must not get worse."""
