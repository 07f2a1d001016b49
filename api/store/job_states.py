"""The states of a job: it waits, runs, and ends in one of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

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

OPEN: tuple[State, ...] = ("queued", "running")
ENDED: tuple[State, ...] = tuple(state for state in STATES if state not in OPEN)
"""The states after which none follows. One that runs and loses its worker waits again."""
