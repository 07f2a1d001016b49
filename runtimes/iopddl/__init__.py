"""IOPDDL: problems of the ASPLOS 2025 contest on intra-operator parallelism."""
