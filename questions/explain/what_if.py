"""The worth of each buffer, pool and rule: the bytes by which a change or removal lowers the peak.

Most values follow from the live sets and the given plan; for all other values, the changed problem is planned.
"""

from collections.abc import Callable
from math import ceil

import numpy as np

from memplan.planner.errors import ProblemError
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, Bool
from memplan.planner.model.entries import entries_among
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, replace_fields
from memplan.planner.model.rows import Id
from memplan.questions.explain.questions.parts import (
    ProblemRule,
    body_of_each_buffer,
    filter_rows,
    resize_buffer,
    rules_of,
    subproblem,
)
from memplan.questions.explain.questions.queries import Queries
from memplan.questions.explain.values import (
    BufferWorth,
    ExplainOptions,
    PairWorth,
    PoolWorth,
    RuleCost,
    Source,
    WhatIf,
    WitnessSet,
)
from memplan.solvers.heuristics.ejection import conflict_lists
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.portfolio.warm_start import assignment_of
from memplan.solvers.search.control import Control

_CALL_S = 1.0
"""The maximum seconds for planning one changed problem."""
_SOLVE_SHARE, _FIT_SHARE = 0.5, 0.1
"""The maximum shares of the remaining time: for planning a pool without a size, and for one query about growth."""
_FOUND = ("optimal", "feasible")
Interval = tuple[int, int]


def change_worths(problem: Problem, plan: Plan, options: ExplainOptions, control: Control) -> WhatIf:
    """Return how far single changes to a problem lower the peak of its best plan.

    `plan` is the result of a solve. If a problem with one pool does not fit, the pool is studied without its size,
    which the answer records. If no plan is found, the answer has only the status.
    """
    size = problem.pools[0].size
    has_no_size = plan.status not in _FOUND and len(problem.pools) == 1 and size is not None
    if has_no_size:
        problem = _set_capacity(problem, None)
        plan = _solve_for(problem, control, _SOLVE_SHARE * control.remaining_s)
    if plan.status not in _FOUND or plan.peak is None:
        return WhatIf(status=plan.status)
    study = _Study(problem, plan, options, control)
    pairs, buffers, pools, rules = study.pairs(), study.buffers(), study.pools(), study.rules()
    return WhatIf.model_construct(
        status=plan.status,
        peak=plan.peak,
        without_size=size if has_no_size else None,
        witness=None if plan.proof is None else WitnessSet(time=plan.proof.time, buffers=plan.proof.buffers),
        buffers=buffers,
        pools=pools,
        rules=rules,
        pairs=pairs,
        left_out=study.left_out,
        wall_time_s=control.wall_time_s,
    )


def _solve_for(problem: Problem, control: Control, limit_s: float, start: Plan | None = None) -> Plan:
    cancelled = Control(cancelled=control.cancelled)
    return solve(problem, time_limit_s=limit_s, deterministic=control.counts_work, start=start, control=cancelled)


def _set_capacity(problem: Problem, size: int | None) -> Problem:
    """Return the problem with another size (bytes; None: unlimited) of its only pool."""
    return replace_fields(problem, pools=[problem.pools[0].model_copy(update={"size": size})])


