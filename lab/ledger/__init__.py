"""A ledger of what the searches reach: `rows.jsonl` has a line a question, which a change has to answer to."""
