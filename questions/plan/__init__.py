"""Plan: a pool and an offset for every buffer, with a proof or an honest gap."""