class _Study:
    """A study of single changes to a problem and its plan, until a deadline."""

    def __init__(self, problem: Problem, plan: Plan, options: ExplainOptions, control: Control) -> None:
        """Start the study of a problem and its plan; `left_out` counts the changes for which the time is too short."""
        self.problem, self.plan, self.options, self.control = problem, plan, options, control
        self.peak = plan.peak or 0
        self.left_out = 0

    def buffers(self) -> tuple[BufferWorth, ...]:
        """Return the worth (bytes saved at the peak) of each non-empty buffer that is not an alias."""
        instance, body = compile_problem(self.problem), body_of_each_buffer(self.problem)
        near = _SinglePool.from_plan(self.problem, instance, self.plan)
        names = np.flatnonzero((body == np.arange(len(body))) & (self.problem.buffers.size > 0)).tolist()
        names = [i for i in names if near is None or i in near.row]
        rows = []
        for count, i in enumerate(names):
            rows.append(self._open_worth(i) if self.control.is_over else self._buffer_worth(i, body, near))
            self.control.report({"buffers_done": count + 1, "buffers": len(names)})
        return tuple(rows)

    def _open_worth(self, i: int) -> BufferWorth:
        self.left_out += 1
        name, size = self.problem.buffers.ids[i], int(self.problem.buffers.size[i])
        return BufferWorth(id=name, size=size, gain_if_dropped=(0, self.peak), exact=False, by="open")

    def _buffer_worth(self, i: int, body: I64, near: "_SinglePool | None") -> BufferWorth:
        """Return buffer `i`'s worth (bytes saved at the peak) and, if sizes are independent, its possible growth.

        Growth is decided for a pool that ends at the peak: by the live sets first, then by bisection.
        """
        name, size = self.problem.buffers.ids[i], int(self.problem.buffers.size[i])

        def rest() -> Problem:  # Building a problem is slow, so build this one only on demand.
            return self._remaining_problem(body != i)

        if near is None:
            gain, by = self._peak_reduction(rest)
            return BufferWorth(id=name, size=size, gain_if_dropped=gain, exact=gain[0] == gain[1], by=by)
        gain, by = self._peak_reduction(rest, near.bound(i, 0), near.end_with(i, 0))
        least, most = near.growth(i)
        queries = Queries(self.control, _CALL_S)
        at_peak, middle = _set_capacity(self.problem, self.peak), most
        # The growth `most` that the live sets allow is usually possible, so try `most` before halving.
        while least < most and not self.control.is_over:
            answer = queries.fit_answer(resize_buffer(at_peak, i, size + middle), share=_FIT_SHARE)
            if answer == "open":
                break
            least, most = (middle, most) if answer == "fits" else (least, middle - 1)
            middle = (least + most + 1) // 2
        is_exact = gain[0] == gain[1] and least == most
        worth_row = BufferWorth(id=name, size=size, gain_if_dropped=gain, exact=is_exact, by=by)
        row = worth_row.model_copy(update={"may_grow": least, "may_grow_at_most": most})
        if self.options.shrunk_to is None:
            return row
        smaller = max(1, min(size, ceil(size * self.options.shrunk_to)))
        try:
            shrunk = resize_buffer(self.problem, i, smaller)
        except ProblemError:  # An alias needs the removed bytes, so the buffer cannot shrink.
            return row
        gain, _ = self._peak_reduction(lambda: shrunk, near.bound(i, smaller), near.end_with(i, smaller))
        is_exact = is_exact and gain[0] == gain[1]
        return row.model_copy(update={"shrunk_to": smaller, "gain_if_shrunk": gain, "exact": is_exact})

    def _remaining_problem(self, kept: Bool) -> Problem:
        names = set(filter_rows(self.problem.buffers, kept).ids)
        rest = subproblem(self.problem, kept)
        return replace_fields(rest, objective=self.problem.objective, **entries_among(self.problem, names))

    def _peak_reduction(
        self, change: Callable[[], Problem], bound: int = 0, here: int | None = None
    ) -> tuple[Interval, Source]:
        """Return by how many bytes a change lowers the peak, as (least, most), and the evidence for it.

        `bound` is a lower bound on the changed problem's peak; `here` is the given plan's peak in the changed problem.
        """
        here = self.peak if here is None else here
        if bound >= self.peak:
            return (0, 0), "live-set"
        if here <= bound:
            return (self.peak - here,) * 2, "plan"
        if self.control.is_over:
            self.left_out += 1
            return (self.peak - here, self.peak - bound), "open"
        plan = self._changed_plan(changed := change())
        best, least = here if plan.peak is None else plan.peak, max(bound, plan.lower_bound or 0)
        if plan.status == "optimal" and self.plan.status == "optimal":
            return (self.peak - best,) * 2, "search"
        # In one pool, the given plan may beat the new one; with several pools, a change may even raise the cost.
        best = best if len(changed.pools) > 1 else min(best, here)
        gain = min(0, self.peak - best) if len(changed.pools) > 1 else self.peak - best
        return (gain, max(gain, self.peak - least)), "search" if gain == self.peak - least else "open"

    def _changed_plan(self, changed: Problem) -> Plan:
        return _solve_for(changed, self.control, min(_CALL_S, self.control.remaining_s), self.plan)

    def pools(self) -> tuple[PoolWorth, ...]:
        """Return the gain in peak or cost from enlarging each pool that has a size."""
        return tuple(self._pool_worth(q) for q, pool in enumerate(self.problem.pools) if pool.size is not None)

    def _pool_worth(self, q: int) -> PoolWorth:
        """Return the gain from `more` bytes in pool `q`, as an interval derived from a plan of the larger problem."""
        pool = self.problem.pools[q]
        has_cost = self.problem.objective == "cost"
        # A larger pool cannot lower an optimal peak, so return a gain of 0 without planning.
        if len(self.problem.pools) == 1 and self.plan.status == "optimal":
            return PoolWorth(pool=pool.name, more=self.options.more, gain=(0, 0), exact=True)
        larger = pool.model_copy(update={"size": min((pool.size or 0) + self.options.more, 2**63 - 1)})
        try:
            changed = replace_fields(
                self.problem, pools=[*self.problem.pools[:q], larger, *self.problem.pools[q + 1 :]]
            )
        except ProblemError:  # The next pool's address is in the way, so the pool cannot grow.
            changed = None
        if changed is None or self.control.is_over:
            self.left_out += 1
            return PoolWorth(pool=pool.name, more=self.options.more, gain=(0, float(self.peak)), exact=False)
        plan = self._changed_plan(changed)
        is_exact = plan.status == "optimal" and self.plan.status == "optimal"
        if has_cost:
            before, after = self.plan.cost or 0.0, plan.cost if plan.cost is not None else self.plan.cost or 0.0
            least = plan.cost_lower_bound or 0.0
            gain = max(0.0, before - after), max(0.0, before - (after if is_exact else least))
        else:
            before, after = float(_last_used(self.plan)), float(_last_used(plan, _last_used(self.plan)))
            gain = max(0.0, before - after), before - after if is_exact else before
        return PoolWorth(pool=pool.name, more=self.options.more, gain=gain, exact=is_exact)

    def pairs(self) -> tuple[PairWorth, ...]:
        """Return the worth (cost saved) of each `reuse` pair that pays a cost for sharing bytes."""
        prices: dict[tuple[Id, Id], int] = {}
        for row in self.plan.reused:
            prices[row.buffers] = prices.get(row.buffers, 0) + row.cost
        rows = []
        for pair, cost in prices.items():
            if self.control.is_over:
                self.left_out += 1
                continue
            rows.append(self._pair_worth(pair, cost))
        return tuple(rows)

    def _pair_worth(self, pair: tuple[Id, Id], cost: int) -> PairWorth:
        """Return how the cost changes if a pair shares bytes for free, and if it must not share bytes."""
        here = self.plan.cost or 0.0
        rows = [
            row.model_copy(update={"pairs": tuple(each for each in row.pairs if {*each} != {*pair})})
            for row in self.problem.reuse
        ]
        free = self._changed_plan(replace_fields(self.problem, reuse=[row for row in rows if row.pairs]))
        try:
            apart = self._changed_plan(replace_fields(self.problem, conflicts=[*self.problem.conflicts, pair]))
        except ProblemError:  # The rules force the pair to share bytes, so no plan keeps it apart.
            apart = Plan(status="infeasible")
        # The given plan stays valid if the pair is free and then saves the pair's cost, so compare its cost as well.
        best = min(here - cost, here if free.cost is None else free.cost)
        gain = here - best, here - min(best, free.cost_lower_bound or 0.0)
        loss = None
        if apart.status != "infeasible":
            loss = (max(0.0, (apart.cost_lower_bound or 0.0) - here), None if apart.cost is None else apart.cost - here)
        is_exact = gain[0] == gain[1] and (loss is None or loss[0] == loss[1])
        return PairWorth(buffers=pair, cost=cost, gain_if_free=gain, loss_if_apart=loss, exact=is_exact)

    def rules(self) -> tuple[RuleCost, ...]:
        """Return the gain from removing each rule that concerns a pool, or a buffer in the lower bound's proof."""
        named = set(self.plan.proof.buffers) if self.plan.proof is not None else set()
        ids = self.problem.buffers.ids
        is_named = np.fromiter((not named or name in named for name in ids), dtype=np.bool_, count=len(ids))
        everything = np.ones(len(ids), dtype=np.bool_)

        def cost(rule: ProblemRule) -> RuleCost:
            objective = self.problem.objective
            gain, _ = self._peak_reduction(
                lambda: replace_fields(subproblem(self.problem, everything, [rule]), objective=objective)
            )
            return RuleCost(rule=rule.member(self.problem), gain=gain, exact=gain[0] == gain[1])

        return tuple(map(cost, rules_of(self.problem, is_named)))


