"""The integer program of pools and offsets, and the engines that solve it."""
