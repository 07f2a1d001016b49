"""The search for the cheapest program within a budget in bytes, and for lower bounds on the cost of all programs."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock

from memplan.extensions.recompute.away import RemovalBounds, peak_lower_bound
from memplan.extensions.recompute.engines import PACKAGE, Engine, engines, is_exact, minimise_by_engine
from memplan.extensions.recompute.rewrite import clone_graph
from memplan.extensions.recompute.snapshots import LARGEST, Snapshots
from memplan.extensions.recompute.stages import Stages
from memplan.extensions.recompute.states import MOST_STATES, can_search, search_states
from memplan.planner.errors import InputError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import bytes_after, peak_of
from memplan.programs.order.search.solve import WORK_PER_S, order_with_control
from memplan.solvers.mip.draft import Draft
from memplan.solvers.search.control import Control

_MOST_COLUMNS = 60_000
"""The maximum number of columns of a stage program (an integer program); engines take too long to read larger ones."""
LARGEST_BOUNDED = 400
"""The maximum number of operations of a graph whose stage program (integer program) may be small enough."""
_ORDER_S = 0.2
"""The time, in seconds, for reordering a program whose stages fit the budget but whose order does not."""
_STATES_SHARE, _SNAPSHOTS_SHARE = 0.3, 0.7
"""The fractions of the remaining time for the search over states, and for the integer program of snapshots."""


@dataclass(frozen=True)
class LeastWork:
    """The cheapest program found within a budget, and its extra cost.

    Every program within the budget costs at least `bound` extra; if `is_none`, no program is within the budget.
    """

    runs: tuple[int, ...] | None
    extra_cost: int | None
    bound: int
    is_none: bool = False


def search_min_work(
    graph: OperationGraph,
    costs: Sequence[int],
    budget: int,
    known: Sequence[int] | None,
    control: Control,
    *,
    away: RemovalBounds | None = None,
    states: int | None = None,
) -> LeastWork:
    """Search for the cheapest program within `budget` bytes, and for a proof that it is the cheapest.

    `known` has the runs of a program within the budget; `away` has the removal bounds unless the graph is too large. A
    bound counts only if both engines confirm it. If `states` limits the search, no engine runs.
    """
    search = _Search(graph, costs, budget, known, control, away or removal_bounds(graph, costs))
    search.search_states(states or MOST_STATES)
    if states is None:
        search.run_engines()
    return LeastWork(search.runs, search.extra_cost, search.bound, search.is_none)


def removal_bounds(graph: OperationGraph, costs: Sequence[int]) -> RemovalBounds | None:
    """Return the removal bounds of a graph; None for a large graph, because computing them would take too long."""
    return RemovalBounds(graph, costs) if len(graph.ops) <= LARGEST else None


class _Search:
    """The search for the cheapest program within a budget: by removal bounds, over states, and by two engines."""

    def __init__(
        self,
        graph: OperationGraph,
        costs: Sequence[int],
        budget: int,
        known: Sequence[int] | None,
        control: Control,
        away: RemovalBounds | None,
    ) -> None:
        """Begin with the program in `known`, if given, and with the bounds that need no search."""
        self.graph, self.costs, self.budget, self.control = graph, costs, budget, control
        self.away, self.lock = away, Lock()
        self.once = sum(costs)
        self.runs = None if known is None else tuple(known)
        self.extra_cost = None if known is None else self._extra_cost(known)
        # Each program needs its bytes at both ends and each operation's bytes, so a lower budget is infeasible.
        ends = bytes_after(graph, range(len(graph.ops)))
        least = 0 if away is None else away.cost_bound(budget)
        self.is_none = least is None or max(peak_lower_bound(graph), ends) > budget
        self.bound = least or 0

    def run_engines(self) -> None:
        """Minimise the programs of snapshots and of stages, until the minimum cost is proved or time is over."""
        if self._is_settled() or self.control.is_over or len(engines()) < len(PACKAGE) or self.away is None:
            return
        is_large = len(self.graph.ops) > LARGEST_BOUNDED
        stages = Stages(self.away, self.budget)
        snapshots = Snapshots(stages)
        if snapshots.chain:
            self._minimise_by_both(snapshots, self.control if is_large else self.control.child(_SNAPSHOTS_SHARE))
        if not is_large and stages.count_columns(self._max_cost(stages)) <= _MOST_COLUMNS:
            self._minimise_by_both(stages, self.control)

    def _max_cost(self, program: Stages | Snapshots) -> int:
        return program.max_cost if self.extra_cost is None else (self.extra_cost - 1) // program.cost_unit

    def _minimise_by_both(self, program: Stages | Snapshots, control: Control) -> None:
        """Minimise an integer program with HiGHS and CP-SAT: in parallel or, with counted work, one after the other."""
        refuted = dict.fromkeys(PACKAGE, 0)

        def minimise_by_one(engine: Engine) -> None:
            """Minimise the integer program with one engine, and record the bound that the engine proves."""
            most = self._max_cost(program)
            draft = program.draft(min(most, self.bound // program.cost_unit), most)
            if self._is_settled() or control.is_over or not is_exact(draft):
                return
            said = minimise_by_engine(
                engine, draft, control, partial(self._record_solution, program, draft), self._is_settled
            )
            with self.lock:
                refuted[engine] = most + 1 if said.is_none else said.bound
                self._record_bound(program, min(refuted.values()))

        if control.counts_work:
            for engine in PACKAGE:
                minimise_by_one(engine)
        else:
            with ThreadPoolExecutor(len(PACKAGE), thread_name_prefix="memplan-engine") as pool:
                list(pool.map(minimise_by_one, PACKAGE))

    def _record_bound(self, program: Stages | Snapshots, least: int) -> None:
        if self.extra_cost is None and least > program.max_cost:
            self.is_none = True
        else:
            bound = least * program.cost_unit
            self.bound = max(self.bound, bound if self.extra_cost is None else min(bound, self.extra_cost))

    def search_states(self, most_states: int) -> None:
        """Search up to `most_states` states for the minimum cost, if the graph is small enough."""
        if self._is_settled() or not can_search(self.graph, self.costs):
            return
        most = None if self.extra_cost is None else self.extra_cost - 1
        with self.control.child(_STATES_SHARE).search_control(WORK_PER_S) as watched:
            found = search_states(self.graph, self.costs, self.budget, most, watched, most_states)
        if found.runs is not None:
            self._record_program(found.runs)
        if found.bound is not None:
            self.bound = max(self.bound, found.bound if self.extra_cost is None else min(found.bound, self.extra_cost))
        elif self.extra_cost is None:
            self.is_none = True
        else:
            # The search visited all states and found no cheaper program, so the known program has the minimum cost.
            self.bound = self.extra_cost

    def _record_solution(self, program: Stages | Snapshots, draft: Draft, values: Sequence[int]) -> bool:
        # The snapshot program is a relaxation whose solutions may be no valid programs, so record only stage programs.
        if not isinstance(program, Stages):
            return False
        with self.lock:
            return self._record_program(program.sequence(draft, values))

    def _record_program(self, runs: Sequence[int]) -> bool:
        """Record a program if it is cheaper and some order fits the budget; return True if no program is cheaper."""
        cost = self._extra_cost(runs)
        if self.extra_cost is None or cost < self.extra_cost:
            try:
                program = clone_graph(self.graph, runs)
            except InputError:
                return False
            order: Sequence[int] = range(len(program.runs))
            if peak_of(program.graph, order) > self.budget:
                order = order_with_control(program.graph, self.control.limit_to(_ORDER_S)).order
            if peak_of(program.graph, order) <= self.budget:
                self.runs = tuple(program.runs[k] for k in order)
                self.extra_cost = self._extra_cost(self.runs)
        return self._is_settled()

    def _extra_cost(self, runs: Sequence[int]) -> int:
        return sum(self.costs[v] for v in runs) - self.once

    def _is_settled(self) -> bool:
        return self.is_none or (self.extra_cost is not None and self.extra_cost <= self.bound)
