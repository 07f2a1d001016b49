"""Classes of answers for repairs, and for the bytes that changes save: intervals, where a point is exact."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from memplan.planner.model.field_docs import DescribedFields
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
    """One change to a problem."""

    kind: ChangeKind
    """`in-place`: the second buffer is written over the first, at the same offset. `unpin`: the pin is removed.
    `alignment`: it becomes `value`. `earlier-end`, `later-start`: the lifetime is shortened by `steps`. `pool`: the
    buffer moves to `pool`. `spill`: the buffer is only alive in its first and its last time step, as two buffers,
    ID#out and ID#in."""
    buffers: Ids
    """The name of the changed buffer; for `in-place`, of both."""
    cost_bytes: int = 0
    """The bytes of memory traffic that the change adds."""
    pool: str | None = None
    """The new pool of the change `pool`; null means a memory outside the problem."""
    steps: int | None = None
    """The number of time steps by which the lifetime is shortened; null for other changes."""
    value: int | None = None
    """The new alignment in bytes; null for other changes."""


class Repair(PlanValue):
    """A set of changes with which the problem fits, proved by a verified plan."""

    rank: int
    """Its position among the repairs, from 1."""
    changes: tuple[RepairChange, ...]
    """The changes, all of which are needed together."""
    cost_bytes: int
    """The bytes of memory traffic that the changes add."""
    peak_after: int
    """The peak of the plan, in bytes."""
    verified: bool
    """Always true: the plan was verified."""
    status: Literal["optimal", "feasible"]
    """The status of the plan."""
    problem: Problem | None = Field(None, exclude_if=lambda problem: problem is None)
    """The changed problem; left out unless the option `with_plans` is given."""
    plan: Plan | None = None
    """The plan of the changed problem; null unless the option `with_plans` is given."""


@dataclass(frozen=True)
class RegionOrder(DescribedFields):
    """The order of the operations in a region."""

    path: tuple[int, ...]
    """The way to the region, as positions in the input: an operation and one of its regions in turn, from the outermost
    region to the innermost."""
    order: tuple[int, ...]
    """The positions of the region's operations, as they run."""


class OrderRepair(PlanValue):
    """A change to a graph of operations with which it fits, proved by a verified plan."""

    kind: OrderChange
    """`none`: the graph fits as it is. `in-place`: element-wise operations write over inputs that nothing reads later.
    `reorder`: operations run at another position. `recompute`: some operations run again. `cascade`: regions of
    operations run in stripes."""
    operations: tuple[int, ...]
    """The positions of the operations that are changed; for `cascade`, of the first and the last operation of each
    region."""
    order: tuple[int, ...] | None
    """The positions of all operations as they run, with repetitions if they run again; null for a cascade, whose
    problem has the order."""
    moves: int
    """The number of operations that run at another position in `reorder`; 0 for other changes."""
    extra_cost: int
    """The additional work: for `recompute`, in the unit of the operations' costs; for `cascade`, in multiplications."""
    extra_traffic: int
    """The bytes that are read and written beyond one run of each whole operation."""
    live_peak: int
    """The most bytes that are alive at once."""
    peak_after: int
    """The peak of the plan, in bytes."""
    verified: bool = True
    """Always true: the plan was verified."""
    regions: tuple[RegionOrder, ...] = ()
    """The orders inside operations that differ from the given orders."""
    problem: Problem | None = None
    """The changed problem; null unless the option `with_plans` is given."""
    plan: Plan | None = None
    """The plan of the changed problem; null unless the option `with_plans` is given."""


class OrderRepairs(PlanValue):
    """The repairs of a graph of operations."""

    status: Outcome
    """`repaired`, `none` (none was found, and `proved`), or `unknown`."""
    repairs: tuple[OrderRepair, ...]
    """The repairs, the smallest change first."""
    least_live_peak: int
    """No order has a smaller live peak than this; if the graph fits as it is, that of the given order."""
    proved: bool
    """True if the graph fits as it is or, without a repair, if it is proved that no order fits that runs each operation
    once."""
    left_out: tuple[str, ...] = ()
    """For each kind of change that was not tried, the reason."""


