"""A known plan as the database stores it; clients can import this module without a database driver."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StoredPlan:
    """The best known plan of a problem, in stored form.

    hash: the problem's hash, followed by a key's id if keys do not share plans (see `cache_name`).
    plan: the compressed plan and its bounds, with buffers in canonical order.
    status: the status that the plan's writer claims.
    searched_s: the seconds of the search that found it.
    bytes: the size of `plan` in bytes.
    """

    hash: str
    plan: bytes
    status: str
    searched_s: float
    bytes: int


def cache_name(problem_hash: str, key_id: str | None) -> str:
    """Return the name of a known plan: its problem's hash, followed by a key's id if keys do not share plans."""
    return problem_hash if key_id is None else f"{problem_hash} {key_id}"
