"""`memplan explain`: the reason why nothing fits, with as few buffers and rules in it as the time allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import Capacities, Deterministic, ListFormat, ProblemFile, Quiet, seconds_limit
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import problem_in, read_as, refuse_unwritable, say, wants_table, write
from memplan.api.reports.reasons import facts_of_orders, lines
from memplan.api.reports.sizes import with_capacities
from memplan.planner.errors import OptionError, shown
from memplan.planner.importers import detect
from memplan.planner.importers.imported import ImportOptions
from memplan.planner.importers.model_graph import is_graph, read_model_graph
from memplan.planner.liveness.ordered import problem_of_order
from memplan.planner.model.plan import Explanation, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.explanation.explain import explain as explain_problem
from memplan.solvers.studies.explanation.options import EXPLAIN_S, ExplainOptions
from memplan.solvers.studies.repairs.orders import OrderRepairs
from memplan.solvers.studies.repairs.values import Repairs

NOTHING_FITS = 1


def explain(
    problem_file: ProblemFile,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the JSON here, whatever is shown.")
    ] = None,
    capacity: Capacities = None,
    time_limit: Annotated[float, seconds_limit("Seconds to find out if it fits")] = DEFAULT_TIME_LIMIT_S,
    explain_limit: Annotated[float, seconds_limit("Seconds for the reason, beyond that")] = EXPLAIN_S,
    deterministic: Deterministic = False,
    wanted: Annotated[int, typer.Option("--repairs", min=0, help="So many repairs as well, if there are any.")] = 0,
    most_changes: Annotated[int, typer.Option(help="The most changes of a repair, 1 to 4.")] = 3,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
    display: ListFormat = None,
    quiet: Quiet = False,
) -> None:
    """Explain why a problem does not fit: few buffers and rules, each of them needed; with --repairs, what would help.

    Of a model or a graph of operations, repairs are also other orders, operations that run again, and cascades.
    Exit status: 0 it fits, 1 it does not, or that is not known in time; 2 wrong input.
    """
    if not 0 < explain_limit < float("inf"):
        raise OptionError(f"explain-limit: must be above 0 and finite, got {shown(explain_limit)}")
    refuse_unwritable(output)
    reading = model_options(dim, views, alignment, scratch)
    problem, graph = read_as(problem_file, lambda data: _problem_and_graph(data, problem_file, reading, wanted))
    problem = with_capacities(problem, capacity or ())
    with graceful_interrupts() as cancelled:
        options = ExplainOptions(explain_limit, _tell_stage, cancelled, deterministic)
        options = replace(options, on_stage=None) if quiet else options
        control = SolveControl(cancelled=cancelled)

        def work() -> tuple[str, Explanation | None, Repairs | None, OrderRepairs | None]:
            plan = solve(problem, time_limit_s=time_limit, accept="fit", deterministic=deterministic, control=control)
            status = "fits" if plan.status in ("optimal", "feasible") else plan.status
            reason = explain_problem(problem, plan=plan, options=options)
            mended = _repaired(problem, plan, wanted, most_changes, options)
            return status, reason, mended, _reordered(problem, graph, status, wanted, options)

        status, found, mended, orders = run_in_thread(work, lambda: None)
    is_table = wants_table(display)
    if output is not None or not is_table:
        said: dict[str, Any] = {"status": status, "explanation": found}
        said |= {} if mended is None else {"repairs": mended}
        said |= {} if orders is None else {"repairs_of_operations": facts_of_orders(orders)}
        write(output, to_json(said) + b"\n")
    if is_table:
        write(None, "".join(f"{line}\n" for line in lines(status, found, mended, orders)).encode())
    if cancelled.is_set():
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if status == "fits" else NOTHING_FITS)


def _problem_and_graph(
    data: bytes, name: str, reading: ImportOptions, wanted: int
) -> tuple[Problem, OperationGraph | None]:
    """Return the problem in a file, and the graph of operations that it tells, if repairs are wanted."""
    if is_graph(data):
        graph = read_model_graph(data, name, reading).graph
        return problem_of_order(graph, range(len(graph.ops))), graph
    problem, imported = problem_in(data, name, reading)
    if wanted == 0 or imported is None or imported.operations is None:
        return problem, None
    is_open = detect(data, name) is not None or imported.operations.order == "tentative"
    return problem, read_model_graph(data, name, reading).graph if is_open else None


def _reordered(
    problem: Problem, graph: OperationGraph | None, status: str, wanted: int, options: ExplainOptions
) -> OrderRepairs | None:
    """Return what other orders of the operations would do; None where nothing is wrong, or no single pool is."""
    size = problem.pools[0].size
    if graph is None or wanted == 0 or status == "fits" or len(problem.pools) > 1 or size is None:
        return None
    # Imported here: it is asked for seldom.
    from memplan.solvers.studies.repairs.orders import repairs_of_graph
    from memplan.solvers.studies.repairs.repair import REPAIRS_S

    return repairs_of_graph(
        graph,
        size,
        wanted=wanted,
        time_limit_s=max(REPAIRS_S, options.time_limit_s),
        deterministic=options.deterministic,
        cancelled=options.cancelled,
    )


def _repaired(problem: Problem, plan: Plan, wanted: int, most_changes: int, options: ExplainOptions) -> Repairs | None:
    if wanted == 0:
        return None
    # Imported here: it is asked for seldom.
    from memplan.solvers.studies.repairs.repair import REPAIRS_S, RepairOptions, repairs

    limit_s = max(REPAIRS_S, options.time_limit_s)
    asked = RepairOptions(
        limit_s, wanted, most_changes, cancelled=options.cancelled, deterministic=options.deterministic
    )
    return repairs(problem, plan=plan, options=asked)


def _tell_stage(stage: str, found: Explanation) -> None:
    if stage in ("witness", "irreducible"):
        say(f"memplan: {stage}: {found.message}")
