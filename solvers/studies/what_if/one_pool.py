"""What if in one pool, over one compiled instance in which single sizes change: no problem is read again.

Most answers follow from the live sets and from the plan at hand; only the others are searched for. What a search finds
is checked by the verifier on the changed problem.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from memplan.planner.instance.compile import lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, BufferTable, column
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.packing.place import drop
from memplan.solvers.portfolio import registry, stages
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.incumbent import Accept, SearchState
from memplan.solvers.studies.questions.parts import remade
from memplan.solvers.studies.what_if.loads import Loads
from memplan.solvers.studies.what_if.values import BufferWorth, Source

_TRUSTED = frozenset(row.name for row in registry.SOLVERS if row.is_trusted)
_BISECTIONS = 40
Interval = tuple[int, int]


def is_for(instance: Instance) -> bool:
    """Say whether single sizes may change in an instance: one pool, and nothing that binds sizes to each other."""
    plain = instance.features <= registry.BY_NAME["exact"].can
    return len(instance.pools) == 1 and plain and instance.is_small_numbered and not instance.unplaceable


@dataclass(eq=False)
class OnePool:
    """The questions about one problem of one pool with a valid assignment: `offset` and `peak` in units."""

    problem: Problem
    instance: Instance
    offset: I64
    deadline: Deadline
    call_limit_s: float = 1.0
    cancelled: threading.Event | None = None
    deterministic: bool = False
    peak: int = field(init=False)
    loads: Loads = field(init=False)

    def __post_init__(self) -> None:
        self.end = self.offset + self.instance.size
        self.peak = int(self.end.max(initial=0))
        self.loads = Loads(self.instance)
        top = np.argsort(-self.end, kind="stable")[:2]
        self._highest = [(int(i), int(self.end[i])) for i in top]

    @property
    def is_over(self) -> bool:
        """True once nothing more is asked."""
        is_cancelled = self.cancelled is not None and self.cancelled.is_set()
        return is_cancelled or (not self.deterministic and self.deadline.left_s <= 0)

    def worth(self, i: int, with_growth: bool, shrunk_to: float | None) -> BufferWorth:
        """Return what is known of buffer `i` of the instance."""
        unit, size = self.instance.unit, int(self.instance.size[i])
        dropped, by = self._gain(i, 0)
        found = BufferWorth.model_construct(
            id=self.problem.buffers.ids[int(self.instance.source[i])],
            size=size * unit,
            gain_if_dropped=(dropped[0] * unit, dropped[1] * unit),
            by=by,
            exact=dropped[0] == dropped[1],
        )
        changes: dict[str, object] = {}
        if with_growth:
            least, most = self._growth(i)
            changes |= {"may_grow": least * unit, "may_grow_at_most": most * unit}
            changes["exact"] = found.exact and least == most
        if shrunk_to is not None:
            smaller = max(1, min(size, ceil(size * shrunk_to)))
            gain, _ = self._gain(i, smaller)
            changes |= {"shrunk_to": smaller * unit, "gain_if_shrunk": (gain[0] * unit, gain[1] * unit)}
            changes["exact"] = bool(changes.get("exact", found.exact)) and gain[0] == gain[1]
        return found.model_copy(update=changes)

    def _gain(self, i: int, smaller: int) -> tuple[Interval, Source]:
        """Return the units by which the peak falls if buffer `i` had `smaller` units; 0: if there were none of it."""
        bound = self.loads.without(i, int(self.instance.size[i]) - smaller)
        if bound >= self.peak:
            return (0, 0), "live-set"
        here = self._highest_but(i)
        if smaller:
            here = max(here, int(self.offset[i]) + smaller)
        if here <= bound:
            return (self.peak - here,) * 2, "plan"
        least, found = self._least_peak(i, smaller, max(bound, 0), here)
        return (self.peak - found, self.peak - least), "search" if least == found else "open"

    def _highest_but(self, i: int) -> int:
        return next((end for j, end in self._highest if j != i), 0)

    def _least_peak(self, i: int, smaller: int, bound: int, known: int) -> Interval:
        """Return (bound, peak) of the instance with buffer `i` shrunk or dropped; its plan is no worse than `known`."""
        if self.is_over:
            return bound, known
        kept = np.arange(len(self.instance)) != i
        offset = self.offset if smaller else self.offset[kept]
        changed = self._resized(i, smaller) if smaller else part_of(self.instance, kept)
        state = self._searched(changed, None, offset)
        best = known
        if state.best is not None:
            mine = int(state.best.score[-1])
            if mine < known and self._holds(i, smaller, state.best.offset):
                best = mine
        return min(best, max(bound, int(state.bound[-1]))), best

    def _growth(self, i: int) -> Interval:
        """Return the units by which buffer `i` may grow at this peak: (known to fit, not ruled out)."""
        size = int(self.instance.size[i])
        most = self.peak - self.loads.beside(i)
        pin = int(self.instance.pin[i])
        if pin >= 0:
            most = min(most, self.peak - pin - size)
        if most <= 0:
            return 0, 0
        least = max(0, min(most, self._room(i, size + most) - size))
        if least >= most:
            return most, most
        answer = self._fits(i, size + most)
        if answer is not False:
            return (most if answer else least), most
        high = most - 1
        for _ in range(_BISECTIONS):
            if least >= high:
                break
            middle = (least + high + 1) // 2
            answer = self._fits(i, size + middle)
            if answer is None:
                break
            least, high = (middle, high) if answer else (least, middle - 1)
        return least, high

    def _room(self, i: int, wanted: int) -> int:
        """Return the units of the largest free range for buffer `i` in the plan, no more than is wanted."""
        beside = self._rivals(i)
        reserved = self.instance.pools[0].reserved
        low = np.concatenate((self.offset[beside], reserved[:, 0]))
        high = np.concatenate((self.end[beside], reserved[:, 1]))
        order = np.argsort(low, kind="stable")
        floors = np.maximum.accumulate(np.concatenate(([0], high[order])))
        ceilings = np.append(low[order], self.peak)
        step, rest = int(self.instance.alignment[0, i]), int(self.instance.residue[0, i])
        starts = rest + np.maximum(0, -(-(floors - rest) // step)) * step
        pin = int(self.instance.pin[i])
        if pin >= 0:
            starts = np.where((starts <= pin) & (pin <= ceilings), pin, np.where(starts == pin, pin, self.peak))
        return int(min(wanted, (np.minimum(ceilings, self.peak) - starts).max(initial=0)))

    def _rivals(self, i: int) -> I64:
        """Return the buffers that conflict with buffer `i`."""
        lives = self.instance
        rows = slice(int(lives.first[i]), int(lives.first[i + 1]))
        meets = np.zeros(len(lives.start), dtype=np.bool_)
        for start, end in zip(lives.start[rows].tolist(), lives.end[rows].tolist(), strict=True):
            meets |= (lives.start < end) & (start < lives.end)
        named = lives.conflict[int(lives.conflict_first[i]) : int(lives.conflict_first[i + 1])]
        found: I64 = np.unique(np.concatenate((lives.lifetime_buffer[meets], named)))
        return np.asarray(found[found != i])

    def _fits(self, i: int, size: int) -> bool | None:
        """Return whether buffer `i` fits with that size below the peak; None where that stays open."""
        if self.is_over:
            return None
        changed = self._resized(i, size)
        pool = replace(changed.pools[0], capacity=self.peak, is_limited=True)
        state = self._searched(replace(changed, pools=(pool,)), Accept(), None)
        if state.infeasible is not None:
            return False
        if state.best is None or int(state.best.score[-1]) > self.peak:
            return None
        return True if self._holds(i, size, state.best.offset) else None

    def _resized(self, i: int, size: int) -> Instance:
        sizes = np.array(self.instance.size)
        sizes[i] = size
        return replace(self.instance, size=column(sizes))

    def _searched(self, instance: Instance, accept: Accept | None, start: I64 | None) -> SearchState:
        """Run the quick orders, and the exact search where they leave something open."""
        limit_s = self.call_limit_s if self.deterministic else min(self.call_limit_s, max(0.01, self.deadline.left_s))
        state = SearchState(
            instance,
            deadline=Deadline.after(limit_s).at,
            deterministic=self.deterministic,
            work_limit=max(1, int(limit_s * 50_000)) if self.deterministic else 2**62,
            accept=accept,
            trusted=_TRUSTED,
        )
        pools = np.zeros(len(instance), dtype=np.int64)
        if len(instance) == 0:
            state.offer(pools, pools, "empty")
        elif start is not None and (fallen := drop(instance, pools, start, state.flag)) is not None:
            state.offer(pools, fallen, "start")
        wanted = [[row for row in stage if not row.is_isolated][:1] for stage in stages.chosen(instance, "auto")]
        stages.run(instance, state, wanted)
        return state

    def _holds(self, i: int, size: int, offset: I64) -> bool:
        """Say whether the verifier accepts offsets for the problem with another size, or without buffer `i` (0)."""
        at = int(self.instance.source[i])
        sizes = np.array(self.problem.buffers.size)
        sizes[at] = size * self.instance.unit
        table: BufferTable = replace(self.problem.buffers, size=column(sizes))
        pools = (self.problem.pools[0].model_copy(update={"size": None}),)
        changed = remade(self.problem, {"buffers": table, "pools": pools})
        if size == 0:
            offset = np.insert(offset, i, max(0, int(self.instance.pin[i])))
        placements = lift(changed, self.instance, np.zeros(len(offset), dtype=np.int64), column(offset))
        return not verify(changed, Plan(placements=placements))
