"""The question `plan`: a pool and an offset for every buffer, with a proof of optimality or a gap."""
