"""`memplan verify`: whether a plan is valid for a problem."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import Capacities, Problem, Quiet
from memplan.api.cli.streams import STANDARD, read_plan, read_problem, say, write
from memplan.api.reports.sizes import with_capacities
from memplan.planner.errors import OptionError
from memplan.planner.lint.foreign import lint_plan
from memplan.planner.verify.verifier import verify as violations_of

VIOLATED = 3


def verify(
    problem_file: Problem,
    plan_file: Annotated[str, typer.Argument(metavar="PLAN", help="A file, JSON or CSV, or -.")],
    capacity: Capacities = None,
    quiet: Quiet = False,
) -> None:
    """Check a plan: every violation, as JSON on standard output and as sentences on standard error.

    Exit status: 0 the plan is valid, 3 it is not, 2 wrong input.
    """
    if problem_file == plan_file == STANDARD:
        raise OptionError("PLAN: must be a file where PROBLEM is standard input, got -")
    problem = with_capacities(read_problem(problem_file), capacity or ())
    plan = read_plan(plan_file, problem)
    violations = violations_of(problem, plan)
    write(None, to_json({"valid": not violations, "violations": [asdict(entry) for entry in violations]}) + b"\n")
    if not quiet:
        for violation in violations:
            say(f"memplan: {violation.rule}: {violation.message}")
        for warning in lint_plan(problem, plan.placements):
            say(f"memplan: warning: {warning.rule}: {warning.message}")
        if not violations:
            say(f"memplan: valid, {len(plan.placements):,} placements")
    raise typer.Exit(VIOLATED if violations else 0)
