"""Cascades of a graph: the front of peak and multiplications, each point of it a verified plan."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.access.from_graph import access_graph
from memplan.capabilities.cascade.access.splits import split_apart
from memplan.capabilities.cascade.kernels.found import FOUND_PEAK
from memplan.capabilities.cascade.regions.execution import check_by_value
from memplan.capabilities.cascade.search.barriers import Barrier, barriers_of, with_barriers
from memplan.capabilities.cascade.search.front import Chain
from memplan.capabilities.cascade.search.options import LONGEST, CascadeOptions
from memplan.capabilities.cascade.search.planning import PLAN_S, Planning
from memplan.capabilities.cascade.search.points import CascadePoint, planned
from memplan.capabilities.cascade.search.search import RegionSearch, strides_of
from memplan.planner.errors import OptionError
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.kernels.tables import Rows

TIME_LIMIT_S = 60.0
_SEARCH_SHARE = 0.6
"""The part of the time for search and plans, where points are checked by value in the rest."""
_LEAST_PLAN_S = 0.5
"""The seconds for the plan layer by layer, of which there must be one, where the time limit has no more."""
MOST_CHECKED_BYTES, _CHECKED_A_BYTE = 2**30, 48
"""The bytes that a check by value may take in memory; those for each byte of the largest tensor are sums of 64 bits."""


LOOKED_AT = ("regions", "chains", "points", "orders", "repeats")
"""All that is looked at for points, and that the end of the time may cut off."""


@dataclass(frozen=True)
class Exhausted:
    """The regions that were looked at: all intervals of up to `longest` operations of the given order, or fewer.

    In a region all edges are kept from step to step, or all are made again. `strides` are those tried along the longest
    axis, of which `skipped_strides` regions were left out, as they take too many steps. `repeats` are the graphs in
    which operations run again that lowered the least peak, `orders` the other orders that were searched.
    `cut_chains` are those left out of a front of three objectives, `unplanned` those for which there was no time;
    `unchecked` are points to be executed by value that were not, as time was over. `cut_short` names what the end of
    the time cut off, of what is `LOOKED_AT`.
    """

    intervals: bool
    longest: int
    strides: tuple[int, ...]
    skipped_strides: int
    evaluated: int
    repeats: int = 0
    orders: int = 0
    cut_chains: int = 0
    unplanned: int = 0
    unchecked: int = 0
    cut_short: tuple[str, ...] = ()


@dataclass(frozen=True)
class CascadeResult:
    """The points by falling peak and rising multiplications; `layers` is the plan without cascades.

    `without_rolling` is the point of the least peak in which no edge is kept from step to step, where there was time
    for it. `checked` are the points that were executed by value, by their positions; empty if
    that was not requested. `first` is the number of the first point, by which all entrances name it.
    """

    graph: AccessGraph
    options: CascadeOptions
    layers: CascadePoint
    points: tuple[CascadePoint, ...]
    barriers: tuple[Barrier, ...]
    exhausted: Exhausted
    checked: tuple[int, ...]
    wall_time_s: float
    first: int = 0
    without_rolling: CascadePoint | None = None

    @property
    def layers_peak(self) -> int:
        """The placed peak of the graph layer by layer."""
        return self.layers.peak

    @property
    def best(self) -> CascadePoint | None:
        """The point with the lowest peak; None where none fits."""
        return self.points[-1] if self.points else None


def cascade(
    graph: OperationGraph | AccessGraph,
    options: CascadeOptions | None = None,
    *,
    brick: int = 1,
    check: bool = False,
    time_limit_s: float = TIME_LIMIT_S,
    cancelled: threading.Event | None = None,
    on_point: Callable[[CascadePoint | None, Callable[[], CascadeResult]], None] = lambda point, so_far: None,
) -> CascadeResult:
    """Find regions of operations to run in stripes: the front of peak and multiplications, every point planned.

    `brick`: channels are padded to a multiple of it. `check` executes points by value, those with the fewest runs of
    operations first, or the one of `options.checked` alone. `on_point` gets each point when it is planned, and None for
    that layer by layer, with a function that returns the result so far; a later point may be better in all. Raises
    OptionError for a wrong option, OperationsError for a graph that has no access maps, and InvalidPlanError for a
    point that the check by value rejects.
    """
    options = CascadeOptions() if options is None else options
    if not 0 <= time_limit_s < float("inf"):
        raise OptionError(f"time_limit_s: must be at least 0 and finite, got {time_limit_s}")
    started = time.monotonic()

    def is_over(share: float = 1.0) -> bool:
        return time.monotonic() - started >= share * time_limit_s or (cancelled is not None and cancelled.is_set())

    graph = split_apart(graph) if isinstance(graph, OperationGraph) else graph
    access = graph if isinstance(graph, AccessGraph) else access_graph(graph, brick=brick)
    access = with_barriers(access, options.barriers) if options.barriers else access
    if options.sliding and access.layout != "NHWC":
        raise OptionError(f"sliding: needs tensors that lie row by row (NHWC), got a graph in {access.layout}")
    after = [row.after for row in graph.ops] if isinstance(graph, OperationGraph) else []
    search = RegionSearch(access, options)
    layers = _planned_layers(access, options, search.layers(), min(PLAN_S, max(_LEAST_PLAN_S, time_limit_s / 2)))
    if check:
        _check_executable(access)

    def result(points: Sequence[CascadePoint], *, is_ended: bool) -> CascadeResult:
        least = points[-1].estimate if points and not options.pools else None
        barriers = barriers_of(access, search.tables, search.layers(), least)
        kept = tuple(point for point in points if options.fit is None or point.peak <= options.fit)
        wanted = _wanted(kept, options.checked) if check else []
        checked = _checked(kept, wanted, is_over) if is_ended else ()
        effort = _exhausted(access, options, search, planning, unchecked=len(wanted) - len(checked))
        effort = effort if is_ended else replace(effort, intervals=False, cut_short=LOOKED_AT)
        passed_s = round(time.monotonic() - started, 6)
        found = access, options, layers, kept, barriers, effort, checked, passed_s
        return CascadeResult(*found, without_rolling=planning.baseline)

    def so_far() -> CascadeResult:
        return result(planning.best() or [layers], is_ended=False)

    planning = Planning(
        access, options, lambda: is_over(_SEARCH_SHARE if check else 1.0), lambda point: on_point(point, so_far)
    )
    if not options.pools:
        on_point(None, so_far)
    planning.run(search, after if any(after) else [])
    return result(planning.points, is_ended=True)


def with_point_alone(result: CascadeResult, position: int) -> CascadeResult:
    """Return a result with one of its points, from the end for a position below 0; raises OptionError for none."""
    count = len(result.points)
    if not -count <= position < count:
        raise OptionError(f"point: must be from {-count} to {count - 1}, got {position}")
    k = position % count
    return replace(result, points=(result.points[k],), checked=(0,) if k in result.checked else (), first=k)


def _planned_layers(graph: AccessGraph, options: CascadeOptions, layers: Rows, plan_s: float) -> CascadePoint:
    """Plan the graph layer by layer, within some seconds."""
    rows = tuple(range(len(layers)))
    peak = int(layers[:, FOUND_PEAK].max(initial=0))
    point = planned(graph, options, layers, Chain(rows, peak, graph.macs, 0), plan_s)
    if point is None:
        raise OptionError("time_limit_s: must be enough to plan the graph layer by layer")
    return point


def _check_executable(graph: AccessGraph) -> None:
    """Raise OptionError for a graph that cannot be executed by value, before anything is allocated for it."""
    sizes = [row.rows * row.columns * row.pixel for row in graph.tensors]
    needed = 2 * sum(sizes) + _CHECKED_A_BYTE * max(sizes, default=0)
    if needed > MOST_CHECKED_BYTES:
        raise OptionError(f"check: must take at most {MOST_CHECKED_BYTES} bytes of memory for this graph, got {needed}")
    for position, row in enumerate(graph.operations):
        if again := [tensor for tensor in row.outputs if graph.maker[tensor] != position]:
            rule = "must be for a graph whose tensors are each made once"
            raise OptionError(f"check: {rule}, got ops[{position}], which makes tensor {again[0]} again")


def _wanted(points: tuple[CascadePoint, ...], position: int | None) -> list[int]:
    """Return the points to be executed by value, fewest runs first; the one of a position alone."""
    if position is not None:
        return [position % len(points)] if -len(points) <= position < len(points) else []
    return sorted(range(len(points)), key=lambda k: points[k].runs)


def _checked(points: tuple[CascadePoint, ...], wanted: Sequence[int], is_over: Callable[[], bool]) -> tuple[int, ...]:
    """Execute points by value while there is time; return those that were executed to the end."""
    checked: list[int] = []

    def pause() -> None:
        if is_over():
            raise _TimeOverError

    for k in wanted:
        try:
            check_by_value(points[k].cascade, *points[k].in_one_arena(), pause=pause)
        except _TimeOverError:
            break
        checked.append(k)
    return tuple(sorted(checked))


class _TimeOverError(Exception):
    """The time was over while a point was executed."""


def _exhausted(
    graph: AccessGraph, options: CascadeOptions, search: RegionSearch, planning: Planning, *, unchecked: int
) -> Exhausted:
    effort = search.effort
    most = max((size for row in graph.tensors for size in row.sizes), default=1)
    return Exhausted(
        intervals=search.reached == len(graph.operations) and effort.lost == 0,
        longest=LONGEST,
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
