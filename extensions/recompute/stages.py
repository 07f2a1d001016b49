"""Stages of a program: an integer program that bounds the cost of all programs within a budget.

A *moment* is the first run of an operation. A *stage* consists of the operations that run again between a moment and
the previous one; the last stage follows all moments. Variables state the operation of each moment, the tensors in
memory at the moment, and the operations that each stage runs at least once. Every program, in any order and with any
number of runs, satisfies the constraints below; only the order inside a stage is not modelled.
"""

from collections.abc import Sequence
from functools import cached_property
from math import gcd

from memplan.extensions.recompute.again import may_run_again
from memplan.extensions.recompute.away import RemovalBounds, extra_bytes_by_operation
from memplan.solvers.mip.draft import ONE, Draft, Term

_ZERO = Term(0, 0, 0)
Terms = list[tuple[Term, int]]


class Stages:
    """The integer program of stages for a graph's programs within a budget; costs are in units of `cost_unit`."""

    def __init__(self, away: RemovalBounds, budget: int) -> None:
        """Prepare the integer program for programs within `budget` bytes; `away` has the graph and its costs."""
        self.away, self.graph = away, (graph := away.graph)
        self.n = len(graph.ops)
        self.cost_unit = gcd(*away.costs) or 1
        self.cost = [cost // self.cost_unit for cost in away.costs]
        unit = gcd(*graph.working_bytes, *(row.work for row in graph.ops)) or 1
        self.size = [bytes_ // unit for bytes_ in graph.working_bytes]
        self.limit, self.budget = budget, budget // unit
        self.behind = may_run_again(graph)
        self.own = [{*row.inputs, *row.outputs} for row in graph.ops]
        self.work = [bytes_ // unit for bytes_ in extra_bytes_by_operation(graph)]
        kept = set(graph.kept)
        self.given = {t for t, v in enumerate(graph.maker) if v is None and (graph.readers[t] or t in kept)}
        self.earlier = away.earlier
        """A matrix whose row v marks the operations that run before operation v in every order."""
        self.first: list[int] = self.earlier.sum(axis=1).tolist()
        """The first possible moment (position among all first runs) of each operation."""
        self.last: list[int] = [self.n - 1 - count for count in self.earlier.sum(axis=0).tolist()]

    def repeatable_operations(self, at_most: int) -> list[int]:
        """Return the operations whose second run is allowed and costs at most `at_most` units."""
        return [v for v, behind in enumerate(self.behind) if behind is not None and self.cost[v] <= at_most]

    def count_columns(self, at_most: int) -> int:
        """Return the approximate number of columns of the integer program."""
        moments = sum(last - first for first, last in zip(self.first, self.last, strict=True))
        again = sum(self.n - self.first[v] for v in self.repeatable_operations(at_most))
        stays = sum(self.n - (0 if v is None else self.first[v]) for v in self.graph.maker)
        return moments + again + 2 * stays

    @cached_property
    def max_cost(self) -> int:
        """The highest cost of a solution, in units of `cost_unit`: everything runs again in every stage."""
        return sum((self.n - self.first[v]) * self.cost[v] for v, row in enumerate(self.behind) if row is not None)

    def draft(self, at_least: int, at_most: int) -> Draft:
        """Return the integer program; its objective, a cost in `cost_unit`, lies from `at_least` to `at_most`."""
        return _Writer(self, at_least, at_most).draft

    def sequence(self, draft: Draft, values: Sequence[int]) -> list[int]:
        """Return the program that a solution (column `values`) describes, as operations in execution order."""
        runs = []
        for k in range(self.n + 1):
            runs += [v for v in range(self.n) if (at := draft.at.get(("again", v, k))) is not None and values[at]]
            for v in range(self.n):
                at = draft.at.get(("moment", v, k))
                if self.first[v] == self.last[v] == k if at is None else values[at]:
                    runs.append(v)
        return runs


class _Writer:
    """The writer of the integer program of stages, with its columns (variables) and constraints."""

    def __init__(self, stages: Stages, at_least: int, at_most: int) -> None:
        """Write all columns and constraints; the extra cost is from `at_least` to `at_most` units."""
        self.stages, self.draft = stages, Draft()
        self.held: dict[tuple[int, int], Term] = {}
        self.draft.objective = self.draft.column(("extra cost",), at_least, at_most, is_whole=True)
        self._add_columns(set(stages.repeatable_operations(at_most)))
        self._add_moment_rows()
        self._add_memory_rows()
        self._add_stage_rows()
        self._add_stage_limits()

    def _add_bit(self, *key: str | int) -> Term:
        return Term(self.draft.column(key, 0, 1, is_whole=True))

    def _add_columns(self, again: set[int]) -> None:
        """Add the columns (variables) of moments, tensors in memory, and second runs of the operations in `again`."""
        stages, n = self.stages, self.stages.n
        graph, kept = stages.graph, set(stages.graph.kept)
        # `until` has the last step at which a tensor may be used; `useful` has the last step at which a rerun may help.
        until = [n if t in kept else -1 for t in range(len(graph.size))]
        useful = [-1] * n
        for v in reversed(range(n)):
            useful[v] = max((until[t] for t in graph.new_tensors[v]), default=-1)
            for t in stages.own[v]:
                until[t] = max(until[t], stages.last[v], useful[v] if v in again else -1)
        for v, (first, last) in enumerate(zip(stages.first, stages.last, strict=True)):
            for k in range(first, last + 1) if first < last else ():
                self._add_bit("moment", v, k)
            for k in range(first + 1, useful[v] + 1) if v in again else ():
                self._add_bit("again", v, k)
        for t, maker in enumerate(graph.maker):
            if maker is None and t not in stages.given:
                continue
            since = 0 if maker is None else stages.first[maker]
            # A tensor that is not recomputed is in memory from its latest possible write to its earliest last use.
            surely = -1 if maker in again else max((stages.first[r] for r in graph.readers[t]), default=-1)
            if maker not in again and t in graph.permanent_tensors:
                surely = n
            stays = range(0 if maker is None else stages.last[maker], surely + 1)
            for k in range(since, min(until[t], n) + 1):
                self.held[t, k] = ONE if k in stays or (k == n and t in kept) else self._add_bit("here", t, k)
        runs = ((Term(at), self.stages.cost[int(key[1])]) for key, at in self.draft.at.items() if key[0] == "again")
        self.draft.row_of(("cost",), [(Term(0), -1), *runs], at_most=0)

    def moment(self, v: int, k: int) -> Term:
        """Return a term: 1 if the k-th first run of an operation (moment k) is that of operation v, else 0."""
        first, last = self.stages.first[v], self.stages.last[v]
        if first == last:
            return ONE if k == first else _ZERO
        return self._column_term("moment", v, k)

    def run_terms(self, v: int, k: int) -> Terms:
        """Return terms whose sum is 1 if operation v has run at moment k or before, else 0."""
        if k >= self.stages.last[v]:
            return [(ONE, 1)]
        return [(self.moment(v, j), 1) for j in range(self.stages.first[v], k + 1)]

    def repetition_term(self, v: int | None, k: int) -> Term:
        """Return the term that is 1 if operation v runs again in stage k, else 0."""
        return _ZERO if v is None else self._column_term("again", v, k)

    def presence_term(self, t: int, k: int) -> Term:
        """Return a term: 1 if tensor t is in memory at moment k, else 0; the moment n is the end."""
        return self.held.get((t, k), _ZERO)

    def _column_term(self, *key: str | int) -> Term:
        at = self.draft.at.get(key)
        return _ZERO if at is None else Term(at)

    def _add_upper_bound(self, name: str, a: Term, b: Terms, constant: int = 0) -> None:
        if a is not _ZERO:
            self.draft.row_of((name,), [(a, 1), *((term, -sign) for term, sign in b)], at_most=constant)

    def _add_moment_rows(self) -> None:
        """Add constraints: operations and moments correspond one to one, and predecessors run first."""
        stages = self.stages
        for v, (first, last) in enumerate(zip(stages.first, stages.last, strict=True)):
            if first < last:
                every = [(self.moment(v, k), 1) for k in range(first, last + 1)]
                self.draft.row_of(("one moment", v), every, at_least=1, at_most=1)
                for u in stages.graph.predecessors[v]:
                    for k in range(first, min(last, stages.last[u]) + 1):
                        self._add_upper_bound("after", self.moment(v, k), self.run_terms(u, k - 1))
        for k in range(stages.n):
            those = [v for v in range(stages.n) if stages.first[v] <= k <= stages.last[v]]
            if len(those) > 1:
                every = [(self.moment(v, k), 1) for v in those]
                self.draft.row_of(("one operation", k), every, at_least=1, at_most=1)

    def _add_memory_rows(self) -> None:
        """Add constraints: a tensor in memory was there before or is written; inputs are in memory; all tensors fit."""
        stages, n = self.stages, self.stages.n
        graph, tensors = stages.graph, range(len(stages.graph.size))
        for t, maker in enumerate(graph.maker):
            for k in range(n + 1):
                if (now := self.presence_term(t, k)) is _ZERO or (maker is None and (now is ONE or k == 0)):
                    continue
                makes = [] if maker is None else [(self.moment(maker, k), 1)]
                was = self.presence_term(t, k - 1) if k else _ZERO
                self._add_upper_bound("made", now, [(was, 1), (self.repetition_term(maker, k), 1), *makes])
        for v, own in enumerate(stages.own):
            for k in range(stages.first[v], stages.last[v] + 1):
                for t in sorted(own):
                    self._add_upper_bound("used", self.moment(v, k), [(self.presence_term(t, k), 1)])
        for k in range(n + 1):
            works = [
                (self.moment(v, k), stages.work[v])
                for v in range(n)
                if stages.work[v] and stages.first[v] <= k <= stages.last[v]
            ]
            held = [(self.presence_term(t, k), stages.size[t]) for t in tensors if stages.size[t]]
            self.draft.row_of(("memory", k), [*held, *works], at_most=stages.budget)

    def _add_stage_rows(self) -> None:
        """Add constraints: a repeated operation ran before, may still run again, and has its inputs."""
        stages = self.stages
        for (word, v, k), at in [(key, at) for key, at in self.draft.at.items() if key[0] == "again"]:
            assert word
            v, k, again = int(v), int(k), Term(at)
            self._add_upper_bound("has run", again, self.run_terms(v, k - 1))
            for w in stages.behind[v] or ():
                self._add_upper_bound("before", again, [(term, -sign) for term, sign in self.run_terms(w, k - 1)], 1)
            for t in stages.own[v].difference(stages.graph.new_tensors[v]):
                makes = self.repetition_term(stages.graph.maker[t], k)
                self._add_upper_bound("input", again, [(self.presence_term(t, k - 1), 1), (makes, 1)])

    def _add_stage_limits(self) -> None:
        """Add constraints: a repeated operation's tensors and all tensors that stay meanwhile fit the budget."""
        stages, n = self.stages, self.stages.n
        sized = [t for t, size in enumerate(stages.size) if size]
        for k in range(1, n + 1):
            runs = [v for v in range(n) if ("again", v, k) in self.draft.at]
            needs = {v: sum(stages.size[t] for t in stages.own[v]) + stages.work[v] for v in runs}
            there = [
                t for t in sized if self.presence_term(t, k - 1) is not _ZERO and self.presence_term(t, k) is not _ZERO
            ]
            total = sum(stages.size[t] for t in there)
            if not runs or total + max(needs.values()) <= stages.budget:
                continue
            stays = {t: self._stay_term(t, k) for t in there}
            stayed = Term(self.draft.column(("stayed", k), 0, total))
            every = [(stays[t], stages.size[t]) for t in there]
            self.draft.row_of(("stayed", k), [*every, (stayed, -1)], at_least=0, at_most=0)
            for v in runs:
                own = [(stays[t], -stages.size[t]) for t in there if t in stages.own[v]]
                beside = total + sum(size for _, size in own)
                if beside + needs[v] > stages.budget:
                    again = (self.repetition_term(v, k), needs[v])
                    self.draft.row_of(("beside", v, k), [(stayed, 1), *own, again], at_most=stages.budget)

    def _stay_term(self, t: int, k: int) -> Term:
        was, now, maker = self.presence_term(t, k - 1), self.presence_term(t, k), self.stages.graph.maker[t]
        makes = [self.repetition_term(maker, k), *([] if maker is None else [self.moment(maker, k)])]
        if was is ONE and now is ONE and all(term is _ZERO for term in makes):
            return ONE
        stays = self._add_bit("stays", t, k)
        both = [(was, 1), (now, 1), *((term, -1) for term in makes)]
        self.draft.row_of(("stays", t, k), [*both, (stays, -1)], at_most=1)
        return stays
