"""The order of operations with the least peak: reductions, then one search for each part that still matters."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal

from memplan.capabilities.order.search.allowance import WORK_PER_S, Allowance, allowance
from memplan.capabilities.order.search.cuts import Cut
from memplan.capabilities.order.search.macros import MacroGraph, macro_graph
from memplan.capabilities.order.search.nearness import moves_of
from memplan.capabilities.order.search.part_search import PartSearch, RefusedBudget
from memplan.capabilities.order.search.parts import parts_of
from memplan.capabilities.order.search.regions import OrderedRegions, RegionOrder, with_regions_ordered
from memplan.capabilities.order.search.starts import breadth_first, depth_first
from memplan.planner.errors import InvalidPlanError, OptionError
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import bytes_after, bytes_along, bytes_beside, peak_of

TIME_LIMIT_S = 60.0


@dataclass(frozen=True)
class StateWitness:
    """The bound is the bytes alive after exactly `done` has run: every order has that state."""

    done: tuple[int, ...]
    kind: Literal["state"] = "state"


@dataclass(frozen=True)
class CutWitness:
    """The bound is the bytes alive while `operation` runs after exactly `done`; no state where it can run has fewer."""

    operation: int
    done: tuple[int, ...]
    kind: Literal["cut"] = "cut"


@dataclass(frozen=True)
class ExhaustionWitness:
    """The bound is one more than `budget`: a complete search of `operations` in this direction found none within."""

    budget: int
    direction: Literal["forward", "backward"]
    operations: tuple[int, ...]
    kind: Literal["exhaustion"] = "exhaustion"


Witness = StateWitness | CutWitness | ExhaustionWitness


@dataclass(frozen=True)
class OrderResult:
    """An order of operations, by their positions, and how good it is known to be; bytes, and seconds.

    `graph` is the one that the order is of, with its regions in the orders that were found, `regions` those that differ
    from the given ones. `wall_time_s` is None for a deterministic search.
    """

    order: tuple[int, ...]
    peak: int
    lower_bound: int
    given_peak: int
    witness: Witness
    wall_time_s: float | None
    graph: OperationGraph
    regions: tuple[RegionOrder, ...] = ()

    @property
    def status(self) -> Literal["optimal", "feasible"]:
        """Say whether the peak is proved to be the least."""
        return "optimal" if self.peak == self.lower_bound else "feasible"

    @property
    def gap(self) -> float | None:
        """Return peak / lower bound - 1; None where the bound is 0 and the peak is not."""
        if self.peak == self.lower_bound:
            return 0.0
        return self.peak / self.lower_bound - 1 if self.lower_bound else None

    @property
    def moves(self) -> int:
        """Return the fewest operations that have to be moved to make the order of the given one."""
        return moves_of(self.order)


def given_order(graph: OperationGraph) -> OrderResult:
    """Return the given order as an answer, with the bound that takes no search: the bytes alive before all of it."""
    order, start = tuple(range(len(graph.ops))), bytes_after(graph, ())
    peak = peak_of(graph, order)
    return OrderResult(order, peak, start, peak, StateWitness(()), None, graph)


def order_operations(
    graph: OperationGraph,
    *,
    time_limit_s: float = TIME_LIMIT_S,
    deterministic: bool = False,
    cancelled: threading.Event | None = None,
) -> OrderResult:
    """Find an order of operations with the least peak, and prove it if that can be done in time.

    Regions are ordered first, inside, for half of the time at most.
    The result is never worse than the given order, breadth first and depth first. A `deterministic`
    search counts work instead of time, and gives one result everywhere. `cancelled` ends the search when it is set.
    Raises OptionError for a time limit below 0, InvalidPlanError for an order that the check rejects.
    """
    began = time.monotonic()
    inside = order_regions(graph, time_limit_s, deterministic, cancelled)
    with allowance(inside.rest_s, deterministic, cancelled) as left:
        search = OrderSearch(inside.ordered.graph, left)
        search.run()
    return inside.result_of(search.result(), began)


@dataclass(frozen=True)
class OrderedInside:
    """A graph as it was given, and with its regions ordered; `rest_s` is the time left for the graph itself."""

    given: OperationGraph
    ordered: OrderedRegions
    rest_s: float

    def result_of(self, found: OrderResult, began: float) -> OrderResult:
        """Return a result for the ordered graph as one for the given graph, whose search began at a time."""
        wall_time_s = None if found.wall_time_s is None else round(time.monotonic() - began, 6)
        found = replace(found, wall_time_s=wall_time_s)
        if self.ordered.graph is self.given:
            return found
        given_peak = peak_of(self.given, range(len(self.given.ops)))
        least = _least(found, self.ordered.slack)
        return replace(found, lower_bound=least, given_peak=given_peak, regions=self.ordered.orders)


def order_regions(
    graph: OperationGraph, time_limit_s: float, deterministic: bool, cancelled: threading.Event | None
) -> OrderedInside:
    """Order the regions of a graph, for half of the time at most; raises OptionError for a limit that is none."""
    check_limit(time_limit_s)
    rest_s, began = time_limit_s / 2, time.monotonic()

    def order_of(region: OrderedRegions) -> tuple[Sequence[int], int]:
        nonlocal rest_s
        limit_s, since = max(0.0, rest_s / 2), time.monotonic()
        with allowance(limit_s, deterministic, cancelled) as left:
            search = OrderSearch(region.graph, left)
            given_work = left.work_left
            search.run()
            rest_s -= (given_work - left.work_left) / WORK_PER_S if deterministic else time.monotonic() - since
        found = search.result()
        order = found.order if found.peak < found.given_peak else range(len(region.graph.ops))
        return order, _least(found, region.slack)

    ordered = with_regions_ordered(graph, order_of)
    left_s = time_limit_s if deterministic else max(0.0, time_limit_s - (time.monotonic() - began))
    return OrderedInside(graph, ordered, left_s)


def _least(found: OrderResult, slack: Sequence[int]) -> int:
    """Return what is left of a bound if operations needed less work by their `slack`: no peak falls by more."""
    return max(0, found.lower_bound - max(slack, default=0))


def check_limit(time_limit_s: float) -> None:
    """Raise OptionError for a time limit that is below 0 or not finite."""
    if not 0 <= time_limit_s < float("inf"):
        raise OptionError(f"time_limit_s: must be at least 0 and finite, got {time_limit_s}")


class OrderSearch:
    """The search of one graph, part by part; it can give other orders when it has ended."""

    def __init__(self, graph: OperationGraph, left: Allowance) -> None:
        self._graph, self._left, self._began = graph, left, time.monotonic()
        self._starts = [list(range(len(graph.ops))), breadth_first(graph), depth_first(graph)]
        self._start_peaks = [peak_of(graph, start) for start in self._starts]
        self._reduced = macro_graph(graph)
        self._searches = _searches(self._reduced, self._starts, left)

    def run(self) -> None:
        """Search until the peak is proved to be the least, or the allowance is used up."""
        _search(self._searches, self._left)

    def result(self) -> OrderResult:
        """Return the best order, checked; raises InvalidPlanError for one that the check rejects."""
        searches, reduced = self._searches, self._reduced
        needed = max((search.peak for search in searches), default=0)
        found = self._operations(search.members_within(needed) for search in searches)
        starts = zip(self._start_peaks, self._starts, strict=True)
        # The given order stands first: it is the answer wherever its peak is the least.
        peak, order = min([*starts, (peak_of(self._graph, found), found)], key=itemgetter(0))
        best = max(searches, key=lambda search: search.bound, default=None)
        bound = best.bound if best else reduced.start
        witness = _witness(self._graph, reduced, best) if best else StateWitness(())
        wall_time_s = None if self._left.deadline is None else round(time.monotonic() - self._began, 6)
        result = OrderResult(tuple(order), peak, bound, self._start_peaks[0], witness, wall_time_s, self._graph)
        _check(self._graph, result)
        return result

    def use(self, left: Allowance) -> None:
        """Go on with another allowance."""
        self._left = left
        for search in self._searches:
            search.use(left)

    def another(self, budget: int, seed: int) -> tuple[int, ...] | None:
        """Return an order within a budget that depends on the seed, None where none is found quickly."""
        found = [search.another(budget, seed) for search in self._searches]
        members = [row for row in found if row is not None]
        return tuple(self._operations(members)) if len(members) == len(found) else None

    def _operations(self, members: Iterable[list[int]]) -> list[int]:
        return self._reduced.operations_of(v for row in members for v in row)


def _searches(reduced: MacroGraph, starts: list[list[int]], left: Allowance) -> list[PartSearch]:
    """Return a search for each part, with the given orders as far as they are about it."""
    ranks = []
    for start in starts:
        order = reduced.order_of(start)
        ranks.append({v: k for k, v in enumerate(order)})
    searches = []
    for part in parts_of(reduced):
        orders = [sorted(range(len(part.members)), key=lambda k: rank[part.members[k]]) for rank in ranks]
        searches.append(PartSearch(reduced, part, orders, left))
    return searches


def _search(searches: list[PartSearch], left: Allowance) -> None:
    """Work on the part with the largest peak, until that is proved or the time is over."""
    while searches and not left.is_over:
        floor = max(search.bound for search in searches)
        highest = max(searches, key=lambda search: search.peak)
        # No other part can be higher than this one's proof, so what is open in them does not matter.
        if not highest.is_open(floor):
            return
        highest.advance(floor)


def _witness(graph: OperationGraph, reduced: MacroGraph, best: PartSearch) -> Witness:
    """Say what proves the bound of a part, in operations."""
    proof, members = best.proof, best.part.members
    done = reduced.operations_of(range(members[0]))
    if isinstance(proof, RefusedBudget):
        return ExhaustionWitness(proof.budget, proof.direction, tuple(reduced.operations_of(members)))
    if isinstance(proof, Cut):
        done += reduced.operations_of(members[k] for k in proof.done)
        running = reduced.macros[members[proof.macro]].operations
        at = bytes_along(graph, [*done, *running]).index(proof.bound, len(done)) - len(done)
        return CutWitness(running[at], (*done, *running[:at]))
    # Of the bytes alive before and after the part the larger ones are the bound.
    if best.part.end > best.part.start:
        done += reduced.operations_of(members)
    return StateWitness(tuple(done))


def _check(graph: OperationGraph, result: OrderResult) -> None:
    """Raise InvalidPlanError for a bound above the peak, or a witness that does not have the bytes of the bound."""
    witness = result.witness
    if result.lower_bound > result.peak:
        raise InvalidPlanError(f"lower_bound: must be at most the peak ({result.peak}), got {result.lower_bound}")
    if isinstance(witness, ExhaustionWitness):
        found = witness.budget + 1
    elif isinstance(witness, CutWitness):
        found = bytes_beside(graph, set(witness.done), witness.operation)
    else:
        found = bytes_after(graph, witness.done)
    if found != result.lower_bound:
        raise InvalidPlanError(f"lower_bound: must be what its witness has ({found}), got {result.lower_bound}")
