"""The search for a reason in stages: a witness, a short range of time, a core, and an irreducible subset of it.

Arithmetic proves that a live set larger than the pool is a reason. Otherwise, two bisections find a short range of time
whose buffers do not fit. Then rules and buffers are dropped one by one while the rest stays proved infeasible.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic_core import to_jsonable_python

from memplan.planner.bounds.reason_sentence import sentence
from memplan.planner.errors import excerpt
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.legal_offsets import last_end
from memplan.planner.model.buffer_table import I64, Bool
from memplan.planner.model.plan import Explanation, Plan, ReasonKind
from memplan.planner.model.problem import Problem
from memplan.planner.verify.proofs import claims_of_explanation
from memplan.questions.explain.questions.parts import ProblemRule, body_of_each_buffer, rules_of, subproblem
from memplan.questions.explain.questions.queries import Answer, Queries
from memplan.questions.explain.reasons.live_sets import OverfullSet, overfull_set, overfull_stretches, sufficient_size
from memplan.questions.explain.reasons.reduction import delete_unneeded, shortest_stretch
from memplan.solvers.certificates.certify import infeasible_core
from memplan.solvers.formulation.equal_use import EqualPools
from memplan.solvers.search.control import Control, ignore_report

Stage = Literal["witness", "stretch", "core", "irreducible", "enough"]
_MOST_CALLS = 400
"""The maximum number of queries for one explanation without a deadline."""
_ENOUGH_SHARE = 0.5
"""The share of the remaining time spent on finding a sufficient pool size."""
_LEMMA_SHARE = 0.15
"""The share of the remaining time spent on a proof by lemmas."""
_CALL_SHARE = 0.15
"""The maximum share of the whole time for one query."""


def reason_of(problem: Problem, plan: Plan, control: Control, *, is_quick: bool = False) -> Explanation | None:
    """Return why a problem does not fit its pools, starting from the plan of a solve; None if the problem fits.

    If infeasibility is not proved, the explanation names the tightest live set and its `kind` is None. With `is_quick`,
    no solver runs in a child process.
    """
    if plan.status in ("optimal", "feasible"):
        return None
    if plan.status == "unknown" or plan.explanation is None:
        return plan.explanation
    if problem.equal_use:
        return _reason_of_equal_pools(EqualPools(problem), plan.explanation, control)
    return Reasoning(problem, plan.explanation, control, is_quick=is_quick).explanation()


def _reason_of_equal_pools(pools: EqualPools, first: Explanation, control: Control) -> Explanation:
    reasoning = Reasoning(pools.single_pool_problem, pools.witness(first), replace(control, report=ignore_report))
    reason = pools.explanation_for_pools(reasoning.explanation())
    turn = ""
    if reason.time is not None:
        turn = f", in {excerpt(pools.problem.pools[pools.pool[pools.problem.index[reason.buffers[0]]]].name)}"
    more = "" if reason.would_do is None else f"; {reason.would_do.size:,} bytes of each would do"
    return reason.model_copy(update={"message": f"{sentence(pools.problem, reason)}{turn}{more}"})


@dataclass(eq=False)
class Reasoning:
    """The search for the reason of a proved infeasibility; `first` is the explanation given by the solver.

    If `with_enough` is false, no sufficient size is searched for. If `is_quick` is true, no solver runs in a child
    process.
    """

    problem: Problem
    first: Explanation
    control: Control
    with_enough: bool = True
    is_quick: bool = False
    queries: Queries = field(init=False)
    kept: Bool = field(init=False)
    dropped: tuple[ProblemRule, ...] = ()
    kind: ReasonKind = "core"
    unsure: int = 0
    stretch: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        """Start the queries of the search, and keep all buffers."""
        share = 1.0 if self.control.counts_work else _CALL_SHARE
        self.queries = Queries(self.control, share * self.control.remaining_s, _MOST_CALLS)
        self.kept = np.ones(len(self.problem.buffers), dtype=np.bool_)

    @cached_property
    def instance(self) -> Instance:
        """The whole problem in the compiled form for solvers."""
        return compile_problem(self.problem)

    @cached_property
    def bodies(self) -> I64:
        """(n,): for each buffer, the buffer that represents its body (a set of buffers at fixed distances)."""
        return body_of_each_buffer(self.problem)

    def explanation(self) -> Explanation:
        """Find the reason, reduce it as far as the time allows, and report each stage; return the explanation."""
        full = overfull_set(self.problem, self.instance)
        # Arithmetic proves that a live set larger than the pool is irreducible, so call no solver (decision 072).
        if full is not None:
            reason = self._live_set_explanation(full)
            self._report("witness", reason)
        else:
            self._report("witness", self._current_explanation(irreducible=False, kind="stretch"))
            self._narrow_buffers()
            rules = self._drop_rules()
            names = self._drop_buffers(rules)
            rules = [rule for rule in rules if rule.buffer < 0 or self.kept[rule.buffer]]
            reason = self._current_explanation(self.unsure == 0, self.kind, names, rules)
        self._report("irreducible" if reason.irreducible else "core", reason)
        if self.with_enough and not self.control.cancelled.is_set():
            control = self.control.child(_ENOUGH_SHARE)
            size = sufficient_size(self.problem, reason.pool, self._min_size(reason), control, self.is_quick)
            if size is not None:
                message = f"{reason.message}; {size.size:,} bytes would do"
                needed = size.size if size.proved else reason.needed
                reason = reason.model_copy(update={"would_do": size, "message": message, "needed": needed})
        reason = reason.model_copy(update={"wall_time_s": self.control.wall_time_s})
        self._report("enough", reason)
        return reason

    def _min_size(self, found: Explanation) -> int:
        if found.pool is None:
            return 0
        unit, size = self.instance.unit, self.problem.pools[self.problem.pool_index[found.pool]].size or 0
        return max(found.needed or 0, (size // unit + 1) * unit)

    def _live_set_explanation(self, full: OverfullSet) -> Explanation:
        """Return the explanation for an overfull live set, which needs no rules and no queries."""
        ids = tuple(self.problem.buffers.ids[i] for i in full.buffers)
        explanation = Explanation(
            message="",
            pool=self.problem.pools[0].name,
            missing_bytes=full.needed - full.capacity,
            time=full.time,
            buffers=ids,
            kind="live-set",
            irreducible=True,
            open_questions=0,
            calls=0,
            capacity=full.capacity,
            needed=full.needed,
            other_bottlenecks=full.stretches - 1,
        )
        return explanation.model_copy(update={"message": sentence(self.problem, explanation)})

    def _narrow_buffers(self) -> None:
        """Keep only buffers that do not fit: the solver's witness, those of a lemma proof, or a short time range."""
        if self.first.buffers:
            mine = self._body_mask({self.problem.index[name] for name in self.first.buffers})
            if self._is_infeasible(mine):
                is_live_set = self.first.time is not None and bool(mine.any())
                self.kept, self.kind = mine, "live-set" if is_live_set else "core"
                return
        lives = self.instance
        if lives.n_live_sets == 0 or self._reduce_by_lemmas():
            return
        first, last = shortest_stretch(
            lives.n_live_sets, lambda low, high: self._is_infeasible(self._live_mask(low, high))
        )
        self.kept = self._live_mask(first, last)
        times = lives.live_set_time
        ends = self.problem.buffers.end[np.repeat(self.kept, np.diff(self.problem.buffers.first))]
        until = int(times[last + 1]) if last + 1 < len(times) else int(ends.max(initial=int(times[last]) + 1))
        self.stretch = int(times[first]), until
        names = self._ids_by_size(np.flatnonzero(self.kept & (self.bodies == np.arange(len(self.bodies)))).tolist())
        self._report("stretch", self._current_explanation(irreducible=False, kind="stretch", names=names))

    def _reduce_by_lemmas(self) -> bool:
        """Keep only the buffers of a proof by lemmas and return True; return False if no proof is found in time."""
        # A clock limits the proof by lemmas, so skip the proof if only work is counted: results must be reproducible.
        if self.control.counts_work:
            return False
        share_s = max(0.01, self.control.deadline.remaining_s * _LEMMA_SHARE)
        core = infeasible_core(self.problem, time_limit_s=share_s, cancelled=self.control.cancelled)
        if not core:
            return False
        self.kept = self._body_mask({self.problem.index[name] for name in core})
        names = np.flatnonzero(self.kept & (self.bodies == np.arange(len(self.bodies)))).tolist()
        self._report("core", self._current_explanation(irreducible=False, kind="core", names=names))
        return True

    def _drop_rules(self) -> list[ProblemRule]:
        """Drop the rules that the infeasibility does not need, and return the needed rules."""
        rules = rules_of(self.problem, self.kept)
        everything = set(rules)

        def query(left: list[ProblemRule]) -> Answer:
            return self._fit_answer(self.kept, everything.difference(left))

        def report(left: list[ProblemRule]) -> None:
            self.dropped = tuple(everything.difference(left))

        # Most proofs need no constraint rules, so first try a single query without all rules.
        if rules and query([]) == "no":
            rules = []
            report(rules)
        rules, unsure = delete_unneeded(rules, query, report)
        self.unsure += unsure
        return rules

    def _drop_buffers(self, rules: list[ProblemRule]) -> list[int]:
        """Drop the bodies (buffers at fixed distances) that the infeasibility does not need; return all others."""
        mine = np.flatnonzero(self.kept & (self.bodies == np.arange(len(self.bodies))))
        area = self._body_areas()
        # Small bodies are rarely needed, so try them first, because they can then be dropped in large chunks.
        items = mine[np.argsort(area[mine], kind="stable")].tolist()

        def report(left: list[int]) -> None:
            self.kept = self._body_mask(set(left))
            self._report("core", self._current_explanation(irreducible=False, kind=self.kind, names=left, rules=rules))

        needed, unsure = delete_unneeded(
            items, lambda left: self._fit_answer(self._body_mask(set(left)), self.dropped), report
        )
        self.unsure += unsure
        return needed

    def _body_areas(self) -> Any:
        table = self.problem.buffers
        time = np.add.reduceat(
            np.append((table.end.astype(np.float64) - table.start.astype(np.float64)), 0.0), table.first[:-1]
        )
        # Bodies without lifetimes are limited only by `conflicts`, so a huge area makes them the last to be tried.
        time[np.diff(table.first) == 0] = 1e280
        return np.bincount(self.bodies, weights=table.size * time, minlength=len(table))

    def _is_infeasible(self, kept: Bool) -> bool:
        return self._fit_answer(kept) == "no"

    def _fit_answer(self, kept: Bool, dropped: Iterable[ProblemRule] = ()) -> Answer:
        return (
            self.queries.fit_answer(subproblem(self.problem, kept, dropped), self.is_quick or None)
            if kept.any()
            else "fits"
        )

    def _body_mask(self, names: set[int]) -> Bool:
        some = np.zeros(len(self.bodies), dtype=np.bool_)
        some[self.bodies[list(names)]] = True
        grown: Bool = some[self.bodies]
        return grown

    def _live_mask(self, first: int, last: int) -> Bool:
        lives, n = self.instance, len(self.bodies)
        meets = (lives.start <= last) & (first < lives.end)
        some = np.zeros(n, dtype=np.bool_)
        some[lives.source[lives.lifetime_buffer[meets]]] = True
        has_life = np.zeros(n, dtype=np.bool_)
        has_life[lives.source[lives.lifetime_buffer]] = True
        some |= ~has_life & (self.problem.buffers.size > 0) & (np.diff(self.problem.buffers.first) == 0)
        return self._body_mask(set(np.flatnonzero(some).tolist()))

    def _ids_by_size(self, positions: list[int]) -> tuple[int | str, ...]:
        size = self.problem.buffers.size
        return tuple(self.problem.buffers.ids[i] for i in sorted(positions, key=lambda i: -int(size[i])))

    def _current_explanation(
        self, irreducible: bool, kind: ReasonKind, names: list[int] | tuple[int | str, ...] = (), rules: Any = ()
    ) -> Explanation:
        """Return the explanation as reduced so far; without `names`, it has the buffers of the solver's explanation."""
        ids = self._ids_by_size(names) if isinstance(names, list) else names
        q = self._reported_pool()
        capacity = last_end(self.problem.pools[q])
        missing = self.first.missing_bytes
        explanation = Explanation(
            message=self.first.message,
            pool=self.problem.pools[q].name,
            missing_bytes=missing,
            time=self.first.time,
            buffers=ids or self.first.buffers,
            kind=kind,
            irreducible=irreducible,
            open_questions=self.unsure,
            calls=self.queries.calls,
            capacity=capacity,
            needed=None if missing is None else capacity + missing,
            stretch=self.stretch,
            rules=tuple(rule.member(self.problem) for rule in rules),
            other_bottlenecks=max(0, overfull_stretches(self.problem, self.instance) - 1),
        )
        # The solver counted missing bytes for other buffers, so keep them only if they are confirmed for these buffers.
        if ids and not self._is_witness(explanation):
            explanation = explanation.model_copy(
                update={
                    "missing_bytes": None,
                    "time": None,
                    "kind": "core" if explanation.kind == "live-set" else explanation.kind,
                }
            )
        return explanation.model_copy(update={"message": sentence(self.problem, explanation)}) if ids else explanation

    def _is_witness(self, found: Explanation) -> bool:
        if found.missing_bytes is None or found.time is None:
            return False
        return not any(claims_of_explanation(self.problem, Plan(status="infeasible", explanation=found)))

    def _reported_pool(self) -> int:
        if self.first.pool is not None:
            return self.problem.pool_index[self.first.pool]
        limited = [q for q, pool in enumerate(self.problem.pools) if pool.size is not None]
        return limited[-1] if limited else 0

    def _report(self, stage: Stage, found: Explanation) -> None:
        if self.control.report is not ignore_report:
            timed = found.model_copy(update={"wall_time_s": self.control.wall_time_s})
            self.control.report({"stage": stage, "explanation": to_jsonable_python(timed)})
