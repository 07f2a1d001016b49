"""The commands `order` and `liveness`, and the search for a better operation order in `memplan plan --order best`."""
