"""The integer program for pools and offsets, and the engines that solve it."""
