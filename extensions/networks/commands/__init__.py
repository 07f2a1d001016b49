"""The commands `order` and `liveness`, and the better order of operations for `memplan plan --order best`."""
