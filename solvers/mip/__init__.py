"""The integer program of the design documents, written once, and the engines that solve it."""
