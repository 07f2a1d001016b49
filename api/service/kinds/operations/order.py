"""The kind `order`: a graph of operations in, the order with the least peak out, which has been planned."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.reports.orders import placed_facts
from memplan.api.service.kinds.kind import JobKind, KindOptions
from memplan.api.service.kinds.operations.graphs import graph_of, graph_subject
from memplan.planner.model.rows import Alignment
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.order.placement.joint import order_and_place


class OrderOptions(KindOptions):
    """Options of an order: the time limit; `deterministic` gives the same order on every machine.

    The `goal` is the least peak of the bytes alive, or that of the plan (`placed`); offsets are multiples of
    `alignment`.
    """

    deterministic: bool = False
    goal: Literal["alive", "placed"] = "alive"
    alignment: Alignment = 1


class OrderAnswer(BaseModel):
    """An order of operations, by their positions in the request; sizes are in bytes, and `witness` proves the bound."""

    model_config = ConfigDict(frozen=True, extra="allow")

    status: Literal["optimal", "feasible"]
    peak: int
    lower_bound: int
    gap: float | None
    given_peak: int
    saved_bytes: int
    moves: int
    placed_peak: int | None
    placed_status: Literal["optimal", "feasible"]
    written_over: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    witness: dict[str, Any]
    wall_time_s: float | None
    name: str | None = None


def _run(graph: OperationGraph, options: OrderOptions, control: WorkControl) -> WorkAnswer:
    limit_s = options.time_limit_s if options.deterministic else max(0.0, control.deadline.left_s)
    found = order_and_place(
        graph,
        time_limit_s=limit_s,
        deterministic=options.deterministic,
        cancelled=control.cancelled,
        alignment=options.alignment,
        goal=options.goal,
    )
    return WorkAnswer(to_json(placed_facts(graph, found)), found.result.status)


KIND = JobKind(
    name="order",
    summary="Order operations",
    description=(
        "Answer with an order of the operations that needs the fewest bytes at once, with a proof or an honest gap."
    ),
    fields=("graph",),
    read=graph_of,
    about=graph_subject,
    run=_run,
    options=OrderOptions,
    request=create_model("OrderRequest", graph=OperationGraph, options=(OrderOptions, OrderOptions())),
    answer=OrderAnswer,
    example={"graph": {"size": [8, 4, 2], "ops": [{"out": [0]}, {"in": [0], "out": [1]}, {"in": [1], "out": [2]}]}},
)
