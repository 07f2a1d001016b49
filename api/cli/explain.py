"""`memplan explain`: the reason why nothing fits, with as few buffers and rules in it as the time allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import Capacities, Deterministic, ListFormat, ProblemFile, Quiet
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import read_problem, refuse_unwritable, say, wants_table, write
from memplan.api.reports.reasons import lines
from memplan.api.reports.sizes import with_capacities
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.plan import Explanation, Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.explanation.explain import explain as explain_problem
from memplan.solvers.studies.explanation.options import EXPLAIN_S, ExplainOptions
from memplan.solvers.studies.repairs.values import Repairs

NOTHING_FITS = 1


def explain(
    problem_file: ProblemFile,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the JSON here, whatever is shown.")
    ] = None,
    capacity: Capacities = None,
    time_limit: Annotated[float, typer.Option(help="Seconds to find out if it fits.")] = DEFAULT_TIME_LIMIT_S,
    explain_limit: Annotated[float, typer.Option(help="Seconds for the reason, beyond that.")] = EXPLAIN_S,
    deterministic: Deterministic = False,
    wanted: Annotated[int, typer.Option("--repairs", min=0, help="So many repairs as well, if there are any.")] = 0,
    most_changes: Annotated[int, typer.Option(help="The most changes of a repair, 1 to 4.")] = 3,
    display: ListFormat = None,
    quiet: Quiet = False,
) -> None:
    """Explain why a problem does not fit: few buffers and rules, each of them needed; with --repairs, what would help.

    Exit status: 0 it fits, 1 it does not, or that is not known in time; 2 wrong input.
    """
    if not 0 < explain_limit < float("inf"):
        raise OptionError(f"explain-limit: must be above 0 and finite, got {shown(explain_limit)}")
    refuse_unwritable(output)
    problem = with_capacities(read_problem(problem_file), capacity or ())
    with graceful_interrupts() as cancelled:
        options = ExplainOptions(explain_limit, _tell_stage, cancelled, deterministic)
        options = replace(options, on_stage=None) if quiet else options
        control = SolveControl(cancelled=cancelled)

        def work() -> tuple[str, Explanation | None, Repairs | None]:
            plan = solve(problem, time_limit_s=time_limit, accept="fit", deterministic=deterministic, control=control)
            status = "fits" if plan.status in ("optimal", "feasible") else plan.status
            reason = explain_problem(problem, plan=plan, options=options)
            return status, reason, _repaired(problem, plan, wanted, most_changes, options)

        status, found, mended = run_in_thread(work, lambda: None)
    is_table = wants_table(display)
    if output is not None or not is_table:
        said = {"status": status, "explanation": found} | ({} if mended is None else {"repairs": mended})
        write(output, to_json(said) + b"\n")
    if is_table:
        write(None, "".join(f"{line}\n" for line in lines(status, found, mended)).encode())
    if cancelled.is_set():
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if status == "fits" else NOTHING_FITS)


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
