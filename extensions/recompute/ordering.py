"""The search for an order without clones (repeated runs) that runs in parallel with the search for programs.

An order without clones has the least cost, so the other search ends once the plan of such an order is within the limit.
"""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from memplan.extensions.recompute.points import point_of_order, points_of
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import OrderAnswer, RecomputedPoint
from memplan.programs.order.search.solve import WORK_PER_S, OrderSearch, order_regions
from memplan.solvers.search.control import Control

_SHARE, _TRIED = 0.8, 0.25
"""The fraction of the time for the search for orders (plans get the rest), and the fraction of it after which this
search, if it has found no lower order, waits for the other search to end."""


class _CallEnd(threading.Event):
    """An event that ends part of a call; it also counts as set once the whole call has ended."""

    def __init__(self, whole: threading.Event) -> None:
        """Create an event that also counts as set once the event `whole` is set."""
        super().__init__()
        self._whole = whole

    def is_set(self) -> bool:
        """Return True if this event is set, or if the whole call has ended."""
        return super().is_set() or self._whole.is_set()


class Ordering:
    """The search for an order without clones (repeated runs), which can later continue towards a peak limit."""

    def __init__(self, graph: OperationGraph, control: Control) -> None:
        """Search for an order of the graph's regions and then of the graph, until the control ends the search."""
        inside = order_regions(graph, control)
        with control.search_control(WORK_PER_S) as watched:
            self._search = OrderSearch(inside, watched)
            self._search.run()
        self.answer: OrderAnswer = self._search.answer(self._search.best_order(), control)
        """The answer with the best order that was found before the control ended the search."""
        self.graph = inside.graph
        """The graph in which the best orders of its regions are set."""

    @contextmanager
    def search_in_parallel(
        self, costs: Sequence[int], limit: int, first: RecomputedPoint | None, control: Control
    ) -> "Iterator[ParallelOrderSearch]":
        """Search for an order in a thread until its plan is within a limit; if work is counted, before the block runs.

        `first` is the point of the first order, if it was planned; its plan exceeds the limit. Leaving the block ends
        the search.
        """
        of_order, of_rest = (replace(control, cancelled=_CallEnd(control.cancelled), note=None) for _ in range(2))
        is_alone = threading.Event()
        if control.counts_work:
            is_alone.set()

        def order_point() -> RecomputedPoint | None:
            point = self._point_within(costs, limit, first, is_alone, of_order)
            if point is not None and point.peak <= limit:
                of_rest.cancelled.set()
            return point

        with ThreadPoolExecutor(1, thread_name_prefix="memplan-order") as pool:
            future = pool.submit(order_point)
            try:
                if control.counts_work:
                    future.result()
                yield ParallelOrderSearch(of_rest, future, is_alone)
            finally:
                of_order.cancelled.set()
                is_alone.set()

    def _point_within(
        self,
        costs: Sequence[int],
        limit: int,
        first: RecomputedPoint | None,
        is_alone: threading.Event,
        control: Control,
    ) -> RecomputedPoint | None:
        """Return the point of an order whose plan is within the limit or closest to it; None if nothing is planned."""
        share = control.child(_SHARE)
        best = first
        for part in (share.child(_TRIED), share):
            before = self._peak
            for point in self._points_of_falling_peaks(costs, limit, best, part):
                best = point if best is None or point.peak < best.peak else best
                if best.peak <= limit:
                    return best
            if self._peak <= self._search.bound:
                # An order whose peak equals the lower bound is optimal, so leave the remaining time to plans.
                break
            if self._peak == before and part is not share:
                is_alone.wait(share.remaining_s)
        if self._peak > limit:
            return best
        rest = control.child(1 - _SHARE) if control.counts_work else control
        other = point_of_order(self.graph, costs, self._search, limit, rest)
        return min((point for point in (other, best) if point), key=lambda point: point.peak, default=None)

    def _points_of_falling_peaks(
        self, costs: Sequence[int], limit: int, last: RecomputedPoint | None, control: Control
    ) -> Iterator[RecomputedPoint]:
        """Yield points of orders with falling live peaks, all below that of `last`, until time is over."""
        with control.search_control(WORK_PER_S) as watched:
            while not watched.is_over:
                # Plans exceed live peaks by similar ratios, so aim for a live peak whose plan would meet the limit.
                goal = limit if last is None else min(last.live_peak - 1, limit * last.live_peak // last.peak)
                goal = max(goal, self._search.bound)
                self._search.set_control(watched, goal)
                self._search.run()
                peak = self._peak
                if peak > goal or (last is not None and peak >= last.live_peak):
                    return
                points = points_of(self.graph, costs, [self._search.best_order()], control, is_ordered=True)
                if not points:
                    return
                last = self.add_bound(points[0])
                yield last

    @property
    def _peak(self) -> int:
        return peak_of(self.graph, self._search.best_order())

    def add_bound(self, point: RecomputedPoint) -> RecomputedPoint:
        """Return the point of an order without clones with the lower bound that the search for orders has proved."""
        bound = max(point.lower_bound, self._search.bound_inside)
        status = "optimal" if point.peak == bound else "feasible"
        return point.model_copy(update={"lower_bound": bound, "status": status})


class ParallelOrderSearch:
    """A search for an order, in parallel with another search; the other search uses `control`.

    Once the plan of an order is within the limit, the other search ends.
    """

    def __init__(self, control: Control, future: Future[RecomputedPoint | None], is_alone: threading.Event) -> None:
        """Store the control of the other search, and the thread (`future`) that searches for an order."""
        self.control, self._future, self._is_alone = control, future, is_alone

    def point(self) -> RecomputedPoint | None:
        """Wait until an order's plan is within the limit or time is over; return its point, or None."""
        self._is_alone.set()
        return self._future.result()
