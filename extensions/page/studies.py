"""Pages about several plans: charts whose points open plans (frontiers, orders, cascades), and peaks over symbols."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from memplan.api.reports.views import ChartAxis, ChartPoint
from memplan.extensions.cascade.answer import CascadeAnswer, CascadePoint
from memplan.extensions.cascade.regions.regions import region_buffer_name, whole_name
from memplan.extensions.page.file_page import file_page, plan_view
from memplan.extensions.schedule.answer import ScheduleAnswer
from memplan.extensions.shapes.shapes import ShapesAnswer
from memplan.planner.errors import count_text
from memplan.planner.foreign.program_names import NO_NAMES, NamedTime, ProgramNames
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import live_bytes_by_operation
from memplan.programs.order.answer import OrderAnswer, RecomputedPoint
from memplan.questions.explain.explain import ExplainAnswer
from memplan.questions.explain.lines import change_text
from memplan.questions.explain.values import OrderRepair, Repair
from memplan.solvers.portfolio.solve import solve

_MOST_BUFFERS = 2_000_000
_MOST_TABS = 30
"""The maximum number of plans on a page of repairs, because their tabs must fit in one line."""
_PLANNED_S = 1.0
"""The seconds for planning a problem that is known to fit, so that its page can show a plan."""
_MOST_PAIRS = 50_000
"""On a page with many plans, at most this number of buffer pairs is compared for each plan's lowest offsets."""


def chart_page(
    title: str, x: ChartAxis, y: ChartAxis, points: Sequence[ChartPoint], base: ChartPoint | None = None, **more: Any
) -> bytes:
    """Return a file page with a chart and the plans of its points, up to two million buffers in all plans together.

    If `base` is given, all points are compared with it, and the chart first shows the lowest point that costs no more.
    """
    held, rows = 0, []
    for point in points:
        row: dict[str, Any] = {"x": point.x, "y": point.y, "label": point.label, "status": point.status}
        row |= {"bound": point.bound, "view": None} | point.stripes
        if point.problem is not None and point.plan is not None and len(point.plan.placements):
            held += len(point.problem.buffers)
            if held <= _MOST_BUFFERS:
                row["view"] = plan_view(
                    point.problem, point.plan, title=point.label, names=point.names, most_pairs=_MOST_PAIRS
                )
        rows.append(row)
    axes = {"x": {"name": x.name, "unit": x.unit}, "y": {"name": y.name, "unit": y.unit}}
    if base is not None:
        more |= {"opens": "free", "base": {"x": base.x, "y": base.y, "name": base.label}}
    return file_page(title, {"kind": "chart", "title": title, **axes, "points": rows, **more})


def shapes_page(title: str, answer: ShapesAnswer) -> bytes:
    """Return the page of a plan with symbols: peak and bound over each symbol, and the plan at chosen values."""
    parts = {"symbols", "alignment", "ids", "lifetimes", "sizes", "size_of", "programs", "bound"}
    known = answer.model_dump(mode="json", include=parts) if answer.programs and not answer.views else None
    curves = [curve.model_dump(mode="json") for curve in answer.curves]
    return file_page(title, *({"kind": "curve", "title": one["symbol"], **one, "all": known} for one in curves))


def schedule_page(title: str, answer: ScheduleAnswer) -> bytes:
    """Return the page of a schedule as a plan of the fast memory, whose slots are alive in the steps that use them."""
    ids, name = [f"tensor {slot.tensor}: {slot.kind}, slot {k}" for k, slot in enumerate(answer.slots)], "fast memory"
    rows = [*zip(ids, answer.slots, strict=True)]
    buffers = [{"id": each, "size": slot.size, "start": slot.start, "end": slot.end} for each, slot in rows]
    placements = [{"id": each, "pool": name, "offset": slot.offset} for each, slot in rows]
    problem = Problem.model_validate({"buffers": buffers, "pools": [{"name": name, "size": answer.capacity}]})
    plan = Plan.model_validate({"status": "feasible", "placements": placements})
    steps = zip(answer.subgraphs, answer.subgraph_latencies, answer.link_busy, strict=True)
    words = (f"ops {', '.join(map(str, made))}; time {time:,.0f}; {busy:.0%} link" for made, time, busy in steps)
    named = tuple(NamedTime(at, word) for at, word in enumerate(words))
    names = ProgramNames(steps=named, roles=tuple(slot.kind for slot in answer.slots))
    return file_page(title, plan_view(problem, plan, title=title, names=names))


