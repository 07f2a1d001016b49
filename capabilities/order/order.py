"""The capability `order`: the order of operations that needs the fewest bytes, with some run again where asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from memplan.capabilities.capability import Answer, Capability, Control
from memplan.capabilities.inputs import GRAPH, PlanAndProblem
from memplan.capabilities.order.graphs import GraphOptions
from memplan.capabilities.order.placement.joint import Goal, PlacedOrder, order_and_place
from memplan.capabilities.order.recompute.answer import Part, Recomputed, recomputed
from memplan.capabilities.order.recompute.frontier import MOST_POINTS, POINTS, recompute_frontier
from memplan.capabilities.order.search.certificate import BoundCertificate, bound_certificate
from memplan.capabilities.order.search.regions import RegionOrder, with_orders_inside
from memplan.capabilities.order.search.solve import OrderResult, Witness, given_order
from memplan.capabilities.question import Question
from memplan.planner.errors import OperationsError, OptionError
from memplan.planner.model.rows import Alignment, Bytes
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.in_place import written_over_along
from memplan.planner.operations.order_check import peak_of

_CERTIFICATE_SHARE = 0.25
"""The part of the time that is kept for a certificate, where one is asked for."""
_NOTED_OPERATIONS = 2000
"""Of so many operations, whose orders take seconds to compare, an answer is noted before there is a plan."""
_PROOFS = {"state": "a state that every order has", "cut": "a minimum cut", "exhaustion": "a complete search"}


class OrderOptions(GraphOptions):
    """Options of an order; `within`, `extra_cost` and `points` are for `recompute` alone."""

    goal: Goal = Field("alive", description="What is to be the least: bytes alive, or those of the plan (placed).")
    alignment: Alignment = Field(1, description="Place tensors at multiples of so many bytes.")
    with_certificate: bool = Field(
        False, description="Answer with the text that proves the bound, if it can be checked."
    )
    with_plan: bool = Field(
        False, description="Answer with the plan in the new order and its problem, too, or with those of each point."
    )
    recompute: bool = Field(
        False, description="Let operations run again where that lowers the peak: points of falling peaks, rising costs."
    )
    within: Bytes | None = Field(None, description="The peak to come within, at the least cost of running again.")
    extra_cost: Part | None = Field(None, description="The most that running again may cost, of all: 10% or 0.1.")
    points: Annotated[int, Field(ge=1, le=MOST_POINTS)] = Field(
        POINTS, description="Points to look for between the peak without clones and the lowest one."
    )

    def check(self) -> None:
        """Raise OptionError for options that do not go together."""
        alone = ("within", "extra_cost", "points") if not self.recompute else ("goal", "alignment", "with_certificate")
        for name in sorted(self.model_fields_set & {*alone}, key=alone.index):
            rule = "must not be given" if self.recompute else "must be given"
            if getattr(self, name) != type(self).model_fields[name].default:
                raise OptionError(f"{name}: {rule} with recompute{'' if self.recompute else ' only'}")
        if self.within is not None and self.extra_cost is not None:
            raise OptionError("within: must not be given together with extra_cost")


class OrderAnswer(Answer):
    """An order of operations, by their positions in the graph; sizes are in bytes, and `witness` proves the bound.

    `regions` are the orders inside operations that differ from the given ones, `sources` where a model's file has the
    operations, `written_over` pairs of an output and the input whose bytes it takes. Where operations run again,
    `recomputed` has the points, and the other fields are those of the last one, without witness and moves.
    """

    name: str | None = None
    status: Literal["optimal", "feasible"]
    peak: int
    lower_bound: int
    gap: float | None
    given_peak: int
    saved_bytes: int
    moves: int | None = None
    wall_time_s: float | None
    order: tuple[int, ...]
    witness: Annotated[Witness, Field(discriminator="kind")] | None = None
    placed_peak: int | None
    placed_status: Literal["optimal", "feasible"]
    written_over: tuple[tuple[int, int], ...] = ()
    sources: tuple[tuple[int, ...], ...] = Field((), exclude_if=lambda found: not any(found))
    regions: tuple[RegionOrder, ...] = Field((), exclude_if=lambda found: not found)
    certificate: BoundCertificate | None = Field(None, exclude_if=lambda found: found is None)
    planned: PlanAndProblem | None = Field(None, exclude_if=lambda found: found is None)
    recomputed: Recomputed | None = Field(None, exclude_if=lambda found: found is None)
    graph: SkipJsonSchema[OperationGraph | None] = Field(None, exclude=True, repr=False)
    placed: SkipJsonSchema[PlacedOrder | None] = Field(None, exclude=True, repr=False)


def order(graph: OperationGraph, options: OrderOptions = OrderOptions(), control: Control = Control()) -> OrderAnswer:
    """Order operations so that the peak of the bytes alive at once is the least, and plan them in that order.

    The answer has a proof, or an honest gap. Operations inside of others, in regions, are ordered as well. With
    `recompute`, operations run again where that lowers the peak: programs with falling peaks and rising costs, down to
    the lowest peak, the limit of bytes, or the most extra cost.
    """
    running = control.begun(options)
    asked = options.variant(graph)
    if options.recompute:
        return _recomputed(asked, options, running)
    is_cut = options.with_certificate and not options.deterministic

    noted = running.note if len(asked.ops) >= _NOTED_OPERATIONS else None

    def note(result: OrderResult) -> None:
        if noted is not None:
            noted(_order_answer(asked, result))

    if noted is not None:
        note(given_order(asked))
    placed = order_and_place(
        asked,
        on_order=note,
        time_limit_s=running.left_s * (1 - _CERTIFICATE_SHARE if is_cut else 1),
        control=running,
        **options.fields("alignment", "goal"),
    )
    found = answer_of(asked, placed)
    if options.with_plan and placed.placed_peak is not None:
        found = found.model_copy(update={"planned": PlanAndProblem(problem=placed.problem, plan=placed.plan)})
    if not options.with_certificate:
        return found
    return found.model_copy(update={"certificate": bound_certificate(asked, placed.result, running.left_s)})


def _recomputed(graph: OperationGraph, options: OrderOptions, running: Control) -> OrderAnswer:
    found = recompute_frontier(
        graph,
        budget=options.within,
        **options.fields("extra_cost", "points", "deterministic"),
        time_limit_s=running.left_s,
        cancelled=running.cancelled,
    )
    last = found.points[-1]
    return OrderAnswer.of(
        last,
        found,
        name=graph.name,
        gap=last.peak / last.lower_bound - 1 if last.lower_bound else None,
        saved_bytes=found.given_peak - last.peak,
        placed_peak=last.peak,
        placed_status=last.status,
        recomputed=recomputed(found, options.with_plan),
        graph=graph,
        placed=None,
    )


def answer_of(graph: OperationGraph, placed: PlacedOrder) -> OrderAnswer:
    """Return the answer that an order of a graph and its plan are."""
    found = _order_answer(graph, placed.result)
    return found.model_copy(
        update={"placed_peak": placed.placed_peak, "placed_status": placed.status, "graph": graph, "placed": placed}
    )


def _order_answer(graph: OperationGraph, result: OrderResult) -> OrderAnswer:
    """Return the answer of an order that has no plan."""
    return OrderAnswer.of(
        result,
        name=graph.name,
        saved_bytes=result.given_peak - result.peak,
        placed_peak=None,
        placed_status="feasible",
        written_over=tuple(sorted(written_over_along(graph, result.order).items())),
        sources=tuple(graph.ops[operation].source for operation in result.order),
    )


def lines(found: OrderAnswer) -> Iterator[str]:
    """Yield the rows of a table for people."""
    share = f" ({100 * found.saved_bytes / found.given_peak:.1f} %)" if found.given_peak else ""
    gap = "unknown" if found.gap is None else f"{100 * found.gap:.2f} %"
    yield f"operations   {len(found.order):>20,}"
    yield f"given peak   {found.given_peak:>20,} bytes"
    yield f"best peak    {found.peak:>20,} bytes, {found.status}"
    if found.recomputed is not None:
        yield from found.recomputed.lines()
        return
    proof = "" if found.witness is None else f" by {_PROOFS[found.witness.kind]};"
    yield f"lower bound  {found.lower_bound:>20,} bytes,{proof} gap {gap}"
    if found.placed_peak is None:
        yield f"placed peak  {'-':>20} no plan within the time"
    else:
        yield f"placed peak  {found.placed_peak:>20,} bytes, {found.placed_status}"
    yield f"saved        {found.saved_bytes:>20,} bytes{share}"
    yield f"moves        {found.moves:>20,} operations are moved"


def _refuted(question: Question, found: OrderAnswer) -> str | None:
    graph: OperationGraph = question["options"].variant(question["graph"])
    if found.recomputed is not None:
        every = set(range(len(graph.ops)))
        is_all = all(set(point.order) == every for point in found.recomputed.points)
        return None if is_all else "must run each of this graph's operations, and no others"
    if sorted(found.order) != list(range(len(graph.ops))):
        return "is not one of this graph's operations"
    try:
        peak = peak_of(with_orders_inside(graph, found.regions), found.order)
    except OperationsError as error:
        return f"is not a legal one: {error}"
    return None if peak == found.peak else f"has a peak of {peak}, and not of {found.peak}"


CAPABILITY = Capability(
    order,
    inputs=(GRAPH,),
    lines=lines,
    check=lambda _question, options: options.check(),
    exit_status=lambda found: 1 if found.recomputed is not None and not found.recomputed.is_within else 0,
    exits={0: "there is an order", 1: "no program that runs operations again is within the limit"},
    refutes=_refuted,
    example={"graph": {"size": [8, 4, 2], "ops": [{"out": [0]}, {"in": [0], "out": [1]}, {"in": [1], "out": [2]}]}},
)
