"""The kind `repairs`: a problem or operations that do not fit in, the fewest changes with which they do out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.reports.reasons import facts_of_orders
from memplan.api.service.kinds.bodies import problem_of, problem_subject
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.api.service.kinds.operations.graphs import graph_of, graph_subject
from memplan.planner.errors import InputError, shown
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, as_tuple
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.studies.repairs.orders import repairs_of_graph
from memplan.solvers.studies.repairs.repair import MOST_CHANGES, REPAIRS_S, RepairOptions, repairs
from memplan.solvers.studies.repairs.values import KINDS, ChangeKind, Repairs


class ChangesOptions(KindOptions):
    """Options of repairs: the seconds in all, and those of them that are kept for the search of changes.

    `wanted` is how many repairs are looked for, of at most `most_changes` changes of these `kinds`; `with_plans` tells
    the plan of each.
    """

    repair_s: Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)] = REPAIRS_S
    wanted: Annotated[int, Field(ge=1, le=100)] = 3
    most_changes: Annotated[int, Field(ge=1, le=MOST_CHANGES)] = 3
    kinds: Annotated[tuple[ChangeKind, ...], BeforeValidator(as_tuple), Field(min_length=1)] = tuple(KINDS)
    with_plans: bool = False
    deterministic: bool = False


class RepairsAnswer(Repairs):
    """Repairs of a problem; of a graph those of the problem of its operations as they run, and those that reorder them.

    `repairs_of_operations` is what `memplan explain GRAPH --repairs` tells.
    """

    repairs_of_operations: dict[str, Any] | None = None


@dataclass(frozen=True)
class Unfit:
    """A problem that does not fit, and the graph of its operations where it was told as one."""

    problem: Problem
    graph: OperationGraph | None = None


def _read(content: Mapping[str, Any]) -> Unfit:
    if "graph" not in content:
        if "capacity" in content:
            raise InputError("capacity: must be given with a graph only, a problem has pools")
        return Unfit(problem_of(content))
    size = content.get("capacity")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= MAX_BYTES:
        raise InputError(f"capacity: must be the bytes that a graph may use, from 1 to {MAX_BYTES}, got {shown(size)}")
    graph = graph_of(content)
    return Unfit(problem_of_order(graph, range(len(graph.ops))).with_capacity(size), graph)


def _about(asked: Unfit) -> Subject:
    return problem_subject(asked.problem) if asked.graph is None else graph_subject(asked.graph)


def _run(asked: Unfit, options: ChangesOptions, control: WorkControl) -> WorkAnswer:
    left_s = options.time_limit_s if options.deterministic else max(0.02, control.deadline.left_s)
    repair_s = min(options.repair_s, left_s / (2 if asked.graph is None else 3))
    chosen = RepairOptions(
        repair_s,
        wanted=options.wanted,
        most_changes=options.most_changes,
        kinds=options.kinds,
        with_plans=options.with_plans,
        cancelled=control.cancelled,
        deterministic=options.deterministic,
    )
    found = repairs(asked.problem, solve_time_limit_s=left_s / 2, options=chosen)
    if asked.graph is None or found.status == "fits":
        return WorkAnswer(to_json(found) + b"\n", found.status)
    orders = repairs_of_graph(
        asked.graph,
        asked.problem.pools[0].size or 0,
        wanted=options.wanted,
        time_limit_s=repair_s if options.deterministic else max(0.05, min(repair_s, control.deadline.left_s)),
        deterministic=options.deterministic,
        cancelled=control.cancelled,
    )
    told = found.model_dump() | {"repairs_of_operations": facts_of_orders(orders, with_plans=options.with_plans)}
    return WorkAnswer(to_json(told) + b"\n", found.status)


def _example() -> dict[str, Any]:
    rows = [
        {"id": "conv1", "size": 64, "start": 0, "end": 3},
        {"id": "conv2", "size": 48, "start": 2, "end": 5},
    ]
    pools = [{"name": "sram", "size": 100}, {"name": "dram", "cost": 1.0}]
    return {"problem": {"buffers": [row | {"pools": ["sram"]} for row in rows], "pools": pools}}


KIND = JobKind(
    name="repairs",
    summary="Repair a problem that does not fit",
    description=(
        "Answer with the fewest changes with which a problem fits, each verified by a plan. Of a graph of operations"
        " and a capacity, changes are also swaps, other orders, operations that run again, and cascades."
    ),
    fields=("problem", "graph", "capacity"),
    one_of=("problem", "graph"),
    read=_read,
    about=_about,
    run=_run,
    options=ChangesOptions,
    request=create_model(
        "RepairsRequest",
        problem=(Problem | None, None),
        graph=(OperationGraph | None, None),
        capacity=(Annotated[int, Field(gt=0, le=MAX_BYTES)] | None, None),
        options=(ChangesOptions, ChangesOptions()),
    ),
    answer=RepairsAnswer,
    example=_example(),
)