def explain_page(title: str, problem: Problem, answer: ExplainAnswer) -> bytes:
    """Return the page of `explain`: a plan, or the core of buffers that does not fit, and a tab for each repair."""
    if answer.status == "fits":
        plan = solve(problem, time_limit_s=_PLANNED_S)
    else:
        plan = Plan(status=answer.status, stop_reason=answer.stop_reason, explanation=answer.explanation)
    repairs = answer.repairs.repairs if answer.repairs else ()
    operations = answer.repairs.of_operations.repairs if answer.repairs and answer.repairs.of_operations else ()
    rows: list[tuple[str, Repair | OrderRepair]] = [(each.kind, each) for each in operations]
    rows = [*((" and ".join(map(change_text, each.changes)), each) for each in repairs), *rows]
    views = [plan_view(problem, plan, title="as given")]
    for text, each in rows:
        if each.problem is not None and each.plan is not None:
            views.append(plan_view(each.problem, each.plan, title=text, most_pairs=_MOST_PAIRS))
    return file_page(title, *views[:_MOST_TABS])


def recompute_page(title: str, answer: OrderAnswer) -> bytes:
    """Return the page of `order --recompute`: a chart of extra cost over peak bytes, whose points open plans."""
    graph, frontier = answer.graph, answer.recomputed
    assert graph is not None, "an answer computed on this machine contains its graph"
    assert frontier is not None
    placed = [point.placed for point in frontier.points if point.placed is not None]
    points = [
        ChartPoint(
            point.peak,
            100 * point.extra_cost / frontier.cost if frontier.cost else point.extra_cost,
            _point_label(point),
            point.status,
            None,
            made.problem,
            made.plan,
            _step_names(graph, point) if point.steps else _time_names(graph, point.order, made.problem),
        )
        for point, made in zip(frontier.points, placed, strict=True)
    ]
    cost = ChartAxis("extra cost, % of all" if frontier.cost else "extra cost", "number")
    return chart_page(title, ChartAxis("peak"), cost, points, points[0])


def _point_label(point: RecomputedPoint) -> str:
    sent = sum(step.kind == "send" for step in point.steps)
    count = len(point.clones)
    runs = f"{count_text(count, 'operation')} run{'s' if count == 1 else ''} again" if count else "nothing runs again"
    return runs + (f", {count_text(sent, 'tensor')} sent" if sent else "")


def _step_names(graph: OperationGraph, point: RecomputedPoint) -> ProgramNames:
    words = (
        _operation_name(graph, step.what) if step.kind == "run" else f"{step.kind} tensor {step.what}"
        for step in point.steps
    )
    return ProgramNames(steps=tuple(NamedTime(at, word) for at, word in enumerate(words)))


def order_page(title: str, answer: OrderAnswer) -> bytes:
    """Return the page of a new order: live bytes in the old and new order, the moved operations, and the plan."""
    graph, placed = answer.graph, answer.placed
    assert graph is not None, "an answer computed on this machine contains its graph"
    assert placed is not None
    order, given_order = answer.order, range(len(graph.ops))
    names, words = _time_names(graph, order, placed.problem), _model_names(graph)
    problem = Problem.model_validate(
        _rename_buffers(placed.problem.model_dump(mode="json", exclude_defaults=True), words)
    )
    plan = Plan.model_validate(_rename_buffers(placed.plan.model_dump(mode="json"), words))
    view = plan_view(problem, plan, title="the new order", names=names)
    return file_page(
        title,
        {
            "kind": "order",
            "title": title,
            "names": [_operation_name(graph, k) for k in given_order],
            "order": order,
            "given": [int(each) for each in live_bytes_by_operation(graph, list(given_order))],
            "found": [int(each) for each in live_bytes_by_operation(answer.ordered or graph, order)],
            "status": answer.status,
            "lower_bound": answer.lower_bound,
            "moves": answer.moves,
            "view": view if len(placed.plan.placements) else None,
        },
    )


