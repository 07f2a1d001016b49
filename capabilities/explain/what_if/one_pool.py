"""What-if in one pool, over one compiled instance in which single sizes change: no problem is read again.

Most answers follow from the live sets and from the plan at hand; only the others are searched for. What a search finds
is checked by the verifier on the changed problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil

import numpy as np

from memplan.capabilities.explain.questions.parts import remade
from memplan.capabilities.explain.values import BufferWorth, Source
from memplan.capabilities.explain.what_if.growth import Growth, Loads
from memplan.planner.instance.compile import lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, BufferTable, column
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.heuristics.ejection import conflicting
from memplan.solvers.packing.place import drop
from memplan.solvers.portfolio import registry, stages
from memplan.solvers.search.control import Control
from memplan.solvers.search.incumbent import Search

_TRUSTED = frozenset(row.name for row in registry.SOLVERS if row.is_trusted)
_CALL_S, _SHORT_S = 1.0, 0.05
"""The most seconds of a question; and of one about growth at first, so that the last buffers have a turn as well."""
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
    control: Control
    peak: int = field(init=False)
    loads: Loads = field(init=False)

    def __post_init__(self) -> None:
        self.end = self.offset + self.instance.size
        self.peak = int(self.end.max(initial=0))
        self.loads = Loads(self.instance)

    @property
    def is_over(self) -> bool:
        """True once nothing more is tried."""
        return self.control.is_over

    def worth(self, i: int, growth: Interval, shrunk_to: float | None) -> BufferWorth:
        """Return what is known of buffer `i` of the instance, given how far it may grow, in units."""
        unit, size = self.instance.unit, int(self.instance.size[i])
        dropped, by = self._gain(i, 0)
        found = BufferWorth.model_construct(
            id=self.problem.buffers.ids[int(self.instance.source[i])],
            size=size * unit,
            gain_if_dropped=(dropped[0] * unit, dropped[1] * unit),
            by=by,
            exact=dropped[0] == dropped[1],
        )
        least, most = growth
        changes: dict[str, object] = {"may_grow": least * unit, "may_grow_at_most": most * unit}
        changes["exact"] = found.exact and least == most
        if shrunk_to is not None:
            smaller = max(1, min(size, ceil(size * shrunk_to)))
            gain, _ = self._gain(i, smaller)
            changes |= {"shrunk_to": smaller * unit, "gain_if_shrunk": (gain[0] * unit, gain[1] * unit)}
            changes["exact"] = bool(changes["exact"]) and gain[0] == gain[1]
        return found.model_copy(update=changes)

    def _gain(self, i: int, smaller: int) -> tuple[Interval, Source]:
        """Return the units by which the peak falls if buffer `i` had `smaller` units; 0: if there were none of it."""
        bound = self.loads.without(i, int(self.instance.size[i]) - smaller)
        if bound >= self.peak:
            return (0, 0), "live-set"
        here = int(np.delete(self.end, i).max(initial=0))
        if smaller:
            here = max(here, int(self.offset[i]) + smaller)
        if here <= bound:
            return (self.peak - here,) * 2, "plan"
        least, found = self._least_peak(i, smaller, max(bound, 0), here)
        return (self.peak - found, self.peak - least), "search" if least == found else "open"

    def _least_peak(self, i: int, smaller: int, bound: int, known: int) -> Interval:
        """Return (bound, peak) of the instance with buffer `i` shrunk or dropped; its plan is no worse than `known`."""
        if self.is_over:
            return bound, known
        kept = np.arange(len(self.instance)) != i
        offset = self.offset if smaller else self.offset[kept]
        changed = self._resized({i: smaller}) if smaller else part_of(self.instance, kept)
        state = self._searched(changed, offset, _CALL_S)
        best = known
        if state.best is not None:
            mine = int(state.best.score[-1])
            if mine < known and self._holds({i: smaller}, state.best.offset):
                best = mine
        return min(best, max(bound, int(state.bound[-1]))), best

    def growth(self) -> tuple[I64, I64]:
        """Return the units by which each buffer may grow at this peak, (n,): (known to fit, not ruled out)."""
        n, size, pin = len(self.instance), self.instance.size, self.instance.pin
        most = np.array([self.peak - self.loads.beside(i) for i in range(n)], dtype=np.int64)
        most = np.maximum(0, np.where(pin >= 0, np.minimum(most, self.peak - pin - size), most))
        near = conflicting(self.instance)
        if near is None:
            return np.zeros_like(most), most
        found = Growth(self.instance, self.peak, near, most)
        found.look_through(self.offset, np.arange(n))
        limits_s = (_CALL_S,) if self.control.counts_work else (_SHORT_S, _CALL_S)
        for limit_s in limits_s:
            found.query(partial(self._grown, limit_s=limit_s))
        return found.least, found.most

    def _grown(self, i: int, size: int, limit_s: float) -> I64 | bool | None:
        """Return offsets below the peak with another size of buffer `i`; False if there are none, None if unknown."""
        if self.is_over:
            return None
        changed = self._resized({i: size})
        state = self._searched(changed, self.offset, limit_s, self.peak)
        if int(state.bound[-1]) > self.peak:
            return False
        if state.best is None or int(state.best.score[-1]) > self.peak:
            return None
        return state.best.offset if self._holds({i: size}, state.best.offset) else None

    def _resized(self, sizes: Mapping[int, int]) -> Instance:
        changed = np.array(self.instance.size)
        changed[list(sizes)] = list(sizes.values())
        return replace(self.instance, size=column(changed))

    def _searched(self, instance: Instance, start: I64, call_limit_s: float, enough: int = 0) -> Search:
        """Run the quick orders from a start, and the exact search where they leave something open.

        A peak that is `enough` ends it, as if no lower one were possible.
        """
        limit_s = min(call_limit_s, self.control.left_s)
        state = Search(
            instance,
            deadline=self.control.within(limit_s).deadline.at,
            deterministic=self.control.counts_work,
            work_limit=max(1, int(limit_s * 50_000)) if self.control.counts_work else 2**62,
            trusted=_TRUSTED,
        )
        pools = np.zeros(len(instance), dtype=np.int64)
        if len(instance) == 0:
            state.offer(pools, pools, "empty")
        elif (fallen := drop(instance, pools, start, state.flag)) is not None:
            state.offer(pools, fallen, "start")
        if enough > int(state.bound[-1]):
            state.offer_bound((enough,), "exact")
        wanted = [[row for row in stage if not row.is_isolated][:1] for stage in stages.chosen(instance, "auto")]
        stages.run(instance, state, wanted)
        return state

    def _holds(self, sizes: Mapping[int, int], offset: I64) -> bool:
        """Say whether the verifier accepts offsets for the problem with other sizes, or without a buffer (0)."""
        changed = np.array(self.problem.buffers.size)
        for i, size in sizes.items():
            changed[int(self.instance.source[i])] = size * self.instance.unit
            if size == 0:
                offset = np.insert(offset, i, max(0, int(self.instance.pin[i])))
        table: BufferTable = replace(self.problem.buffers, size=column(changed))
        pools = (self.problem.pools[0].model_copy(update={"size": None}),)
        problem = remade(self.problem, {"buffers": table, "pools": pools})
        placements = lift(problem, self.instance, np.zeros(len(offset), dtype=np.int64), column(offset))
        return not verify(problem, Plan(placements=placements))
