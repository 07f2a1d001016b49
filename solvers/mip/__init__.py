"""The integer program of offsets and pools, and the engines that solve it."""
