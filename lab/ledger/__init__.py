"""The ledger: recorded results of the searches, one line of `rows.jsonl` per question, which must not get worse."""
