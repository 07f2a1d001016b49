"""Repairs as values: changes, the plan that they make possible, and what is known of smaller ones."""

from __future__ import annotations

from typing import Literal

from memplan.capabilities.order.search.regions import RegionOrder
from memplan.planner.model.plan import Ids, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import PlanValue

OrderChange = Literal["none", "swap", "reorder", "recompute", "cascade"]
ChangeKind = Literal["in-place", "unpin", "alignment", "earlier-end", "later-start", "pool", "spill"]
Outcome = Literal["fits", "repaired", "none", "unknown"]
KINDS: tuple[ChangeKind, ...] = ("in-place", "unpin", "alignment", "earlier-end", "later-start", "pool", "spill")


class RepairChange(PlanValue):
    """One change to a problem; `cost_bytes` is the traffic that it adds.

    `in-place`: the second buffer starts at the offset of the first, which it follows. `unpin`: the pin goes.
    `alignment`: it becomes `value`. `earlier-end`, `later-start`: the lifetime is shorter by `steps`. `pool`: the
    buffer moves to `pool`; None: to a memory outside of the problem. `spill`: the buffer is there in its first and its
    last time step alone, as two buffers, ID#out and ID#in.
    """

    kind: ChangeKind
    buffers: Ids
    cost_bytes: int = 0
    pool: str | None = None
    steps: int | None = None
    value: int | None = None


class Repair(PlanValue):
    """Changes with which the problem fits, by a plan that passed the verifier."""

    rank: int
    changes: tuple[RepairChange, ...]
    cost_bytes: int
    peak_after: int
    verified: bool
    status: Literal["optimal", "feasible"]
    plan: Plan | None = None


class OrderRepair(PlanValue):
    """A change of the order with which a graph of operations fits: its plan passed the verifier.

    `swap`: the operations at two neighbouring places of the given order change places. `reorder`: `moves` operations
    run at another place. `recompute`: some operations run again, at an `extra_cost`. `cascade`: regions of operations,
    named by their first and last one, run in stripes; `extra_cost` is in multiplications. `order` has positions of
    operations as they run, some of them more than once where they run again; it is None for a cascade, which is in its
    problem. `extra_traffic` is in bytes that are read and written, beyond those of running each operation once, whole.
    `regions` are the orders inside operations that differ from the given ones. With a `plan`, `problem` is that of the
    changed program.
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
    """The repairs of a graph, the smallest change first; no order of it has a peak below `least_live_peak` bytes.

    `proved`: where there is none, no order of the operations fits, each run once. `left_out` says what was not tried,
    and for which reason.
    """

    status: Outcome
    repairs: tuple[OrderRepair, ...]
    least_live_peak: int
    proved: bool
    left_out: tuple[str, ...] = ()


class Repairs(PlanValue):
    """The repairs found, those with the fewest changes first, then the cheapest.

    `fewest` is the number of changes of the first; `proved`: no fewer would do, or, where there is none,
    none of at most `most_changes` changes is enough. `open_questions` counts the sets of changes of
    which it is not known. `of_operations` are the repairs that change the order of the operations, where it is known.
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
