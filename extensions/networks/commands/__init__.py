"""The commands `order` and `liveness`, and plans in a better order for `memplan plan --order best`."""
