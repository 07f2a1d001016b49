"""Recognition of solutions of integer programs, without their reader."""

from __future__ import annotations

SUFFIX = ".sol"
_HEADS = (b"Model status", b"solution status:", b"Optimal", b"Stopped on", b"Infeasible", b"# Solution for", b"=obj=")
"""The beginnings of files of HiGHS, SCIP, CBC and Gurobi."""


def recognises(data: bytes, name: str | None) -> bool:
    """Return True for the solution of an integer program, by its file's suffix or its beginning."""
    return (name or "").lower().endswith(SUFFIX) or data.lstrip().startswith(_HEADS)
