"""The depth-first search of a part and, for wide parts, the local search in windows of an order.

The live bytes before and after a window do not depend on the order inside it, so a better order may replace that order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.programs.order.core.kernels import BY_HILL, BY_VALLEY, EXHAUSTED, FOUND, Budget, search_order
from memplan.programs.order.search.macros import MacroGraph
from memplan.programs.order.search.parts import OrderPart, part_of
from memplan.solvers.core.tables import Reference
from memplan.solvers.search.control import Control


@dataclass(frozen=True)
class Way:
    """A kind of depth-first search: its direction, its branching rule, and the maximum nesting depth of segments."""

    is_forward: bool
    rule: int
    depth: int


@dataclass(frozen=True, eq=False)
class OrderOutcome:
    """The result of a search: an order of the part's macros, or a proved lower bound `above`, and the work spent."""

    order: list[int] | None
    above: int | None
    work: int


def search_depth_first(
    part: OrderPart, way: Way, budget: int, node_limit: int, flag: I64, seed: int = 0
) -> OrderOutcome:
    """Search depth first for an order whose peak is within a budget; visit at most `node_limit` states."""
    n = len(part.members)
    query = Budget(
        live=part.first_live(way.is_forward),
        budget=budget,
        depth=way.depth,
        rule=way.rule,
        seed=seed,
        node_limit=node_limit,
        order=np.zeros(n, dtype=np.int64),
        answer=np.zeros(2, dtype=np.int64),
        flag=flag,
    )
    outcome = search_order(part.moves(way.is_forward), Reference(query))
    nodes, refused = query.answer.tolist()
    work = (nodes + 1) * (n + 8)
    if outcome == FOUND:
        return OrderOutcome(_forward_order(query.order, way.is_forward), None, work)
    return OrderOutcome(None, refused if outcome == EXHAUSTED else None, work)


def _forward_order(order: I64, is_forward: bool) -> list[int]:
    operations: list[int] = order.tolist()
    return operations if is_forward else operations[::-1]


_LENGTHS = (16, 32, 64, 128, 256)
_WAYS = (Way(True, BY_HILL, 1), Way(False, BY_HILL, 1), Way(False, BY_VALLEY, 6), Way(True, BY_VALLEY, 6))
_NODES = 2400
"""The maximum number of states to visit in the search of one window."""
_WORK_PER_WINDOW, _WORK_PER_MACRO = 20_000, 300
"""The work units for extracting a window, and for examining one macro of an order (see `WORK_PER_S`)."""


def improve_windows(
    graph: MacroGraph, part: OrderPart, order: list[int], low: int, control: Control, seed: int
) -> Iterator[list[int]]:
    """Yield orders of the part with falling peaks, down to `low` bytes, as long as windows improve them.

    A `seed` above 0 chooses at random among similar branches.
    """
    peak = part.peak(order)
    step = max(1, (peak - low) // 8)
    while peak > low and not control.is_over:
        profile = _WindowedOrder(graph, part, order, control, seed)
        control.spend(_WORK_PER_MACRO * len(order))
        if profile.lower_peak(max(low, peak - step)):
            order, peak = profile.order, max(low, peak - step)
            yield order
        elif step == 1:
            return
        else:
            # A pass that misses its target may have aimed too low, so set the next target closer to the present peak.
            step = max(1, step // 4)


class _WindowedOrder:
    """An order whose windows can be replaced; `_live` has the bytes before each macro, `_peak` the peak during it."""

    def __init__(self, graph: MacroGraph, part: OrderPart, order: list[int], control: Control, seed: int) -> None:
        """Measure an order of a part; a `seed` above 0 chooses at random among similar branches."""
        self.order = list(order)
        self._graph, self._part, self._control, self._seed = graph, part, control, seed
        self._number = {v: k for k, v in enumerate(part.members)}
        self._rank = [0] * len(order)
        for k, v in enumerate(order):
            self._rank[v] = k
        self._live, self._peak = map(list, zip(*part.profile(order), strict=True))

    def lower_peak(self, budget: int) -> bool:
        """Replace windows until the peak is within a budget; return False if some window has no order within it."""
        places = range(len(self.order))
        return all(self._peak[at] <= budget or self._replace_window(at, budget) for at in places)

    def _replace_window(self, at: int, budget: int) -> bool:
        """Replace a window around position `at` by an order within a budget; return False if none is found."""
        # Short windows are cheap to search, so try them first.
        for length in _LENGTHS:
            low = max(0, min(at - length // 2, len(self.order) - length))
            high = min(len(self.order), low + length)
            window = self._window_part(low, high)
            self._control.spend(_WORK_PER_WINDOW + _WORK_PER_MACRO * length)
            order = self._window_order(window, budget)
            if order is not None:
                for k, (v, (live, peak)) in enumerate(zip(order, window.profile(order), strict=True)):
                    member = self._number[window.members[v]]
                    self.order[low + k], self._rank[member] = member, low + k
                    self._live[low + k], self._peak[low + k] = live, peak
                return True
            if self._control.is_over or high - low == len(self.order):
                return False
        return False

    def _window_part(self, low: int, high: int) -> OrderPart:
        members = sorted(self._part.members[v] for v in self.order[low:high])
        last = self._part.members[-1]

        def is_later(v: int) -> bool:
            return v > last or (v in self._number and self._rank[self._number[v]] >= high)

        return part_of(self._graph, members, is_later, self._live[low])

    def _window_order(self, window: OrderPart, budget: int) -> list[int] | None:
        """Return an order of a window whose peak is within a budget, or None if none is found."""
        for way in _WAYS:
            outcome = search_depth_first(window, way, budget, _NODES, self._control.raised, self._seed)
            self._control.spend(outcome.work)
            # A proof that no order is within the budget makes other kinds of search useless, so return at once.
            if outcome.order is not None or outcome.above is not None:
                return outcome.order
        return None
