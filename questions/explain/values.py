"""Classes of answers for repairs, and for the bytes that changes save: intervals, where a point is exact."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from memplan.planner.model.plan import Ids, Plan, RuleMember
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, Id, PlanValue, tuple_from_list
from memplan.questions.plan.reason import REASON_S
from memplan.questions.question import SearchOptions, Seconds

OrderChange = Literal["none", "in-place", "reorder", "recompute", "cascade"]
ChangeKind = Literal["in-place", "unpin", "alignment", "earlier-end", "later-start", "pool", "spill"]
Source = Literal["live-set", "plan", "search", "open"]
Outcome = Literal["fits", "repaired", "none", "unknown"]
KINDS: tuple[ChangeKind, ...] = ("in-place", "unpin", "alignment", "earlier-end", "later-start", "pool", "spill")
KINDS_OF_MODELS: tuple[ChangeKind, ...] = ("unpin", "alignment", "pool")
"""The kinds of changes allowed for a model: lifetimes follow from its operations, whose order has separate repairs."""


class RepairChange(PlanValue):
    """One change to a problem; `cost_bytes` is the memory traffic that it adds.

    `in-place`: the second buffer is written over the first, at the same offset. `unpin`: the pin is removed.
    `alignment`: it becomes `value`. `earlier-end`, `later-start`: the lifetime is shortened by `steps`. `pool`: the
    buffer moves to `pool`; None means a memory outside the problem. `spill`: the buffer is only alive in its first and
    its last time step, as two buffers, ID#out and ID#in.
    """

    kind: ChangeKind
    buffers: Ids
    cost_bytes: int = 0
    pool: str | None = None
    steps: int | None = None
    value: int | None = None


class Repair(PlanValue):
    """A set of changes with which the problem fits, proved by a verified plan; `problem` is the changed problem."""

    rank: int
    changes: tuple[RepairChange, ...]
    cost_bytes: int
    peak_after: int
    verified: bool
    status: Literal["optimal", "feasible"]
    problem: Problem | None = Field(None, exclude_if=lambda problem: problem is None)
    plan: Plan | None = None


@dataclass(frozen=True)
class RegionOrder:
    """The order of the operations in a region, and the `path` to the region, as positions in the input.

    The path alternates an operation and one of its regions, from the outermost region to the innermost.
    """

    path: tuple[int, ...]
    order: tuple[int, ...]


class OrderRepair(PlanValue):
    """A change to a graph of operations with which it fits, proved by a verified plan.

    `in-place`: element-wise operations write over inputs that nothing reads later. `reorder`: `moves` operations run at
    another position. `recompute`: some operations run again, at an `extra_cost`. `cascade`: regions of operations,
    named by their first and last one, run in stripes; `extra_cost` is in multiplications. `order` lists the positions
    of operations as they run, with repetitions if they run again; it is None for a cascade, whose problem has the
    order. `extra_traffic` is the bytes read and written beyond one run of each whole operation. `regions` are the
    orders inside operations that differ from the given orders. `problem` is the changed problem, if a `plan` was
    requested.
    """

    kind: OrderChange
    operations: tuple[int, ...]
    order: tuple[int, ...] | None
    moves: int
    extra_cost: int
    extra_traffic: int
    live_peak: int
    peak_after: int
    verified: bool = True
    regions: tuple[RegionOrder, ...] = ()
    problem: Problem | None = None
    plan: Plan | None = None


class OrderRepairs(PlanValue):
    """The repairs of a graph, the smallest change first; all its orders need at least `least_live_peak` bytes.

    `proved`: if there is no repair, it is proved that no order fits that runs each operation once. `left_out` has the
    reason for each kind of change that was not tried.
    """

    status: Outcome
    repairs: tuple[OrderRepair, ...]
    least_live_peak: int
    proved: bool
    left_out: tuple[str, ...] = ()


class Repairs(PlanValue):
    """The repairs found, ordered by the number of changes, then by cost.

    `fewest` is the number of changes of the first repair. `proved`: no smaller set of changes is a repair or, without a
    repair, no set of at most `most_changes` changes is. `open_questions` counts the sets for which this is not known.
    `of_operations` are repairs that change the order of the operations, if that is known.
    """

    status: Outcome
    repairs: tuple[Repair, ...] = ()
    fewest: int | None = None
    proved: bool = False
    most_changes: int = 3
    candidates: int = 0
    tried: int = 0
    open_questions: int = 0
    wall_time_s: float | None = None
    of_operations: OrderRepairs | None = None


class WitnessSet(PlanValue):
    """The buffers of a peak: all are alive at `time`."""

    time: int | None
    buffers: Ids


class BufferWorth(PlanValue):
    """The worth of a buffer: how far the peak falls without it, and how far it may grow without raising the peak.

    `gain_if_dropped` and `gain_if_shrunk` (to `shrunk_to` bytes) are (least, most) in bytes. Growth by `may_grow` bytes
    is proved to fit, and growth by more than `may_grow_at_most` bytes is proved not to fit. `by` is the evidence for
    the gain. `exact`: all of these values are exact.
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
    """The worth of `more` bytes in a pool: the gain, as (least, most).

    The gain is in units of cost for the objective `cost`, else in bytes of the last pool.
    """

    pool: str
    more: int
    gain: tuple[float, float]
    exact: bool


