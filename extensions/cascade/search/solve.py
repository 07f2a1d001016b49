"""The steps that answer `cascade`: the plan layer by layer, the search, the checks by value, and the answer."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.access.from_graph import access_graph, split_apart
from memplan.extensions.cascade.answer import (
    CascadeAnswer,
    CascadeConventions,
    CascadeOperation,
    CascadePoint,
    CascadeTensor,
    Exhausted,
    MemorySize,
)
from memplan.extensions.cascade.core.kernels import FOUND_PEAK
from memplan.extensions.cascade.regions.execution import check_by_value
from memplan.extensions.cascade.search.front import Chain
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.search.orders import order_graph
from memplan.extensions.cascade.search.planning import PLAN_S, Planning
from memplan.extensions.cascade.search.points import plan_chain
from memplan.extensions.cascade.search.search import RegionSearch, strides_of
from memplan.extensions.cascade.search.tables import add_barriers, barriers_of
from memplan.planner.errors import OptionError, TimeOverError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.questions.question import Control

_ANSWER_S = 0.5
"""The seconds of the time limit that are reserved for the last plans and the answer."""
_NOTED_PART = 20
"""The minimum time between two preliminary answers, as a multiple of the time that building one takes."""
_SEARCH_SHARE = 0.6
"""The fraction of the time for the search and its plans, if points are then checked by value."""
_LEAST_PLAN_S = 0.5
"""The minimum time, in seconds, for the plan layer by layer, which every answer needs."""
MOST_CHECKED_BYTES, _CHECKED_A_BYTE = 2**30, 48
"""The memory limit of a check by value, and the bytes of its 64-bit sums for each byte of the largest tensor."""
_LARGE = 300
"""The number of operations above which deriving access maps and planning a graph take long."""
_TOO_SHORT = "time_limit_s: must be enough to plan the graph layer by layer"
MOST_BARRIERS = 10
LOOKED_AT = ("regions", "chains", "points", "orders", "repeats")
"""The names of the parts of the search that the time limit can cut short."""


def search_cascades(
    graph: OperationGraph | AccessGraph,
    options: CascadeOptions,
    running: Control,
    latency: Callable[[CascadePoint], float | None] = lambda _point: None,
) -> CascadeAnswer:
    """Search the cascades of a graph and return the answer, which has no points if time ends before the first plan.

    Raises OptionError, OperationsError for too large a graph, or TimeOverError if the time ends for an `AccessGraph`.
    """
    given = _unsearched_answer(graph, options, running) if isinstance(graph, OperationGraph) else None
    if given is not None and running.note is not None:
        running.note(given)
    try:
        return CascadeCall(graph, options, running, latency).run()
    except TimeOverError:
        if given is None:
            raise
        return given


class CascadeCall:
    """One call of `cascade`: a graph, its plan layer by layer, the search for points, and the answer."""

    def __init__(
        self,
        graph: OperationGraph | AccessGraph,
        options: CascadeOptions,
        running: Control,
        latency: Callable[[CascadePoint], float | None] = lambda _point: None,
    ) -> None:
        """Plan the graph layer by layer, and prepare the search; raises TimeOverError without such a plan."""
        self.options, self.running, self.latency, self.began = options, running, latency, time.monotonic()
        self.within = running.limit_to(max(running.remaining_s / 2, running.remaining_s - _ANSWER_S))
        searching = self.within.limit_to(_SEARCH_SHARE * self.within.remaining_s) if options.check else self.within
        after = [row.after for row in graph.ops] if isinstance(graph, OperationGraph) else []
        self.after = after if any(after) else []
        access = graph
        if isinstance(access, OperationGraph):
            access = access_graph(split_apart(access), brick=options.brick)
        self.given = add_barriers(access, options.barriers) if options.barriers else access
        self._check_time()
        self.graph = order_graph(self.given, self.after, options.orders)
        if options.is_sliding and self.graph.layout != "NHWC":
            raise OptionError(
                f"sliding: needs tensors that are stored row by row (NHWC), got a graph in {self.graph.layout}"
            )
        self.search = RegionSearch(self.graph, options)
        self._check_time()
        self.layers = self._planned_layers()
        self.planning = Planning(self.graph, options, lambda: searching.is_over, self._report_point)
        self.noted_until = 0.0

    def run(self) -> CascadeAnswer:
        """Search, plan and check; return the answer. Raises InvalidPlanError if a check finds a wrong value."""
        if self.options.check:
            _refuse_unexecutable(self.graph)
        if not self.options.pools:
            self._note_answer()
        self.planning.run(self.search, self.after)
        return self._answer_with(self.planning.points, is_ended=True)

    def _planned_layers(self) -> CascadePoint:
        layers = self.search.layers()
        rows, peak = tuple(range(len(layers))), int(layers[:, FOUND_PEAK].max(initial=0))
        chain = Chain(rows, peak, self.graph.macs, 0)
        limit_s = min(PLAN_S, max(_LEAST_PLAN_S, self.within.remaining_s / 2))
        point = plan_chain(self.search.steps, layers, chain, limit_s)
        if point is None:
            raise TimeOverError(_TOO_SHORT)
        return point

    def _check_time(self) -> None:
        """Raise TimeOverError if the time is over and the graph is large."""
        if self.running.is_over and len(self.given.operations) > _LARGE:
            raise TimeOverError(_TOO_SHORT)

    def _report_point(self, point: CascadePoint) -> None:
        figures = {"peak": point.peak, "macs": point.macs, "macs_ratio": round(point.macs_ratio, 6)}
        self.running.report(figures)
        self._note_answer()

    def _note_answer(self) -> None:
        began = time.monotonic()
        if self.running.note is not None and self.options.point is None and began >= self.noted_until:
            self.running.note(self._answer_with(self.planning.best_points() or [self.layers], is_ended=False))
            self.noted_until = time.monotonic() + _NOTED_PART * (time.monotonic() - began)

    def _answer_with(self, points: Sequence[CascadePoint], *, is_ended: bool) -> CascadeAnswer:
        """Return the answer with the given points, which are first checked by value if the search `is_ended`."""
        graph, options = self.graph, self.options
        least = points[-1].estimate if points and not options.pools else None
        barriers = barriers_of(graph, self.search.tables, self.search.layers(), least)
        shown = [point for point in points if options.fit is None or point.peak <= options.fit]
        wanted = self._points_to_check(shown) if options.check else []
        checked = self._check_points(shown, wanted) if is_ended else ()
        effort, baseline = self._search_extent(unchecked=len(wanted) - len(checked)), self.planning.baseline

        def add_latency(point: CascadePoint, **others: bool) -> CascadePoint:
            return point.model_copy(update={"latency": self.latency(point) if is_ended else None, **others})

        return CascadeAnswer(
            name=graph.name or None,
            conventions=_conventions(options),
            layers_peak=self.layers.peak,
            layers_macs=graph.macs,
            layers_traffic=self.layers.traffic,
            layers_latency=add_latency(self.layers).latency,
            tensors=tuple(map(CascadeTensor.from_fields, graph.tensors)),
            operations=tuple(
                CascadeOperation.model_validate(
                    {"kind": row.kind, "name": row.name, "in": [read.tensor for read in row.reads], "out": row.outputs}
                )
                for row in self.given.operations
            ),
            points=tuple(add_latency(point, checked_by_value=k in checked) for k, point in enumerate(shown)),
            without_rolling=baseline and add_latency(baseline),
            barriers=barriers[:MOST_BARRIERS],
            exhausted=effort if is_ended else replace(effort, intervals=False, cut_short=LOOKED_AT),
            wall_time_s=round(time.monotonic() - self.began, 6),
            layers=self.layers,
        )

    def _points_to_check(self, points: Sequence[CascadePoint]) -> list[int]:
        position, count = self.options.point, len(points)
        if isinstance(position, int):
            return [position % count] if -count <= position < count else []
        return sorted(range(count), key=lambda k: points[k].runs)

    def _check_points(self, points: Sequence[CascadePoint], wanted: Sequence[int]) -> list[int]:
        """Execute points by value until the time is over; return the positions of points compared in full."""
        checked: list[int] = []

        def pause() -> None:
            """Raise TimeOverError once the time for checks is over."""
            if self.within.is_over:
                raise TimeOverError

        for k in wanted:
            try:
                check_by_value(points[k].cascade, *points[k].join_memories(), pause=pause)
            except TimeOverError:
                break
            checked.append(k)
        return checked

    def _search_extent(self, *, unchecked: int) -> Exhausted:
        """Return the counts that describe the extent of the search; `unchecked` points were not executed by value."""
        effort, planning, options = self.search.effort, self.planning, self.options
        most = max((size for row in self.graph.tensors for size in row.sizes), default=1)
        return Exhausted(
            intervals=self.search.reached == len(self.graph.operations) and effort.lost == 0,
            longest=options.longest,
            strides=tuple(strides_of(most) if options.stripe is None else filter(None, options.stripe)),
            skipped_strides=effort.skipped_strides,
            evaluated=effort.evaluated,
            repeats=planning.repeats,
            orders=planning.orders,
            cut_chains=planning.cut_chains,
            unplanned=planning.unplanned,
            unchecked=unchecked,
            cut_short=tuple(planning.cut_short),
        )


def _unsearched_answer(graph: OperationGraph, options: CascadeOptions, running: Control) -> CascadeAnswer:
    """Return the answer for a graph that was not searched in time: no points, only its live peak in the given order."""
    return CascadeAnswer(
        name=graph.name or None,
        conventions=_conventions(options),
        layers_peak=peak_of(graph, range(len(graph.ops))),
        layers_macs=None,
        layers_traffic=None,
        tensors=(),
        operations=(),
        points=(),
        without_rolling=None,
        barriers=(),
        exhausted=Exhausted(False, options.longest, strides=(), skipped_strides=0, evaluated=0, cut_short=LOOKED_AT),
        wall_time_s=round(running.deadline.passed_s, 6),
        layers=None,
    )


def _conventions(options: CascadeOptions) -> CascadeConventions:
    pools = tuple(MemorySize(name=name, size=size) for name, size in options.pools) or None
    return CascadeConventions.from_fields(options, sliding=options.is_sliding, pools=pools)


def _refuse_unexecutable(graph: AccessGraph) -> None:
    """Raise OptionError if a graph is too large to be executed on actual values, or writes the same tensor twice."""
    sizes = [row.rows * row.columns * row.pixel for row in graph.tensors]
    needed = 2 * sum(sizes) + _CHECKED_A_BYTE * max(sizes, default=0)
    if needed > MOST_CHECKED_BYTES:
        raise OptionError(f"check: must take at most {MOST_CHECKED_BYTES} bytes of memory for this graph, got {needed}")
    for position, row in enumerate(graph.operations):
        if again := [tensor for tensor in row.outputs if graph.maker[tensor] != position]:
            raise OptionError(
                f"check: applies only to a graph that writes each tensor once, got ops[{position}], which "
                f"writes tensor {again[0]} again"
            )
