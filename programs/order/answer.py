"""The answer of the question `order`: its fields in JSON, and its printed lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, WrapValidator
from pydantic.json_schema import SkipJsonSchema

from memplan.planner.model.field_docs import DescribedFields
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.in_place import input_of_output_in_order
from memplan.programs.operations.order_check import move_count
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
class StateWitness(DescribedFields):
    """A witness of the lower bound: the live bytes after operations that run first in every order."""

    done: tuple[int, ...]
    """The operations that have run."""
    kind: Literal["state"] = "state"
    """Always `state`, the kind of this witness."""


@dataclass(frozen=True)
class CutWitness(DescribedFields):
    """A witness of the lower bound: the fewest live bytes while an operation runs."""

    operation: int
    """The operation that runs."""
    done: tuple[int, ...]
    """The operations that have run before it when the fewest bytes are alive."""
    kind: Literal["cut"] = "cut"
    """Always `cut`, the kind of this witness."""


@dataclass(frozen=True)
class NeedWitness(DescribedFields):
    """A witness of the lower bound: the bytes that an operation reads, writes and works on."""

    operation: int
    """The operation, all of whose bytes are alive while it runs."""
    kind: Literal["need"] = "need"
    """Always `need`, the kind of this witness."""


@dataclass(frozen=True)
class ExhaustionWitness(DescribedFields):
    """A witness of the lower bound: a complete search found no order with a lower peak."""

    budget: int
    """The lower bound minus 1: no order has a peak of at most this number of bytes."""
    direction: Literal["forward", "backward"]
    """Whether the search began with the first operations or with the last ones."""
    operations: tuple[int, ...]
    """The operations whose orders were searched."""
    kind: Literal["exhaustion"] = "exhaustion"
    """Always `exhaustion`, the kind of this witness."""


Witness = StateWitness | NeedWitness | CutWitness | ExhaustionWitness


class BoundCertificate(Answer):
    """The certificate of a bound, checkable without memplan."""

    format: str | None = None
    """The name of its format."""
    bytes: int | None = None
    """The length of its text in bytes."""
    sha256: str | None = None
    """The SHA-256 hash of its text."""
    text: str | None = None
    """The certificate."""
    reason: str | None = None
    """Why there is no certificate; null if there is one."""


class TimedStep(Answer):
    """A step of a program with a link."""

    kind: Literal["run", "send", "fetch"]
    """`run`: an operation runs; `send`, `fetch`: a tensor moves to the other memory, or back."""
    what: int
    """The position of the operation or of the tensor."""
    start: int
    """The time at which the step starts, in units of cost."""


class RecomputedPoint(Answer):
    """A program in which operations may run more than once; each reader uses the value that was computed last."""

    peak: int
    """The peak of its plan in bytes."""
    live_peak: int
    """The maximum of its live bytes."""
    lower_bound: int
    """A lower bound in bytes on the peak of these clones in any order; with a link, of all programs."""
    status: Status
    """`optimal` if the peak equals the lower bound."""
    extra_cost: int
    """The cost beyond one run of each operation; with a link, the time beyond it."""
    extra_cost_lower_bound: int = 0
    """Every program with at most this peak has at least this extra cost."""
    bound_operation: int | None = None
    """The operation that alone proves this bound, by the tensors that must be absent while it runs; null if no
    operation does."""
    clones: tuple[int, ...]
    """The operations that run again, once for each further run."""
    order: tuple[int, ...]
    """All runs in order, as positions of operations."""
    steps: tuple[TimedStep, ...] = Field((), exclude_if=lambda steps: not steps)
    """The times of all runs and transfers; omitted without transfers."""
    planned: PlanAndProblem | None = Field(None, exclude_if=lambda planned: planned is None)
    """The plan and its problem, if requested."""
    placed: SkipJsonSchema[PlanAndProblem | None] = Field(None, exclude=True, repr=False)
    """The plan and its problem; None in answers from other machines."""


class Recomputed(Answer):
    """Programs with falling peaks and rising costs."""

    extra_cost: int
    """The extra cost of the last point."""
    extra_cost_lower_bound: int = 0
    """Every program within the limit has at least this extra cost; without a limit, every program with at most the last
    point's peak."""
    bound_operation: int | None = None
    """The operation that alone proves this bound or `has_none`, by the tensors that must be absent while it runs; null
    if no operation does."""
    cost: int
    """The cost of running every operation once."""
    is_within: bool
    """True if the last point is within the limit of the peak, or if there is no limit."""
    has_none: bool = False
    """True if it is proved that no program is within the limit."""
    points: tuple[RecomputedPoint, ...]
    """The programs, none dominated in peak and cost. The first one has no clones, and the last one is the answer. If
    the time was too short for any plan, there are none."""

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