class _SinglePool:
    """The live sets and the given plan, in bytes, of a problem with a single pool and independent sizes."""

    def __init__(self, instance: Instance, offset: I64, near: tuple[I64, I64]) -> None:
        """Compute, in bytes, the sizes, offsets, ends and live bytes that all values of the study use."""
        self.instance, self.near, unit = instance, near, instance.unit
        self.row = {int(i): k for k, i in enumerate(instance.source)}
        self.size, self.offset, self.load = instance.size * unit, offset * unit, np.asarray(instance.loads()) * unit
        self.end = self.offset + self.size
        self.peak = int(self.end.max(initial=0))

    @classmethod
    def from_plan(cls, problem: Problem, instance: Instance, plan: Plan) -> "_SinglePool | None":
        """Return the tables for a problem; None if its rules depend on sizes, or if it has too many conflicts."""
        is_plain = len(instance.pools) == 1 and instance.features <= registry.BY_NAME["exact"].can
        if not is_plain or not instance.is_small_numbered or instance.unplaceable:
            return None
        assignment, near = assignment_of(problem, instance, plan.placements), conflict_lists(instance)
        return None if assignment is None or near is None else cls(instance, assignment[1], near)

    def bound(self, i: int, size: int) -> int:
        """Return the largest live set in bytes if buffer `i` had `size` bytes, which is a lower bound on the peak."""
        k = self.row[i]
        return int((self.load - self._live_mask(k) * (self.size[k] - size)).max(initial=0))

    def end_with(self, i: int, size: int) -> int:
        """Return the peak of the given plan in bytes if buffer `i` had `size` bytes; a size of 0 removes the buffer."""
        k = self.row[i]
        others = int(np.delete(self.end, k).max(initial=0))
        return max(others, int(self.offset[k]) + size) if size else others

    def growth(self, i: int) -> Interval:
        """Return the least and the most bytes by which buffer `i` may grow without raising the given plan's peak.

        The buffer may certainly grow up to the next buffer above it; the live sets limit its growth in any plan.
        """
        k = self.row[i]
        most = self.peak - int(self.load[self._live_mask(k)].max(initial=int(self.size[k])))
        if self.instance.pin[k] >= 0:
            most = min(most, self.peak - int(self.end[k]))
        first, lists = self.near
        above = np.concatenate(
            (self.offset[lists[first[k] : first[k + 1]]], self.instance.pools[0].reserved[:, 0] * self.instance.unit)
        )
        ceiling = int(above.min(initial=self.peak, where=above >= self.end[k]))
        return max(0, min(most, ceiling - int(self.end[k]))), max(0, most)

    def _live_mask(self, k: int) -> Bool:
        alive, instance = np.zeros(len(self.load), dtype=np.bool_), self.instance
        for r in range(int(instance.first[k]), int(instance.first[k + 1])):
            alive[instance.start[r] : instance.end[r]] = True
        return alive


def _last_used(plan: Plan, default: int = 0) -> int:
    used = plan.pools[-1].used if plan.pools else None
    return default if used is None else used
