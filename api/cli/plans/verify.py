"""`memplan verify`: check that a plan is valid for a problem."""

from __future__ import annotations

from dataclasses import asdict

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import Capacities, Inclusive, PlanFile, ProblemFile, Quiet, refuse_standard_twice
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.streams import read_plan, read_problem, say, warn, write
from memplan.capabilities.sizes import with_capacities
from memplan.planner.audit import verify as violations_of
from memplan.planner.lint.foreign import lint_plan

VIOLATED = 3


def verify(
    problem_file: ProblemFile,
    plan_file: PlanFile,
    capacity: Capacities = None,
    inclusive: Inclusive = None,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
    quiet: Quiet = False,
) -> None:
    """Check a plan: every violation, as JSON on standard output and as sentences on standard error.

    Exit status: 0 the plan is valid, 3 it is not, 2 wrong input.
    """
    refuse_standard_twice(problem_file, plan_file)
    options = model_options(dim, views, alignment, scratch)
    problem = with_capacities(read_problem(problem_file, options, inclusive), capacity or ())
    plan = read_plan(plan_file, problem)
    violations = violations_of(problem, plan)
    write(None, to_json({"valid": not violations, "violations": [asdict(entry) for entry in violations]}) + b"\n")
    if not quiet:
        for violation in violations:
            say(f"memplan: {violation.rule}: {violation.message}")
        warn(lint_plan(problem, plan.placements))
        if not violations:
            is_repeated = plan.proof is None or plan.proof.kind not in ("search", "engines")
            note = "" if is_repeated else "; its proof by search is not repeated"
            say(f"memplan: valid, {len(plan.placements):,} placements{note}")
    raise typer.Exit(VIOLATED if violations else 0)
