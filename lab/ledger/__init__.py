"""A ledger of results of the searches: `rows.jsonl` has a line for each question, and no change may make one worse."""
