"""The answer of the question `order`: its fields in JSON, and its printed lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, WrapValidator
from pydantic.json_schema import SkipJsonSchema

from memplan.extensions.networks.operations.costs import costs_of
from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.extensions.networks.operations.in_place import input_of_output_in_order
from memplan.extensions.networks.operations.order_check import move_count
from memplan.questions.explain.values import RegionOrder as RegionOrder
from memplan.questions.inputs import PlanAndProblem
from memplan.questions.question import Answer, AnswerOfFile

Status = Literal["optimal", "feasible"]
Graph = Annotated[
    SkipJsonSchema[OperationGraph | None],
    WrapValidator(lambda value, handler: value if isinstance(value, OperationGraph) else handler(value)),
]
"""The type of a graph in an answer, which is not validated again if it was validated already."""
_SHOWN = 8
"""The maximum number of offloaded tensors that a printed table lists."""


@dataclass(frozen=True)
class StateWitness:
    """A witness of the lower bound: the live bytes after exactly the operations in `done`, as in every order."""

    done: tuple[int, ...]
    kind: Literal["state"] = "state"


@dataclass(frozen=True)
class CutWitness:
    """A witness of the lower bound: the fewest live bytes while `operation` runs, after exactly those in `done`."""

    operation: int
    done: tuple[int, ...]
    kind: Literal["cut"] = "cut"


@dataclass(frozen=True)
class NeedWitness:
    """A witness of the lower bound: the bytes that `operation` reads, writes and works on, all alive while it runs."""

    operation: int
    kind: Literal["need"] = "need"


@dataclass(frozen=True)
class ExhaustionWitness:
    """A witness of the lower bound, `budget` + 1: a complete search found no order with a peak within `budget`."""

    budget: int
    direction: Literal["forward", "backward"]
    operations: tuple[int, ...]
    kind: Literal["exhaustion"] = "exhaustion"


Witness = StateWitness | NeedWitness | CutWitness | ExhaustionWitness


class BoundCertificate(Answer):
    """The certificate of a bound, checkable without memplan, its length and hash; or the reason why it is absent."""

    format: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    text: str | None = None
    reason: str | None = None


class TimedStep(Answer):
    """A step in time: operation `what` runs, or tensor `what` is sent or fetched, from `start` on, in units of cost."""

    kind: Literal["run", "send", "fetch"]
    what: int
    start: int


class RecomputedPoint(Answer):
    """A program in which the operations in `clones` run more than once; `order` lists all runs.

    `peak` is the peak of the plan, `live_peak` the maximum of the live bytes. `lower_bound` holds for these clones in
    any order. Every such peak costs at least `extra_cost_lower_bound` more than one run of each operation. If a single
    operation proves this by the tensors that must be absent while it runs, it is `bound_operation`. Each reader uses
    the value that was computed last. With a link, `steps` has the times of all runs and transfers, the extra cost is
    the waiting time, and the bound holds for all programs. `placed` has the plan, `planned` if requested.
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

    The first point has no clones, and no point is dominated in peak and cost. If the time was too short for any plan,
    there are no points, and the answer has only an order. `cost` is the cost of running every operation once.
    `is_within` is True if the last point meets the limit. Every program within the limit has an extra cost of at least
    `extra_cost_lower_bound`; `has_none` means that no such program exists, which is proved. If a single operation
    proves either by the tensors that must be absent while it runs, it is `bound_operation`.
    """

    extra_cost: int
    extra_cost_lower_bound: int = 0
    bound_operation: int | None = None
    cost: int
    is_within: bool
    has_none: bool = False
    points: tuple[RecomputedPoint, ...]

    def lines(self) -> Iterator[str]:
        """Yield the points as rows of a printed table."""
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

    `regions` has the changed orders inside operations, `sources` the positions of operations in a model's file, and
    `written_over` pairs of an output and the input that it overwrites. `alternatives` has the chosen alternative of
    each operation: 0 for the operation itself, k for its k-th alternative. If operations run again, `recomputed` has
    the points, and the other fields describe the last one, without witness and moves. `graph` is the given graph,
    `ordered` the graph with these region orders and alternatives, and `placed` the plan of `ordered`, whose buffers are
    named as in `problem_of_order`. Answers from other machines lack these three.
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
        """Return the answer for an order of a graph, with the fields derived from its peaks and from its plan."""
        placed_peak = None if placed is None else placed.plan.peak
        facts = {
            "status": "optimal" if peak == lower_bound else "feasible",
            "gap": 0.0 if peak == lower_bound else peak / lower_bound - 1 if lower_bound else None,
            "saved_bytes": given_peak - peak,
            "moves": move_count(order),
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
        """Return this order as the answer if recomputation could plan no program in time."""
        cost = 0 if self.ordered is None else sum(costs_of(self.ordered))
        recomputed = Recomputed(extra_cost=0, cost=cost, is_within=within is None, points=())
        return self.model_copy(update={"recomputed": recomputed})
