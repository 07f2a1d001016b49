"""The signs by which a solution of an integer program is recognised, without its reader."""

from __future__ import annotations

SUFFIX = ".sol"
_HEADS = (b"Model status", b"solution status:", b"Optimal", b"Stopped on", b"Infeasible", b"# Solution for", b"=obj=")
"""The beginnings of files of HiGHS, SCIP, CBC and Gurobi."""


def recognises(data: bytes, name: str | None) -> bool:
    """Return True for the solution of an integer program, by the name of its file or how it begins."""
    return (name or "").lower().endswith(SUFFIX) or data.lstrip().startswith(_HEADS)
