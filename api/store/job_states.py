"""The states of a job, and which may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from memplan.planner.errors import MemplanError

State = Literal["queued", "running", "succeeded", "cancelled", "failed", "expired"]
STATES: tuple[State, ...] = get_args(State)

MEANINGS: Mapping[State, str] = {
    "queued": "It waits for its turn.",
    "running": "It is being solved; the best plan so far can be fetched.",
    "succeeded": "It has its answer: a plan, or what is known of why nothing fits.",
    "cancelled": "It was cancelled; the best plan until then, if there was one, is kept.",
    "failed": "It could not be solved, for the reason that its error gives; the best plan so far, if any, is kept.",
    "expired": "Its deadline passed while it waited; the best plan so far, if any, is kept.",
}

_CHANGES: Mapping[State, frozenset[State]] = {
    # A job that lost its server waits again; that it failed is found when it would wait once too often.
    "queued": frozenset(("running", "cancelled", "expired")),
    "running": frozenset(("queued", "succeeded", "cancelled", "failed")),
    "succeeded": frozenset(),
    "cancelled": frozenset(),
    "failed": frozenset(),
    "expired": frozenset(),
}

ENDED: tuple[State, ...] = tuple(state for state in STATES if not _CHANGES[state])
OPEN: tuple[State, ...] = tuple(state for state in STATES if _CHANGES[state])


class IllegalChangeError(MemplanError):
    """A job would go from one state to another that cannot follow it: a fault of the program."""


def check_change(before: State, after: State) -> None:
    """Raise IllegalChangeError where `after` may not follow `before`."""
    if after not in _CHANGES[before]:
        raise IllegalChangeError(f"job: {after} must not follow {before}")
