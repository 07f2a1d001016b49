"""The independent verifier."""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan import Plan
from planner.problem import Problem


@dataclass(frozen=True)
class Violation:
    """A broken rule of a plan; `first` and `second` are buffers, `bytes` and `time` half-open ranges they share."""

    rule: str
    message: str
    first: int | str | None = None
    second: int | str | None = None
    bytes: tuple[int, int] | None = None
    time: tuple[int, int] | None = None


def verify(problem: Problem, plan: Plan) -> tuple[Violation, ...]:
    """Return every violation."""
    return ()
