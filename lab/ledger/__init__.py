"""A ledger of results of the searches: `rows.jsonl` has a line for each question, which no change may make worse."""