class MovedOrder(Answer):
    """The costs of an order whose buffers move between pools."""

    status: str
    """The status of the plan of this order."""
    cost: float | None
    """The cost of this plan; null without a plan."""
    cost_lower_bound: float | None
    """A lower bound on the cost of all plans of this order; other orders may cost less."""
    given_cost: float | None
    """The cost that was found for the given order; null without a plan."""

    @property
    def sentence(self) -> str:
        """The costs in one line."""
        costs = ["no plan" if cost is None else f"{cost:,.12g}" for cost in (self.cost, self.given_cost)]
        bound = f"{self.cost_lower_bound or 0:,.12g}"
        return f"{costs[0]}, {self.status}, with the lower bound {bound} of this order; {costs[1]} in the given order"


class OrderAnswer(AnswerOfFile):
    """An order of operations, by positions in the graph.

    If operations run again, the fields describe the last point of `recomputed`, without witness and moves.
    """

    name: str | None = None
    """The name of the graph; null if it has none."""
    status: Status
    """`optimal` if `peak` equals `lower_bound`."""
    peak: int
    """The largest number of live bytes in this order."""
    lower_bound: int
    """A lower bound in bytes on the peak of every order."""
    gap: float | None
    """The distance of the peak from the bound, relative to the bound, such as 0.02; null if the bound is 0 and the peak
    is not."""
    given_peak: int
    """The largest number of live bytes in the given order."""
    saved_bytes: int
    """The bytes by which `peak` is lower than `given_peak`."""
    moves: int | None = None
    """The number of operations that move; null if operations run again."""
    wall_time_s: float | None
    """The time that the answer took, in seconds; null for the given order, which needs no search."""
    order: tuple[int, ...]
    """The given positions of the operations, in the new order."""
    witness: Annotated[Witness, Field(discriminator="kind")] | None = None
    """The proof of the lower bound; null if the bound has none."""
    placed_peak: int | None = None
    """The peak in bytes of a verified plan for this order; null if there is none."""
    placed_status: Status = "feasible"
    """`optimal` if `placed_peak` equals `lower_bound`."""
    written_over: tuple[tuple[int, int], ...] = ()
    """Pairs of an output and the input that it overwrites, as tensors."""
    sources: tuple[tuple[int, ...], ...] = Field((), exclude_if=lambda found: not any(found))
    """The place of each operation in the model's file, in the new order."""
    regions: tuple[RegionOrder, ...] = Field((), exclude_if=lambda found: not found)
    """The changed orders inside operations."""
    alternatives: tuple[int, ...] = Field((), exclude_if=lambda found: not found)
    """The chosen alternative of each operation: 0 for the operation itself, k for its k-th alternative."""
    certificate: BoundCertificate | None = Field(None, exclude_if=lambda found: found is None)
    """The certificate of the lower bound, if requested."""
    planned: PlanAndProblem | None = Field(None, exclude_if=lambda found: found is None)
    """The plan for this order and its problem, if requested."""
    recomputed: Recomputed | None = Field(None, exclude_if=lambda found: found is None)
    """The programs in which operations run again, if requested."""
    moved: MovedOrder | None = Field(None, exclude_if=lambda found: found is None)
    """The costs, if buffers move; the order is then the one of least cost, and `placed_peak` counts all pools."""
    graph: Graph = Field(None, exclude=True, repr=False)
    """The given graph; None in answers from other machines."""
    ordered: Graph = Field(None, exclude=True, repr=False)
    """The graph with the new orders of regions and the chosen alternatives; None as `graph` is."""
    placed: SkipJsonSchema[PlanAndProblem | None] = Field(None, exclude=True, repr=False)
    """The plan of `ordered`, whose buffers are named as in `problem_of_order`; None as `graph` is."""

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

    def in_order(self, order: Sequence[int], peak: int, **others: object) -> Self:
        """Return the answer for another order with this live peak of the same graph, with the same lower bound."""
        assert self.graph is not None, "an order that was found here has its graph"
        facts = {name: getattr(self, name) for name in ("ordered", "witness", "regions", "wall_time_s")}
        return self.from_order(self.graph, order, peak, self.lower_bound, self.given_peak, **{**facts, **others})

    def answer_without_plan(self, within: int | None) -> Self:
        """Return this order as the answer if recomputation could plan no program in time."""
        cost = 0 if self.ordered is None else sum(costs_of(self.ordered))
        recomputed = Recomputed(extra_cost=0, cost=cost, is_within=within is None, points=())
        return self.model_copy(update={"recomputed": recomputed})
