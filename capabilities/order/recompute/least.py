"""The least cost of what runs again within a budget: programs, and what no program is below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.capabilities.order.recompute.engines import Said, ask, engines, is_exact
from memplan.capabilities.order.recompute.rewrite import rewritten
from memplan.capabilities.order.recompute.stages import Stages
from memplan.capabilities.order.search.solve import bound_unsearched, order_unplanned
from memplan.planner.errors import InputError
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import bytes_after, peak_of
from memplan.solvers.search.control import Control

_MOST_COLUMNS = 60_000
"""A larger program of stages is not written: engines take longer to read it than it is worth."""
_ORDER_S = 0.2
"""The time for the order of a program whose stages are within the budget, and which is not."""
_FIRST_SHARE = 0.5


@dataclass(frozen=True)
class LeastWork:
    """What is known of the programs within a budget: the cheapest that was found, if any, and its cost.

    None costs less than `bound`; where there `is_none`, no program is within.
    """

    runs: tuple[int, ...] | None
    extra_cost: int | None
    bound: int
    is_none: bool = False

    @property
    def is_open(self) -> bool:
        """True unless the least cost is known, or that there is none."""
        return not self.is_none and (self.extra_cost is None or self.extra_cost > self.bound)


def least_work(
    graph: OperationGraph, costs: Sequence[int], budget: int, known: Sequence[int] | None, control: Control
) -> LeastWork:
    """Look for the cheapest program within a budget, and for a proof that none is cheaper.

    `known` is one that is within, as operations run. A bound that an engine states counts once another one states it,
    too.
    """
    search = _Search(graph, costs, budget, known, control)
    search.run()
    return LeastWork(search.runs, search.extra_cost, search.bound, search.is_none)


class _Search:
    def __init__(
        self,
        graph: OperationGraph,
        costs: Sequence[int],
        budget: int,
        known: Sequence[int] | None,
        control: Control,
    ) -> None:
        self.graph, self.costs, self.budget, self.control = graph, costs, budget, control
        self.once = sum(costs)
        self.runs = None if known is None else tuple(known)
        self.extra_cost = None if known is None else self._cost(known)
        self.bound = 0
        # What one operation needs, and what there is at either end, is there in any program.
        ends = bytes_after(graph, range(len(graph.ops)))
        self.is_none = max(bound_unsearched(graph)[0], ends) > budget

    def run(self) -> None:
        """Ask the engines, until the least cost is known or the time is over."""
        stages = Stages(self.graph, self.costs, self.budget)
        both = engines()
        if self._is_settled() or len(both) < 2 or stages.n_columns > _MOST_COLUMNS or self.control.is_over:
            return
        refuted = []
        for k, engine in enumerate(both):
            share = self.control.child(_FIRST_SHARE if k == 0 else 1.0)
            refuted.append(self._asked(engine, stages, share))
            if refuted[-1] == 0 or self.control.is_over:
                return
        least = min(refuted) * stages.cost_unit
        if least > stages.most_cost * stages.cost_unit:
            self.is_none = True
        else:
            self.bound = max(self.bound, least if self.extra_cost is None else min(least, self.extra_cost))

    def _asked(self, engine: str, stages: Stages, control: Control) -> int:
        """Return the cost, in units, that no program is below as an engine says."""
        most = stages.most_cost if self.extra_cost is None else self.extra_cost // stages.cost_unit - 1
        draft = stages.draft(0, most)
        if not is_exact(draft):
            return 0
        said: Said = ask(engine, draft, control, lambda values: self._take(stages.sequence(draft, values)))
        return most + 1 if said.is_none else said.bound

    def _take(self, runs: Sequence[int]) -> bool:
        """Keep a program that is within the budget, in this order or another one; return True once all is known."""
        cost = self._cost(runs)
        if self.extra_cost is None or cost < self.extra_cost:
            try:
                program = rewritten(self.graph, runs)
            except InputError:
                return False
            order: Sequence[int] = range(len(program.runs))
            if peak_of(program.graph, order) > self.budget:
                order = order_unplanned(program.graph, self.control.within(_ORDER_S)).order
            if peak_of(program.graph, order) <= self.budget:
                self.runs = tuple(program.runs[k] for k in order)
                self.extra_cost = self._cost(self.runs)
        return self._is_settled()

    def _cost(self, runs: Sequence[int]) -> int:
        return sum(self.costs[v] for v in runs) - self.once

    def _is_settled(self) -> bool:
        return self.is_none or (self.extra_cost is not None and self.extra_cost <= self.bound)
