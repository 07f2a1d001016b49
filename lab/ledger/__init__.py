"""The ledger: recorded answers of memplan's searches, one per line of `rows.jsonl`. Later answers must not be worse."""
