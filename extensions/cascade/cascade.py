"""The question `cascade`: run operations in stripes, so that only stripe edges are kept in memory between steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.answer import Barrier, CascadeAnswer, CascadePoint, SweptPoint, SweptRow
from memplan.extensions.cascade.regions.regions import Cascade, whole_name
from memplan.extensions.cascade.search.options import CascadeOptions as CascadeOptions
from memplan.extensions.cascade.search.options import swept_options
from memplan.extensions.cascade.search.solve import search_cascades
from memplan.extensions.cascade.timing.figures import Run
from memplan.extensions.cascade.timing.inputs import TARGET
from memplan.extensions.cascade.timing.network_run import NetworkStep, run_step
from memplan.extensions.cascade.timing.target import Target
from memplan.planner.errors import OptionError, excerpt
from memplan.programs.inputs import GRAPH
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.options import unaligned_graph
from memplan.programs.order.room_inside import enlarge_workspaces_for_regions
from memplan.questions.question import ChartView, Control, Question


def latency_of_point(point: CascadePoint, target: Target | None) -> float | None:
    """Return the latency of a point on a target; None if no target is given or the point exceeds its fast memory."""
    if target is None or point.peak > target.capacity:
        return None
    slow_name = list(point.used or ())[-1:]
    slow = {name for name, pool in (point.pools or {}).items() if [pool] == slow_name}
    tensors = [t for t in range(len(point.cascade.graph.tensors)) if whole_name(t) in slow]
    return round(latency_of(point.cascade, target, tensors), 6)


def latency_of(cascade: Cascade, target: Target, slow: Collection[int] = ()) -> float:
    """Return the latency of a cascade, in the target's unit of time, with the arena in the fast memory.

    Tensors in `slow`, streamed inputs and outputs, and the constants of each run are outside of the arena, so the link
    transfers them. A streamed input that no region reads in pieces is loaded before the first region.
    """
    graph, over = cascade.graph, cascade.streamed.union(slow)
    in_pieces = {tensor for region in cascade.regions for tensor in region.pieces}
    figures = []
    for region in cascade.regions:
        rows = [graph.operations[v] for v in region.ops]
        used = {t for row in rows for t in (*row.outputs, *(read.tensor for read in row.reads))}
        step = NetworkStep(region, tuple(used - over))
        figures.append(run_step(graph, step, frozenset(), target, keeps=False))
    whole = (graph.tensors[t].bytes for t in graph.inputs if t in cascade.streamed - in_pieces)
    return Run(figures).latency + float(sum(map(target.link.time, whole)))


_MOST_BARRIERS = 3
_MOST_NAME = 40
"""The maximum length of a name in a printed line; a longer name loses its beginning, which is often a common prefix."""
_TARGET = (
    "The machine on which points get latencies: a target as JSON, such as examples/schedules/gap8_like.json, or DORY's"
    " file of hardware."
)
_WORDS: dict[object, str] = {True: "yes", False: "no"}


def cascade(
    graph: OperationGraph | AccessGraph,
    options: CascadeOptions = CascadeOptions(),
    control: Control = Control(),
    *,
    target: Target | None = None,
) -> CascadeAnswer:
    """Run the operations of a network in stripes, which needs less memory, and show what each saving costs.

    The answer is a front of points, from which you choose: each has a lower peak than the previous point and needs
    more multiplications. Each point is a verified plan, and is reported as soon as it is planned. With a target, points
    also have a latency; the arena then lies in the fast memory of the target.
    """
    if target is not None and target.engine.rate is None:
        raise OptionError("target.engine.rate: is required, as operations have multiplications instead of times")
    running, latency = control.begin(options), partial(latency_of_point, target=target)
    if isinstance(graph, OperationGraph):
        graph = enlarge_workspaces_for_regions(graph, alignment=options.alignment)
    answer = (_search_combinations if options.sweep else search_cascades)(graph, options, running, latency)
    return answer if options.point is None or not answer.points else answer.add_plans(options.point)


def _search_combinations(
    graph: OperationGraph | AccessGraph,
    options: CascadeOptions,
    running: Control,
    latency: Callable[[CascadePoint], float | None],
) -> CascadeAnswer:
    """Search each combination of the swept options; return the lowest-peak answer, with the points of all answers."""
    chosen, rows, best = swept_options(options, options.sweep), list[SweptRow](), None
    for k, (values, how) in enumerate(chosen):
        if best is not None and running.is_over:
            break
        part = running.limit_to(running.remaining_s / (len(chosen) - k))
        note = running.note if best is None else None
        answer = search_cascades(graph, how, replace(part, note=note), latency)
        points = tuple(SweptPoint.from_fields(point) for point in answer.points)
        rows.append(SweptRow(values=values, layers_peak=answer.layers_peak, points=points))
        if best is None or _lowest_peak_key(answer) < _lowest_peak_key(best):
            best = answer
        best = best.model_copy(update={"swept": tuple(rows), "combinations": len(chosen)})
        if running.note is not None and options.point is None:
            running.note(best)
    assert best is not None, "a sweep has combinations"
    return best


def _lowest_peak_key(found: CascadeAnswer) -> tuple[float, int]:
    return (found.points[-1].peak, found.points[-1].macs) if found.points else (inf, 0)


def lines(found: CascadeAnswer) -> Iterator[str]:
    """Yield the lines that the command prints for an answer."""
    for row in found.swept:
        values = ", ".join(
            f"{name} {_WORDS[value] if isinstance(value, bool) else value}" for name, value in row.values.items()
        )
        least = _summary(found, row.points[-1], row.layers_peak) if row.points else "no cascade is within the bounds"
        yield f"{values}: {least}"
    if found.swept:
        yield f"{len(found.swept):,} of {found.combinations:,} combinations; the one with the lowest peak:"
    rules = found.conventions
    sliding = ", sliding" if rules.sliding else ""
    yield f"input {rules.input}, output {rules.output}{sliding}, alignment {rules.alignment}; weights not counted"
    macs = "" if found.layers_macs is None else f"  {found.layers_macs:>16,} MACs"
    latency = "" if found.layers_latency is None else f"  latency {found.layers_latency:,.1f}"
    yield f"layer by layer  {found.layers_peak:>14,} bytes{macs}{latency}"
    for k, point in enumerate(found.points, found.first):
        yield from _lines_of_point(found, k, point)
    if not found.points and found.layers_macs is not None:
        yield "no cascade is within the bounds" if found.operations else "the graph has no operations"
    if found.without_rolling is not None:
        plain = found.without_rolling
        yield f"without rolling {plain.peak:>14,} bytes  {100 * (plain.macs_ratio - 1):>+8.2f} % MACs"
    for barrier in found.barriers[:_MOST_BARRIERS]:
        where = f"operation {_operation_text(found, barrier.operation)}"
        yield f"barrier         {barrier.bytes:>14,} bytes at {where}: {_barrier_text(barrier)}"
    effort = found.exhausted
    if effort.strides and not (effort.evaluated or effort.skipped_strides or effort.cut_short):
        yield f"no region       {'':>14} can be cut into stripes of {' and '.join(map(str, effort.strides))}"
    if effort.unplanned or effort.cut_chains:
        yield f"not planned     {effort.unplanned:>14,} points, as time was over; {effort.cut_chains:,} chains cut off"
    if effort.unchecked:
        yield f"not checked     {effort.unchecked:>14,} points, as time was over"
    if effort.cut_short:
        yield f"time was over   {'':>14} not all {', '.join(effort.cut_short)} were looked at"
    intervals = "all" if effort.intervals else "not all"
    yield f"looked at       {effort.evaluated:>14,} regions: {intervals} intervals"


def _summary(found: CascadeAnswer, point: CascadePoint | SweptPoint, layers_peak: int) -> str:
    share, pools = layers_peak / point.peak if point.peak else 1.0, found.conventions.pools
    slow = f", {point.slow_traffic:,} of it in {pools[1].name}" if pools else ""
    checked = "  checked by value" if point.checked_by_value else ""
    latency = "" if point.latency is None else f"  latency {point.latency:,.1f}"
    return (
        f"{point.peak:>14,} bytes  {100 * (point.macs_ratio - 1):>+8.2f} % MACs  "
        f"{share:6.2f}x less  traffic {point.traffic:,}{slow}{latency}{checked}"
    )


def _lines_of_point(found: CascadeAnswer, k: int, point: CascadePoint) -> Iterator[str]:
    """Yield the printed lines of point k: its figures, and then a line for each region in steps."""
    yield f"cascade {k:<7} {_summary(found, point, found.layers_peak)}"
    for region in point.regions:
        if region.stride is not None:
            height, width = (str(size) if size >= 0 else f"1/{-size}" for size in region.stride)
            size = f"rows of {height} rows" if region.kind == "rows" else f"{region.kind} of {height} x {width}"
            size = f"{height} channels a step" if region.kind == "channels" else size
            size += f", {region.ragged} of them ragged" if region.ragged else ""
            first, last = (_operation_text(found, v, point.origins) for v in (region.first_operation, region.end - 1))
            yield f"    {region.id}: operations {first} to {last}, {size}"


def _operation_text(found: CascadeAnswer, position: int, origins: tuple[int, ...] | None = None) -> str:
    row = found.operations[origins[position] if origins else position]
    name = next((found.tensors[tensor].name for tensor in row.outputs), "") or row.name
    name = name if len(name) <= _MOST_NAME else f"...{name[3 - _MOST_NAME :]}"
    label = " ".join(text for text in (row.kind, name) if text)
    return f"{position} ({label if label.isprintable() else excerpt(label)})" if label else str(position)


def _barrier_text(barrier: Barrier) -> str:
    kind = barrier.kind or "an unknown kind"
    return f"{kind}: {barrier.reason}{'; the least peak is this' if barrier.binds else ''}"


def _example_body() -> dict[str, Any]:
    image, features, scores = {"shape": [1, 26, 26, 3]}, {"shape": [1, 24, 24, 32]}, {"shape": [1, 24, 24, 8]}
    first = {"in": [0], "out": [1], "kind": "conv2d", "attributes": {"kernel": [3, 3]}}
    second = {"in": [1], "out": [2], "kind": "conv2d", "attributes": {"kernel": [1, 1]}}
    tensors = [{**tensor, "dtype": "int8"} for tensor in (image, features, scores)]
    graph = {"size": [2028, 18432, 4608], "kept": [2], "tensors": tensors, "ops": [first, second]}
    return {"graph": graph, "options": {"time_limit_s": 5, "input": "streamed", "macs": 1.1}}


QUESTION = Question(
    cascade,
    inputs=(replace(GRAPH, from_file=unaligned_graph), replace(TARGET, help=_TARGET, flag="machine")),
    lines=lines,
    exit_status=lambda found: 0 if found.points else 1,
    exits={0: "there are points", 1: "none is within the bounds"},
    status=lambda found: "feasible" if found.points else None,
    example=_example_body(),
    view=ChartView("peak", "macs", ("peak", "multiplications"), ("bytes", "number")),
)
