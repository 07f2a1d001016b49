"""The worth of each buffer, pool and rule of a problem: by how much the peak changes with it."""

from __future__ import annotations

import numpy as np

from memplan.capabilities.explain.options import ExplainOptions
from memplan.capabilities.explain.questions.parts import bodies, kept_rows, part, remade, rules_of
from memplan.capabilities.explain.values import BufferWorth, PoolWorth, RuleCost, Source, WhatIf, WitnessSet
from memplan.capabilities.explain.what_if import one_pool
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import I64, Bool
from memplan.planner.model.entries import entries_among
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.portfolio.warm_start import assignment_of
from memplan.solvers.search.control import Control

_CALL_S = 1.0
"""The most seconds for the plan of a changed problem."""
_CERTIFICATE_SHARE, _SOLVE_SHARE = 0.5, 0.5
"""The parts of the time that is left which the certificate of a plan may take, and the plan of a pool without end."""
_FOUND = ("optimal", "feasible")


def what_if(problem: Problem, plan: Plan, options: ExplainOptions, control: Control) -> WhatIf:
    """Return what single changes of a problem are worth, against its best plan.

    `plan` is the answer of a solve. A problem of one pool that does not fit is looked at as if its pool had no size.
    Where no plan is found, nothing is reported but the status.
    """
    if plan.status not in _FOUND and len(problem.pools) == 1:
        problem = remade(problem, {"pools": (problem.pools[0].model_copy(update={"size": None}),)})
        plan = _solved(problem, control, _SOLVE_SHARE * control.left_s)
    if plan.status not in _FOUND or plan.peak is None:
        return WhatIf(status=plan.status)
    study = _Study(problem, plan, options, control)
    buffers, pools, rules = study.buffers(), study.pools(), study.rules()
    return WhatIf.model_construct(
        status=plan.status,
        peak=plan.peak,
        witness=None if plan.proof is None else WitnessSet(time=plan.proof.time, buffers=plan.proof.buffers),
        buffers=buffers,
        pools=pools,
        rules=rules,
        left_out=study.left_out,
        wall_time_s=control.wall_time_s,
    )


def _solved(problem: Problem, control: Control, limit_s: float) -> Plan:
    cancelled = Control(cancelled=control.cancelled)
    return solve(problem, time_limit_s=limit_s, deterministic=control.counts_work, control=cancelled)


