"""A known plan as stored; clients read plans without a database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StoredPlan:
    """The best known plan of a problem.

    hash: that of the problem, with the key where plans are kept apart, see `cache_name`.
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


def cache_name(problem_hash: str, key_id: str | None) -> str:
    """Return the name of a known plan: the hash of its problem, with the key where keys do not share plans."""
    return problem_hash if key_id is None else f"{problem_hash} {key_id}"
