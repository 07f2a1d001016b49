"""The answer of the question `order`, for searches, printed lines, pages and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, WrapValidator
from pydantic.json_schema import SkipJsonSchema

from memplan.extensions.networks.operations.costs import costs_of
from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.extensions.networks.operations.in_place import input_of_output_in_order
from memplan.extensions.networks.operations.order_check import moves_of
from memplan.questions.explain.values import RegionOrder as RegionOrder
from memplan.questions.inputs import PlanAndProblem
from memplan.questions.question import Answer, AnswerOfFile

Status = Literal["optimal", "feasible"]
Graph = Annotated[
    SkipJsonSchema[OperationGraph | None],
    WrapValidator(lambda value, handler: value if isinstance(value, OperationGraph) else handler(value)),
]
"""A graph in an answer; a validated one is not validated again."""
_SHOWN = 8
"""The most offloaded tensors that the table lists."""


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
class NeedWitness:
    """The bound is the bytes that `operation` reads, makes and works on: all are alive while it runs."""

    operation: int
    kind: Literal["need"] = "need"


@dataclass(frozen=True)
class ExhaustionWitness:
    """The bound is one more than `budget`: a complete search in this direction found no order within it."""

    budget: int
    direction: Literal["forward", "backward"]
    operations: tuple[int, ...]
    kind: Literal["exhaustion"] = "exhaustion"


Witness = StateWitness | NeedWitness | CutWitness | ExhaustionWitness


class BoundCertificate(Answer):
    """The text that proves a bound without memplan, its length and hash; or the reason why there is none."""

    format: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    text: str | None = None
    reason: str | None = None


class TimedStep(Answer):
    """A run of operation `what`, or tensor `what` that is sent or fetched, from `start` on, in units of cost."""

    kind: Literal["run", "send", "fetch"]
    what: int
    start: int


class RecomputedPoint(Answer):
    """A program in which the operations in `clones` run more than once; `order` lists all runs.

    `peak` is that of the plan, `live_peak` the bytes alive at once; `lower_bound` holds for these clones in any order.
    No program with a peak as low costs less than `extra_cost_lower_bound` more than each operation once, and what must
    be away while `bound_operation` runs proves it, where one does. A reader takes what was made last. Where a link is
    used, `steps` has all in time, the extra cost what is waited for, and the bound on the peak is that of any program.
    `placed` has the plan, `planned` where that was asked for.
    """

    peak: int
    live_peak: int
    lower_bound: int
    status: Status
    extra_cost: int
    extra_cost_lower_bound: int = 0
    bound_operation: int | None = None
    clones: tuple[int, ...]
    order: tuple[int, ...]
    steps: tuple[TimedStep, ...] = Field((), exclude_if=lambda steps: not steps)
    planned: PlanAndProblem | None = Field(None, exclude_if=lambda planned: planned is None)
    placed: SkipJsonSchema[PlanAndProblem | None] = Field(None, exclude=True, repr=False)


class Recomputed(Answer):
    """Programs with falling peaks and rising costs; the last point is the answer. Sizes are in bytes.

    The first point has no clones, and none is worse than another in both. Where the time was too short for any plan,
    there are no points: the order of the answer is all there is. `cost` is that of running every operation once,
    `is_within` says if the last point is within the limit. No program within the limit costs less than
    `extra_cost_lower_bound` more; `has_none` says that there is none, which is proved. Where one operation proves
    either, by what must be away while it runs, it is `bound_operation`.
    """

    extra_cost: int
    extra_cost_lower_bound: int = 0
    bound_operation: int | None = None
    cost: int
    is_within: bool
    has_none: bool = False
    points: tuple[RecomputedPoint, ...]

    def lines(self) -> Iterator[str]:
        """Yield the points as rows of a table."""
        first = self.points[0]
        yield f"cost         {self.cost:>20,}"
        columns = f"{'extra cost':>20}  {'of all':>8}  {'at least':>20}  {'clones':>8}"
        yield f"{'peak, bytes':>20}  {'of first':>8}  {columns}  status"
        for point in self.points:
            share = f"{100 * point.peak / first.peak:.1f} %" if first.peak else ""
            part = f"{100 * point.extra_cost / self.cost:.2f} %" if self.cost else ""
            sizes = f"{point.peak:>20,}  {share:>8}  {point.extra_cost:>20,}  {part:>8}"
            yield f"{sizes}  {point.extra_cost_lower_bound:>20,}  {len(point.clones):>8,}  {point.status}"
        begun: dict[int, list[str]] = {}
        for step in self.points[-1].steps:
            if step.kind != "run":
                begun.setdefault(step.what, []).append(f"{step.start:,}")
        for tensor, (sent, *fetched) in [*begun.items()][:_SHOWN]:
            yield f"tensor {tensor:,} is sent at {sent}, and fetched at {', '.join(fetched)}"
        if len(begun) > _SHOWN:
            yield f"so are {len(begun) - _SHOWN:,} other tensors: see the steps"
        if self.has_none:
            yield "no program is within the limit, which is proved; the last point is the nearest"
        elif not self.is_within:
            yield "no program was found within the limit; the last point is the nearest"


class OrderAnswer(AnswerOfFile):
    """An order of operations, by position in the graph; sizes are in bytes, and `witness` proves the bound.

    `regions` are the orders inside operations that differ from the given ones, `sources` where a model's file has the
    operations, `written_over` pairs of an output and the input whose bytes it takes. `alternatives` are the ways in
    which operations are computed: 0 for an operation's own, k for its k-th alternative. Where operations run again,
    `recomputed` has the points, and the other fields are those of the last one, without witness and moves. `graph` is
    the one that was given, `ordered` that with its regions in these orders and its operations in these ways, and
    `placed` the plan of `ordered`, whose buffers are named as in `problem_of_order`; answers from elsewhere have none
    of these.
    """

    name: str | None = None
    status: Status
    peak: int
    lower_bound: int
    gap: float | None
    given_peak: int
    saved_bytes: int
    moves: int | None = None
    wall_time_s: float | None
    order: tuple[int, ...]
    witness: Annotated[Witness, Field(discriminator="kind")] | None = None
    placed_peak: int | None = None
    placed_status: Status = "feasible"
    written_over: tuple[tuple[int, int], ...] = ()
    sources: tuple[tuple[int, ...], ...] = Field((), exclude_if=lambda found: not any(found))
    regions: tuple[RegionOrder, ...] = Field((), exclude_if=lambda found: not found)
    alternatives: tuple[int, ...] = Field((), exclude_if=lambda found: not found)
    certificate: BoundCertificate | None = Field(None, exclude_if=lambda found: found is None)
    planned: PlanAndProblem | None = Field(None, exclude_if=lambda found: found is None)
    recomputed: Recomputed | None = Field(None, exclude_if=lambda found: found is None)
    graph: Graph = Field(None, exclude=True, repr=False)
    ordered: Graph = Field(None, exclude=True, repr=False)
    placed: SkipJsonSchema[PlanAndProblem | None] = Field(None, exclude=True, repr=False)

    @classmethod
    def from_order(
        cls,
        graph: OperationGraph,
        order: Sequence[int],
        peak: int,
        lower_bound: int,
        given_peak: int,
        *,
        ordered: OperationGraph | None = None,
        placed: PlanAndProblem | None = None,
        **others: object,
    ) -> Self:
        """Return the answer for an order of a graph, with the fields that follow from its peaks and plan."""
        placed_peak = None if placed is None else placed.plan.peak
        facts = {
            "status": "optimal" if peak == lower_bound else "feasible",
            "gap": 0.0 if peak == lower_bound else peak / lower_bound - 1 if lower_bound else None,
            "saved_bytes": given_peak - peak,
            "moves": moves_of(order),
            "placed_peak": placed_peak,
            "placed_status": "optimal" if placed_peak == lower_bound else "feasible",
            "written_over": tuple(sorted(input_of_output_in_order(graph, order).items())),
            "sources": tuple(graph.ops[operation].source for operation in order),
        }
        return cls(
            name=graph.name,
            peak=peak,
            lower_bound=lower_bound,
            given_peak=given_peak,
            order=tuple(order),
            graph=graph,
            ordered=ordered or graph,
            placed=placed,
            **{**facts, **others},
        )

    def answer_without_plan(self, within: int | None) -> Self:
        """Return this order as the answer of a recomputation that found no planned program in time."""
        cost = 0 if self.ordered is None else sum(costs_of(self.ordered))
        recomputed = Recomputed(extra_cost=0, cost=cost, is_within=within is None, points=())
        return self.model_copy(update={"recomputed": recomputed})
