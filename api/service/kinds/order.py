"""The kind `order`: a graph of operations in, the order with the least peak out."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.reports.orders import facts
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.errors import OperationsError, shown
from memplan.planner.operations.graph import OperationGraph, graph_from, write_graph
from memplan.solvers.order.solve import order_operations


class OrderOptions(KindOptions):
    """Options of an order: the time limit; `deterministic` gives the same order on every machine."""

    deterministic: bool = False


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
    order: tuple[int, ...]
    witness: dict[str, Any]
    wall_time_s: float | None
    name: str | None = None


def _read(content: Mapping[str, Any]) -> OperationGraph:
    graph = content["graph"]
    if not isinstance(graph, dict):
        raise OperationsError(f"graph: must be an object, got {shown(graph)}")
    return graph_from(graph)


def _about(graph: OperationGraph) -> Subject:
    return Subject(f"sha256:{sha256(write_graph(graph)).hexdigest()}", graph.name, len(graph.size))


def _run(graph: OperationGraph, options: OrderOptions, control: WorkControl) -> WorkAnswer:
    limit_s = options.time_limit_s if options.deterministic else max(0.0, control.deadline.left_s)
    found = order_operations(
        graph, time_limit_s=limit_s, deterministic=options.deterministic, cancelled=control.cancelled
    )
    return WorkAnswer(to_json(facts(graph, found)), found.status)


KIND = JobKind(
    name="order",
    summary="Order operations",
    description=(
        "Answer with an order of the operations that needs the fewest bytes at once, with a proof or an honest gap."
    ),
    fields=("graph",),
    read=_read,
    about=_about,
    run=_run,
    options=OrderOptions,
    request=create_model("OrderRequest", graph=OperationGraph, options=(OrderOptions, OrderOptions())),
    answer=OrderAnswer,
    example={"graph": {"size": [8, 4, 2], "ops": [{"out": [0]}, {"in": [0], "out": [1]}, {"in": [1], "out": [2]}]}},
)
