"""The question `order`, which finds the operation order with the lowest peak and, on request, recomputations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memplan.planner.errors import OperationsError
from memplan.planner.extensions import Hook
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import gap_text
from memplan.programs.inputs import GRAPH
from memplan.programs.lifetimes.accesses import GraphProblem
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import fix_alternatives
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.certificate import TIME_LIMIT_S as CERTIFICATE_S
from memplan.programs.order.certificate import certify_order
from memplan.programs.order.moving import order_for_moves
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.placement import order_and_place
from memplan.programs.order.search.regions import set_region_orders
from memplan.programs.order.search.solve import LARGE, answer_for_given_order
from memplan.programs.order.ways import alternatives_of_least_work, choose_cheapest_ways
from memplan.questions.inputs.values import InputValues
from memplan.questions.question import ChartView, Control, Question
from memplan.questions.reading.adapting import ProblemOptions, adapt_problem
from memplan.solvers.search.control import ignore_report

recompute: Hook[[OperationGraph, OrderOptions, Control], OrderAnswer] = Hook("recompute")
"""Orders a graph's operations and runs some of them again, so that fewer bytes are alive at once."""
_CERTIFICATE_SHARE = 0.25
"""The fraction of the time that is reserved for the certificate, if one is requested."""
_ORDER_SHARE = 0.2
"""The fraction of the time for the order of the lowest peak, if the cost of moves decides."""
_AFTER = 1.5
"""The time reserved for the steps after a search, as a multiple of the time that the given order took."""
_SHOWN = 8
"""The maximum number of operations that are listed with the alternatives chosen for them."""
_PROOFS = {
    "state": "a state that every order has",
    "need": "what one operation needs",
    "cut": "a minimum cut",
    "exhaustion": "a complete search",
}


def order(graph: OperationGraph, options: OrderOptions = OrderOptions(), control: Control = Control()) -> OrderAnswer:
    """Order operations so that as few bytes as possible are alive at once, and plan them in that order.

    The answer has a proof that the order is the best, or the gap that is left. Operations inside of other operations,
    in regions, are ordered as well. With `recompute`, operations run again where that lowers the peak; the answer then
    has several programs, with falling peaks and rising costs, down to the lowest peak, to the limit in bytes, or to
    the extra cost that is allowed. If an operation has `alternatives`, the cheapest one that does not raise the peak
    is chosen; with `recompute` it is the one with the least work.
    """
    running = control.begin(options)
    first = asked = options.variant(graph)
    ways = alternatives_of_least_work(first) if any(row.alternatives for row in first.ops) else ()
    if ways:
        asked = fix_alternatives(first, ways)
    note, began = running.note or ignore_report, running.deadline.passed_s
    given = answer_for_given_order(asked)
    options = options.resolve_limit(given.peak)
    # Even the shortest time limit must yield an answer, so report the given order first.
    first_answer = given.answer_without_plan(options.limit) if options.recompute else given
    note(first_answer)
    if len(graph.ops) > LARGE and running.is_over:
        return first_answer
    # The steps after the search do not check the time limit, so reserve time for them.
    running = running.reserve(_AFTER * (running.deadline.passed_s - began))
    if options.recompute:
        found = recompute(asked, options, running)
        return found.model_copy(update={"alternatives": ways})
    if options.moves is not None:
        return _order_with_moves(asked, options, running)
    is_cut = options.with_certificate and not options.deterministic
    result = order_and_place(
        asked,
        running.child(1 - _CERTIFICATE_SHARE) if is_cut else running,
        on_order=note,
        **options.fields("alignment", "goal"),
    )
    if ways:
        result = choose_cheapest_ways(first, result, ways, options.alignment, running)
    planned = result.placed if options.with_plan and result.placed_peak is not None else None
    limit_s = min(CERTIFICATE_S, running.remaining_s)
    certificate = certify_order(asked, result, time_limit_s=limit_s) if options.with_certificate else None
    return result.model_copy(update={"planned": planned, "certificate": certificate})


