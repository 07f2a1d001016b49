"""The question `plan`: a pool and an offset for every buffer, with a proof or the gap to a lower bound."""
