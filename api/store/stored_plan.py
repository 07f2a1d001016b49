"""A known plan as the store has it, in a module without a database, so that clients can import it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StoredPlan:
    """The best known plan of a problem.

    hash: the problem's hash, with the id of a key if keys do not share plans (see `cache_name`).
    plan: the compressed plan and its bounds, in canonical order.
    status: the status that its writer claims.
    searched_s: the seconds of the search.
    bytes: the size of `plan`.
    """

    hash: str
    plan: bytes
    status: str
    searched_s: float
    bytes: int


def cache_name(problem_hash: str, key_id: str | None) -> str:
    """Return the name of a known plan: the hash of its problem, with the id of a key if keys do not share plans."""
    return problem_hash if key_id is None else f"{problem_hash} {key_id}"
