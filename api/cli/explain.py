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
from memplan.planner.model.plan import Explanation
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S, SolveControl
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.studies.explanation.explain import explain as explain_problem
from memplan.solvers.studies.explanation.options import EXPLAIN_S, ExplainOptions

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
    display: ListFormat = None,
    quiet: Quiet = False,
) -> None:
    """Explain why a problem does not fit: few buffers and rules, each of them needed for that.

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

        def work() -> tuple[str, Explanation | None]:
            plan = solve(problem, time_limit_s=time_limit, accept="fit", deterministic=deterministic, control=control)
            status = "fits" if plan.status in ("optimal", "feasible") else plan.status
            return status, explain_problem(problem, plan=plan, options=options)

        status, found = run_in_thread(work, lambda: None)
    is_table = wants_table(display)
    if output is not None or not is_table:
        write(output, to_json({"status": status, "explanation": found}) + b"\n")
    if is_table:
        write(None, "".join(f"{line}\n" for line in lines(status, found)).encode())
    if cancelled.is_set():
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if status == "fits" else NOTHING_FITS)


def _tell_stage(stage: str, found: Explanation) -> None:
    if stage in ("witness", "irreducible"):
        say(f"memplan: {stage}: {found.message}")
