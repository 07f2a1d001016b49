"""Studies: questions that take many solves."""
