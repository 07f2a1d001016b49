"""A known plan as stored; clients read plans without a database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StoredPlan:
    """The best known plan of a problem.

    hash: that of the problem.
    plan: what is known, packed, for the canonical order.
    status: what whoever wrote it says of it.
    searched_s: how long was searched.
    bytes: the size of `plan`.
    """

    hash: str
    plan: bytes
    status: str
    searched_s: float
    bytes: int
