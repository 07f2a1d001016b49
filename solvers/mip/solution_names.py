"""How the solution of an integer program is known, without what reads it."""

from __future__ import annotations

SUFFIX = ".sol"
_HEADS = (b"Model status", b"solution status:", b"Optimal", b"Stopped on", b"Infeasible", b"# Solution for", b"=obj=")
"""What the files of HiGHS, SCIP, CBC and Gurobi begin with."""


def recognises(data: bytes, name: str | None) -> bool:
    """Return True for the solution of an integer program, by the name of its file or how it begins."""
    return (name or "").lower().endswith(SUFFIX) or data.lstrip().startswith(_HEADS)