def cascade_page(title: str, result: CascadeAnswer) -> bytes:
    """Return the page of cascades: a chart of multiplications over peak bytes, whose points show stripes and plans."""
    layers = () if result.layers is None else (result.layers,)
    points = list(map(_cascade_point, (*layers, *result.points), point_labels(result)))
    ratio = ChartAxis("multiplications", "ratio")
    base = points[0] if layers else None
    graph = result.model_dump(mode="json", include={"operations", "tensors"})
    return chart_page(title, ChartAxis("peak"), ratio, points, base, **graph)


def point_labels(result: CascadeAnswer) -> list[str]:
    """Return the labels of all points: first the point without cascades, then cascades numbered as for `--point`."""
    return ["layer by layer", *(f"cascade {result.first + k}" for k in range(len(result.points)))]


def _cascade_point(point: CascadePoint, label: str) -> ChartPoint:
    stripes = point.model_dump(mode="json", include={"regions", "origins", "tensor_origins"})
    words = _cascade_names(point)
    problem = Problem.model_validate(
        _rename_buffers(point.problem.model_dump(mode="json", exclude_defaults=True), words)
    )
    plan = Plan.model_validate(_rename_buffers(point.plan.model_dump(mode="json"), words))
    made = (problem, plan, _buffer_roles(point), stripes)
    return ChartPoint(point.peak, point.macs_ratio, label, point.plan.status, None, *made)


def _cascade_names(point: CascadePoint) -> dict[str, str]:
    tensors = {f"t{k}": row.name or f"t{k}" for k, row in enumerate(point.cascade.graph.tensors)}
    times = Counter(tensors.values())
    unique = {name: word if times[word] == 1 else f"{word} ({name})" for name, word in tensors.items()}
    parts = (str(each).partition(".") for each in point.problem.buffers.ids)
    return {f"{name}{dot}{region}": f"{unique.get(name, name)}{dot}{region}" for name, dot, region in parts}


def _buffer_roles(point: CascadePoint) -> ProgramNames:
    """Return the role of each buffer of a cascade: ring, input, output or temporary."""
    graph = point.cascade.graph
    rings = (
        region_buffer_name(number, tensor)
        for number, region in enumerate(point.regions)
        for tensor, hold in region.buffer_by_tensor.items()
        if hold.mode == "roll"
    )
    role_of = dict.fromkeys(rings, "ring") | dict.fromkeys(map(whole_name, graph.kept), "output")
    role_of |= dict.fromkeys(map(whole_name, graph.inputs), "input")
    names = map(str, point.problem.buffers.ids)
    return ProgramNames(roles=tuple(role_of.get(name, "temporary") for name in names))


def _operation_name(graph: OperationGraph, k: int) -> str:
    row = graph.ops[k]
    return row.name or row.kind or f"operation {k}"


def _model_names(graph: OperationGraph) -> dict[str, str]:
    words = {f"tensor_{k}": facts.name for k, facts in enumerate(graph.tensors) if facts.name}
    words |= {f"work_{k}": f"{_operation_name(graph, k)} (work)" for k, row in enumerate(graph.ops) if row.work}
    times = Counter(words.values())
    return {name: word if times[word] == 1 else f"{word} ({name})" for name, word in words.items()}


def _rename_buffers(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return words.get(value, value)
    if isinstance(value, list):
        return [_rename_buffers(each, words) for each in value]
    return {name: _rename_buffers(each, words) for name, each in value.items()} if isinstance(value, dict) else value


def _time_names(graph: OperationGraph, order: Sequence[int], problem: Problem) -> ProgramNames:
    ends = problem.buffers.end
    if not len(ends) or int(ends.max()) > len(order) + 1:
        return NO_NAMES
    return ProgramNames(steps=tuple(NamedTime(at, _operation_name(graph, k)) for at, k in enumerate(order)))