def _order_with_moves(graph: OperationGraph, options: OrderOptions, running: Control) -> OrderAnswer:
    """Return the order of the cheapest plan found; operations keep their alternatives of the least work."""
    result = order_and_place(graph, running.child(_ORDER_SHARE), **options.fields("alignment", "goal"))
    rules = ProblemOptions.model_construct(capacity=options.capacity, moves=options.moves)

    def pose(order: Sequence[int]) -> Problem:
        read = GraphProblem.in_order(result.ordered or graph, order, options.alignment)
        return adapt_problem(read.problem, read, rules)

    found = order_for_moves(result, pose, running)
    return found.model_copy(update={"planned": found.placed}) if options.with_plan else found


def lines(found: OrderAnswer) -> Iterator[str]:
    """Yield the rows of the printed answer."""
    share = f" ({100 * found.saved_bytes / found.given_peak:.1f} %)" if found.given_peak else ""
    count = len({*found.order})
    yield f"operations   {count:>20,}" + (f", in {len(found.order):,} runs" if count < len(found.order) else "")
    yield f"given peak   {found.given_peak:>20,} bytes"
    yield f"best peak    {found.peak:>20,} bytes, {found.status}"
    if found.recomputed is not None and found.recomputed.points:
        yield from found.recomputed.lines()
        return
    if found.moved is not None:
        yield f"cost         {found.moved.sentence}"
    proof = "" if found.witness is None else f" by {_PROOFS[found.witness.kind]};"
    yield f"lower bound  {found.lower_bound:>20,} bytes,{proof} gap {gap_text(found.gap)}"
    if found.placed_peak is None:
        yield f"placed peak  {'-':>20} no plan within the time"
    else:
        yield f"placed peak  {found.placed_peak:>20,} bytes, {found.placed_status}"
    yield f"saved        {found.saved_bytes:>20,} bytes{share}"
    yield f"moves        {found.moves:>20,} {'operation is' if found.moves == 1 else 'operations are'} moved"
    if others := [f"{v} by alternative {way}" for v, way in enumerate(found.alternatives) if way]:
        more = f", and {len(others) - _SHOWN:,} others" if len(others) > _SHOWN else ""
        yield f"alternatives {len(others):>20,} {', '.join(others[:_SHOWN])}{more}"
    if found.recomputed is not None and not found.recomputed.is_within:
        yield "no program was found within the limit"


def _refutation(values: InputValues, found: OrderAnswer) -> str | None:
    """Return why an answer from another machine contradicts the graph, or None if the answer is consistent."""
    graph: OperationGraph = values["options"].variant(values["graph"])
    if found.alternatives or any(row.alternatives for row in graph.ops):
        try:
            graph = fix_alternatives(graph, found.alternatives)
        except OperationsError as error:
            return str(error)
    if found.recomputed is not None and found.recomputed.points:
        every = set(range(len(graph.ops)))
        is_all = all(set(point.order) == every for point in found.recomputed.points)
        return None if is_all else "must run each of this graph's operations, and no others"
    if sorted(found.order) != list(range(len(graph.ops))):
        return "is not one of this graph's operations"
    try:
        peak = peak_of(set_region_orders(graph, found.regions), found.order)
    except OperationsError as error:
        return f"is not a legal one: {error}"
    return None if peak == found.peak else f"has a peak of {peak}, and not of {found.peak}"


QUESTION = Question(
    order,
    inputs=(GRAPH,),
    lines=lines,
    check=lambda _question, options: options.check(),
    exit_status=lambda found: 1 if found.recomputed is not None and not found.recomputed.is_within else 0,
    exits={0: "there is an order", 1: "no program was found within the limit"},
    refutes=_refutation,
    example={"graph": {"size": [8, 4, 2], "ops": [{"out": [0]}, {"in": [0], "out": [1]}, {"in": [1], "out": [2]}]}},
    view=ChartView("peak", "extra_cost", ("peak", "extra cost"), ("bytes", "number"), ("points", "recomputed")),
)
