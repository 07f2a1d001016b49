"""The search for the operation order with the lowest peak: reductions, then a search of each part that matters."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from operator import itemgetter

from memplan.planner.errors import InvalidPlanError, OptionError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import (
    bytes_after,
    bytes_during,
    bytes_needed,
    live_bytes_by_operation,
    peak_of,
)
from memplan.programs.order.answer import CutWitness, ExhaustionWitness, NeedWitness, OrderAnswer, StateWitness, Witness
from memplan.programs.order.options import TIME_LIMIT_S
from memplan.programs.order.search.cuts import Cut
from memplan.programs.order.search.macros import macro_graph
from memplan.programs.order.search.part_search import PartSearch, RefusedBudget
from memplan.programs.order.search.parts import parts_of
from memplan.programs.order.search.regions import OrderedRegions, order_inner_regions
from memplan.programs.order.search.starts import breadth_first, depth_first
from memplan.questions.inputs import PlanAndProblem
from memplan.solvers.search.control import Control

LARGE = 2000
"""The number of operations above which preparing a search takes long, so the time limit is checked."""
WORK_PER_S = 20_000_000
"""The number of work units that count as one second; running one macro takes about one unit."""


def answer_for_given_order(graph: OperationGraph) -> OrderAnswer:
    """Return the answer for the given order; its lower bound needs no search."""
    order = range(len(graph.ops))
    peak, (bound, witness) = peak_of(graph, order), bound_unsearched(graph)
    return OrderAnswer.from_order(graph, order, peak, bound, peak, witness=witness, wall_time_s=None)


def bound_unsearched(graph: OperationGraph) -> tuple[int, Witness]:
    """Return (lower bound on the peak, its witness), found without a search: bytes at the start or of one operation."""
    before = bytes_after(graph, ())
    need, first = max(((bytes_needed(graph, v), -v) for v in range(len(graph.ops))), default=(0, 0))
    return (need, NeedWitness(-first)) if need > before else (before, StateWitness(()))


def order_operations(
    graph: OperationGraph,
    *,
    time_limit_s: float = TIME_LIMIT_S,
    deterministic: bool = False,
    cancelled: threading.Event | None = None,
) -> OrderAnswer:
    """Find an order of operations with the least peak, and prove its optimality if time allows, without a plan.

    Regions inside operations are ordered first, for at most half of the time. The result is never worse than the given,
    the breadth-first and the depth-first order.

    Parameters
    ----------
    graph : OperationGraph
        The sizes of the tensors in bytes, and the operations.
    time_limit_s : float
        The maximum number of seconds until the answer.
    deterministic : bool
        Count work instead of time, so that the result is the same on every machine.
    cancelled : threading.Event, optional
        Ends the search when it is set.

    Returns
    -------
    OrderAnswer
        The order by positions in the graph, its peak and the bound in bytes.

    Raises
    ------
    OptionError
        If the time limit is below 0 or not finite.
    InvalidPlanError
        If the independent check rejects the order.
    """
    if not 0 <= time_limit_s < float("inf"):
        raise OptionError(f"time_limit_s: must be at least 0 and finite, got {time_limit_s}")
    return order_with_control(graph, Control.from_limit(time_limit_s, deterministic, cancelled))


def order_with_control(graph: OperationGraph, control: Control) -> OrderAnswer:
    """Order operations as `order_operations` does, until `control` ends the search."""
    inside = order_regions(graph, control)
    with control.search_control(WORK_PER_S) as watched:
        search = OrderSearch(inside, watched)
        search.run()
    return search.answer(search.best_order(), control)


def order_regions(graph: OperationGraph, control: Control) -> OrderedRegions:
    """Order the regions of a graph in at most half of the time; return the graph with these orders."""
    rest_s = control.remaining_s / 2

    def order_of(region: OrderedRegions, _: tuple[int, ...]) -> tuple[Sequence[int], int]:
        """Search an order of a region in half of the remaining time; return it and a lower bound on the peak."""
        nonlocal rest_s
        since = time.monotonic()
        with control.limit_to(max(0.0, rest_s / 2)).search_control(WORK_PER_S) as watched:
            search = OrderSearch(region, watched)
            given_work = int(watched.work_left[0])
            search.run()
            spent = (given_work - int(watched.work_left[0])) / WORK_PER_S
            rest_s -= spent if control.counts_work else time.monotonic() - since
        return search.best_order(), search.bound_inside

    return order_inner_regions(graph, order_of)


class OrderSearch:
    """The search of a graph with ordered regions, part by part; afterwards, it can return further orders."""

    def __init__(self, inside: OrderedRegions, left: Control) -> None:
        """Reduce a graph with ordered regions to parts, before any search; `left` limits time and work."""
        self._inside, self._graph, self._left = inside, (graph := inside.graph), left
        self._unsearched = bound_unsearched(graph)
        self._starts = [list(range(len(graph.ops)))]
        self._searches: list[PartSearch] = []
        for start in (breadth_first, depth_first):
            if not self._is_late():
                self._starts.append(start(graph))
        self._start_peaks = [peak_of(graph, start) for start in self._starts]
        if self._is_late():
            return
        self._reduced = macro_graph(graph, self._is_late)
        if self._is_late():
            return
        ranks = [{v: k for k, v in enumerate(self._reduced.order_of(start))} for start in self._starts]
        for part in parts_of(self._reduced):
            # Each part is searched separately, so restrict each starting order to the members of the part.
            orders = [sorted(range(len(part.members)), key=lambda k: rank[part.members[k]]) for rank in ranks]
            self._searches.append(PartSearch(self._reduced, part, orders, left))

    def _is_late(self) -> bool:
        return len(self._graph.ops) > LARGE and self._left.is_over

    def run(self) -> None:
        """Search the part with the highest peak until that peak is proved minimal or the time is over."""
        while self._searches and not self._left.is_over:
            floor = self._search_bound
            highest = max(self._searches, key=lambda search: search.peak)
            # The part with the highest peak determines the whole order's peak, so end the search once it is proved.
            if not highest.is_open(floor):
                return
            highest.advance(floor)

    def best_order(self) -> tuple[int, ...]:
        """Return the best order found; raises InvalidPlanError if the independent check rejects it."""
        needed = max((search.peak for search in self._searches), default=0)
        known = [*zip(self._start_peaks, self._starts, strict=True)]
        if self._searches:
            order = self._operations_of(search.members_within(needed) for search in self._searches)
            known.append((peak_of(self._graph, order), order))
        # The given order is listed first, so min() selects it unless another order has a lower peak.
        peak, order = min(known, key=itemgetter(0))
        check_bound(self._graph, peak, self.bound, self.witness())
        return tuple(order)

    def answer(self, order: Sequence[int], control: Control, placed: PlanAndProblem | None = None) -> OrderAnswer:
        """Return the answer for the given order, with the bounds that the search has proved."""
        graph = self._inside.given or self._graph
        return OrderAnswer.from_order(
            graph,
            order,
            peak_of(self._graph, order),
            self.bound_inside,
            self._start_peaks[0] if graph is self._graph else peak_of(graph, range(len(graph.ops))),
            ordered=self._graph,
            placed=placed,
            witness=self.witness(),
            regions=self._inside.orders,
            wall_time_s=control.wall_time_s,
        )

    @property
    def bound_inside(self) -> int:
        """The lower bound on the peak over all orders of the graph's operations and of its regions' operations."""
        return max(0, self.bound - self._inside.slack)

    @property
    def bound(self) -> int:
        """The proved lower bound on the peak over all orders of the graph whose regions keep their present orders."""
        return max(self._search_bound, self._unsearched[0])

    @property
    def _search_bound(self) -> int:
        return max((search.bound for search in self._searches), default=0)

    def witness(self) -> Witness:
        """Return the witness of the bound, expressed in operations instead of macros."""
        if self._search_bound < self._unsearched[0] or not self._searches:
            return self._unsearched[1]
        reduced, best = self._reduced, max(self._searches, key=lambda search: search.bound)
        proof, members = best.proof, best.part.members
        done = reduced.operations_of(range(members[0]))
        if isinstance(proof, RefusedBudget):
            return ExhaustionWitness(proof.budget, proof.direction, tuple(reduced.operations_of(members)))
        if isinstance(proof, Cut):
            done += reduced.operations_of(members[k] for k in proof.done)
            running = reduced.macros[members[proof.macro]].operations
            along = live_bytes_by_operation(self._graph, [*done, *running])
            at = along.index(proof.bound, len(done)) - len(done)
            return CutWitness(running[at], (*done, *running[:at]))
        # Without a proof, the live bytes at a part's start and end bound its peak, so return the larger state.
        if best.part.end > best.part.start:
            done += reduced.operations_of(members)
        return StateWitness(tuple(done))

    def set_control(self, left: Control, goal: int = 0) -> None:
        """Replace the limits of time and work; from now on, the search ends at a peak of at most `goal` bytes."""
        self._left = left
        for search in self._searches:
            search.set_control(left, goal)

    def random_order(self, budget: int, seed: int) -> tuple[int, ...] | None:
        """Return a random order whose peak is within a budget, or None if none is found quickly."""
        orders = [search.random_order(budget, seed) for search in self._searches]
        members = [row for row in orders if row is not None]
        return tuple(self._operations_of(members)) if members and len(members) == len(orders) else None

    def _operations_of(self, members: Iterable[list[int]]) -> list[int]:
        return self._reduced.operations_of(v for row in members for v in row)


def check_bound(graph: OperationGraph, peak: int, bound: int, witness: Witness) -> None:
    """Raise InvalidPlanError if a lower bound exceeds the peak, or differs from the bound that its witness proves."""
    if bound > peak:
        raise InvalidPlanError(f"lower_bound: must be at most the peak ({peak}), got {bound}")
    if isinstance(witness, ExhaustionWitness):
        proved_bound = witness.budget + 1
    elif isinstance(witness, NeedWitness):
        proved_bound = bytes_needed(graph, witness.operation)
    elif isinstance(witness, CutWitness):
        proved_bound = bytes_during(graph, set(witness.done), witness.operation)
    else:
        proved_bound = bytes_after(graph, witness.done)
    if proved_bound != bound:
        raise InvalidPlanError(f"lower_bound: must equal the bound of its witness ({proved_bound}), got {bound}")