class Repairs(PlanValue):
    """The repairs found."""

    status: Outcome
    """`fits` (the problem needs no repair), `repaired`, `none` (proved that `most_changes` changes are not enough), or
    `unknown`."""
    repairs: tuple[Repair, ...] = ()
    """The repairs, ordered by the number of changes, then by cost."""
    fewest: int | None = None
    """The number of changes of the first repair; null without a repair."""
    proved: bool = False
    """True if no smaller set of changes is a repair or, without a repair, no set of at most `most_changes` changes
    is."""
    most_changes: int = 3
    """The most changes that a repair may combine."""
    candidates: int = 0
    """The number of single changes that were considered."""
    tried: int = 0
    """The number of sets of changes for which a plan was sought."""
    open_questions: int = 0
    """The number of sets of changes for which it is not known whether they are repairs."""
    wall_time_s: float | None = None
    """The time that the search took, in seconds; null if no repair was needed."""
    of_operations: OrderRepairs | None = None
    """The repairs that change the operations; null without a graph of operations."""


class WitnessSet(PlanValue):
    """The buffers that prove the lower bound on a peak."""

    time: int | None
    """The time step at which they are alive together; null if the proof is not about one."""
    buffers: Ids
    """The names of these buffers."""


class BufferWorth(PlanValue):
    """The worth of a buffer: how far the peak falls without it, and how far it may grow without raising the peak."""

    id: Id
    """The name of the buffer."""
    size: int
    """Its size in bytes."""
    gain_if_dropped: tuple[int, int]
    """By how many bytes the peak falls without the buffer, as [least, most]."""
    may_grow: int | None = None
    """Growth by this many bytes is proved to fit; null if growth was not studied, as for several pools."""
    may_grow_at_most: int | None = None
    """Growth by more bytes than this is proved not to fit; null if growth was not studied."""
    shrunk_to: int | None = None
    """The size in bytes by the option `shrunk_to`; null if shrinking was not studied."""
    gain_if_shrunk: tuple[int, int] | None = None
    """By how many bytes the peak falls with this size, as [least, most]; null if shrinking was not studied."""
    exact: bool = True
    """True if all of these values are exact."""
    by: Source = "live-set"
    """The evidence for `gain_if_dropped`: `live-set`, `plan` (the given plan shows it), `search` (of the changed
    problem), or `open` (not known better in time)."""


class PoolWorth(PlanValue):
    """The worth of more bytes in a pool."""

    pool: str
    """The name of the pool."""
    more: int
    """The additional bytes."""
    gain: tuple[float, float]
    """Their gain, as [least, most]: for the objective `cost`, in units of cost, else in bytes of the last pool."""
    exact: bool
    """True if the gain is exact."""


class RuleCost(PlanValue):
    """The worth of dropping a rule."""

    rule: RuleMember
    """The rule."""
    gain: tuple[int, int]
    """By how many bytes the peak falls without the rule, as [least, most]."""
    exact: bool
    """True if the gain is exact."""


class PairWorth(PlanValue):
    """The worth of a `reuse` pair whose price the best plan pays."""

    buffers: tuple[Id, Id]
    """The names of both buffers."""
    cost: int
    """The price."""
    gain_if_free: tuple[float, float]
    """The total cost saved if the pair may share bytes for free, as [least, most]."""
    loss_if_apart: tuple[float, float | None] | None
    """The total cost added if the pair must not share bytes, as [least, most], whose most is null if it is unknown;
    null if nothing fits then."""
    exact: bool
    """True if both of these intervals are exact."""


class WhatIf(PlanValue):
    """The worth of single changes to a problem."""

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    """The status of the plan that is studied."""
    peak: int | None = None
    """The peak of this plan, in bytes; null if there is no plan."""
    without_size: int | None = Field(None, exclude_if=lambda size: size is None)
    """The size in bytes of the only pool, which the study ignores because nothing fits it; left out if the problem
    fits."""
    witness: WitnessSet | None = None
    """The buffers that prove the lower bound on the peak; null if nothing proves it."""
    buffers: tuple[BufferWorth, ...] = ()
    """The worth of each buffer that has bytes and is not an alias."""
    pools: tuple[PoolWorth, ...] = ()
    """The worth of more bytes of each pool that has a size."""
    rules: tuple[RuleCost, ...] = ()
    """The worth of dropping each rule of a pool, or of a buffer in the proof of the lower bound."""
    pairs: tuple[PairWorth, ...] = Field((), exclude_if=lambda pairs: not pairs)
    """The worth of each `reuse` pair whose price the plan pays; left out if there is none."""
    left_out: int = 0
    """The number of changes for which the time was too short."""
    wall_time_s: float | None = None
    """The time that the study took, in seconds; null if there is no plan."""


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