class RuleCost(PlanValue):
    """The gain in bytes of the peak, as (least, most), if a rule is dropped."""

    rule: RuleMember
    gain: tuple[int, int]
    exact: bool


class PairWorth(PlanValue):
    """The worth of a `reuse` pair that pays `cost` in the best plan, in total cost, as (least, most).

    `gain_if_free` is the cost saved if the pair may share bytes for free. `loss_if_apart` is the cost added if the pair
    must not share bytes; None if nothing fits then.
    """

    buffers: tuple[Id, Id]
    cost: int
    gain_if_free: tuple[float, float]
    loss_if_apart: tuple[float, float | None] | None
    exact: bool


class WhatIf(PlanValue):
    """The worth of single changes to a problem with the best `peak`; `status` states whether that peak is optimal.

    `left_out` counts the changes for which the time was too short. If nothing fits the only pool, the study ignores the
    size of the pool, which is `without_size`.
    """

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    peak: int | None = None
    without_size: int | None = Field(None, exclude_if=lambda size: size is None)
    witness: WitnessSet | None = None
    buffers: tuple[BufferWorth, ...] = ()
    pools: tuple[PoolWorth, ...] = ()
    rules: tuple[RuleCost, ...] = ()
    pairs: tuple[PairWorth, ...] = Field((), exclude_if=lambda pairs: not pairs)
    left_out: int = 0
    wall_time_s: float | None = None


MOST_CHANGES = 4
"""The maximum number of changes in a repair; more would make the program a different one."""


class ExplainOptions(SearchOptions):
    """Options of `explain`, in addition to those of all searches, such as the time limit."""

    needs = MappingProxyType(
        dict.fromkeys(("most_changes", "kinds", "with_plans"), ("repairs",))
        | {"more": ("what_if",), "shrunk_to": ("what_if",)}
    )

    explain_s: Seconds = Field(REASON_S, description="Spend at most this part of the time limit on the reason.")
    study_s: Seconds = Field(
        5.0, description="Spend at most this part of the time limit on repairs, and as much on what-if."
    )
    repairs: Annotated[int, Field(ge=0, le=100)] = Field(
        0, description="Also look for this many repairs: sets of the fewest changes with which the problem fits."
    )
    most_changes: Annotated[int, Field(ge=1, le=MOST_CHANGES)] = Field(
        3, description="Combine at most this many changes in one repair."
    )
    kinds: Annotated[tuple[ChangeKind, ...], Field(min_length=1), BeforeValidator(tuple_from_list)] | None = Field(
        None,
        description=f"Allow only changes of these kinds in repairs: {', '.join(KINDS)}. Without it, all are allowed "
        f"or, for a model, those that it can take ({', '.join(KINDS_OF_MODELS)}), and changes of its operations.",
    )
    with_plans: bool = Field(False, description="Include the plan of each repair in the answer.")
    what_if: bool = Field(
        False,
        description="Also compute what single changes are worth: dropping or growing a buffer, more bytes of a "
        "pool, leaving out a rule.",
    )
    shrunk_to: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="With what-if, also shrink each buffer to this part of its size, such as 0.5."
    )
    more: Annotated[int, Field(gt=0, lt=MAX_BYTES)] = Field(
        1024, description="With what-if, compute the worth of this many further bytes of each pool."
    )
