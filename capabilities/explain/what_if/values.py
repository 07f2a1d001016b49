"""The answers to what if: worth in bytes, each as an interval that is a point where it is exact."""

from __future__ import annotations

from typing import Literal

from memplan.planner.model.plan import Ids, RuleMember
from memplan.planner.model.rows import Id, PlanValue

Source = Literal["live-set", "plan", "search", "open"]


class WitnessSet(PlanValue):
    """The buffers that are alive together at a time, and so make a peak."""

    time: int | None
    buffers: Ids


class BufferWorth(PlanValue):
    """The worth of a buffer: by how much the peak falls if it is dropped, and how far it may grow at that peak.

    `gain_if_dropped` and `gain_if_shrunk` (to `shrunk_to` bytes) are (least, most); `may_grow` is proved to fit, and no
    more than `may_grow_at_most` does. `by` says what the gain follows from. `exact`: nothing is open about the buffer.
    """

    id: Id
    size: int
    gain_if_dropped: tuple[int, int]
    may_grow: int | None = None
    may_grow_at_most: int | None = None
    shrunk_to: int | None = None
    gain_if_shrunk: tuple[int, int] | None = None
    exact: bool = True
    by: Source = "live-set"


class PoolWorth(PlanValue):
    """The worth of `more` bytes in a pool: the gain (least, most).

    It is in cost for objective `cost`, else in bytes of the last pool.
    """

    pool: str
    more: int
    gain: tuple[float, float]
    exact: bool


class RuleCost(PlanValue):
    """The gain (least, most) in bytes of the peak if a rule did not hold."""

    rule: RuleMember
    gain: tuple[int, int]
    exact: bool


class WhatIf(PlanValue):
    """The worth of single changes to a problem, whose best known plan has a `peak`; `status` says if that is the least.

    `left_out` counts the changes that time did not suffice for.
    """

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    peak: int | None = None
    witness: WitnessSet | None = None
    buffers: tuple[BufferWorth, ...] = ()
    pools: tuple[PoolWorth, ...] = ()
    rules: tuple[RuleCost, ...] = ()
    left_out: int = 0
    wall_time_s: float | None = None
