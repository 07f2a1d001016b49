"""The capability `explain`: why a problem does not fit, or why its peak is what it is, and what would change that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import to_jsonable_python

from memplan.capabilities.capability import Answer, Capability, Control, SearchOptions, Seconds
from memplan.capabilities.explain.lines import lines_of_reason, lines_of_repairs, lines_of_worth
from memplan.capabilities.explain.peaks import PoolPeak, pool_peaks
from memplan.capabilities.explain.reasons import explain as study
from memplan.capabilities.explain.reasons.options import EXPLAIN_S
from memplan.capabilities.explain.reasons.options import ExplainOptions as StudyOptions
from memplan.capabilities.explain.repairs import repair
from memplan.capabilities.explain.repairs.values import KINDS, ChangeKind, Repairs
from memplan.capabilities.explain.what_if.values import WhatIf
from memplan.capabilities.explain.what_if.what_if import MORE, WhatIfOptions, what_if
from memplan.capabilities.inputs import EXAMPLE, GRAPH, PROBLEM
from memplan.capabilities.question import Input, Question
from memplan.capabilities.reading import Reader
from memplan.capabilities.sizes import with_capacities
from memplan.planner.errors import InputError, shown
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.model.plan import Explanation, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import MAX_BYTES, as_tuple
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import places
from memplan.solvers.portfolio.solve import solve
from memplan.systems.model_graph import is_graph
from memplan.systems.reading import detect


class ExplainOptions(SearchOptions):
    """Options of an explanation."""

    explain_s: Seconds = Field(EXPLAIN_S, description="Of these, the seconds for the reason.")
    study_s: Seconds = Field(5.0, description="Of these, the seconds for repairs, and as many for what-if.")
    repairs: Annotated[int, Field(ge=0, le=100)] = Field(
        0, description="Look for so many repairs, too: the fewest changes with which it fits."
    )
    most_changes: Annotated[int, Field(ge=1, le=repair.MOST_CHANGES)] = Field(
        3, description="The most changes of a repair."
    )
    kinds: Annotated[tuple[ChangeKind, ...], BeforeValidator(as_tuple), Field(min_length=1)] = Field(
        KINDS, description=f"The kinds of changes of repairs: {', '.join(KINDS)}."
    )
    with_plans: bool = Field(False, description="Answer with the plan of each repair, too.")
    what_if: bool = Field(
        False,
        description="Count what single changes are worth, too: each buffer dropped or grown, bytes of a pool,"
        " each rule left out.",
    )
    shrunk_to: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        None, description="With what-if, each buffer at this part of its size, too: 0.5."
    )
    more: Annotated[int, Field(gt=0, lt=MAX_BYTES)] = Field(
        MORE, description="With what-if, the bytes of a pool whose worth is wanted."
    )


class ExplainAnswer(Answer):
    """The reason why a problem does not fit; or, where it fits, what decides the peak of each pool in its best plan.

    `repairs` and `what_if` are there where they were asked for: the fewest changes with which it fits, and what single
    changes are worth against the best plan, in bytes of its peak, as intervals that are points where they are exact.
    """

    status: Literal["fits", "infeasible", "unknown"]
    explanation: Explanation | None
    pools: tuple[PoolPeak, ...] = ()
    repairs: Repairs | None = Field(None, exclude_if=lambda found: found is None)
    what_if: WhatIf | None = Field(None, exclude_if=lambda found: found is None)


def explain(
    problem: Problem | None = None,
    graph: OperationGraph | None = None,
    capacity: int | None = None,
    options: ExplainOptions = ExplainOptions(),
    control: Control = Control(),
) -> ExplainAnswer:
    """Explain why a problem does not fit: few buffers and rules that cannot all be met, each of them needed.

    Where it fits, the answer says why the peak of each pool is what it is. Reasons are reported in stages, the last of
    them with one from which nothing can be left out. Of a graph of operations and a capacity in bytes, or of a problem
    with the graph that poses it, repairs are also swaps, other orders, operations that run again, and cascades.
    """
    running = control.begun(options)
    asked = _problem_of(problem, graph, capacity)
    parts = 2 + (bool(options.repairs) and (1 if graph is None else 2)) + options.what_if
    reason_s, study_s = (min(limit_s, running.left_s / parts) for limit_s in (options.explain_s, options.study_s))
    kept_s = reason_s + (parts - 2) * study_s
    plan = _solved(asked, options, running, kept_s, accept="fit")
    is_placed = plan.status in ("optimal", "feasible")
    if is_placed:  # the reason needs no time, which the best plan gets
        plan = _solved(asked, options, running, kept_s - reason_s, start=plan)
    explanation = None if is_placed else _reason(asked, plan, options, running, reason_s)
    return ExplainAnswer(
        status="fits" if is_placed else "infeasible" if plan.status == "infeasible" else "unknown",
        explanation=explanation,
        pools=_peaks(asked, plan) if is_placed else (),
        repairs=_repairs(asked, graph, plan, options, running, study_s) if options.repairs else None,
        what_if=_worth(asked, plan, options, running, study_s) if options.what_if else None,
    )


def _solved(problem: Problem, options: ExplainOptions, running: Control, kept_s: float, **more: Any) -> Plan:
    accept = more.pop("accept", None)
    control = running.searching(keeping_s=kept_s, **more)
    limit_s = max(0.02, running.left_s - kept_s)
    return solve(problem, time_limit_s=limit_s, accept=accept, deterministic=options.deterministic, control=control)


def _reason(
    problem: Problem, plan: Plan, options: ExplainOptions, running: Control, limit_s: float
) -> Explanation | None:
    def report(stage: str, found: Explanation) -> None:
        running.report({"stage": stage, "explanation": to_jsonable_python(found)})

    if plan.status == "infeasible" and plan.explanation is not None:
        report("infeasible", plan.explanation)
    left_s = min(limit_s, running.left_s)
    chosen = StudyOptions(left_s, report, cancelled=running.cancelled, deterministic=options.deterministic)
    return study.explain(problem, plan=plan, options=chosen)


def _peaks(problem: Problem, plan: Plan) -> tuple[PoolPeak, ...]:
    placed = PlacedBuffers.by(problem, plan.placements)
    bounds = {use.name: (use.lower_bound, None) for use in plan.pools}
    return tuple(pool_peaks(problem, placed, places(problem, placed), bounds))


def _repairs(
    problem: Problem,
    graph: OperationGraph | None,
    plan: Plan,
    options: ExplainOptions,
    running: Control,
    limit_s: float,
) -> Repairs:
    """Look for changes with which a problem fits, and for those of the operations that pose it."""
    chosen = repair.RepairOptions(
        min(limit_s, running.left_s),
        wanted=options.repairs,
        **options.fields("most_changes", "kinds", "with_plans", "deterministic"),
        cancelled=running.cancelled,
    )
    found = repair.repairs(problem, plan=plan, options=chosen)
    size = problem.pools[0].size
    if graph is None or found.status == "fits" or len(problem.pools) > 1 or size is None:
        return found
    # Imported here: few problems have a graph, and this takes as long as all else.
    from memplan.capabilities.explain.repairs import orders

    of_operations = orders.repairs_of_graph(
        graph,
        size,
        wanted=options.repairs,
        deterministic=options.deterministic,
        time_limit_s=min(limit_s, running.left_s),
        cancelled=running.cancelled,
        with_plans=options.with_plans,
    )
    return found.model_copy(update={"of_operations": of_operations})


def _worth(problem: Problem, plan: Plan, options: ExplainOptions, running: Control, limit_s: float) -> WhatIf:
    questions = WhatIfOptions(
        min(limit_s, running.left_s),
        **options.fields("shrunk_to", "more", "deterministic"),
        cancelled=running.cancelled,
        on_progress=lambda done, of: running.report({"buffers_done": done, "buffers": of}),
    )
    return what_if(problem, plan=plan, solve_time_limit_s=min(limit_s, running.left_s), options=questions)


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


def lines(found: ExplainAnswer) -> Iterator[str]:
    """Yield the rows of a table for people: the sentence, its members, the size that would do, and what was asked."""
    reason = found.explanation
    yield f"{found.status}: {reason.message if reason else 'all buffers have a place'}"
    if reason is not None and reason.kind is not None:
        yield from lines_of_reason(reason)
    for pool in found.pools:
        yield f"{pool.name if pool.name.isprintable() else shown(pool.name)}: {pool.sentence}"
    if found.repairs is not None:
        yield from lines_of_repairs(found.repairs)
    if found.what_if is not None:
        yield from lines_of_worth(found.what_if)


def _progress(event: Mapping[str, Any]) -> str | None:
    stage = event.get("stage")
    return f"{stage}: {event['explanation']['message']}" if stage in ("witness", "irreducible") else None


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
CAPABILITY = Capability(
    explain,
    inputs=(
        replace(
            PROBLEM,
            help="A file: JSON, CSV, a model or a graph of operations, or - for standard input.",
            from_file=_read_problem,
            required=False,
        ),
        replace(GRAPH, from_file=None, absent=_graph_inside, required=False),
        Input("capacity", int, lambda value: value, lambda value: value, "The bytes of a graph.", required=False),
    ),
    any_of=("problem", "graph"),
    lines=lines,
    exit_status=lambda found: 0 if found.status == "fits" else 1,
    exits={0: "it fits", 1: "it does not, or that is not known in time"},
    progress=_progress,
    example={
        "problem": {"buffers": [row | {"pools": ["sram"]} for row in EXAMPLE["buffers"]], "pools": _POOLS},
        "options": {"repairs": 2, "what_if": True},
    },
)
