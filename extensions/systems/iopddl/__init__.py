"""IOPDDL: problems of the ASPLOS 2025 contest on parallelism inside of operators."""
