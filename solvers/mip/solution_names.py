"""Recognition of files with solutions of integer programs, without importing their reader."""

SUFFIX = ".sol"
_HEADS = (b"Model status", b"solution status:", b"Optimal", b"Stopped on", b"Infeasible", b"# Solution for", b"=obj=")
"""The first bytes of solution files of HiGHS, SCIP, CBC and Gurobi."""


def recognises(data: bytes, name: str | None) -> bool:
    """Return True if a file has the suffix or the first bytes of a solution of an integer program."""
    return (name or "").lower().endswith(SUFFIX) or data.lstrip().startswith(_HEADS)