class _Study:
    """The questions about one problem and its plan, until the call ends."""

    def __init__(self, problem: Problem, plan: Plan, options: ExplainOptions, control: Control) -> None:
        self.problem, self.plan, self.options, self.control = problem, plan, options, control
        self.peak = plan.peak or 0
        self.left_out = 0

    @property
    def is_over(self) -> bool:
        return self.control.is_over

    def buffers(self) -> tuple[BufferWorth, ...]:
        """Return the worth of each buffer of some bytes that is no alias."""
        instance = compile_problem(self.problem)
        found = assignment_of(self.problem, instance, self.plan.placements)
        if not one_pool.is_for(instance) or found is None:
            return self._by_problems()
        pool_worth = one_pool.OnePool(self.problem, instance, found[1], self.control)
        worth = []
        least, most = pool_worth.growth()
        for i in range(len(instance)):
            worth.append(pool_worth.worth(i, (int(least[i]), int(most[i])), self.options.shrunk_to))
            self.control.report({"buffers_done": i + 1, "buffers": len(instance)})
        return tuple(worth)

    def _by_problems(self) -> tuple[BufferWorth, ...]:
        """Return the worth of each body where sizes are bound to each other.

        What a certificate of the plan does not need may go, and the plan is as good as before; without each of the
        others it is a problem of its own.
        """
        body = bodies(self.problem)
        names = np.flatnonzero((body == np.arange(len(body))) & (self.problem.buffers.size > 0)).tolist()
        needed = self._needed(body)
        worth = []
        for i in names:
            if i not in needed:
                name, size = self.problem.buffers.ids[i], int(self.problem.buffers.size[i])
                worth.append(BufferWorth(id=name, size=size, gain_if_dropped=(0, 0)))
                continue
            name, size = self.problem.buffers.ids[i], int(self.problem.buffers.size[i])
            gain = self._gain(self._without(body != i))
            source: Source = "search" if gain[0] == gain[1] else "open"
            worth.append(BufferWorth(id=name, size=size, gain_if_dropped=gain, exact=gain[0] == gain[1], by=source))
        return tuple(worth)

    def _needed(self, body: I64) -> set[int]:
        """Return the bodies that the proof of the plan needs: all of them where it has no certificate."""
        everything = set(body.tolist())
        if self.problem.objective != "peak" or self.plan.status != "optimal" or self.control.counts_work:
            return everything
        left_s = max(0.01, self.control.deadline.left_s * _CERTIFICATE_SHARE)
        found = certify(self.problem, self.plan, time_limit_s=left_s, cancelled=self.control.cancelled)
        index = self.problem.index
        return everything if found.kind == "none" else {int(body[index[name]]) for name in found.buffers}

    def _without(self, kept: Bool) -> Problem:
        """Return the problem of the kept buffers, with its objective and its weights."""
        table = kept_rows(self.problem.buffers, kept)
        names = set(table.ids)
        smaller = part(self.problem, kept)
        return remade(smaller, {"objective": self.problem.objective, **entries_among(self.problem, names)})

    def _gain(self, changed: Problem) -> tuple[int, int]:
        """Return the bytes by which the peak falls in a changed problem that is no harder: (least, most)."""
        if self.is_over:
            self.left_out += 1
            return 0, self.peak
        plan = self._answer(changed)
        if plan.peak is None:
            return 0, self.peak
        least = plan.lower_bound or 0
        if plan.status == "optimal" and self.plan.status == "optimal":
            return self.peak - plan.peak, self.peak - plan.peak
        if len(changed.pools) > 1:
            return min(0, self.peak - plan.peak), self.peak - least
        return max(0, self.peak - plan.peak), max(0, self.peak - least)

    def _answer(self, changed: Problem) -> Plan:
        return _solved(changed, self.control, min(_CALL_S, self.control.left_s))

    def pools(self) -> tuple[PoolWorth, ...]:
        """Return the worth of more bytes in each pool that has a size."""
        return tuple(self._pool(q) for q, pool in enumerate(self.problem.pools) if pool.size is not None)

    def _pool(self, q: int) -> PoolWorth:
        pool = self.problem.pools[q]
        has_cost = self.problem.objective == "cost"
        if len(self.problem.pools) == 1 and self.plan.status == "optimal":  # the least peak needs no larger pool
            return PoolWorth(pool=pool.name, more=self.options.more, gain=(0, 0), exact=True)
        if self.is_over:
            self.left_out += 1
            return PoolWorth(pool=pool.name, more=self.options.more, gain=(0, float(self.peak)), exact=False)
        larger = pool.model_copy(update={"size": min((pool.size or 0) + self.options.more, 2**63 - 1)})
        pools = tuple(larger if k == q else row for k, row in enumerate(self.problem.pools))
        plan = self._answer(remade(self.problem, {"pools": pools}))
        is_exact = plan.status == "optimal" and self.plan.status == "optimal"
        if has_cost:
            before, after = self.plan.cost or 0.0, plan.cost if plan.cost is not None else self.plan.cost or 0.0
            least = plan.cost_lower_bound or 0.0
            gain = max(0.0, before - after), max(0.0, before - (after if is_exact else least))
        else:
            before, after = float(_last_used(self.plan)), float(_last_used(plan, _last_used(self.plan)))
            gain = max(0.0, before - after), before - after if is_exact else before
        return PoolWorth(pool=pool.name, more=self.options.more, gain=gain, exact=is_exact)

    def rules(self) -> tuple[RuleCost, ...]:
        """Return the costs of the rules of the buffers in the witness, and of those of the pools."""
        named = set(self.plan.proof.buffers) if self.plan.proof is not None else set()
        ids = self.problem.buffers.ids
        kept = np.fromiter((not named or name in named for name in ids), dtype=np.bool_, count=len(ids))
        everything = np.ones(len(ids), dtype=np.bool_)
        found = []
        for rule in rules_of(self.problem, kept):
            if self.is_over:
                self.left_out += 1
                continue
            changed = part(self.problem, everything, [rule])
            gain = self._gain(remade(changed, {"objective": self.problem.objective}))
            found.append(RuleCost(rule=rule.member(self.problem), gain=gain, exact=gain[0] == gain[1]))
        return tuple(found)


def _last_used(plan: Plan, default: int = 0) -> int:
    """Return the bytes used of the last pool, which is the one that is used least willingly."""
    used = plan.pools[-1].used if plan.pools else None
    return default if used is None else used
