"""The search of one part of a graph: bounds by cuts, depth-first search by bisection, and windows of the best order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memplan.programs.order.core.kernels import BY_HILL, BY_VALLEY
from memplan.programs.order.search.cuts import Cut, Cuts
from memplan.programs.order.search.macros import MacroGraph
from memplan.programs.order.search.parts import OrderPart
from memplan.programs.order.search.twins import encode_twins
from memplan.programs.order.search.windows import OrderOutcome, Way, improve_windows, search_depth_first
from memplan.solvers.search.control import Control

_WAYS = (Way(False, BY_HILL, 1), Way(True, BY_HILL, 1), Way(False, BY_VALLEY, 6), Way(True, BY_VALLEY, 6))
_GREEDY = Way(True, BY_VALLEY, 0)
_SLOW = 3000
"""The number of macros above which depth-first search is slow, so that windows are tried before it."""
_MOST_NODES = 8_000_000
_TREE_NODES = 64
"""The factor by which the state limit rises for a search from the root of a tree, where there are few branches."""
_MOST_MISSES = 30
"""The maximum number of consecutive cuts in the first round that fail to raise the bound."""
_WORK_PER_CUT = 20
"""The work units that a cut takes for each macro of the part; `WORK_PER_S` units count as one second."""
_WINDOWED = 120
"""The minimum number of macros of a part for which windows of an order are searched separately."""


@dataclass(frozen=True)
class RefusedBudget:
    """The proof by a complete search that no order has a peak of at most `budget` bytes."""

    budget: int
    direction: Literal["forward", "backward"]


class PartSearch:
    """The search of a part, with the best order and the lower bound that it has found so far."""

    def __init__(self, graph: MacroGraph, part: OrderPart, starts: Sequence[list[int]], control: Control) -> None:
        """Begin the search of a part with the best of the orders in `starts`."""
        self.part = part
        self._given = starts[0]
        self._graph, self._control, self._goal = graph, control, 0
        self.order: list[int] = []
        self.peak = self._narrowed = 2**63 - 1
        self._wide: list[int] = []
        for order in starts:
            self._keep_if_better(order)
        self.bound = max(part.start, part.end)
        self.proof: Cut | RefusedBudget | None = None
        # A part with one macro has one order, so the peak of that order is also the lower bound.
        if len(part.members) == 1:
            self.bound, self.proof = self.peak, Cut(self.peak, [], 0)
        self._cuts: Cuts | None = None
        self._was_cut: set[tuple[int, int]] = set()
        self._most_misses = _MOST_MISSES
        self._alike: OrderPart | None = None
        self._tree_way = _tree_way(part)
        # In a tree, this kind of search commits every segment that fits without branching, so run this kind first.
        self._ways = sorted(_WAYS, key=lambda way: way != self._tree_way)
        # The node limit grows fourfold per round, so all failed rounds cost at most a third of the successful round.
        self._node_limit = 4 * len(part.members) + 1000
        self._round = 0

    def members_within(self, peak: int) -> list[int]:
        """Return the members in the given order if its peak is at most `peak`, else in the best order found."""
        order = self._given if self.part.peak(self._given) <= peak else self.order
        return [self.part.members[k] for k in order]

    def set_control(self, control: Control, goal: int = 0) -> None:
        """Replace the limits of time and work; from now on, the search ends at a peak of at most `goal` bytes."""
        self._control, self._goal = control, goal

    def random_order(self, budget: int, seed: int) -> list[int] | None:
        """Return the members in a random order whose peak is within a budget, or None if none is found quickly."""
        # Orders should differ by more than tie-breaking, so the seed also selects the kind of search that runs first.
        ways = [*self._ways[seed % len(_WAYS) :], *self._ways[: seed % len(_WAYS)]]
        for way in ways if seed else ():
            outcome = search_depth_first(
                self.part, way, budget, 2 * len(self.part.members) + 100, self._control.raised, seed
            )
            self._control.spend(outcome.work)
            if outcome.order is not None:
                return [self.part.members[k] for k in outcome.order]
        return self.members_within(budget) if self.peak <= budget else None

    def is_open(self, floor: int) -> bool:
        """Return True if a lower peak is possible and useful: the peak exceeds the bound, the goal and `floor`."""
        return max(self.bound, floor, self._goal) < self.peak

    def advance(self, floor: int) -> None:
        """Run one round of the search for peaks above `floor`, cheap steps first; each later round takes longer."""
        n = len(self.part.members)
        if self._round == 0:
            self._raise_bound_by_cuts(floor)
            if n < _WINDOWED and self._can_continue(floor):
                # For wide parts, windows of other orders are better, so try a greedy order only for narrow parts.
                outcome = search_depth_first(self.part, _GREEDY, self.peak - 1, n + 100, self._control.raised)
                self._record_outcome(outcome, _GREEDY)
            if n <= _SLOW:
                self._bisect(floor, n + 100)
            self._raise_bound_by_cuts(floor)
        else:
            if n >= _WINDOWED:
                self._search_windows(floor)
            self._raise_bound_by_cuts(floor)
            self._search_for_less(floor)
            self._bisect(floor, self._node_limit)
            self._bisect(floor, 2 * n + 100, seed=self._round)
            self._node_limit = min(4 * self._node_limit, _MOST_NODES)
            self._most_misses *= 4
        self._round += 1

    def _can_continue(self, floor: int) -> bool:
        return self.is_open(floor) and not self._control.is_over

    def _keep_if_better(self, order: list[int] | None) -> None:
        if order is not None and (peak := self.part.peak(order)) < self.peak:
            self.order, self.peak = order, peak

    def _record_outcome(self, outcome: OrderOutcome, way: Way) -> bool:
        self._control.spend(outcome.work)
        if outcome.order is not None:
            self._keep_if_better(outcome.order)
        elif outcome.above is not None and outcome.above > self.bound:
            self.bound = min(outcome.above, self.peak)
            self.proof = RefusedBudget(self.bound - 1, "forward" if way.is_forward else "backward")
        return outcome.order is not None or outcome.above is not None

    def _raise_bound_by_cuts(self, floor: int) -> None:
        """Raise the bound by minimum cuts at the steps of the best order that have the most live bytes."""
        if self._cuts is None:
            self._cuts = Cuts(self._graph, self.part, self._control.raised)
        misses = 0
        for macro, step, bytes_ in sorted(self.part.peaks(self.order), key=lambda found: -found[2]):
            if bytes_ <= max(self.bound, floor) or misses == self._most_misses or not self._can_continue(floor):
                return
            if (macro, step) in self._was_cut:
                continue
            self._was_cut.add((macro, step))
            cut = self._cuts.cut(macro, step)
            self._control.spend(_WORK_PER_CUT * len(self.order))
            misses += 1
            if cut is not None and cut.bound > self.bound:
                self.bound, self.proof = cut.bound, cut
                misses = 0

    def _search_within_budget(self, way: Way, budget: int, node_limit: int, seed: int = 0) -> bool:
        """Search depth first for an order within a budget; return True if an order was found or a bound was proved."""
        if self._alike is None:
            self._alike = encode_twins(self.part)
        if way == self._tree_way:
            node_limit = min(_TREE_NODES * node_limit, _MOST_NODES)
        outcome = search_depth_first(self._alike, way, budget, node_limit, self._control.raised, seed)
        if not self._record_outcome(outcome, way):
            return False
        # The kind of search that succeeded may succeed again, so move it to the front.
        self._ways.remove(way)
        self._ways.insert(0, way)
        return True

    def _bisect(self, floor: int, node_limit: int, seed: int = 0) -> None:
        """Bisect the budget between bound and best peak; the kind of search that last succeeded is tried first."""
        low = max(self.bound, floor)
        has_moved = False
        while self._can_continue(floor) and low < self.peak:
            # The minimum peak of most real graphs equals the lower bound, so try the bound before halving the gap.
            budget = (low + self.peak - 1) // 2 if has_moved else low
            peak, bound = self.peak, self.bound
            for way in list(self._ways):
                if self._search_within_budget(way, budget, node_limit, seed) or not self._can_continue(floor):
                    break
            has_moved = True
            if self.peak == peak:
                low = max(budget + 1, self.bound, floor)
                # Closing a small gap takes many states, so leave a gap below 0.05 % to the larger later rounds.
                if self.bound == bound and self.peak - low < self.peak // 2000:
                    return

    def _search_for_less(self, floor: int) -> None:
        for way in list(self._ways):
            while self._can_continue(floor) and self._search_within_budget(way, self.peak - 1, self._node_limit):
                pass

    def _search_windows(self, floor: int) -> None:
        """Lower the peak by reordering windows of the best order or, after no progress, of an earlier order."""
        is_better = self.peak < self._narrowed
        self._wide = self._wide or self.order
        start, seed = (self.order, 0) if is_better else (self._wide, self._round - 1)
        if self._can_continue(floor):
            for order in improve_windows(self._graph, self.part, start, max(self.bound, floor), self._control, seed):
                self._keep_if_better(order)
                if not self.is_open(floor):
                    break
            self._narrowed = self.peak


def _tree_way(part: OrderPart) -> Way | None:
    """Return the kind of search, from the roots, for a part whose macros form trees; None for other parts."""
    moves = part.forward.table
    if (moves.next_first[1:] - moves.next_first[:-1]).max(initial=0) <= 1:
        return Way(False, BY_VALLEY, 6)
    return Way(True, BY_VALLEY, 6) if max(map(len, part.before), default=0) <= 1 else None
