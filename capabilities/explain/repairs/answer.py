"""The capability `repairs`: the fewest changes with which a problem that does not fit would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from memplan.capabilities.capability import Answer, Capability, Control, SearchOptions, Seconds
from memplan.capabilities.explain.repairs import repair, values
from memplan.capabilities.inputs import EXAMPLE, GRAPH, PROBLEM
from memplan.capabilities.order.search.regions import RegionOrder
from memplan.capabilities.question import Input, Question
from memplan.capabilities.reading import Reader
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import InputError, shown
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, as_tuple
from memplan.planner.operations.graph import OperationGraph
from memplan.systems.model_graph import is_graph
from memplan.systems.reading import detect

if TYPE_CHECKING:
    from memplan.capabilities.explain.repairs.orders import OrderRepairs as OrderRepairsFound


class RepairsOptions(SearchOptions):
    """Options of repairs."""

    repair_s: Seconds = Field(repair.REPAIRS_S, description="Of these, the seconds for the search of changes.")
    wanted: Annotated[int, Field(ge=1, le=100)] = Field(3, description="So many repairs, if there are any.")
    most_changes: Annotated[int, Field(ge=1, le=repair.MOST_CHANGES)] = Field(
        3, description="The most changes of a repair."
    )
    kinds: Annotated[tuple[values.ChangeKind, ...], BeforeValidator(as_tuple), Field(min_length=1)] = Field(
        values.KINDS, description=f"The kinds of changes: {', '.join(values.KINDS)}."
    )
    with_plans: bool = Field(False, description="Answer with the plan of each repair, too.")


class OrderRepair(Answer):
    """A change of operations, which are positions in the graph; with a plan, `problem` is that of the changed program.

    `extra_cost` is in multiplications for a cascade, else in the cost of operations, `extra_traffic` in bytes.
    `regions` are the orders inside operations that differ from the given ones.
    """

    kind: values.OrderChange
    operations: tuple[int, ...]
    order: tuple[int, ...] | None
    moves: int
    extra_cost: int
    extra_traffic: int
    live_peak: int
    peak_after: int
    verified: bool
    regions: tuple[RegionOrder, ...] = ()
    problem: Problem | None = None
    plan: Any = None


class OrderRepairs(Answer):
    """Repairs of operations: no order of them has a peak below `least_live_peak`; `left_out` was not tried."""

    status: str
    repairs: tuple[OrderRepair, ...]
    least_live_peak: int
    proved: bool
    left_out: tuple[str, ...]


class Repairs(values.Repairs):
    """Repairs of a problem and, where its operations are known, those that change their order."""

    repairs_of_operations: OrderRepairs | None = None


def repairs(
    problem: Problem | None = None,
    graph: OperationGraph | None = None,
    capacity: int | None = None,
    options: RepairsOptions = RepairsOptions(),
    control: Control = Control(),
) -> Repairs:
    """Repair a problem that does not fit: the fewest changes with which it does, each verified by a plan.

    Of a graph of operations and a capacity in bytes, or of a problem with the graph that poses it, changes are also
    swaps, other orders, operations that run again, and cascades.
    """
    running = control.begun(options)
    asked = _problem_of(problem, graph, capacity)
    repair_s = min(options.repair_s, running.left_s / (2 if graph is None else 3))
    chosen = repair.RepairOptions(
        repair_s,
        **options.fields("wanted", "most_changes", "kinds", "with_plans", "deterministic"),
        cancelled=running.cancelled,
    )
    found = repair.repairs(asked, solve_time_limit_s=running.left_s / 2, options=chosen)
    size = asked.pools[0].size
    if graph is None or found.status == "fits" or len(asked.pools) > 1 or size is None:
        return Repairs.model_construct(**dict(found))
    # Imported here: few problems have a graph, and this takes as long as all else.
    from memplan.capabilities.explain.repairs import orders

    reordered = orders.repairs_of_graph(
        graph,
        size,
        **options.fields("wanted", "deterministic"),
        time_limit_s=min(repair_s, running.left_s),
        cancelled=running.cancelled,
    )
    of_operations = _of_operations(reordered, with_plans=options.with_plans)
    return Repairs.model_construct(**dict(found), repairs_of_operations=of_operations)


def _problem_of(problem: Problem | None, graph: OperationGraph | None, capacity: int | None) -> Problem:
    """Return the problem that is to fit; raises InputError."""
    if problem is not None:
        if capacity is not None:
            raise InputError("capacity: must be given with a graph only, a problem has pools")
        return problem
    if graph is None:
        raise InputError("problem or graph: one of them is required, got neither")
    if not isinstance(capacity, int) or isinstance(capacity, bool) or not 0 < capacity <= MAX_BYTES:
        rule = f"must be the bytes that a graph may use, from 1 to {MAX_BYTES}, got {shown(capacity)}"
        raise InputError(f"capacity: {rule}")
    return problem_of_order(graph, range(len(graph.ops))).with_capacity(capacity)


def _of_operations(found: OrderRepairsFound, *, with_plans: bool) -> OrderRepairs:
    rows = tuple(
        OrderRepair.of(
            each,
            order=each.order or None,
            peak_after=each.peak,
            verified=True,
            problem=each.problem if with_plans else None,
            plan=each.plan if with_plans else None,
        )
        for each in found.repairs
    )
    status = "repaired" if found.repairs else "none" if found.proved else "unknown"
    return OrderRepairs.of(found, status=status, repairs=rows, least_live_peak=found.least)


def lines(found: Repairs) -> Iterator[str]:
    """Yield the rows of a table for people: each repair with its price, or that there is none."""
    if found.status == "fits":
        yield "fits: all buffers have a place"
    for each in found.repairs:
        changes = " and ".join(map(change_text, each.changes))
        yield f"repair       {changes}: {each.cost_bytes:,} bytes of traffic, peak {each.peak_after:,}"
    if found.status in ("none", "unknown"):
        known = "is enough" if found.proved else "was found to be enough"
        yield f"repair       none of at most {found.most_changes} changes {known}"
    if (of_operations := found.repairs_of_operations) is not None:
        yield from _lines_of_operations(of_operations)


def _lines_of_operations(found: OrderRepairs) -> Iterator[str]:
    for each in found.repairs:
        cost = f"{each.extra_cost:,} more to compute, {each.extra_traffic:,} bytes of traffic"
        yield f"repair       {_order_text(each)}: {cost}, peak {each.peak_after:,}"
    if not found.repairs:
        known = "is enough" if found.proved else "was found to be enough"
        alive = f"at least {found.least_live_peak:,} bytes are alive in each"
        yield f"repair       no order of the operations {known}; {alive}"
    for reason in found.left_out:
        yield f"not tried    {reason}"


def _order_text(each: OrderRepair) -> str:
    """Say a repair of operations in some words."""
    if each.kind == "swap":
        return "swap operations {} and {}".format(*each.operations)
    if each.kind == "recompute":
        return f"run {len(each.operations)} operations again (`memplan order --recompute`)"
    if each.kind == "cascade":
        pairs = zip(each.operations[::2], each.operations[1::2], strict=True)
        ranges = ", ".join(f"{first} to {last}" for first, last in pairs)
        return f"run operations {ranges} in stripes (`memplan cascade`)"
    if each.kind == "reorder":
        return f"another order, {each.moves} operations elsewhere (`memplan order`)"
    return "the operations as they are"


def change_text(change: values.RepairChange) -> str:
    """Say a change in some words."""
    name = shown(change.buffers[0])
    if change.kind == "in-place":
        return f"make {shown(change.buffers[1])} in place of {name}"
    if change.kind == "pool":
        return f"move {name} to {'another memory' if change.pool is None else 'pool ' + shown(change.pool)}"
    texts = {
        "spill": f"keep {name} elsewhere between its first and its last step",
        "unpin": f"unpin {name}",
        "alignment": f"align {name} to {change.value}",
        "earlier-end": f"end {name} {change.steps} steps earlier",
        "later-start": f"start {name} {change.steps} steps later",
    }
    return texts[change.kind]


def _read_problem(reader: Reader, data: bytes, name: str, _question: Question) -> Problem:
    """Return the problem in a file; of a graph of operations, that of the order in which they stand."""
    if not is_graph(data):
        return reader.problem(data, name)
    graph = reader.own_graph = reader.graph(data, name)
    return with_capacities(problem_of_order(graph, range(len(graph.ops))), reader.options.capacity)


def _graph_inside(reader: Reader, question: Question) -> OperationGraph | None:
    """Return the graph of operations that poses a problem, where it may run in other orders."""
    if reader.own_graph is not None or reader.imported is None or reader.imported.operations is None:
        return reader.own_graph
    if detect(reader.data, reader.name) is None and reader.imported.operations.order != "tentative":
        return None
    return reader.graph(reader.data, reader.name)


_POOLS = [{"name": "sram", "size": 100}, {"name": "dram", "cost": 1.0}]
PROBLEM_OR_GRAPH = replace(
    PROBLEM,
    help="A file: JSON, CSV, a model or a graph of operations, or - for standard input.",
    from_file=_read_problem,
    required=False,
)
CAPABILITY = Capability(
    repairs,
    inputs=(
        PROBLEM_OR_GRAPH,
        replace(GRAPH, from_file=None, absent=_graph_inside, required=False),
        Input("capacity", int, lambda value: value, lambda value: value, "The bytes of a graph.", required=False),
    ),
    any_of=("problem", "graph"),
    lines=lines,
    exit_status=lambda found: 0 if found.status == "fits" else 1,
    exits={0: "it fits as it is", 1: "it does not, or that is not known in time"},
    example={"problem": {"buffers": [row | {"pools": ["sram"]} for row in EXAMPLE["buffers"]], "pools": _POOLS}},
)
